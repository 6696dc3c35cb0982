/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sp.h - service points: where an adapter listens.
 *
 * A public one (PSP) passes on every request; a reserved one (RSP) the first, for the one Endpoint it
 * was made for, and stays until it is freed (ruling E3). obj.type tells which.
 */
#ifndef LIB_SP_H
#define LIB_SP_H

#include "evd.h"

struct sp {
	struct obj obj;
	struct nic_listener *nic;
	struct evd *evd;
	DAT_CONN_QUAL qual;
	bool provides_ep; /* a request comes with an Endpoint made for it: cr.c */
	/* RSP: */
	bool spent;       /* the one request has come */
	DAT_EP_HANDLE ep; /* by its handle: the EP may be freed before the RSP */
};

/* Listen, as `wanted` says, at its qualifier, or where it is 0 at one that is free. */
DAT_RETURN sp_make(struct ia *ia, DAT_HANDLE_TYPE type, const struct sp *wanted, struct sp **sp);
void sp_destroy(struct sp *sp);
/* Would a request be passed on? The length of the EVD is the backlog. */
bool sp_has_room(const struct sp *sp);
/* Who of this process listens there, or NULL. */
const struct sp *sp_find(const struct adapter *adapter, DAT_CONN_QUAL qual);
/* The EVD a handle names as one for requests; NULL: it does not. */
struct evd *sp_find_evd(struct ia *ia, DAT_EVD_HANDLE handle);

/* The EP of an RSP goes back to the Consumer, unless its request has come. */
void rsp_destroy(struct sp *rsp);

#endif /* LIB_SP_H */
