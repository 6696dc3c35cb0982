/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep_state.h - the states of an Endpoint, as one table.
 *
 * A state changes for a named cause only, and only where the table in ep_state.c has a row. Calls
 * ask ep_state_next first and return DAT_INVALID_STATE with the subtype of the EP's state.
 *
 * An EP begins in UNCONNECTED or, if it is made for a request (by a PSP with DAT_PSP_PROVIDER_FLAG,
 * or an RSP without an EP), in TENTATIVE_CONNECTION_PENDING. If that request is rejected or handed
 * off, the EP is destroyed and its handle is invalid from then on.
 *
 * The headers have four UNCONFIGURED states, which no page describes and no EP enters: an EP
 * without attributes has the defaults, and one made for a request is TENTATIVE, as the pages say,
 * even while it has neither PZ nor EVDs. dat_cr_accept reports what is missing: DAT_INVALID_STATE
 * with DAT_INVALID_STATE_EP_PZ, _EVD_RECV, _EVD_REQUEST or _EVD_CONNECT.
 */
#ifndef LIB_EP_EP_STATE_H
#define LIB_EP_EP_STATE_H

#include <stdbool.h>

#include <dat/udat.h>

#define EP_STATES (DAT_EP_STATE_COMPLETION_PENDING + 1)

enum ep_cause {
	EP_CONNECT,       /* dat_ep_connect, dat_ep_dup_connect */
	EP_ACCEPT,        /* dat_cr_accept */
	EP_ESTABLISHED,   /* the connection is up */
	EP_REFUSED,       /* rejected, unreachable, timed out */
	EP_ACCEPT_FAILED, /* accepted, but the active side was gone */
	EP_DISCONNECT,    /* dat_ep_disconnect on a connection, with either flag */
	EP_ENDED,         /* the connection, or its set-up, has ended */
	EP_RESET,         /* dat_ep_reset */
	EP_RESERVE,       /* dat_rsp_create */
	EP_RELEASE,       /* dat_rsp_free */
	EP_REQUEST,       /* a connection request came for the reserved EP */
	EP_REJECT,        /* dat_cr_reject or dat_cr_handoff of that request */
	EP_CAUSES
};

/* The state that `cause` leads to; -1: the table has no such row. */
int ep_state_next(DAT_EP_STATE state, enum ep_cause cause);
/* For example "CONNECTED". */
const char *ep_state_name(DAT_EP_STATE state);
const char *ep_cause_name(enum ep_cause cause);
/* DAT_INVALID_STATE with the subtype of a state. */
DAT_RETURN ep_state_error(DAT_EP_STATE state);

#endif /* LIB_EP_EP_STATE_H */
