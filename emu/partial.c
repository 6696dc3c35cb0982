/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of partial messages of a QP, and parked packets.
 */
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/wire/link.h"
#include "partial.h"
#include "qp.h"

uint32_t emu_partial_bytes(const struct emu_rwqe *wqe)
{
	return (uint32_t)(sizeof(struct emu_rx) + wqe->num_sge * sizeof(struct nic_sge));
}

struct emu_rx *emu_partial_find(struct emu_world *w, const struct emu_qp *qp, uint32_t message)
{
	emu_ref ref = qp->rx;

	while (ref && emu_go_on(w)) {
		struct emu_rx *rx = emu_at(w, ref);

		if (rx->message == message)
			return rx;
		ref = rx->next;
	}
	return NULL;
}

void emu_partial_drop(struct emu_world *w, struct emu_qp *qp, struct emu_rx *rx)
{
	emu_ref *link = &qp->rx;

	while (*link && *link != rx->self && emu_go_on(w))
		link = &((struct emu_rx *)emu_at(w, *link))->next;
	EMU_SURE(w, *link == rx->self);
	/* If the list does not contain rx (garbage in the arena), it ends here. */
	*link = *link == rx->self ? rx->next : 0;
	if (!rx->write)
		qp->rx_count--;
	emu_qp_assess(qp);
	emu_pool_free(w->fab, rx->self, emu_partial_bytes(&rx->wqe));
}

struct emu_rx *emu_partial_add(struct emu_world *w, struct emu_qp *qp, const struct emu_swqe *swqe,
			       uint32_t index, const struct emu_rwqe *wqe)
{
	emu_ref self = emu_pool_alloc(w, emu_partial_bytes(wqe)), *link = &qp->rx;
	struct emu_told told;
	struct emu_rx *rx;

	if (!self)
		return NULL;
	while (*link && ((struct emu_rx *)emu_at(w, *link))->message < swqe->message &&
	       emu_go_on(w))
		link = &((struct emu_rx *)emu_at(w, *link))->next;
	rx = emu_at(w, self);
	memset(rx, 0, sizeof(*rx));
	memcpy(&rx->wqe, wqe, sizeof(*wqe) + wqe->num_sge * sizeof(struct nic_sge));
	rx->self = self;
	rx->next = *link;
	rx->index = index;
	rx->message = swqe->message;
	told = emu_recv_told(swqe);
	rx->flags = told.flags;
	rx->imm = told.imm;
	rx->length = swqe->length;
	rx->write = !emu_recv_is_taken_by(swqe);
	*link = self;
	if (!rx->write)
		qp->rx_count++;
	emu_qp_assess(qp);
	return rx;
}

void emu_partial_flush(struct emu_world *w, struct emu_qp *qp, uint32_t end)
{
	struct emu_told told;

	while (qp->rx && emu_go_on(w)) {
		struct emu_rx *rx = emu_at(w, qp->rx);

		if (rx->message >= end)
			return;
		EMU_SURE(w, rx->self == qp->rx);
		if (rx->self != qp->rx)
			break;
		told = emu_partial_told(rx);
		if (!rx->write && rx->whole)
			emu_complete_message(w, qp, &rx->wqe, &told);
		else if (!rx->write)
			emu_complete_recv(w, qp, &rx->wqe, NIC_WC_FLUSHED);
		emu_partial_drop(w, qp, rx);
	}
	qp->rx = 0; /* the rest of the list is garbage */
}

void emu_park(struct emu_world *w, struct emu_qp *qp, const struct emu_event *event)
{
	/* Without memory to park the packet the connection cannot continue. */
	if (!emu_held_append(w, &qp->parked, &qp->parked_tail, 0, event))
		emu_qp_break_soon(w, qp);
	emu_qp_assess(qp);
}

void emu_unpark(struct emu_world *w, struct emu_qp *qp, bool deliver)
{
	emu_held_drain(w, &qp->parked, &qp->parked_tail, deliver);
	emu_qp_assess(qp);
}

/* ---- the end of a connection ---- */

void emu_rx_flush(struct emu_world *w, struct emu_qp *qp)
{
	emu_unpark(w, qp, false);
	emu_partial_flush(w, qp, UINT32_MAX);
	for (uint32_t i = 0; emu_wq_count(&qp->rq) > 0 && i < EMU_MAX_SRQ_WR; i++) {
		emu_complete_recv(w, qp, emu_wqe(w, &qp->rq, qp->rq.get), NIC_WC_FLUSHED);
		qp->rq.get++;
	}
}

uint32_t emu_rx_forget(struct emu_world *w, struct emu_qp *qp)
{
	uint32_t from_srq = qp->srq ? qp->rx_count : 0;

	emu_unpark(w, qp, false);
	while (qp->rx && emu_go_on(w))
		emu_partial_drop(w, qp, emu_at(w, qp->rx));
	qp->rx = 0; /* the rest of the list is garbage */
	return from_srq;
}
