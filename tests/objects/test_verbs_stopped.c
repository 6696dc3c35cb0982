/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request of type UC or UD that fails at its sender stops the send queue: when it completes, what
 * is flushed, and what starts the queue again.
 */
#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

static struct verbs_end a, b;

static struct ibv_wc expect(struct verbs_end *end, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	ck_assert(verbs_poll(end, &wc));
	ck_assert_msg(wc.status == status, "%s", ibv_wc_status_str(wc.status));
	return wc;
}

/* There is no completion, and none comes. */
static void expect_nothing(struct verbs_end *end)
{
	struct ibv_wc wc;

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(ibv_poll_cq(end->cq, 1, &wc), 0);
}

static void enter(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
}

/* ---- type UC ---- */

START_TEST(a_wrong_local_key_stops_the_send_queue_of_a_connected_qp)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey + 1 };
	wr = verbs_wr(&b, IBV_WR_SEND, &sge);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	expect(&a, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	expect_nothing(&b);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &rts, IBV_QP_STATE), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

static void post_with_key(uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, length, lkey };
	struct ibv_send_wr wr = verbs_wr(&b, IBV_WR_SEND, &sge), *bad;

	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
}

/* So many requests are flushed behind the one that fails. Then the send queue can be used again. */
static void expect_failed_and_flushed(int flushed, uint32_t length)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };

	expect(&a, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_SQE);
	while (flushed-- > 0)
		expect(&a, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(verbs_recv(&b, 2, 0, 6000), 0);
	expect_nothing(&b);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &rts, IBV_QP_STATE), 0);
	post_with_key(length, a.mr->lkey);
	expect(&a, IBV_WC_SUCCESS);
	ck_assert_uint_eq(expect(&b, IBV_WC_SUCCESS).wr_id, 2);
	verbs_end_all(&a, &b);
}

/* With and without a Receive at the peer. */
START_TEST(what_is_posted_behind_a_wrong_local_key_is_flushed)
{
	uint32_t length = _i % 2 ? 5008 : 8;

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	if (_i < 2)
		ck_assert_int_eq(verbs_recv(&b, 1, 0, 6000), 0);
	post_with_key(8, a.mr->lkey);
	post_with_key(length, a.mr->lkey + 1);
	post_with_key(8, a.mr->lkey);
	post_with_key(length, a.mr->lkey);
	expect(&a, IBV_WC_SUCCESS);
	if (_i < 2)
		expect(&b, IBV_WC_SUCCESS);
	expect_failed_and_flushed(2, length);
}
END_TEST

static void lose_memory(void)
{
	ck_assert_int_eq(ibv_dereg_mr(a.mr), 0);
	a.mr = ibv_reg_mr(a.pd, a.buffer, sizeof(a.buffer), IBV_ACCESS_LOCAL_WRITE);
	ck_assert_ptr_nonnull(a.mr);
}

/* The others are on the way when the first packet finds no memory, or wait in state SQD. */
START_TEST(what_is_behind_memory_that_is_gone_is_flushed)
{
	struct ibv_qp_attr sqd = { .qp_state = IBV_QPS_SQD };
	uint32_t length = _i % 2 ? 5008 : 8;

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	ck_assert_int_eq(verbs_recv(&b, 2, 0, 6000), 0);
	post_with_key(length, a.mr->lkey);
	if (_i >= 2)
		ck_assert_int_eq(ibv_modify_qp(a.qp, &sqd, IBV_QP_STATE), 0);
	for (int i = 0; i < 2; i++)
		post_with_key(length, a.mr->lkey);
	lose_memory();
	expect_failed_and_flushed(2, length);
}
END_TEST

/* ---- types UC and UD ---- */

/* An address handle, or NULL if the type is UC. The peer has Receives. */
static struct ibv_ah *begin_either(bool datagrams)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_ah *ah;

	verbs_begin_of(&a, &b, datagrams ? IBV_QPT_UD : IBV_QPT_UC);
	for (uint64_t id = 1; id <= 4; id++)
		ck_assert_int_eq(verbs_recv(&b, id, 0, 100), 0);
	if (!datagrams)
		return NULL;
	attr.dlid = b.port.lid;
	ah = ibv_create_ah(a.pd, &attr);
	ck_assert_ptr_nonnull(ah);
	return ah;
}

static void end_either(struct ibv_ah *ah)
{
	if (ah)
		ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}

static void post_either(struct ibv_ah *ah, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, lkey };
	struct ibv_send_wr wr = verbs_wr(&b, IBV_WR_SEND, &sge), *bad;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = b.qp->qp_num;
		wr.wr.ud.remote_qkey = VERBS_QKEY;
	}
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
}

/* Whatever is posted is flushed, until RTS is set again. */
static void expect_stopped(struct ibv_ah *ah)
{
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_SQE);
	post_either(ah, a.mr->lkey);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	expect_nothing(&b);
	enter(IBV_QPS_RTS);
	post_either(ah, a.mr->lkey);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
}

START_TEST(a_send_queue_that_goes_on_is_not_stopped_by_what_was_flushed_before)
{
	struct ibv_ah *ah = begin_either(_i);

	post_either(ah, a.mr->lkey + 1);
	for (int i = 0; i < 2; i++)
		post_either(ah, a.mr->lkey);
	expect(&a, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_SQE);
	enter(IBV_QPS_RTS);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_RTS);
	end_either(ah);
}
END_TEST

/* One before the request that fails is sent. Setting SQD again changes nothing. */
START_TEST(what_is_posted_in_SQD_fails_when_RTS_is_set)
{
	struct ibv_ah *ah = begin_either(_i % 2);

	enter(IBV_QPS_SQD);
	if (_i >= 2)
		post_either(ah, a.mr->lkey);
	for (int i = 0; i < 2; i++) {
		post_either(ah, a.mr->lkey + 1);
		enter(IBV_QPS_SQD);
	}
	post_either(ah, a.mr->lkey);
	expect_nothing(&a);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_SQD);
	enter(IBV_QPS_RTS);
	if (_i >= 2) {
		expect(&a, IBV_WC_SUCCESS);
		expect(&b, IBV_WC_SUCCESS);
	}
	expect(&a, IBV_WC_LOC_PROT_ERR);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	expect_stopped(ah);
	end_either(ah);
}
END_TEST

/* RTS or SQD is set before that, which is not to start the queue again. */
START_TEST(a_queue_stays_stopped_until_its_error_is_polled)
{
	struct ibv_ah *ah = begin_either(_i % 2);

	post_either(ah, a.mr->lkey + 1);
	enter(_i >= 2 ? IBV_QPS_SQD : IBV_QPS_RTS);
	post_either(ah, a.mr->lkey);
	expect(&a, IBV_WC_LOC_PROT_ERR);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	expect_stopped(ah);
	end_either(ah);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_wrong_local_key_stops_the_send_queue_of_a_connected_qp, 1, NULL);
	unit_add(suite, what_is_posted_behind_a_wrong_local_key_is_flushed, 4, NULL);
	unit_add(suite, what_is_behind_memory_that_is_gone_is_flushed, 4, NULL);
	unit_add(suite, a_send_queue_that_goes_on_is_not_stopped_by_what_was_flushed_before, 2,
		 NULL);
	unit_add(suite, what_is_posted_in_SQD_fails_when_RTS_is_set, 4, NULL);
	unit_add(suite, a_queue_stays_stopped_until_its_error_is_polled, 4, NULL);
}

UNIT_SUITE("verbs_stopped")
