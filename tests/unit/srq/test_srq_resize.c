/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_srq_resize: rulings Z1 to Z3. */
#include "tests/support/support.h"

/* ---- Z1: sizes that are too small ---- */

START_TEST(Z1_below_the_buffers_on_the_srq_is_refused)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 5);
	must_fail(dat_srq_resize(w.b.srq, 4), DAT_INVALID_STATE, ANY_SUBTYPE);
	srq_counts(w.b.srq, 10, 5, 5);
}
END_TEST

START_TEST(Z1_buffers_taken_count_as_outstanding)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	send_half(&w.a, w.a.ep, 1, 0);
	must_fail(dat_srq_resize(w.b.srq, 1), DAT_INVALID_STATE, ANY_SUBTYPE);
	srq_counts(w.b.srq, 10, 1, 2);
	must(dat_srq_resize(w.b.srq, 2));
	srq_counts(w.b.srq, 2, 1, 2);
}
END_TEST

START_TEST(Z1_unreaped_completions_count_as_outstanding)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 3);
	must_fail(dat_srq_resize(w.b.srq, 2), DAT_INVALID_STATE, ANY_SUBTYPE);
	srq_counts(w.b.srq, 10, 0, 3);
	ck_assert_int_eq(drain(w.b.recv), 3);
	must(dat_srq_resize(w.b.srq, 2));
	srq_counts(w.b.srq, 2, 0, 0);
}
END_TEST

START_TEST(Z1_equal_to_outstanding_is_legal)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 5);
	must(dat_srq_resize(w.b.srq, 5));
	srq_counts(w.b.srq, 5, 5, 5);
}
END_TEST

START_TEST(Z1_below_the_low_watermark_is_refused)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 4));
	post_srq(&w.b, 4);
	must(dat_srq_set_lw(w.b.srq, 5));
	expect_no_event(w.b.async);
	must_fail(dat_srq_resize(w.b.srq, 4), DAT_INVALID_STATE, ANY_SUBTYPE);
	srq_counts(w.b.srq, 10, 5, 5);
}
END_TEST

/* No outstanding buffer prevents this resize, only the mark. */
START_TEST(Z1_below_a_mark_that_has_fired_is_refused)
{
	w.b.srq = make_srq(&w.b, 10, 6);
	expect_low_watermark(w.b.async, w.b.srq);
	must_fail(dat_srq_resize(w.b.srq, 5), DAT_INVALID_STATE, ANY_SUBTYPE);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

START_TEST(Z1_equal_to_the_low_watermark_is_legal)
{
	w.b.srq = make_srq(&w.b, 10, 6);
	must(dat_srq_resize(w.b.srq, 6));
	srq_counts(w.b.srq, 6, 0, 0);
}
END_TEST

START_TEST(Z1_a_disarmed_mark_blocks_nothing)
{
	w.b.srq = make_srq(&w.b, 10, 6);
	must(dat_srq_set_lw(w.b.srq, 0));
	must(dat_srq_resize(w.b.srq, 1));
	srq_counts(w.b.srq, 1, 0, 0);
}
END_TEST

START_TEST(Z1_a_refused_resize_changes_neither_buffers_nor_mark)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 4));
	must_fail(dat_srq_resize(w.b.srq, 3), DAT_INVALID_STATE, ANY_SUBTYPE);
	post_srqs(&w.b, 4, 6);
	must_fail(try_post_srq(&w.b, 10), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	deliver(&w.a, w.a.ep, 7);
	expect_low_watermark(w.b.async, w.b.srq);
	ck_assert_int_eq(drain(w.b.recv), 7);
}
END_TEST

/* ---- Z2: invalid sizes ---- */

START_TEST(Z2_zero_and_negative_sizes_are_an_invalid_parameter)
{
	static const DAT_COUNT bad[] = { 0, -1, -2, INT_MIN };
	size_t i;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 3);
	for (i = 0; i < COUNT(bad); i++)
		must_fail(dat_srq_resize(w.b.srq, bad[i]), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	srq_counts(w.b.srq, 10, 3, 3);
}
END_TEST

START_TEST(Z2_above_the_adapters_limit_is_an_invalid_parameter)
{
	DAT_COUNT limit = ia_attr(&w.b).max_recv_per_srq;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	must_fail(dat_srq_resize(w.b.srq, limit + 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_srq_resize(w.b.srq, INT_MAX), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

START_TEST(Z2_the_adapters_limit_itself_is_legal)
{
	DAT_COUNT limit = ia_attr(&w.b).max_recv_per_srq;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	must(dat_srq_resize(w.b.srq, limit));
	srq_counts(w.b.srq, limit, 0, 0);
}
END_TEST

START_TEST(Z2_G2_an_invalid_parameter_comes_before_the_state)
{
	w.b.srq = make_srq(&w.b, 10, 6);
	must_fail(dat_srq_resize(w.b.srq, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_srq_resize(NO_HANDLE, 0), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
}
END_TEST

/* ---- Z3: exactly, in flight, without loss ---- */

START_TEST(Z3_growth_gives_exactly_the_size_asked_for)
{
	w.b.srq = make_srq(&w.b, 3, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 3);
	must(dat_srq_resize(w.b.srq, 11));
	srq_counts(w.b.srq, 11, 3, 3);
	post_srqs(&w.b, 3, 8);
	must_fail(try_post_srq(&w.b, 11), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
}
END_TEST

START_TEST(Z3_shrinking_gives_exactly_the_size_asked_for)
{
	w.b.srq = make_srq(&w.b, 40, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 3);
	must(dat_srq_resize(w.b.srq, 5));
	srq_counts(w.b.srq, 5, 3, 3);
	post_srqs(&w.b, 3, 2);
	must_fail(try_post_srq(&w.b, 5), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
}
END_TEST

START_TEST(Z3_the_same_size_is_a_legal_resize)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 10);
	must(dat_srq_resize(w.b.srq, 10));
	srq_counts(w.b.srq, 10, 10, 10);
}
END_TEST

/* New sizes for an SRQ with one buffer taken, two available and one unreaped */
static const DAT_COUNT sizes_in_flight[] = { 4, 5, 10, 11, 40, 1000 };

/* The rest of a half received message lands in its buffer whatever happens to the queue. */
START_TEST(Z3_a_message_half_way_survives)
{
	DAT_COUNT size = sizes_in_flight[_i];
	int n;

	srq_pair(10);
	post_srqs(&w.b, 0, 4);
	deliver(&w.a, w.a.ep, 1);
	for (n = 1; n < 4; n++)
		fill_slot(&w.a, n, n);
	send_half(&w.a, w.a.ep, 2, 1);
	must(dat_srq_resize(w.b.srq, size));
	srq_counts(w.b.srq, size, 2, 4);
	release_message(w.a.ep, 2);
	post_send(&w.a, w.a.ep, 2, LONG);
	post_send(&w.a, w.a.ep, 3, LONG);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	for (n = 1; n < 4; n++) {
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
		ck_assert(slot_holds(&w.b, n, n, LONG));
	}
	srq_counts(w.b.srq, size, 0, 0);
}
END_TEST

/* The head of the ring is somewhere in its middle, and the tail is before it. */
START_TEST(Z3_order_and_contents_survive_wherever_the_ring_stands)
{
	int n, size = 8, start = _i;

	srq_pair(size);
	post_srqs(&w.b, 0, start);
	deliver(&w.a, w.a.ep, start);
	ck_assert_int_eq(drain(w.b.recv), start);
	post_srqs(&w.b, 20, 6);
	must(dat_srq_resize(w.b.srq, 6));
	must(dat_srq_resize(w.b.srq, 9));
	post_srqs(&w.b, 26, 3);
	for (n = 0; n < 9; n++) {
		fill_slot(&w.a, n, n + 100);
		post_send(&w.a, w.a.ep, n, SHORT);
	}
	run_quiet();
	for (n = 0; n < 9; n++) {
		expect_dto(w.b.recv, w.b.ep, 20 + n, DAT_DTO_SUCCESS);
		ck_assert(slot_holds(&w.b, 20 + n, n + 100, SHORT));
	}
}
END_TEST

START_TEST(Z3_nothing_is_lost_over_many_resizes_under_traffic)
{
	int round, n, next = 0;

	srq_pair(4);
	for (round = 0; round < 200; round++) {
		DAT_COUNT size = 4 + (round * 7) % 13;

		must(dat_srq_resize(w.b.srq, size));
		post_srqs(&w.b, 0, 4);
		for (n = 0; n < 4; n++) {
			fill_slot(&w.a, n, next + n);
			post_send(&w.a, w.a.ep, n, n % 2 ? LONG : SHORT);
			advance_us(1);
			must(dat_srq_resize(w.b.srq, 4 + (round + n) % 5));
		}
		run_quiet();
		for (n = 0; n < 4; n++) {
			expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
			expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
			ck_assert(slot_holds(&w.b, n, next + n, n % 2 ? LONG : SHORT));
		}
		next += 4;
	}
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(Z3_a_message_that_waits_for_a_buffer_survives)
{
	srq_pair(4);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(50);
	must(dat_srq_resize(w.b.srq, 12));
	post_srq(&w.b, 5);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 5, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(Z3_the_low_watermark_stays_armed_over_a_resize)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 4));
	must(dat_srq_resize(w.b.srq, 30));
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

START_TEST(Z3_L3_a_resize_does_not_arm_a_mark_that_has_fired)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 5));
	expect_low_watermark(w.b.async, w.b.srq);
	must(dat_srq_resize(w.b.srq, 30));
	deliver(&w.a, w.a.ep, 3);
	expect_no_event(w.b.async);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, Z1_below_the_buffers_on_the_srq_is_refused);
	unit_test_all(suite, Z1_buffers_taken_count_as_outstanding);
	unit_test_all(suite, Z1_unreaped_completions_count_as_outstanding);
	unit_test_all(suite, Z1_equal_to_outstanding_is_legal);
	unit_test_all(suite, Z1_below_the_low_watermark_is_refused);
	unit_test_all(suite, Z1_below_a_mark_that_has_fired_is_refused);
	unit_test_all(suite, Z1_equal_to_the_low_watermark_is_legal);
	unit_test_all(suite, Z1_a_disarmed_mark_blocks_nothing);
	unit_test_all(suite, Z1_a_refused_resize_changes_neither_buffers_nor_mark);
	unit_test_all(suite, Z2_zero_and_negative_sizes_are_an_invalid_parameter);
	unit_test_all(suite, Z2_above_the_adapters_limit_is_an_invalid_parameter);
	unit_test_all(suite, Z2_the_adapters_limit_itself_is_legal);
	unit_test_all(suite, Z2_G2_an_invalid_parameter_comes_before_the_state);
	unit_test_all(suite, Z3_growth_gives_exactly_the_size_asked_for);
	unit_test_all(suite, Z3_shrinking_gives_exactly_the_size_asked_for);
	unit_test_all(suite, Z3_the_same_size_is_a_legal_resize);
	unit_test_loop(suite, Z3_a_message_half_way_survives, COUNT(sizes_in_flight));
	unit_test_loop(suite, Z3_order_and_contents_survive_wherever_the_ring_stands, 9);
	unit_test_all(suite, Z3_nothing_is_lost_over_many_resizes_under_traffic);
	unit_test(suite, Z3_a_message_that_waits_for_a_buffer_survives);
	unit_test_all(suite, Z3_the_low_watermark_stays_armed_over_a_resize);
	unit_test_all(suite, Z3_L3_a_resize_does_not_arm_a_mark_that_has_fired);
}

UNIT_SUITE("srq_resize")
