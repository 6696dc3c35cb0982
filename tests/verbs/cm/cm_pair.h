/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm_pair.h - both ends of a connection of librdmacm in one process: a listener and its ids at
 * emu1, a client at emu0, one event channel for all.
 */
#ifndef TESTS_VERBS_CM_PAIR_H
#define TESTS_VERBS_CM_PAIR_H

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "tests/support/support.h"

#define CM_THERE   "198.18.0.2"
#define CM_NOWHERE "198.18.0.99"
#define CM_PORT    7471
#define CM_TIMEOUT 1000

extern struct rdma_event_channel *cm_channel;
extern struct rdma_cm_id *cm_listener, *cm_client, *cm_server;
extern struct rdma_cm_event cm_last; /* a copy of the last event, with its private data */
extern char cm_data[256];

#define CM_REFUSED(call, why)                   \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq(call, -1);     \
		ck_assert_int_eq(errno, (why)); \
	} while (0)

struct sockaddr_in cm_address(const char *ip, uint16_t port);
/* The next event, which has to be of that type, not acknowledged. */
struct rdma_cm_event *cm_fetch(struct rdma_event_channel *from, enum rdma_cm_event_type type);
/* The next event, acknowledged. */
void cm_take(enum rdma_cm_event_type type);
/* No event waits. */
void cm_expect_quiet(void);
/* A listener, and the client, which is idle. */
void cm_begin(void);
void cm_destroy(struct rdma_cm_id **id);
/* Destroy what there is. */
void cm_end(void);
void cm_resolve(struct rdma_cm_id *id, const char *ip, uint16_t port);
void cm_make_qp(struct rdma_cm_id *id);
struct rdma_conn_param cm_param(const char *data);
/* The client asks; the server has an id. */
void cm_ask(void);
/* They are connected. */
void cm_connect(void);

#endif /* TESTS_VERBS_CM_PAIR_H */
