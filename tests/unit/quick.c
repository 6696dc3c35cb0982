/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of every message take a short way where messages went well before. Here they did, each time; and what
 * comes then is to be refused, or to go another way, as if it was the first. Rulings A3, C1, G2, G3.
 */
#include <pthread.h>

#include "tests/unit/quick.h"

static DAT_RETURN send_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov, int flags)
{
	return dat_ep_post_send(w.a.ep, n, iov, cookie(0), (DAT_COMPLETION_FLAGS)flags);
}

static DAT_RETURN recv_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov, int flags)
{
	return dat_ep_post_recv(w.b.ep, n, iov, cookie(0), (DAT_COMPLETION_FLAGS)flags);
}

/* A region of the sender's or receiver's slots first .. first + n - 1. */
static DAT_LMR_HANDLE region(struct side *side, int first, int n, DAT_PZ_HANDLE pz,
			     DAT_LMR_TRIPLET *iov)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(side, first) };
	DAT_LMR_HANDLE lmr;

	*iov = segment(side, first, SHORT);
	must(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, description, (DAT_VLEN)(n * SLOT_SIZE),
			    pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &iov->lmr_context, NULL, NULL, NULL));
	return lmr;
}

/* One message from and to these segments, of which nothing is left. */
static void message(DAT_LMR_TRIPLET *from, DAT_LMR_TRIPLET *to)
{
	must(recv_iov(1, to, 0));
	must(send_iov(1, from, 0));
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
}

/* A pair over which messages went already, so often that no call is the first of its kind. */
static void used_pair(DAT_LMR_TRIPLET *from, DAT_LMR_TRIPLET *to)
{
	*from = segment(&w.a, 0, SHORT);
	*to = segment(&w.b, 0, SHORT);
	plain_pair();
	for (int i = 0; i < 3; i++)
		message(from, to);
}

/* ---- segments ---- */

START_TEST(A3_a_segment_is_checked_with_every_post)
{
	DAT_LMR_TRIPLET from, to, bad_from, bad_to;
	const struct {
		DAT_UINT64 offset, length;
	} bad[] = {
		{ (DAT_UINT64)-0x100000, SHORT },    { 0, UINT64_MAX },
		{ 0, (DAT_UINT64)1 << 63 },          { 1, UINT64_MAX },
		{ sizeof(w.a.memory), 1 },           { 0, sizeof(w.a.memory) + 1 },
		{ (DAT_UINT64)-0x100000, 0x200000 }, { (DAT_UINT64)1 << 63, SHORT },
	};

	used_pair(&from, &to);
	for (size_t i = 0; i < COUNT(bad); i++) {
		bad_from = from;
		bad_to = to;
		bad_from.virtual_address += bad[i].offset;
		bad_from.segment_length = bad[i].length;
		bad_to.virtual_address += bad[i].offset;
		bad_to.segment_length = bad[i].length;
		must_fail(send_iov(1, &bad_from, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		must_fail(recv_iov(1, &bad_to, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		message(&from, &to);
	}
}
END_TEST

START_TEST(A3_every_byte_of_the_region_and_none_beside_it)
{
	DAT_LMR_TRIPLET from, to, edge;
	DAT_UINT64 start;

	used_pair(&from, &to);
	region(&w.a, 5, 2, w.a.pz, &from);
	message(&from, &to);
	start = from.virtual_address;
	edge = from;
	edge.segment_length = 1;
	message(&edge, &to);
	edge.virtual_address = start - 1;
	must_fail(send_iov(1, &edge, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	edge.virtual_address = start + 2 * SLOT_SIZE - 1;
	message(&edge, &to);
	edge.segment_length = 2;
	must_fail(send_iov(1, &edge, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	edge.virtual_address = start + 2 * SLOT_SIZE;
	edge.segment_length = 1;
	must_fail(send_iov(1, &edge, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	edge.segment_length = 0;
	message(&edge, &to);
}
END_TEST

START_TEST(A3_the_region_of_the_last_post_is_freed)
{
	DAT_LMR_TRIPLET from, to, first, second;
	DAT_LMR_HANDLE a, b;

	used_pair(&from, &to);
	a = region(&w.a, 5, 1, w.a.pz, &first);
	b = region(&w.b, 5, 1, w.b.pz, &second);
	message(&first, &second);
	must(dat_lmr_free(a));
	must(dat_lmr_free(b));
	must_fail(send_iov(1, &first, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	must_fail(recv_iov(1, &second, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	message(&from, &to);
	/* Another one of the same memory has another context. */
	a = region(&w.a, 5, 1, w.a.pz, &from);
	must_fail(send_iov(1, &first, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	message(&from, &to);
	must(dat_lmr_free(a));
}
END_TEST

START_TEST(messages_come_from_several_regions_by_turns)
{
	DAT_LMR_TRIPLET from[3], to[3];

	used_pair(&from[0], &to[0]);
	for (int i = 1; i < 3; i++) {
		region(&w.a, 5 * i, 1, w.a.pz, &from[i]);
		region(&w.b, 5 * i, 1, w.b.pz, &to[i]);
	}
	for (int i = 0; i < 9; i++) {
		fill_slot(&w.a, 5 * (i % 3), i);
		message(&from[i % 3], &to[i * 2 % 3]);
		ck_assert(slot_holds(&w.b, 5 * (i * 2 % 3), i, SHORT));
	}
}
END_TEST

/* Several Endpoints post from one region, which goes, and one of them goes before it. */
START_TEST(A3_a_region_that_several_Endpoints_use_is_freed)
{
	DAT_LMR_TRIPLET from, to, shared;
	DAT_EP_HANDLE a[3], b[3];
	DAT_LMR_HANDLE lmr;

	used_pair(&from, &to);
	lmr = region(&w.a, 5, 1, w.a.pz, &shared);
	for (int i = 0; i < 3; i++) {
		plain_pair();
		a[i] = w.a.ep;
		b[i] = w.b.ep;
		message(&shared, &to);
		message(&shared, &to);
	}
	w.a.ep = a[1];
	w.b.ep = b[1];
	disconnect_pair();
	must(dat_ep_free(a[1]));
	must(dat_ep_free(b[1]));
	must(dat_lmr_free(lmr));
	for (int i = 0; i < 3; i += 2) {
		w.a.ep = a[i];
		w.b.ep = b[i];
		must_fail(send_iov(1, &shared, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
		message(&from, &to);
	}
}
END_TEST

START_TEST(A3_the_zone_of_the_Endpoint_changes)
{
	DAT_LMR_TRIPLET to = segment(&w.b, 0, SHORT), other;
	DAT_EP_PARAM param = { 0 };
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.b.ia, &pz));
	w.b.ep = plain_ep(&w.b);
	must(recv_iov(1, &to, 0));
	must(recv_iov(1, &to, 0));
	param.pz_handle = pz;
	must(dat_ep_modify(w.b.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	must_fail(recv_iov(1, &to, 0), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	region(&w.b, 5, 1, pz, &other);
	must(recv_iov(1, &other, 0));
}
END_TEST

/* A region may be larger than a message: what is looked at is the message. */
START_TEST(page_max_message_size_holds_wherever_in_the_region)
{
	DAT_LMR_TRIPLET from, to = segment(&w.b, 0, SLOT_SIZE);
	DAT_EP_ATTR attr = ep_attr();

	attr.max_message_size = 100;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	from = segment(&w.a, 0, 100);
	for (int offset = 0; offset <= 300; offset += 50) {
		from.virtual_address = segment(&w.a, 0, 0).virtual_address + (DAT_UINT64)offset;
		from.segment_length = 100;
		message(&from, &to);
		from.segment_length = 101;
		must_fail(send_iov(1, &from, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	from.virtual_address = segment(&w.a, SLOTS - 1, 0).virtual_address + SLOT_SIZE - 60;
	from.segment_length = 60;
	message(&from, &to);
	from.segment_length = sizeof(w.a.memory);
	must_fail(send_iov(1, &from, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}
END_TEST

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

/* Sends that nobody looked for are completions that wait: the queue is as long as the EP was made. */
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
	/* The peer has no Receive: none of them completes. A fabric tries again after a while, a device by itself. */
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

/* ---- what else may look at completions ---- */

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
	/* Emptied before anybody waits: there is nothing to hear of any more. */
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
	unit_test(suite, A3_a_segment_is_checked_with_every_post);
	unit_test(suite, A3_every_byte_of_the_region_and_none_beside_it);
	unit_test(suite, A3_the_region_of_the_last_post_is_freed);
	unit_test(suite, messages_come_from_several_regions_by_turns);
	unit_test(suite, A3_a_region_that_several_Endpoints_use_is_freed);
	unit_test(suite, A3_the_zone_of_the_Endpoint_changes);
	unit_test(suite, page_max_message_size_holds_wherever_in_the_region);
	unit_test(suite, G2_handles_and_arguments_are_checked_with_every_call);
	unit_test(suite, G3_nothing_is_written_where_nothing_was_dequeued);
	unit_test(suite, G3_handles_of_what_was_freed_are_found);
	unit_test(suite, posts_of_a_connection_that_is_over_are_flushed_and_after_a_reset_refused);
	unit_test(suite, page_one_receive_too_many_is_out_of_resources);
	unit_test(suite, page_one_send_too_many_is_out_of_resources);
	unit_test(suite, C1_a_CNO_that_comes_later_hears_of_completions);
	unit_test(suite, waits_and_dequeues_take_turns);
	unit_test(suite, Z1_another_thread_goes_on_and_the_first_one_after_it);
}
