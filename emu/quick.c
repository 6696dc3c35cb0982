/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick.c - the short way of an ordinary message: posts, arrival, acknowledgement, poll.
 *
 * Nearly every message is a Send of one segment and one packet that is expected next, finds a
 * Receive of one segment, and needs no check of a key, limit or rule. Each function here asks for
 * all of its conditions before it changes anything. If one does not hold, the general function does
 * the work instead: emu_post_send (tx.c), emu_post_recv (srq.c), emu_respond (nic_model.c: one step
 * after the other), emu_tx_ack (tx.c). The results are the same: tests/random/test_ways.c compares
 * them. receive.h, cq.h and link.h have the code that is shared with the general functions and with
 * direct delivery between processes (emu/shared/direct.c).
 */
#include "quick.h"

#include "cq.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/record.h"
#include "emu/wire/link.h"
#include "emu/wire/wire.h"
#include "mem.h"
#include "nic_model.h"
#include "qp.h"
#include "receive.h"
#include "respond.h"
#include "tx.h"

_Static_assert(offsetof(struct emu_qp, link) == 2 * EMU_LINE &&
		       offsetof(struct emu_qp, sq_acked) == 3 * EMU_LINE,
	       "a message changes nothing on the third line of its QPs, and needs no fourth");

/* On the path of every message. */
#define HOT inline __attribute__((always_inline))

/* ---- posts ---- */

static inline struct nic_sge one_segment(uint64_t addr, uint32_t length, uint32_t lkey)
{
	return (struct nic_sge){ .addr = addr, .length = length, .lkey = lkey };
}

/*
 * The front posts in full what is no ordinary request. These have the arguments of the short posts,
 * which therefore move none of them for their sake.
 */
static EMU_COLD int send_refused(struct nic_qp *base, uint64_t addr, void *request, uint64_t wr_id)
{
	(void)addr;
	return base->nic->up->send_refused(base, request, wr_id);
}

static EMU_COLD int recv_refused(struct nic_qp *base, uint64_t addr, void *request, uint64_t wr_id)
{
	(void)addr;
	return base->nic->up->recv_refused(base, request, wr_id);
}

/*
 * sq_next: if earlier requests wait, this one waits behind them. Nothing is traced: the host's path
 * would be another one (host/path.c).
 */
static inline bool can_send_one(const struct emu_local_qp *local, uint32_t length)
{
	const struct emu_qp *qp = local->entry;

	return qp->tx_fast && qp->sq_next == qp->sq.put && emu_wq_count(&qp->sq) < qp->sq.max &&
	       length <= qp->mtu && emu_clock_has_much_room(local->world);
}

int emu_send_one(struct nic_qp *base, uint64_t addr, void *request, uint64_t wr_id, uint32_t length,
		 uint32_t lkey)
{
	struct emu_local_qp *local;
	struct emu_fabric *fab;
	struct emu_swqe *wqe;
	struct emu_qp *qp;
	uint64_t arrival;
	uint32_t put;

	if (!can_send_one(emu_local_qp(base), length))
		return send_refused(base, addr, request, wr_id);
	/* What the test loaded is loaded again: there are no registers to keep it in. */
	local = EMU_KEEP(emu_local_qp(base));
	local->base.nic->idle = 0;
	qp = local->entry;
	fab = local->world->fab;
	put = qp->sq.put;
	wqe = emu_wqe_in(local->sq, &qp->sq, put);
	wqe->wr_id = wr_id;
	wqe->mem_epoch = fab->mem_epoch;
	EMU_ALONE(wqe->mem_epoch);
	wqe->length = length;
	EMU_ALONE(wqe->length);
	wqe->message = put + 1;
	wqe->opcode = NIC_OP_SEND;
	wqe->flags = 0;
	wqe->num_sge = 1;
	wqe->sge[0] = one_segment(addr, length, lkey);
	qp->sq.put = qp->sq_next = put + 1;
	arrival = emu_link_transmit(fab, EMU_KEEP(&EMU_AT(fab->link, qp->link)), length, length);
	emu_schedule(local->world, arrival, EMU_EV_DATA, qp->peer, qp->peer_epoch, put, 0);
	return 0;
}

int emu_recv_one(struct nic_qp *base, uint64_t addr, void *request, uint64_t wr_id, uint32_t length,
		 uint32_t lkey)
{
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_rwqe *wqe;

	if (!qp->rq_fast || emu_wq_count(&qp->rq) >= qp->rq.max)
		return recv_refused(base, addr, request, wr_id);
	base->nic->idle = 0;
	wqe = emu_wqe_in(emu_local_qp(base)->rq, &qp->rq, qp->rq.put++);
	wqe->wr_id = wr_id;
	wqe->mem_epoch = emu_local_qp(base)->world->fab->mem_epoch;
	wqe->num_sge = 1;
	wqe->flags = 0;
	wqe->sge[0] = one_segment(addr, length, lkey);
	return 0;
}

/* ---- a message arrives ---- */

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

/* All QPs and CQs of a private fabric are this process's, entry 0 included, which means none. */
static inline struct emu_local_qp *qp_at(struct emu_world *w, uint32_t index)
{
	assert(index <= EMU_QPS);
	return EMU_KEEP(&w->qp[index]);
}

/* Add the completion of a successful request to the CQ. */
static HOT void complete_one(struct emu_world *w, uint32_t cq, uint32_t qp, uint64_t wr_id,
			     uint32_t length, enum nic_opcode opcode, uint32_t flags)
{
	/* gcc would add the place of the table before the shift, by another instruction. */
	uint64_t at = (uint64_t)cq * sizeof(w->cq[0]);
	const struct emu_local_cq *local = (const void *)((const char *)w->cq + EMU_KEEP(at));

	emu_cq_push_in(w, local->entry, local->ring, qp, wr_id, length, opcode, NIC_WC_SUCCESS,
		       flags);
}

/* The program has unmapped one of the two buffers. The step that copies finds out which. */
static EMU_COLD void copy_failed(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	emu_recv_put_back_whole(qp, emu_recv_queue(qp, emu_recv_srq(w, qp)), index);
	emu_respond(w, qp, index, 0, EMU_EV_DATA);
}

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

/* The whole responder for an ordinary message. False: it is none, and nothing has changed. */
static HOT bool receive_at_once(struct emu_world *w, const struct emu_local_qp *local,
				uint32_t qp_index, const struct emu_swqe *swqe, uint32_t index,
				bool traced)
{
	struct emu_fabric *fab = w->fab;
	struct emu_qp *qp = local->entry;
	struct emu_srq *srq = emu_recv_srq(w, qp);
	struct emu_wq *wq = EMU_KEEP(emu_recv_queue(qp, srq));
	const struct emu_rwqe *wqe;

	if (EMU_RECV_IS_LOW(srq, emu_wq_count(wq)))
		return false;
	/*
	 * An empty message does not qualify either: 0 - 1 is more than any MTU. That of the sender
	 * is the same (emu_qp_assess).
	 */
	if (swqe->length - 1 >= qp->mtu)
		return false;
	wqe = srq ? emu_wqe(w, wq, wq->get) : emu_wqe_in(local->rq, wq, wq->get);
	if (!keys_hold(fab, swqe, wqe))
		return false;
	emu_recv_take_whole(qp, wq, index);
	if (__builtin_expect(emu_guard_copy(emu_memory(wqe->sge[0].addr),
					    emu_memory(swqe->sge[0].addr), swqe->length),
			     0)) {
		copy_failed(w, qp, index);
		return true;
	}
	if (traced)
		emu_trace_arrival(w, qp, EMU_KEEP(&w->qp[qp->peer])->entry, index, swqe->length);
	complete_one(w, qp->recv_cq, qp_index, wqe->wr_id, swqe->length, NIC_OP_RECV,
		     emu_recv_flags(wqe, swqe->flags));
	emu_qp_tell_peer(w, qp, EMU_EV_ACK, index, 0);
	return true;
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

/* Event DATA, which has left the queue. */
static HOT void run_data(struct emu_world *w, const struct emu_event *e, bool traced)
{
	uint32_t qp_index = e->qp, index = e->index, packet = e->packet;
	const struct emu_local_qp *local = qp_at(w, qp_index), *peer;
	struct emu_qp *qp = local->entry;

	if (qp->epoch != e->epoch)
		return;
	peer = qp_at(w, qp->peer);
	/* The expected request has not been executed, so it is still on the sender's queue. */
	if (is_expected(qp, e) && qp->rx_fast && peer->entry->epoch == qp->peer_epoch &&
	    receive_at_once(w, local, qp_index, emu_wqe_in(peer->sq, &peer->entry->sq, index),
			    index, traced))
		return;
	emu_respond(w, qp, index, packet, EMU_EV_DATA);
}

/* ---- its acknowledgement arrives ---- */

void emu_trace_acked(struct emu_world *w, const struct emu_qp *qp, uint32_t index, uint32_t psn,
		     uint32_t length, enum nic_opcode opcode)
{
	const struct emu_qp *peer = emu_qp_at(w, qp->peer);

	emu_record_put(w, EMU_RECORD_ACKED, peer->noun | qp->noun << 4, qp->peer_adapter,
		       qp->adapter, peer->name, qp->name, index + 1, psn, length, (uint32_t)opcode);
}

/* Event ACK, which has left the queue. */
static HOT void run_ack(struct emu_world *w, const struct emu_event *e, bool traced)
{
	uint32_t qp_index = e->qp, index = e->index;
	const struct emu_local_qp *local = qp_at(w, qp_index);
	struct emu_qp *qp = local->entry;
	const struct emu_swqe *wqe;

	/* It is of the oldest request, which is there. */
	if (qp->epoch != e->epoch || index != qp->sq.get || index == qp->sq.put || !qp->tx_fast) {
		emu_tx_ack(w, qp_index, e->epoch, index);
		return;
	}
	wqe = emu_wqe_in(local->sq, &qp->sq, index);
	if (traced)
		emu_trace_acked(w, qp, index,
				emu_wire_psn(w, qp, index, emu_wire_span(w, qp, wqe) - 1),
				wqe->length, wqe->opcode);
	qp->sq.get = index + 1;
	if (__builtin_expect(qp->rnr_tries, 0)) /* no store to its line: layout.h */
		qp->rnr_tries = 0;
	if (!(wqe->flags & NIC_WR_SUPPRESS))
		complete_one(w, qp->send_cq, qp_index, wqe->wr_id, wqe->length, wqe->opcode,
			     wqe->flags & NIC_WR_QUIET);
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

/* Time moves on to that event, the first of the FIFO, which leaves the queue. */
static HOT void take_first(struct emu_world *w, const struct emu_event *e)
{
	w->fab->now = e->time;
	w->fifo.first++;
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

/* Is there a completion, now or after the events of one poll quantum? */
static HOT bool spin_until_one(const struct emu_local_cq *local, struct emu_world *w,
			       const struct emu_cq *cq)
{
	uint64_t deadline;

	if (cq->put != cq->get)
		return true;
	if (emu_clock_follows(w, local->base.nic))
		return spin_following(local);
	deadline = w->fab->now + local->base.nic->poll_quantum_ns;
	do {
		if (!run_until(w, deadline)) {
			w->fab->now = deadline;
			return false;
		}
	} while (__builtin_expect(cq->put == cq->get, 0));
	return true;
}

bool emu_cq_spin(struct nic_cq *base, struct nic_wc *wc)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct emu_cq *cq = emu_local_cq(base)->entry;

	if (!spin_until_one(emu_local_cq(base), w, cq))
		return false;
	emu_cq_get(w, cq, emu_local_cq(base)->ring, wc);
	return true;
}

int emu_spin_one(struct nic_cq *base, void *out)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct emu_cq *cq = emu_local_cq(base)->entry;
	const struct emu_cqe *cqe;

	if (!spin_until_one(emu_local_cq(base), w, cq))
		return base->nic->up->no_completion(out);
	cqe = emu_cq_take(cq, emu_local_cq(base)->ring);
	return base->nic->up->completed(out, base->ctx, emu_cqe_qp(w, cqe), cqe->wr_id, cqe->length,
					nic_wc_what(cqe->opcode, cqe->status));
}
