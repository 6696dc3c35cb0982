/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Upcalls that another process left in the inbox of this one (emu/upcall.h): they come to the front
 * while their object lives, with what they say, and are dropped when it is gone or was never there.
 */
#include "emu/cq.h"
#include "emu/qp.h"
#include "emu/srq.h"
#include "emu/upcall.h"
#include "lib/ep/ep.h"
#include "lib/ep/srq.h"
#include "lib/evd/evd.h"
#include "lib/object.h"

#include "tests/support/support.h"

static struct {
	int calls;
	void *ctx, *qp_ctx;
	uint32_t what;
} last;

static void took(void *ctx, void *qp_ctx, uint32_t what)
{
	last.calls++;
	last.ctx = ctx;
	last.qp_ctx = qp_ctx;
	last.what = what;
}

static void take_notify(void *ctx)
{
	took(ctx, NULL, EMU_UPCALL_CQ_NOTIFY);
}

static void take_lost(void *ctx, void *qp_ctx, enum nic_opcode lost)
{
	took(ctx, qp_ctx, (uint32_t)lost);
}

static void take_srq_limit(void *ctx)
{
	took(ctx, NULL, EMU_UPCALL_SRQ_LIMIT);
}

static void take_soft_limit(void *ctx)
{
	took(ctx, NULL, EMU_UPCALL_SOFT_LIMIT);
}

static void take_qp_event(void *ctx, enum nic_qp_event what)
{
	took(ctx, NULL, (uint32_t)what);
}

static void take_established(void *ctx, const struct nic_conn_param *peer)
{
	ck_assert_ptr_null(peer);
	took(ctx, NULL, EMU_UPCALL_ESTABLISHED);
}

static void take_end(void *ctx, enum nic_conn_end why)
{
	took(ctx, NULL, (uint32_t)why);
}

static const struct nic_upcalls taken = {
	.cq_notify = take_notify,
	.cq_lost = take_lost,
	.srq_limit = take_srq_limit,
	.qp_soft_limit = take_soft_limit,
	.qp_event = take_qp_event,
	.established = take_established,
	.conn_end = take_end,
};

static struct obj *object(DAT_HANDLE handle)
{
	return (struct obj *)((struct handle_slot *)handle)->object;
}

static struct {
	struct emu_world *world;
	struct nic *nic;
	const struct nic_upcalls *up;
	struct ep *ep;
	struct evd *evd;
	struct srq *srq;
	uint32_t cq, qp, srq_index;
} emu;

static void look_inside(void)
{
	srq_pair(4);
	emu.nic = object(w.b.ia)->nic;
	emu.world = emu_world_of(emu.nic);
	emu.ep = obj_as(struct ep, object(w.b.ep));
	emu.evd = obj_as(struct evd, object(w.b.recv));
	emu.srq = obj_as(struct srq, object(w.b.srq));
	emu.cq = emu_cq_index(emu.world, emu.evd->cq);
	emu.qp = emu_qp_index(emu.world, emu_local_qp(emu.ep->nic)->entry);
	emu.srq_index = emu_srq_index(emu.world, emu.srq->nic);
}

/* Number of upcalls that came of this one */
static int deliver_upcall(uint32_t kind, uint32_t index, uint32_t what)
{
	const struct emu_upcall up = { .kind = kind, .index = index, .qp = emu.qp, .what = what };

	emu.up = emu.nic->up;
	last.calls = 0;
	emu.nic->up = &taken;
	emu_upcall(emu.world, &up);
	emu.nic->up = emu.up;
	return last.calls;
}

static void expect_last(const void *ctx, uint32_t what)
{
	ck_assert_ptr_eq(last.ctx, ctx);
	ck_assert_uint_eq(last.what, what);
}

START_TEST(an_upcall_comes_to_the_front_with_its_object)
{
	look_inside();
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CQ_NOTIFY, emu.cq, 0), 1);
	expect_last(emu.evd, EMU_UPCALL_CQ_NOTIFY);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CQ_LOST, emu.cq, NIC_OP_RECV), 1);
	expect_last(emu.evd, NIC_OP_RECV);
	ck_assert_ptr_eq(last.qp_ctx, emu.ep);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CQ_LOST, 0, NIC_OP_ADD), 1);
	expect_last(NULL, NIC_OP_ADD);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_SRQ_LIMIT, emu.srq_index, 0), 1);
	expect_last(emu.srq, EMU_UPCALL_SRQ_LIMIT);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_SOFT_LIMIT, 0, 0), 1);
	expect_last(emu.ep, EMU_UPCALL_SOFT_LIMIT);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_ESTABLISHED, 0, 0), 1);
	expect_last(emu.ep, EMU_UPCALL_ESTABLISHED);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_QP_EVENT, 0, NIC_QP_DRAINED), 1);
	expect_last(emu.ep, NIC_QP_DRAINED);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_QP_EVENT, 0, NIC_QP_EVENTS), 0);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CONN_END, 0, NIC_END_BROKEN), 1);
	expect_last(emu.ep, NIC_END_BROKEN);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CONN_END, 0, NIC_END_COUNT - 1), 1);
	expect_last(emu.ep, NIC_END_COUNT - 1);
}
END_TEST

/* An entry behind those that were ever used, as if it were in use. */
START_TEST(the_last_entry_of_each_table_is_an_object_too)
{
	struct nic_cq *cq;
	struct nic_qp *qp;
	struct nic_srq *srq;

	look_inside();
	cq = &emu.world->cq[EMU_CQS].base;
	qp = &emu.world->qp[EMU_QPS].base;
	srq = &emu.world->srq[EMU_SRQS].base;
	cq->nic = qp->nic = srq->nic = emu.nic;
	cq->ctx = qp->ctx = srq->ctx = &last;
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CQ_NOTIFY, EMU_CQS, 0), 1);
	expect_last(&last, EMU_UPCALL_CQ_NOTIFY);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_SRQ_LIMIT, EMU_SRQS, 0), 1);
	expect_last(&last, EMU_UPCALL_SRQ_LIMIT);
	emu.qp = EMU_QPS;
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_SOFT_LIMIT, 0, 0), 1);
	expect_last(&last, EMU_UPCALL_SOFT_LIMIT);
	cq->nic = NULL;
	qp->nic = NULL;
	srq->nic = NULL;
}
END_TEST

START_TEST(an_upcall_that_another_process_made_up_is_dropped)
{
	look_inside();
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CQ_LOST, emu.cq, NIC_OP_COUNT), 0);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CONN_END, 0, NIC_END_COUNT), 0);
	ck_assert_int_eq(deliver_upcall(UINT32_MAX, emu.cq, 0), 0);
}
END_TEST

START_TEST(an_upcall_about_an_object_that_is_gone_is_dropped)
{
	look_inside();
	must(dat_ep_free(w.b.ep));
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_SOFT_LIMIT, 0, 0), 0);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_ESTABLISHED, 0, 0), 0);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CONN_END, 0, NIC_END_BROKEN), 0);
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CQ_LOST, emu.cq, NIC_OP_RECV), 0);
	must(dat_srq_free(w.b.srq));
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_SRQ_LIMIT, emu.srq_index, 0), 0);
	must(dat_evd_free(w.b.recv));
	ck_assert_int_eq(deliver_upcall(EMU_UPCALL_CQ_NOTIFY, emu.cq, 0), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, an_upcall_comes_to_the_front_with_its_object);
	unit_test(suite, the_last_entry_of_each_table_is_an_object_too);
	unit_test(suite, an_upcall_that_another_process_made_up_is_dropped);
	unit_test(suite, an_upcall_about_an_object_that_is_gone_is_dropped);
}

UNIT_SUITE("upcalls")
