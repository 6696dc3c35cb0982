/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions: translates a verbs completion to one of nic.h, and does the accounting of its work
 * queue: entries, counts, limits, and the end of a connection that an error tells of.
 */
#include <stdlib.h>

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

static uint8_t wc_status(const struct ibv_wc *verbs)
{
	size_t status = (size_t)verbs->status;

	return status < sizeof(statuses) ? statuses[status] : (uint8_t)NIC_WC_LOCAL_QP;
}

/* An error ends a reliable connection. A flush says only that it ended, not why. */
static HW_COLD void complete_error(struct hw_qp *qp, uint8_t status)
{
	if (qp->state != HW_QP_CONNECTED && qp->state != HW_QP_DRAINING)
		return;
	if (status == NIC_WC_FLUSHED)
		hw_end_unexplained(qp);
	else
		hw_end(qp, NIC_END_BROKEN);
}

/*
 * The limits of qp_taken_limit count messages that have taken a Receive. Hardware reports that only
 * when the Receive completes, and then its message is delivered already: the Receive that crossed
 * the hard limit is reported as flushed.
 */
static HW_COLD void complete_check_limits(struct hw_qp *qp, struct nic_wc *wc)
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

static void free_srq_wqe(struct hw_srq *srq, struct hw_wqe *wqe)
{
	srq->posted--;
	wqe->next = srq->free;
	srq->free = wqe;
}

static void srq_check_limit(struct hw_srq *srq)
{
	if (srq->posted >= srq->limit)
		return;
	srq->limit = 0;
	srq->base.nic->up->srq_limit(srq->base.ctx);
}

/*
 * A message has come before librdmacm's event. On the passive side it shows that there is a
 * connection. On the active side of iWARP, where the kernel and not librdmacm moves the QP to its
 * states, the answer's private data comes with that event: the message waits for it. True: so does
 * this one. Without memory it comes too soon.
 */
static HW_COLD bool complete_is_early(struct hw_qp *qp, const struct ibv_wc *verbs)
{
	bool success = verbs->status == IBV_WC_SUCCESS;
	struct hw_early *early;

	if (qp->passive && success)
		hw_established_early(qp);
	if (qp->passive || (!success && STAILQ_EMPTY(&qp->early)))
		return false;
	early = malloc(sizeof(*early));
	if (!early)
		return false;
	early->verbs = *verbs;
	STAILQ_INSERT_TAIL(&qp->early, early, link);
	return true;
}

void hw_complete_early(struct hw_qp *qp)
{
	struct hw_cq *cq = hw_cq_of(qp, qp->init.recv_cq);
	struct hw_early_list all = STAILQ_HEAD_INITIALIZER(all);
	struct hw_early *early;
	struct nic_wc wc;

	/* An error among them ends the connection, which calls this again. */
	STAILQ_CONCAT(&all, &qp->early);
	while ((early = STAILQ_FIRST(&all)) != NULL) {
		STAILQ_REMOVE_HEAD(&all, link);
		if (hw_complete(cq, &early->verbs, &wc))
			hw_cq_add(cq, &wc);
		free(early);
	}
}

static bool complete_recv(struct hw_wqe *wqe, const struct ibv_wc *verbs, struct nic_wc *wc,
			  struct hw_cq *cq)
{
	struct hw_srq *srq = wqe->kind == HW_WQE_SRQ ? wqe->own : NULL;
	struct hw_qp *qp = srq ? hw_qp_by_number(hw_nic(cq->base.nic), verbs->qp_num)
			       : hw_qp(wqe->qp);

	if (HW_UNLIKELY(qp && qp->state == HW_QP_CONNECTING) && complete_is_early(qp, verbs))
		return false;
	if (srq)
		free_srq_wqe(srq, wqe);
	else
		qp->rq.end += HW_WQ_STEP;
	/* The QP was destroyed, and its completions were thrown away with it. */
	if (HW_UNLIKELY(!qp))
		return false;
	wc->qp = &qp->base;
	wc->flags = (uint8_t)(wqe->flags | (cq->base.picks ? 0 : NIC_WR_SOLICITED));
	wc->length = wc->status == NIC_WC_SUCCESS ? verbs->byte_len : 0;
	if (wc->status != NIC_WC_FLUSHED || srq)
		qp->taken++;
	if (HW_UNLIKELY(qp->soft != NIC_LIMIT_NONE || qp->hard != NIC_LIMIT_NONE))
		complete_check_limits(qp, wc);
	if (srq && HW_UNLIKELY(srq->limit))
		srq_check_limit(srq);
	return true;
}

/* False: the request asked for no completion, and succeeded. */
static bool complete_request(struct hw_wqe *wqe, struct nic_wc *wc)
{
	struct hw_qp *qp = hw_qp(wqe->qp);
	bool success = wc->status == NIC_WC_SUCCESS;

	qp->sq.end += HW_WQ_STEP;
	wc->qp = &qp->base;
	wc->flags = wqe->flags & NIC_WR_QUIET;
	wc->length = success || wqe->opcode == NIC_OP_BIND ? wqe->length : 0;
	if (HW_UNLIKELY(wqe->opcode == NIC_OP_BIND))
		hw_bind_done(wqe, success);
	return !success || !(wqe->flags & NIC_WR_SUPPRESS);
}

bool hw_complete(struct hw_cq *cq, const struct ibv_wc *verbs, struct nic_wc *wc)
{
	struct hw_wqe *wqe = (struct hw_wqe *)(uintptr_t)verbs->wr_id;

	wc->wr_id = wqe->wr_id;
	wc->status = wc_status(verbs);
	wc->opcode = wqe->opcode;
	if (wc->opcode == NIC_OP_RECV) {
		if (!complete_recv(wqe, verbs, wc, cq))
			return false;
	} else if (!complete_request(wqe, wc)) {
		return false;
	}
	if (HW_UNLIKELY(wc->status != NIC_WC_SUCCESS)) {
		if (hw_qp(wc->qp)->discard)
			return false;
		complete_error(hw_qp(wc->qp), wc->status);
	}
	return true;
}

/* A Receive of an SRQ: the QP is found by number. The general way is only for an armed limit. */
static const struct nic_wc *next_of_srq(struct hw_cq *cq, const struct ibv_wc *polled)
{
	struct hw_wqe *wqe = (struct hw_wqe *)(uintptr_t)polled->wr_id;
	struct hw_srq *srq = wqe->own;
	struct hw_qp *qp;

	if (srq->limit)
		return hw_cq_unusual(cq, polled);
	qp = hw_qp_by_number(hw_nic(cq->base.nic), polled->qp_num);
	if (!qp || qp->state == HW_QP_CONNECTING)
		return hw_cq_unusual(cq, polled);
	free_srq_wqe(srq, wqe);
	qp->taken++;
	cq->unusual = (struct nic_wc){ .wr_id = wqe->wr_id,
				       .qp = &qp->base,
				       .length = polled->byte_len,
				       .opcode = NIC_OP_RECV };
	return &cq->unusual;
}

const struct nic_wc *hw_cq_other(struct hw_cq *cq, const struct ibv_wc *polled)
{
	if (polled->status == IBV_WC_SUCCESS &&
	    ((struct hw_wqe *)(uintptr_t)polled->wr_id)->kind == HW_WQE_SRQ)
		return next_of_srq(cq, polled);
	return hw_cq_unusual(cq, polled);
}
