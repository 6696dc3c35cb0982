/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick.c - the short way of an ordinary message: arrival, acknowledgement, poll. quick_post.c has
 * its posts.
 *
 * Nearly every message is a Send of one segment and one packet that is expected next, finds a
 * Receive of one segment, and needs no check of a key, limit or rule. Each function, here and in
 * quick_post.c, asks for all of its conditions before it changes anything. If one does not hold,
 * the general function does the work instead: emu_post_send (tx.c), emu_post_recv (srq.c),
 * emu_respond (nic_model.c: one step after the other), emu_tx_ack (tx.c). The results are the same:
 * tests/random/test_ways.c compares them. receive.h, cq.h and link.h have the code that is shared
 * with the general functions and with direct delivery between processes (emu/shared/direct.c).
 *
 * A program polls for the completion of a message that is in flight. If the first event that the
 * poll runs completes a request of the CQ, the completion is handed over from the request itself.
 * It is never written to the CQ, where the same poll would read it right after the store.
 */
#include "quick.h"

#include "cq.h"
#include "emu/fabric/clock.h"
#include "emu/wire/link.h"
#include "emu/wire/wire.h"
#include "mem.h"
#include "nic_model.h"
#include "qp.h"
#include "receive.h"
#include "respond.h"
#include "tx.h"

/* On the path of every message. */
#define HOT inline __attribute__((always_inline))

/* ---- a message arrives ---- */

/* A completion that is handed to the poll which ran its event. */
struct completion {
	struct emu_local_qp *qp;
	uint64_t wr_id;
	uint32_t length;
	uint8_t opcode, flags;
};

/* All QPs and CQs of a private fabric are this process's, entry 0 included, which means none. */
static inline struct emu_local_qp *qp_at(struct emu_world *w, uint32_t index)
{
	assert(index <= EMU_QPS);
	return EMU_KEEP(&w->qp[index]);
}

/* gcc would add the place of the table before the shift, by another instruction. */
static HOT const struct emu_local_cq *cq_at(const struct emu_world *w, uint32_t index)
{
	uint64_t at = (uint64_t)index * sizeof(w->cq[0]);

	return (const void *)((const char *)w->cq + EMU_KEEP(at));
}

/*
 * Is CQ `index` the polled one, and may its next completion go to the poll without being queued? An
 * armed CQ has to notify. The polled one has room: it is empty, its limit not 0 (host/nic.h).
 */
static HOT bool goes_to(const struct emu_world *w, const struct emu_local_cq *polled,
			uint32_t index)
{
	return cq_at(w, index) == polled && !polled->entry->armed;
}

/* Time moves on to that event, the first of the FIFO, which leaves the queue. */
static HOT void take_first(struct emu_world *w, const struct emu_event *e)
{
	w->fab->now = e->time;
	w->fifo.first++;
}

/* Add the completion of a successful request to the CQ. */
static HOT void complete_one(struct emu_world *w, uint32_t cq, uint32_t qp, uint64_t wr_id,
			     uint32_t length, enum nic_opcode opcode, uint32_t flags)
{
	const struct emu_local_cq *local = cq_at(w, cq);

	emu_cq_push_in(w, local->entry, local->ring, qp, wr_id, length, opcode, NIC_WC_SUCCESS,
		       flags);
}

/*
 * The keys of both ends were valid at the post, and no key has become invalid since. Only lengths
 * are left to check.
 */
static inline bool keys_hold(const struct emu_fabric *fab, const struct emu_swqe *swqe,
			     const struct emu_rwqe *wqe)
{
	return swqe->opcode == NIC_OP_SEND && swqe->mem_epoch == fab->mem_epoch &&
	       swqe->num_sge == 1 && emu_recv_needs_no_check(fab, wqe, swqe->length);
}

_Static_assert(offsetof(struct emu_event, packet) == offsetof(struct emu_event, index) + 4 &&
		       offsetof(struct emu_qp, rx_packet) == offsetof(struct emu_qp, rx_next) + 4,
	       "is_expected compares index and packet at once");

/* Is it the packet that comes next? On a connection rx_packet is 0. */
static inline bool is_expected(const struct emu_qp *qp, const struct emu_event *e)
{
	return memcmp((const char *)e + offsetof(struct emu_event, index),
		      (const char *)qp + offsetof(struct emu_qp, rx_next), 8) == 0;
}

/*
 * The whole responder for an ordinary message, whose event is DATA. polled: the event is still the
 * first of the FIFO, and its completion is not queued but goes to *done. False: it is no ordinary
 * message or, with `polled`, its completion is not for that CQ, and nothing has changed but, if the
 * copy failed, a part of the Receive's buffer.
 */
static HOT bool receive_at_once(struct emu_world *w, const struct emu_event *e,
				const struct emu_local_cq *polled, struct completion *done,
				bool traced)
{
	struct emu_local_qp *local = qp_at(w, e->qp), *peer;
	struct emu_qp *qp = local->entry;
	const struct emu_swqe *swqe;
	const struct emu_rwqe *wqe;
	struct emu_srq *srq;
	struct emu_wq *wq;
	uint32_t index;

	if (qp->epoch != e->epoch || !is_expected(qp, e) || !qp->rx_fast)
		return false;
	if (polled && !goes_to(w, polled, qp->recv_cq))
		return false;
	peer = qp_at(w, qp->peer);
	if (peer->entry->epoch != qp->peer_epoch)
		return false;
	/* The expected request has not been executed, so it is still on the sender's queue. */
	swqe = emu_wqe_in(peer->sq, &peer->entry->sq, e->index);
	srq = emu_recv_srq(w, qp);
	wq = EMU_KEEP(emu_recv_queue(qp, srq));
	if (EMU_RECV_IS_LOW(srq, emu_wq_count(wq)))
		return false;
	/*
	 * An empty message does not qualify either: 0 - 1 is more than any MTU. That of the sender
	 * is the same (emu_qp_assess).
	 */
	if (swqe->length - 1 >= qp->mtu)
		return false;
	wqe = srq ? emu_wqe(w, wq, wq->get) : emu_wqe_in(local->rq, wq, wq->get);
	/* If the program has unmapped a buffer, the step that copies it again finds out which. */
	if (!keys_hold(w->fab, swqe, wqe) ||
	    __builtin_expect(emu_guard_copy(emu_memory(wqe->sge[0].addr),
					    emu_memory(swqe->sge[0].addr), swqe->length),
			     0))
		return false;
	if (polled)
		take_first(w, e);
	emu_recv_take_whole(qp, wq, e->index);
	if (traced)
		emu_trace_arrival(w, qp, peer->entry, e->index, swqe->length);
	index = e->index; /* if the CQ overflows, another event may take the place of this one */
	if (!polled)
		complete_one(w, qp->recv_cq, e->qp, wqe->wr_id, swqe->length, NIC_OP_RECV,
			     emu_recv_flags(wqe, swqe->flags));
	emu_qp_tell_peer(w, qp, EMU_EV_ACK, index, 0);
	if (polled)
		*done = (struct completion){ local, wqe->wr_id, swqe->length, NIC_OP_RECV,
					     (uint8_t)emu_recv_flags(wqe, swqe->flags) };
	return true;
}

/* Event DATA, which has left the queue. */
static __attribute__((noinline)) void run_data(struct emu_world *w, const struct emu_event *e,
					       bool traced)
{
	if (!receive_at_once(w, e, NULL, NULL, traced) && qp_at(w, e->qp)->entry->epoch == e->epoch)
		emu_respond(w, qp_at(w, e->qp)->entry, e->index, e->packet, EMU_EV_DATA);
}

/* ---- its acknowledgement arrives ---- */

/*
 * The acknowledgement of the oldest request, event ACK; `polled` and the result as above. In the
 * ordinary case it calls no function, so that a poll has no register to save.
 */
static HOT bool acknowledge_at_once(struct emu_world *w, const struct emu_event *e,
				    const struct emu_local_cq *polled, struct completion *done,
				    bool traced)
{
	struct emu_local_qp *local = qp_at(w, e->qp);
	struct emu_qp *qp = local->entry;
	const struct emu_swqe *wqe;

	/* It is of the oldest request, which is there. */
	if (qp->epoch != e->epoch || e->index != qp->sq.get || e->index == qp->sq.put ||
	    !qp->tx_fast)
		return false;
	wqe = emu_wqe_in(local->sq, &qp->sq, e->index);
	if (polled && ((wqe->flags & NIC_WR_SUPPRESS) || !goes_to(w, polled, qp->send_cq)))
		return false;
	if (polled)
		take_first(w, e);
	if (traced)
		emu_trace_acked(w, qp, e->index,
				emu_wire_psn(w, qp, e->index, emu_wire_span(w, qp, wqe) - 1),
				wqe->length, wqe->opcode);
	qp->sq.get = e->index + 1;
	if (__builtin_expect(qp->rnr_tries, 0)) /* no store to its line: layout.h */
		qp->rnr_tries = 0;
	if (polled)
		*done = (struct completion){ local, wqe->wr_id, wqe->length, wqe->opcode,
					     wqe->flags & NIC_WR_QUIET };
	else if (!(wqe->flags & NIC_WR_SUPPRESS))
		complete_one(w, qp->send_cq, e->qp, wqe->wr_id, wqe->length, wqe->opcode,
			     wqe->flags & NIC_WR_QUIET);
	return true;
}

/* Event ACK, which has left the queue. */
static __attribute__((noinline)) void run_ack(struct emu_world *w, const struct emu_event *e,
					      bool traced)
{
	if (!acknowledge_at_once(w, e, NULL, NULL, traced))
		emu_tx_ack(w, e->qp, e->epoch, e->index);
}

/* ---- events ---- */

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

/* Is the first event of the FIFO there, and the next, and due between now and then? */
static HOT bool first_is_due(const struct emu_world *w, const struct emu_event *e,
			     uint64_t deadline)
{
	return e != w->fifo.end && !w->fab->events && e->time <= deadline && e->time >= w->fab->now;
}

/* Run that one if it is of a message, while there is a trace and packets are not observed. */
static HOT bool run_traced(struct emu_world *w, uint64_t deadline)
{
	const struct emu_event *e = w->fifo.first;
	enum emu_event_kind kind;

	if (w->fab->observed > 0 || !w->fab->trace_on || !first_is_due(w, e, deadline))
		return false;
	kind = emu_event_kind(e);
	if (kind != EMU_EV_DATA && kind != EMU_EV_ACK)
		return false;
	take_first(w, e);
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
static HOT bool first_is_next(const struct emu_world *w, const struct emu_event *e,
			      uint64_t deadline)
{
	const struct emu_fabric *fab = w->fab;

	return e != w->fifo.end && !(fab->events | emu_is_watched(fab)) && e->time <= deadline &&
	       e->time >= fab->now;
}

/* Run the next event, which is due by then, or return false. Those of messages in line. */
static HOT bool run_until(struct emu_world *w, uint64_t deadline)
{
	const struct emu_event *e = w->fifo.first;

	if (!first_is_next(w, e, deadline))
		return run_next(w, deadline);
	if (emu_event_kind_and_flags(e) == EMU_EV_DATA) {
		take_first(w, e);
		run_data(w, e, false);
	} else if (emu_event_kind_and_flags(e) == EMU_EV_ACK) {
		take_first(w, e);
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
static HOT bool spin_until(struct emu_world *w, const struct emu_cq *cq, uint64_t deadline)
{
	while (cq->put == cq->get) {
		if (!run_until(w, deadline)) {
			w->fab->now = deadline;
			return false;
		}
	}
	return true;
}

static HOT uint64_t poll_deadline(const struct emu_world *w, const struct nic_cq *base)
{
	return w->fab->now + base->nic->poll_quantum_ns;
}

/*
 * Run the first event of the FIFO, which is due and next, if it is of a message whose completion
 * goes to the polled CQ. False: nothing has changed.
 */
static HOT bool run_for_poll(struct emu_world *w, const struct emu_local_cq *polled,
			     struct completion *done, bool traced)
{
	const struct emu_event *e = w->fifo.first;

	if (emu_event_kind_and_flags(e) == EMU_EV_DATA)
		return receive_at_once(w, e, polled, done, traced);
	return emu_event_kind_and_flags(e) == EMU_EV_ACK &&
	       acknowledge_at_once(w, e, polled, done, traced);
}

/* Run the first event of a poll, traced or not. Packets must not be observed. */
static HOT bool run_first_for_poll(struct emu_world *w, const struct emu_local_cq *polled,
				   uint64_t deadline, struct completion *done)
{
	if (!first_is_due(w, w->fifo.first, deadline) || w->fab->observed > 0)
		return false;
	return w->fab->trace_on ? run_for_poll(w, polled, done, true)
				: run_for_poll(w, polled, done, false);
}

/* Is there a completion, now or after the events of one poll quantum? */
static HOT bool spin_for_one(const struct emu_local_cq *local, struct emu_world *w,
			     const struct emu_cq *cq)
{
	if (cq->put == cq->get && emu_clock_follows(w, local->base.nic))
		return spin_following(local);
	return spin_until(w, cq, poll_deadline(w, &local->base));
}

bool emu_cq_spin(struct nic_cq *base, struct nic_wc *wc)
{
	const struct emu_local_cq *local = emu_local_cq(base);
	struct emu_world *w = local->world;
	struct emu_cq *cq = local->entry;
	struct completion done;

	if (cq->put == cq->get) {
		if (!__builtin_expect(base->nic->threaded, 0) &&
		    run_first_for_poll(w, local, poll_deadline(w, base), &done)) {
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

static HOT int hand_over(struct nic_cq *base, void *out, const struct completion *done)
{
	return base->nic->up->completed(out, base->ctx, &done->qp->base, done->wr_id, done->length,
					nic_wc_what(done->opcode, NIC_WC_SUCCESS));
}

static HOT int take_one(struct nic_cq *base, void *out)
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
	struct completion done;

	if (receive_at_once(w, w->fifo.first, emu_local_cq(base), &done, false))
		return hand_over(base, out, &done);
	return spin_one_until(base, out, deadline);
}

static __attribute__((noinline)) int spin_one_ack(struct nic_cq *base, void *out, uint64_t deadline)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct completion done;

	if (acknowledge_at_once(w, w->fifo.first, emu_local_cq(base), &done, false))
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
	deadline = poll_deadline(w, base);
	if (first_is_next(w, e, deadline)) {
		if (emu_event_kind_and_flags(e) == EMU_EV_DATA)
			return spin_one_data(base, out, deadline);
		if (emu_event_kind_and_flags(e) == EMU_EV_ACK)
			return spin_one_ack(base, out, deadline);
	}
	return spin_one_until(base, out, deadline);
}
