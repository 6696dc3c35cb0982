/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cr.h - connection requests (CRs): from the event that announces one to accept, reject or handoff.
 */
#ifndef LIB_CONNECT_CR_H
#define LIB_CONNECT_CR_H

#include "lib/object.h"

struct ep;

/*
 * `ep` is the Endpoint that comes with the request, if any: the Consumer's (RSP), or one made for
 * the request. It cannot be freed while the request is pending.
 */
struct cr {
	struct obj obj;
	struct nic_conn *nic; /* has the private data and the peer's address */
	struct ep *ep;
};

/*
 * Reject the request and free the CR. by_program: the peer gets DAT_CONNECTION_EVENT_PEER_REJECTED.
 */
void cr_destroy(struct cr *cr, bool by_program);
/* Upcall: a request reached a listener. */
void cr_on_request(void *listener_ctx, struct nic_conn *conn);

#endif /* LIB_CONNECT_CR_H */
