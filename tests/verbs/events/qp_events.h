/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qp_events.h - two queue pairs of one process, what has come of each, and a thread that waits for
 * the acknowledgement of what has come.
 */
#ifndef TESTS_VERBS_QP_EVENTS_H
#define TESTS_VERBS_QP_EVENTS_H

#include <pthread.h>

#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

extern struct verbs_end a, b;

/* The next event, which is acknowledged; -1: there is none. */
int next_event(const struct verbs_end *end, const struct ibv_qp *qp);

#define EXPECT_EVENT(end, what) ck_assert_int_eq(next_event((end), (end)->qp), (int)(what))
#define EXPECT_NO_EVENT(end)    ck_assert_int_eq(next_event((end), NULL), -1)

void expect_done(struct verbs_end *end, uint64_t id);
/* Let a millisecond pass, in which nothing completes. */
void expect_quiet(const struct verbs_end *end);
/* Send to the second end; `ah`: its address handle, if the QPs are of type UD */
void send_one(struct verbs_end *end, uint64_t id, struct ibv_ah *ah);
int set_state(struct verbs_end *end, enum ibv_qp_state state, bool notify);

/* A thread that destroys an object whose events are not acknowledged yet. */
struct destroyer {
	struct ibv_qp *qp; /* NULL: the queue */
	struct ibv_cq *cq;
	pthread_t thread;
	pid_t tid;
	bool acknowledged; /* by the other thread */
	bool waited;
	int err;
};

void begin_destroy(struct destroyer *destroyer);
/* The next acknowledgement is the last one. */
void allow_destroy(struct destroyer *destroyer);
void await_destroy(struct destroyer *destroyer);

#endif /* TESTS_VERBS_QP_EVENTS_H */
