/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick.c - the short way of an ordinary message: events and polls. quick_message.h has its arrival
 * and its acknowledgement, quick_post.c its posts, quick_trace.c its polls while there is a trace.
 *
 * Nearly every message is a Send of one segment and one packet that is expected next, finds a
 * Receive of one segment, and needs no check of a key, limit or rule. Each function, here and in
 * those files, asks for all of its conditions before it changes anything. If one does not hold,
 * the general function does the work instead: emu_post_send (tx.c), emu_post_recv (srq.c),
 * emu_respond (nic_model.c: one step after the other), emu_tx_ack (tx.c). The results are the same:
 * tests/random/test_ways.c compares them. receive.h, cq.h and link.h have the code that is shared
 * with the general functions and with direct delivery between processes (emu/shared/direct.c).
 *
 * A program polls for the completion of a message that is in flight. If the first event that the
 * poll runs completes a request of the CQ, the completion is handed over from the request itself.
 * It is never written to the CQ, where the same poll would read it right after the store.
 */
#include "quick_message.h"
#include "respond.h"
#include "tx.h"

/* ---- events ---- */

/* Event DATA, which has left the queue. */
static __attribute__((noinline)) void run_data(struct emu_world *w, const struct emu_event *e,
					       bool traced)
{
	if (!emu_quick_receive(w, e, NULL, NULL, traced) &&
	    emu_quick_qp(w, e->qp)->entry->epoch == e->epoch)
		emu_respond(w, emu_quick_qp(w, e->qp)->entry, e->index, e->packet, EMU_EV_DATA);
}

/* Event ACK, which has left the queue. */
static __attribute__((noinline)) void run_ack(struct emu_world *w, const struct emu_event *e,
					      bool traced)
{
	if (!emu_quick_acknowledge(w, e, NULL, NULL, traced))
		emu_tx_ack(w, e->qp, e->epoch, e->index);
}

/*
 * Any event while packets are observed or there is a trace, or one that is neither data nor an ACK.
 */
static __attribute__((noinline)) void run_watched(struct emu_world *w, struct emu_event *event)
{
	enum emu_event_kind kind = emu_event_kind(event);

	if (w->fab->observed > 0 || kind > EMU_EV_ACK)
		emu_dispatch(w, event);
	else if (kind == EMU_EV_DATA)
		run_data(w, event, true);
	else
		run_ack(w, event, true);
}

/* Any event, from the FIFO or the heap. */
void emu_run_event(struct emu_world *w, const struct emu_event *next)
{
	struct emu_event event = *next;
	enum emu_event_kind kind = emu_event_kind(next);

	/* An event can be late only while time follows the monotonic clock. */
	if (event.time >= w->fab->now)
		w->fab->now = event.time;
	else
		assert(w->following);
	emu_queue_pop(w, next);
	if (kind > EMU_EV_ACK || emu_is_watched(w->fab))
		run_watched(w, &event);
	else if (kind == EMU_EV_DATA)
		run_data(w, &event, false);
	else
		run_ack(w, &event, false);
}

/* Run that one if it is of a message, while there is a trace and packets are not observed. */
static EMU_HOT bool run_traced(struct emu_world *w, uint64_t deadline)
{
	const struct emu_event *e = w->fifo.first;
	enum emu_event_kind kind;

	if (w->fab->observed > 0 || !w->fab->trace_on || !emu_quick_is_due(w, e, deadline))
		return false;
	kind = emu_event_kind(e);
	if (kind != EMU_EV_DATA && kind != EMU_EV_ACK)
		return false;
	emu_quick_take(w, e);
	if (kind == EMU_EV_DATA)
		run_data(w, e, true);
	else
		run_ack(w, e, true);
	return true;
}

static __attribute__((noinline)) bool run_next(struct emu_world *w, uint64_t deadline)
{
	const struct emu_event *next;

	if (run_traced(w, deadline))
		return true;
	next = emu_queue_first(w);

	if (!next || next->time > deadline)
		return false;
	emu_run_event(w, next);
	return true;
}

/*
 * Of the first event of the FIFO: is it there, and the next, and due between now and then, with
 * packets neither observed nor traced?
 */
static EMU_HOT bool first_is_next(const struct emu_world *w, const struct emu_event *e,
				  uint64_t deadline)
{
	const struct emu_fabric *fab = w->fab;

	return e != w->fifo.end && !(fab->events | emu_is_watched(fab)) && e->time <= deadline &&
	       e->time >= fab->now;
}

/* Run the next event, which is due by then, or return false. Those of messages in line. */
static EMU_HOT bool run_until(struct emu_world *w, uint64_t deadline)
{
	const struct emu_event *e = w->fifo.first;

	if (!first_is_next(w, e, deadline))
		return run_next(w, deadline);
	if (emu_event_kind_and_flags(e) == EMU_EV_DATA) {
		emu_quick_take(w, e);
		run_data(w, e, false);
	} else if (emu_event_kind_and_flags(e) == EMU_EV_ACK) {
		emu_quick_take(w, e);
		run_ack(w, e, false);
	} else {
		return run_next(w, deadline);
	}
	return true;
}

/* ---- polls ---- */

/* While time follows the monotonic clock, a poll runs due events and does not advance time. */
static EMU_COLD bool spin_following(const struct emu_local_cq *cq)
{
	struct nic *host = emu_clock_host(cq->world, cq->base.nic);

	if (host)
		emu_follow(cq->world, host);
	return cq->entry->put != cq->entry->get;
}

/* Is there a completion, now or after the events until then? */
static EMU_HOT bool spin_until(struct emu_world *w, const struct emu_cq *cq, uint64_t deadline)
{
	while (cq->put == cq->get) {
		if (!run_until(w, deadline)) {
			w->fab->now = deadline;
			return false;
		}
	}
	return true;
}

/*
 * Run the first event of the FIFO, which is due and next, if it is of a message whose completion
 * goes to the polled CQ. False: nothing has changed.
 */
static EMU_HOT bool run_for_poll(struct emu_world *w, const struct emu_local_cq *polled,
				 struct emu_quick_done *done, bool traced)
{
	const struct emu_event *e = w->fifo.first;

	if (emu_event_kind_and_flags(e) == EMU_EV_DATA)
		return emu_quick_receive(w, e, polled, done, traced);
	return emu_event_kind_and_flags(e) == EMU_EV_ACK &&
	       emu_quick_acknowledge(w, e, polled, done, traced);
}

/* Run the first event of a poll, traced or not. Packets must not be observed. */
static EMU_HOT bool run_first_for_poll(struct emu_world *w, const struct emu_local_cq *polled,
				       uint64_t deadline, struct emu_quick_done *done)
{
	if (!emu_quick_is_due(w, w->fifo.first, deadline) || w->fab->observed > 0)
		return false;
	return w->fab->trace_on ? run_for_poll(w, polled, done, true)
				: run_for_poll(w, polled, done, false);
}

/* Is there a completion, now or after the events of one poll quantum? */
static EMU_HOT bool spin_for_one(const struct emu_local_cq *local, struct emu_world *w,
				 const struct emu_cq *cq)
{
	if (cq->put == cq->get && emu_clock_follows(w, local->base.nic))
		return spin_following(local);
	return spin_until(w, cq, emu_quick_deadline(w, &local->base));
}

bool emu_cq_spin(struct nic_cq *base, struct nic_wc *wc)
{
	const struct emu_local_cq *local = emu_local_cq(base);
	struct emu_world *w = local->world;
	struct emu_cq *cq = local->entry;
	struct emu_quick_done done;

	if (cq->put == cq->get) {
		if (!__builtin_expect(base->nic->threaded, 0) &&
		    run_first_for_poll(w, local, emu_quick_deadline(w, base), &done)) {
			wc->wr_id = done.wr_id;
			wc->qp = &done.qp->base;
			wc->length = done.length;
			wc->opcode = done.opcode;
			wc->status = NIC_WC_SUCCESS;
			wc->flags = done.flags;
			return true;
		}
		if (!spin_for_one(local, w, cq))
			return false;
	}
	emu_cq_get(w, cq, local->ring, wc);
	return true;
}

/*
 * emu_spin_one and the functions to which it jumps for a message that arrives, for one that is
 * acknowledged, and for all else. Each calls the front as the last thing it does. The one for an
 * acknowledgement calls nothing else, so that it need not save registers.
 */

static EMU_HOT int hand_over(struct nic_cq *base, void *out, const struct emu_quick_done *done)
{
	return base->nic->up->completed(out, base->ctx, &done->qp->base, done->wr_id, done->length,
					nic_wc_what(done->opcode, NIC_WC_SUCCESS));
}

static EMU_HOT int take_one(struct nic_cq *base, void *out)
{
	const struct emu_local_cq *local = emu_local_cq(base);
	const struct emu_cqe *cqe = emu_cq_take(local->entry, local->ring);

	return base->nic->up->completed(out, base->ctx, emu_cqe_qp(local->world, cqe), cqe->wr_id,
					cqe->length, nic_wc_what(cqe->opcode, cqe->status));
}

/* The process has several threads: time may follow the clock, or be about to. */
static EMU_COLD int spin_one_threaded(struct nic_cq *base, void *out)
{
	if (spin_for_one(emu_local_cq(base), emu_local_cq(base)->world, emu_local_cq(base)->entry))
		return take_one(base, out);
	return base->nic->up->no_completion(out);
}

static __attribute__((noinline)) int spin_one_until(struct nic_cq *base, void *out,
						    uint64_t deadline)
{
	if (spin_until(emu_local_cq(base)->world, emu_local_cq(base)->entry, deadline))
		return take_one(base, out);
	return base->nic->up->no_completion(out);
}

static __attribute__((noinline)) int spin_one_data(struct nic_cq *base, void *out,
						   uint64_t deadline)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct emu_quick_done done;

	if (emu_quick_receive(w, w->fifo.first, emu_local_cq(base), &done, false))
		return hand_over(base, out, &done);
	return spin_one_until(base, out, deadline);
}

static __attribute__((noinline)) int spin_one_ack(struct nic_cq *base, void *out, uint64_t deadline)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct emu_quick_done done;

	if (emu_quick_acknowledge(w, w->fifo.first, emu_local_cq(base), &done, false))
		return hand_over(base, out, &done);
	return spin_one_until(base, out, deadline);
}

int emu_spin_one(struct nic_cq *base, void *out)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct emu_cq *cq = emu_local_cq(base)->entry;
	const struct emu_event *e;
	uint64_t deadline;

	if (cq->put != cq->get)
		return take_one(base, out);
	if (__builtin_expect(base->nic->threaded, 0))
		return spin_one_threaded(base, out);
	e = w->fifo.first;
	deadline = emu_quick_deadline(w, base);
	if (first_is_next(w, e, deadline)) {
		if (emu_event_kind_and_flags(e) == EMU_EV_DATA)
			return spin_one_data(base, out, deadline);
		if (emu_event_kind_and_flags(e) == EMU_EV_ACK)
			return spin_one_ack(base, out, deadline);
	}
	return spin_one_until(base, out, deadline);
}
