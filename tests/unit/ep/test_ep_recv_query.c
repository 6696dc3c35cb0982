/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_ep_recv_query: ruling V1. */
#include "tests/support/support.h"

/* Holds message n of w.a.ep after this many of its packets. */
static void hold(int n, int packets)
{
	must(dat_sim_hold_message(w.a.ep, n, packets));
}

/* Posts messages first..last of the connection, each of two packets. */
static void send_long(int first, int last)
{
	int n;

	for (n = first; n <= last; n++)
		post_send(&w.a, w.a.ep, n, 2 * MTU);
	run_quiet();
}

/* ---- EPs without an SRQ ---- */

START_TEST(V1_a_plain_endpoint_counts_from_the_post_on)
{
	w.b.ep = plain_ep(&w.b);
	expect_recv_counts(w.b.ep, 0, 0);
	post_recvs(&w.b, w.b.ep, 0, 3);
	expect_recv_counts(w.b.ep, 3, 3);
}
END_TEST

START_TEST(V1_a_completed_buffer_counts_no_more_reaped_or_not)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	deliver(&w.a, w.a.ep, 1);
	expect_recv_counts(w.b.ep, 2, 2);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_recv_counts(w.b.ep, 2, 2);
	deliver(&w.a, w.a.ep, 2);
	expect_recv_counts(w.b.ep, 0, 0);
}
END_TEST

START_TEST(V1_a_plain_endpoint_counts_a_half_received_buffer)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	send_half(&w.a, w.a.ep, 1, 0);
	expect_recv_counts(w.b.ep, 3, 3);
	release_message(w.a.ep, 1);
	expect_recv_counts(w.b.ep, 2, 2);
}
END_TEST

/* ---- SRQ endpoints ---- */

START_TEST(V1_an_srq_endpoint_counts_from_the_taking_on)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	expect_recv_counts(w.b.ep, 0, 0);
	send_half(&w.a, w.a.ep, 1, 0);
	expect_recv_counts(w.b.ep, 1, 1);
	release_message(w.a.ep, 1);
	expect_recv_counts(w.b.ep, 0, 0);
}
END_TEST

START_TEST(V1_buffers_another_endpoint_took_do_not_count)
{
	DAT_EP_HANDLE a2, b2;

	srq_pair(10);
	second_srq_pair(&a2, &b2);
	post_srqs(&w.b, 0, 3);
	send_half(&w.a, a2, 1, 0);
	expect_recv_counts(w.b.ep, 0, 0);
	expect_recv_counts(b2, 1, 1);
}
END_TEST

/* ---- the span ---- */

/* The page's example: 18 messages are complete; nothing of messages 20 and 21 has arrived. */
START_TEST(V1_messages_19_22_23_are_3_buffers_over_5_messages)
{
	srq_pair(32);
	post_srqs(&w.b, 0, 32);
	deliver(&w.a, w.a.ep, 18);
	expect_recv_counts(w.b.ep, 0, 0);
	hold(19, 1);
	hold(20, 0);
	hold(21, 0);
	hold(22, 1);
	hold(23, 1);
	send_long(19, 23);
	expect_recv_counts(w.b.ep, 3, 5);
	srq_counts(w.b.srq, 32, 32 - 18 - 3, 32);
}
END_TEST

START_TEST(V1_the_span_shrinks_as_the_gap_fills)
{
	int n;

	srq_pair(32);
	post_srqs(&w.b, 0, 32);
	hold(1, 1);
	hold(2, 0);
	hold(3, 1);
	send_long(1, 3);
	expect_recv_counts(w.b.ep, 2, 3);
	for (n = 2; n >= 1; n--)
		release_message(w.a.ep, n);
	expect_recv_counts(w.b.ep, 1, 1);
	release_message(w.a.ep, 3);
	expect_recv_counts(w.b.ep, 0, 0);
	ck_assert_int_eq(drain(w.b.recv), 3);
}
END_TEST

/* The messages may complete in any order. */
START_TEST(V1_the_span_is_never_less_than_the_count)
{
	static const int orders[6][3] = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 },
					  { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };
	DAT_COUNT nbufs = -1, span = -1;
	int n;

	srq_pair(32);
	post_srqs(&w.b, 0, 32);
	for (n = 1; n <= 3; n++)
		hold(n, 1);
	send_long(1, 3);
	expect_recv_counts(w.b.ep, 3, 3);
	for (n = 0; n < 3; n++) {
		release_message(w.a.ep, orders[_i][n]);
		must(dat_ep_recv_query(w.b.ep, &nbufs, &span));
		ck_assert_int_ge(span, nbufs);
		ck_assert_int_ge(nbufs, 0);
	}
	expect_recv_counts(w.b.ep, 0, 0);
}
END_TEST

START_TEST(V1_overtaking_messages_lose_nothing)
{
	bool seen[4] = { false };
	DAT_EVENT event;
	int n;

	srq_pair(32);
	post_srqs(&w.b, 10, 3);
	for (n = 1; n <= 3; n++)
		fill_slot(&w.a, n, n);
	hold(1, 0);
	send_long(1, 3);
	release_message(w.a.ep, 1);
	for (n = 0; n < 3; n++) {
		DAT_UINT64 at;
		int message;

		event = expect_event(w.b.recv, DAT_DTO_COMPLETION_EVENT);
		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
		at = event.event_data.dto_completion_event_data.user_cookie.as_64;
		for (message = 1; message <= 3; message++)
			if (slot_holds(&w.b, (int)at, message, 2 * MTU))
				seen[message] = true;
	}
	ck_assert(seen[1] && seen[2] && seen[3]);
}
END_TEST

START_TEST(V1_on_profile_ib_a_held_message_keeps_the_later_ones_behind_it)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	hold(1, 1);
	send_long(1, 3);
	expect_recv_counts(w.b.ep, 1, 1);
	release_message(w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 2, DAT_DTO_SUCCESS);
}
END_TEST

/* ---- after the connection ---- */

START_TEST(V1_nothing_is_left_after_a_disconnect)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	send_half(&w.a, w.a.ep, 1, 0);
	disconnect_pair();
	expect_recv_counts(w.b.ep, 0, 0);
}
END_TEST

START_TEST(V1_a_new_connection_counts_from_the_start)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	deliver(&w.a, w.a.ep, 3);
	disconnect_pair();
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	expect_recv_counts(w.b.ep, 0, 0);
	send_half(&w.a, w.a.ep, 1, 0);
	expect_recv_counts(w.b.ep, 1, 1);
}
END_TEST

START_TEST(V1_the_query_works_in_every_state)
{
	DAT_EP_HANDLE ep = ep_in_state(reachable_states[_i]);

	expect_recv_counts(ep, 0, 0);
}
END_TEST

/* ---- arguments ---- */

START_TEST(V1_either_pointer_may_be_NULL)
{
	DAT_COUNT nbufs = -1, span = -1;

	w.b.ep = plain_ep(&w.b);
	post_recvs(&w.b, w.b.ep, 0, 2);
	must(dat_ep_recv_query(w.b.ep, &nbufs, NULL));
	must(dat_ep_recv_query(w.b.ep, NULL, &span));
	ck_assert_int_eq(nbufs, 2);
	ck_assert_int_eq(span, 2);
}
END_TEST

START_TEST(V1_both_pointers_NULL_are_an_invalid_parameter)
{
	w.b.ep = plain_ep(&w.b);
	must_fail(dat_ep_recv_query(w.b.ep, NULL, NULL), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_ep_recv_query(NO_HANDLE, NULL, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, V1_a_plain_endpoint_counts_from_the_post_on);
	unit_test(suite, V1_a_completed_buffer_counts_no_more_reaped_or_not);
	unit_test(suite, V1_a_plain_endpoint_counts_a_half_received_buffer);
	unit_test(suite, V1_an_srq_endpoint_counts_from_the_taking_on);
	unit_test(suite, V1_buffers_another_endpoint_took_do_not_count);
	unit_test_iwarp(suite, V1_messages_19_22_23_are_3_buffers_over_5_messages);
	unit_test_iwarp(suite, V1_the_span_shrinks_as_the_gap_fills);
	unit_add(suite, V1_the_span_is_never_less_than_the_count, 6, setup_sides_iwarp);
	unit_test_iwarp(suite, V1_overtaking_messages_lose_nothing);
	unit_test(suite, V1_on_profile_ib_a_held_message_keeps_the_later_ones_behind_it);
	unit_test(suite, V1_nothing_is_left_after_a_disconnect);
	unit_test(suite, V1_a_new_connection_counts_from_the_start);
	unit_test_loop(suite, V1_the_query_works_in_every_state, REACHABLE_STATES);
	unit_test(suite, V1_either_pointer_may_be_NULL);
	unit_test(suite, V1_both_pointers_NULL_are_an_invalid_parameter);
}

UNIT_SUITE("ep_recv_query")
