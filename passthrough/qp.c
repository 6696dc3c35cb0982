/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs. The verbs QP is made with the EP if that has its PD, so that what the device cannot do is
 * said at once; a modified or reset one is made anew when it is next needed. Until then receives are kept here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

_Static_assert(sizeof(struct nic_sge) == sizeof(struct ibv_sge) &&
		       offsetof(struct nic_sge, addr) == offsetof(struct ibv_sge, addr) &&
		       offsetof(struct nic_sge, length) == offsetof(struct ibv_sge, length) &&
		       offsetof(struct nic_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "segments are handed over as they are");

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* ---- slots ---- */

static int slots_init(struct nic_slots *s, struct hw_qp *qp, uint32_t n, uint32_t width)
{
	uint32_t ring = 1;

	*s = (struct nic_slots){ .most = n, .end = n, .width = width };
	while (ring < n)
		ring <<= 1;
	s->mask = ring - 1;
	s->slot = aligned_alloc(sizeof(*s->slot), ring * sizeof(*s->slot));
	s->sge = width ? calloc((size_t)ring * width, sizeof(*s->sge)) : NULL;
	if (!s->slot || (width && !s->sge)) {
		free(s->slot);
		free(s->sge);
		return -ENOMEM;
	}
	memset(s->slot, 0, ring * sizeof(*s->slot));
	for (uint32_t i = 0; i < ring; i++)
		s->slot[i].qp = &qp->base;
	return 0;
}

static void slots_fini(struct nic_slots *s)
{
	free(s->slot);
	free(s->sge);
}

static int make_slots(struct hw_qp *qp, const struct nic_qp_cap *cap, bool with_srq,
		      struct nic_slots *sq, struct nic_slots *rq)
{
	int err = slots_init(sq, qp, cap->max_send_wr, 0);

	if (err)
		return err;
	err = slots_init(rq, qp, with_srq ? 0 : cap->max_recv_wr,
			 with_srq ? 0 : most(cap->max_recv_sge, 1));
	if (err) {
		slots_fini(sq);
		return err;
	}
	for (uint32_t i = 0; i <= rq->mask; i++)
		rq->slot[i].opcode = NIC_OP_RECV;
	return 0;
}

/* ---- the verbs QP ---- */

struct hw_cq *hw_cq_of(const struct hw_qp *qp, struct nic_cq *cq)
{
	return cq ? hw_cq(cq) : hw_nic(qp->base.nic)->sink;
}

static int to_init(struct hw_qp *qp, struct ibv_qp *verbs)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	if (rdma_init_qp_attr(hw_nic(qp->base.nic)->cm.id, &attr, &mask))
		return hw_errno();
	return hw_error(ibv_modify_qp(verbs, &attr, mask));
}

static struct ibv_qp *create_verbs(struct hw_qp *qp, uint32_t *max_inline)
{
	const struct nic_qp_cap *cap = &qp->init.cap;
	struct ibv_qp_init_attr attr = {
		.qp_context = qp,
		.send_cq = hw_cq_of(qp, qp->init.send_cq)->verbs,
		.recv_cq = hw_cq_of(qp, qp->init.recv_cq)->verbs,
		.srq = qp->init.srq ? hw_srq(qp->init.srq)->verbs : NULL,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = most(cap->max_send_wr, 1),
			.max_recv_wr = qp->init.srq ? 0 : most(cap->max_recv_wr, 1),
			.max_send_sge = most(most(cap->max_send_sge, cap->max_rdma_sge), 1),
			.max_recv_sge = qp->init.srq ? 0 : most(cap->max_recv_sge, 1),
			.max_inline_data = HW_INLINE,
		},
	};
	struct ibv_qp_cap wanted = attr.cap;
	struct ibv_qp *verbs;

	verbs = ibv_create_qp(hw_pd(qp->init.pd)->verbs, &attr);
	if (!verbs) {
		attr.cap = wanted;
		attr.cap.max_inline_data = 0;
		errno = 0;
		verbs = ibv_create_qp(hw_pd(qp->init.pd)->verbs, &attr);
	}
	*max_inline = attr.cap.max_inline_data;
	return verbs;
}

/* Receives that were posted while there was no verbs QP, or another. */
static int post_kept(struct hw_qp *qp, struct ibv_qp *verbs)
{
	struct nic_slots *rq = &qp->quick.rq;
	int err = 0;

	for (uint32_t i = hw_slots_get(rq); i != rq->put && !err; i++) {
		uint32_t at = i & rq->mask;
		struct ibv_recv_wr wr = { .wr_id = (uintptr_t)&rq->slot[at],
					  .sg_list = &rq->sge[(size_t)at * rq->width],
					  .num_sge = rq->slot[at].num_sge },
				   *bad;

		err = hw_error(ibv_post_recv(verbs, &wr, &bad));
	}
	return err;
}

int hw_qp_make_verbs(struct hw_qp *qp)
{
	struct hw_nic *n = hw_nic(qp->base.nic);
	struct hw_cq *sink;
	struct ibv_qp *verbs;
	int err = 0;

	if (qp->verbs)
		return 0;
	if (!qp->init.pd)
		return -EINVAL;
	if (!qp->init.send_cq || !qp->init.recv_cq)
		err = hw_sink(n, &sink);
	if (err)
		return err;
	errno = 0;
	verbs = create_verbs(qp, &qp->quick.max_inline);
	if (!verbs)
		return hw_no_memory(hw_errno());
	err = to_init(qp, verbs);
	if (!err)
		err = post_kept(qp, verbs);
	if (err) {
		ibv_destroy_qp(verbs);
		return err;
	}
	qp->verbs = verbs;
	LIST_INSERT_HEAD(&n->by_number[verbs->qp_num % HW_QP_BUCKETS], qp, in_bucket);
	hw_cq_attach(hw_cq_of(qp, qp->init.send_cq), (int)qp->init.cap.max_send_wr);
	if (qp->init.srq)
		hw_cq_attach_srq(qp);
	else
		hw_cq_attach(hw_cq_of(qp, qp->init.recv_cq), (int)qp->init.cap.max_recv_wr);
	return 0;
}

void hw_qp_look(struct hw_qp *qp)
{
	if (!qp->verbs)
		return;
	hw_cq_fill(hw_cq_of(qp, qp->init.recv_cq));
	if (qp->init.send_cq != qp->init.recv_cq)
		hw_cq_fill(hw_cq_of(qp, qp->init.send_cq));
}

/* In error it completes nothing but flushes, and those find nobody. */
static bool bury(struct hw_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	ibv_modify_qp(qp->verbs, &attr, IBV_QP_STATE);
	hw_qp_look(qp);
	return hw_bury_verbs(qp);
}

void hw_qp_drop_verbs(struct hw_qp *qp)
{
	if (!qp->verbs)
		return;
	if (qp->cm.id)
		qp->cm.id->qp = NULL;
	if (!qp->unanswered || !bury(qp)) {
		hw_qp_look(qp);
		ibv_destroy_qp(qp->verbs);
	}
	/* What it completed meanwhile; from here on it completes nothing. */
	hw_qp_look(qp);
	LIST_REMOVE(qp, in_bucket);
	qp->verbs = NULL;
	hw_cq_attach(hw_cq_of(qp, qp->init.send_cq), -(int)qp->init.cap.max_send_wr);
	if (qp->init.srq)
		hw_cq_detach_srq(qp);
	else
		hw_cq_attach(hw_cq_of(qp, qp->init.recv_cq), -(int)qp->init.cap.max_recv_wr);
}

struct hw_qp *hw_qp_by_number(struct hw_nic *n, uint32_t number)
{
	struct hw_qp *qp;

	LIST_FOREACH(qp, &n->by_number[number % HW_QP_BUCKETS], in_bucket)
	if (qp->verbs->qp_num == number)
		break;
	return qp;
}

/* ---- create, modify, destroy ---- */

void hw_qp_set_state(struct hw_qp *qp, enum hw_qp_state state)
{
	qp->state = state;
	hw_post_choose(qp);
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	hw_end(nic_container_of(timer, struct hw_qp, deadline), NIC_END_TIMED_OUT);
}

int hw_qp_create(struct nic *nic, const struct nic_qp_init *init, void *ctx, struct nic_qp **out)
{
	struct hw_nic *n = hw_nic(nic);
	struct hw_qp *qp;
	int err;

	if (n->qps >= n->attr.max_qp)
		return -ENOMEM;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->base = (struct nic_qp){ .nic = nic, .ctx = ctx, .reaped = &qp->reaped };
	qp->cm.kind = HW_CM_QP;
	qp->init = *init;
	qp->soft = qp->hard = NIC_LIMIT_NONE;
	hw_post_init(qp);
	ev_timer_init(&qp->deadline, on_deadline, 0, 0);
	err = make_slots(qp, &init->cap, init->srq != NULL, &qp->quick.sq, &qp->quick.rq);
	if (err)
		goto free_qp;
	if (init->pd)
		err = hw_qp_make_verbs(qp);
	if (err)
		goto free_slots;
	LIST_INSERT_HEAD(&n->all_qps, qp, in_nic);
	if (init->srq)
		LIST_INSERT_HEAD(&hw_srq(init->srq)->qps, qp, in_srq);
	n->qps++;
	*out = &qp->base;
	return 0;

free_slots:
	slots_fini(&qp->quick.sq);
	slots_fini(&qp->quick.rq);
free_qp:
	free(qp);
	return err;
}

/* The receives it has, in another ring. */
static void move_receives(struct nic_slots *to, const struct nic_slots *from)
{
	for (uint32_t i = hw_slots_get(from); i != from->put; i++) {
		uint32_t at = i & from->mask, n = to->put++;
		struct nic_slot *slot = &to->slot[n & to->mask];

		slot->wr_id = from->slot[at].wr_id;
		slot->flags = from->slot[at].flags;
		slot->kind = NIC_SLOT_UNUSUAL;
		slot->num_sge = from->slot[at].num_sge;
		memcpy(&to->sge[(size_t)n * to->width], &from->sge[(size_t)at * from->width],
		       slot->num_sge * sizeof(struct ibv_sge));
	}
}

int hw_qp_modify(struct nic_qp *base, const struct nic_qp_init *init)
{
	struct hw_qp *qp = hw_qp(base);
	struct nic_qp_init before = qp->init;
	struct nic_slots sq, rq, old_sq = qp->quick.sq, old_rq = qp->quick.rq;
	int err = make_slots(qp, &init->cap, before.srq != NULL, &sq, &rq);

	if (err)
		return err;
	move_receives(&rq, &old_rq);
	qp->discard = true;
	hw_qp_drop_verbs(qp);
	qp->discard = false;
	if (qp->marked && before.recv_cq)
		hw_cq(before.recv_cq)
			->marks--; /* never more of them, so there is nothing to choose */
	qp->marked = false;
	qp->init = *init;
	qp->init.srq = before.srq;
	qp->quick.sq = sq;
	qp->quick.rq = rq;
	if (init->pd)
		err = hw_qp_make_verbs(qp);
	if (err) {
		qp->init = before;
		qp->quick.sq = old_sq;
		qp->quick.rq = old_rq;
		slots_fini(&sq);
		slots_fini(&rq);
	} else {
		slots_fini(&old_sq);
		slots_fini(&old_rq);
	}
	hw_qp_mark(qp);
	return err;
}

/* Requests that never complete: only binds have something to give back. */
static void forget_requests(struct hw_qp *qp)
{
	struct nic_slot *slot;

	while ((slot = hw_slots_take(&qp->quick.sq)) != NULL)
		if (slot->opcode == NIC_OP_BIND)
			hw_bind_done(slot, false);
	qp->quick.rq.end = qp->quick.rq.put + qp->quick.rq.most;
}

uint32_t hw_qp_reset(struct nic_qp *base)
{
	struct hw_qp *qp = hw_qp(base);
	enum hw_qp_state was = qp->state;

	hw_end_forget(qp);
	/* First: what is flushed from here on ends nothing. */
	hw_qp_set_state(qp, HW_QP_IDLE);
	if (was != HW_QP_IDLE || hw_slots_used(&qp->quick.rq) > 0) {
		/* Abandoned, the peer hears of it as of any other end. */
		if (qp->cm.id && (was == HW_QP_CONNECTED || was == HW_QP_DRAINING))
			rdma_disconnect(qp->cm.id);
		hw_qp_drop_verbs(qp);
	}
	hw_cm_drop_qp(qp);
	forget_requests(qp);
	qp->taken = 0;
	qp->passive = qp->last_wqe = qp->why_open = qp->unanswered = false;
	return 0;
}

void hw_qp_destroy(struct nic_qp *base)
{
	struct hw_qp *qp = hw_qp(base);
	struct hw_nic *n = hw_nic(base->nic);

	qp->soft = qp->hard = NIC_LIMIT_NONE;
	hw_qp_mark(qp);
	hw_qp_drop_verbs(qp);
	LIST_REMOVE(qp, in_nic);
	if (qp->init.srq)
		LIST_REMOVE(qp, in_srq);
	n->qps--;
	slots_fini(&qp->quick.sq);
	slots_fini(&qp->quick.rq);
	free(qp);
}

/* ---- counts and marks ---- */

void hw_qp_query(struct nic_qp *base, struct nic_qp_counts *counts)
{
	struct hw_qp *qp = hw_qp(base);
	int32_t unreaped;

	hw_qp_look(qp);
	unreaped = (int32_t)((uint32_t)qp->taken - qp->reaped);
	*counts = (struct nic_qp_counts){
		.send_posted = hw_slots_used(&qp->quick.sq),
		.recv_posted = hw_slots_used(&qp->quick.rq),
		.unreaped = unreaped > 0 ? (uint32_t)unreaped : 0,
		.last_taken = qp->taken,
		.last_completed = qp->taken,
	};
}

void hw_qp_mark(struct hw_qp *qp)
{
	struct hw_cq *cq = hw_cq(qp->init.recv_cq);
	bool armed = qp->soft != NIC_LIMIT_NONE || qp->hard != NIC_LIMIT_NONE;

	if (!cq || armed == qp->marked)
		return;
	qp->marked = armed;
	cq->marks += armed ? 1 : -1;
	hw_cq_choose(cq);
	/* With no caller, the loop sees what comes. */
	if (armed)
		hw_cq_keep(cq);
}

void hw_qp_taken_limit(struct nic_qp *base, int32_t soft, int32_t hard)
{
	struct hw_qp *qp = hw_qp(base);
	int32_t unreaped;

	hw_qp_look(qp);
	unreaped = (int32_t)((uint32_t)qp->taken - qp->reaped);
	qp->soft = soft;
	qp->hard = hard;
	if (hard != NIC_LIMIT_NONE && unreaped > hard &&
	    (qp->state == HW_QP_CONNECTED || qp->state == HW_QP_DRAINING)) {
		qp->hard = NIC_LIMIT_NONE;
		hw_end(qp, NIC_END_BROKEN);
	}
	if (soft != NIC_LIMIT_NONE && unreaped > soft)
		qp->soft = NIC_LIMIT_NONE;
	hw_qp_mark(qp);
	if (soft != NIC_LIMIT_NONE && unreaped > soft)
		base->nic->up->qp_soft_limit(base->ctx);
}
