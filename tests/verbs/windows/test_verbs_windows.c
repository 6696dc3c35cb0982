/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows of both types, and the invalidation of their keys. */
#include "named_memory.h"

#include <errno.h>

static int bind_1(struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind bind = { .wr_id = 1,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = info };

	return ibv_bind_mw(b.qp, mw, &bind);
}

static int bind_2(struct ibv_mw *mw, uint32_t rkey, struct ibv_mw_bind_info info)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = info;
	return post(&b, &wr);
}

static int invalidate(struct verbs_end *end, enum ibv_wr_opcode opcode, uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = opcode, .invalidate_rkey = rkey };

	return post(end, &wr);
}

/* ---- type 1 ---- */

START_TEST(a_window_of_type_1_opens_its_range_until_it_is_bound_again)
{
	struct ibv_mw *mw;
	uint32_t first;

	begin();
	mw = alloc_mw(IBV_MW_TYPE_1);
	ck_assert_int_eq(bind_1(mw, range(100, 16, RW)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	first = mw->rkey;
	write_to((uintptr_t)b.buffer + 108, first, IBV_WC_SUCCESS);
	ck_assert_str_eq(b.buffer + 108, "through");
	ck_assert_int_eq(bind_1(mw, range(200, 16, RW)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	ck_assert_uint_ne(mw->rkey, first);
	write_to((uintptr_t)b.buffer + 200, mw->rkey, IBV_WC_SUCCESS);
	write_to((uintptr_t)b.buffer + 100, first, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_window_ends_where_its_range_does)
{
	struct ibv_mw *mw;

	begin();
	mw = alloc_mw(IBV_MW_TYPE_1);
	ck_assert_int_eq(bind_1(mw, range(100, 16, RW)), 0);
	write_to((uintptr_t)b.buffer + 109, mw->rkey, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_region_with_a_window_is_busy)
{
	struct ibv_mw *mw;

	begin();
	mw = alloc_mw(IBV_MW_TYPE_1);
	ck_assert_int_eq(bind_1(mw, range(0, 16, RW)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dereg_mr(b.mr), EBUSY);
	ck_assert_int_eq(ibv_dealloc_pd(b.pd), EBUSY);
	ck_assert_int_eq(bind_1(mw, (struct ibv_mw_bind_info){ .length = 0 }), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_region_without_MW_BIND_ends_with_MW_BIND_ERR)
{
	struct ibv_mw *mw;

	verbs_begin(&a, &b);
	mw = alloc_mw(IBV_MW_TYPE_1);
	ck_assert_int_eq(bind_1(mw, range(0, 16, RW)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_MW_BIND_ERR);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* _i: atomics. */
START_TEST(a_window_on_what_cannot_be_written_opens_for_reads_alone)
{
	unsigned int more = _i ? IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mw *mw;

	begin();
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND),
			 0);
	mw = alloc_mw(IBV_MW_TYPE_1);
	ck_assert_int_eq(bind_1(mw, range(0, 16, IBV_ACCESS_REMOTE_READ)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	ck_assert_int_eq(bind_1(mw, range(0, 16, IBV_ACCESS_REMOTE_READ | more)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_MW_BIND_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_bind_of_a_wrong_form_is_refused)
{
	struct ibv_mw *one, *two;

	begin();
	one = alloc_mw(IBV_MW_TYPE_1);
	two = alloc_mw(IBV_MW_TYPE_2);
	ck_assert_int_eq(bind_1(two, range(0, 16, RW)), EINVAL);
	ck_assert_int_eq(bind_1(one, range(0, 16, IBV_ACCESS_ON_DEMAND)), EINVAL);
	ck_assert_int_eq(bind_2(one, one->rkey + 1, range(0, 16, RW)), EINVAL);
	ck_assert_int_eq(bind_2(two, two->rkey + 0x100, range(0, 16, RW)), EINVAL);
	ck_assert_ptr_null(ibv_alloc_mw(b.pd, (enum ibv_mw_type)7));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(ibv_dealloc_mw(one), 0);
	ck_assert_int_eq(ibv_dealloc_mw(two), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- type 2 ---- */

/* A window of type 2 on b's bytes 100 to 115. */
static struct ibv_mw *bound_2(uint32_t *rkey, unsigned int access)
{
	struct ibv_mw *mw = alloc_mw(IBV_MW_TYPE_2);

	*rkey = ibv_inc_rkey(mw->rkey);
	ck_assert_int_eq(bind_2(mw, *rkey, range(100, 16, access)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	return mw;
}

START_TEST(a_local_invalidation_closes_a_window_of_type_2)
{
	struct ibv_mw *mw;
	uint32_t rkey;

	begin();
	mw = bound_2(&rkey, RW);
	write_to((uintptr_t)b.buffer + 100, rkey, IBV_WC_SUCCESS);
	ck_assert_str_eq(b.buffer + 100, "through");
	ck_assert_int_eq(invalidate(&b, IBV_WR_LOCAL_INV, rkey), 0);
	expect_wc(&b, IBV_WC_LOCAL_INV, IBV_WC_SUCCESS);
	/* It can be bound again, with another key. */
	ck_assert_int_eq(bind_2(mw, ibv_inc_rkey(rkey), range(100, 16, RW)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	write_to((uintptr_t)b.buffer + 100, ibv_inc_rkey(rkey), IBV_WC_SUCCESS);
	write_to((uintptr_t)b.buffer + 100, rkey, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_bound_window_of_type_2_cannot_be_bound)
{
	struct ibv_mw *mw;
	uint32_t rkey;

	begin();
	mw = bound_2(&rkey, RW);
	ck_assert_int_eq(bind_2(mw, ibv_inc_rkey(rkey), range(100, 16, RW)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_MW_BIND_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_invalidation_of_what_is_no_window_ends_with_LOC_QP_OP_ERR)
{
	for (int i = 0; i < 2; i++) {
		begin();
		ck_assert_int_eq(invalidate(&b, IBV_WR_LOCAL_INV, i ? 0 : b.mr->rkey), 0);
		expect_wc(&b, IBV_WC_LOCAL_INV, IBV_WC_LOC_QP_OP_ERR);
		verbs_end_all(&a, &b);
	}
}
END_TEST

/* It runs, and fails, within the call that sets RTS. */
START_TEST(an_invalidation_that_waits_in_SQD_and_fails_leaves_ERR)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	begin();
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_SQD), 0);
	ck_assert_int_eq(invalidate(&b, IBV_WR_LOCAL_INV, b.mr->rkey), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_ERR);
	ck_assert_int_eq(ibv_query_qp(b.qp, &attr, IBV_QP_STATE, &init), 0);
	ck_assert_int_eq((int)attr.qp_state, (int)IBV_QPS_ERR);
	expect_wc(&b, IBV_WC_LOCAL_INV, IBV_WC_LOC_QP_OP_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_send_invalidates_a_window_of_its_receiver)
{
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t rkey;

	begin();
	mw = bound_2(&rkey, RW);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 50), 0);
	ck_assert_int_eq(invalidate(&a, IBV_WR_SEND_WITH_INV, rkey), 0);
	ck_assert(verbs_poll(&b, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_uint_eq(wc.wc_flags, IBV_WC_WITH_INV);
	ck_assert_uint_eq(wc.invalidated_rkey, rkey);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_SUCCESS);
	write_to((uintptr_t)b.buffer + 100, rkey, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_send_that_invalidates_another_key_ends_with_REM_ACCESS_ERR)
{
	begin();
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 50), 0);
	ck_assert_int_eq(invalidate(&a, IBV_WR_SEND_WITH_INV, b.mr->rkey), 0);
	expect_wc(&b, IBV_WC_RECV, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_REM_ACCESS_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

/* _i: by its own side. */
START_TEST(a_window_of_type_1_is_not_invalidated)
{
	struct ibv_mw *mw;

	begin();
	mw = alloc_mw(IBV_MW_TYPE_1);
	ck_assert_int_eq(bind_1(mw, range(100, 16, RW)), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 50), 0);
	if (_i) {
		ck_assert_int_eq(invalidate(&b, IBV_WR_LOCAL_INV, mw->rkey), 0);
		expect_wc(&b, IBV_WC_LOCAL_INV, IBV_WC_LOC_QP_OP_ERR);
	} else {
		ck_assert_int_eq(invalidate(&a, IBV_WR_SEND_WITH_INV, mw->rkey), 0);
		expect_wc(&b, IBV_WC_RECV, IBV_WC_REM_INV_REQ_ERR);
		expect_wc(&a, IBV_WC_SEND, IBV_WC_REM_ACCESS_ERR);
	}
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_window_of_type_2_goes_with_its_qp)
{
	struct ibv_mw *mw;
	uint32_t rkey;

	begin();
	mw = bound_2(&rkey, RW);
	ck_assert_int_eq(ibv_dereg_mr(b.mr), EBUSY);
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	ck_assert_int_eq(ibv_dereg_mr(b.mr), 0);
	b.mr = ibv_reg_mr(b.pd, b.buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* A peer may still have the key of a window that is gone. */
START_TEST(a_key_of_a_freed_window_opens_no_later_one)
{
	enum ibv_mw_type types[] = { IBV_MW_TYPE_2, IBV_MW_TYPE_1 };
	struct ibv_mw *mw;
	uint32_t rkey, later;

	for (int i = 0; i < 2; i++) {
		begin();
		mw = bound_2(&rkey, RW);
		ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
		mw = alloc_mw(types[i]);
		ck_assert_uint_ne(mw->rkey, rkey);
		later = ibv_inc_rkey(mw->rkey);
		ck_assert_int_eq(i ? bind_1(mw, range(100, 16, RW))
				   : bind_2(mw, later, range(100, 16, RW)),
				 0);
		expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
		write_to((uintptr_t)b.buffer + 100, i ? mw->rkey : later, IBV_WC_SUCCESS);
		write_to((uintptr_t)b.buffer + 100, rkey, IBV_WC_REM_ACCESS_ERR);
		ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
		verbs_end_all(&a, &b);
	}
}
END_TEST

START_TEST(a_zero_based_window_counts_from_its_beginning)
{
	struct ibv_mw *mw;
	uint32_t rkey;

	begin();
	mw = bound_2(&rkey, RW | IBV_ACCESS_ZERO_BASED);
	write_to(8, rkey, IBV_WC_SUCCESS);
	ck_assert_str_eq(b.buffer + 108, "through");
	write_to((uintptr_t)b.buffer + 100, rkey, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_closed_device_takes_its_windows_along)
{
	uint32_t rkey;

	begin();
	bound_2(&rkey, RW);
	ck_assert_int_eq(ibv_close_device(b.context), 0);
	ck_assert_int_eq(ibv_close_device(a.context), 0);
}
END_TEST

START_TEST(a_window_may_be_asked_for_local_access)
{
	struct ibv_mw *mw;
	struct ibv_mw_bind bind;

	begin();
	mw = alloc_mw(IBV_MW_TYPE_1);
	bind = (struct ibv_mw_bind){ .send_flags = IBV_SEND_SIGNALED,
				     .bind_info = range(0, 64, IBV_ACCESS_LOCAL_WRITE) };
	ck_assert_int_eq(ibv_bind_mw(b.qp, mw, &bind), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	write_to((uintptr_t)b.buffer, mw->rkey, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- the same by ibv_wr_xxx ---- */

START_TEST(an_extended_qp_binds_and_invalidates)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
				  IBV_QP_EX_WITH_SEND_WITH_INV,
	};
	struct ibv_mw_bind_info info;
	struct ibv_qp_ex *ex;
	struct ibv_mw *mw;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	init.send_cq = init.recv_cq = b.cq;
	init.pd = b.pd;
	b.qp = ibv_create_qp_ex(b.context, &init);
	ck_assert_ptr_nonnull(b.qp);
	verbs_make_qp(&a);
	verbs_connect(&a, &b);
	reregister(&b, ibv_reg_mr(b.pd, b.buffer, BUFFER,
				  IBV_ACCESS_LOCAL_WRITE | RW | IBV_ACCESS_MW_BIND));
	mw = alloc_mw(IBV_MW_TYPE_2);
	info = range(0, 64, RW);
	ex = ibv_qp_to_qp_ex(b.qp);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, mw->rkey + 1, &info);
	ibv_wr_local_inv(ex, mw->rkey + 1);
	ibv_wr_bind_mw(ex, mw, mw->rkey + 2, &info);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	expect_wc(&b, IBV_WC_LOCAL_INV, IBV_WC_SUCCESS);
	expect_wc(&b, IBV_WC_BIND_MW, IBV_WC_SUCCESS);
	write_to((uintptr_t)b.buffer, mw->rkey + 2, IBV_WC_SUCCESS);
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, mw->rkey + 0x100, &info);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_window_of_type_1_opens_its_range_until_it_is_bound_again, 1, NULL);
	unit_add(suite, a_window_ends_where_its_range_does, 1, NULL);
	unit_add(suite, a_region_with_a_window_is_busy, 1, NULL);
	unit_add(suite, a_region_without_MW_BIND_ends_with_MW_BIND_ERR, 1, NULL);
	unit_add(suite, a_window_on_what_cannot_be_written_opens_for_reads_alone, 2, NULL);
	unit_add(suite, a_bind_of_a_wrong_form_is_refused, 1, NULL);
	unit_add(suite, a_local_invalidation_closes_a_window_of_type_2, 1, NULL);
	unit_add(suite, a_bound_window_of_type_2_cannot_be_bound, 1, NULL);
	unit_add(suite, an_invalidation_of_what_is_no_window_ends_with_LOC_QP_OP_ERR, 1, NULL);
	unit_add(suite, an_invalidation_that_waits_in_SQD_and_fails_leaves_ERR, 1, NULL);
	unit_add(suite, a_send_invalidates_a_window_of_its_receiver, 1, NULL);
	unit_add(suite, a_send_that_invalidates_another_key_ends_with_REM_ACCESS_ERR, 1, NULL);
	unit_add(suite, a_window_of_type_1_is_not_invalidated, 2, NULL);
	unit_add(suite, a_window_of_type_2_goes_with_its_qp, 1, NULL);
	unit_add(suite, a_key_of_a_freed_window_opens_no_later_one, 1, NULL);
	unit_add(suite, a_zero_based_window_counts_from_its_beginning, 1, NULL);
	unit_add(suite, a_closed_device_takes_its_windows_along, 1, NULL);
	unit_add(suite, a_window_may_be_asked_for_local_access, 1, NULL);
	unit_add(suite, an_extended_qp_binds_and_invalidates, 1, NULL);
}

UNIT_SUITE("verbs_windows")
