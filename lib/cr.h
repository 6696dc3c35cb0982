/* SPDX-License-Identifier: BSD-3-Clause */
/* cr.h - connection requests: from the event that announces one to accept or reject. */
#ifndef LIB_CR_H
#define LIB_CR_H

#include "object.h"

struct ep;

/*
 * The Endpoint, if the request comes with one: of the Consumer (RSP), or made for it. It can be freed by
 * nobody as long as the request is pending.
 */
struct cr {
	struct obj obj;
	struct nic_conn *nic; /* holds the private data and the address */
	struct ep *ep;
};

/* Answer the peer and be gone; by_program: DAT_CONNECTION_EVENT_PEER_REJECTED over there. */
void cr_destroy(struct cr *cr, bool by_program);
/* Upcall: a request reached a listener. */
void cr_on_request(void *listener_ctx, struct nic_conn *conn);

#endif /* LIB_CR_H */
