/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "mem.h"
#include "partial.h"
#include "qp.h"
#include "respond.h"
#include "rx.h"
#include "srq.h"

/* A disconnected QP takes receives and ends them at once. */
static EMU_COLD int post_flushed(struct emu_world *w, struct emu_qp *qp,
				 const struct nic_recv_wr *wr)
{
	struct emu_rwqe flushed = { .wr_id = wr->wr_id, .flags = wr->flags };

	emu_complete_recv(w, qp, &flushed, NIC_WC_FLUSHED, 0, 0);
	return 0;
}

int emu_post_recv(struct nic_qp *base, const struct nic_recv_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;

	if (qp->srq || wr->num_sge > qp->max_recv_sge)
		return -EINVAL;
	if (qp->state == EMU_QP_ERROR)
		return post_flushed(w, qp, wr);
	if (emu_wq_count(&qp->rq) >= qp->rq.max)
		return -EAGAIN;
	emu_recv_put(w, &qp->rq, wr);
	return 0;
}

/* ---- a message of one packet, the usual case: all steps of respond.c at once ---- */

/*
 * The keys of both ends were good when they were posted (lib saw to that), and no key died since:
 * nothing to check but the length.
 */
static inline bool is_plain(const struct emu_fabric *fab, const struct emu_swqe *swqe,
			    const struct emu_rwqe *wqe)
{
	return swqe->opcode == NIC_OP_SEND && swqe->mem_epoch == fab->mem_epoch &&
	       wqe->mem_epoch == fab->mem_epoch && swqe->num_sge == 1 && wqe->num_sge == 1 &&
	       swqe->length <= wqe->sge[0].length;
}

/* All steps of respond.c where nothing is out of the ordinary; false: something is, nothing was done. */
static inline bool receive_plain(struct emu_world *w, struct emu_qp *qp, uint32_t qp_index,
				 const struct emu_swqe *swqe, uint32_t index)
{
	struct emu_fabric *fab = w->fab;
	struct emu_srq *srq = qp->srq ? &fab->srq[qp->srq] : NULL;
	struct emu_wq *wq = EMU_KEEP(srq ? &srq->wq : &qp->rq);
	const struct emu_rwqe *wqe;

	if (emu_wq_count(wq) == 0 || (srq && emu_wq_count(wq) <= srq->limit))
		return false;
	/* No bytes at all are not plain either: 0 - 1 is more than any MTU. */
	if (swqe->length - 1 >= fab->config.mtu || fab->trace_on)
		return false;
	wqe = emu_wqe(w, wq, wq->get);
	if (!is_plain(fab, swqe, wqe))
		return false;
	wq->get++;
	qp->taken++;
	qp->rx_taken = ++qp->rx_completed;
	qp->rx_next = index + 1;
	memmove(emu_memory(wqe->sge[0].addr), emu_memory(swqe->sge[0].addr), swqe->length);
	emu_cq_push(w, qp->recv_cq, qp_index, wqe->wr_id, swqe->length, NIC_OP_RECV, NIC_WC_SUCCESS,
		    (wqe->flags & NIC_WR_QUIET) | (swqe->flags & NIC_WR_SOLICITED));
	emu_qp_tell_peer(w, qp, EMU_EV_ACK, index, 0);
	return true;
}

void emu_rx_data(struct emu_world *w, uint32_t qp_index, uint32_t epoch, uint32_t index,
		 uint32_t packet, enum emu_event_kind kind)
{
	struct emu_qp *qp = emu_qp_at(w, qp_index);
	const struct emu_qp *sender;

	if (qp->epoch != epoch)
		return;
	sender = emu_qp_at(w, qp->peer);
	/* What is expected next and never came cannot have left the sender's queue. */
	if (packet == 0 && index == qp->rx_next && qp->plain && sender->epoch == qp->peer_epoch &&
	    receive_plain(w, qp, qp_index, emu_wqe(w, &sender->sq, index), index))
		return;
	emu_respond(w, qp, index, packet, kind);
}

/* ---- the end of a connection ---- */

void emu_rx_flush(struct emu_world *w, struct emu_qp *qp)
{
	emu_unpark(w, qp, false);
	emu_partial_flush(w, qp, UINT32_MAX);
	for (uint32_t i = 0; emu_wq_count(&qp->rq) > 0 && i < EMU_MAX_SRQ_WR; i++) {
		emu_complete_recv(w, qp, emu_wqe(w, &qp->rq, qp->rq.get), NIC_WC_FLUSHED, 0, 0);
		qp->rq.get++;
	}
}

uint32_t emu_rx_forget(struct emu_world *w, struct emu_qp *qp)
{
	uint32_t from_srq = qp->srq ? qp->rx_count : 0;

	emu_unpark(w, qp, false);
	for (uint32_t i = 0; qp->rx && i < EMU_STEPS_MOST; i++)
		emu_partial_drop(w, qp, emu_at(w, qp->rx));
	return from_srq;
}
