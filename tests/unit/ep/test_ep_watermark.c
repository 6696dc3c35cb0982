/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_ep_set_watermark: counted buffers, the soft mark, values and states. Rulings H1, H2 (soft),
 * H3, H6. The hard mark is in test_ep_hard_mark.c.
 */
#include "tests/support/support.h"

#define OFF DAT_WATERMARK_INFINITE

static void set(DAT_COUNT soft, DAT_COUNT hard)
{
	must(dat_ep_set_watermark(w.b.ep, soft, hard));
}

/* ---- H1: counted buffers ---- */

START_TEST(H1_posting_alone_counts_nothing)
{
	plain_pair();
	set(0, 0);
	post_recvs(&w.b, w.b.ep, 0, 5);
	run_quiet();
	expect_no_event(w.b.async);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(H1_a_buffer_counts_from_its_taking_on)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	set(0, OFF);
	send_half(&w.a, w.a.ep, 1, 0);
	expect_no_event(w.b.recv);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H1_a_completed_buffer_counts_until_it_is_reaped)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	set(1, OFF);
	deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H1_a_reaped_buffer_counts_no_more)
{
	int n;

	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(1, OFF);
	for (n = 0; n < 5; n++) {
		deliver(&w.a, w.a.ep, 1);
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
	}
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(H1_buffers_of_the_own_receive_queue_count_too)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 5);
	set(1, OFF);
	deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H1_each_endpoint_counts_for_itself)
{
	DAT_EP_HANDLE a2, b2;

	srq_pair(10);
	second_srq_pair(&a2, &b2);
	post_srqs(&w.b, 0, 6);
	set(2, OFF);
	must(dat_ep_set_watermark(b2, 2, OFF));
	deliver(&w.a, w.a.ep, 2);
	deliver(&w.a, a2, 2);
	expect_no_event(w.b.async);
	deliver(&w.a, a2, 1);
	expect_soft_watermark(w.b.async, b2);
	expect_no_event(w.b.async);
}
END_TEST

/* ---- H2: the soft mark ---- */

START_TEST(H2_soft_fires_above_the_mark_not_at_it)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(3, OFF);
	deliver(&w.a, w.a.ep, 3);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H2_soft_fires_once_per_setting)
{
	srq_pair(20);
	post_srqs(&w.b, 0, 20);
	set(2, OFF);
	deliver(&w.a, w.a.ep, 5);
	expect_soft_watermark(w.b.async, w.b.ep);
	ck_assert_int_eq(drain(w.b.recv), 5);
	deliver(&w.a, w.a.ep, 5);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(H2_soft_does_not_disturb_the_connection)
{
	int n;

	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(1, OFF);
	deliver(&w.a, w.a.ep, 5);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	for (n = 0; n < 5; n++)
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(H6_soft_3_with_five_messages_unreaped)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(3, OFF);
	deliver(&w.a, w.a.ep, 5);
	expect_soft_watermark(w.b.async, w.b.ep);
	expect_no_event(w.b.async);
}
END_TEST

/* ---- H3: the call ---- */

START_TEST(H3_soft_level_is_checked_inside_the_call)
{
	DAT_UINT64 before;

	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 3);
	before = now_ns();
	set(3, OFF);
	expect_no_event(w.b.async);
	set(2, OFF);
	expect_soft_watermark(w.b.async, w.b.ep);
	ck_assert_uint_eq(now_ns(), before);
}
END_TEST

START_TEST(H3_every_call_arms_the_soft_mark_again)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	set(0, OFF);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
	set(0, OFF);
	expect_soft_watermark(w.b.async, w.b.ep);
	set(1, OFF);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H3_a_call_before_the_event_replaces_the_value)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(1, OFF);
	set(3, OFF);
	deliver(&w.a, w.a.ep, 3);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(H3_INFINITE_is_no_event)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	set(1, OFF);
	set(OFF, OFF);
	deliver(&w.a, w.a.ep, 5);
	expect_no_event(w.b.async);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(H3_INFINITE_is_the_default)
{
	srq_pair(20);
	post_srqs(&w.b, 0, 20);
	deliver(&w.a, w.a.ep, 20);
	expect_no_event(w.b.async);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(H3_other_negative_values_are_refused)
{
	static const DAT_COUNT bad[] = { -2, -3, INT_MIN };
	size_t i;

	srq_pair(10);
	post_srqs(&w.b, 0, 1);
	for (i = 0; i < COUNT(bad); i++) {
		must_fail(dat_ep_set_watermark(w.b.ep, bad[i], OFF), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG2);
		must_fail(dat_ep_set_watermark(w.b.ep, 0, bad[i]), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG3);
	}
	deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(H3_G2_a_refused_call_leaves_the_old_marks_armed)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	set(1, OFF);
	must_fail(dat_ep_set_watermark(w.b.ep, 5, -2), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	deliver(&w.a, w.a.ep, 2);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H3_zero_fires_on_the_first_buffer)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 1);
	set(0, OFF);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H3_the_largest_value_is_legal)
{
	srq_pair(10);
	set(INT_MAX, INT_MAX);
	post_srqs(&w.b, 0, 1);
	deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(H3_the_call_is_legal_in_every_state)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep = ep_in_state(state);

	must(dat_ep_set_watermark(ep, 0, 0));
	must(dat_ep_set_watermark(ep, 3, OFF));
	must(dat_ep_set_watermark(ep, OFF, OFF));
	must_fail(dat_ep_set_watermark(ep, -2, OFF), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_state(ep, state);
	expect_no_event(w.a.async);
}
END_TEST

START_TEST(H3_marks_set_before_the_connection_hold)
{
	DAT_EP_ATTR attr = ep_attr();

	w.a.ep = plain_ep(&w.a);
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	w.b.ep = srq_ep_with(&w.b, w.b.srq, &attr);
	set(1, OFF);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_srqs(&w.b, 0, 2);
	deliver(&w.a, w.a.ep, 2);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

/* ---- H3: marks after a reset ---- */

static void reconnect(void)
{
	disconnect_pair();
	must(dat_ep_reset(w.b.ep));
	must(dat_ep_reset(w.a.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

START_TEST(H3_the_count_restarts_at_zero_after_reset)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 6);
	set(3, OFF);
	deliver(&w.a, w.a.ep, 3);
	reconnect();
	deliver(&w.a, w.a.ep, 3);
	expect_no_event(w.b.async);
}
END_TEST

/* Buffers that the reset discarded do not count against the new connection. */
START_TEST(H3_the_count_restarts_not_below_zero)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 6);
	set(2, OFF);
	deliver(&w.a, w.a.ep, 2);
	reconnect();
	deliver(&w.a, w.a.ep, 2);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H3_an_armed_mark_stays_armed_over_reset)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 6);
	set(2, OFF);
	reconnect();
	deliver(&w.a, w.a.ep, 3);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(H3_a_fired_mark_stays_fired_over_reset)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 8);
	set(2, OFF);
	deliver(&w.a, w.a.ep, 3);
	expect_soft_watermark(w.b.async, w.b.ep);
	reconnect();
	deliver(&w.a, w.a.ep, 3);
	expect_no_event(w.b.async);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, H1_posting_alone_counts_nothing);
	unit_test_all(suite, H1_a_buffer_counts_from_its_taking_on);
	unit_test_all(suite, H1_a_completed_buffer_counts_until_it_is_reaped);
	unit_test_all(suite, H1_a_reaped_buffer_counts_no_more);
	unit_test_all(suite, H1_buffers_of_the_own_receive_queue_count_too);
	unit_test_all(suite, H1_each_endpoint_counts_for_itself);
	unit_test_all(suite, H2_soft_fires_above_the_mark_not_at_it);
	unit_test_all(suite, H2_soft_fires_once_per_setting);
	unit_test_all(suite, H2_soft_does_not_disturb_the_connection);
	unit_test_all(suite, H6_soft_3_with_five_messages_unreaped);
	unit_test_all(suite, H3_soft_level_is_checked_inside_the_call);
	unit_test_all(suite, H3_every_call_arms_the_soft_mark_again);
	unit_test_all(suite, H3_a_call_before_the_event_replaces_the_value);
	unit_test_all(suite, H3_INFINITE_is_no_event);
	unit_test_all(suite, H3_INFINITE_is_the_default);
	unit_test_all(suite, H3_other_negative_values_are_refused);
	unit_test_all(suite, H3_G2_a_refused_call_leaves_the_old_marks_armed);
	unit_test_all(suite, H3_zero_fires_on_the_first_buffer);
	unit_test_all(suite, H3_the_largest_value_is_legal);
	unit_test_loop(suite, H3_the_call_is_legal_in_every_state, REACHABLE_STATES);
	unit_test_all(suite, H3_marks_set_before_the_connection_hold);
	unit_test_all(suite, H3_the_count_restarts_at_zero_after_reset);
	unit_test_all(suite, H3_the_count_restarts_not_below_zero);
	unit_test_all(suite, H3_an_armed_mark_stays_armed_over_reset);
	unit_test_all(suite, H3_a_fired_mark_stays_fired_over_reset);
}

UNIT_SUITE("ep_watermark")
