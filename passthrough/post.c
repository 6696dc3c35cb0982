/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting: one verbs post, no allocation, no lock and no system call of ours. */
#include <errno.h>

#include "cm.h"

#define SEGMENTS_MAX 64

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
	if (wr->length <= qp->quick.max_inline && wr->opcode != NIC_OP_READ)
		flags |= IBV_SEND_INLINE;
	return flags;
}

/* Segments of no bytes are left out; those of a Read end where it does. */
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

/* ---- what is flushed without ever having been in verbs ---- */

static void flush_slot(struct hw_qp *qp, struct nic_slot *slot, struct nic_cq *cq)
{
	struct nic_wc wc = { .wr_id = slot->wr_id,
			     .qp = &qp->base,
			     .opcode = slot->opcode,
			     .status = NIC_WC_FLUSHED,
			     .flags = slot->flags & NIC_WR_QUIET };

	if (wc.opcode == NIC_OP_BIND) {
		wc.length = slot->length;
		hw_bind_done(slot, false);
	}
	if (cq)
		hw_cq_add(hw_cq(cq), &wc);
	else
		qp->base.nic->up->cq_lost(NULL, qp->base.ctx, (enum nic_opcode)wc.opcode);
}

void hw_flush_rest(struct hw_qp *qp)
{
	struct nic_slot *slot;

	while ((slot = hw_slots_take(&qp->quick.rq)) != NULL)
		flush_slot(qp, slot, qp->init.recv_cq);
	while ((slot = hw_slots_take(&qp->quick.sq)) != NULL)
		flush_slot(qp, slot, qp->init.send_cq);
}

/* ---- sending ---- */

static inline void fill_send(struct nic_slot *slot, const struct nic_send_wr *wr)
{
	bool usual = wr->opcode != NIC_OP_BIND && !(wr->flags & NIC_WR_SUPPRESS);

	nic_slot_fill(slot, wr->wr_id, (enum nic_opcode)wr->opcode, wr->flags,
		      usual ? NIC_SLOT_REQUEST : NIC_SLOT_UNUSUAL);
	slot->length = wr->length;
}

/* The connection is over: the request is accepted, and flushed with the others. */
static int accept_dead(struct hw_qp *qp, const struct nic_send_wr *wr)
{
	struct nic_slot *slot = nic_slots_next(&qp->quick.sq);

	fill_send(slot, wr);
	slot->own = NULL;
	qp->quick.sq.put++;
	if (qp->state == HW_QP_ENDED)
		hw_flush_rest(qp);
	return 0;
}

/* A full queue is what it says; any other refusal means that the QP has died, and why is yet to be learnt. */
static HW_COLD int refused(struct hw_qp *qp, const struct nic_send_wr *wr, int err)
{
	err = hw_error(err);
	if (err == -ENOMEM || err == -EAGAIN)
		return -EAGAIN;
	hw_qp_look(qp);
	if (qp->state == HW_QP_CONNECTED)
		hw_end_open(qp);
	return accept_dead(qp, wr);
}

static HW_COLD int post_special(struct hw_qp *qp, const struct nic_send_wr *wr)
{
	struct nic_slot *slot;
	int err;

	/* Requests that complete unseen leave the queue only when somebody looks. */
	if (nic_slots_full(&qp->quick.sq))
		hw_qp_look(qp);
	if (nic_slots_full(&qp->quick.sq))
		return -EAGAIN;
	if (qp->state != HW_QP_CONNECTED)
		return accept_dead(qp, wr);
	if (wr->opcode != NIC_OP_BIND)
		return 1;
	slot = nic_slots_next(&qp->quick.sq);
	fill_send(slot, wr);
	err = hw_post_bind(qp, slot, wr);
	if (err)
		return err == -ENOMEM ? -EAGAIN : refused(qp, wr, -err);
	qp->quick.sq.put++;
	return 0;
}

int hw_post_send(struct nic_qp *base, const struct nic_send_wr *wr)
{
	struct hw_qp *qp = hw_qp(base);
	struct ibv_sge sge[SEGMENTS_MAX];
	struct ibv_send_wr verbs, *bad;
	struct nic_slot *slot;
	int err;

	if (HW_UNLIKELY(qp->state != HW_QP_CONNECTED || wr->opcode == NIC_OP_BIND ||
			nic_slots_full(&qp->quick.sq))) {
		err = post_special(qp, wr);
		if (err != 1)
			return err;
	}
	slot = nic_slots_next(&qp->quick.sq);
	fill_send(slot, wr);
	verbs.wr_id = (uintptr_t)slot;
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
		return refused(qp, wr, err);
	qp->quick.sq.put++;
	return 0;
}

/* ---- receiving ---- */

/* Kept here until there is a verbs QP, or until it is flushed. */
static HW_COLD int keep_recv(struct hw_qp *qp)
{
	qp->quick.rq.put++;
	if (qp->state == HW_QP_ENDED)
		hw_flush_rest(qp);
	return 0;
}

static HW_COLD int recv_refused(struct hw_qp *qp, int err)
{
	err = hw_error(err);
	if (err == -ENOMEM || err == -EAGAIN)
		return -EAGAIN;
	if (qp->state == HW_QP_IDLE || qp->state == HW_QP_CONNECTING)
		return err;
	hw_qp_look(qp);
	if (qp->state == HW_QP_CONNECTED)
		hw_end_open(qp);
	return keep_recv(qp);
}

int hw_post_recv(struct nic_qp *base, const struct nic_recv_wr *wr)
{
	struct hw_qp *qp = hw_qp(base);
	struct nic_slots *rq = &qp->quick.rq;
	struct ibv_recv_wr verbs, *bad;
	struct nic_slot *slot;
	uint16_t n = 0;
	int err;

	if (HW_UNLIKELY(nic_slots_full(rq)))
		return -EAGAIN;
	slot = nic_slots_next(rq);
	verbs.sg_list = &rq->sge[(size_t)(rq->put & rq->mask) * rq->width];
	for (uint16_t i = 0; i < wr->num_sge; i++)
		if (wr->sge[i].length > 0)
			verbs.sg_list[n++] = (struct ibv_sge){ .addr = wr->sge[i].addr,
							       .length = wr->sge[i].length,
							       .lkey = wr->sge[i].lkey };
	nic_slot_fill(slot, wr->wr_id, NIC_OP_RECV, (uint8_t)wr->flags,
		      qp->state == HW_QP_CONNECTED ? NIC_SLOT_RECV : NIC_SLOT_UNUSUAL);
	slot->num_sge = (uint8_t)n;
	verbs.wr_id = (uintptr_t)slot;
	verbs.next = NULL;
	verbs.num_sge = n;
	if (HW_UNLIKELY(!qp->verbs || qp->state >= HW_QP_ENDING))
		return keep_recv(qp);
	err = ibv_post_recv(qp->verbs, &verbs, &bad);
	if (HW_UNLIKELY(err))
		return recv_refused(qp, err);
	rq->put++;
	return 0;
}

/* ---- the usual requests, which lib posts itself ---- */

static HW_COLD int quick_send_refused(struct nic_qp *base, int err)
{
	struct hw_qp *qp = hw_qp(base);
	struct nic_sge sge = { .addr = qp->quick.send_sge.addr,
			       .length = qp->quick.send_sge.length,
			       .lkey = qp->quick.send_sge.lkey };
	struct nic_send_wr wr = { .wr_id = nic_slots_next(&qp->quick.sq)->wr_id,
				  .sge = &sge,
				  .num_sge = 1,
				  .length = sge.length,
				  .opcode = NIC_OP_SEND };

	/* Nobody has asked verbs yet. */
	if (qp->quick.verbs == &hw_refusing_qp)
		return hw_post_send(base, &wr);
	return refused(qp, &wr, err);
}

static HW_COLD int quick_recv_refused(struct nic_qp *base, int err)
{
	struct hw_qp *qp = hw_qp(base);
	struct nic_sge sge = { .addr = qp->quick.recv_sge.addr,
			       .length = qp->quick.recv_sge.length,
			       .lkey = qp->quick.recv_sge.lkey };
	struct nic_recv_wr wr = { .wr_id = nic_slots_next(&qp->quick.rq)->wr_id,
				  .sge = &sge,
				  .num_sge = 1 };

	if (qp->quick.verbs == &hw_refusing_qp)
		return hw_post_recv(base, &wr);
	return recv_refused(qp, err);
}

/* Of a connected QP: no need to keep the segment of a Receive, it is never posted again. */
void hw_post_choose(struct hw_qp *qp)
{
	qp->quick.verbs = qp->state == HW_QP_CONNECTED ? qp->verbs : &hw_refusing_qp;
}

void hw_post_init(struct hw_qp *qp)
{
	struct nic_quick_qp *quick = &qp->quick;

	quick->send_wr = (struct ibv_send_wr){ .sg_list = &quick->send_sge,
					       .num_sge = 1,
					       .opcode = IBV_WR_SEND,
					       .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };
	quick->recv_wr = (struct ibv_recv_wr){ .sg_list = &quick->recv_sge, .num_sge = 1 };
	quick->send_refused = quick_send_refused;
	quick->recv_refused = quick_recv_refused;
	hw_post_choose(qp);
}
