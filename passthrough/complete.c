/* SPDX-License-Identifier: BSD-3-Clause */
/* From a verbs completion to one of nic.h, and what it tells of the queue it comes from. */
#include "cm.h"

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

static void free_srq_slot(struct hw_srq *srq, struct nic_slot *slot)
{
	srq->posted--;
	slot->next = srq->free;
	srq->free = slot;
}

static bool complete_recv(struct nic_slot *slot, const struct ibv_wc *verbs, struct nic_wc *wc,
			  struct hw_cq *cq)
{
	struct hw_srq *srq = NULL;
	struct hw_qp *qp;

	if (slot->kind != NIC_SLOT_SRQ) {
		qp = hw_qp(slot->qp);
		qp->quick.rq.end++;
	} else {
		srq = slot->own;
		free_srq_slot(srq, slot);
		qp = hw_qp_by_number(hw_nic(cq->base.nic), verbs->qp_num);
		/* Of a QP that is gone: its completions were thrown away with it. */
		if (HW_UNLIKELY(!qp))
			return false;
	}
	wc->qp = &qp->base;
	if (HW_UNLIKELY(qp->state == HW_QP_CONNECTING && wc->status == NIC_WC_SUCCESS))
		hw_heard(qp);
	wc->flags = (uint8_t)(slot->flags | (cq->base.picks ? 0 : NIC_WR_SOLICITED));
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
static bool complete_request(struct nic_slot *slot, struct nic_wc *wc)
{
	struct hw_qp *qp = hw_qp(slot->qp);
	bool success = wc->status == NIC_WC_SUCCESS;

	qp->quick.sq.end++;
	wc->qp = &qp->base;
	wc->flags = slot->flags & NIC_WR_QUIET;
	wc->length = success || slot->opcode == NIC_OP_BIND ? slot->length : 0;
	if (HW_UNLIKELY(slot->opcode == NIC_OP_BIND))
		hw_bind_done(slot, success);
	return !success || !(slot->flags & NIC_WR_SUPPRESS);
}

bool hw_complete(struct hw_cq *cq, const struct ibv_wc *verbs, struct nic_wc *wc)
{
	struct nic_slot *slot = (struct nic_slot *)(uintptr_t)verbs->wr_id;

	wc->wr_id = slot->wr_id;
	wc->status = status_of(verbs);
	wc->opcode = slot->opcode;
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

/* Of an SRQ: of the QP that took it, if nobody watches how many are left. */
static const struct nic_wc *next_of_srq(struct hw_cq *cq, const struct ibv_wc *polled)
{
	struct nic_slot *slot = (struct nic_slot *)(uintptr_t)polled->wr_id;
	struct hw_srq *srq = slot->own;
	struct hw_qp *qp;

	if (srq->limit)
		return hw_cq_unusual(cq, polled);
	qp = hw_qp_by_number(hw_nic(cq->base.nic), polled->qp_num);
	if (!qp || qp->state == HW_QP_CONNECTING)
		return hw_cq_unusual(cq, polled);
	free_srq_slot(srq, slot);
	qp->taken++;
	cq->unusual = (struct nic_wc){ .wr_id = slot->wr_id,
				       .qp = &qp->base,
				       .length = polled->byte_len,
				       .opcode = NIC_OP_RECV };
	return &cq->unusual;
}

const struct nic_wc *hw_cq_other(struct nic_cq *base, const struct ibv_wc *polled)
{
	struct hw_cq *cq = hw_cq(base);

	if (!polled)
		return hw_cq_any(cq);
	if (polled->status == IBV_WC_SUCCESS &&
	    ((struct nic_slot *)(uintptr_t)polled->wr_id)->kind == NIC_SLOT_SRQ)
		return next_of_srq(cq, polled);
	return hw_cq_unusual(cq, polled);
}
