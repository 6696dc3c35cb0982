/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA Writes and Reads that are allowed: the bytes, the completions, and that the peer notices
 * nothing. "page_": the pages; "digest_": conclusions from them.
 */
#include "tests/support/support.h"

static DAT_VLEN length_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.transfered_length;
}

static void peer_noticed_nothing(void)
{
	expect_no_event(w.b.recv);
	expect_no_event(w.b.request);
	expect_no_event(w.b.connect);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}

/* One packet, exactly one MTU, one byte more, several packets */
static const int sizes[] = { 1, SHORT, MTU - 1, MTU, MTU + 1, LONG };

START_TEST(page_a_Write_puts_its_bytes_where_the_peer_said_and_takes_no_Receive)
{
	DAT_EVENT event;
	size_t i;

	rdma_pair(4, 4);
	post_recv(&w.b, w.b.ep, 60);
	for (i = 0; i < COUNT(sizes); i++) {
		int n = (int)i, size = sizes[i];

		fill_slot(&w.a, n, n + 1);
		post_write(&w.a, w.a.ep, n, remote(&w.b, n, (DAT_VLEN)size));
		run_quiet();
		event = expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
		ck_assert_uint_eq(length_of(&event), (DAT_VLEN)size);
		ck_assert(slot_holds(&w.b, n, n + 1, (size_t)size));
		ck_assert(size == SLOT_SIZE || slot(&w.b, n)[size] == 0);
		expect_recv_counts(w.b.ep, 1, 1);
	}
	peer_noticed_nothing();
}
END_TEST

START_TEST(page_a_Read_brings_the_bytes_of_the_peer)
{
	DAT_EVENT event;
	size_t i;

	rdma_pair(4, 4);
	for (i = 0; i < COUNT(sizes); i++) {
		int n = (int)i, size = sizes[i];

		fill_slot(&w.b, n, n + 1);
		post_read(&w.a, w.a.ep, n, remote(&w.b, n, (DAT_VLEN)size));
		run_quiet();
		event = expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
		ck_assert_uint_eq(length_of(&event), (DAT_VLEN)size);
		ck_assert(slot_holds(&w.a, n, n + 1, (size_t)size));
		ck_assert(size == SLOT_SIZE || slot(&w.a, n)[size] == 0);
	}
	peer_noticed_nothing();
}
END_TEST

/* ---- segments ---- */

/* Slots 0 .. 15, 1 to 16 bytes of each, with empty segments of random contents between them. */
enum {
	PARTS = 8
};

static DAT_VLEN spread(struct side *side, DAT_LMR_TRIPLET *iov)
{
	DAT_VLEN sum = 0;
	int i;

	for (i = 0; i < PARTS; i++) {
		iov[2 * i] = (DAT_LMR_TRIPLET){ .lmr_context = 0xdeadbeef, .virtual_address = 1 };
		iov[2 * i + 1] = segment(side, i, (DAT_VLEN)(37 * (i + 1)));
		sum += iov[2 * i + 1].segment_length;
	}
	return sum;
}

static void gather(struct side *side, unsigned char *bytes)
{
	int i, k;

	for (i = 0; i < PARTS; i++)
		for (k = 0; k < 37 * (i + 1); k++)
			*bytes++ = slot(side, i)[k];
}

START_TEST(A1_more_segments_than_a_Send_may_have_are_gathered)
{
	DAT_LMR_TRIPLET iov[2 * PARTS];
	unsigned char sent[2048];
	DAT_RMR_TRIPLET to = remote(&w.b, 20, 2 * SLOT_SIZE);
	DAT_EVENT event;
	DAT_VLEN sum;
	int i;

	rdma_pair(4, 4);
	for (i = 0; i < PARTS; i++)
		fill_slot(&w.a, i, i + 1);
	sum = spread(&w.a, iov);
	gather(&w.a, sent);
	must(dat_ep_post_rdma_write(w.a.ep, 2 * PARTS, iov, cookie(1), &to,
				    DAT_COMPLETION_DEFAULT_FLAG));
	memset(iov, 0xee, sizeof(iov)); /* the array belongs to the caller again */
	run_quiet();
	event = expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(length_of(&event), sum);
	ck_assert_mem_eq(slot(&w.b, 20), sent, sum);
	peer_noticed_nothing();
}
END_TEST

START_TEST(A1_more_segments_than_a_Send_may_have_are_filled)
{
	DAT_LMR_TRIPLET iov[2 * PARTS];
	unsigned char got[2048];
	DAT_RMR_TRIPLET from;
	DAT_VLEN sum;

	rdma_pair(4, 4);
	fill_slot(&w.b, 20, 5);
	fill_slot(&w.b, 21, 6);
	sum = spread(&w.a, iov);
	from = remote(&w.b, 20, sum);
	must(dat_ep_post_rdma_read(w.a.ep, 2 * PARTS, iov, cookie(1), &from,
				   DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	gather(&w.a, got);
	ck_assert_mem_eq(slot(&w.b, 20), got, sum);
}
END_TEST

START_TEST(page_a_Read_fills_front_segments_first)
{
	DAT_LMR_TRIPLET iov[3] = { segment(&w.a, 0, 100), segment(&w.a, 1, 100),
				   segment(&w.a, 2, 100) };
	DAT_RMR_TRIPLET from = remote(&w.b, 0, 130);
	DAT_EVENT event;

	rdma_pair(4, 4);
	memset(slot(&w.b, 0), 7, 130);
	must(dat_ep_post_rdma_read(w.a.ep, 3, iov, cookie(1), &from, DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	event = expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(length_of(&event), 130);
	ck_assert_int_eq(slot(&w.a, 0)[99], 7);
	ck_assert_int_eq(slot(&w.a, 1)[29], 7);
	ck_assert_int_eq(slot(&w.a, 1)[30], 0);
	ck_assert_int_eq(slot(&w.a, 2)[0], 0);
}
END_TEST

START_TEST(digest_no_bytes_at_all_need_no_key_and_no_segments)
{
	DAT_RMR_TRIPLET nowhere = { .rmr_context = 0xdeadbeef, .target_address = 1 };
	DAT_EVENT event;

	rdma_pair(4, 4);
	must(dat_ep_post_rdma_write(w.a.ep, 0, NULL, cookie(1), &nowhere,
				    DAT_COMPLETION_DEFAULT_FLAG));
	must(dat_ep_post_rdma_read(w.a.ep, 0, NULL, cookie(2), &nowhere,
				   DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	event = expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(length_of(&event), 0);
	event = expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(length_of(&event), 0);
	peer_noticed_nothing();
}
END_TEST

START_TEST(page_both_ends_may_read_and_write_the_same_adapter)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE x, y;

	attr.max_rdma_read_out = attr.max_rdma_read_in = 2;
	x = plain_ep_with(&w.a, &attr);
	y = plain_ep_with(&w.a, &attr);
	connect_eps(&w.a, x, &w.a, y);
	fill_slot(&w.a, 0, 1);
	fill_slot(&w.a, 1, 2);
	post_write(&w.a, x, 0, remote(&w.a, 10, LONG));
	post_read(&w.a, y, 11, remote(&w.a, 1, LONG));
	run_quiet();
	ck_assert(slot_holds(&w.a, 10, 1, LONG));
	ck_assert(slot_holds(&w.a, 11, 2, LONG));
	ck_assert_int_eq(drain(w.a.request), 2);
}
END_TEST

/* ---- timing ---- */

START_TEST(a_held_Write_is_half_written)
{
	rdma_pair(4, 4);
	fill_slot(&w.a, 1, 3);
	must(dat_sim_hold_message(w.a.ep, 1, 2));
	post_write(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	run_quiet();
	ck_assert(slot_holds(&w.b, 1, 3, 2 * MTU));
	ck_assert_int_eq(slot(&w.b, 1)[2 * MTU], 0);
	expect_no_event(w.a.request);
	release_message(w.a.ep, 1);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.b, 1, 3, LONG));
}
END_TEST

START_TEST(a_held_answer_leaves_a_Read_half_filled)
{
	rdma_pair(4, 4);
	fill_slot(&w.b, 1, 3);
	must(dat_sim_hold_link(w.sim, "emu1", "emu0", 3));
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	run_quiet();
	ck_assert(slot_holds(&w.a, 1, 3, 3 * MTU));
	ck_assert_int_eq(slot(&w.a, 1)[3 * MTU], 0);
	expect_no_event(w.a.request);
	release_link("emu1", "emu0");
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 1, 3, LONG));
}
END_TEST

/* 1,024 bytes take 8,192 ns at 1 Gbit/s, and the latency of the wire is 1,000 ns. */
START_TEST(the_answer_to_a_Read_takes_the_time_of_the_link_back)
{
	DAT_UINT64 start;
	DAT_EVENT event;
	DAT_COUNT more;

	rdma_pair(4, 4);
	must(dat_sim_set_link(w.sim, "emu1", "emu0", LATENCY_NS, 1000000000));
	start = now_ns();
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	must(dat_evd_wait(w.a.request, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	ck_assert_uint_eq(now_ns() - start, 2 * LATENCY_NS + 8192);
}
END_TEST

START_TEST(a_Write_takes_the_time_of_the_link_there)
{
	DAT_UINT64 start;
	DAT_EVENT event;
	DAT_COUNT more;

	rdma_pair(4, 4);
	must(dat_sim_set_link(w.sim, "emu0", "emu1", LATENCY_NS, 1000000000));
	start = now_ns();
	post_write(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	must(dat_evd_wait(w.a.request, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	ck_assert_uint_eq(now_ns() - start, 2 * LATENCY_NS + 8192);
}
END_TEST

/* ---- completions ---- */

START_TEST(page_a_suppressed_success_is_not_told)
{
	rdma_pair(4, 4);
	fill_slot(&w.a, 0, 1);
	fill_slot(&w.b, 1, 2);
	must(try_write(&w.a, w.a.ep, 0, remote(&w.b, 0, LONG), DAT_COMPLETION_SUPPRESS_FLAG));
	must(try_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG), DAT_COMPLETION_SUPPRESS_FLAG));
	run_quiet();
	expect_no_event(w.a.request);
	ck_assert(slot_holds(&w.b, 0, 1, LONG));
	ck_assert(slot_holds(&w.a, 1, 2, LONG));
}
END_TEST

START_TEST(A2a_an_unsignalled_Read_wakes_nobody)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_UINT64 start;
	DAT_EVENT event;
	DAT_COUNT more;

	attr.max_rdma_read_out = attr.max_rdma_read_in = 2;
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	must(try_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG), DAT_COMPLETION_UNSIGNALLED_FLAG));
	start = now_ns();
	must(dat_evd_wait(w.a.request, 1000, 1, &event, &more)); /* the deadline ends the wait */
	ck_assert_uint_eq(now_ns() - start, 1000000);
	ck_assert_int_eq(more, 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_a_Write_puts_its_bytes_where_the_peer_said_and_takes_no_Receive);
	unit_test_all(suite, page_a_Read_brings_the_bytes_of_the_peer);
	unit_test_all(suite, A1_more_segments_than_a_Send_may_have_are_gathered);
	unit_test_all(suite, A1_more_segments_than_a_Send_may_have_are_filled);
	unit_test_all(suite, page_a_Read_fills_front_segments_first);
	unit_test_all(suite, digest_no_bytes_at_all_need_no_key_and_no_segments);
	unit_test_all(suite, page_both_ends_may_read_and_write_the_same_adapter);
	unit_test_all(suite, a_held_Write_is_half_written);
	unit_test_all(suite, a_held_answer_leaves_a_Read_half_filled);
	unit_test_all(suite, the_answer_to_a_Read_takes_the_time_of_the_link_back);
	unit_test_all(suite, a_Write_takes_the_time_of_the_link_there);
	unit_test_all(suite, page_a_suppressed_success_is_not_told);
	unit_test_all(suite, A2a_an_unsignalled_Read_wakes_nobody);
}

UNIT_SUITE("rdma")
