/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of the responder (respond.h) that decide whether a packet is the one expected next, and
 * that acknowledge.
 */
#include "emu/fabric/clock.h"
#include "emu/cm.h"
#include "emu/partial.h"
#include "profile.h"
#include "emu/qp.h"
#include "emu/rdma.h"
#include "emu/respond.h"
#include "wire.h"
#include "emu/fabric/adapter.h"
#include "emu/fabric/trace.h"

enum emu_step emu_step_connection(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp, *sender = emu_qp_at(w, qp->peer);

	/* Data from the peer also tells that the peer is ready (the RTU may be late). */
	if (qp->state == EMU_QP_CONNECTING && qp->peer)
		emu_cm_ready(w, qp);
	if (!emu_qp_running(qp) || sender->epoch != qp->peer_epoch ||
	    a->index - sender->sq.get >= emu_wq_count(&sender->sq))
		return EMU_STEP_DONE;
	a->sender = sender;
	a->swqe = emu_wqe(w, &sender->sq, a->index);
	/* No other request goes over the wire: garbage. */
	return emu_rdma_goes_over_wire(a->swqe->opcode) ? EMU_STEP_TURN : EMU_STEP_DONE;
}

/* BINDs never go over the wire: advance rx_next past those in front of the packet's request. */
static void skip_binds(struct emu_world *w, const struct emu_arrival *a)
{
	const struct emu_wq *sq = &a->sender->sq;
	uint32_t *next = &a->qp->rx_next;

	if ((int32_t)(sq->get - *next) > 0 && (int32_t)(a->index - *next) > 0)
		*next = (int32_t)(a->index - sq->get) > 0 ? sq->get : a->index;
	for (uint32_t n = 0; (int32_t)(a->index - *next) > 0 && n < EMU_MAX_QP_WR; n++) {
		if (((const struct emu_swqe *)emu_wqe(w, sq, *next))->opcode != NIC_OP_BIND)
			return;
		++*next;
	}
}

static uint32_t expected_packet(struct emu_world *w, const struct emu_arrival *a)
{
	const struct emu_qp *qp = a->qp;
	const struct emu_rx *rx = qp->rx ? emu_at(w, qp->rx) : NULL;

	return rx && rx->index == qp->rx_next ? rx->next_packet : 0;
}

static bool is_landing(struct emu_world *w, const struct emu_qp *qp)
{
	return qp->rx && ((const struct emu_rx *)emu_at(w, qp->rx))->landing;
}

/*
 * In an in-order profile, a packet that is not expected next is parked or dropped. In iWARP a
 * message may arrive at any time.
 */
enum emu_step emu_step_turn(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp;
	int32_t ahead;

	skip_binds(w, a);
	ahead = (int32_t)(a->index - qp->rx_next);
	if (ahead < 0)
		return EMU_STEP_DUPLICATE;
	/* A READ is executed in order in every profile. */
	if (!emu_profile(w)->in_order && (ahead == 0 || !emu_rdma_is_answered(a->swqe->opcode)))
		return EMU_STEP_OPCODE;
	if (ahead == 0 && a->packet <= expected_packet(w, a)) {
		if (a->packet == expected_packet(w, a))
			qp->rx_gap = false;
		emu_qp_assess(qp);
		return EMU_STEP_OPCODE;
	}
	/* After an RNR NAK, later packets are dropped: the requester retransmits them. */
	if (qp->rx_gap)
		return EMU_STEP_IGNORE;
	/* One that is landing has come, so nothing is missing yet. */
	return emu_observed(w) && emu_profile(w)->in_order && !is_landing(w, qp) ? EMU_STEP_SEQUENCE
										 : EMU_STEP_PARK;
}

/* The first packet after a gap is answered with a NAK (sequence error), later ones are dropped. */
enum emu_step emu_step_sequence(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp;

	qp->rx_gap = true;
	emu_qp_assess(qp);
	emu_respond_ack(w, qp);
	emu_qp_tell_peer(w, qp, EMU_EV_NAK_SEQUENCE, qp->rx_next, expected_packet(w, a));
	return EMU_STEP_IGNORE;
}

/* Park the packet until the request before it is complete. */
enum emu_step emu_step_park(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_event event = { .order = a->kind | EMU_EV_ARRIVED,
				   .qp = emu_qp_index(w, a->qp),
				   .epoch = a->qp->epoch,
				   .index = a->index,
				   .packet = a->packet };

	emu_park(w, a->qp, &event);
	return EMU_STEP_DONE;
}

/* ---- acknowledgement ---- */

void emu_respond_ack(struct emu_world *w, struct emu_qp *qp)
{
	if (!qp->ack_due)
		return;
	qp->ack_due = false;
	emu_qp_tell_peer(w, qp, EMU_EV_ACK, qp->rx_next - 1, 0);
}

void emu_respond_ack_due(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	const struct emu_event *next = emu_queue_first(w);

	if (emu_qp_stale(qp, event))
		return;
	/* Another packet arrives at this very time: one ACK will do for both. */
	if (qp->ack_due && next && next->time == w->fab->now && next->qp == event->qp &&
	    emu_event_kind(next) == EMU_EV_DATA)
		emu_reschedule(w, event, w->fab->now);
	else
		emu_respond_ack(w, qp);
}

/* With rules, one ACK covers all requests that complete at the same time. */
void emu_acknowledge(struct emu_world *w, struct emu_qp *qp)
{
	if (w->fab->rules == 0) {
		emu_qp_tell_peer(w, qp, EMU_EV_ACK, qp->rx_next - 1, 0);
	} else if (!qp->ack_due) {
		qp->ack_due = true;
		emu_schedule(w, w->fab->now, EMU_EV_ACK_DUE, emu_qp_index(w, qp), qp->epoch, 0, 0);
	}
}

enum emu_step emu_step_duplicate(struct emu_world *w, struct emu_arrival *a)
{
	emu_measure(w, a);
	if (emu_rdma_is_answered(a->swqe->opcode))
		emu_rdma_answer_again(w, a);
	else if (a->last)
		emu_acknowledge(w, a->qp);
	return EMU_STEP_IGNORE;
}

/* ---- answers injected by a rule ---- */

enum emu_step emu_step_inject(struct emu_world *w, struct emu_arrival *a)
{
	static const enum emu_cause naks[NIC_NAK_COUNT] = {
		[NIC_NAK_INVALID_REQUEST] = EMU_CAUSE_NAK_INVALID,
		[NIC_NAK_REMOTE_ACCESS] = EMU_CAUSE_NAK_ACCESS,
		[NIC_NAK_REMOTE_OPERATION] = EMU_CAUSE_NAK_OPERATION,
		[NIC_NAK_RESERVED] = EMU_CAUSE_NAK_RESERVED,
	};

	(void)w;
	if (a->rule->fault == NIC_FAULT_RNR)
		return EMU_STEP_NOT_READY;
	if (a->rule->nak == NIC_NAK_SEQUENCE)
		return EMU_STEP_SEQUENCE;
	a->cause = naks[a->rule->nak];
	return EMU_STEP_REFUSE;
}

/* ---- a packet that changes nothing ---- */

enum emu_step emu_step_ignore(struct emu_world *w, struct emu_arrival *a)
{
	uint32_t packet = emu_rdma_asked(a->swqe) ?: a->packet;

	emu_trace(w, EMU_QP " ignore at=%s message=%u packet=%u psn=%u", EMU_QP_OF(w, a->qp),
		  emu_step_name(a->at), a->swqe->message, packet,
		  emu_wire_psn(w, a->sender, a->index, packet));
	return EMU_STEP_DONE;
}
