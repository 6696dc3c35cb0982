/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which process runs an event of a shared fabric (shared.h), and runs it.
 */
#include "runner.h"

#include "emu/fabric/clock.h"
#include "emu/nic_model.h"
#include "emu/qp.h"
#include "emu/rdma.h"
#include "emu/number/unreliable.h"
#include "inbox.h"
#include "emu/payload/peer.h"
#include "emu/payload/reach.h"
#include "recover.h"
#include "shared.h"

#define AGAIN_NS 1000000u /* until a packet that was put back is tried again */

static bool has_payload(enum emu_event_kind kind)
{
	return kind == EMU_EV_DATA || kind == EMU_EV_DATA_REST || kind == EMU_EV_RESPONSE ||
	       kind == EMU_EV_RESPONSE_REST || kind == EMU_EV_LAND || kind == EMU_EV_LAND_RESPONSE;
}

/* Or it needs the memory of its process. */
static bool ends_in_upcall(enum emu_event_kind kind)
{
	return kind == EMU_EV_TERMINATE || kind == EMU_EV_BREAK || kind == EMU_EV_DISCONNECT ||
	       kind == EMU_EV_SENT || (kind >= EMU_EV_CM_REQUEST && kind <= EMU_EV_CM_TIMEOUT);
}

/*
 * The packets of a QP must not overtake each other: a responder drops a request that arrives before
 * an earlier one and counts on a retransmission, and no requester retransmits a packet that was not
 * lost. A third process cannot run a packet and leaves it to an inbox, from where a later packet of
 * the same QP, run by one of the two ends, could overtake it. So each packet of that QP goes behind
 * it into the same inbox until that inbox is empty.
 *
 * Packets without payload wait in the inbox of the QP's owner (left_here). Packets with payload
 * wait there, or in the inbox of the peer, whose memory they come from (left_there), but not in
 * both at the same time: those that the peer meets behind an atomic, which it has passed on to the
 * owner, follow it there, and an atomic that the owner meets behind those goes with them to the
 * peer (emu_run_left). The two bits are hints: a bit may stay set when the packet has run, but is
 * never clear while one waits. They mean nothing once the inbox is empty, so recovery leaves them
 * alone.
 */
static bool waits_in_inbox(struct emu_world *w, bool left, uint16_t process)
{
	return left && process && emu_process(w, process)->inbox;
}

static bool can_run_payload(struct emu_world *w, uint16_t peer)
{
	/* If the peer is gone the event is stale, and any process may find that out. */
	return !peer || emu_peer_reach(w, peer);
}

/* As runner_of. The inbox may be this process's own, while it is being emptied. */
static uint16_t runner_of_packet(struct emu_world *w, struct emu_qp *qp, bool payload)
{
	uint16_t owner = emu_process_of(w, qp->adapter);
	uint16_t peer = emu_process_of(w, qp->peer_adapter);
	bool is_end = owner == w->process || peer == w->process;

	qp->left_here = waits_in_inbox(w, qp->left_here, owner);
	qp->left_there = waits_in_inbox(w, qp->left_there, peer);
	if (payload && (qp->left_there || (!qp->left_here && !can_run_payload(w, peer)))) {
		qp->left_there = true;
		return peer;
	}
	if (!qp->left_here && is_end)
		return 0;
	qp->left_here = true;
	return owner;
}

/*
 * A packet that is never answered is run by one of its two ends, in order. A datagram's payload is
 * in the arena; any other is in the memory of the sender.
 */
static uint16_t runner_of_unanswered(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	const struct emu_qp *to = emu_qp_at(w, emu_unreliable_to(w, event));
	uint16_t owner = emu_process_of(w, qp->adapter), other = emu_process_of(w, to->adapter);
	bool reads = qp->kind == NIC_QP_DATAGRAM || can_run_payload(w, owner);

	qp->left_here = waits_in_inbox(w, qp->left_here, owner);
	if (!owner || (!qp->left_here && (owner == w->process || (other == w->process && reads))))
		return 0;
	qp->left_here = true;
	return owner;
}

/* The process whose inbox an event has to go to; 0: this process runs it now. */
static uint16_t runner_of(struct emu_world *w, const struct emu_event *event)
{
	enum emu_event_kind kind = emu_event_kind(event);
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint16_t owner = emu_process_of(w, qp->adapter);

	/* A timer stays on the event queue until it runs, for emu_timer_stop looks for it there. */
	if (emu_is_timer(event))
		return 0;
	if (kind == EMU_EV_UNANSWERED)
		return runner_of_unanswered(w, event);
	if (!ends_in_upcall(kind))
		return runner_of_packet(w, qp, has_payload(kind));
	if (kind == EMU_EV_CM_REQUEST)
		owner = emu_process_of(w, EMU_AT(w->fab->conn, event->index).to);
	return owner == w->process ? 0 : owner;
}

/*
 * A process could not leave a packet to another one for want of memory, and has put it back on the
 * event queue for a moment later. Until then the packets behind it are put back, too.
 */
static bool is_put_back(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp);

	return qp->again_at > w->fab->now && qp->again_at - w->fab->now <= AGAIN_NS &&
	       !emu_is_timer(event) && !ends_in_upcall(emu_event_kind(event));
}

void emu_run_at(struct emu_world *w, uint16_t process, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (emu_inbox_run(w, process, event))
		return;
	qp->again_at = w->fab->now + AGAIN_NS;
	emu_reschedule(w, event, qp->again_at);
}

/* A process that dies while it runs an event has changed nothing: recover.h. */
static void run_own(struct emu_world *w, struct emu_event *event)
{
	emu_section_event(w, event);
	emu_dispatch(w, event);
	emu_section_event_done(w);
}

/*
 * An atomic needs no memory but its target's, which is this process's. One that is not expected
 * next has Sends or RDMA Writes before it that have gone on to the peer: it must not overtake them.
 */
static bool is_atomic_here(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp), *sender = emu_qp_at(w, qp->peer);

	return emu_event_kind(event) == EMU_EV_DATA && emu_mine(w, qp->adapter) &&
	       !emu_qp_stale(qp, event) && event->index == qp->rx_next &&
	       emu_wq_has(&sender->sq, event->index) &&
	       emu_rdma_is_atomic(
		       ((const struct emu_swqe *)emu_wqe(w, &sender->sq, event->index))->opcode);
}

/*
 * The process that left the event here could perhaps read the peer's memory, and this one cannot:
 * send the event on to the peer.
 */
void emu_run_left(struct emu_world *w, struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint16_t owner = emu_process_of(w, qp->adapter);
	uint16_t peer = emu_process_of(w, qp->peer_adapter);

	if (is_put_back(w, event)) {
		emu_reschedule(w, event, qp->again_at);
		return;
	}
	/* An atomic before it was passed on to the owner. */
	if (has_payload(emu_event_kind(event)) && owner != w->process &&
	    waits_in_inbox(w, qp->left_here, owner)) {
		emu_run_at(w, owner, event);
		return;
	}
	if (!has_payload(emu_event_kind(event)) || can_run_payload(w, peer) ||
	    is_atomic_here(w, event)) {
		run_own(w, event);
		return;
	}
	qp->left_there = true;
	emu_run_at(w, peer, event);
}

/* Garbage from another process: what was to happen is no longer known, to any process. */
static void drop_events(struct emu_world *w)
{
	w->fab->events = 0;
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		if (!emu_process(w, i)->used)
			continue;
		emu_process(w, i)->overrun = true;
		w->membership->to_wake |= 1ul << (i - 1);
	}
}

EMU_COLD void emu_run_first(struct emu_world *w)
{
	struct emu_event event = w->fab->heap[0];
	uint16_t process;
	bool waits;

	w->steps = w->steps_most;
	if (w->fab->events > EMU_EVENTS || !emu_event_is_valid(&event)) {
		drop_events(w);
		return;
	}

	if (event.time > w->fab->now)
		w->fab->now = event.time;
	/*
	 * The event is in two places for a moment, so that a process that dies here cannot lose it.
	 */
	waits = is_put_back(w, &event);
	process = waits ? 0 : runner_of(w, &event);
	if (waits)
		emu_reschedule(w, &event, emu_qp_at(w, event.qp)->again_at);
	else if (process)
		emu_run_at(w, process, &event);
	else
		emu_section_event(w, &event);
	if (waits || process)
		emu_section_keep(w); /* its copy, if it was put back */
	emu_heap_pop(w);
	w->fab->heap[w->fab->events].order = EMU_NO_EVENT;
	if (waits || process)
		return;
	emu_dispatch(w, &event);
	emu_section_event_done(w);
}
