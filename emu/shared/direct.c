/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender's side of the direct path between processes: a Send that is delivered at the post.
 * direct.h explains why that is sound; direct_owner.c is the receiver's side.
 */
#include "direct.h"
#include "direct_pair.h"

#include <errno.h>
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/trace.h"
#include "emu/number/number.h"
#include "emu/qp.h"
#include "emu/quick.h"
#include "emu/receive.h"
#include "emu/payload/peer.h"
#include "emu/payload/reach.h"
#include "shared.h"
#include "emu/payload/inline.h"
#include "emu/payload/split.h"
#include "emu/tx.h"
#include "emu/wire/wire.h"

/* ---- a Send that is delivered at the post ---- */

struct delivery {
	struct emu_qp *from, *to;
	uint32_t index;    /* of `from` */
	struct emu_wq *wq; /* receive queue or SRQ */
	const struct emu_rwqe *rwqe;
	struct emu_cq *send_cq, *recv_cq;
	const struct nic_send_wr *wr;
	struct emu_inline_cqe *cqe; /* NULL: the completion is in the ring */
};

/*
 * Look at the peer's own receive queue for the first time in a connection. All but `get` is on a
 * line to which the peer stores when it posts or reaps, and which a look takes away from its core.
 */
static __attribute__((noinline)) void look_at_queue(struct emu_world *w, struct emu_seen *seen,
						    const struct emu_qp *to)
{
	seen->peer_epoch = to->epoch;
	seen->peer_put = to->rq.get;
	seen->peer_mask = to->rq.mask;
	seen->peer_words = to->rq.words;
	seen->peer_ring = emu_at(w, to->rq.ring);
}

/* Receives in that queue. Its put is looked at only when all that it has seen are used up. */
static EMU_HOT uint32_t count_receives(struct emu_world *w, const struct delivery *d)
{
	struct emu_seen *seen = &w->seen[d->index];
	const struct emu_qp *to = d->to;

	/* Epochs wrap, so 0 alone does not say that nothing was seen. */
	if (__builtin_expect(seen->peer_epoch != to->epoch || !seen->peer_ring, 0))
		look_at_queue(w, seen, to);
	if ((int32_t)(seen->peer_put - to->rq.get) <= 0)
		seen->peer_put = __atomic_load_n(&to->rq.put, __ATOMIC_ACQUIRE);
	return seen->peer_put - to->rq.get;
}

/*
 * The entry of a Receive in the queue that was looked at last. It is prefetched even if no queue
 * was looked at yet (peer_ring is NULL), so the address is computed as an integer.
 */
static EMU_HOT const struct emu_rwqe *seen_receive(const struct emu_seen *seen, uint32_t get)
{
	uint32_t at = (get & seen->peer_mask) * seen->peer_words;

	return (const struct emu_rwqe *)((uintptr_t)seen->peer_ring + at * sizeof(uint64_t));
}

/* The next Receive; false: there is none that the direct path can use. */
static EMU_HOT bool find_receive(struct emu_world *w, struct delivery *d)
{
	struct emu_srq *srq = emu_recv_srq(w, d->to);
	uint32_t count;

	d->wq = emu_recv_queue(d->to, srq);
	count = srq ? __atomic_load_n(&srq->wq.put, __ATOMIC_ACQUIRE) - srq->wq.get
		    : count_receives(w, d);
	if (EMU_RECV_IS_LOW(srq, count))
		return false;
	d->rwqe = srq ? emu_wqe(w, d->wq, d->wq->get)
		      : seen_receive(&w->seen[d->index], d->wq->get);
	return emu_recv_needs_no_check(w->fab, d->rwqe, d->wr->length);
}

static EMU_HOT uint8_t recv_flags(const struct delivery *d)
{
	return (uint8_t)emu_recv_flags(d->rwqe, d->wr->flags);
}

static EMU_HOT void fill_inline_cqe(const struct delivery *d)
{
	struct emu_inline_cqe *cqe = d->cqe;

	cqe->addr = d->rwqe->sge[0].addr;
	cqe->lkey = d->rwqe->sge[0].lkey;
	cqe->length = d->wr->length;
	cqe->wr_id = d->rwqe->wr_id;
	cqe->qp = d->from->peer;
	cqe->flags = recv_flags(d);
}

/* Copy the payload straight to its destination. */
static bool place_afar(struct emu_world *w, const struct delivery *d)
{
	struct emu_place to = { emu_process_of(w, d->to->adapter), d->rwqe->sge[0].addr, 0 };
	struct emu_place from = { w->process, d->wr->sge->addr, 0 };

	return to.process && emu_peer_reach(w, to.process) &&
	       emu_reach_copy(w, &to, &from, d->wr->length) == EMU_COPY_OK;
}

/* Copy a long payload together with the receiver. */
static __attribute__((noinline)) enum emu_split_placed place_split(struct emu_world *w,
								   struct delivery *d)
{
	const struct nic_sge *to = &d->rwqe->sge[0];
	const struct emu_split_way way = { .to = emu_process_of(w, d->to->adapter),
					   .to_lkey = to->lkey,
					   .to_addr = to->addr,
					   .from_addr = d->wr->sge->addr,
					   .length = d->wr->length };
	enum emu_split_placed placed = emu_split_place(w, d->recv_cq, &way);

	if (placed != EMU_SPLIT_PLACED)
		return placed;
	d->cqe = emu_inline_at(w, d->recv_cq, d->recv_cq->put);
	fill_inline_cqe(d);
	d->cqe->flags |= EMU_INLINE_SPLIT;
	return EMU_SPLIT_PLACED;
}

/*
 * Copy a payload of several segments, if it fits into an inline CQE or staging buffer. Immediate
 * data takes the place of the staging buffer's number, so a Send with it has to fit into the CQE.
 */
static EMU_COLD bool place_gathered(struct emu_world *w, struct delivery *d)
{
	const struct emu_sgl from = { .sge = d->wr->sge,
				      .num_sge = d->wr->num_sge,
				      .pd = d->from->pd,
				      .access = NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE,
				      .adapter = d->from->adapter };
	uint32_t number = d->recv_cq->put;

	if (from.num_sge > d->from->max_send_sge ||
	    ((d->wr->flags & NIC_WR_IMM) && d->wr->length > EMU_INLINE_BYTES) ||
	    !emu_direct_has_room(d->recv_cq, EMU_INLINE_CQES) ||
	    !emu_inline_gather(w, d->recv_cq, number, &from, d->wr->length))
		return false;
	d->cqe = emu_inline_at(w, d->recv_cq, number);
	fill_inline_cqe(d);
	if (d->wr->flags & NIC_WR_IMM) {
		d->cqe->flags |= NIC_WR_IMM;
		d->cqe->imm = d->wr->imm;
	}
	return true;
}

/*
 * Copy the payload to an inline CQE (or staging buffer), or a long one straight to its destination.
 */
static EMU_HOT bool place_payload(struct emu_world *w, struct delivery *d, bool full)
{
	uint32_t number = d->recv_cq->put, length = d->wr->length;
	enum emu_split_placed placed = EMU_SPLIT_NOT;

	if (full && (d->wr->num_sge != 1 || (d->wr->flags & NIC_WR_IMM)))
		return place_gathered(w, d);
	if (!emu_direct_has_room(d->recv_cq, EMU_INLINE_CQES))
		return place_afar(w, d);
	if (__builtin_expect(length >= EMU_SPLIT_LEAST, 0)) {
		placed = place_split(w, d);
		if (placed == EMU_SPLIT_PLACED)
			return true;
	}
	if (!emu_inline_load(w, d->recv_cq, number, d->wr->sge->addr, length)) {
		if (placed != EMU_SPLIT_LATE)
			return place_afar(w, d);
		/* The receiver may still write to its buffer: no other way may lead there now. */
		d->from->tx_fast = false;
		emu_qp_break_soon(w, d->from);
		return false;
	}
	d->cqe = emu_inline_at(w, d->recv_cq, number);
	fill_inline_cqe(d);
	return true;
}

/* The record from which emu_direct_undo rolls back. */
static EMU_HOT void record_delivery(struct emu_world *w, const struct delivery *d)
{
	struct emu_delivery *kept = &w->own->delivery;

	kept->qp = d->from->peer;
	kept->get = d->wq->get;
	kept->taken = d->to->taken;
	kept->rx_taken = d->to->rx_taken;
	kept->rx_completed = d->to->rx_completed;
	kept->rx_next = d->to->rx_next;
	kept->put = d->recv_cq->put;
	kept->trace_length = w->fab->trace_length;
	__asm__ volatile("" ::: "memory");
	kept->running = true;
	__asm__ volatile("" ::: "memory");
}

static EMU_HOT void consume_receive(struct emu_world *w, const struct delivery *d)
{
	struct emu_qp *to = d->to;
	struct emu_cqe *cqe;

	emu_recv_take_whole(to, d->wq, to->rx_next);
	if (d->cqe)
		return;
	cqe = (struct emu_cqe *)emu_at(w, d->recv_cq->ring) + (d->recv_cq->put & d->recv_cq->mask);
	*cqe = (struct emu_cqe){ .wr_id = d->rwqe->wr_id,
				 .qp = d->from->peer,
				 .length = d->wr->length,
				 .opcode = NIC_OP_RECV,
				 .status = NIC_WC_SUCCESS,
				 .flags = recv_flags(d) };
}

/*
 * The store to the number of the inline CQE delivers the message, or the one to put if there is
 * none. Both are the only stores to lines at which the owner may be polling: each store would take
 * them away from its core.
 */
static EMU_HOT void publish_completion(struct emu_world *w, const struct delivery *d)
{
	struct emu_cq *cq = d->recv_cq;
	uint32_t put = cq->put;

	if (d->cqe)
		emu_inline_publish(d->cqe, put);
	__atomic_store_n(&cq->put, put + 1, __ATOMIC_RELEASE);
	if (!d->cqe)
		__atomic_store_n(&cq->ring_end, put + 1, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	w->own->delivery.running = false;
}

/*
 * The lines of the general path, all at one time. One packet only: those of a longer message arrive
 * one by one. They are written before the message counts as delivered: as soon as its owner sees it
 * there, it takes the lock for a line of its own.
 */
static __attribute__((noinline)) void trace_delivery(struct emu_world *w, const struct delivery *d)
{
	w->fab->now = emu_clock_real(w);
	emu_trace_delivered(w, d->from, d->to, d->wr, d->from->sq.put);
}

/*
 * Fetch the lines that are about to be written from other cores' caches, all at once; and, if all
 * Receives that were seen are used up, those of the queue's put and of its next entry.
 */
static void prefetch_delivery(struct emu_world *w, const struct emu_local_qp *local)
{
	const struct emu_seen *seen = &w->seen[local->base.index];
	const struct emu_qp *to = emu_qp_at(w, local->entry->peer);
	uint32_t get = __atomic_load_n(&to->rq.get, __ATOMIC_RELAXED);

	__builtin_prefetch(&w->fab->lock, 1);
	__builtin_prefetch(&to->rq.get, 1);
	if (seen->peer_put == get) {
		__builtin_prefetch(&to->rq.put);
		__builtin_prefetch(seen_receive(seen, get));
	}
}

/*
 * Likewise for later messages: where a payload goes, and its Receive. Not those of the next one,
 * whose inline CQE the owner may be polling.
 */
#define AHEAD_INLINE 2u
#define AHEAD_RECV   (2 * EMU_LINE) /* two Receives share a line */

static EMU_HOT void prefetch_later(struct emu_world *w, const struct delivery *d)
{
	const struct emu_inline_cqe *cqe =
		emu_inline_at(w, d->recv_cq, d->recv_cq->put + AHEAD_INLINE);

	__builtin_prefetch(cqe, 1);
	__builtin_prefetch((const uint8_t *)cqe + EMU_LINE, 1);
	__builtin_prefetch((const uint8_t *)d->rwqe + AHEAD_RECV);
}

/*
 * full: the Send may have several segments or immediate data. A constant, and inlined in both
 * callers, so that the short post does without the tests for these.
 */
static EMU_HOT bool deliver_send(struct emu_world *w, const struct emu_local_qp *local,
				 const struct nic_send_wr *wr, bool full)
{
	struct emu_fabric *fab = w->fab;
	struct emu_qp *from = local->entry;
	struct delivery d = { .from = from,
			      .to = emu_qp_at(w, from->peer),
			      .index = local->base.index,
			      .send_cq = &EMU_AT(fab->cq, from->send_cq),
			      .wr = wr };

	d.recv_cq = &EMU_AT(fab->cq, d.to->recv_cq);
	/* Entry 0 of the CQ table stands for "no CQ"; it never has room. */
	if (!emu_direct_is_idle(w, from, d.to) || d.send_cq == d.recv_cq ||
	    !emu_direct_is_ready(d.send_cq) || !emu_direct_is_ready(d.recv_cq) ||
	    !emu_direct_may_trace(fab, from, wr->length) || !find_receive(w, &d))
		return false;
	/* Record first: once the completion is published, the message counts as delivered. */
	record_delivery(w, &d);
	if (!place_payload(w, &d, full)) {
		emu_process(w, w->process)->delivery.running = false;
		return false;
	}
	consume_receive(w, &d);
	if (__builtin_expect(fab->trace_on, 0))
		trace_delivery(w, &d);
	publish_completion(w, &d);
	emu_direct_complete(w, from, d.index, wr, NIC_OP_SEND);
	prefetch_later(w, &d);
	return true;
}

/* A fence has nothing to wait for: no request is in flight. */
static inline bool is_plain(const struct nic_send_wr *wr)
{
	_Static_assert(NIC_OP_SEND == 0, "one test says that it is one, and without those flags");

	return (wr->opcode | (wr->flags & (NIC_WR_IMM | NIC_WR_INVALIDATE))) == 0 && wr->length > 0;
}

/* Immediate data is allowed, too, without a trace: its packets and lines have other names. */
static bool is_plain_in_full(const struct emu_fabric *fab, struct nic_send_wr wr)
{
	if (!fab->trace_on)
		wr.flags &= (uint8_t)~NIC_WR_IMM;
	return is_plain(&wr);
}

/*
 * The post of a front's careful path, which has taken the fabric's lock. In lockstep each message
 * is an event.
 */
static EMU_COLD int post_held(struct emu_world *w, struct nic_qp *base,
			      const struct nic_send_wr *wr)
{
	bool done = false;

	if (wr->opcode == NIC_OP_WRITE && !emu_lockstep(w))
		done = emu_direct_write(base, wr);
	else if (is_plain_in_full(w->fab, *wr) && !emu_lockstep(w))
		done = deliver_send(w, emu_local_qp(base), wr, true);
	return done ? 0 : emu_post_send(base, wr);
}

int emu_direct_send(struct nic_qp *base, const struct nic_send_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	bool done;

	if (w->membership->held)
		return post_held(w, base, wr);
	if (!is_plain(wr) || wr->num_sge != 1)
		return -EAGAIN;
	prefetch_delivery(w, emu_local_qp(base));
	emu_shared_take(w);
	done = deliver_send(w, emu_local_qp(base), wr, false);
	emu_shared_release_clean(w);
	return done ? 0 : -EAGAIN;
}

/* ---- rollback after the sender died ---- */

/* Has the completion been published? If so, what follows that store is made up for. */
static bool is_published(struct emu_world *w, struct emu_cq *cq, uint32_t put)
{
	if (cq->put == put && !emu_inline_is_for(emu_inline_at(w, cq, put), put))
		return false;
	if (cq->put == put)
		__atomic_store_n(&cq->put, put + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&cq->ring_end, cq->put, __ATOMIC_RELAXED);
	return true;
}

/* Does the receiver still copy a piece of the payload, whose sender is dead? */
static bool is_late(struct emu_world *w, const struct emu_qp *to, const struct emu_cq *cq,
		    uint32_t put)
{
	uint16_t receiver = emu_process_of(w, to->adapter);

	return emu_inline_look(emu_inline_at(w, cq, put)) == emu_split_mark(put) && receiver &&
	       !emu_split_wait(emu_process(w, receiver), EMU_SPLIT_PATIENT_LOOKS);
}

/* The Receive completes with an error, without payload. */
static void lose_receive(struct emu_world *w, const struct emu_delivery *kept, struct emu_wq *wq,
			 struct emu_cq *cq)
{
	const struct emu_rwqe *rwqe = emu_wqe(w, wq, kept->get);
	struct emu_inline_cqe *cqe = emu_inline_at(w, cq, kept->put);

	cqe->wr_id = rwqe->wr_id;
	cqe->lkey = cqe->length = 0;
	cqe->qp = kept->qp;
	cqe->flags = EMU_INLINE_LOST;
	emu_recv_take_whole(emu_qp_at(w, kept->qp), wq, kept->rx_next);
	emu_inline_publish(cqe, kept->put);
	is_published(w, cq, kept->put);
}

static void undo_delivery(struct emu_world *w, const struct emu_delivery *kept)
{
	struct emu_fabric *fab = w->fab;
	struct emu_qp *to = emu_qp_at(w, kept->qp);
	struct emu_wq *wq = to->srq ? &EMU_AT(fab->srq, to->srq).wq : &to->rq;
	struct emu_cq *cq = &EMU_AT(fab->cq, to->recv_cq);

	if (is_published(w, cq, kept->put))
		return;
	wq->get = kept->get;
	to->taken = kept->taken;
	to->rx_taken = kept->rx_taken;
	to->rx_completed = kept->rx_completed;
	to->rx_next = kept->rx_next;
	if (is_late(w, to, cq, kept->put)) {
		lose_receive(w, kept, wq, cq);
		return;
	}
	emu_inline_drop(w, cq, kept->put);
	emu_trace_take_back(w, kept->trace_length);
}

void emu_direct_undo(struct emu_world *w)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		struct emu_delivery *kept = &emu_process(w, i)->delivery;

		if (kept->running && kept->qp <= EMU_QPS)
			undo_delivery(w, kept);
		kept->running = false;
	}
}
