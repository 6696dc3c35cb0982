/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting, the general way: any request of nic.h becomes one verbs post, without allocation, lock
 * or system call of our own. Requests posted when there is no connection wait here, or are flushed.
 */
#include <errno.h>

#include "cm.h"

static const enum ibv_wr_opcode opcodes[] = {
	[NIC_OP_SEND] = IBV_WR_SEND,
	[NIC_OP_WRITE] = IBV_WR_RDMA_WRITE,
	[NIC_OP_READ] = IBV_WR_RDMA_READ,
};

static inline unsigned int send_flags(const struct hw_qp *qp, const struct nic_send_wr *wr)
{
	unsigned int flags = IBV_SEND_SIGNALED;

	if (HW_UNLIKELY(wr->flags & (NIC_WR_SOLICITED | NIC_WR_FENCE))) {
		if (wr->flags & NIC_WR_SOLICITED)
			flags |= IBV_SEND_SOLICITED;
		if (wr->flags & NIC_WR_FENCE)
			flags |= IBV_SEND_FENCE;
	}
	if (wr->length <= qp->max_inline && wr->opcode != NIC_OP_READ)
		flags |= IBV_SEND_INLINE;
	return flags;
}

/* Leave out empty segments, and cut those of a Read at its length. */
static int fit_segments(const struct nic_send_wr *wr, struct ibv_sge *sge)
{
	uint32_t left = wr->length;
	int n = 0;

	for (int i = 0; i < wr->num_sge && left > 0; i++) {
		uint32_t length = wr->sge[i].length < left ? wr->sge[i].length : left;

		if (length == 0)
			continue;
		sge[n++] = (struct ibv_sge){ .addr = wr->sge[i].addr,
					     .length = length,
					     .lkey = wr->sge[i].lkey };
		left -= length;
	}
	return n;
}

/* ---- requests flushed that never were in verbs ---- */

static void flush_wqe(struct hw_qp *qp, struct hw_wqe *wqe, struct nic_cq *cq)
{
	struct nic_wc wc = { .wr_id = wqe->wr_id,
			     .qp = &qp->base,
			     .opcode = wqe->opcode,
			     .status = NIC_WC_FLUSHED,
			     .flags = wqe->flags & NIC_WR_QUIET };

	if (wc.opcode == NIC_OP_BIND) {
		wc.length = wqe->length;
		hw_bind_done(wqe, false);
	}
	if (cq)
		hw_cq_add(hw_cq(cq), &wc);
	else
		qp->base.nic->up->cq_lost(NULL, qp->base.ctx, (enum nic_opcode)wc.opcode);
}

void hw_flush_rest(struct hw_qp *qp)
{
	struct hw_wqe *wqe;

	while ((wqe = hw_wq_take(&qp->rq)) != NULL)
		flush_wqe(qp, wqe, qp->init.recv_cq);
	while ((wqe = hw_wq_take(&qp->sq)) != NULL)
		flush_wqe(qp, wqe, qp->init.send_cq);
}

/* ---- sending ---- */

static inline void fill_send(struct hw_wqe *wqe, const struct nic_send_wr *wr)
{
	bool usual = wr->opcode != NIC_OP_BIND && !(wr->flags & NIC_WR_SUPPRESS);

	hw_wqe_fill(wqe, wr->wr_id, (enum nic_opcode)wr->opcode, wr->flags,
		    usual ? HW_WQE_REQUEST : HW_WQE_GENERAL);
	wqe->length = wr->length;
}

/* The connection has ended: accept the request, and flush it with the others. */
static int accept_dead(struct hw_qp *qp, const struct nic_send_wr *wr)
{
	struct hw_wqe *wqe = hw_wq_next(&qp->sq);

	fill_send(wqe, wr);
	wqe->own = NULL;
	qp->sq.put += HW_WQ_STEP;
	if (qp->state == HW_QP_ENDED)
		hw_flush_rest(qp);
	return 0;
}

/*
 * A full queue is an error for the caller. Any other refusal means that the connection broke; the
 * cause comes later.
 */
HW_COLD int hw_send_refused(struct hw_qp *qp, const struct nic_send_wr *wr, int err)
{
	err = hw_error(err);
	if (err == -ENOMEM || err == -EAGAIN)
		return -EAGAIN;
	hw_qp_drain(qp);
	if (qp->state == HW_QP_CONNECTED)
		hw_end_unexplained(qp);
	return accept_dead(qp, wr);
}

/* The device cannot have such a window: mlx5 none of more than 2 GiB. It has posted nothing. */
static bool is_no_window(int err)
{
	return err == -EACCES || err == -EOPNOTSUPP || err == -EINVAL;
}

static HW_COLD int post_special(struct hw_qp *qp, const struct nic_send_wr *wr)
{
	struct hw_wqe *wqe;
	int err;

	/* Requests without a completion for lib leave the queue only when the CQ is polled. */
	if (hw_wq_full(&qp->sq))
		hw_qp_drain(qp);
	if (hw_wq_full(&qp->sq))
		return -EAGAIN;
	if (qp->state != HW_QP_CONNECTED)
		return accept_dead(qp, wr);
	if (wr->opcode != NIC_OP_BIND)
		return 1;
	wqe = hw_wq_next(&qp->sq);
	fill_send(wqe, wr);
	err = hw_post_bind(qp, wqe, wr);
	if (is_no_window(err))
		return err;
	if (err)
		return err == -ENOMEM ? -EAGAIN : hw_send_refused(qp, wr, -err);
	qp->sq.put += HW_WQ_STEP;
	return 0;
}

int hw_post_send(struct nic_qp *base, const struct nic_send_wr *wr)
{
	struct hw_qp *qp = hw_qp(base);
	struct ibv_sge sge[HW_SEGMENTS];
	struct ibv_send_wr verbs, *bad;
	struct hw_wqe *wqe;
	int err;

	if (HW_UNLIKELY(qp->state != HW_QP_CONNECTED || wr->opcode == NIC_OP_BIND ||
			hw_wq_full(&qp->sq))) {
		err = post_special(qp, wr);
		if (err != 1)
			return err;
	}
	wqe = hw_wq_next(&qp->sq);
	fill_send(wqe, wr);
	verbs.wr_id = (uintptr_t)wqe;
	verbs.next = NULL;
	verbs.sg_list = (struct ibv_sge *)(uintptr_t)wr->sge;
	verbs.num_sge = 1;
	if (HW_UNLIKELY(wr->num_sge != 1 || wr->length == 0 || wr->opcode == NIC_OP_READ)) {
		verbs.num_sge = fit_segments(wr, sge);
		verbs.sg_list = sge;
	}
	verbs.opcode = opcodes[wr->opcode];
	verbs.send_flags = send_flags(qp, wr);
	if (wr->opcode != NIC_OP_SEND) {
		verbs.wr.rdma.remote_addr = wr->remote_addr;
		verbs.wr.rdma.rkey = wr->rkey;
	}
	err = ibv_post_send(qp->verbs, &verbs, &bad);
	if (HW_UNLIKELY(err))
		return hw_send_refused(qp, wr, err);
	qp->sq.put += HW_WQ_STEP;
	return 0;
}

/* ---- receiving ---- */

/* Keep the Receive here until there is a verbs QP, or until it is flushed. */
static HW_COLD int keep_recv(struct hw_qp *qp)
{
	qp->rq.put += HW_WQ_STEP;
	if (qp->state == HW_QP_ENDED)
		hw_flush_rest(qp);
	return 0;
}

HW_COLD int hw_recv_refused(struct hw_qp *qp, int err)
{
	err = hw_error(err);
	if (err == -ENOMEM || err == -EAGAIN)
		return -EAGAIN;
	if (qp->state == HW_QP_IDLE || qp->state == HW_QP_CONNECTING)
		return err;
	hw_qp_drain(qp);
	if (qp->state == HW_QP_CONNECTED)
		hw_end_unexplained(qp);
	return keep_recv(qp);
}

int hw_post_recv(struct nic_qp *base, const struct nic_recv_wr *wr)
{
	struct hw_qp *qp = hw_qp(base);
	struct hw_wq *rq = &qp->rq;
	struct ibv_recv_wr verbs, *bad;
	struct hw_wqe *wqe;
	uint16_t n = 0;
	int err;

	if (HW_UNLIKELY(hw_wq_full(rq)))
		return -EAGAIN;
	wqe = hw_wq_next(rq);
	verbs.sg_list = hw_wq_sge(rq, rq->put);
	for (uint16_t i = 0; i < wr->num_sge; i++)
		if (wr->sge[i].length > 0)
			verbs.sg_list[n++] = (struct ibv_sge){ .addr = wr->sge[i].addr,
							       .length = wr->sge[i].length,
							       .lkey = wr->sge[i].lkey };
	hw_wqe_fill(wqe, wr->wr_id, NIC_OP_RECV, (uint8_t)wr->flags,
		    qp->state == HW_QP_CONNECTED ? HW_WQE_RECV : HW_WQE_GENERAL);
	wqe->num_sge = (uint8_t)n;
	verbs.wr_id = (uintptr_t)wqe;
	verbs.next = NULL;
	verbs.num_sge = n;
	if (HW_UNLIKELY(!qp->verbs || qp->state >= HW_QP_ENDING))
		return keep_recv(qp);
	err = ibv_post_recv(qp->verbs, &verbs, &bad);
	if (HW_UNLIKELY(err))
		return hw_recv_refused(qp, err);
	rq->put += HW_WQ_STEP;
	return 0;
}
