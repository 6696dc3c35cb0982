/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments, states, room, other users of completions, and threads. Rulings C1, G2, G3. */
#include <pthread.h>

#include "tests/unit/dto/quick.h"

/* ---- the other arguments ---- */

START_TEST(G2_handles_and_arguments_are_checked_with_every_call)
{
	DAT_LMR_TRIPLET from, to;
	DAT_EVENT event;

	used_pair(&from, &to);
	must_fail(send_iov(1, NULL, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(recv_iov(1, NULL, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(send_iov(-1, &from, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(recv_iov(-1, &to, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(send_iov(1, &from, 1 << 30), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must_fail(recv_iov(1, &to, 1 << 30), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must_fail(send_iov(1, &from, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG5);
	must_fail(recv_iov(1, &to, DAT_COMPLETION_SUPPRESS_FLAG), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG5);
	must_fail(dat_evd_dequeue(w.b.recv, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	message(&from, &to);
	must_fail(dat_ep_post_send(w.a.recv, 1, &from, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(dat_ep_post_recv(w.b.pz, 1, &to, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(dat_evd_dequeue(w.b.ep, &event), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	must_fail(dat_evd_dequeue((char *)w.b.recv + 8, &event), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE1);
	message(&from, &to);
}
END_TEST

START_TEST(G3_nothing_is_written_where_nothing_was_dequeued)
{
	DAT_LMR_TRIPLET from, to;
	DAT_EVENT event, before;

	used_pair(&from, &to);
	memset(&before, 0x5a, sizeof(before));
	event = before;
	ck_assert_uint_eq(dat_evd_dequeue(w.b.recv, &event), DAT_QUEUE_EMPTY);
	ck_assert_mem_eq(&event, &before, sizeof(event));
}
END_TEST

START_TEST(G3_handles_of_what_was_freed_are_found)
{
	DAT_LMR_TRIPLET from, to;
	DAT_EP_HANDLE a, b;

	used_pair(&from, &to);
	a = w.a.ep;
	b = w.b.ep;
	disconnect_pair();
	must(dat_ep_free(a));
	must(dat_ep_free(b));
	must_fail(send_iov(1, &from, 0), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(recv_iov(1, &to, 0), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}
END_TEST

START_TEST(page_an_Endpoint_made_for_no_segments_takes_empty_messages_only)
{
	DAT_LMR_TRIPLET from = segment(&w.a, 0, SHORT), to = segment(&w.b, 0, SHORT);
	DAT_EP_ATTR attr = ep_attr();

	attr.max_request_iov = attr.max_recv_iov = 0;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	for (int n = 0; n < 2; n++) {
		must(recv_iov(0, NULL, 0));
		must(send_iov(0, NULL, 0));
		run_quiet();
		expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
		must_fail(recv_iov(1, &to, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		must_fail(send_iov(1, &from, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
}
END_TEST

/* ---- states and room ---- */

START_TEST(posts_of_a_connection_that_is_over_are_flushed_and_after_a_reset_refused)
{
	DAT_LMR_TRIPLET from, to;

	used_pair(&from, &to);
	disconnect_pair();
	must(send_iov(1, &from, 0));
	must(recv_iov(1, &to, 0));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_FLUSHED);
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	must_fail(send_iov(1, &from, 0), DAT_INVALID_STATE,
		  state_subtype(DAT_EP_STATE_UNCONNECTED));
	must(recv_iov(1, &to, 0));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	must(send_iov(1, &from, 0));
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	message(&from, &to);
}
END_TEST

START_TEST(page_nothing_is_sent_while_a_graceful_disconnect_is_pending)
{
	DAT_LMR_TRIPLET from, to;

	used_pair(&from, &to);
	must(send_iov(1, &from, 0));
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	must_fail(send_iov(1, &from, 0), DAT_INVALID_STATE,
		  state_subtype(DAT_EP_STATE_DISCONNECT_PENDING));
	must(recv_iov(1, &to, 0));
	if (!device)
		advance_us(100000);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

START_TEST(page_one_receive_too_many_is_out_of_resources)
{
	DAT_LMR_TRIPLET to = segment(&w.b, 0, SHORT), from = segment(&w.a, 0, SHORT);
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = 3;
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	for (int i = 0; i < 3; i++)
		must(recv_iov(1, &to, 0));
	for (int i = 0; i < 5; i++) {
		must_fail(recv_iov(1, &to, 0), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
		must(send_iov(1, &from, 0));
		run_quiet();
		must_fail(recv_iov(1, &to, 0), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
		expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
		must(recv_iov(1, &to, 0));
	}
	expect_recv_counts(w.b.ep, 3, 3);
}
END_TEST

/*
 * Completions of Sends that the program has not reaped still occupy the request queue.
 */
START_TEST(page_one_send_too_many_is_out_of_resources)
{
	DAT_LMR_TRIPLET to = segment(&w.b, 0, SHORT), from = segment(&w.a, 0, SHORT);
	DAT_EP_ATTR attr = ep_attr();
	DAT_RETURN ret = DAT_SUCCESS;
	int posted = 0;

	attr.max_request_dtos = 4;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	for (int i = 0; i < 2; i++)
		message(&from, &to);
	/*
	 * The peer has no Receive, so none of them completes. A fabric retries after a while, a
	 * device by itself.
	 */
	while (posted < 8 && (ret = send_iov(1, &from, 0)) == DAT_SUCCESS)
		posted++;
	ck_assert_int_eq(posted, 4);
	ck_assert(is_failure(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE));
	for (int i = 0; i < 4; i++)
		must(recv_iov(1, &to, 0));
	if (!device)
		advance_us(100000);
	for (int i = 0; i < 4; i++)
		expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_int_eq(drain(w.b.recv), 4);
	message(&from, &to);
}
END_TEST

/* ---- other users of the completions ---- */

/* Also a queue of another length, so that all state kept with the queue is made anew. */
START_TEST(M3_an_Endpoint_with_other_EVDs_completes_there)
{
	DAT_LMR_TRIPLET from = segment(&w.a, 0, SHORT), to = segment(&w.b, 0, SHORT);
	DAT_EP_PARAM param = { 0 };

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	w.a.request = param.request_evd_handle = make_evd(&w.a, 64, DAT_EVD_DTO_FLAG);
	param.ep_attr.max_request_dtos = 40;
	must(dat_ep_modify(w.a.ep,
			   DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
			   &param));
	w.b.recv = param.recv_evd_handle = make_evd(&w.b, 64, DAT_EVD_DTO_FLAG);
	must(dat_ep_modify(w.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	for (int i = 0; i < 45; i++)
		message(&from, &to);
}
END_TEST

START_TEST(C1_a_CNO_that_comes_later_hears_of_completions)
{
	DAT_LMR_TRIPLET from, to;
	DAT_CNO_HANDLE cno;

	used_pair(&from, &to);
	cno = quiet_cno(&w.b);
	must(dat_evd_modify_cno(w.b.recv, cno));
	must(recv_iov(1, &to, 0));
	must(send_iov(1, &from, 0));
	run_quiet();
	expect_notified(cno, w.b.recv);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	/* The EVD is emptied before any thread waits, so there is nothing to notify of. */
	message(&from, &to);
	expect_silence(cno);
	must(dat_evd_modify_cno(w.b.recv, NO_HANDLE));
	message(&from, &to);
	expect_silence(cno);
}
END_TEST

START_TEST(waits_and_dequeues_take_turns)
{
	DAT_LMR_TRIPLET from, to;
	DAT_EVENT event;
	DAT_COUNT more;

	used_pair(&from, &to);
	for (int i = 0; i < 3; i++) {
		for (int n = 0; n < 3; n++)
			must(recv_iov(1, &to, 0));
		for (int n = 0; n < 3; n++)
			must(send_iov(1, &from, 0));
		must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 3, &event, &more));
		ck_assert_int_eq(more, 2);
		expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
		expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
		run_quiet();
		expect_no_event(w.b.recv);
		for (int n = 0; n < 3; n++)
			expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	}
}
END_TEST

/* ---- other threads ---- */

static void *some_messages(void *unused)
{
	DAT_LMR_TRIPLET from = segment(&w.a, 0, SHORT), to = segment(&w.b, 0, SHORT);

	for (int i = 0; i < 20; i++)
		message(&from, &to);
	return unused;
}

START_TEST(Z1_another_thread_goes_on_and_the_first_one_after_it)
{
	DAT_LMR_TRIPLET from, to;
	pthread_t thread;

	used_pair(&from, &to);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, some_messages, NULL), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		some_messages(NULL);
	}
}
END_TEST

void quick_calls(Suite *suite)
{
	quick_memory(suite);
	unit_test(suite, G2_handles_and_arguments_are_checked_with_every_call);
	unit_test(suite, G3_nothing_is_written_where_nothing_was_dequeued);
	unit_test(suite, G3_handles_of_what_was_freed_are_found);
	unit_test(suite, page_an_Endpoint_made_for_no_segments_takes_empty_messages_only);
	unit_test(suite, posts_of_a_connection_that_is_over_are_flushed_and_after_a_reset_refused);
	unit_test(suite, page_nothing_is_sent_while_a_graceful_disconnect_is_pending);
	unit_test(suite, page_one_receive_too_many_is_out_of_resources);
	unit_test(suite, page_one_send_too_many_is_out_of_resources);
	unit_test(suite, M3_an_Endpoint_with_other_EVDs_completes_there);
	unit_test(suite, C1_a_CNO_that_comes_later_hears_of_completions);
	unit_test(suite, waits_and_dequeues_take_turns);
	unit_test(suite, Z1_another_thread_goes_on_and_the_first_one_after_it);
}
