/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a packet while packets are observed: its place in the sender's train, holds, rules,
 * arrival; and the change from whole requests to packets and back.
 */
#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "link.h"
#include "emu/hostile/land.h"
#include "emu/partial.h"
#include "profile.h"
#include "emu/qp.h"
#include "emu/rdma.h"
#include "emu/number/unreliable.h"
#include "retry.h"
#include "rules.h"
#include "wire.h"

#define PACKET_MASK ((1u << EMU_EV_TRIES) - 1)

/* ---- the train of packets of a QP ---- */

static void release_early(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	emu_ref ref = qp->early;

	qp->early = qp->early_tail = 0;
	while (ref && emu_go_on(w)) {
		struct emu_held *held = emu_at(w, ref);
		emu_ref next = held->next;

		if (held->event.index == index)
			emu_reschedule(w, &held->event, w->fab->now);
		else
			(void)emu_held_append(w, &qp->early, &qp->early_tail, 0, &held->event);
		emu_pool_free(w->fab, ref, sizeof(*held));
		ref = next;
	}
}

static bool goes_over_wire(const struct emu_swqe *wqe)
{
	if (emu_rdma_is_answered(wqe->opcode))
		return wqe->step != EMU_READ_DONE;
	return wqe->opcode != NIC_OP_BIND;
}

/* The first request from `index` on that goes over the wire. */
static uint32_t next_on_wire(struct emu_world *w, const struct emu_qp *qp, uint32_t index)
{
	for (uint32_t n = 0; emu_wq_has(&qp->sq, index) && n < EMU_MAX_QP_WR; n++, index++)
		if (goes_over_wire(emu_wqe(w, &qp->sq, index)))
			break;
	return index;
}

static void schedule_data(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
			  uint32_t packet)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	uint64_t mtu = emu_wire_mtu(w, qp), bytes;

	bytes = emu_rdma_request_bytes(wqe) - packet * mtu;
	emu_schedule(w,
		     w->fab->now + emu_link_serialise(&EMU_AT(w->fab->link, qp->link),
						      bytes < mtu ? bytes : mtu),
		     EMU_EV_DATA, qp->peer, qp->peer_epoch, index, packet);
}

/* A packet comes off the wire: schedule the next one. */
static void start_next(struct emu_world *w, const struct emu_packet *p)
{
	struct emu_qp *qp = p->source;
	uint32_t next;

	if (!p->last) {
		qp->wire_packet = p->packet + 1;
		schedule_data(w, qp, p->index, p->packet + 1);
		return;
	}
	next = next_on_wire(w, qp, p->index + 1);
	qp->wire_index = next;
	qp->wire_packet = 0;
	if ((int32_t)(qp->wire_again - next) > 0 && emu_wq_has(&qp->sq, next))
		schedule_data(w, qp, next, 0);
	else if (qp->early)
		release_early(w, qp, next);
}

/*
 * Is this not the packet that comes off the wire next? A later one is kept in `early`; one of an
 * earlier transmission is dropped.
 */
static bool is_out_of_place(struct emu_world *w, const struct emu_packet *p,
			    const struct emu_event *event)
{
	struct emu_qp *qp = p->source;
	int32_t ahead = (int32_t)(event->index - qp->wire_index);

	if (ahead == 0 && event->packet == qp->wire_packet)
		return false;
	if (ahead <= 0 || (int32_t)(event->index - qp->wire_again) < 0)
		return true;
	return emu_held_append(w, &qp->early, &qp->early_tail, 0, event);
}

void emu_wire_rewind(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet)
{
	emu_held_drain(w, &qp->early, &qp->early_tail, false);
	emu_held_drain(w, &qp->held, &qp->held_tail,
		       false); /* their retransmissions will be held */
	qp->wire_index = qp->wire_again = index;
	qp->wire_packet = packet;
}

void emu_wire_answered(struct emu_world *w, struct emu_qp *qp)
{
	if ((int32_t)(qp->sq.get - qp->wire_index) <= 0)
		return;
	qp->wire_index = next_on_wire(w, qp, qp->sq.get);
	qp->wire_packet = 0;
	if ((int32_t)(qp->wire_again - qp->wire_index) > 0 && emu_wq_has(&qp->sq, qp->wire_index))
		schedule_data(w, qp, qp->wire_index, 0);
	else if (qp->early)
		release_early(w, qp, qp->wire_index);
}

/* ---- from whole requests to packets and back ---- */

/*
 * The next packet on the wire is the one the receiver expects. Packets it has parked go back on the
 * wire.
 */
static void begin_observing(struct emu_world *w, struct emu_qp *qp)
{
	struct emu_qp *peer = emu_qp_at(w, qp->peer);
	const struct emu_rx *rx = NULL;
	uint32_t next = peer->rx_next;
	emu_ref ref = peer->parked;

	if (!emu_qp_running(qp) || peer->epoch != qp->peer_epoch)
		return;
	while (ref && emu_go_on(w)) {
		struct emu_held *held = emu_at(w, ref);

		held->event.order &= ~(uint64_t)EMU_EV_ARRIVED;
		ref = held->next;
	}
	emu_unpark(w, peer, true);
	/* BINDs have left the send queue; the receiver counts them when the next packet arrives. */
	if ((int32_t)(qp->sq.get - next) > 0)
		next = qp->sq.get;
	qp->wire_index = qp->wire_again = next_on_wire(w, qp, next);
	qp->wire_packet = 0;
	if (emu_wq_has(&qp->sq, qp->wire_index)) {
		const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, qp->wire_index);

		rx = emu_partial_find(w, peer, wqe->message);
	}
	if (rx && rx->landing)
		qp->wire_index = qp->wire_again = next_on_wire(w, qp, qp->wire_index + 1);
	else if (rx)
		qp->wire_packet = rx->next_packet;
}

/* Requests whose packets the train had not scheduled yet arrive after everything in flight. */
static void end_observing(struct emu_world *w, struct emu_qp *qp)
{
	const struct emu_link *link = &EMU_AT(w->fab->link, qp->link);
	uint64_t end = link->busy_until > w->fab->now ? link->busy_until : w->fab->now;

	end = emu_link_in_order(link, end + link->latency_ns);
	for (uint32_t i = qp->wire_index + 1; (int32_t)(qp->wire_again - i) > 0 && emu_go_on(w);
	     i++)
		if (emu_wq_has(&qp->sq, i) && next_on_wire(w, qp, i) == i)
			emu_schedule(w, end, EMU_EV_DATA, qp->peer, qp->peer_epoch, i, 0);
	qp->wire_again = qp->wire_index;
	emu_held_drain(w, &qp->early, &qp->early_tail, true);
}

void emu_observe(struct emu_world *w, int reasons)
{
	struct emu_fabric *fab = w->fab;
	bool was = fab->observed > 0;

	fab->observed = (fab->observed + (uint32_t)reasons) & EMU_OBSERVED_MOST;
	if ((fab->observed > 0) == was || !emu_profile(w)->in_order)
		return;
	for (uint32_t i = 1; i <= EMU_HIGH(fab, qps, qp) && emu_go_on(w); i++)
		if (fab->qp[i].head.live && !was)
			begin_observing(w, &fab->qp[i]);
		else if (fab->qp[i].head.live)
			end_observing(w, &fab->qp[i]);
}

/* ---- packets that were delayed or retransmitted are marked ---- */

void emu_wire_delay(struct emu_world *w, const struct emu_event *event, uint64_t time)
{
	struct emu_event again = *event;

	again.order |= EMU_EV_JUDGED;
	emu_observe(w, 1);
	emu_reschedule(w, &again, time);
}

void emu_wire_retransmit(struct emu_world *w, const struct emu_event *event, uint64_t time)
{
	struct emu_event again = *event;

	again.packet += 1u << EMU_EV_TRIES;
	emu_observe(w, 1);
	emu_reschedule(w, &again, time);
}

bool emu_wire_marked(const struct emu_event *event)
{
	return (event->order & EMU_EV_JUDGED) || event->packet > PACKET_MASK;
}

/* ---- the path of a packet ---- */

static bool is_data(const struct emu_event *event)
{
	return emu_event_kind(event) == EMU_EV_DATA || emu_event_kind(event) == EMU_EV_DATA_REST;
}

/* The packet is next in its train and not held. False: a rule lost or delayed it. */
static bool packet_arrives(struct emu_world *w, struct emu_event *event, const struct emu_packet *p,
			   bool train)
{
	bool judged = event->order & EMU_EV_JUDGED;

	if (is_data(event))
		event->order = (event->order & ~0x3ful) | EMU_EV_DATA;
	else if (emu_event_kind(event) == EMU_EV_RESPONSE_REST)
		event->order = (event->order & ~0x3ful) | EMU_EV_RESPONSE;
	if (train && !judged)
		start_next(w, p);
	/* The packet behind one that has to land leaves when that has landed. */
	if (p->unanswered && !judged && !emu_lands(w))
		emu_unreliable.go_on(w, event);
	if (judged ? emu_rules_cut(w, event, p) : emu_rules_take(w, event, p)) {
		if (p->unanswered && !judged)
			emu_unreliable.go_on(w, event);
		return false;
	}
	if (p->unheard)
		emu_retry_on(w, p->requester);
	/* On a stream, the rest of a message waits for a late packet. */
	if (is_data(event) && !train && p->request && !p->last && p->source)
		schedule_data(w, p->source, p->index, p->packet + 1);
	event->order &= ~(uint64_t)EMU_EV_JUDGED;
	event->packet &= PACKET_MASK;
	return true;
}

/*
 * The packet was parked. If that was before observing began, the train still expects it, and
 * nothing else would bring the packets behind it.
 */
static void parked_arrives(struct emu_world *w, const struct emu_event *event)
{
	struct emu_packet p;

	if (emu_profile(w)->in_order && is_data(event) && emu_packet_of(w, event, &p) && p.source &&
	    p.target && p.index == p.source->wire_index && p.packet == p.source->wire_packet)
		start_next(w, &p);
}

bool emu_wire_takes(struct emu_world *w, struct emu_event *event)
{
	bool marked = emu_wire_marked(event), train, taken;
	struct emu_packet p;

	if (event->order & EMU_EV_ARRIVED) {
		parked_arrives(w, event);
		return false;
	}
	if (!emu_packet_of(w, event, &p)) {
		event->packet &= PACKET_MASK;
		if (marked)
			emu_observe(w, -1);
		return false;
	}
	train = emu_profile(w)->in_order && is_data(event) && p.source && p.target;
	if (train && !(event->order & EMU_EV_JUDGED) && is_out_of_place(w, &p, event))
		return true;
	if (emu_link_holds(w, event, &p))
		return true; /* held, marks included */
	taken = !packet_arrives(w, event, &p, train && !(event->order & EMU_EV_JUDGED));
	if (marked)
		emu_observe(w, -1);
	return taken;
}
