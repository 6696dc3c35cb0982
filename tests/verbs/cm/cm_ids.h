/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_ids.h - two ids of librdmacm without a connection, and the event channel of both. */
#ifndef TESTS_VERBS_CM_IDS_H
#define TESTS_VERBS_CM_IDS_H

#include <errno.h>
#include <rdma/rdma_cma.h>

#include "tests/support/support.h"

#define EMU0 "198.18.0.1"
#define EMU1 "198.18.0.2"
#define PORT 7471

extern struct rdma_event_channel *channel;
extern struct rdma_cm_id *a, *b;

#define REFUSED(call, why)                      \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq(call, -1);     \
		ck_assert_int_eq(errno, (why)); \
	} while (0)

void begin(void);
void end(void);
int bind_to(struct rdma_cm_id *id, const char *ip, uint16_t port);
int resolve_to(struct rdma_cm_id *id, const char *ip);
/* The next event, which has to be of that type, acknowledged. */
void take(struct rdma_event_channel *from, enum rdma_cm_event_type type);
bool is_readable(const struct rdma_event_channel *from);

#endif /* TESTS_VERBS_CM_IDS_H */
