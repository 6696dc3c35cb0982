/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sp.h - service points: a listener of the NIC and the EVD that gets its requests.
 *
 * A public service point (PSP) passes on every request. A reserved one (RSP) passes on the first,
 * for the one Endpoint it was made for, and exists until it is freed (ruling E3). obj.type tells
 * them apart.
 */
#ifndef LIB_CONNECT_SP_H
#define LIB_CONNECT_SP_H

#include "lib/evd/evd.h"

struct sp {
	struct obj obj;
	struct nic_listener *nic;
	struct evd *evd;
	DAT_CONN_QUAL qual;
	bool provides_ep; /* an Endpoint is made for each request: cr.c */
	/* RSP: */
	bool spent;       /* the one request has arrived */
	DAT_EP_HANDLE ep; /* a handle, because the EP may be freed before the RSP */
};

/* Listen at the qualifier of `wanted`, or at a free one if that is 0. */
DAT_RETURN sp_make(struct ia *ia, DAT_HANDLE_TYPE type, const struct sp *wanted, struct sp **sp);
void sp_destroy(struct sp *sp);
/* True if the next request would be passed on. The length of the EVD is the backlog. */
bool sp_has_room(const struct sp *sp);
/* The service point of this process that listens at `qual`, or NULL. */
const struct sp *sp_find(const struct dat_adapter *adapter, DAT_CONN_QUAL qual);
/* The EVD that a handle of `ia` names if it takes connection requests, else NULL. */
struct evd *sp_find_evd(struct ia *ia, DAT_EVD_HANDLE handle);

/* Free an RSP. Its EP goes back to the Consumer, unless the request has arrived. */
void rsp_destroy(struct sp *rsp);

#endif /* LIB_CONNECT_SP_H */
