/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended objects: requests put together by ibv_wr_xxx, and completions read field by field. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

#define DEPTH 4u /* of the QP that posts */
#define OPS                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                              \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct verbs_end a, b;
static struct ibv_qp_ex *ex;

static struct ibv_qp_init_attr_ex init_ex(uint64_t ops)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = a.cq,
		.recv_cq = a.cq,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 64 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = a.pd,
		.send_ops_flags = ops,
	};
}

/* a has the extended QP; each request asks for a completion. */
static void begin(void)
{
	struct ibv_qp_init_attr_ex init;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	init = init_ex(OPS);
	a.qp = ibv_create_qp_ex(a.context, &init);
	ck_assert_ptr_nonnull(a.qp);
	verbs_make_qp(&b);
	verbs_connect(&a, &b);
	ex = ibv_qp_to_qp_ex(a.qp);
	ck_assert_ptr_nonnull(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
}

static void set_sge(uint32_t offset, uint32_t length)
{
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buffer + offset, length);
}

static void expect_wc(struct verbs_end *end, uint64_t id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_msg(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	ck_assert_int_eq((int)wc.opcode, (int)opcode);
	ck_assert_uint_eq(wc.wr_id, id);
}

static void expect_none(struct verbs_end *end)
{
	struct ibv_wc wc;

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(ibv_poll_cq(end->cq, 1, &wc), 0);
}

/* ---- requests ---- */

START_TEST(a_batch_is_posted_in_order)
{
	begin();
	strcpy(a.buffer, "written");
	strcpy(a.buffer + 16, "sent");
	strcpy(b.buffer + 4096, "read");
	ck_assert_int_eq(verbs_recv(&b, 5, 100, 16), 0);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ibv_wr_rdma_write(ex, b.mr->rkey, (uintptr_t)b.buffer);
	set_sge(0, 8);
	ex->wr_id = 2;
	ibv_wr_send(ex);
	set_sge(16, 5);
	ex->wr_id = 3;
	ibv_wr_rdma_read(ex, b.mr->rkey, (uintptr_t)b.buffer + 4096);
	set_sge(200, 5);
	ex->wr_id = 4;
	ibv_wr_atomic_fetch_add(ex, b.mr->rkey, (uintptr_t)b.buffer + 8000, 3);
	set_sge(256, 8);
	expect_none(&a);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	expect_wc(&a, 1, IBV_WC_RDMA_WRITE);
	expect_wc(&a, 2, IBV_WC_SEND);
	expect_wc(&a, 3, IBV_WC_RDMA_READ);
	expect_wc(&a, 4, IBV_WC_FETCH_ADD);
	expect_wc(&b, 5, IBV_WC_RECV);
	ck_assert_str_eq(b.buffer, "written");
	ck_assert_str_eq(b.buffer + 100, "sent");
	ck_assert_str_eq(a.buffer + 200, "read");
	ck_assert_int_eq(b.buffer[8000], 3);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(immediate_data_and_lists_of_segments_are_sent)
{
	struct ibv_sge list[2];
	struct ibv_wc wc;

	begin();
	strcpy(a.buffer, "ab");
	strcpy(a.buffer + 10, "cd");
	list[0] = (struct ibv_sge){ (uintptr_t)a.buffer, 2, a.mr->lkey };
	list[1] = (struct ibv_sge){ (uintptr_t)a.buffer + 10, 3, a.mr->lkey };
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(verbs_recv(&b, 1, 100, 16), 0);
	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 7);
	ibv_wr_set_sge_list(ex, 2, list);
	ibv_wr_rdma_write_imm(ex, b.mr->rkey, (uintptr_t)b.buffer, 8);
	ibv_wr_set_sge_list(ex, 2, list);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	for (uint32_t i = 7; i <= 8; i++) {
		ck_assert(verbs_poll(&b, &wc));
		ck_assert_uint_eq(wc.imm_data, i);
		ck_assert_uint_eq(wc.byte_len, 5);
	}
	ck_assert_str_eq(b.buffer + 100, "abcd");
	ck_assert_str_eq(b.buffer, "abcd");
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_inline_payload_may_change_before_the_batch_is_posted)
{
	char part[8];
	struct ibv_data_buf list[2] = { { part, 2 }, { part + 2, 6 } };

	begin();
	/* More rounds than slots. */
	for (int round = 0; round < 8; round++) {
		for (unsigned int i = 0; i < DEPTH; i++)
			ck_assert_int_eq(verbs_recv(&b, i, 8 * i, 8), 0);
		ibv_wr_start(ex);
		for (unsigned int i = 0; i < DEPTH; i++) {
			memset(part, 'a' + round + (int)i, sizeof(part));
			ibv_wr_send(ex);
			if (i % 2)
				ibv_wr_set_inline_data(ex, part, sizeof(part));
			else
				ibv_wr_set_inline_data_list(ex, 2, list);
		}
		memset(part, 0, sizeof(part));
		ck_assert_int_eq(ibv_wr_complete(ex), 0);
		for (unsigned int i = 0; i < DEPTH; i++) {
			expect_wc(&b, i, IBV_WC_RECV);
			ck_assert_int_eq(b.buffer[8 * i + 7], 'a' + round + (int)i);
		}
		for (unsigned int i = 0; i < DEPTH; i++)
			expect_wc(&a, 0, IBV_WC_SEND);
	}
	verbs_end_all(&a, &b);
}
END_TEST

/* A request has one slot for its payload, which the next request does not use. */
START_TEST(a_payload_that_is_set_again_replaces_the_one_before)
{
	char first[] = "first", last[] = "last", other[] = "other";
	struct ibv_sge sge = { (uintptr_t)other, sizeof(other), 0 };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE },
			   *bad;

	begin();
	strcpy(a.buffer, "segment");
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(verbs_recv(&b, i, 64 * i, 64), 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, first, sizeof(first));
	set_sge(0, 8);
	ibv_wr_send(ex);
	for (int i = 0; i < 100; i++)
		ibv_wr_set_inline_data(ex, first, sizeof(first));
	ibv_wr_set_inline_data(ex, last, sizeof(last));
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	for (unsigned int i = 0; i < 3; i++)
		expect_wc(&b, i, IBV_WC_RECV);
	ck_assert_str_eq(b.buffer, "segment");
	ck_assert_str_eq(b.buffer + 64, "last");
	ck_assert_str_eq(b.buffer + 128, "other");
	for (unsigned int i = 0; i < 3; i++)
		expect_wc(&a, 0, IBV_WC_SEND);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_aborted_batch_leaves_nothing)
{
	begin();
	ck_assert_int_eq(verbs_recv(&b, 9, 100, 16), 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	set_sge(0, 8);
	ibv_wr_abort(ex);
	expect_none(&a);
	ibv_wr_start(ex);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	expect_none(&a);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_batch_that_was_posted_is_not_posted_again)
{
	begin();
	for (unsigned int i = 0; i < 2; i++)
		ck_assert_int_eq(verbs_recv(&b, i, 64 * i, 64), 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	set_sge(0, 8);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	expect_wc(&a, 0, IBV_WC_SEND);
	expect_wc(&b, 0, IBV_WC_RECV);
	expect_none(&a);
	expect_none(&b);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_request_without_a_payload_does_not_send_that_of_one_before)
{
	char part[] = "part";
	struct ibv_wc wc;

	begin();
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(verbs_recv(&b, i, 64 * i, 64), 0);
	for (unsigned int i = 0; i < 3; i++) {
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		if (i == 2)
			set_sge(0, 8);
		if (i != 1)
			ibv_wr_set_inline_data(ex, part, i == 0 ? sizeof(part) : 0);
		ck_assert_int_eq(ibv_wr_complete(ex), 0);
		ck_assert(verbs_poll(&b, &wc));
		ck_assert_uint_eq(wc.byte_len, i == 0 ? sizeof(part) : 0);
		expect_wc(&a, 0, IBV_WC_SEND);
	}
	verbs_end_all(&a, &b);
}
END_TEST

/* The payload says itself whether it is inline. */
START_TEST(a_payload_of_segments_is_not_inline_whatever_the_flags_say)
{
	begin();
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	ibv_wr_start(ex);
	ex->wr_flags |= IBV_SEND_INLINE;
	ibv_wr_send(ex);
	set_sge(0, 100); /* more than may be inline */
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	expect_wc(&a, 0, IBV_WC_SEND);
	expect_wc(&b, 1, IBV_WC_RECV);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_batch_has_the_room_that_requests_in_flight_leave)
{
	begin();
	for (unsigned int i = 0; i < DEPTH; i++)
		ck_assert_int_eq(verbs_recv(&b, i, 64 * i, 64), 0);
	for (unsigned int i = 0; i < 2; i++)
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	for (int err = ENOMEM; err >= 0; err -= ENOMEM) {
		ibv_wr_start(ex);
		for (unsigned int i = 0; i < (err ? DEPTH - 1 : DEPTH - 2); i++) {
			ibv_wr_send(ex);
			set_sge(0, 8);
		}
		ck_assert_int_eq(ibv_wr_complete(ex), err);
	}
	for (unsigned int i = 0; i < DEPTH; i++)
		expect_wc(&b, i, IBV_WC_RECV);
	verbs_end_all(&a, &b);
}
END_TEST

static void add_too_many(void)
{
	for (unsigned int i = 0; i < DEPTH; i++) {
		ibv_wr_send(ex);
		set_sge(0, 8);
	}
}

static void add_long_list(void)
{
	struct ibv_sge list[3] = { { 0 } };

	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 3, list);
}

static void add_long_inline(void)
{
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, a.buffer, 65);
}

static void add_endless_inline(void)
{
	struct ibv_data_buf list[2] = { { a.buffer, 8 }, { a.buffer, SIZE_MAX - 3 } };

	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, list); /* together 4, in a size_t */
}

static void add_inline_read(void)
{
	ibv_wr_rdma_read(ex, b.mr->rkey, (uintptr_t)b.buffer);
	ibv_wr_set_inline_data(ex, a.buffer, 8);
}

static void add_short_atomic(void)
{
	ibv_wr_atomic_fetch_add(ex, b.mr->rkey, (uintptr_t)b.buffer, 1);
	set_sge(0, 4);
}

static void add_unknown_flag(void)
{
	ex->wr_flags = IBV_SEND_SIGNALED | 1u << 20;
	ibv_wr_send(ex);
	set_sge(0, 8);
	ex->wr_flags = IBV_SEND_SIGNALED;
}

static void add_unknown_flag_inline(void)
{
	ex->wr_flags = IBV_SEND_SIGNALED | 1u << 20;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, a.buffer, 8);
	ex->wr_flags = IBV_SEND_SIGNALED;
}

static void add_address(void)
{
	struct ibv_ah_attr to = { .dlid = b.port.lid, .port_num = 1 };
	struct ibv_ah *ah = ibv_create_ah(a.pd, &to);

	ck_assert_ptr_nonnull(ah);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, b.qp->qp_num, VERBS_QKEY);
	set_sge(0, 8);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
}

START_TEST(of_a_batch_with_a_bad_request_none_is_posted)
{
	static const struct {
		void (*add)(void);
		int err;
	} bad[] = {
		{ add_too_many, ENOMEM },
		{ add_long_list, EINVAL },
		{ add_long_inline, EINVAL },
		{ add_inline_read, EINVAL },
		{ add_short_atomic, EINVAL },
		{ add_unknown_flag, EINVAL },
		{ add_address, EINVAL },
		{ add_endless_inline, EINVAL },
		{ add_unknown_flag_inline, EINVAL },
	};

	begin();
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		set_sge(0, 8);
		bad[i].add();
		ck_assert_int_eq(ibv_wr_complete(ex), bad[i].err);
		expect_none(&a);
	}
	ibv_wr_start(ex);
	set_sge(0, 8);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	add_unknown_flag_inline();
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	expect_none(&a);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_RTS);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(of_a_batch_with_a_read_none_is_posted_where_no_read_may_be_outstanding)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .max_rd_atomic = 0 };

	begin();
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	attr.qp_state = IBV_QPS_RTS;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	set_sge(0, 8);
	ibv_wr_rdma_read(ex, b.mr->rkey, (uintptr_t)b.buffer);
	set_sge(8, 8);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	expect_none(&a);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_batch_before_RTS_is_refused)
{
	struct ibv_qp_init_attr_ex init;

	verbs_open(&a, 0);
	init = init_ex(IBV_QP_EX_WITH_SEND);
	a.qp = ibv_create_qp_ex(a.context, &init);
	ex = ibv_qp_to_qp_ex(a.qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	verbs_close(&a);
}
END_TEST

START_TEST(what_an_extended_qp_cannot_be_is_refused)
{
	struct ibv_qp_init_attr_ex init;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	init = init_ex(IBV_QP_EX_WITH_TSO);
	ck_assert_ptr_null(ibv_create_qp_ex(a.context, &init));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	init = init_ex(OPS);
	init.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	ck_assert_ptr_null(ibv_create_qp_ex(a.context, &init));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	init = init_ex(OPS);
	init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ck_assert_ptr_null(ibv_create_qp_ex(a.context, &init));
	ck_assert_int_eq(errno, EINVAL);
	init = init_ex(OPS);
	EXPECT_NULL(EINVAL, ibv_create_qp_ex(b.context, &init)); /* of another device's domain */
	init.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	init.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	EXPECT_NULL(EOPNOTSUPP, ibv_create_qp_ex(a.context, &init));
	init = init_ex(IBV_QP_EX_WITH_RDMA_READ);
	init.qp_type = IBV_QPT_UC;
	EXPECT_NULL(EOPNOTSUPP, ibv_create_qp_ex(a.context, &init));
	verbs_make_qp(&a);
	ck_assert_ptr_null(ibv_qp_to_qp_ex(a.qp));
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(there_are_no_options_to_agree_about)
{
	struct ibv_ece ece = { .vendor_id = 1 };

	verbs_open(&a, 0);
	verbs_make_qp(&a);
	ck_assert_int_eq(ibv_set_ece(a.qp, &ece), EOPNOTSUPP);
	ck_assert_int_eq(ibv_query_ece(a.qp, &ece), EOPNOTSUPP);
	ck_assert_uint_eq(ece.vendor_id, 1);
	ece.comp_mask = 1;
	ck_assert_int_eq(ibv_set_ece(a.qp, &ece), EINVAL);
	verbs_close(&a);
}
END_TEST

/* ---- completions ---- */

static struct ibv_cq_ex *begin_cq_ex(uint64_t flags)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS | flags };
	struct ibv_cq_ex *cq;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	cq = ibv_create_cq_ex(b.context, &init);
	ck_assert_ptr_nonnull(cq);
	ck_assert_int_eq(ibv_destroy_cq(b.cq), 0);
	b.cq = ibv_cq_ex_to_cq(cq);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	verbs_connect(&a, &b);
	return cq;
}

static void start(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };

	for (int i = 0; i < 1000; i++)
		if (ibv_start_poll(cq, &attr) == 0)
			return;
	ck_abort_msg("no completion");
}

START_TEST(completions_are_read_one_by_one)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };
	struct ibv_cq_ex *cq = begin_cq_ex(0);

	ck_assert_int_eq(ibv_start_poll(cq, &attr), EINVAL);
	attr.comp_mask = 0;
	ck_assert_int_eq(ibv_start_poll(cq, &attr), ENOENT);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 50), 0);
	ck_assert_int_eq(verbs_recv(&b, 2, 100, 50), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND_WITH_IMM, 6, 0), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 7, 0), 0);
	start(cq);
	ck_assert_uint_eq(cq->wr_id, 1);
	ck_assert_int_eq((int)cq->status, (int)IBV_WC_SUCCESS);
	ck_assert_int_eq((int)ibv_wc_read_opcode(cq), (int)IBV_WC_RECV);
	ck_assert_uint_eq(ibv_wc_read_byte_len(cq), 6);
	ck_assert_uint_eq(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	ck_assert_uint_eq(ibv_wc_read_imm_data(cq), 0x12345678);
	ck_assert_uint_eq(ibv_wc_read_qp_num(cq), b.qp->qp_num);
	ck_assert_uint_eq(ibv_wc_read_src_qp(cq), a.qp->qp_num);
	ck_assert_uint_eq(ibv_wc_read_slid(cq), a.port.lid);
	ck_assert_int_eq(ibv_next_poll(cq), 0);
	ck_assert_uint_eq(cq->wr_id, 2);
	ck_assert_uint_eq(ibv_wc_read_byte_len(cq), 7);
	ck_assert_uint_eq(ibv_wc_read_wc_flags(cq), 0);
	ck_assert_int_eq(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_extended_cq_can_be_polled_in_the_old_way)
{
	struct ibv_wc wc;

	begin_cq_ex(0);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 50), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 6, 0), 0);
	ck_assert(verbs_poll(&b, &wc));
	ck_assert_uint_eq(wc.wr_id, 1);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(the_clock_of_completions_is_virtual_time)
{
	struct ibv_values_ex before = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, after = before;
	struct ibv_cq_ex *cq = begin_cq_ex(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	struct ibv_device_attr_ex attr;
	uint64_t ns;

	ck_assert_int_eq(ibv_query_device_ex(b.context, NULL, &attr), 0);
	ck_assert_uint_eq(attr.hca_core_clock, 1000000);
	ck_assert_uint_eq(attr.completion_timestamp_mask, UINT64_MAX);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 50), 0);
	ck_assert_int_eq(ibv_query_rt_values_ex(b.context, &before), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 6, 0), 0);
	start(cq);
	ns = ibv_wc_read_completion_ts(cq);
	ibv_end_poll(cq);
	ck_assert_int_eq(ibv_query_rt_values_ex(b.context, &after), 0);
	ck_assert_uint_ge(ns, (uint64_t)before.raw_clock.tv_nsec);
	ck_assert_uint_le(ns, (uint64_t)after.raw_clock.tv_nsec);
	ck_assert_int_eq(after.raw_clock.tv_sec, 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(what_an_extended_cq_cannot_be_is_refused)
{
	struct ibv_cq_init_attr_ex flow = { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG },
				   overrun = { .cqe = 1,
					       .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					       .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN },
				   empty = { .cqe = 0 };

	verbs_open(&a, 0);
	ck_assert_ptr_null(ibv_create_cq_ex(a.context, &flow));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	ck_assert_ptr_null(ibv_create_cq_ex(a.context, &overrun));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	ck_assert_ptr_null(ibv_create_cq_ex(a.context, &empty));
	ck_assert_int_eq(errno, EINVAL);
	verbs_close(&a);
}
END_TEST

/* ---- shared receive queues ---- */

START_TEST(an_extended_srq_is_a_basic_one_whatever_else_is_said_of_it)
{
	struct ibv_srq_init_attr_ex init = { .attr = { .max_wr = 3, .max_sge = 2 } };
	struct ibv_srq_attr attr;
	struct ibv_srq *srq;

	verbs_open(&a, 0);
	init.pd = a.pd;
	init.cq = a.cq;
	init.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
	srq = ibv_create_srq_ex(a.context, &init);
	ck_assert_ptr_nonnull(srq);
	ck_assert_ptr_eq(srq->pd, a.pd);
	ck_assert_int_eq(ibv_query_srq(srq, &attr), 0);
	ck_assert_uint_eq(attr.max_wr, 3);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	init.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_TM;
	init.srq_type = IBV_SRQT_BASIC;
	srq = ibv_create_srq_ex(a.context, &init);
	ck_assert_ptr_nonnull(srq);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	verbs_close(&a);
}
END_TEST

START_TEST(what_an_extended_srq_cannot_be_is_refused)
{
	struct ibv_srq_init_attr_ex init = { .attr = { .max_wr = 3, .max_sge = 2 } };

	verbs_open(&a, 0);
	init.pd = a.pd;
	init.cq = a.cq;
	init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ;
	ck_assert_ptr_null(ibv_create_srq_ex(a.context, &init));
	ck_assert_int_eq(errno, EINVAL);
	init.comp_mask = IBV_SRQ_INIT_ATTR_RESERVED;
	EXPECT_NULL(EOPNOTSUPP, ibv_create_srq_ex(a.context, &init));
	init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD;
	init.srq_type = IBV_SRQT_TM;
	ck_assert_ptr_null(ibv_create_srq_ex(a.context, &init));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	init.srq_type = IBV_SRQT_BASIC;
	init.comp_mask |= IBV_SRQ_INIT_ATTR_RESERVED;
	ck_assert_ptr_null(ibv_create_srq_ex(a.context, &init));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	init.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
	init.attr.max_wr = 0;
	ck_assert_ptr_null(ibv_create_srq_ex(a.context, &init));
	ck_assert_int_eq(errno, EINVAL);
	verbs_close(&a);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_batch_is_posted_in_order, 1, NULL);
	unit_add(suite, immediate_data_and_lists_of_segments_are_sent, 1, NULL);
	unit_add(suite, an_inline_payload_may_change_before_the_batch_is_posted, 1, NULL);
	unit_add(suite, a_payload_that_is_set_again_replaces_the_one_before, 1, NULL);
	unit_add(suite, an_aborted_batch_leaves_nothing, 1, NULL);
	unit_add(suite, a_batch_that_was_posted_is_not_posted_again, 1, NULL);
	unit_add(suite, a_request_without_a_payload_does_not_send_that_of_one_before, 1, NULL);
	unit_add(suite, a_payload_of_segments_is_not_inline_whatever_the_flags_say, 1, NULL);
	unit_add(suite, a_batch_has_the_room_that_requests_in_flight_leave, 1, NULL);
	unit_add(suite, of_a_batch_with_a_bad_request_none_is_posted, 1, NULL);
	unit_add(suite, of_a_batch_with_a_read_none_is_posted_where_no_read_may_be_outstanding, 1,
		 NULL);
	unit_add(suite, a_batch_before_RTS_is_refused, 1, NULL);
	unit_add(suite, what_an_extended_qp_cannot_be_is_refused, 1, NULL);
	unit_add(suite, there_are_no_options_to_agree_about, 1, NULL);
	unit_add(suite, completions_are_read_one_by_one, 1, NULL);
	unit_add(suite, an_extended_cq_can_be_polled_in_the_old_way, 1, NULL);
	unit_add(suite, the_clock_of_completions_is_virtual_time, 1, NULL);
	unit_add(suite, what_an_extended_cq_cannot_be_is_refused, 1, NULL);
	unit_add(suite, an_extended_srq_is_a_basic_one_whatever_else_is_said_of_it, 1, NULL);
	unit_add(suite, what_an_extended_srq_cannot_be_is_refused, 1, NULL);
}

UNIT_SUITE("verbs_extended")
