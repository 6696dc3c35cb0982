/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs. The verbs QP is created with the EP if the EP has its PD, so that a limit of the
 * device is reported at once. After a modify or reset it is created again when it is next needed;
 * until then Receives are kept in the work queue here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cm.h"

_Static_assert(sizeof(struct nic_sge) == sizeof(struct ibv_sge) &&
		       offsetof(struct nic_sge, addr) == offsetof(struct ibv_sge, addr) &&
		       offsetof(struct nic_sge, length) == offsetof(struct ibv_sge, length) &&
		       offsetof(struct nic_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "segments are passed to verbs without a copy");

/* The wait for LAST_WQE_REACHED: of a device that raises it, at first, and of one that did not. */
#define LAST_WQE_MOST_NS  200000000u
#define LAST_WQE_FIRST_NS 20000000u
#define LAST_WQE_LEAST_NS 1000000u
#define LAST_WQE_STEP_NS  100000
#define LAST_WQE_LOOKS    8

static uint32_t most_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* ---- the verbs QP ---- */

struct hw_cq *hw_cq_of(const struct hw_qp *qp, struct nic_cq *cq)
{
	return cq ? hw_cq(cq) : hw_nic(qp->base.nic)->sink;
}

static int qp_to_init(struct hw_qp *qp, struct ibv_qp *verbs)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	if (rdma_init_qp_attr(hw_nic(qp->base.nic)->cm.id, &attr, &mask))
		return hw_errno();
	return hw_error(ibv_modify_qp(verbs, &attr, mask));
}

static struct ibv_qp *qp_create_verbs(struct hw_qp *qp, uint32_t *max_inline)
{
	const struct nic_qp_cap *cap = &qp->init.cap;
	struct ibv_qp_init_attr attr = {
		.qp_context = qp,
		.send_cq = hw_cq_of(qp, qp->init.send_cq)->verbs,
		.recv_cq = hw_cq_of(qp, qp->init.recv_cq)->verbs,
		.srq = qp->init.srq ? hw_srq(qp->init.srq)->verbs : NULL,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = most_of(cap->max_send_wr, 1),
			.max_recv_wr = qp->init.srq ? 0 : most_of(cap->max_recv_wr, 1),
			.max_send_sge = most_of(most_of(cap->max_send_sge, cap->max_rdma_sge), 1),
			.max_recv_sge = qp->init.srq ? 0 : most_of(cap->max_recv_sge, 1),
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

/* Post the Receives that were posted while there was no verbs QP, or another one. */
static int qp_post_kept(struct hw_qp *qp, struct ibv_qp *verbs)
{
	struct hw_wq *rq = &qp->rq;
	int err = 0;

	for (uint32_t at = hw_wq_get(rq); at != rq->put && !err; at += HW_WQ_STEP) {
		struct hw_wqe *wqe = hw_wq_at(rq, at);
		struct ibv_recv_wr wr = { .wr_id = (uintptr_t)wqe,
					  .sg_list = hw_wq_sge(rq, at),
					  .num_sge = wqe->num_sge },
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
		err = hw_sink_get(n, &sink);
	if (err)
		return err;
	errno = 0;
	verbs = qp_create_verbs(qp, &qp->max_inline);
	if (!verbs)
		return hw_explain_no_memory(hw_errno());
	err = qp_to_init(qp, verbs);
	if (!err)
		err = qp_post_kept(qp, verbs);
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

void hw_qp_drain(struct hw_qp *qp)
{
	if (!qp->verbs)
		return;
	hw_cq_fill(hw_cq_of(qp, qp->init.recv_cq));
	if (qp->init.send_cq != qp->init.recv_cq)
		hw_cq_fill(hw_cq_of(qp, qp->init.send_cq));
}

void hw_qp_to_error(struct hw_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (qp->verbs)
		ibv_modify_qp(qp->verbs, &attr, IBV_QP_STATE);
}

/* How long to wait for LAST_WQE_REACHED. Some devices never raise it: they are asked twice. */
static uint64_t qp_patience_ns(const struct hw_nic *n)
{
	if (n->says_last_wqe)
		return LAST_WQE_MOST_NS;
	return n->last_wqe_missed ? LAST_WQE_LEAST_NS : LAST_WQE_FIRST_NS;
}

/*
 * A message takes a Receive of the SRQ when it begins to arrive. The QP holds such Receives until
 * it is in the error state and has flushed them, which LAST_WQE_REACHED tells. If it is destroyed
 * before that, a device removes their completions from the CQ, and neither we nor lib would ever
 * have them back.
 */
static void qp_give_back(struct hw_qp *qp)
{
	static const struct timespec pause = { .tv_nsec = LAST_WQE_STEP_NS };
	struct hw_nic *n = hw_nic(qp->base.nic);
	uint64_t until;

	if (!qp->init.srq || !qp->fed || n->failed)
		return;
	hw_qp_to_error(qp);
	hw_async_drain(n);
	until = hw_host->monotonic_ns() + qp_patience_ns(n);
	for (int i = 0; !qp->last_wqe && !n->failed; i++) {
		/* On a busy machine one pause may take longer than the whole time. */
		if (i >= LAST_WQE_LOOKS && hw_host->monotonic_ns() >= until)
			break;
		hw_qp_drain(qp);
		hw_async_drain(n);
		if (!qp->last_wqe)
			nanosleep(&pause, NULL);
	}
	if (!qp->last_wqe)
		n->last_wqe_missed = true;
}

/*
 * In the error state it completes nothing but flushes, which find the entry of the destroy queue.
 */
static bool qp_defer(struct hw_qp *qp)
{
	hw_qp_to_error(qp);
	hw_qp_drain(qp);
	return hw_defer_qp(qp);
}

void hw_qp_drop_verbs(struct hw_qp *qp)
{
	if (!qp->verbs)
		return;
	if (qp->cm.id)
		qp->cm.id->qp = NULL;
	qp_give_back(qp);
	if (!qp->unanswered || !qp_defer(qp)) {
		hw_qp_drain(qp);
		ibv_destroy_qp(qp->verbs);
	}
	/* The last completions of the verbs QP. */
	hw_qp_drain(qp);
	LIST_REMOVE(qp, in_bucket);
	qp->verbs = NULL;
	qp->fed = qp->last_wqe = false;
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
	hw_quick_choose_qp(qp);
}

static void qp_on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
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
	STAILQ_INIT(&qp->early);
	hw_quick_init(qp);
	ev_timer_init(&qp->deadline, qp_on_deadline, 0, 0);
	err = hw_wq_init_both(&qp->base, &init->cap, init->srq != NULL, &qp->sq, &qp->rq);
	if (err)
		goto free_qp;
	if (init->pd)
		err = hw_qp_make_verbs(qp);
	if (err)
		goto free_wqes;
	LIST_INSERT_HEAD(&n->all_qps, qp, in_nic);
	if (init->srq)
		LIST_INSERT_HEAD(&hw_srq(init->srq)->qps, qp, in_srq);
	n->qps++;
	*out = &qp->base;
	return 0;

free_wqes:
	hw_wq_fini(&qp->sq);
	hw_wq_fini(&qp->rq);
free_qp:
	free(qp);
	return err;
}

int hw_qp_modify(struct nic_qp *base, const struct nic_qp_init *wanted)
{
	struct hw_qp *qp = hw_qp(base);
	struct nic_qp_init before = qp->init, init = *wanted;
	struct hw_wq sq, rq, old_sq = qp->sq, old_rq = qp->rq;
	uint32_t widest = hw_wq_widest(&old_rq);
	int err;

	/* A posted Receive keeps its segments, though later ones may have fewer. */
	init.cap.max_recv_sge = most_of(init.cap.max_recv_sge, widest);
	err = hw_wq_init_both(&qp->base, &init.cap, before.srq != NULL, &sq, &rq);
	if (err)
		return err;
	hw_wq_keep_label(&sq, &old_sq);
	hw_wq_keep_label(&rq, &old_rq);
	hw_wq_move(&rq, &old_rq);
	qp->discard = true;
	hw_qp_drop_verbs(qp);
	qp->discard = false;
	if (qp->marked && before.recv_cq)
		hw_cq(before.recv_cq)->marks--; /* fewer, so the CQ's functions stay right */
	qp->marked = false;
	qp->init = init;
	qp->init.srq = before.srq;
	qp->sq = sq;
	qp->rq = rq;
	if (init.pd)
		err = hw_qp_make_verbs(qp);
	if (err) {
		qp->init = before;
		qp->sq = old_sq;
		qp->rq = old_rq;
		hw_wq_fini(&sq);
		hw_wq_fini(&rq);
	} else {
		hw_wq_fini(&old_sq);
		hw_wq_fini(&old_rq);
	}
	hw_qp_mark(qp);
	return err;
}

/* Drop requests that will never complete. Only binds hold other objects. */
static void forget_requests(struct hw_qp *qp)
{
	struct hw_wqe *wqe;

	while ((wqe = hw_wq_take(&qp->sq)) != NULL)
		if (wqe->opcode == NIC_OP_BIND)
			hw_bind_done(wqe, false);
	qp->rq.end = qp->rq.put + qp->rq.most;
}

uint32_t hw_qp_reset(struct nic_qp *base)
{
	struct hw_qp *qp = hw_qp(base);
	enum hw_qp_state was = qp->state;

	hw_end_forget(qp);
	/* Before the flush, which would otherwise end the connection again. */
	hw_qp_set_state(qp, HW_QP_IDLE);
	hw_complete_early(qp);
	if (was != HW_QP_IDLE || hw_wq_used(&qp->rq) > 0) {
		/* The peer sees the reset as a disconnect. */
		if (was == HW_QP_CONNECTED || was == HW_QP_DRAINING)
			hw_hang_up(qp);
		hw_qp_drop_verbs(qp);
	}
	hw_cm_drop_qp(qp);
	forget_requests(qp);
	qp->taken = 0;
	qp->passive = qp->replied = qp->why_unknown = qp->unanswered = false;
	qp->hung_up = qp->parted = qp->graceful = false;
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
	hw_wq_fini(&qp->sq);
	hw_wq_fini(&qp->rq);
	free(qp);
}

/* ---- counts and limits ---- */

void hw_qp_query(struct nic_qp *base, struct nic_qp_counts *counts)
{
	struct hw_qp *qp = hw_qp(base);
	int32_t unreaped;

	hw_qp_drain(qp);
	unreaped = (int32_t)((uint32_t)qp->taken - qp->reaped);
	*counts = (struct nic_qp_counts){
		.send_posted = hw_wq_used(&qp->sq),
		.recv_posted = hw_wq_used(&qp->rq),
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
	/* The event thread counts what completes while no thread polls. */
	if (armed)
		hw_cq_keep_armed(cq);
}

void hw_qp_taken_limit(struct nic_qp *base, int32_t soft, int32_t hard)
{
	struct hw_qp *qp = hw_qp(base);
	int32_t unreaped;

	hw_qp_drain(qp);
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
