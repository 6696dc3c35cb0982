/* SPDX-License-Identifier: BSD-3-Clause */
/* The state SQD: what completes in it, what waits, and when the send queue has drained. */
#include "qp_events.h"

static bool is_draining_in(const struct verbs_end *end, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	ck_assert_int_eq((int)attr.qp_state, (int)state);
	return attr.sq_draining;
}

static bool is_draining(const struct verbs_end *end)
{
	return is_draining_in(end, IBV_QPS_SQD);
}

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

START_TEST(a_change_in_sqd_does_not_take_back_that_the_end_is_told)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = 2 };

	verbs_begin(&a, &b);
	send_one(&a, 1, NULL);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_MIN_RNR_TIMER), 0);
	ck_assert(is_draining(&a));
	ck_assert_int_eq(verbs_recv(&b, 11, 1024, 64), 0);
	expect_done(&a, 1);
	EXPECT_EVENT(&a, IBV_EVENT_SQ_DRAINED);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_MIN_RNR_TIMER), 0);
	ck_assert(!is_draining(&a));
	EXPECT_NO_EVENT(&a);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_queue_that_leaves_sqd_drains_no_longer)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET };

	verbs_begin(&a, &b);
	send_one(&a, 1, NULL);
	ck_assert_int_eq(set_state(&a, IBV_QPS_SQD, true), 0);
	ck_assert(is_draining(&a));
	ck_assert_int_eq(set_state(&a, states[_i], false), 0);
	ck_assert(!is_draining_in(&a, states[_i]));
	if (states[_i] == IBV_QPS_RTS) {
		ck_assert_int_eq(verbs_recv(&b, 11, 1024, 64), 0);
		expect_done(&a, 1);
	}
	EXPECT_NO_EVENT(&a);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(the_end_is_told_only_if_the_mask_says_that_it_is_asked_for)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	ck_assert(!is_draining(&a));
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

static void fill(Suite *suite)
{
	unit_add(suite, sqd_lets_complete_what_began_and_keeps_the_rest, 1, NULL);
	unit_add(suite, sqd_goes_on_with_the_request_that_waits_after_an_rnr_nak, 1, NULL);
	unit_add(suite, sqd_of_an_idle_queue_has_drained_at_once, 1, NULL);
	unit_add(suite, a_change_in_sqd_does_not_take_back_that_the_end_is_told, 1, NULL);
	unit_add(suite, a_queue_that_leaves_sqd_drains_no_longer, 3, NULL);
	unit_add(suite, the_end_is_told_only_if_the_mask_says_that_it_is_asked_for, 1, NULL);
	unit_add(suite, sqd_takes_receives_and_serves_the_peer, 1, NULL);
	unit_add(suite, sqd_waits_with_reads_and_fences_too, 1, NULL);
	unit_add(suite, sqd_flushes_what_waits_when_the_qp_ends, 1, NULL);
	unit_add(suite, sqd_tries_nothing_again_that_has_not_begun, 1, NULL);
	unit_add(suite, sqd_of_types_uc_and_ud, 1, NULL);
	unit_add(suite, rts_to_rts_leaves_requests_in_flight_alone, 1, NULL);
}

UNIT_SUITE("verbs_sqd")
