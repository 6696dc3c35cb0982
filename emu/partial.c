/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of partial messages of a QP, and parked packets.
 */
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/hostile/land.h"
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

/* ---- a message that lands in parts: emu/hostile/land.h ---- */

static enum emu_copy copy_part(struct emu_world *w, void *ctx, uint64_t from, uint64_t to)
{
	struct emu_arrival *a = ctx;

	a->from = from;
	a->to = to;
	return emu_place(w, a);
}

/* A packet before the last one waits in the NIC: nothing of it is placed. */
static enum emu_step keep_packet(struct emu_world *w, struct emu_arrival *a)
{
	if (!a->rx)
		return EMU_STEP_KEEP;
	a->rx->next_packet = a->packet + 1;
	emu_expect_next(w, a);
	return EMU_STEP_DONE;
}

enum emu_step emu_step_land(struct emu_world *w, struct emu_arrival *a)
{
	static const struct emu_rwqe none; /* a WRITE takes no receive */
	enum emu_copy copied;

	if (!a->last)
		return keep_packet(w, a);
	if (!a->rx) {
		a->rx = emu_partial_add(w, a->qp, a->swqe, a->index, a->wqe ? a->wqe : &none);
		if (!a->rx) {
			a->cause = EMU_CAUSE_NO_MEMORY;
			return EMU_STEP_REFUSE;
		}
		if (a->wqe)
			a->wqe = &a->rx->wqe;
	}
	a->rx->next_packet = a->packet;
	copied = emu_land_stage(w, a->rx->landing++, a->swqe->length, copy_part, a);
	if (copied != EMU_COPY_OK)
		return emu_place_failed(w, a, copied);
	if (a->rx->landing < EMU_LAND_STAGES) {
		emu_land_later(w, EMU_EV_LAND, a->qp, a->index, a->packet);
		return EMU_STEP_DONE;
	}
	/* All of it is there: place it once more, which changes nothing, and complete it. */
	a->from = 0;
	a->to = a->swqe->length;
	return EMU_STEP_PLACE;
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
	while (qp->rx && emu_go_on(w)) {
		struct emu_rx *rx = emu_at(w, qp->rx);

		if (emu_posted_on(w))
			emu_posted_drop(w, rx->wqe.mem_epoch);
		emu_partial_drop(w, qp, rx);
	}
	qp->rx = 0; /* the rest of the list is garbage */
	return from_srq;
}
