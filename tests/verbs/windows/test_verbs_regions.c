/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions whose addresses begin elsewhere, and regions that are registered again. */
#include "named_memory.h"

#include <errno.h>
#include <string.h>

/* In another page, at the same place. */
static uint64_t name_of(const char *memory, uint64_t page)
{
	return page + ((uintptr_t)memory & 0xfff);
}

START_TEST(a_regions_addresses_may_begin_elsewhere)
{
	uint64_t from = name_of(a.buffer, 0x10000), to = name_of(b.buffer, 0x20000);
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	verbs_begin(&a, &b);
	reregister(&a, ibv_reg_mr_iova2(a.pd, a.buffer, BUFFER, from, IBV_ACCESS_LOCAL_WRITE));
	reregister(&b, ibv_reg_mr_iova2(b.pd, b.buffer, BUFFER, to, IBV_ACCESS_LOCAL_WRITE | RW));
	strcpy(a.buffer + 16, "named otherwise");
	sge = (struct ibv_sge){ from + 0x10, 16, a.mr->lkey };
	wr = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = to + 0x40;
	ck_assert_int_eq(post(&a, &wr), 0);
	expect_wc(&a, IBV_WC_RDMA_WRITE, IBV_WC_SUCCESS);
	ck_assert_str_eq(b.buffer + 0x40, "named otherwise");
	wr.opcode = IBV_WR_RDMA_READ;
	sge.addr = from + 0x100;
	ck_assert_int_eq(post(&a, &wr), 0);
	expect_wc(&a, IBV_WC_RDMA_READ, IBV_WC_SUCCESS);
	ck_assert_str_eq(a.buffer + 0x100, "named otherwise");
	/* The addresses of the memory are no names of it. */
	write_to(to, b.mr->rkey, IBV_WC_LOC_PROT_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

/* The kernel maps pages: a byte has one place in its page. */
START_TEST(a_region_begins_at_the_same_place_of_a_page)
{
	verbs_begin(&a, &b);
	for (uint64_t bit = 1; bit < 4096; bit *= 2) {
		errno = 0;
		ck_assert_ptr_null(ibv_reg_mr_iova2(
			b.pd, b.buffer, BUFFER, (uintptr_t)b.buffer ^ bit, IBV_ACCESS_LOCAL_WRITE));
		ck_assert_int_eq(errno, EINVAL);
	}
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_zero_based_region_counts_from_its_beginning)
{
	verbs_begin(&a, &b);
	reregister(&b, ibv_reg_mr(b.pd, b.buffer, BUFFER,
				  IBV_ACCESS_LOCAL_WRITE | RW | IBV_ACCESS_ZERO_BASED));
	write_to(32, b.mr->rkey, IBV_WC_SUCCESS);
	ck_assert_str_eq(b.buffer + 32, "through");
	write_to((uintptr_t)b.buffer, b.mr->rkey, IBV_WC_REM_ACCESS_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_region_can_be_registered_again)
{
	struct ibv_pd *pd;

	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b.buffer + 4096,
				      4096, 0),
			 0);
	ck_assert_ptr_eq(b.mr->addr, b.buffer + 4096);
	ck_assert_uint_eq(b.mr->length, 4096);
	write_to((uintptr_t)b.buffer + 4096, b.mr->rkey, IBV_WC_SUCCESS);
	pd = ibv_alloc_pd(b.context);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	ck_assert_ptr_eq(b.mr->pd, pd);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	write_to((uintptr_t)b.buffer + 4096, b.mr->rkey, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, b.pd, NULL, 0, 0), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_regions_keys_survive_another_access)
{
	uint32_t rkey;

	verbs_begin(&a, &b);
	rkey = b.mr->rkey;
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
			 0);
	ck_assert_uint_eq(b.mr->rkey, rkey);
	write_to((uintptr_t)b.buffer, rkey, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE),
			 0);
	ck_assert_uint_eq(b.mr->rkey, rkey);
	write_to((uintptr_t)b.buffer, rkey, IBV_WC_REM_ACCESS_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_receive_posted_before_the_change_meets_the_new_pd)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, 0 }, to = { (uintptr_t)b.buffer, 8, 0 };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr;
	struct ibv_pd *pd;

	verbs_begin(&a, &b);
	pd = ibv_alloc_pd(b.context);
	ck_assert_ptr_nonnull(pd);
	sge.lkey = a.mr->lkey;
	to.lkey = b.mr->lkey;
	ck_assert_int_eq(ibv_post_recv(b.qp, &recv, &bad_recv), 0);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	ck_assert_uint_eq(b.mr->lkey, to.lkey);
	wr = verbs_wr(&b, IBV_WR_SEND, &sge);
	ck_assert_int_eq(post(&a, &wr), 0);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_REM_OP_ERR);
	expect_wc(&b, IBV_WC_RECV, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, b.pd, NULL, 0, 0), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_registration_that_fails_again_changes_nothing)
{
	uint32_t rkey;

	verbs_begin(&a, &b);
	rkey = b.mr->rkey;
	ck_assert_int_eq(ibv_rereg_mr(b.mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, 1 << 20, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, a.pd, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_REMOTE_WRITE),
			 IBV_REREG_MR_ERR_INPUT);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)4096,
				      4096, 0),
			 IBV_REREG_MR_ERR_CMD);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_uint_eq(b.mr->rkey, rkey);
	write_to((uintptr_t)b.buffer, rkey, IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_regions_addresses_may_begin_elsewhere, 1, NULL);
	unit_add(suite, a_region_begins_at_the_same_place_of_a_page, 1, NULL);
	unit_add(suite, a_zero_based_region_counts_from_its_beginning, 1, NULL);
	unit_add(suite, a_region_can_be_registered_again, 1, NULL);
	unit_add(suite, a_regions_keys_survive_another_access, 1, NULL);
	unit_add(suite, a_receive_posted_before_the_change_meets_the_new_pd, 1, NULL);
	unit_add(suite, a_registration_that_fails_again_changes_nothing, 1, NULL);
}

UNIT_SUITE("verbs_regions")
