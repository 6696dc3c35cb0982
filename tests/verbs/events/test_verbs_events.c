/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The asynchronous events of queue pairs: a first packet, requests of the peer that are refused, a
 * completion queue that overflows; and objects that are destroyed while events of them are taken.
 */
#include "qp_events.h"

#include <errno.h>

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
	verbs_connect(&a, &b);
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
		verbs_connect(&a, &b);
	}
	verbs_end_all(&a, &b);
}
END_TEST

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

START_TEST(a_completion_queue_is_not_destroyed_before_its_event_is_acknowledged)
{
	struct destroyer destroyer = { .err = -1 };
	struct ibv_async_event event;

	begin_small();
	overflow();
	ck_assert_int_eq(ibv_get_async_event(a.context, &event), 0);
	ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_CQ_ERR);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
	destroyer.cq = a.cq;
	begin_destroy(&destroyer);
	expect_quiet(&b);
	allow_destroy(&destroyer);
	ibv_ack_async_event(&event);
	await_destroy(&destroyer);
	a.cq = ibv_create_cq(a.context, 1, NULL, NULL, 0); /* verbs_close destroys one */
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
	unit_add(suite, a_first_packet_in_rtr_is_told_once, 1, NULL);
	unit_add(suite, a_qp_that_begins_to_send_goes_on_receiving, 1, NULL);
	unit_add(suite, a_refused_request_is_told_at_the_responder, 1, NULL);
	unit_add(suite, a_full_completion_queue_is_told_of_it_and_of_the_qp, 1, NULL);
	unit_add(suite, a_qp_is_told_once_until_reset_that_completions_were_lost, 1, NULL);
	unit_add(suite, an_event_goes_with_the_qp_that_it_is_about, 1, NULL);
	unit_add(suite, no_path_migrates, 1, NULL);
	/*
	 * The next tests have threads. If all tests run in one process, virtual time follows the
	 * real clock from then on, and a slow machine may run out of retries.
	 */
	unit_add(suite, a_qp_is_not_destroyed_before_its_event_is_acknowledged, 1, NULL);
	unit_add(suite, a_completion_queue_is_not_destroyed_before_its_event_is_acknowledged, 1,
		 NULL);
	unit_add(suite, an_event_that_is_taken_while_the_destroy_waits_is_waited_for, 1, NULL);
}

UNIT_SUITE("verbs_events")
