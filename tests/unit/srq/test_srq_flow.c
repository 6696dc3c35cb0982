/* SPDX-License-Identifier: BSD-3-Clause */
/* Which messages take buffers from an SRQ, and where the buffers go: ruling Q4. */
#include "tests/support/support.h"

/* Three buffers are posted; message 1 is complete and unreaped, message 2 half received. */
static void whole_and_half(void)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 1);
	send_half(&w.a, w.a.ep, 2, 1);
	srq_counts(w.b.srq, 10, 1, 3);
}

/* ---- taking a buffer ---- */

START_TEST(Q4_a_CONNECTED_endpoint_takes_buffers)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 1);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(Q4_a_DISCONNECT_PENDING_endpoint_takes_buffers)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	hold_link("emu1", "emu0");
	post_send(&w.b, w.b.ep, 9, SHORT);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	srq_counts(w.b.srq, 10, 1, 2);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(Q4_a_DISCONNECTED_endpoint_takes_none)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	srq_counts(w.b.srq, 10, 2, 2);
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(Q4_buffers_are_taken_in_the_order_of_posting)
{
	int n;

	srq_pair(10);
	post_srqs(&w.b, 3, 5);
	deliver(&w.a, w.a.ep, 5);
	for (n = 3; n < 8; n++)
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
}
END_TEST

/* ---- effects of a disconnect ---- */

static void expect_whole_and_half_ended(void)
{
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	srq_counts(w.b.srq, 10, 1, 3);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_no_event(w.b.recv);
	srq_counts(w.b.srq, 10, 1, 1);
}

START_TEST(Q4_own_disconnect_completes_what_was_taken)
{
	whole_and_half();
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_whole_and_half_ended();
}
END_TEST

START_TEST(Q4_the_peers_disconnect_completes_what_was_taken)
{
	whole_and_half();
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_whole_and_half_ended();
}
END_TEST

START_TEST(Q4_the_peers_free_completes_what_was_taken)
{
	whole_and_half();
	must(dat_ep_free(w.a.ep));
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_whole_and_half_ended();
}
END_TEST

START_TEST(Q4_buffers_taken_never_go_back_to_the_srq)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 1);
	send_half(&w.a, w.a.ep, 1, 0);
	srq_counts(w.b.srq, 10, 0, 1);
	disconnect_pair();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_FLUSHED);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

START_TEST(Q4_buffers_not_taken_stay_for_another_endpoint)
{
	DAT_EP_HANDLE a2, b2;

	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	disconnect_pair();
	srq_counts(w.b.srq, 10, 3, 3);
	expect_no_event(w.b.recv);
	second_srq_pair(&a2, &b2);
	deliver(&w.a, a2, 1);
	expect_dto(w.b.recv, b2, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(Q4_releasing_the_rest_of_a_flushed_message_does_nothing)
{
	whole_and_half();
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	release_message(w.a.ep, 2);
	expect_whole_and_half_ended();
}
END_TEST

/* Message 2 overtook and is complete; message 1 is not. */
START_TEST(Q4_a_whole_message_is_a_success_whatever_is_before_it)
{
	DAT_DTO_COMPLETION_STATUS status[2] = { DAT_DTO_ERR_TRANSPORT, DAT_DTO_ERR_TRANSPORT };
	int i;

	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	send_half(&w.a, w.a.ep, 1, 0);
	fill_slot(&w.a, 1, 9);
	post_send(&w.a, w.a.ep, 1, LONG);
	run_quiet();
	srq_counts(w.b.srq, 10, 0, 2);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	for (i = 0; i < 2; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA data =
			expect_event(w.b.recv, DAT_DTO_COMPLETION_EVENT)
				.event_data.dto_completion_event_data;

		ck_assert_uint_lt(data.user_cookie.as_64, 2);
		status[data.user_cookie.as_64] = data.status;
	}
	ck_assert_int_eq(status[0], DAT_DTO_ERR_FLUSHED);
	ck_assert_int_eq(status[1], DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.b, 1, 9, LONG));
}
END_TEST

/* ---- reset and free discard buffers ---- */

START_TEST(Q4_reset_throws_away_unreaped_completions)
{
	whole_and_half();
	disconnect_pair();
	srq_counts(w.b.srq, 10, 1, 3);
	must(dat_ep_reset(w.b.ep));
	srq_counts(w.b.srq, 10, 1, 1);
	run_quiet();
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(Q4_reaping_before_the_reset_counts_once)
{
	whole_and_half();
	disconnect_pair();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	srq_counts(w.b.srq, 10, 1, 2);
	must(dat_ep_reset(w.b.ep));
	srq_counts(w.b.srq, 10, 1, 1);
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(Q4_free_of_a_connected_endpoint_throws_away_and_counts_as_reaped)
{
	whole_and_half();
	must(dat_ep_free(w.b.ep));
	srq_counts(w.b.srq, 10, 1, 1);
	run_quiet();
	expect_no_event(w.b.recv);
	srq_counts(w.b.srq, 10, 1, 1);
}
END_TEST

START_TEST(Q4_free_of_a_disconnected_endpoint_throws_away_and_counts_as_reaped)
{
	whole_and_half();
	disconnect_pair();
	must(dat_ep_free(w.b.ep));
	srq_counts(w.b.srq, 10, 1, 1);
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(Q4_free_after_reset_counts_nothing_twice)
{
	whole_and_half();
	disconnect_pair();
	must(dat_ep_reset(w.b.ep));
	must(dat_ep_free(w.b.ep));
	srq_counts(w.b.srq, 10, 1, 1);
	must(dat_srq_free(w.b.srq));
}
END_TEST

START_TEST(Q4_the_rest_of_a_message_for_a_freed_endpoint_does_nothing)
{
	whole_and_half();
	must(dat_ep_free(w.b.ep));
	run_quiet();
	release_message(w.a.ep, 2);
	srq_counts(w.b.srq, 10, 1, 1);
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(Q4_only_the_freed_endpoints_completions_vanish)
{
	DAT_EP_HANDLE a2, b2;

	srq_pair(10);
	second_srq_pair(&a2, &b2);
	post_srqs(&w.b, 0, 6);
	deliver(&w.a, w.a.ep, 1);
	deliver(&w.a, a2, 1);
	deliver(&w.a, w.a.ep, 1);
	deliver(&w.a, a2, 1);
	must(dat_ep_free(w.b.ep));
	srq_counts(w.b.srq, 10, 2, 4);
	expect_dto(w.b.recv, b2, 1, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, b2, 3, DAT_DTO_SUCCESS);
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(Q4_send_completions_of_a_freed_endpoint_do_not_surface)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	post_send(&w.a, w.a.ep, 1, SHORT);
	must(dat_ep_free(w.a.ep));
	run_quiet();
	expect_no_event(w.a.request);
}
END_TEST

START_TEST(Q4_send_completions_of_a_reset_endpoint_do_not_surface)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	post_send(&w.a, w.a.ep, 1, SHORT);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	must(dat_ep_reset(w.a.ep));
	expect_no_event(w.a.request);
}
END_TEST

START_TEST(Q4_receives_of_a_plain_endpoint_do_not_surface_after_reset)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	deliver(&w.a, w.a.ep, 1);
	disconnect_pair();
	must(dat_ep_reset(w.b.ep));
	expect_no_event(w.b.recv);
	expect_recv_counts(w.b.ep, 0, 0);
}
END_TEST

START_TEST(Q4_a_connection_event_already_queued_stays_after_free)
{
	srq_pair(10);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	must(dat_ep_free(w.b.ep));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

START_TEST(Q4_a_connection_event_already_queued_stays_after_reset)
{
	srq_pair(10);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	must(dat_ep_reset(w.b.ep));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, Q4_a_CONNECTED_endpoint_takes_buffers);
	unit_test_all(suite, Q4_a_DISCONNECT_PENDING_endpoint_takes_buffers);
	unit_test_all(suite, Q4_a_DISCONNECTED_endpoint_takes_none);
	unit_test_all(suite, Q4_buffers_are_taken_in_the_order_of_posting);
	unit_test_all(suite, Q4_own_disconnect_completes_what_was_taken);
	unit_test_all(suite, Q4_the_peers_disconnect_completes_what_was_taken);
	unit_test_all(suite, Q4_the_peers_free_completes_what_was_taken);
	unit_test_all(suite, Q4_buffers_taken_never_go_back_to_the_srq);
	unit_test_all(suite, Q4_buffers_not_taken_stay_for_another_endpoint);
	unit_test_all(suite, Q4_releasing_the_rest_of_a_flushed_message_does_nothing);
	unit_test_iwarp(suite, Q4_a_whole_message_is_a_success_whatever_is_before_it);
	unit_test_all(suite, Q4_reset_throws_away_unreaped_completions);
	unit_test_all(suite, Q4_reaping_before_the_reset_counts_once);
	unit_test_all(suite, Q4_free_of_a_connected_endpoint_throws_away_and_counts_as_reaped);
	unit_test_all(suite, Q4_free_of_a_disconnected_endpoint_throws_away_and_counts_as_reaped);
	unit_test_all(suite, Q4_free_after_reset_counts_nothing_twice);
	unit_test_all(suite, Q4_the_rest_of_a_message_for_a_freed_endpoint_does_nothing);
	unit_test_all(suite, Q4_only_the_freed_endpoints_completions_vanish);
	unit_test_all(suite, Q4_send_completions_of_a_freed_endpoint_do_not_surface);
	unit_test_all(suite, Q4_send_completions_of_a_reset_endpoint_do_not_surface);
	unit_test_all(suite, Q4_receives_of_a_plain_endpoint_do_not_surface_after_reset);
	unit_test_all(suite, Q4_a_connection_event_already_queued_stays_after_free);
	unit_test_all(suite, Q4_a_connection_event_already_queued_stays_after_reset);
}

UNIT_SUITE("srq_flow")
