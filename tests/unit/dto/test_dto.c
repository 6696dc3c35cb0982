/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting Sends and Receives: refusals at the post, errors at the completion, and the bytes that
 * arrive. Rulings A3, G2, G3, Q1; "page_": the pages.
 */
#include <sys/mman.h>

#include "tests/support/support.h"

static DAT_RETURN send_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov)
{
	return dat_ep_post_send(w.a.ep, n, iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN recv_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov)
{
	return dat_ep_post_recv(w.a.ep, n, iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG);
}

/* A region over slot n of w.a with these privileges, and a segment in it. */
static DAT_LMR_HANDLE region(int n, int privileges, DAT_PZ_HANDLE pz, DAT_LMR_TRIPLET *iov)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.a, n) };
	DAT_LMR_HANDLE lmr;

	*iov = segment(&w.a, n, SHORT);
	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, pz,
			    (DAT_MEM_PRIV_FLAGS)privileges, &lmr, &iov->lmr_context, NULL, NULL,
			    NULL));
	return lmr;
}

/* ---- A3: privileges and zones ---- */

START_TEST(A3_LOCAL_WRITE_implies_local_read)
{
	DAT_LMR_TRIPLET iov;

	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	region(3, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, w.a.pz, &iov);
	must(send_iov(1, &iov));
	must(recv_iov(1, &iov));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(A3_a_region_with_local_read_cannot_receive)
{
	DAT_LMR_TRIPLET iov;

	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	region(3, DAT_MEM_PRIV_LOCAL_READ_FLAG, w.a.pz, &iov);
	must_fail(recv_iov(1, &iov), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	expect_recv_counts(w.a.ep, 0, 0);
	must(send_iov(1, &iov));
}
END_TEST

START_TEST(A3_a_region_with_neither_local_bit_can_do_nothing)
{
	DAT_LMR_TRIPLET iov;

	plain_pair();
	region(3, DAT_MEM_PRIV_REMOTE_READ_FLAG, w.a.pz, &iov);
	must_fail(send_iov(1, &iov), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	must_fail(recv_iov(1, &iov), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	run_quiet();
	expect_no_event(w.a.request);
}
END_TEST

START_TEST(A3_a_region_of_another_zone_is_refused_at_the_post)
{
	DAT_LMR_TRIPLET iov;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.a.ia, &pz));
	plain_pair();
	region(3, DAT_MEM_PRIV_ALL_FLAG, pz, &iov);
	must_fail(send_iov(1, &iov), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
	must_fail(recv_iov(1, &iov), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	expect_recv_counts(w.a.ep, 0, 0);
}
END_TEST

START_TEST(A3_a_context_that_names_no_region_is_refused)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);

	plain_pair();
	iov.lmr_context = ~w.a.context;
	must_fail(send_iov(1, &iov), DAT_PRIVILEGES_VIOLATION, ANY_SUBTYPE);
	must_fail(recv_iov(1, &iov), DAT_PRIVILEGES_VIOLATION, ANY_SUBTYPE);
	iov.lmr_context = 0xffffffff;
	must_fail(send_iov(1, &iov), DAT_PRIVILEGES_VIOLATION, ANY_SUBTYPE);
}
END_TEST

START_TEST(A3_the_context_of_a_freed_region_is_refused)
{
	DAT_LMR_TRIPLET iov;

	plain_pair();
	must(dat_lmr_free(region(3, DAT_MEM_PRIV_ALL_FLAG, w.a.pz, &iov)));
	must_fail(send_iov(1, &iov), DAT_PRIVILEGES_VIOLATION, ANY_SUBTYPE);
	must_fail(recv_iov(1, &iov), DAT_PRIVILEGES_VIOLATION, ANY_SUBTYPE);
}
END_TEST

START_TEST(A3_a_region_freed_after_the_post_fails_the_receive_when_it_is_used)
{
	DAT_LMR_TRIPLET iov;
	DAT_LMR_HANDLE lmr;

	plain_pair();
	lmr = region(3, DAT_MEM_PRIV_ALL_FLAG, w.a.pz, &iov);
	must(recv_iov(1, &iov));
	must(dat_lmr_free(lmr));
	run_quiet();
	expect_no_event(w.a.recv);
	post_send(&w.b, w.b.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_ERR_LOCAL_PROTECTION);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_int_eq(slot(&w.a, 3)[0], 0);
}
END_TEST

START_TEST(A3_a_region_freed_half_way_through_a_message_fails_the_receive)
{
	DAT_LMR_TRIPLET iov;
	DAT_LMR_HANDLE lmr;

	plain_pair();
	lmr = region(3, DAT_MEM_PRIV_ALL_FLAG, w.a.pz, &iov);
	iov.segment_length = SLOT_SIZE;
	must(recv_iov(1, &iov));
	fill_slot(&w.b, 1, 6);
	send_half(&w.b, w.b.ep, 1, 1);
	must(dat_lmr_free(lmr));
	memset(slot(&w.a, 3), 0, SLOT_SIZE);
	release_message(w.b.ep, 1);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert(!slot_holds(&w.a, 3, 6, 1));
}
END_TEST

START_TEST(A3_a_region_freed_under_an_srq_fails_the_receive)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.b, 5) };
	DAT_LMR_TRIPLET iov = segment(&w.b, 5, SLOT_SIZE);
	DAT_LMR_HANDLE lmr;

	srq_pair(10);
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, w.b.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &iov.lmr_context, NULL, NULL, NULL));
	must(dat_srq_post_recv(w.b.srq, 1, &iov, cookie(5)));
	must(dat_lmr_free(lmr));
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 5, DAT_DTO_ERR_LOCAL_PROTECTION);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

/* ---- segments ---- */

START_TEST(page_a_segment_outside_its_region_is_an_invalid_parameter)
{
	DAT_LMR_TRIPLET inside, iov;
	DAT_UINT64 base;
	size_t i;

	plain_pair();
	region(3, DAT_MEM_PRIV_ALL_FLAG, w.a.pz, &inside);
	base = inside.virtual_address;
	const struct {
		DAT_UINT64 address, length;
	} bad[] = {
		{ base - 0x100000, SHORT },
		{ base, UINT64_MAX },
		{ base, (DAT_UINT64)1 << 63 },
		{ UINT64_MAX - 10, 100 },
		{ UINT64_MAX, 1 },
		{ 1, UINT64_MAX },
		{ base + 0x100000, SHORT },
		{ base - 0x100000, 0x200000 },
		{ 0, 1 },
	};

	for (i = 0; i < COUNT(bad); i++) {
		iov = inside;
		iov.virtual_address = bad[i].address;
		iov.segment_length = bad[i].length;
		must_fail(send_iov(1, &iov), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		must_fail(recv_iov(1, &iov), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	must(recv_iov(1, &inside));
}
END_TEST

START_TEST(page_an_empty_segment_is_not_looked_at)
{
	DAT_LMR_TRIPLET iov[3] = { segment(&w.a, 0, SHORT),
				   { .lmr_context = 0xdeadbeef, .virtual_address = 1 },
				   segment(&w.a, 1, SHORT) };
	DAT_EVENT event;

	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	must(send_iov(3, iov));
	run_quiet();
	event = expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.transfered_length, 2 * SHORT);
}
END_TEST

START_TEST(page_segments_are_gathered_and_scattered_in_order)
{
	static const int lengths[] = { 1, 255, 300, 468 };
	DAT_LMR_TRIPLET out[4], in[4];
	unsigned char sent[SLOT_SIZE], received[SLOT_SIZE];
	size_t from = 0, to = 0;
	int i;

	plain_pair();
	for (i = 0; i < 4; i++) {
		fill_slot(&w.a, i, i + 1);
		out[i] = segment(&w.a, i, (DAT_VLEN)lengths[i]);
		in[i] = segment(&w.b, i, (DAT_VLEN)lengths[3 - i]);
		memcpy(sent + from, slot(&w.a, i), (size_t)lengths[i]);
		from += (size_t)lengths[i];
	}
	must(dat_ep_post_recv(w.b.ep, 4, in, cookie(9), DAT_COMPLETION_DEFAULT_FLAG));
	must(send_iov(4, out));
	memset(out, 0xee, sizeof(out)); /* the arrays belong to the caller again */
	memset(in, 0xee, sizeof(in));
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 9, DAT_DTO_SUCCESS);
	for (i = 0; i < 4; i++) {
		memcpy(received + to, slot(&w.b, i), (size_t)lengths[3 - i]);
		to += (size_t)lengths[3 - i];
	}
	ck_assert_uint_eq(from, to);
	ck_assert_mem_eq(sent, received, from);
}
END_TEST

START_TEST(page_segment_counts_beyond_the_endpoints_are_an_invalid_parameter)
{
	static const DAT_COUNT bad[] = { 5, -1, INT_MAX, INT_MIN };
	DAT_LMR_TRIPLET iov[5];
	int i;

	plain_pair(); /* 4 segments */
	for (i = 0; i < 5; i++)
		iov[i] = segment(&w.a, i, 1);
	must_fail(send_iov(bad[_i], iov), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(recv_iov(bad[_i], iov), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}
END_TEST

START_TEST(G3_NULL_segments_are_fine_for_none_only)
{
	plain_pair();
	must_fail(send_iov(1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(recv_iov(1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must(recv_iov(0, NULL));
	must(dat_ep_post_recv(w.b.ep, 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	must(send_iov(0, NULL));
}
END_TEST

/* ---- counts and lengths ---- */

START_TEST(page_one_receive_too_many_is_out_of_resources)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = 3;
	w.a.ep = plain_ep_with(&w.a, &attr);
	post_recvs(&w.a, w.a.ep, 0, 3);
	must_fail(recv_iov(1, &iov), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	expect_recv_counts(w.a.ep, 3, 3);
}
END_TEST

/* A buffer is outstanding from its post until it is reaped. */
START_TEST(page_an_unreaped_receive_is_still_outstanding)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SHORT);
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = 2;
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, 2);
	deliver(&w.a, w.a.ep, 2);
	must_fail(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	post_recv(&w.b, w.b.ep, 2);
	must_fail(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(3), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
}
END_TEST

START_TEST(page_one_send_too_many_is_out_of_resources_until_one_completes)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_request_dtos = 2;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, 3);
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	must_fail(try_send(&w.a, w.a.ep, 2, SHORT), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	release_link("emu0", "emu1");
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	post_send(&w.a, w.a.ep, 2, SHORT);
}
END_TEST

START_TEST(page_a_message_above_max_message_size_is_an_invalid_parameter)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_message_size = 100;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recv(&w.b, w.b.ep, 0);
	must_fail(try_send(&w.a, w.a.ep, 0, 101), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	post_send(&w.a, w.a.ep, 0, 100);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

/* A segment may be that long. The memory is only reserved: a refused post does not touch it. */
START_TEST(page_segments_longer_together_than_any_message_are_an_invalid_parameter)
{
	size_t most = ia_attr(&w.a).max_message_size;
	DAT_REGION_DESCRIPTION description = {
		.for_va = mmap(NULL, most, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
	};
	DAT_LMR_TRIPLET iov[2];
	DAT_LMR_HANDLE lmr;

	ck_assert_ptr_ne(description.for_va, MAP_FAILED);
	w.a.ep = plain_ep(&w.a);
	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, description, most, w.a.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &iov[0].lmr_context, NULL, NULL, NULL));
	iov[0].virtual_address = (DAT_VADDR)(uintptr_t)description.for_va;
	iov[0].segment_length = most;
	iov[1] = iov[0];
	iov[1].segment_length = 1;
	must_fail(recv_iov(2, iov), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must(recv_iov(1, iov));
	must(dat_ep_free(w.a.ep));
	must(dat_lmr_free(lmr));
	munmap(description.for_va, most);
}
END_TEST

START_TEST(page_messages_arrive_whole_in_order_and_once)
{
	static const int lengths[] = { 1, 16, 255, 256, 257, 511, 512, 513, 1023, 1024 };
	int n;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, COUNT(lengths));
	for (n = 0; n < (int)COUNT(lengths); n++) {
		fill_slot(&w.a, n, n);
		post_send(&w.a, w.a.ep, n, (DAT_VLEN)lengths[n]);
	}
	run_quiet();
	for (n = 0; n < (int)COUNT(lengths); n++) {
		DAT_EVENT event = expect_dto(w.b.recv, w.b.ep, 20 + n, DAT_DTO_SUCCESS);

		ck_assert_uint_eq(event.event_data.dto_completion_event_data.transfered_length,
				  lengths[n]);
		ck_assert(slot_holds(&w.b, 20 + n, n, (size_t)lengths[n]));
		ck_assert(lengths[n] == SLOT_SIZE || slot(&w.b, 20 + n)[lengths[n]] == 0);
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	}
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(page_both_directions_work_at_the_same_time)
{
	plain_pair();
	post_recv(&w.a, w.a.ep, 1);
	post_recv(&w.b, w.b.ep, 2);
	post_send(&w.a, w.a.ep, 3, LONG);
	post_send(&w.b, w.b.ep, 4, LONG);
	run_quiet();
	expect_dto(w.a.recv, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 2, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
	expect_dto(w.b.request, w.b.ep, 4, DAT_DTO_SUCCESS);
}
END_TEST

/* Without an EVD a completion is discarded, which counts as reaping. */
START_TEST(Q1_completions_without_a_receive_EVD_count_as_reaped)
{
	w.b.recv = NO_HANDLE;
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 1);
	srq_counts(w.b.srq, 10, 2, 2);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, A3_LOCAL_WRITE_implies_local_read);
	unit_test_all(suite, A3_a_region_with_local_read_cannot_receive);
	unit_test_all(suite, A3_a_region_with_neither_local_bit_can_do_nothing);
	unit_test_all(suite, A3_a_region_of_another_zone_is_refused_at_the_post);
	unit_test_all(suite, A3_a_context_that_names_no_region_is_refused);
	unit_test_all(suite, A3_the_context_of_a_freed_region_is_refused);
	unit_test_all(suite, A3_a_region_freed_after_the_post_fails_the_receive_when_it_is_used);
	unit_test_all(suite, A3_a_region_freed_half_way_through_a_message_fails_the_receive);
	unit_test_all(suite, A3_a_region_freed_under_an_srq_fails_the_receive);
	unit_test_all(suite, page_a_segment_outside_its_region_is_an_invalid_parameter);
	unit_test_all(suite, page_an_empty_segment_is_not_looked_at);
	unit_test_all(suite, page_segments_are_gathered_and_scattered_in_order);
	unit_test_loop(suite, page_segment_counts_beyond_the_endpoints_are_an_invalid_parameter, 4);
	unit_test_all(suite, G3_NULL_segments_are_fine_for_none_only);
	unit_test_all(suite, page_one_receive_too_many_is_out_of_resources);
	unit_test_all(suite, page_an_unreaped_receive_is_still_outstanding);
	unit_test_all(suite, page_one_send_too_many_is_out_of_resources_until_one_completes);
	unit_test_all(suite, page_a_message_above_max_message_size_is_an_invalid_parameter);
	unit_test(suite, page_segments_longer_together_than_any_message_are_an_invalid_parameter);
	unit_test_all(suite, page_messages_arrive_whole_in_order_and_once);
	unit_test_all(suite, page_both_directions_work_at_the_same_time);
	unit_test_all(suite, Q1_completions_without_a_receive_EVD_count_as_reaped);
}

UNIT_SUITE("dto")
