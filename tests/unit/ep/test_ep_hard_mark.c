/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hard high watermark of dat_ep_set_watermark, the soft mark of dat_ep_create_with_srq, and
 * their interaction with each other and with other breaks: rulings H2 (hard), H3, H4, H5.
 */
#include "tests/support/support.h"

#define OFF DAT_WATERMARK_INFINITE

static void set(DAT_COUNT soft, DAT_COUNT hard)
{
	must(dat_ep_set_watermark(w.b.ep, soft, hard));
}

static void expect_both_broken(void)
{
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_no_event(w.a.connect);
	expect_no_event(w.b.connect);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}

/* ---- H2: the break ---- */

START_TEST(H2_hard_breaks_both_ends_above_the_mark_not_at_it)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(OFF, 2);
	deliver(&w.a, w.a.ep, 2);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_no_event(w.b.connect);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(H2_the_message_that_crossed_is_not_delivered)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(OFF, 1);
	deliver(&w.a, w.a.ep, 1);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_no_event(w.b.recv);
	expect_dto(w.a.request, w.a.ep, 9, DAT_DTO_ERR_REMOTE_RESPONDER);
	expect_no_event(w.a.request);
}
END_TEST

START_TEST(H2_hard_acts_at_the_first_packet_of_a_long_message)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(OFF, 0);
	send_half(&w.a, w.a.ep, 1, 0);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_FLUSHED);
	srq_counts(w.b.srq, 10, 4, 4);
}
END_TEST

START_TEST(H2_the_break_flushes_everything_outstanding)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	post_recv(&w.a, w.a.ep, 20);
	set(OFF, 0);
	hold_link("emu1", "emu0");
	post_send(&w.b, w.b.ep, 30, SHORT);
	post_send(&w.a, w.a.ep, 9, SHORT);
	post_send(&w.a, w.a.ep, 10, SHORT);
	run_quiet();
	expect_dto(w.b.request, w.b.ep, 30, DAT_DTO_ERR_FLUSHED);
	release_link("emu1", "emu0");
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 9, DAT_DTO_ERR_REMOTE_RESPONDER);
	expect_dto(w.a.request, w.a.ep, 10, DAT_DTO_ERR_FLUSHED);
	srq_counts(w.b.srq, 10, 4, 5);
}
END_TEST

START_TEST(H2_hard_counts_on_a_plain_endpoint_too)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 4);
	set(OFF, 1);
	deliver(&w.a, w.a.ep, 1);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.b.recv, w.b.ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.b.recv, w.b.ep, 3, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(H2_hard_breaks_a_DISCONNECT_PENDING_endpoint)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	set(OFF, 0);
	hold_link("emu1", "emu0");
	post_send(&w.b, w.b.ep, 30, SHORT);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(H2_other_endpoints_of_the_srq_are_not_hurt)
{
	DAT_EP_HANDLE a2, b2;

	srq_pair(10);
	second_srq_pair(&a2, &b2);
	post_srqs(&w.b, 0, 5);
	set(OFF, 0);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
	ck_assert_int_eq(drain(w.b.recv), 1);
	ck_assert_int_eq(drain(w.a.request), 1);
	deliver(&w.a, a2, 1);
	expect_dto(w.b.recv, b2, 1, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(H2_a_message_that_crosses_both_marks_gives_both)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	set(1, 1);
	deliver(&w.a, w.a.ep, 1);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_soft_watermark(w.b.async, w.b.ep);
	expect_no_event(w.b.async);
	expect_both_broken();
}
END_TEST

/* ---- H3: independence, level check, states, reset ---- */

START_TEST(H3_soft_above_hard_is_legal_and_stays_silent)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(4, 1);
	deliver(&w.a, w.a.ep, 1);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(H3_soft_having_fired_leaves_hard_armed)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(0, 1);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
}
END_TEST

START_TEST(H3_hard_level_is_checked_inside_the_call)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 3);
	set(OFF, 3);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	set(OFF, 2);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	run_quiet();
	expect_both_broken();
	ck_assert_int_eq(drain(w.b.recv), 3);
}
END_TEST

START_TEST(H3_both_levels_are_checked_inside_the_call)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 3);
	set(1, 1);
	run_quiet();
	expect_soft_watermark(w.b.async, w.b.ep);
	expect_both_broken();
}
END_TEST

START_TEST(H3_a_call_replaces_the_hard_mark)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(OFF, 1);
	set(OFF, OFF);
	deliver(&w.a, w.a.ep, 5);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* Three completions are unreaped, but there is no connection left to break. */
START_TEST(H2_hard_breaks_nothing_on_a_DISCONNECTED_endpoint)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 3);
	disconnect_pair();
	set(OFF, 0);
	run_quiet();
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	ck_assert_int_eq(drain(w.b.recv), 3);
}
END_TEST

START_TEST(H3_soft_fires_on_a_DISCONNECTED_endpoint_too)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 3);
	disconnect_pair();
	set(2, OFF);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

static void reset_both_and_connect(void)
{
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

START_TEST(H3_an_armed_hard_mark_stays_armed_over_reset)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 8);
	set(OFF, 1);
	deliver(&w.a, w.a.ep, 1);
	disconnect_pair();
	reset_both_and_connect();
	deliver(&w.a, w.a.ep, 1);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
}
END_TEST

START_TEST(H3_a_fired_hard_mark_stays_fired_over_reset)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 8);
	set(OFF, 0);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
	reset_both_and_connect();
	deliver(&w.a, w.a.ep, 3);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(H3_a_call_arms_a_fired_hard_mark_again)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 8);
	set(OFF, 0);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
	reset_both_and_connect();
	set(OFF, 0);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
}
END_TEST

/* ---- H4 ---- */

START_TEST(H4_INFINITE_does_not_prevent_the_break_for_want_of_a_buffer)
{
	srq_pair(10);
	set(OFF, OFF);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_both_broken();
	expect_dto(w.a.request, w.a.ep, 9, DAT_DTO_ERR_RECEIVER_NOT_READY);
}
END_TEST

/* ---- H5: the attribute ---- */

static DAT_COUNT queried_soft(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	must(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param));
	return param.ep_attr.srq_soft_hw;
}

START_TEST(H5_srq_soft_hw_sets_the_soft_mark_at_creation)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.srq_soft_hw = 2;
	srq_pair_with(10, &attr);
	ck_assert_int_eq(queried_soft(w.b.ep), 2);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 2);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H5_zero_and_DAT_HW_DEFAULT_at_creation_are_no_mark)
{
	static const DAT_COUNT none[] = { 0, DAT_HW_DEFAULT };
	DAT_EP_ATTR attr = ep_attr();

	attr.srq_soft_hw = none[_i];
	srq_pair_with(10, &attr);
	ck_assert_int_eq(queried_soft(w.b.ep), DAT_HW_DEFAULT);
	post_srqs(&w.b, 0, 5);
	deliver(&w.a, w.a.ep, 5);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(H5_query_reports_what_set_watermark_set)
{
	srq_pair(10);
	set(7, OFF);
	ck_assert_int_eq(queried_soft(w.b.ep), 7);
	set(0, OFF);
	ck_assert_int_eq(queried_soft(w.b.ep), 0);
	set(OFF, 3);
	ck_assert_int_eq(queried_soft(w.b.ep), DAT_HW_DEFAULT);
}
END_TEST

START_TEST(H5_M1_modify_does_not_change_it)
{
	DAT_EP_PARAM param;

	w.b.ep = plain_ep(&w.b);
	memset(&param, 0, sizeof(param));
	param.ep_attr.srq_soft_hw = 5;
	must_fail(dat_ep_modify(w.b.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ck_assert_int_eq(queried_soft(w.b.ep), DAT_HW_DEFAULT);
}
END_TEST

START_TEST(H5_max_recv_dtos_of_an_srq_endpoint_never_arms_the_hard_mark)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = 2;
	srq_pair_with(10, &attr);
	post_srqs(&w.b, 0, 6);
	deliver(&w.a, w.a.ep, 6);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_no_event(w.b.async);
	ck_assert_int_eq(drain(w.b.recv), 6);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, H2_hard_breaks_both_ends_above_the_mark_not_at_it);
	unit_test_all(suite, H2_the_message_that_crossed_is_not_delivered);
	unit_test_all(suite, H2_hard_acts_at_the_first_packet_of_a_long_message);
	unit_test_all(suite, H2_the_break_flushes_everything_outstanding);
	unit_test_all(suite, H2_hard_counts_on_a_plain_endpoint_too);
	unit_test_all(suite, H2_hard_breaks_a_DISCONNECT_PENDING_endpoint);
	unit_test_all(suite, H2_other_endpoints_of_the_srq_are_not_hurt);
	unit_test_all(suite, H2_a_message_that_crosses_both_marks_gives_both);
	unit_test_all(suite, H2_hard_breaks_nothing_on_a_DISCONNECTED_endpoint);
	unit_test_all(suite, H3_soft_above_hard_is_legal_and_stays_silent);
	unit_test_all(suite, H3_soft_having_fired_leaves_hard_armed);
	unit_test_all(suite, H3_hard_level_is_checked_inside_the_call);
	unit_test_all(suite, H3_both_levels_are_checked_inside_the_call);
	unit_test_all(suite, H3_a_call_replaces_the_hard_mark);
	unit_test_all(suite, H3_soft_fires_on_a_DISCONNECTED_endpoint_too);
	unit_test_all(suite, H3_an_armed_hard_mark_stays_armed_over_reset);
	unit_test_all(suite, H3_a_fired_hard_mark_stays_fired_over_reset);
	unit_test_all(suite, H3_a_call_arms_a_fired_hard_mark_again);
	unit_test_all(suite, H4_INFINITE_does_not_prevent_the_break_for_want_of_a_buffer);
	unit_test_all(suite, H5_srq_soft_hw_sets_the_soft_mark_at_creation);
	unit_test_loop(suite, H5_zero_and_DAT_HW_DEFAULT_at_creation_are_no_mark, 2);
	unit_test_all(suite, H5_query_reports_what_set_watermark_set);
	unit_test_all(suite, H5_M1_modify_does_not_change_it);
	unit_test_all(suite, H5_max_recv_dtos_of_an_srq_endpoint_never_arms_the_hard_mark);
}

UNIT_SUITE("ep_hard_mark")
