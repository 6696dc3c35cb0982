/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event Dispatchers as queues: create, query, dequeue, software events, resize, free, order,
 * overflow. Rulings E8, E9, G1, G6, A2a; "page_": the pages. Waiting is in test_evd_wait.c.
 */
#include "tests/support/support.h"

#define ALL_STREAMS (DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)

static DAT_EVD_PARAM evd_query(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	memset(&param, 0xee, sizeof(param));
	must(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	return param;
}

static void expect_se(DAT_EVD_HANDLE evd, int n)
{
	DAT_EVENT event = expect_event(evd, DAT_SOFTWARE_EVENT);

	ck_assert_ptr_eq(event.event_data.software_event_data.pointer, (void *)(uintptr_t)n);
}

/* ---- E8: creation ---- */

START_TEST(E8_a_new_EVD_is_enabled_and_waitable)
{
	DAT_EVD_PARAM param = evd_query(make_evd(&w.a, 8, DAT_EVD_DTO_FLAG));

	ck_assert_int_eq(param.evd_state & 0xf, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	ck_assert_ptr_eq(param.ia_handle, w.a.ia);
	ck_assert_ptr_null(param.cno_handle);
	ck_assert_int_eq(param.evd_flags, DAT_EVD_DTO_FLAG);
	ck_assert_int_ge(param.evd_qlen, 8);
}
END_TEST

START_TEST(E8_a_length_below_1_is_an_invalid_parameter)
{
	static const DAT_COUNT bad[] = { 0, -1, -2, INT_MIN };
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&w;

	must_fail(dat_evd_create(w.a.ia, bad[_i], NO_HANDLE, DAT_EVD_DTO_FLAG, &evd),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ck_assert_ptr_eq(evd, &w);
}
END_TEST

START_TEST(E8_A2a_bad_flags_are_an_invalid_parameter)
{
	static const int bad[] = { 0, 0x2, 0x200, 0x8, INT_MIN, 0x222 };
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&w;

	must_fail(dat_evd_create(w.a.ia, 8, NO_HANDLE, (DAT_EVD_FLAGS)bad[_i], &evd),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	ck_assert_ptr_eq(evd, &w);
}
END_TEST

START_TEST(E8_above_max_evd_qlen_there_are_no_resources)
{
	DAT_COUNT limit = ia_attr(&w.a).max_evd_qlen;
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&w;

	must_fail(dat_evd_create(w.a.ia, limit + 1, NO_HANDLE, DAT_EVD_DTO_FLAG, &evd),
		  DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	must_fail(dat_evd_create(w.a.ia, INT_MAX, NO_HANDLE, DAT_EVD_DTO_FLAG, &evd),
		  DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	ck_assert_ptr_eq(evd, &w);
	make_evd(&w.a, limit, DAT_EVD_DTO_FLAG);
}
END_TEST

START_TEST(G6_every_mixture_of_streams_may_share_an_EVD)
{
	static const int streams[] = { DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
				       DAT_EVD_DTO_FLAG,      DAT_EVD_CONNECTION_FLAG,
				       DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG };
	int mixture, i, flags;

	for (mixture = 1; mixture < 64; mixture++) {
		flags = 0;
		for (i = 0; i < 6; i++)
			if (mixture & (1 << i))
				flags |= streams[i];
		must(dat_evd_free(make_evd(&w.a, 8, flags)));
	}
	make_evd(&w.a, 8, DAT_EVD_DEFAULT_FLAG);
}
END_TEST

START_TEST(G6_one_EVD_serves_all_streams_of_a_side)
{
	DAT_EVD_HANDLE evd = make_evd(&w.b, 32, ALL_STREAMS);

	w.b.recv = w.b.request = w.b.connect = w.b.cr = evd;
	plain_pair();
	post_recv(&w.b, w.b.ep, 1);
	post_recv(&w.a, w.a.ep, 2);
	deliver(&w.a, w.a.ep, 1);
	post_se(evd, 5);
	post_send(&w.b, w.b.ep, 3, SHORT);
	run_quiet();
	expect_dto(evd, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_se(evd, 5);
	expect_dto(evd, w.b.ep, 3, DAT_DTO_SUCCESS);
}
END_TEST

/* ---- dequeue ---- */

START_TEST(G1_an_empty_EVD_is_a_bare_DAT_QUEUE_EMPTY)
{
	DAT_EVENT event, poison;

	memset(&event, 0xee, sizeof(event));
	memset(&poison, 0xee, sizeof(poison));
	ck_assert_uint_eq(dat_evd_dequeue(w.a.recv, &event), DAT_QUEUE_EMPTY);
	ck_assert_mem_eq(&event, &poison, sizeof(event));
}
END_TEST

START_TEST(page_events_come_in_the_order_in_which_they_happened)
{
	int n;

	for (n = 0; n < 20; n++)
		post_se(w.a.recv, n);
	for (n = 0; n < 20; n++)
		expect_se(w.a.recv, n);
	expect_no_event(w.a.recv);
}
END_TEST

START_TEST(page_completions_precede_the_DISCONNECTED_event)
{
	int n;

	w.b.recv = w.b.connect = make_evd(&w.b, 32, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 4);
	deliver(&w.a, w.a.ep, 3);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	for (n = 0; n < 3; n++)
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 3, DAT_DTO_ERR_FLUSHED);
	expect_connection(w.b.recv, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(page_ESTABLISHED_precedes_the_completions)
{
	w.b.recv = w.b.connect = make_evd(&w.b, 32, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	post_recv(&w.b, w.b.ep, 0);
	must(dat_cr_accept(request(w.a.ep, &w.b, QUAL), w.b.ep, 0, NULL));
	run_quiet();
	deliver(&w.a, w.a.ep, 1);
	expect_connection(w.b.recv, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

/* ---- software events ---- */

START_TEST(A2a_software_events_go_to_any_EVD)
{
	DAT_EVD_HANDLE evds[] = { w.a.recv, w.a.request, w.a.connect, w.a.cr, w.a.async };

	post_se(evds[_i], 42);
	expect_se(evds[_i], 42);
}
END_TEST

START_TEST(page_only_software_events_can_be_posted)
{
	static const int bad[] = { 0,
				   DAT_DTO_COMPLETION_EVENT,
				   DAT_ASYNC_SRQ_LOW_WATERMARK,
				   DAT_CONNECTION_EVENT_BROKEN,
				   0x10002,
				   -1 };
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = (DAT_EVENT_NUMBER)bad[_i];
	must_fail(dat_evd_post_se(w.a.recv, &event), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_no_event(w.a.recv);
}
END_TEST

START_TEST(page_a_full_queue_refuses_software_events_without_overflow)
{
	DAT_EVD_HANDLE evd = make_evd(&w.a, 4, DAT_EVD_SOFTWARE_FLAG);

	ck_assert_int_eq(stuff(evd), evd_query(evd).evd_qlen);
	expect_no_event(w.a.async);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	post_se(evd, 1);
}
END_TEST

/* ---- resize ---- */

START_TEST(page_resize_loses_no_event_and_keeps_their_order)
{
	static const DAT_COUNT sizes[] = { 10, 11, 64, 1000 };
	DAT_EVD_HANDLE evd = make_evd(&w.b, 32, DAT_EVD_DTO_FLAG);
	int n;

	w.b.recv = evd;
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 8);
	deliver(&w.a, w.a.ep, 3);
	post_se(evd, 100);
	deliver(&w.a, w.a.ep, 5);
	post_se(evd, 101);
	must(dat_evd_resize(evd, sizes[_i]));
	ck_assert_int_ge(evd_query(evd).evd_qlen, sizes[_i]);
	for (n = 0; n < 3; n++)
		expect_dto(evd, w.b.ep, n, DAT_DTO_SUCCESS);
	expect_se(evd, 100);
	for (; n < 8; n++)
		expect_dto(evd, w.b.ep, n, DAT_DTO_SUCCESS);
	expect_se(evd, 101);
}
END_TEST

/* The queue has gone round several times when it is resized. */
START_TEST(page_resize_keeps_completions_wherever_the_queue_begins)
{
	static const DAT_COUNT lengths[] = { 4, 9, 40 };

	w.b.recv = make_evd(&w.b, 6, DAT_EVD_DTO_FLAG);
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 24);
	for (int n = 0; n < 18; n++) {
		deliver(&w.a, w.a.ep, 1);
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
	}
	for (int n = 0; n < 3; n++)
		deliver(&w.a, w.a.ep, 1);
	must(dat_evd_resize(w.b.recv, lengths[_i]));
	deliver(&w.a, w.a.ep, 1);
	for (int n = 18; n < 22; n++)
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
	expect_no_event(w.b.recv);
}
END_TEST

/* Software events take room from completions, and each one that is read gives it back at once. */
START_TEST(E9_a_software_event_that_is_read_makes_room_for_a_completion)
{
	DAT_EVENT event;

	w.b.recv = make_evd(&w.b, 4, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 4);
	for (int n = 0; n < 3; n++)
		post_se(w.b.recv, n);
	must(dat_evd_dequeue(w.b.recv, &event));
	for (int n = 0; n < 2; n++)
		deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
	ck_assert_int_eq(drain(w.b.recv), 4);
	for (int n = 0; n < 2; n++)
		deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
	ck_assert_int_eq(drain(w.b.recv), 2);
}
END_TEST

START_TEST(page_after_a_resize_as_many_completions_fit_as_it_says)
{
	static const DAT_COUNT sizes[] = { 3, 20 };
	DAT_COUNT room;

	w.b.recv = make_evd(&w.b, 8, DAT_EVD_DTO_FLAG);
	plain_pair();
	must(dat_evd_resize(w.b.recv, sizes[_i]));
	room = evd_query(w.b.recv).evd_qlen;
	ck_assert_int_lt(room, 32);
	post_recvs(&w.b, w.b.ep, 0, room + 1);
	deliver(&w.a, w.a.ep, room);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_no_event(w.b.async);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv, DAT_EVD_OVERFLOW_ERROR);
	ck_assert_int_eq(drain(w.b.recv), room);
}
END_TEST

/* The queue's oldest event is no longer in its first place, and the newest ones are before it. */
START_TEST(E9_software_events_queued_before_a_resize_take_room_after_it)
{
	DAT_EVD_HANDLE evd = make_evd(&w.b, 8, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	int n;

	w.b.recv = evd;
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 8);
	for (n = 0; n < 6; n++)
		post_se(evd, n);
	for (n = 0; n < 4; n++)
		expect_se(evd, n);
	for (n = 6; n < 9; n++)
		post_se(evd, n);
	must(dat_evd_resize(evd, _i ? 7 : 8));
	deliver(&w.a, w.a.ep, _i ? 2 : 3);
	expect_no_event(w.b.async);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd, DAT_EVD_OVERFLOW_ERROR);
	for (n = 4; n < 9; n++)
		expect_se(evd, n);
	for (n = 0; n < (_i ? 2 : 3); n++)
		expect_dto(evd, w.b.ep, n, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(page_resize_below_what_is_queued_is_an_invalid_state)
{
	DAT_EVD_HANDLE evd = make_evd(&w.a, 16, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT before = evd_query(evd).evd_qlen;
	int n;

	for (n = 0; n < 9; n++)
		post_se(evd, n);
	must_fail(dat_evd_resize(evd, 8), DAT_INVALID_STATE, ANY_SUBTYPE);
	ck_assert_int_eq(evd_query(evd).evd_qlen, before);
	must(dat_evd_resize(evd, 9));
	for (n = 0; n < 9; n++)
		expect_se(evd, n);
}
END_TEST

START_TEST(page_completions_not_yet_looked_at_count_for_resize)
{
	w.b.recv = make_evd(&w.b, 16, DAT_EVD_DTO_FLAG);
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 9);
	deliver(&w.a, w.a.ep, 9);
	must_fail(dat_evd_resize(w.b.recv, 8), DAT_INVALID_STATE, ANY_SUBTYPE);
	must(dat_evd_resize(w.b.recv, 9));
	ck_assert_int_eq(drain(w.b.recv), 9);
}
END_TEST

START_TEST(page_resize_refuses_what_is_no_length)
{
	DAT_COUNT limit = ia_attr(&w.a).max_evd_qlen;

	must_fail(dat_evd_resize(w.a.recv, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_evd_resize(w.a.recv, -1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_evd_resize(w.a.recv, limit + 1), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(dat_evd_resize(w.a.recv, limit));
}
END_TEST

/* ---- free ---- */

START_TEST(page_an_EVD_that_something_feeds_cannot_be_freed)
{
	DAT_PSP_HANDLE psp = listen_at(&w.a, QUAL);

	w.a.ep = plain_ep(&w.a);
	must_fail(dat_evd_free(w.a.recv), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	must_fail(dat_evd_free(w.a.request), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	must_fail(dat_evd_free(w.a.connect), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	must_fail(dat_evd_free(w.a.cr), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	must_fail(dat_evd_free(w.a.async), DAT_INVALID_STATE, ANY_SUBTYPE);
	post_se(w.a.recv, 3);
	expect_se(w.a.recv, 3);
	must(dat_ep_free(w.a.ep));
	must(dat_psp_free(psp));
	must(dat_evd_free(w.a.recv));
	must(dat_evd_free(w.a.request));
	must(dat_evd_free(w.a.connect));
	must(dat_evd_free(w.a.cr));
}
END_TEST

START_TEST(page_an_EVD_with_events_on_it_can_be_freed)
{
	DAT_EVD_HANDLE evd = make_evd(&w.a, 8, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;

	post_se(evd, 1);
	must(dat_evd_free(evd));
	must_fail(dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}
END_TEST

/* ---- E9: overflow ---- */

/* Delivers one message more than the receive EVD can hold. */
static void overflow(void)
{
	DAT_COUNT room;

	w.b.recv = make_evd(&w.b, 2, DAT_EVD_DTO_FLAG);
	room = evd_query(w.b.recv).evd_qlen;
	srq_pair(room + 8);
	post_srqs(&w.b, 0, room + 4);
	deliver(&w.a, w.a.ep, room);
	expect_no_event(w.b.async);
	srq_counts(w.b.srq, room + 8, 4, room + 4);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
}

START_TEST(E9_an_overflow_is_told_and_breaks_the_endpoints_that_feed_the_EVD)
{
	overflow();
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv, DAT_EVD_OVERFLOW_ERROR);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(E9_every_endpoint_that_feeds_the_EVD_breaks_and_no_other)
{
	DAT_EP_HANDLE a2, b2, a3, b3, idle;
	DAT_EVD_HANDLE overfull = make_evd(&w.b, 2, DAT_EVD_DTO_FLAG), roomy = w.b.recv;
	DAT_COUNT room = evd_query(overfull).evd_qlen;

	w.b.recv = overfull;
	srq_pair(room + 8);
	second_srq_pair(&a2, &b2);
	idle = srq_ep(&w.b, w.b.srq);
	w.b.recv = roomy;
	a3 = plain_ep(&w.a);
	b3 = srq_ep(&w.b, w.b.srq);
	connect_eps(&w.a, a3, &w.b, b3);
	post_srqs(&w.b, 0, room + 1);
	deliver(&w.a, w.a.ep, room);
	post_send(&w.a, w.a.ep, 9, SHORT);
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(b2, DAT_EP_STATE_DISCONNECTED);
	expect_state(b3, DAT_EP_STATE_CONNECTED);
	expect_state(idle, DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(drain(w.b.connect), 2);
	ck_assert_int_eq(drain(w.b.async), 1);
}
END_TEST

START_TEST(E9_send_completions_overflow_in_the_same_way)
{
	DAT_COUNT room, n;

	w.a.request = make_evd(&w.a, 2, DAT_EVD_DTO_FLAG);
	room = evd_query(w.a.request).evd_qlen;
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, room + 1);
	for (n = 0; n <= room; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	run_quiet();
	expect_async(w.a.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.a.request, DAT_EVD_OVERFLOW_ERROR);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_int_eq(drain(w.a.request), room);
}
END_TEST

START_TEST(E9_the_completions_that_fitted_are_kept)
{
	DAT_COUNT room, n;

	overflow();
	room = evd_query(w.b.recv).evd_qlen;
	for (n = 0; n < room; n++)
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(E9_the_buffer_of_a_lost_completion_counts_as_reaped)
{
	DAT_COUNT room;

	overflow();
	room = evd_query(w.b.recv).evd_qlen;
	srq_counts(w.b.srq, room + 8, 3, room + 3);
	ck_assert_int_eq(drain(w.b.recv), room);
	srq_counts(w.b.srq, room + 8, 3, 3);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, E8_a_new_EVD_is_enabled_and_waitable);
	unit_test_loop(suite, E8_a_length_below_1_is_an_invalid_parameter, 4);
	unit_test_loop(suite, E8_A2a_bad_flags_are_an_invalid_parameter, 6);
	unit_test_all(suite, E8_above_max_evd_qlen_there_are_no_resources);
	unit_test_all(suite, G6_every_mixture_of_streams_may_share_an_EVD);
	unit_test_all(suite, G6_one_EVD_serves_all_streams_of_a_side);
	unit_test_all(suite, G1_an_empty_EVD_is_a_bare_DAT_QUEUE_EMPTY);
	unit_test_all(suite, page_events_come_in_the_order_in_which_they_happened);
	unit_test_all(suite, page_completions_precede_the_DISCONNECTED_event);
	unit_test_all(suite, page_ESTABLISHED_precedes_the_completions);
	unit_test_loop(suite, A2a_software_events_go_to_any_EVD, 5);
	unit_test_loop(suite, page_only_software_events_can_be_posted, 6);
	unit_test_all(suite, page_a_full_queue_refuses_software_events_without_overflow);
	unit_test_loop(suite, page_resize_loses_no_event_and_keeps_their_order, 4);
	unit_test(suite, E9_a_software_event_that_is_read_makes_room_for_a_completion);
	unit_test_loop_all(suite, page_resize_keeps_completions_wherever_the_queue_begins, 3);
	unit_test_loop(suite, page_after_a_resize_as_many_completions_fit_as_it_says, 2);
	unit_test_loop(suite, E9_software_events_queued_before_a_resize_take_room_after_it, 2);
	unit_test_all(suite, page_resize_below_what_is_queued_is_an_invalid_state);
	unit_test_all(suite, page_completions_not_yet_looked_at_count_for_resize);
	unit_test_all(suite, page_resize_refuses_what_is_no_length);
	unit_test_all(suite, page_an_EVD_that_something_feeds_cannot_be_freed);
	unit_test_all(suite, page_an_EVD_with_events_on_it_can_be_freed);
	unit_test_all(suite, E9_an_overflow_is_told_and_breaks_the_endpoints_that_feed_the_EVD);
	unit_test_all(suite, E9_every_endpoint_that_feeds_the_EVD_breaks_and_no_other);
	unit_test_all(suite, E9_send_completions_overflow_in_the_same_way);
	unit_test_all(suite, E9_the_completions_that_fitted_are_kept);
	unit_test_all(suite, E9_the_buffer_of_a_lost_completion_counts_as_reaped);
}

UNIT_SUITE("evd")
