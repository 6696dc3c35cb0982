/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep_state.h - the life of an Endpoint, as one table.
 *
 * A state changes for a named cause only, and only where the table in ep_state.c has a row. Calls ask
 * ep_state_next first and answer DAT_INVALID_STATE with the subtype of the state the EP is in.
 *
 * An EP begins UNCONNECTED, or, made for a request (PSP that asks for it, RSP without an EP), in
 * TENTATIVE_CONNECTION_PENDING; if that request is rejected or handed off, it is destroyed, and its
 * handle is none for ever.
 *
 * The four UNCONFIGURED states are in the headers, but no page describes them. No EP is ever in one of
 * them: an EP without attributes has the defaults, and one made for a request is TENTATIVE, as the pages
 * say, also while it has neither PZ nor EVDs. What it lacks, dat_cr_accept says: DAT_INVALID_STATE with
 * DAT_INVALID_STATE_EP_PZ, _EVD_RECV, _EVD_REQUEST, _EVD_CONNECT.
 */
#ifndef LIB_EP_STATE_H
#define LIB_EP_STATE_H

#include <stdbool.h>

#include <dat/udat.h>

#define EP_STATES (DAT_EP_STATE_COMPLETION_PENDING + 1)

enum ep_cause {
	EP_CONNECT,       /* dat_ep_connect, dat_ep_dup_connect */
	EP_ACCEPT,        /* dat_cr_accept */
	EP_ESTABLISHED,   /* both sides agreed */
	EP_REFUSED,       /* rejected, unreachable, timed out */
	EP_ACCEPT_FAILED, /* accepted, but the active side was gone */
	EP_DISCONNECT,    /* dat_ep_disconnect on a connection: either flag */
	EP_ENDED,         /* the connection, or its set-up, is over */
	EP_RESET,         /* dat_ep_reset */
	EP_RESERVE,       /* dat_rsp_create */
	EP_RELEASE,       /* dat_rsp_free */
	EP_REQUEST,       /* a connection request came for the reserved EP */
	EP_REJECT,        /* dat_cr_reject or dat_cr_handoff of it */
	EP_CAUSES
};

/* Where cause leads from state; -1: nowhere, the table has no such row. */
int ep_state_next(DAT_EP_STATE state, enum ep_cause cause);
/* "CONNECTED". */
const char *ep_state_name(DAT_EP_STATE state);
const char *ep_cause_name(enum ep_cause cause);
/* The DAT_INVALID_STATE return that names a state. */
DAT_RETURN ep_state_error(DAT_EP_STATE state);

#endif /* LIB_EP_STATE_H */
