/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short variants of posts and polls (verbs/quick.c) remember the region that a queue pair used
 * last. What they remember must never outlive what the key permits. Each test posts well first.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

#define REGION 256u

static struct verbs_end a, b;
static _Alignas(4096) char memory[2][REGION];

static void expect_status(struct verbs_end *end, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_msg(wc.status == status, "%s", ibv_wc_status_str(wc.status));
}

static struct ibv_mr *region(struct verbs_end *end, int which, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr(end->pd, memory[which], REGION, (int)access);

	ck_assert_ptr_nonnull(mr);
	return mr;
}

static void send_segment(uint64_t addr, uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge = { addr, length, lkey };
	struct ibv_send_wr wr = verbs_wr(&b, IBV_WR_SEND, &sge), *bad;

	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
}

static void recv_segment(uint64_t addr, uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge = { addr, length, lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	ck_assert_int_eq(ibv_post_recv(b.qp, &wr, &bad), 0);
}

/* A message from anywhere to the beginning of b's buffer. */
static void send_well(uint64_t addr, uint32_t length, uint32_t lkey)
{
	ck_assert_int_eq(verbs_recv(&b, 0, 0, REGION), 0);
	send_segment(addr, length, lkey);
	expect_status(&b, IBV_WC_SUCCESS);
	expect_status(&a, IBV_WC_SUCCESS);
}

static void recv_well(uint64_t addr, uint32_t length, uint32_t lkey)
{
	recv_segment(addr, length, lkey);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, length, 0), 0);
	expect_status(&b, IBV_WC_SUCCESS);
	expect_status(&a, IBV_WC_SUCCESS);
}

START_TEST(a_send_from_a_region_that_was_deregistered_fails)
{
	struct ibv_mr *mr;
	uint32_t lkey;

	verbs_begin(&a, &b);
	mr = region(&a, 0, 0);
	lkey = mr->lkey;
	send_well((uintptr_t)memory[0], 8, lkey);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(verbs_recv(&b, 0, 0, REGION), 0);
	send_segment((uintptr_t)memory[0], 8, lkey);
	expect_status(&a, IBV_WC_LOC_PROT_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_receive_into_a_region_that_was_deregistered_fails)
{
	struct ibv_mr *mr;
	uint32_t lkey;

	verbs_begin(&a, &b);
	mr = region(&b, 0, IBV_ACCESS_LOCAL_WRITE);
	lkey = mr->lkey;
	recv_well((uintptr_t)memory[0], 8, lkey);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	recv_segment((uintptr_t)memory[0], 8, lkey);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_status(&b, IBV_WC_LOC_PROT_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

/* The key differs after it, so the program's own copy of the struct does not help either. */
START_TEST(a_region_that_lost_its_right_to_be_written_takes_no_receive)
{
	struct ibv_mr *mr;

	verbs_begin(&a, &b);
	mr = region(&b, 0, IBV_ACCESS_LOCAL_WRITE);
	recv_well((uintptr_t)memory[0], 8, mr->lkey);
	ck_assert_int_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), 0);
	recv_segment((uintptr_t)memory[0], 8, mr->lkey);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_status(&b, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* 0: one byte too long, 1: one byte too early, 2: the same, of length 1, 3: one byte too late */
START_TEST(a_send_one_byte_outside_its_region_fails)
{
	static const struct {
		int offset;
		uint32_t length;
	} bad[] = { { 0, REGION + 1 }, { -1, REGION }, { -1, 1 }, { REGION, 1 } };
	struct ibv_mr *mr;

	verbs_begin(&a, &b);
	mr = region(&a, 1, 0);
	send_well((uintptr_t)memory[1], REGION, mr->lkey);
	send_well((uintptr_t)memory[1] + REGION - 1, 1, mr->lkey);
	ck_assert_int_eq(verbs_recv(&b, 0, 0, 2 * REGION), 0);
	send_segment((uintptr_t)memory[1] + (uint64_t)bad[_i].offset, bad[_i].length, mr->lkey);
	expect_status(&a, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_region_of_another_domain_fails)
{
	struct ibv_pd *other;
	struct ibv_mr *mr;

	verbs_begin(&a, &b);
	send_well((uintptr_t)a.buffer, 8, a.mr->lkey);
	other = ibv_alloc_pd(a.context);
	mr = ibv_reg_mr(other, memory[0], REGION, 0);
	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(verbs_recv(&b, 0, 0, REGION), 0);
	send_segment((uintptr_t)memory[0], 8, mr->lkey);
	expect_status(&a, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(other), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(two_regions_in_turn_give_each_its_own_bytes)
{
	struct ibv_mr *mr[2];

	verbs_begin(&a, &b);
	for (int i = 0; i < 2; i++) {
		mr[i] = region(&a, i, 0);
		memset(memory[i], 'a' + i, REGION);
	}
	for (int i = 0; i < 6; i++) {
		send_well((uintptr_t)memory[i % 2], REGION, mr[i % 2]->lkey);
		ck_assert_int_eq(b.buffer[REGION - 1], 'a' + i % 2);
	}
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(ibv_dereg_mr(mr[i]), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* The first post looks the region up, the second one uses what the first has found. */
START_TEST(a_region_with_addresses_of_its_own_is_read_and_written_at_its_memory)
{
	const uint64_t iova = 0x1000, name = 2 * iova + REGION; /* the place in its page */
	struct ibv_mr *from, *to;

	verbs_begin(&a, &b);
	from = ibv_reg_mr_iova2(a.pd, memory[0], REGION, iova, 0);
	to = ibv_reg_mr_iova2(b.pd, memory[1], REGION, name, IBV_ACCESS_LOCAL_WRITE);
	ck_assert(from && to);
	for (int i = 0; i < 3; i++) {
		snprintf(memory[0] + 16 * i, 16, "message %d", i);
		recv_segment(name + 32, 32, to->lkey);
		send_segment(iova + 16 * (uint64_t)i, 16, from->lkey);
		expect_status(&b, IBV_WC_SUCCESS);
		expect_status(&a, IBV_WC_SUCCESS);
		ck_assert_str_eq(memory[1] + 32, memory[0] + 16 * i);
	}
	ck_assert_int_eq(ibv_dereg_mr(from), 0);
	ck_assert_int_eq(ibv_dereg_mr(to), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* With AddressSanitizer: nothing refers to the queue pair any more. */
START_TEST(a_region_outlives_the_queue_pair_that_used_it)
{
	struct ibv_mr *mr;

	verbs_begin(&a, &b);
	mr = region(&a, 0, 0);
	send_well((uintptr_t)memory[0], 8, mr->lkey);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_poll_returns_as_many_completions_as_there_are_room_and_messages)
{
	struct ibv_wc wc[4];
	int got;

	verbs_begin(&a, &b);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(verbs_recv(&b, (uint64_t)i, 64 * (uint32_t)i, 64), 0);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	for (int i = 0; i < 6; i++)
		expect_status(&a, IBV_WC_SUCCESS);
	got = ibv_poll_cq(b.cq, 4, wc);
	ck_assert_int_eq(got, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(wc[i].wr_id, (uint64_t)i);
	ck_assert_int_eq(ibv_poll_cq(b.cq, 0, wc), 0);
	ck_assert_int_eq(ibv_poll_cq(b.cq, 4, wc), 2);
	ck_assert_uint_eq(wc[1].wr_id, 5);
	ck_assert_int_eq(ibv_poll_cq(b.cq, 4, wc), 0);
	verbs_end_all(&a, &b);
}
END_TEST

static void send_unsignaled(uint64_t id, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, length, a.mr->lkey };
	struct ibv_send_wr wr = verbs_wr(&b, IBV_WR_SEND, &sge), *bad;

	wr.wr_id = id;
	wr.send_flags = 0;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
}

START_TEST(an_unsignaled_send_has_a_completion_only_if_it_fails)
{
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(verbs_recv(&b, (uint64_t)i, 0, REGION), 0);
	/* The first one from a region, and the next. */
	for (int i = 0; i < 2; i++) {
		send_unsignaled(7, 8);
		expect_status(&b, IBV_WC_SUCCESS);
		ck_assert_int_eq(ibv_poll_cq(a.cq, 1, &wc), 0);
	}
	send_unsignaled(8, REGION + 1);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq(wc.status, IBV_WC_REM_INV_REQ_ERR);
	ck_assert_uint_eq(wc.wr_id, 8);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(each_send_of_a_queue_pair_that_signals_all_has_a_completion)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { 4, 4, 1, 1, 0 },
					 .sq_sig_all = 1 };

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&b);
	init.send_cq = init.recv_cq = a.cq;
	a.qp = ibv_create_qp(a.pd, &init);
	ck_assert_ptr_nonnull(a.qp);
	verbs_connect(&a, &b);
	/* The first one from a region, and the next. */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(verbs_recv(&b, 0, 0, REGION), 0);
		send_unsignaled(7, 8);
		expect_status(&b, IBV_WC_SUCCESS);
		expect_status(&a, IBV_WC_SUCCESS);
	}
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_send_whose_region_goes_between_post_and_arrival_fails)
{
	struct ibv_mr *mr;
	uint32_t lkey;

	verbs_begin(&a, &b);
	mr = region(&a, 0, 0);
	lkey = mr->lkey;
	send_well((uintptr_t)memory[0], 8, lkey);
	send_segment((uintptr_t)memory[0], 8, lkey);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(verbs_recv(&b, 0, 0, REGION), 0);
	expect_status(&a, IBV_WC_LOC_PROT_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

static void expect_bytes(struct verbs_end *end, uint32_t length)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, length);
}

START_TEST(a_send_posted_while_another_waits_for_a_receive_comes_second)
{
	struct ibv_mr *mr;
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	mr = region(&a, 0, 0);
	send_well((uintptr_t)memory[0], 8, mr->lkey);
	send_segment((uintptr_t)memory[0], 8, mr->lkey);
	/* The RNR NAK comes while this poll finds nothing, and the timer is running then. */
	ck_assert_int_eq(ibv_poll_cq(a.cq, 1, &wc), 0);
	send_segment((uintptr_t)memory[0], 16, mr->lkey);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(verbs_recv(&b, 0, 0, REGION), 0);
	expect_bytes(&b, 8);
	expect_bytes(&b, 16);
	for (int i = 0; i < 2; i++)
		expect_status(&a, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_wrong_key_with_an_address_of_the_last_region_fails)
{
	struct ibv_mr *mr;

	verbs_begin(&a, &b);
	mr = region(&a, 0, 0);
	send_well((uintptr_t)memory[0], 8, mr->lkey);
	ck_assert_int_eq(verbs_recv(&b, 0, 0, REGION), 0);
	send_segment((uintptr_t)memory[0], 8, a.mr->lkey);
	expect_status(&a, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* The queue pair may read it, and has sent from it. */
START_TEST(a_receive_into_the_region_of_the_last_send_needs_its_right_to_be_written)
{
	struct ibv_sge sge = { (uintptr_t)memory[0], 8, 0 };
	struct ibv_send_wr wr, *bad;
	struct ibv_mr *mr;

	verbs_begin(&a, &b);
	mr = region(&b, 0, 0);
	sge.lkey = mr->lkey;
	wr = verbs_wr(&a, IBV_WR_SEND, &sge);
	ck_assert_int_eq(verbs_recv(&a, 0, 0, REGION), 0);
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), 0);
	expect_status(&a, IBV_WC_SUCCESS);
	expect_status(&b, IBV_WC_SUCCESS);
	recv_segment((uintptr_t)memory[0], 8, mr->lkey);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_status(&b, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- requests that are not the ordinary one ---- */

START_TEST(a_list_of_requests_is_posted_whole)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, 0 }, to = { (uintptr_t)b.buffer, 8, 0 };
	struct ibv_send_wr send[2], *bad_send;
	struct ibv_recv_wr recv[2] = { { .next = &recv[1], .sg_list = &to, .num_sge = 1 },
				       { .wr_id = 1, .sg_list = &to, .num_sge = 1 } },
			   *bad_recv;

	verbs_begin(&a, &b);
	send_well((uintptr_t)a.buffer, 8, a.mr->lkey);
	sge.lkey = a.mr->lkey;
	to.lkey = b.mr->lkey;
	send[0] = send[1] = verbs_wr(&b, IBV_WR_SEND, &sge);
	send[0].next = &send[1];
	ck_assert_int_eq(ibv_post_recv(b.qp, recv, &bad_recv), 0);
	ck_assert_int_eq(ibv_post_send(a.qp, send, &bad_send), 0);
	for (int i = 0; i < 2; i++) {
		expect_status(&b, IBV_WC_SUCCESS);
		expect_status(&a, IBV_WC_SUCCESS);
	}
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_request_of_two_segments_or_none_has_all_of_them)
{
	struct ibv_sge from[2], to[2];
	struct ibv_send_wr send, *bad_send;
	struct ibv_recv_wr recv = { .sg_list = to, .num_sge = 2 }, *bad_recv;

	verbs_begin(&a, &b);
	send_well((uintptr_t)a.buffer, 8, a.mr->lkey);
	for (int i = 0; i < 2; i++) {
		from[i] = (struct ibv_sge){ (uintptr_t)a.buffer + 8ul * i, 8, a.mr->lkey };
		to[i] = (struct ibv_sge){ (uintptr_t)b.buffer + 64ul * i, 8, b.mr->lkey };
	}
	memcpy(a.buffer, "one.....two.....", 16);
	send = verbs_wr(&b, IBV_WR_SEND, from);
	for (int n = 2; n >= 0; n -= 2) {
		send.num_sge = recv.num_sge = n;
		ck_assert_int_eq(ibv_post_recv(b.qp, &recv, &bad_recv), 0);
		ck_assert_int_eq(ibv_post_send(a.qp, &send, &bad_send), 0);
		expect_bytes(&b, 8 * (uint32_t)n);
		expect_status(&a, IBV_WC_SUCCESS);
	}
	ck_assert_int_eq(memcmp(b.buffer + 64, "two.....", 8), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* A queue pair that was used before, and begins anew. */
START_TEST(posts_in_the_wrong_state_are_refused_after_a_reset)
{
	verbs_begin(&a, &b);
	send_well((uintptr_t)a.buffer, 8, a.mr->lkey);
	recv_well((uintptr_t)b.buffer, 8, b.mr->lkey);
	for (int state = IBV_QPS_RESET; state < IBV_QPS_RTS; state++) {
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)state), 0);
		ck_assert_int_eq(verbs_modify(&b, &a, (enum ibv_qp_state)state), 0);
		ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), state == IBV_QPS_RESET ? EINVAL : 0);
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), EINVAL);
	}
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_send_longer_than_the_device_takes_is_refused)
{
	const size_t length = (1ul << 30) + 4096; /* its port's max_msg_sz is 2^30 */
	void *at =
		mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_mr *mr;

	ck_assert_ptr_ne(at, MAP_FAILED);
	verbs_begin(&a, &b);
	ck_assert_uint_lt(a.port.max_msg_sz, length);
	mr = ibv_reg_mr(a.pd, at, length, 0);
	ck_assert_ptr_nonnull(mr);
	sge = (struct ibv_sge){ (uintptr_t)at, (uint32_t)length, mr->lkey };
	wr = verbs_wr(&b, IBV_WR_SEND, &sge);
	for (int i = 0; i < 2; i++) /* the region is not the last one used, and is */
		ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	munmap(at, length);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, each_send_of_a_queue_pair_that_signals_all_has_a_completion, 1, NULL);
	unit_add(suite, a_wrong_key_with_an_address_of_the_last_region_fails, 1, NULL);
	unit_add(suite, a_receive_into_the_region_of_the_last_send_needs_its_right_to_be_written, 1,
		 NULL);
	unit_add(suite, a_list_of_requests_is_posted_whole, 1, NULL);
	unit_add(suite, a_request_of_two_segments_or_none_has_all_of_them, 1, NULL);
	unit_add(suite, posts_in_the_wrong_state_are_refused_after_a_reset, 1, NULL);
	unit_add(suite, a_send_longer_than_the_device_takes_is_refused, 1, NULL);
	unit_add(suite, a_send_from_a_region_that_was_deregistered_fails, 1, NULL);
	unit_add(suite, a_send_whose_region_goes_between_post_and_arrival_fails, 1, NULL);
	unit_add(suite, a_send_posted_while_another_waits_for_a_receive_comes_second, 1, NULL);
	unit_add(suite, a_receive_into_a_region_that_was_deregistered_fails, 1, NULL);
	unit_add(suite, a_region_that_lost_its_right_to_be_written_takes_no_receive, 1, NULL);
	unit_add(suite, a_send_one_byte_outside_its_region_fails, 4, NULL);
	unit_add(suite, a_region_of_another_domain_fails, 1, NULL);
	unit_add(suite, two_regions_in_turn_give_each_its_own_bytes, 1, NULL);
	unit_add(suite, a_region_with_addresses_of_its_own_is_read_and_written_at_its_memory, 1,
		 NULL);
	unit_add(suite, a_region_outlives_the_queue_pair_that_used_it, 1, NULL);
	unit_add(suite, an_unsignaled_send_has_a_completion_only_if_it_fails, 1, NULL);
	unit_add(suite, a_poll_returns_as_many_completions_as_there_are_room_and_messages, 1, NULL);
}

UNIT_SUITE("verbs_quick")
