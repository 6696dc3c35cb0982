/* SPDX-License-Identifier: BSD-3-Clause */
/* From a verbs completion to one of nic.h, and what it tells of the queue it comes from. */
#include "hw.h"

static const uint8_t statuses[] = {
	[IBV_WC_SUCCESS] = NIC_WC_SUCCESS,
	[IBV_WC_LOC_LEN_ERR] = NIC_WC_LOCAL_LENGTH,
	[IBV_WC_LOC_QP_OP_ERR] = NIC_WC_LOCAL_QP,
	[IBV_WC_LOC_EEC_OP_ERR] = NIC_WC_LOCAL_QP,
	[IBV_WC_LOC_PROT_ERR] = NIC_WC_LOCAL_PROTECTION,
	[IBV_WC_WR_FLUSH_ERR] = NIC_WC_FLUSHED,
	[IBV_WC_MW_BIND_ERR] = NIC_WC_BIND_FAILED,
	[IBV_WC_BAD_RESP_ERR] = NIC_WC_BAD_RESPONSE,
	[IBV_WC_LOC_ACCESS_ERR] = NIC_WC_LOCAL_PROTECTION,
	[IBV_WC_REM_INV_REQ_ERR] = NIC_WC_REMOTE_OPERATION,
	[IBV_WC_REM_ACCESS_ERR] = NIC_WC_REMOTE_ACCESS,
	[IBV_WC_REM_OP_ERR] = NIC_WC_REMOTE_OPERATION,
	[IBV_WC_RETRY_EXC_ERR] = NIC_WC_RETRY_EXCEEDED,
	[IBV_WC_RNR_RETRY_EXC_ERR] = NIC_WC_RNR_EXCEEDED,
	[IBV_WC_LOC_RDD_VIOL_ERR] = NIC_WC_LOCAL_QP,
	[IBV_WC_REM_INV_RD_REQ_ERR] = NIC_WC_REMOTE_OPERATION,
	[IBV_WC_REM_ABORT_ERR] = NIC_WC_REMOTE_OPERATION,
	[IBV_WC_INV_EECN_ERR] = NIC_WC_LOCAL_QP,
	[IBV_WC_INV_EEC_STATE_ERR] = NIC_WC_LOCAL_QP,
	[IBV_WC_FATAL_ERR] = NIC_WC_LOCAL_QP,
	[IBV_WC_RESP_TIMEOUT_ERR] = NIC_WC_RETRY_EXCEEDED,
	[IBV_WC_GENERAL_ERR] = NIC_WC_LOCAL_QP,
};

static uint8_t status_of(const struct ibv_wc *verbs)
{
	size_t status = (size_t)verbs->status;

	return status < sizeof(statuses) ? statuses[status] : (uint8_t)NIC_WC_LOCAL_QP;
}

/* An error ends a reliable connection; a flush says only that something did. */
static HW_COLD void note_error(struct hw_qp *qp, uint8_t status)
{
	if (qp->state != HW_QP_CONNECTED && qp->state != HW_QP_DRAINING)
		return;
	if (status == NIC_WC_FLUSHED)
		hw_end_open(qp);
	else
		hw_end(qp, NIC_END_BROKEN);
}

/*
 * The marks count what was taken; hardware says so when a receive completes, and it is too late for its
 * message not to be delivered: the receive that crossed the hard mark is passed off as flushed.
 */
static HW_COLD void look_at_marks(struct hw_qp *qp, struct nic_wc *wc)
{
	int32_t unreaped = (int32_t)((uint32_t)qp->taken - qp->reaped);

	if (qp->hard != NIC_LIMIT_NONE && unreaped > qp->hard &&
	    (qp->state == HW_QP_CONNECTED || qp->state == HW_QP_DRAINING)) {
		qp->hard = NIC_LIMIT_NONE;
		hw_qp_mark(qp);
		wc->status = NIC_WC_FLUSHED;
		wc->length = 0;
		hw_end(qp, NIC_END_BROKEN);
	}
	if (qp->soft != NIC_LIMIT_NONE && unreaped > qp->soft) {
		qp->soft = NIC_LIMIT_NONE;
		hw_qp_mark(qp);
		qp->base.nic->up->qp_soft_limit(qp->base.ctx);
	}
}

static void free_srq_slot(struct hw_srq *srq, struct hw_slot *slot)
{
	struct hw_srq_slot *free = (struct hw_srq_slot *)slot;

	srq->posted--;
	free->next = srq->free;
	srq->free = free;
}

static bool complete_recv(struct hw_slot *slot, const struct ibv_wc *verbs, struct nic_wc *wc,
			  struct hw_cq *cq)
{
	struct hw_srq *srq = NULL;
	struct hw_qp *qp;

	if (slot->wc.own != HW_USUAL_SRQ) {
		qp = hw_qp(slot->wc.qp);
		qp->rq.end++;
	} else {
		srq = slot->srq;
		free_srq_slot(srq, slot);
		qp = hw_qp_by_number(hw_nic(cq->base.nic), verbs->qp_num);
		/* Of a QP that is gone: its completions were thrown away with it. */
		if (HW_UNLIKELY(!qp))
			return false;
	}
	wc->qp = &qp->base;
	if (HW_UNLIKELY(qp->state == HW_QP_CONNECTING && wc->status == NIC_WC_SUCCESS))
		hw_heard(qp);
	wc->flags = (uint8_t)(slot->wc.flags | (cq->base.picks ? 0 : NIC_WR_SOLICITED));
	wc->length = wc->status == NIC_WC_SUCCESS ? verbs->byte_len : 0;
	if (wc->status != NIC_WC_FLUSHED || srq)
		qp->taken++;
	if (HW_UNLIKELY(qp->soft != NIC_LIMIT_NONE || qp->hard != NIC_LIMIT_NONE))
		look_at_marks(qp, wc);
	if (srq && HW_UNLIKELY(srq->limit))
		hw_srq_look(srq);
	return true;
}

/* False: it succeeds unseen. */
static bool complete_request(struct hw_slot *slot, struct nic_wc *wc)
{
	struct hw_qp *qp = hw_qp(slot->wc.qp);
	bool success = wc->status == NIC_WC_SUCCESS;

	qp->sq.end++;
	wc->qp = &qp->base;
	wc->flags = slot->wc.flags & NIC_WR_QUIET;
	wc->length = success || slot->wc.opcode == NIC_OP_BIND ? slot->wc.length : 0;
	if (HW_UNLIKELY(slot->wc.opcode == NIC_OP_BIND))
		hw_bind_done(slot, success);
	return !success || !(slot->wc.flags & NIC_WR_SUPPRESS);
}

bool hw_complete(struct hw_cq *cq, const struct ibv_wc *verbs, struct nic_wc *wc)
{
	struct hw_slot *slot = (struct hw_slot *)(uintptr_t)verbs->wr_id;

	wc->wr_id = slot->wc.wr_id;
	wc->status = status_of(verbs);
	wc->opcode = slot->wc.opcode;
	if (wc->opcode == NIC_OP_RECV) {
		if (!complete_recv(slot, verbs, wc, cq))
			return false;
	} else if (!complete_request(slot, wc)) {
		return false;
	}
	if (HW_UNLIKELY(wc->status != NIC_WC_SUCCESS)) {
		if (hw_qp(wc->qp)->discard)
			return false;
		note_error(hw_qp(wc->qp), wc->status);
	}
	return true;
}

/* Of an SRQ: of the QP that took it, if nobody watches how many are left. Or unusual. */
static __attribute__((noinline)) const struct nic_wc *next_other(struct hw_cq *cq)
{
	struct hw_slot *slot = (struct hw_slot *)(uintptr_t)cq->polled.wr_id;
	struct hw_qp *qp;

	if (cq->polled.status != IBV_WC_SUCCESS || slot->wc.own != HW_USUAL_SRQ || slot->srq->limit)
		return hw_cq_unusual(cq);
	qp = hw_qp_by_number(hw_nic(cq->base.nic), cq->polled.qp_num);
	if (!qp || qp->state == HW_QP_CONNECTING)
		return hw_cq_unusual(cq);
	free_srq_slot(slot->srq, slot);
	qp->taken++;
	slot->wc.qp = &qp->base;
	slot->wc.length = cq->polled.byte_len;
	return &slot->wc;
}

/* Where nothing is unusual, this is all that hw_complete comes to. */
const struct nic_wc *hw_cq_next(struct nic_cq *base)
{
	struct hw_cq *cq = hw_cq(base);
	struct hw_slot *slot;

	if (ibv_poll_cq(cq->verbs, 1, &cq->polled) != 1)
		return NULL;
	slot = (struct hw_slot *)(uintptr_t)cq->polled.wr_id;
	if (HW_UNLIKELY(cq->polled.status != IBV_WC_SUCCESS))
		return next_other(cq);
	if (slot->wc.own == HW_USUAL_RECV) {
		if (HW_UNLIKELY(hw_qp(slot->wc.qp)->state == HW_QP_CONNECTING))
			return hw_cq_unusual(cq);
		hw_qp(slot->wc.qp)->rq.end++;
		hw_qp(slot->wc.qp)->taken++;
		slot->wc.length = cq->polled.byte_len;
		return &slot->wc;
	}
	if (HW_UNLIKELY(slot->wc.own != HW_USUAL_REQUEST))
		return next_other(cq);
	hw_qp(slot->wc.qp)->sq.end++;
	return &slot->wc;
}
