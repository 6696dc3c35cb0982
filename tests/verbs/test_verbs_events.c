/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state SQD, and the asynchronous events of queue pairs: a drained send queue, a first packet,
 * requests of the peer that are refused, a completion queue that overflows; notification of
 * completions, solicited and not.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/support/asleep.h"
#include "tests/support/support.h"
#include "verbs_pair.h"

static struct verbs_end a, b;

/* ---- what has come ---- */

/* The next event, which is acknowledged; -1: there is none. */
static int next_event(const struct verbs_end *end, const struct ibv_qp *qp)
{
	struct ibv_async_event event;

	fcntl(end->context->async_fd, F_SETFL, O_NONBLOCK);
	if (ibv_get_async_event(end->context, &event))
		return -1;
	if (qp)
		ck_assert_ptr_eq(event.element.qp, qp);
	ibv_ack_async_event(&event);
	return (int)event.event_type;
}

#define EXPECT_EVENT(end, what) ck_assert_int_eq(next_event((end), (end)->qp), (int)(what))
#define EXPECT_NO_EVENT(end)    ck_assert_int_eq(next_event((end), NULL), -1)

static void expect_done(struct verbs_end *end, uint64_t id)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_uint_eq(wc.wr_id, id);
}

/* Let a millisecond pass, in which nothing completes. */
static void expect_quiet(const struct verbs_end *end)
{
	struct ibv_wc wc;

	for (int i = 0; i < 500; i++)
		ck_assert_int_eq(ibv_poll_cq(end->cq, 1, &wc), 0);
}

static void send_one(struct verbs_end *end, uint64_t id, struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)end->buffer, 8, end->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = b.qp->qp_num;
		wr.wr.ud.remote_qkey = VERBS_QKEY;
	}
	ck_assert_int_eq(ibv_post_send(end->qp, &wr, &bad), 0);
}

static int set_state(struct verbs_end *end, enum ibv_qp_state state, bool notify)
{
	struct ibv_qp_attr attr = { .qp_state = state, .en_sqd_async_notify = notify };

	return ibv_modify_qp(end->qp, &attr,
			     IBV_QP_STATE | (notify ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0));
}

static bool is_draining(const struct verbs_end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	ck_assert_int_eq((int)attr.qp_state, (int)IBV_QPS_SQD);
	return attr.sq_draining;
}

/* ---- SQD ---- */

START_TEST(sqd_lets_complete_what_began_and_keeps_the_rest)
{
	verbs_begin(&a, &b);
	send_one(&a, 1, NULL);
	send_one(&a, 2, NULL);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	ck_assert(is_draining(&a));
	EXPECT_NO_EVENT(&a);
	send_one(&a, 3, NULL);
	for (uint64_t id = 11; id <= 14; id++)
		ck_assert_int_eq(verbs_recv(&b, id, 1024, 64), 0);
	expect_done(&a, 1);
	expect_done(&a, 2);
	EXPECT_EVENT(&a, IBV_EVENT_SQ_DRAINED);
	ck_assert(!is_draining(&a));
	send_one(&a, 4, NULL);
	expect_quiet(&a);
	expect_done(&b, 11);
	expect_done(&b, 12);
	expect_quiet(&b);
	ck_assert_int_eq(set_state(&a, IBV_QPS_RTS, false), 0);
	expect_done(&a, 3);
	expect_done(&a, 4);
	expect_done(&b, 13);
	expect_done(&b, 14);
	EXPECT_NO_EVENT(&a);
	verbs_end_all(&a, &b);
}
END_TEST

/* The first one waits for the peer's Receive, the second one has not begun again. */
START_TEST(sqd_goes_on_with_the_request_that_waits_after_an_rnr_nak)
{
	struct ibv_qp_attr attr;

	verbs_begin(&a, &b);
	ck_assert_int_eq(set_state(&a, IBV_QPS_RESET, false), 0);
	ck_assert_int_eq(set_state(&b, IBV_QPS_RESET, false), 0);
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++) {
		ck_assert_int_eq(verbs_modify(&b, &a, (enum ibv_qp_state)i), 0);
		attr = verbs_attr(&a, &b);
		attr.qp_state = (enum ibv_qp_state)i;
		attr.rnr_retry = 7;
		ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, verbs_mask((enum ibv_qp_state)i)), 0);
	}
	send_one(&a, 1, NULL);
	send_one(&a, 2, NULL);
	expect_quiet(&a);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	for (uint64_t id = 11; id <= 12; id++)
		ck_assert_int_eq(verbs_recv(&b, id, 1024, 64), 0);
	expect_done(&a, 1);
	EXPECT_EVENT(&a, IBV_EVENT_SQ_DRAINED);
	expect_quiet(&a);
	ck_assert_int_eq(set_state(&a, IBV_QPS_RTS, false), 0);
	expect_done(&a, 2);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(sqd_of_an_idle_queue_has_drained_at_once)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, false), 0);
	ck_assert(!is_draining(&a));
	EXPECT_NO_EVENT(&a);
	ck_assert_int_eq(set_state(&a, IBV_QPS_RTS, false), 0);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	EXPECT_EVENT(&a, IBV_EVENT_SQ_DRAINED);
	EXPECT_NO_EVENT(&a);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(sqd_takes_receives_and_serves_the_peer)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, false), 0);
	ck_assert_int_eq(verbs_recv(&a, 11, 1024, 64), 0);
	send_one(&b, 1, NULL);
	expect_done(&a, 11);
	expect_done(&b, 1);
	ck_assert_int_eq(verbs_send(&b, &a, IBV_WR_RDMA_READ, 64, 0), 0);
	expect_done(&b, 1);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(sqd_waits_with_reads_and_fences_too)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_READ, 8192, 0), 0);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_READ, 64, 0), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 64, IBV_SEND_FENCE), 0);
	expect_done(&a, 1);
	EXPECT_EVENT(&a, IBV_EVENT_SQ_DRAINED);
	expect_quiet(&a);
	ck_assert_int_eq(set_state(&a, IBV_QPS_RTS, false), 0);
	expect_done(&a, 1);
	expect_done(&a, 1);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(sqd_flushes_what_waits_when_the_qp_ends)
{
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, false), 0);
	send_one(&a, 1, NULL);
	ck_assert_int_eq(set_state(&a, IBV_QPS_ERR, false), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_WR_FLUSH_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

/* No packet of the request has gone to the peer, so no answer is missing. */
START_TEST(sqd_tries_nothing_again_that_has_not_begun)
{
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, false), 0);
	send_one(&a, 1, NULL);
	ck_assert_int_eq(set_state(&b, IBV_QPS_RESET, false), 0);
	expect_quiet(&a);
	ck_assert(!is_draining(&a));
	ck_assert_int_eq(set_state(&a, IBV_QPS_RTS, false), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_RETRY_EXC_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

static void pause_unreliable(enum ibv_qp_type type)
{
	struct ibv_ah_attr to;
	struct ibv_ah *ah = NULL;

	verbs_begin_of(&a, &b, type);
	to = (struct ibv_ah_attr){ .dlid = b.port.lid, .port_num = 1 };
	if (type == IBV_QPT_UD)
		ah = ibv_create_ah(a.pd, &to);
	for (uint64_t id = 11; id <= 13; id++)
		ck_assert_int_eq(verbs_recv(&b, id, 1024, 64), 0);
	send_one(&a, 1, ah);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	send_one(&a, 2, ah);
	send_one(&a, 3, ah);
	expect_done(&a, 1);
	EXPECT_EVENT(&a, IBV_EVENT_SQ_DRAINED);
	expect_done(&b, 11);
	expect_quiet(&b);
	ck_assert_int_eq(set_state(&a, IBV_QPS_RTS, false), 0);
	expect_done(&b, 12);
	expect_done(&b, 13);
	expect_done(&a, 2);
	expect_done(&a, 3);
	if (ah)
		ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}

START_TEST(sqd_of_types_uc_and_ud)
{
	pause_unreliable(IBV_QPT_UC);
	pause_unreliable(IBV_QPT_UD);
}
END_TEST

START_TEST(rts_to_rts_leaves_requests_in_flight_alone)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .min_rnr_timer = 2 };

	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&b, 11, 1024, 64), 0);
	send_one(&a, 1, NULL);
	expect_done(&b, 11); /* and its acknowledgement is on the way */
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER), 0);
	expect_done(&a, 1);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- events ---- */

/* Its path leads to b, and that of b to another QP. */
static void send_from_stranger(void)
{
	struct ibv_qp *own = a.qp;

	verbs_make_qp(&a);
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++)
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)i), 0);
	send_one(&a, 1, NULL);
	expect_done(&a, 1);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	a.qp = own;
}

static void hear_first_packet(enum ibv_qp_type type)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	a.type = b.type = type;
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++) {
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)i), 0);
		if (i < IBV_QPS_RTS)
			ck_assert_int_eq(verbs_modify(&b, &a, (enum ibv_qp_state)i), 0);
	}
	if (type == IBV_QPT_UC)
		send_from_stranger();
	EXPECT_NO_EVENT(&b);
	for (uint64_t id = 11; id <= 12; id++) {
		ck_assert_int_eq(verbs_recv(&b, id, 1024, 64), 0);
		send_one(&a, id, NULL);
		expect_done(&b, id);
		expect_done(&a, id);
	}
	EXPECT_EVENT(&b, IBV_EVENT_COMM_EST);
	EXPECT_NO_EVENT(&b);
	EXPECT_NO_EVENT(&a);
	verbs_end_all(&a, &b);
}

START_TEST(a_first_packet_in_rtr_is_told_once)
{
	hear_first_packet(IBV_QPT_RC);
	hear_first_packet(IBV_QPT_UC);
}
END_TEST

static void refuse(enum ibv_wr_opcode opcode, uint32_t length, uint64_t more, uint32_t other_key,
		   enum ibv_wc_status status, enum ibv_event_type event)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, length, a.mr->lkey };
	wr = verbs_wr(&b, opcode, &sge);
	wr.wr.rdma.remote_addr += more;
	wr.wr.rdma.rkey ^= other_key;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)b.buffer + more;
		wr.wr.atomic.rkey = b.mr->rkey;
	}
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq((int)wc.status, (int)status);
	EXPECT_EVENT(&b, event);
	EXPECT_NO_EVENT(&b);
	EXPECT_NO_EVENT(&a);
	verbs_end_all(&a, &b);
}

START_TEST(a_refused_request_is_told_at_the_responder)
{
	refuse(IBV_WR_RDMA_WRITE, 64, 0, 0x5500, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	refuse(IBV_WR_RDMA_READ, 64, BUFFER, 0, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	refuse(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 4, 0, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}
END_TEST

static void connect_both(void)
{
	for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++) {
		ck_assert_int_eq(verbs_modify(&a, &b, to), 0);
		ck_assert_int_eq(verbs_modify(&b, &a, to), 0);
	}
}

/* The first end's completion queue has room for few. */
static void begin_small(void)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	ck_assert_int_eq(ibv_destroy_cq(a.cq), 0);
	a.cq = ibv_create_cq(a.context, 1, NULL, NULL, 0);
	ck_assert_ptr_nonnull(a.cq);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	connect_both();
}

/* One more than the queue has room for. */
static void overflow(void)
{
	for (int i = 0; i <= a.cq->cqe; i++)
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 8, 0), 0);
	expect_quiet(&b);
}

START_TEST(a_full_completion_queue_is_told_of_it_and_of_the_qp)
{
	begin_small();
	overflow();
	ck_assert_int_eq(next_event(&a, NULL), (int)IBV_EVENT_CQ_ERR);
	EXPECT_EVENT(&a, IBV_EVENT_QP_FATAL);
	EXPECT_NO_EVENT(&a);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_qp_is_told_once_until_reset_that_completions_were_lost)
{
	struct ibv_wc wc;

	begin_small();
	for (int life = 0; life < 2; life++) {
		overflow();
		ck_assert_int_eq(next_event(&a, NULL), (int)IBV_EVENT_CQ_ERR);
		EXPECT_EVENT(&a, IBV_EVENT_QP_FATAL);
		/* These are flushed, and find the queue full. */
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 8, 0), 0);
		expect_quiet(&b);
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(next_event(&a, NULL), (int)IBV_EVENT_CQ_ERR);
		EXPECT_NO_EVENT(&a);
		ck_assert_int_eq(ibv_poll_cq(a.cq, 1, &wc), 1);
		ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_RESET), 0);
		ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_RESET), 0);
		connect_both();
	}
	verbs_end_all(&a, &b);
}
END_TEST

/* A thread that destroys an object, of which events are not acknowledged. */
struct destroyer {
	struct ibv_qp *qp; /* NULL: the queue */
	struct ibv_cq *cq;
	pthread_t thread;
	pid_t tid;
	bool acknowledged; /* by the other thread */
	bool waited;
	int err;
};

static void *destroy_object(void *arg)
{
	struct destroyer *destroyer = arg;

	__atomic_store_n(&destroyer->tid, gettid(), __ATOMIC_RELEASE);
	destroyer->err = destroyer->qp ? ibv_destroy_qp(destroyer->qp)
				       : ibv_destroy_cq(destroyer->cq);
	destroyer->waited = __atomic_load_n(&destroyer->acknowledged, __ATOMIC_ACQUIRE);
	return NULL;
}

static void begin_destroy(struct destroyer *destroyer)
{
	ck_assert_int_eq(pthread_create(&destroyer->thread, NULL, destroy_object, destroyer), 0);
	until_thread_asleep(&destroyer->tid);
}

/* The next acknowledgement is the last one. */
static void allow_destroy(struct destroyer *destroyer)
{
	until_thread_asleep(&destroyer->tid);
	__atomic_store_n(&destroyer->acknowledged, true, __ATOMIC_RELEASE);
}

static void await_destroy(struct destroyer *destroyer)
{
	ck_assert_int_eq(pthread_join(destroyer->thread, NULL), 0);
	ck_assert_int_eq(destroyer->err, 0);
	ck_assert(destroyer->waited);
}

START_TEST(a_qp_is_not_destroyed_before_its_event_is_acknowledged)
{
	struct destroyer destroyer = { .err = -1 };
	struct ibv_async_event event;

	verbs_begin(&a, &b);
	destroyer.qp = a.qp;
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	ck_assert_int_eq(ibv_get_async_event(a.context, &event), 0);
	ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_SQ_DRAINED);
	begin_destroy(&destroyer);
	expect_quiet(&b);
	allow_destroy(&destroyer);
	ibv_ack_async_event(&event);
	await_destroy(&destroyer);
	a.qp = NULL;
	verbs_end_all(&a, &b);
}
END_TEST

/* The one that came first is acknowledged last. */
START_TEST(an_event_that_is_taken_while_the_destroy_waits_is_waited_for)
{
	struct destroyer destroyer = { .err = -1 };
	struct ibv_async_event events[2];

	verbs_begin(&a, &b);
	destroyer.qp = a.qp;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
		ck_assert_int_eq(set_state(&a, IBV_QPS_RTS, false), 0);
	}
	ck_assert_int_eq(ibv_get_async_event(a.context, &events[0]), 0);
	begin_destroy(&destroyer);
	ck_assert_int_eq(ibv_get_async_event(a.context, &events[1]), 0);
	ibv_ack_async_event(&events[1]);
	allow_destroy(&destroyer);
	ibv_ack_async_event(&events[0]);
	await_destroy(&destroyer);
	a.qp = NULL;
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_event_goes_with_the_qp_that_it_is_about)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
	EXPECT_NO_EVENT(&a);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(no_path_migrates)
{
	struct ibv_qp_attr attr = { .path_mig_state = IBV_MIG_REARM, .alt_port_num = 1 };

	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_PATH_MIG_STATE), EINVAL);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_ALT_PATH), EINVAL);
	attr.path_mig_state = IBV_MIG_MIGRATED;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_PATH_MIG_STATE), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- notification of completions ---- */

static struct ibv_comp_channel *channel;
static struct ibv_cq *unnotified;

/* The second end's completions are notified on a channel. */
static void begin_notified(void)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	channel = ibv_create_comp_channel(b.context);
	ck_assert_ptr_nonnull(channel);
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	unnotified = b.cq;
	b.cq = ibv_create_cq(b.context, 32, &b, channel, 0);
	ck_assert_ptr_nonnull(b.cq);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	connect_both();
}

/* The queue is destroyed. */
static void end_channel(void)
{
	ck_assert_int_eq(ibv_destroy_cq(unnotified), 0);
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
	b.cq = ibv_create_cq(b.context, 1, NULL, NULL, 0); /* verbs_close destroys one */
	verbs_end_all(&a, &b);
}

static void end_notified(void)
{
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	ck_assert_int_eq(ibv_destroy_cq(b.cq), 0);
	end_channel();
}

/* The event that is there, which is acknowledged; false: none. */
static bool notified(void)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(channel, &cq, &context))
		return false;
	ck_assert_ptr_eq(cq, b.cq);
	ck_assert_ptr_eq(context, &b);
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* A message that has come, and is acknowledged, when this returns. */
static void carry(enum ibv_wr_opcode opcode, unsigned int flags)
{
	struct ibv_wc wc;

	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_send(&a, &b, opcode, 8, flags), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
}

START_TEST(a_solicited_arming_is_for_solicited_messages_and_once)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
						      IBV_WR_RDMA_WRITE_WITH_IMM };
	enum ibv_wr_opcode opcode = opcodes[_i];

	begin_notified();
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 1), 0);
	carry(opcode, 0);
	ck_assert(!notified());
	carry(opcode, IBV_SEND_SOLICITED);
	ck_assert(notified());
	carry(opcode, IBV_SEND_SOLICITED);
	ck_assert(!notified());
	end_notified();
}
END_TEST

START_TEST(an_arming_for_any_completion_is_not_narrowed)
{
	begin_notified();
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, _i), 0);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, !_i), 0);
	carry(IBV_WR_SEND, 0);
	ck_assert(notified());
	end_notified();
}
END_TEST

START_TEST(an_arming_is_for_completions_that_come_later)
{
	begin_notified();
	carry(IBV_WR_SEND, IBV_SEND_SOLICITED);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, _i), 0);
	ck_assert(!notified());
	carry(IBV_WR_SEND, IBV_SEND_SOLICITED);
	ck_assert(notified());
	end_notified();
}
END_TEST

START_TEST(an_error_is_notified_to_a_solicited_arming)
{
	begin_notified();
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 1), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
	ck_assert(notified());
	end_notified();
}
END_TEST

/* The descriptor that epoll finds readable; -1: none. */
static int readable(int epoll)
{
	struct epoll_event found[2];
	int n = epoll_wait(epoll, found, 2, 0);

	ck_assert_int_le(n, 1);
	return n == 1 ? found[0].data.fd : -1;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
}

/* As long as there are notifications of completions, and asynchronous events. */
START_TEST(epoll_finds_the_descriptors_readable)
{
	int epoll = epoll_create1(0);
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;

	begin_notified();
	watch(epoll, channel->fd);
	watch(epoll, b.context->async_fd);
	ck_assert_int_eq(readable(epoll), -1);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
	carry(IBV_WR_SEND, 0);
	ck_assert_int_eq(readable(epoll), channel->fd);
	ck_assert(notified());
	ck_assert_int_eq(readable(epoll), -1);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	wr = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.rkey++;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq(readable(epoll), b.context->async_fd);
	EXPECT_EVENT(&b, IBV_EVENT_QP_ACCESS_ERR);
	ck_assert_int_eq(readable(epoll), -1);
	close(epoll);
	end_notified();
}
END_TEST

START_TEST(a_notification_that_is_taken_while_the_destroy_waits_is_waited_for)
{
	struct destroyer destroyer = { .err = -1 };
	struct ibv_cq *cq;
	void *context;

	begin_notified();
	destroyer.cq = b.cq;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		carry(IBV_WR_SEND, 0);
	}
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	ck_assert_int_eq(ibv_get_cq_event(channel, &cq, &context), 0);
	begin_destroy(&destroyer);
	ck_assert(notified());
	allow_destroy(&destroyer);
	ibv_ack_cq_events(cq, 1);
	await_destroy(&destroyer);
	end_channel();
}
END_TEST

/* The QP has heard its peer and goes to RTS, while the ACK of that message is in flight. */
START_TEST(a_qp_that_begins_to_send_goes_on_receiving)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++) {
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)i), 0);
		if (i < IBV_QPS_RTS)
			ck_assert_int_eq(verbs_modify(&b, &a, (enum ibv_qp_state)i), 0);
	}
	for (uint64_t id = 11; id <= 12; id++)
		ck_assert_int_eq(verbs_recv(&b, id, 1024, 64), 0);
	send_one(&a, 1, NULL);
	expect_done(&b, 11);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_RTS), 0);
	expect_done(&a, 1);
	send_one(&a, 2, NULL);
	expect_done(&b, 12);
	expect_done(&a, 2);
	ck_assert_int_eq(verbs_recv(&a, 13, 1024, 64), 0);
	send_one(&b, 3, NULL);
	expect_done(&a, 13);
	expect_done(&b, 3);
	EXPECT_EVENT(&b, IBV_EVENT_COMM_EST);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, sqd_lets_complete_what_began_and_keeps_the_rest, 1, NULL);
	unit_add(suite, sqd_goes_on_with_the_request_that_waits_after_an_rnr_nak, 1, NULL);
	unit_add(suite, sqd_of_an_idle_queue_has_drained_at_once, 1, NULL);
	unit_add(suite, sqd_takes_receives_and_serves_the_peer, 1, NULL);
	unit_add(suite, sqd_waits_with_reads_and_fences_too, 1, NULL);
	unit_add(suite, sqd_flushes_what_waits_when_the_qp_ends, 1, NULL);
	unit_add(suite, sqd_tries_nothing_again_that_has_not_begun, 1, NULL);
	unit_add(suite, sqd_of_types_uc_and_ud, 1, NULL);
	unit_add(suite, rts_to_rts_leaves_requests_in_flight_alone, 1, NULL);
	unit_add(suite, a_first_packet_in_rtr_is_told_once, 1, NULL);
	unit_add(suite, a_qp_that_begins_to_send_goes_on_receiving, 1, NULL);
	unit_add(suite, a_refused_request_is_told_at_the_responder, 1, NULL);
	unit_add(suite, a_full_completion_queue_is_told_of_it_and_of_the_qp, 1, NULL);
	unit_add(suite, a_qp_is_told_once_until_reset_that_completions_were_lost, 1, NULL);
	unit_add(suite, an_event_goes_with_the_qp_that_it_is_about, 1, NULL);
	unit_add(suite, no_path_migrates, 1, NULL);
	unit_add(suite, a_solicited_arming_is_for_solicited_messages_and_once, 3, NULL);
	unit_add(suite, an_arming_for_any_completion_is_not_narrowed, 2, NULL);
	unit_add(suite, an_arming_is_for_completions_that_come_later, 2, NULL);
	unit_add(suite, an_error_is_notified_to_a_solicited_arming, 1, NULL);
	unit_add(suite, epoll_finds_the_descriptors_readable, 1, NULL);
	/*
	 * These have threads. Where all tests run in one process, time is real from then on, and a
	 * machine may be too slow for retries.
	 */
	unit_add(suite, a_qp_is_not_destroyed_before_its_event_is_acknowledged, 1, NULL);
	unit_add(suite, an_event_that_is_taken_while_the_destroy_waits_is_waited_for, 1, NULL);
	unit_add(suite, a_notification_that_is_taken_while_the_destroy_waits_is_waited_for, 1,
		 NULL);
}

UNIT_SUITE("verbs_events")
