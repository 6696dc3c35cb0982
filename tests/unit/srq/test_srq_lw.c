/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_srq_set_lw: rulings L1 to L6. The event's contents and its loss are W1 and W2. */
#include "tests/support/support.h"

static DAT_COUNT low_watermark(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	must(dat_srq_query(srq, DAT_SRQ_FIELD_LOW_WATERMARK, &param));
	return param.low_watermark;
}

/* ---- L1: strictly below ---- */

START_TEST(L1_no_event_while_available_equals_the_mark)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 3);
	must(dat_srq_set_lw(w.b.srq, 3));
	run_quiet();
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L1_event_when_available_is_one_below_the_mark)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 3);
	must(dat_srq_set_lw(w.b.srq, 4));
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

/* The mark fires here, and only here, if one reads the sentence in USAGE literally. */
START_TEST(L1_no_event_when_the_mark_is_below_available)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 8);
	must(dat_srq_set_lw(w.b.srq, 2));
	run_quiet();
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L1_taking_down_to_the_mark_is_no_event_one_more_is)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 2));
	deliver(&w.a, w.a.ep, 2);
	srq_counts(w.b.srq, 10, 2, 4);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_no_event(w.b.async);
}
END_TEST

/* ---- L2: checked at the call, then each time a buffer is taken ---- */

START_TEST(L2_event_is_generated_inside_the_call)
{
	DAT_UINT64 before;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	before = now_ns();
	must(dat_srq_set_lw(w.b.srq, 1));
	expect_low_watermark(w.b.async, w.b.srq);
	ck_assert_uint_eq(now_ns(), before);
}
END_TEST

START_TEST(L2_event_is_due_at_the_taking_not_at_the_completion)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	must(dat_srq_set_lw(w.b.srq, 2));
	send_half(&w.a, w.a.ep, 1, 0);
	expect_no_event(w.b.recv);
	expect_low_watermark(w.b.async, w.b.srq);
	release_message(w.a.ep, 1);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L2_reaping_neither_causes_nor_prevents_the_event)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 3));
	deliver(&w.a, w.a.ep, 1);
	ck_assert_int_eq(drain(w.b.recv), 1);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

START_TEST(L2_takings_of_all_endpoints_count)
{
	DAT_EP_HANDLE a2, b2;

	srq_pair(10);
	second_srq_pair(&a2, &b2);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 3));
	deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
	deliver(&w.a, a2, 1);
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

/* ---- L3: once per arming ---- */

START_TEST(L3_event_comes_once_per_arming)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 6);
	must(dat_srq_set_lw(w.b.srq, 6));
	deliver(&w.a, w.a.ep, 5);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L3_posting_and_falling_again_does_not_fire_again)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	must(dat_srq_set_lw(w.b.srq, 2));
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
	post_srqs(&w.b, 2, 5);
	deliver(&w.a, w.a.ep, 6);
	srq_counts(w.b.srq, 10, 0, 7);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L3_another_call_arms_again)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	must(dat_srq_set_lw(w.b.srq, 3));
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
	must(dat_srq_set_lw(w.b.srq, 2));
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

START_TEST(L3_the_same_value_again_fires_again_while_the_level_is_low)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 2);
	must(dat_srq_set_lw(w.b.srq, 5));
	expect_low_watermark(w.b.async, w.b.srq);
	must(dat_srq_set_lw(w.b.srq, 5));
	expect_low_watermark(w.b.async, w.b.srq);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L3_a_call_before_the_event_replaces_the_value)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	must(dat_srq_set_lw(w.b.srq, 5));
	must(dat_srq_set_lw(w.b.srq, 3));
	deliver(&w.a, w.a.ep, 2);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_no_event(w.b.async);
}
END_TEST

/* ---- L4: legal values ---- */

START_TEST(L4_every_value_from_0_to_max_recv_dtos_is_legal)
{
	DAT_COUNT lw;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	for (lw = 0; lw <= 10; lw++) {
		must(dat_srq_set_lw(w.b.srq, lw));
		ck_assert_int_eq(low_watermark(w.b.srq), lw);
	}
}
END_TEST

START_TEST(L4_any_other_value_is_an_invalid_parameter)
{
	static const DAT_COUNT bad[] = { -1, -2, 11, INT_MIN, INT_MAX };
	size_t i;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	for (i = 0; i < COUNT(bad); i++)
		must_fail(dat_srq_set_lw(w.b.srq, bad[i]), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L4_zero_disarms)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	must(dat_srq_set_lw(w.b.srq, 2));
	must(dat_srq_set_lw(w.b.srq, DAT_SRQ_LW_DEFAULT));
	deliver(&w.a, w.a.ep, 2);
	srq_counts(w.b.srq, 10, 0, 2);
	expect_no_event(w.b.async);
	ck_assert_int_eq(low_watermark(w.b.srq), 0);
}
END_TEST

START_TEST(L4_G2_a_refused_value_leaves_the_old_one_armed)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	must(dat_srq_set_lw(w.b.srq, 3));
	must_fail(dat_srq_set_lw(w.b.srq, 11), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ck_assert_int_eq(low_watermark(w.b.srq), 3);
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

START_TEST(L4_the_upper_bound_follows_a_resize)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	must(dat_srq_resize(w.b.srq, 20));
	must(dat_srq_set_lw(w.b.srq, 20));
	must_fail(dat_srq_set_lw(w.b.srq, 21), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must(dat_srq_set_lw(w.b.srq, 0));
	must(dat_srq_resize(w.b.srq, 5));
	must_fail(dat_srq_set_lw(w.b.srq, 6), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}
END_TEST

/* ---- L5: state after the event ---- */

START_TEST(L5_the_value_stays_visible_after_the_event)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	must(dat_srq_set_lw(w.b.srq, 7));
	expect_low_watermark(w.b.async, w.b.srq);
	ck_assert_int_eq(low_watermark(w.b.srq), 7);
}
END_TEST

START_TEST(L5_the_value_keeps_blocking_a_resize_below_it_after_the_event)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	must(dat_srq_set_lw(w.b.srq, 7));
	expect_low_watermark(w.b.async, w.b.srq);
	must_fail(dat_srq_resize(w.b.srq, 6), DAT_INVALID_STATE, ANY_SUBTYPE);
	srq_counts(w.b.srq, 10, 0, 0);
	must(dat_srq_resize(w.b.srq, 7));
}
END_TEST

/* ---- L6: at creation ---- */

START_TEST(L6_a_mark_at_creation_fires_at_once)
{
	w.b.srq = make_srq(&w.b, 10, 1);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_no_event(w.b.async);
	ck_assert_int_eq(low_watermark(w.b.srq), 1);
}
END_TEST

START_TEST(L6_the_default_at_creation_is_no_event)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 1);
	deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
	ck_assert_int_eq(low_watermark(w.b.srq), DAT_SRQ_LW_DEFAULT);
}
END_TEST

START_TEST(L6_a_mark_equal_to_max_recv_dtos_is_legal)
{
	w.b.srq = make_srq(&w.b, 10, 10);
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

START_TEST(L6_a_mark_above_max_recv_dtos_or_negative_is_refused)
{
	static const DAT_COUNT bad[] = { 11, -1, -2, INT_MIN, INT_MAX };
	DAT_SRQ_HANDLE srq = (DAT_SRQ_HANDLE)&w;
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		DAT_SRQ_ATTR attr = { 10, 4, bad[i] };

		must_fail(dat_srq_create(w.b.ia, w.b.pz, &attr, &srq), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG3);
	}
	ck_assert_ptr_eq(srq, &w);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_SRQ), 0);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L6_L3_the_event_of_the_creation_is_the_only_one_of_that_arming)
{
	DAT_EP_ATTR attr = ep_attr();

	w.a.ep = plain_ep(&w.a);
	w.b.srq = make_srq(&w.b, 10, 3);
	expect_low_watermark(w.b.async, w.b.srq);
	w.b.ep = srq_ep_with(&w.b, w.b.srq, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_srqs(&w.b, 0, 5);
	deliver(&w.a, w.a.ep, 4);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(L1_the_call_is_refused_without_an_srq)
{
	must_fail(dat_srq_set_lw(NO_HANDLE, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	must_fail(dat_srq_set_lw(w.b.pz, -1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, L1_no_event_while_available_equals_the_mark);
	unit_test_all(suite, L1_event_when_available_is_one_below_the_mark);
	unit_test_all(suite, L1_no_event_when_the_mark_is_below_available);
	unit_test_all(suite, L1_taking_down_to_the_mark_is_no_event_one_more_is);
	unit_test_all(suite, L1_the_call_is_refused_without_an_srq);
	unit_test_all(suite, L2_event_is_generated_inside_the_call);
	unit_test_all(suite, L2_event_is_due_at_the_taking_not_at_the_completion);
	unit_test_all(suite, L2_reaping_neither_causes_nor_prevents_the_event);
	unit_test_all(suite, L2_takings_of_all_endpoints_count);
	unit_test_all(suite, L3_event_comes_once_per_arming);
	unit_test_all(suite, L3_posting_and_falling_again_does_not_fire_again);
	unit_test_all(suite, L3_another_call_arms_again);
	unit_test_all(suite, L3_the_same_value_again_fires_again_while_the_level_is_low);
	unit_test_all(suite, L3_a_call_before_the_event_replaces_the_value);
	unit_test_all(suite, L4_every_value_from_0_to_max_recv_dtos_is_legal);
	unit_test_all(suite, L4_any_other_value_is_an_invalid_parameter);
	unit_test_all(suite, L4_zero_disarms);
	unit_test_all(suite, L4_G2_a_refused_value_leaves_the_old_one_armed);
	unit_test_all(suite, L4_the_upper_bound_follows_a_resize);
	unit_test_all(suite, L5_the_value_stays_visible_after_the_event);
	unit_test_all(suite, L5_the_value_keeps_blocking_a_resize_below_it_after_the_event);
	unit_test_all(suite, L6_a_mark_at_creation_fires_at_once);
	unit_test_all(suite, L6_the_default_at_creation_is_no_event);
	unit_test_all(suite, L6_a_mark_equal_to_max_recv_dtos_is_legal);
	unit_test_all(suite, L6_a_mark_above_max_recv_dtos_or_negative_is_refused);
	unit_test_all(suite, L6_L3_the_event_of_the_creation_is_the_only_one_of_that_arming);
}

UNIT_SUITE("srq_lw")
