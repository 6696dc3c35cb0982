/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics between two queue pairs: what they do and return, what they need, and that a request that
 * is retransmitted does not act again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

static struct verbs_end a, b;

static uint64_t *word(struct verbs_end *end, unsigned int index)
{
	return (uint64_t *)(void *)end->buffer + index;
}

/* An atomic of a's word `index` with b's first one, or that at `offset` from it. */
static int post_at(enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap,
		   unsigned int index, uint64_t offset)
{
	struct ibv_sge sge = { (uintptr_t)word(&a, index), 8, a.mr->lkey };
	struct ibv_send_wr wr = verbs_wr(&b, opcode, &sge), *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)b.buffer + offset;
	wr.wr.atomic.rkey = b.mr->rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	return ibv_post_send(a.qp, &wr, &bad);
}

static int post_add(uint64_t what, unsigned int index)
{
	return post_at(IBV_WR_ATOMIC_FETCH_AND_ADD, what, 0, index, 0);
}

static void expect_wc(enum ibv_wc_opcode opcode, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(&a, &wc));
	ck_assert_msg(wc.status == status, "%s", ibv_wc_status_str(wc.status));
	if (status != IBV_WC_SUCCESS)
		return;
	ck_assert_int_eq((int)wc.opcode, (int)opcode);
	ck_assert_uint_eq(wc.byte_len, 8);
}

START_TEST(an_atomic_changes_8_bytes_and_returns_what_was_there)
{
	verbs_begin(&a, &b);
	*word(&b, 0) = 40;
	*word(&b, 1) = 99;
	ck_assert_int_eq(post_add(2, 1), 0);
	expect_wc(IBV_WC_FETCH_ADD, IBV_WC_SUCCESS);
	ck_assert_uint_eq(*word(&a, 1), 40);
	ck_assert_uint_eq(*word(&b, 0), 42);
	ck_assert_int_eq(post_at(IBV_WR_ATOMIC_CMP_AND_SWP, 41, 7, 2, 0), 0);
	expect_wc(IBV_WC_COMP_SWAP, IBV_WC_SUCCESS);
	ck_assert_uint_eq(*word(&a, 2), 42);
	ck_assert_uint_eq(*word(&b, 0), 42);
	ck_assert_int_eq(post_at(IBV_WR_ATOMIC_CMP_AND_SWP, 42, 7, 2, 0), 0);
	expect_wc(IBV_WC_COMP_SWAP, IBV_WC_SUCCESS);
	ck_assert_uint_eq(*word(&a, 2), 42);
	ck_assert_uint_eq(*word(&b, 0), 7);
	ck_assert_uint_eq(*word(&b, 1), 99);
	verbs_end_all(&a, &b);
}
END_TEST

/* Four may be in flight (verbs_pair.c): the others wait. */
START_TEST(more_atomics_than_may_be_in_flight_wait_and_act_in_order)
{
	verbs_begin(&a, &b);
	for (unsigned int i = 0; i < 16; i++)
		ck_assert_int_eq(post_add(1, i), 0);
	ck_assert_int_eq(post_add(1, 16), ENOMEM);
	for (unsigned int i = 0; i < 16; i++)
		expect_wc(IBV_WC_FETCH_ADD, IBV_WC_SUCCESS);
	for (unsigned int i = 0; i < 16; i++)
		ck_assert_uint_eq(*word(&a, i), i);
	ck_assert_uint_eq(*word(&b, 0), 16);
	verbs_end_all(&a, &b);
}
END_TEST

static const char *const losses[] = {
	"packets=READ_REQUEST every=5 verdict=drop",
	"packets=READ_RESPONSE every=3 verdict=drop",
	"packets=READ_REQUEST every=2 verdict=duplicate",
	"packets=READ_RESPONSE every=2 verdict=duplicate",
	"packets=READ_RESPONSE every=3 verdict=delay delay_ns=20000",
	("packets=READ_REQUEST probability=100000 verdict=drop;"
	 "packets=READ_RESPONSE probability=100000 verdict=drop"),
};

START_TEST(a_retransmitted_atomic_does_not_act_again)
{
	ck_assert_int_eq(setenv("DATSIM_FAULTS", losses[_i], 1), 0);
	verbs_begin(&a, &b);
	for (unsigned int i = 0; i < 64; i++) {
		ck_assert_int_eq(post_add(1, i), 0);
		if (i % 4 < 3)
			continue;
		for (int n = 0; n < 4; n++)
			expect_wc(IBV_WC_FETCH_ADD, IBV_WC_SUCCESS);
	}
	for (unsigned int i = 0; i < 64; i++)
		ck_assert_uint_eq(*word(&a, i), i);
	ck_assert_uint_eq(*word(&b, 0), 64);
	verbs_end_all(&a, &b);
	unsetenv("DATSIM_FAULTS");
}
END_TEST

START_TEST(an_unaligned_target_ends_with_REM_INV_REQ_ERR)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(post_at(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 0, 4), 0);
	expect_wc(IBV_WC_FETCH_ADD, IBV_WC_REM_INV_REQ_ERR);
	ck_assert_uint_eq(*word(&b, 0), 0);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_region_without_REMOTE_ATOMIC_ends_with_REM_ACCESS_ERR)
{
	struct ibv_mr *plain;

	verbs_begin(&a, &b);
	plain = ibv_reg_mr(b.pd, b.buffer, BUFFER,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	ck_assert_ptr_nonnull(plain);
	ck_assert_int_eq(ibv_dereg_mr(b.mr), 0);
	b.mr = plain;
	ck_assert_int_eq(post_add(1, 0), 0);
	expect_wc(IBV_WC_FETCH_ADD, IBV_WC_REM_ACCESS_ERR);
	ck_assert_uint_eq(*word(&b, 0), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_qp_without_REMOTE_ATOMIC_ends_with_REM_ACCESS_ERR)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_WRITE };

	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	ck_assert_int_eq(post_add(1, 0), 0);
	expect_wc(IBV_WC_FETCH_ADD, IBV_WC_REM_ACCESS_ERR);
	ck_assert_uint_eq(*word(&b, 0), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_wrong_local_key_ends_with_LOC_PROT_ERR)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey + 1 };
	wr = verbs_wr(&b, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	wr.wr.atomic.remote_addr = (uintptr_t)b.buffer;
	wr.wr.atomic.rkey = b.mr->rkey;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_wc(IBV_WC_FETCH_ADD, IBV_WC_LOC_PROT_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_atomic_into_a_region_without_LOCAL_WRITE_ends_with_LOC_PROT_ERR)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_dereg_mr(a.mr), 0);
	a.mr = ibv_reg_mr(a.pd, a.buffer, BUFFER, 0);
	ck_assert_ptr_nonnull(a.mr);
	*word(&a, 0) = 99;
	*word(&b, 0) = 40;
	ck_assert_int_eq(post_add(2, 0), 0);
	expect_wc(IBV_WC_FETCH_ADD, IBV_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(*word(&a, 0), 99);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_atomic_of_another_length_is_refused)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 4, a.mr->lkey };
	wr = verbs_wr(&b, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	ck_assert_ptr_eq(bad, &wr);
	sge.length = 8;
	wr.send_flags |= IBV_SEND_INLINE;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_fence_waits_for_an_atomic)
{
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	*word(&b, 0) = 5;
	ck_assert_int_eq(verbs_recv(&b, 1, 64, 8), 0);
	/* The Send carries the word that the atomic fetches. */
	ck_assert_int_eq(post_add(1, 0), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, IBV_SEND_FENCE), 0);
	ck_assert(verbs_poll(&b, &wc));
	ck_assert_uint_eq(*word(&b, 8), 5);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, an_atomic_changes_8_bytes_and_returns_what_was_there, 1, NULL);
	unit_add(suite, more_atomics_than_may_be_in_flight_wait_and_act_in_order, 1, NULL);
	unit_add(suite, a_retransmitted_atomic_does_not_act_again, COUNT(losses), NULL);
	unit_add(suite, an_unaligned_target_ends_with_REM_INV_REQ_ERR, 1, NULL);
	unit_add(suite, a_region_without_REMOTE_ATOMIC_ends_with_REM_ACCESS_ERR, 1, NULL);
	unit_add(suite, a_qp_without_REMOTE_ATOMIC_ends_with_REM_ACCESS_ERR, 1, NULL);
	unit_add(suite, a_wrong_local_key_ends_with_LOC_PROT_ERR, 1, NULL);
	unit_add(suite, an_atomic_into_a_region_without_LOCAL_WRITE_ends_with_LOC_PROT_ERR, 1,
		 NULL);
	unit_add(suite, an_atomic_of_another_length_is_refused, 1, NULL);
	unit_add(suite, a_fence_waits_for_an_atomic, 1, NULL);
}

UNIT_SUITE("verbs_atomics")
