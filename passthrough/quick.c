/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of every message (host/nic_quick.h): one post or one poll of verbs each, and the end of
 * the caller's critical section. Each function is one straight path for the usual case; any other
 * case ends in a call of the front, or in post.c and complete.c. While a QP is not connected, or
 * completions have to pass through the CQ's queue, the QP or CQ names the functions that do only
 * that.
 */
#include <string.h>

#include "hw.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
/* The compiler takes the value from its register or memory, though it could know what it is. */
#define KEEP(x) __asm__("" : "+r"(x))

/* nic_host.inside, kept here to save a load. */
static int *inside;

void hw_quick_start(int *owner_inside)
{
	inside = owner_inside;
}

static inline int quick_leave(int ret)
{
	__atomic_store_n(inside, 0, __ATOMIC_RELEASE);
	return ret;
}

static inline const struct nic_quick_front *quick_front(const struct nic *nic)
{
	return nic->up->quick;
}

static inline struct hw_qp *quick_qp(struct nic_quick_qp *quick)
{
	return nic_container_of(quick, struct hw_qp, quick);
}

/* ---- Send ---- */

static HW_COLD int send_general(struct nic_quick_qp *quick, uint64_t addr, const void *request,
				uint64_t wr_id, uint32_t length)
{
	(void)addr;
	(void)length;
	return quick_front(quick->qp.nic)->send(quick->qp.ctx, request, wr_id);
}

static HW_COLD int send_refused(struct hw_qp *qp, int err)
{
	struct nic_send_wr wr = { .wr_id = hw_wq_next(&qp->sq)->wr_id,
				  .num_sge = 1,
				  .length = qp->send_sge.length,
				  .opcode = NIC_OP_SEND };

	err = hw_send_refused(qp, &wr, err);
	return err ? quick_front(qp->base.nic)->send_refused(qp->base.ctx, err) : quick_leave(0);
}

static inline int send_posted(struct hw_qp *qp, int err)
{
	if (!LIKELY(!err))
		return send_refused(qp, err);
	KEEP(err);
	qp->sq.put += HW_WQ_STEP;
	return quick_leave(err);
}

/* More bytes than a post may carry inline. */
static __attribute__((noinline)) int send_long(struct hw_qp *qp)
{
	int err;

	qp->send_wr.send_flags = IBV_SEND_SIGNALED;
	err = ibv_post_send(qp->verbs, &qp->send_wr, &qp->bad_send);
	qp->send_wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	return send_posted(qp, err);
}

static int quick_send(struct nic_quick_qp *quick, uint64_t addr, const void *request,
		      uint64_t wr_id, uint32_t length)
{
	struct hw_qp *qp = quick_qp(quick);
	struct hw_wqe *wqe;

	if (!LIKELY(!hw_wq_full(&qp->sq)))
		return send_general(quick, addr, request, wr_id, length);
	wqe = hw_wq_next(&qp->sq);
	hw_wqe_fill(wqe, wr_id, NIC_OP_SEND, 0, HW_WQE_REQUEST);
	wqe->length = length;
	qp->send_sge.addr = addr;
	qp->send_sge.length = length;
	qp->send_wr.wr_id = (uintptr_t)wqe;
	if (!LIKELY(length <= qp->max_inline))
		return send_long(qp);
	return send_posted(qp, ibv_post_send(qp->verbs, &qp->send_wr, &qp->bad_send));
}

/* ---- Receive ---- */

static HW_COLD int recv_general(struct nic_quick_qp *quick, uint64_t addr, const void *request,
				uint64_t wr_id, uint32_t length)
{
	(void)addr;
	(void)length;
	return quick_front(quick->qp.nic)->recv(quick->qp.ctx, request, wr_id);
}

static HW_COLD int recv_refused(struct hw_qp *qp, int err)
{
	err = hw_recv_refused(qp, err);
	return err ? quick_front(qp->base.nic)->recv_refused(qp->base.ctx, err) : quick_leave(0);
}

/* The segment of a Receive is not kept: on a connected QP the Receive is never posted again. */
static int quick_recv(struct nic_quick_qp *quick, uint64_t addr, const void *request,
		      uint64_t wr_id, uint32_t length)
{
	struct hw_qp *qp = quick_qp(quick);
	struct hw_wqe *wqe = hw_wq_next(&qp->rq);
	int err;

	(void)request;
	hw_wqe_fill(wqe, wr_id, NIC_OP_RECV, 0, HW_WQE_RECV);
	qp->recv_sge.addr = addr;
	qp->recv_sge.length = length;
	qp->recv_wr.wr_id = (uintptr_t)wqe;
	err = ibv_post_recv(qp->verbs, &qp->recv_wr, &qp->bad_recv);
	if (!LIKELY(!err))
		return recv_refused(qp, err);
	KEEP(err);
	qp->rq.put += HW_WQ_STEP;
	return quick_leave(err);
}

/* ---- poll ---- */

static int poll_ended(struct nic_quick_cq *cq, const struct nic_wc *wc,
		      struct nic_quick_event *event)
{
	const struct nic_quick_front *front = quick_front(cq->cq.nic);

	return wc ? front->completed(cq->cq.ctx, wc, event) : quick_leave(front->empty);
}

static HW_COLD int poll_general(struct nic_quick_cq *cq, struct nic_quick_event *event)
{
	return poll_ended(cq, hw_cq_any(hw_cq(&cq->cq)), event);
}

/*
 * The arguments are kept in memory beside the completion, rather than in registers that have to be
 * saved.
 */
struct quick_poll {
	struct nic_quick_cq *cq;
	struct nic_quick_event *event;
	struct ibv_wc wc[2]; /* of a guarded CQ two */
};

static __attribute__((noinline)) int poll_unusual(const struct quick_poll *poll)
{
	return poll_ended(poll->cq, hw_cq_other(hw_cq(&poll->cq->cq), poll->wc), poll->event);
}

/* n: what ibv_poll_cq returned. */
static __attribute__((noinline)) int poll_none(struct nic_quick_cq *cq,
					       struct nic_quick_event *event, int n)
{
	return n < 0 ? poll_general(cq, event) : quick_leave(quick_front(cq->cq.nic)->empty);
}

static inline int poll_done(const struct hw_wqe *wqe, uint64_t length,
			    struct nic_quick_event *event, int ret)
{
	memcpy(event, wqe, offsetof(struct nic_quick_event, status));
	event->status = 0;
	event->length = length;
	return quick_leave(ret);
}

/* One completion has been polled. */
static inline __attribute__((always_inline)) int poll_completed(const struct quick_poll *poll)
{
	const struct ibv_wc *wc = poll->wc;
	struct hw_wqe *wqe;
	struct hw_qp *qp;
	int status;

	status = (int)wc->status;
	KEEP(status);
	if (!LIKELY(status == 0))
		return poll_unusual(poll);
	wqe = (struct hw_wqe *)(uintptr_t)wc->wr_id;
	/* Completed and reaped in one, so neither is counted: only the difference matters. */
	if (wqe->kind == HW_WQE_RECV) {
		qp = hw_qp(wqe->qp);
		qp->rq.end += HW_WQ_STEP;
		--*qp->quick.recv_outstanding;
		return poll_done(wqe, wc->byte_len, poll->event, status);
	}
	if (!LIKELY(wqe->kind == HW_WQE_REQUEST))
		return poll_unusual(poll);
	hw_qp(wqe->qp)->sq.end += HW_WQ_STEP;
	return poll_done(wqe, wqe->length, poll->event, status);
}

static int quick_poll(struct nic_quick_cq *cq, struct nic_quick_event *event)
{
	struct quick_poll poll;
	int n;

	poll.cq = cq;
	poll.event = event;
	n = ibv_poll_cq(hw_cq(&cq->cq)->verbs, 1, poll.wc);
	if (!LIKELY(n == 1))
		return poll_none(poll.cq, poll.event, n);
	return poll_completed(&poll);
}

/*
 * More may complete here than lib has room for. If one completion is there, it is taken as usual;
 * if a second one is, all have to be counted.
 */
static int quick_poll_guarded(struct nic_quick_cq *cq, struct nic_quick_event *event)
{
	struct hw_cq *hw = hw_cq(&cq->cq);
	struct quick_poll poll;
	int n;

	poll.cq = cq;
	poll.event = event;
	n = ibv_poll_cq(hw->verbs, 2, poll.wc);
	hw->polled |= n > 0;
	if (n == 2)
		return poll_ended(cq, hw_cq_several(hw, poll.wc, n), event);
	if (!LIKELY(n == 1))
		return poll_none(poll.cq, poll.event, n);
	return poll_completed(&poll);
}

/* ---- which functions ---- */

void hw_quick_choose_qp(struct hw_qp *qp)
{
	bool usual = qp->state == HW_QP_CONNECTED;

	qp->quick.send = usual ? quick_send : send_general;
	qp->quick.recv = usual ? quick_recv : recv_general;
}

void hw_quick_choose_cq(struct hw_cq *cq, bool direct)
{
	if (!direct)
		cq->quick.poll = poll_general;
	else
		cq->quick.poll = cq->overcommitted ? quick_poll_guarded : quick_poll;
}

static void quick_set_lkey(struct nic_quick_qp *quick, bool recv, uint32_t lkey)
{
	if (recv)
		quick_qp(quick)->recv_sge.lkey = lkey;
	else
		quick_qp(quick)->send_sge.lkey = lkey;
}

static void label_queue(struct hw_wq *wq, const uint64_t label[3])
{
	for (uint32_t i = 0; i < hw_wq_entries(wq); i++)
		memcpy(wq->wqe[i].label, label, sizeof(wq->wqe[i].label));
}

static void quick_label(struct nic_quick_qp *quick, const uint64_t send[3], const uint64_t recv[3])
{
	label_queue(&quick_qp(quick)->sq, send);
	label_queue(&quick_qp(quick)->rq, recv);
}

void hw_quick_init(struct hw_qp *qp)
{
	qp->send_wr = (struct ibv_send_wr){ .sg_list = &qp->send_sge,
					    .num_sge = 1,
					    .opcode = IBV_WR_SEND,
					    .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };
	qp->recv_wr = (struct ibv_recv_wr){ .sg_list = &qp->recv_sge, .num_sge = 1 };
	qp->quick.label = quick_label;
	qp->quick.set_lkey = quick_set_lkey;
	hw_quick_choose_qp(qp);
}
