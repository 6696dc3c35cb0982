/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick_trace.c - an ordinary message while the fabric is traced: its records, and its polls.
 * quick.c says what that is.
 */
#include "emu/fabric/record.h"
#include "quick_message.h"

void emu_trace_arrival(struct emu_world *w, const struct emu_qp *qp, const struct emu_qp *sender,
		       uint32_t index, uint32_t length)
{
	const struct emu_srq *srq = emu_recv_srq(w, qp);
	uint32_t psn = emu_wire_psn(w, sender, index, 0);

	if (srq)
		emu_record_between(w, EMU_RECORD_ARRIVE_SRQ, sender, qp, index + 1, length, psn,
				   emu_wq_count(&srq->wq), emu_unreaped(qp), qp->rx_next,
				   srq->name);
	else
		emu_record_between(w, EMU_RECORD_ARRIVE, sender, qp, index + 1, length, psn,
				   emu_wq_count(&qp->rq), emu_unreaped(qp), qp->rx_next);
}

void emu_trace_acked(struct emu_world *w, const struct emu_qp *qp, uint32_t index, uint32_t psn,
		     uint32_t length, enum nic_opcode opcode)
{
	const struct emu_qp *peer = emu_qp_at(w, qp->peer);

	emu_record_put(w, EMU_RECORD_ACKED, peer->noun | qp->noun << 4, qp->peer_adapter,
		       qp->adapter, peer->name, qp->name, index + 1, psn, length, (uint32_t)opcode);
}

/* ---- polls ---- */

/*
 * emu_spin_one_traced jumps to a function for a message that arrives, to one for a message that is
 * acknowledged, or to one for all else, as emu_spin_one does. Each calls the front as the last
 * thing it does.
 */

static int hand_over(struct nic_cq *base, void *out, const struct emu_quick_done *done)
{
	return base->nic->up->completed_traced(out, base->ctx, &done->qp->base, done->wr_id,
					       done->length,
					       nic_wc_what(done->opcode, NIC_WC_SUCCESS));
}

/* All else: nic_ops.cq_spin polls, and the front gets the completion that it took. */
static int spin_in_full(struct nic_cq *base, void *out)
{
	return nic_unsupported.spin_one_traced(base, out);
}

static __attribute__((noinline)) int spin_data(struct nic_cq *base, void *out)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct emu_quick_done done;

	if (emu_quick_receive(w, w->fifo.first, emu_local_cq(base), &done, true))
		return hand_over(base, out, &done);
	return spin_in_full(base, out);
}

static __attribute__((noinline)) int spin_ack(struct nic_cq *base, void *out)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct emu_quick_done done;

	if (emu_quick_acknowledge(w, w->fifo.first, emu_local_cq(base), &done, true))
		return hand_over(base, out, &done);
	return spin_in_full(base, out);
}

int emu_spin_one_traced(struct nic_cq *base, void *out)
{
	struct emu_world *w = emu_local_cq(base)->world;
	const struct emu_cq *cq = emu_local_cq(base)->entry;
	const struct emu_event *e = w->fifo.first;

	if (cq->put != cq->get || base->nic->threaded || w->fab->observed > 0 ||
	    !w->fab->trace_on || !emu_quick_is_due(w, e, emu_quick_deadline(w, base)))
		return spin_in_full(base, out);
	if (emu_event_kind_and_flags(e) == EMU_EV_DATA)
		return spin_data(base, out);
	if (emu_event_kind_and_flags(e) == EMU_EV_ACK)
		return spin_ack(base, out);
	return spin_in_full(base, out);
}
