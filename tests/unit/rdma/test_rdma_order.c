/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ordering on a request queue with RDMA: completions in the order of posting, outstanding Reads,
 * fences, disconnects. The tests hold the link to keep Reads unanswered.
 */
#include "tests/support/support.h"

static DAT_BOOLEAN request_idle(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN idle = DAT_FALSE;

	must(dat_ep_get_status(ep, NULL, NULL, &idle));
	return idle;
}

/* Arrived packets of this op so far, from the trace; -1: there is no trace. */
static int packets(const char *op)
{
	char wanted[64];
	const char *text, *at;
	size_t length;
	int n = 0;

	must(dat_sim_trace_read(w.sim, &text, &length));
	snprintf(wanted, sizeof(wanted), " op=%s ", op);
	if (!strstr(text, " post_"))
		return -1;
	for (at = text; (at = strstr(at, wanted)) != NULL; at++)
		n++;
	return n;
}

static void expect_packets(const char *op, int n)
{
	int seen = packets(op);

	ck_assert_msg(seen == -1 || seen == n, "expected %d of %s, saw %d", n, op, seen);
}

/* Each entry of the send queue has had Writes when it has Sends, or the other way round. */
START_TEST(a_request_has_nothing_of_those_that_were_queued_before)
{
	enum {
		ROUNDS = 80
	};

	rdma_pair(2, 2);
	for (int n = 0; n < 2 * ROUNDS; n++) {
		int id = n % 16;

		if ((n < ROUNDS) == _i) {
			post_write(&w.a, w.a.ep, id, remote(&w.b, 1, SHORT));
			run_quiet();
		} else {
			post_recv(&w.b, w.b.ep, 50);
			post_send(&w.a, w.a.ep, id, SHORT);
			run_quiet();
			expect_dto(w.b.recv, w.b.ep, 50, DAT_DTO_SUCCESS);
		}
		expect_dto(w.a.request, w.a.ep, id, DAT_DTO_SUCCESS);
	}
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(requests_of_all_kinds_complete_in_the_order_of_posting)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	int i;

	rdma_pair(8, 8);
	post_recvs(&w.b, w.b.ep, 50, 6);
	for (i = 0; i < 24; i += 4) {
		post_read(&w.a, w.a.ep, i, remote(&w.b, i, LONG));
		post_send(&w.a, w.a.ep, i + 1, SHORT);
		post_write(&w.a, w.a.ep, i + 2, remote(&w.b, i + 2, 10));
		post_bind(rmr, &w.a, w.a.ep, i + 3, SHORT, DAT_MEM_PRIV_ALL_FLAG);
	}
	ck_assert(!request_idle(w.a.ep));
	run_quiet();
	ck_assert(request_idle(w.a.ep));
	for (i = 0; i < 24; i += 4) {
		expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, i + 1, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, i + 2, DAT_DTO_SUCCESS);
		expect_bind(w.a.request, rmr, i + 3, DAT_DTO_SUCCESS);
		expect_dto(w.b.recv, w.b.ep, 50 + i / 4, DAT_DTO_SUCCESS);
	}
	expect_no_event(w.a.request);
}
END_TEST

/* The Send arrives, but its completion waits for the preceding Read. */
START_TEST(a_Send_behind_an_unanswered_Read_is_delivered_and_completes_after_it)
{
	rdma_pair(4, 4);
	post_recv(&w.b, w.b.ep, 50);
	hold_link("emu1", "emu0");
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	post_send(&w.a, w.a.ep, 2, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 50, DAT_DTO_SUCCESS);
	expect_no_event(w.a.request);
	release_link("emu1", "emu0");
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
}
END_TEST

/* _i: the fenced request is a Send, a Write, a Read */
START_TEST(page_a_fenced_request_starts_when_earlier_Reads_are_done)
{
	DAT_COMPLETION_FLAGS fence = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	DAT_LMR_TRIPLET iov = segment(&w.a, 2, SHORT);

	rdma_pair(4, 4);
	fill_slot(&w.a, 2, 1);
	post_recv(&w.b, w.b.ep, 50);
	hold_link("emu1", "emu0");
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	if (_i == 0)
		must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(2), fence));
	else if (_i == 1)
		must(try_write(&w.a, w.a.ep, 2, remote(&w.b, 2, SHORT), (int)fence));
	else
		must(try_read(&w.a, w.a.ep, 2, remote(&w.b, 2, SHORT), (int)fence));
	post_write(&w.a, w.a.ep, 3, remote(&w.b, 3, SHORT)); /* queued behind the Read */
	fill_slot(&w.a, 3, 3);
	run_quiet();
	expect_no_event(w.b.recv);
	ck_assert_int_eq(slot(&w.b, 2)[1], 0);
	ck_assert_int_eq(slot(&w.b, 3)[1], 0);
	expect_packets("READ_REQUEST", 1);
	release_link("emu1", "emu0");
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.b, 3, 3, SHORT));
	ck_assert(_i != 1 || slot_holds(&w.b, 2, 1, SHORT));
	if (_i == 0)
		expect_dto(w.b.recv, w.b.ep, 50, DAT_DTO_SUCCESS);
}
END_TEST

/* On a slower link the rest of the first answer arrives later than the second answer. */
START_TEST(answers_to_Reads_are_placed_in_order)
{
	rdma_pair(3, 3);
	fill_slot(&w.b, 1, 1);
	fill_slot(&w.b, 2, 2);
	must(dat_sim_set_link(w.sim, "emu1", "emu0", LATENCY_NS, 8000000000)); /* 1 ns per byte */
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	post_read(&w.a, w.a.ep, 2, remote(&w.b, 2, SHORT));
	post_read(&w.a, w.a.ep, 3, remote(&w.b, 2, MTU));
	must(dat_sim_advance(w.sim, LATENCY_NS));
	must(dat_sim_set_link(w.sim, "emu1", "emu0", LATENCY_NS, 8000000));
	must(dat_sim_advance(w.sim, LATENCY_NS + 2 * LONG));
	ck_assert(slot_holds(&w.a, 1, 1, MTU));
	ck_assert_int_eq(slot(&w.a, 1)[MTU], 0);
	ck_assert_int_eq(slot(&w.a, 2)[1], 0);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 1, 1, LONG));
	ck_assert(slot_holds(&w.a, 2, 2, SHORT));
	ck_assert(slot_holds(&w.a, 3, 2, MTU));
}
END_TEST

START_TEST(page_a_fence_with_nothing_to_wait_for_does_not_wait)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 2, SHORT);

	rdma_pair(4, 4);
	post_recvs(&w.b, w.b.ep, 50, 2);
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(2), DAT_COMPLETION_BARRIER_FENCE_FLAG));
	post_send(&w.a, w.a.ep, 3, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
}
END_TEST

/* ---- outstanding Reads ---- */

START_TEST(digest_no_more_Reads_than_max_rdma_read_out_are_under_way)
{
	int i;

	rdma_pair(2, 8);
	hold_link("emu1", "emu0");
	for (i = 0; i < 5; i++) {
		fill_slot(&w.b, i, i + 1);
		post_read(&w.a, w.a.ep, i, remote(&w.b, i, LONG));
	}
	post_write(&w.a, w.a.ep, 5, remote(&w.b, 5, SHORT)); /* is queued, too */
	run_quiet();
	expect_packets("READ_REQUEST", 2);
	expect_packets("WRITE_ONLY", 0);
	release_link("emu1", "emu0");
	run_quiet();
	expect_packets("READ_REQUEST", 5);
	for (i = 0; i < 5; i++) {
		expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
		ck_assert(slot_holds(&w.a, i, i + 1, LONG));
	}
	expect_dto(w.a.request, w.a.ep, 5, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(digest_as_many_Reads_as_the_peer_answers_never_break)
{
	int i, k;

	rdma_pair(2, 2);
	for (k = 0; k < 10; k++) {
		for (i = 0; i < 6; i++)
			post_read(&w.a, w.a.ep, i, remote(&w.b, i, LONG));
		run_quiet();
		for (i = 0; i < 6; i++)
			expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
	}
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* ---- RNR between requests ---- */

START_TEST(Q6_Reads_behind_a_Send_that_finds_no_buffer_wait_for_its_retry)
{
	rdma_pair(2, 2);
	fill_slot(&w.b, 3, 9);
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	post_send(&w.a, w.a.ep, 2, SHORT);
	post_read(&w.a, w.a.ep, 3, remote(&w.b, 3, LONG));
	post_read(&w.a, w.a.ep, 4, remote(&w.b, 3, LONG));
	advance_us(50);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_no_event(w.a.request);
	post_recv(&w.b, w.b.ep, 50);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 4, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 4, 9, LONG));
}
END_TEST

START_TEST(Q6_Reads_are_answered_before_retries_run_out_and_flushed_behind)
{
	rdma_pair(2, 2);
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	post_send(&w.a, w.a.ep, 2, SHORT);
	post_read(&w.a, w.a.ep, 3, remote(&w.b, 3, LONG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_ERR_RECEIVER_NOT_READY);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_ERR_FLUSHED);
	expect_pair_broken();
}
END_TEST

/* ---- profile iwarp ---- */

START_TEST(a_Write_that_overtakes_is_placed_early_and_completes_in_order)
{
	rdma_pair(2, 2);
	post_recv(&w.b, w.b.ep, 50);
	fill_slot(&w.a, 2, 4);
	must(dat_sim_hold_message(w.a.ep, 1, 0));
	post_send(&w.a, w.a.ep, 1, SHORT);
	post_write(&w.a, w.a.ep, 2, remote(&w.b, 2, LONG));
	post_read(&w.a, w.a.ep, 3, remote(&w.b, 2, LONG));
	post_send(&w.a, w.a.ep, 4, SHORT);
	run_quiet();
	ck_assert(slot_holds(&w.b, 2, 4, LONG));
	expect_no_event(w.a.request);
	ck_assert_int_eq(slot(&w.a, 3)[1], 0); /* the responder executes Reads in order */
	/* The second Send took the buffer; only Sends have message numbers: rulings V1, H1. */
	expect_recv_counts(w.b.ep, 1, 2);
	post_recv(&w.b, w.b.ep, 51);
	release_message(w.a.ep, 1);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 4, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 3, 4, LONG));
	expect_dto(w.b.recv, w.b.ep, 51, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 50, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(a_Write_half_way_is_no_buffer_of_the_Endpoint)
{
	rdma_pair(2, 2);
	must(dat_sim_hold_message(w.a.ep, 1, 1));
	post_write(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	run_quiet();
	expect_recv_counts(w.b.ep, 0, 0);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_no_event(w.b.recv);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* ---- the end ---- */

START_TEST(page_a_graceful_disconnect_lets_all_that_waits_finish)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	int i;

	rdma_pair(1, 1);
	for (i = 0; i < 4; i++) {
		fill_slot(&w.b, i, i + 1);
		post_read(&w.a, w.a.ep, i, remote(&w.b, i, LONG));
	}
	post_bind(rmr, &w.a, w.a.ep, 4, SHORT, DAT_MEM_PRIV_NONE_FLAG);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	run_quiet();
	for (i = 0; i < 4; i++) {
		expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
		ck_assert(slot_holds(&w.a, i, i + 1, LONG));
	}
	expect_bind(w.a.request, rmr, 4, DAT_DTO_SUCCESS);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

/* _i: this side, the peer */
START_TEST(an_abrupt_disconnect_flushes_all_in_order)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);

	rdma_pair(1, 1);
	post_recv(&w.b, w.b.ep, 50);
	hold_link("emu1", "emu0");
	post_read(&w.a, w.a.ep, 0, remote(&w.b, 0, LONG));
	post_send(&w.a, w.a.ep, 1, SHORT);
	post_read(&w.a, w.a.ep, 2, remote(&w.b, 0, LONG));
	post_bind(rmr, &w.a, w.a.ep, 3, SHORT, DAT_MEM_PRIV_NONE_FLAG);
	post_write(&w.a, w.a.ep, 4, remote(&w.b, 0, LONG));
	run_quiet();
	must(dat_ep_disconnect(_i ? w.b.ep : w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	release_link("emu1", "emu0");
	run_quiet();
	/* The answer was on the wire before the peer disconnected. */
	expect_dto(w.a.request, w.a.ep, 0, _i ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.request, w.a.ep, 1, _i ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_bind(w.a.request, rmr, 3, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.request, w.a.ep, 4, DAT_DTO_ERR_FLUSHED);
	expect_no_event(w.a.request);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

START_TEST(Q4_a_reset_throws_away_what_waits_and_the_Endpoint_works_again)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	int round;

	rdma_pair(1, 1);
	for (round = 0; round < 3; round++) {
		post_read(&w.a, w.a.ep, 0, remote(&w.b, 0, LONG));
		post_read(&w.a, w.a.ep, 1, remote(&w.b, 0, LONG));
		post_bind(rmr, &w.a, w.a.ep, 2, SHORT, DAT_MEM_PRIV_NONE_FLAG);
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		must(dat_ep_reset(w.a.ep));
		run_quiet();
		expect_no_event(w.a.request);
		must(dat_ep_reset(w.b.ep));
		drain(w.a.connect);
		drain(w.b.connect);
		connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
		fill_slot(&w.b, 5, round);
		post_read(&w.a, w.a.ep, 5, remote(&w.b, 5, LONG));
		run_quiet();
		expect_dto(w.a.request, w.a.ep, 5, DAT_DTO_SUCCESS);
		ck_assert(slot_holds(&w.a, 5, round, LONG));
	}
}
END_TEST

START_TEST(freeing_either_end_in_the_middle_is_survived)
{
	rdma_pair(2, 2);
	post_read(&w.a, w.a.ep, 0, remote(&w.b, 0, LONG));
	post_write(&w.a, w.a.ep, 1, remote(&w.b, 0, LONG));
	advance_us(1);
	must(dat_ep_free(_i ? w.b.ep : w.a.ep));
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), _i ? 2 : 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, a_request_has_nothing_of_those_that_were_queued_before, 2);
	unit_test_all(suite, requests_of_all_kinds_complete_in_the_order_of_posting);
	unit_test_all(suite, a_Send_behind_an_unanswered_Read_is_delivered_and_completes_after_it);
	unit_test_loop_all(suite, page_a_fenced_request_starts_when_earlier_Reads_are_done, 3);
	unit_test_all(suite, answers_to_Reads_are_placed_in_order);
	unit_test_all(suite, page_a_fence_with_nothing_to_wait_for_does_not_wait);
	unit_test_all(suite, digest_no_more_Reads_than_max_rdma_read_out_are_under_way);
	unit_test_all(suite, digest_as_many_Reads_as_the_peer_answers_never_break);
	unit_test(suite, Q6_Reads_behind_a_Send_that_finds_no_buffer_wait_for_its_retry);
	unit_test_all(suite, Q6_Reads_are_answered_before_retries_run_out_and_flushed_behind);
	unit_test_iwarp(suite, a_Write_that_overtakes_is_placed_early_and_completes_in_order);
	unit_test_all(suite, a_Write_half_way_is_no_buffer_of_the_Endpoint);
	unit_test_all(suite, page_a_graceful_disconnect_lets_all_that_waits_finish);
	unit_test_loop_all(suite, an_abrupt_disconnect_flushes_all_in_order, 2);
	unit_test_all(suite, Q4_a_reset_throws_away_what_waits_and_the_Endpoint_works_again);
	unit_test_loop_all(suite, freeing_either_end_in_the_middle_is_survived, 2);
}

UNIT_SUITE("rdma_order")
