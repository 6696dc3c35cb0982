/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that finds no Receive, or one that is too short: ruling Q6. */
#include "tests/support/support.h"

static void expect_both_broken(void)
{
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_no_event(w.a.connect);
	expect_no_event(w.b.connect);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}

/* Replaces the fixture's fabric by one with another number of retries. */
static void sides_with_retries(DAT_UINT32 retries)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);

	must(dat_sim_destroy(w.sim));
	config.rnr_retry = retries;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
}

/* ---- no buffer ---- */

START_TEST(Q6_exhausted_retries_break_both_ends)
{
	srq_pair(10);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_RECEIVER_NOT_READY);
	expect_both_broken();
	expect_no_event(w.b.recv);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

START_TEST(Q6_a_plain_endpoint_breaks_the_same_way)
{
	plain_pair();
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_RECEIVER_NOT_READY);
	expect_both_broken();
}
END_TEST

START_TEST(Q6_a_buffer_posted_before_the_retry_saves_the_message)
{
	srq_pair(10);
	fill_slot(&w.a, 0, 3);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(50);
	expect_no_event(w.a.request);
	post_srq(&w.b, 7);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 7, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.b, 7, 3, SHORT));
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(Q6_messages_behind_the_one_that_waits_keep_their_order)
{
	int n;

	srq_pair(10);
	for (n = 0; n < 4; n++) {
		fill_slot(&w.a, n, n + 1);
		post_send(&w.a, w.a.ep, n, SHORT);
	}
	advance_us(50);
	post_srqs(&w.b, 10, 4);
	run_quiet();
	for (n = 0; n < 4; n++) {
		expect_dto(w.b.recv, w.b.ep, 10 + n, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
		ck_assert(slot_holds(&w.b, 10 + n, n + 1, SHORT));
	}
}
END_TEST

START_TEST(Q6_the_sender_retries_as_often_as_the_transport_says)
{
	DAT_UINT64 start;

	srq_pair(10);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_sim_advance(w.sim, 6 * UINT64_C(100000)));
	expect_no_event(w.a.connect);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_RECEIVER_NOT_READY);
	ck_assert_uint_lt(now_ns() - start, 7 * UINT64_C(100000));
}
END_TEST

START_TEST(Q6_with_no_retry_the_first_refusal_breaks)
{
	DAT_UINT64 start;

	sides_with_retries(0);
	srq_pair(10);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_RECEIVER_NOT_READY);
	expect_both_broken();
	ck_assert_uint_lt(now_ns() - start, 100000);
}
END_TEST

START_TEST(Q6_with_endless_retries_the_message_waits)
{
	sides_with_retries(7);
	srq_pair(10);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(100000);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_no_event(w.a.request);
	post_srq(&w.b, 0);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(Q6_on_iwarp_nobody_retries)
{
	DAT_UINT64 start;

	srq_pair(10);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_RECEIVER_NOT_READY);
	expect_both_broken();
	ck_assert_uint_lt(now_ns() - start, 100000);
}
END_TEST

START_TEST(Q6_the_break_flushes_what_is_left)
{
	srq_pair(10);
	post_recv(&w.a, w.a.ep, 20);
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_RECEIVER_NOT_READY);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.recv, w.a.ep, 20, DAT_DTO_ERR_FLUSHED);
	expect_both_broken();
}
END_TEST

START_TEST(Q6_other_endpoints_of_the_srq_are_not_hurt)
{
	DAT_EP_HANDLE a2, b2;

	srq_pair(10);
	second_srq_pair(&a2, &b2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_RECEIVER_NOT_READY);
	expect_both_broken();
	post_srq(&w.b, 0);
	deliver(&w.a, a2, 1);
	expect_dto(w.b.recv, b2, 0, DAT_DTO_SUCCESS);
}
END_TEST

/* ---- too short a buffer ---- */

static void post_srq_length(int n, DAT_VLEN length)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, n, length);

	must(dat_srq_post_recv(w.b.srq, 1, &iov, cookie(n)));
}

START_TEST(Q6_a_message_longer_than_its_buffer_breaks_both_ends)
{
	DAT_EVENT event;

	srq_pair(10);
	post_srq_length(0, 100);
	post_send(&w.a, w.a.ep, 0, 101);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_LOCAL_LENGTH);
	event = expect_event(w.a.request, DAT_DTO_COMPLETION_EVENT);
	ck_assert_int_ne(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	expect_both_broken();
}
END_TEST

START_TEST(Q6_a_message_of_several_packets_that_is_too_long_breaks_both_ends)
{
	srq_pair(10);
	post_srq_length(0, LONG - 1);
	post_send(&w.a, w.a.ep, 0, LONG);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_LOCAL_LENGTH);
	expect_both_broken();
	ck_assert_int_eq(slot(&w.b, 1)[0], 0);
}
END_TEST

START_TEST(Q6_a_message_exactly_as_long_as_its_buffer_fits)
{
	DAT_EVENT event;

	srq_pair(10);
	post_srq_length(0, 100);
	post_send(&w.a, w.a.ep, 0, 100);
	run_quiet();
	event = expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.transfered_length, 100);
}
END_TEST

START_TEST(Q6_an_empty_message_fits_an_empty_buffer)
{
	DAT_EVENT event;

	srq_pair(10);
	must(dat_srq_post_recv(w.b.srq, 0, NULL, cookie(0)));
	must(dat_ep_post_send(w.a.ep, 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	event = expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.transfered_length, 0);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(Q6_the_srq_keeps_its_other_buffers)
{
	srq_pair(10);
	post_srq_length(0, 10);
	post_srqs(&w.b, 1, 2);
	post_send(&w.a, w.a.ep, 0, 11);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_LOCAL_LENGTH);
	expect_no_event(w.b.recv);
	srq_counts(w.b.srq, 10, 2, 2);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, Q6_exhausted_retries_break_both_ends);
	unit_test(suite, Q6_a_plain_endpoint_breaks_the_same_way);
	unit_test(suite, Q6_a_buffer_posted_before_the_retry_saves_the_message);
	unit_test(suite, Q6_messages_behind_the_one_that_waits_keep_their_order);
	unit_test(suite, Q6_the_sender_retries_as_often_as_the_transport_says);
	unit_test_bare(suite, Q6_with_no_retry_the_first_refusal_breaks);
	unit_test_bare(suite, Q6_with_endless_retries_the_message_waits);
	unit_test_iwarp(suite, Q6_on_iwarp_nobody_retries);
	unit_test(suite, Q6_the_break_flushes_what_is_left);
	unit_test(suite, Q6_other_endpoints_of_the_srq_are_not_hurt);
	unit_test(suite, Q6_a_message_longer_than_its_buffer_breaks_both_ends);
	unit_test(suite, Q6_a_message_of_several_packets_that_is_too_long_breaks_both_ends);
	unit_test(suite, Q6_a_message_exactly_as_long_as_its_buffer_fits);
	unit_test(suite, Q6_an_empty_message_fits_an_empty_buffer);
	unit_test(suite, Q6_the_srq_keeps_its_other_buffers);
}

UNIT_SUITE("no_buffer")
