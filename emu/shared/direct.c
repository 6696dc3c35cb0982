/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The direct path between processes: a Send that is delivered at the post, and the owner's posts
 * and polls without the fabric's lock. direct.h explains why that is sound.
 */
#include "direct.h"

#include <errno.h>
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "emu/lockstep/lockstep.h"
#include "emu/mem.h"
#include "emu/qp.h"
#include "emu/receive.h"
#include "peer.h"
#include "reach.h"
#include "shared.h"
#include "inline.h"
#include "emu/srq.h"
#include "emu/tx.h"
#include "emu/wire/wire.h"

/* ---- polling a CQ ---- */

/*
 * May a completion be dequeued without the lock? Not while an event that may be rolled back changes
 * the CQ, nor while the inbox may hold the completion's payload, which is loaded after put and so
 * is at least as new.
 */
static bool is_whole(struct emu_world *w, uint64_t look)
{
	return !emu_cq_was_in_event(look) &&
	       !__atomic_load_n(&emu_process(w, w->process)->inbox, __ATOMIC_RELAXED);
}

/* Another process may have written garbage: completions are only of QPs of this process. */
static bool is_own(const struct emu_world *w, uint32_t qp)
{
	return __builtin_expect(qp <= EMU_QPS && w->qp[qp].base.nic, 1);
}

static bool take_inline_cqe(struct emu_world *w, const struct emu_inline_cqe *cqe, bool lost,
			    struct nic_wc *wc)
{
	uint32_t qp = cqe->qp;

	if (!is_own(w, qp))
		return false;
	*wc = (struct nic_wc){ .wr_id = cqe->wr_id,
			       .qp = &w->qp[qp].base,
			       .length = cqe->length,
			       .opcode = NIC_OP_RECV,
			       .status = NIC_WC_SUCCESS,
			       .flags = (uint8_t)cqe->flags };
	if (__builtin_expect(lost, 0)) {
		wc->status = NIC_WC_LOCAL_PROTECTION;
		wc->length = 0;
		emu_qp_break_soon(w, emu_qp_at(w, qp));
	}
	return true;
}

static bool take_ring_cqe(struct emu_world *w, const struct emu_cqe *cqe, struct nic_wc *wc)
{
	uint32_t qp = cqe->qp;

	if (!is_own(w, qp) || cqe->opcode >= NIC_OP_COUNT || cqe->status >= NIC_WC_COUNT)
		return false;
	*wc = (struct nic_wc){ .wr_id = cqe->wr_id,
			       .qp = &w->qp[qp].base,
			       .length = cqe->length,
			       .opcode = cqe->opcode,
			       .status = cqe->status,
			       .flags = cqe->flags,
			       .imm = cqe->imm,
			       .src_qp = cqe->src_qp,
			       .src_adapter = cqe->src_adapter,
			       .src_sl = cqe->src_sl };
	return true;
}

/*
 * Place the payload. True: its memory is gone, so the Receive fails and the connection ends. That
 * takes the fabric's lock: without it the completion stays, and emu_direct_quiet asks for the
 * general path.
 */
static bool is_lost(struct emu_world *w, const struct emu_inline_cqe *cqe)
{
	bool lost = !emu_inline_place(w, cqe) || (cqe->flags & EMU_INLINE_LOST);

	if (__builtin_expect(lost || w->membership->payload_lost, 0))
		w->membership->payload_lost = lost && !w->membership->held;
	return lost;
}

static bool dequeue_one(struct emu_world *w, struct emu_cq *cq, struct nic_wc *wc)
{
	uint64_t look = emu_cq_look(cq);
	uint32_t number = cq->get, put = (uint32_t)look;
	const struct emu_inline_cqe *cqe = emu_inline_at(w, cq, number);
	bool good, lost;

	if (put == number || (!w->membership->held && !is_whole(w, look)))
		return false;
	if (emu_inline_is_for(cqe, number)) {
		lost = is_lost(w, cqe);
		if (__builtin_expect(lost, 0) && !w->membership->held)
			return false;
		good = take_inline_cqe(w, cqe, lost, wc);
	} else {
		good = take_ring_cqe(
			w, (const struct emu_cqe *)emu_at(w, cq->ring) + (number & cq->mask), wc);
	}
	__atomic_store_n(&cq->get, number + 1, __ATOMIC_RELEASE);
	if (put != number + 1)
		__builtin_prefetch(emu_inline_at(w, cq, number + 1));
	return good;
}

int emu_direct_poll(struct nic_cq *base, struct nic_wc *wc, int n)
{
	int got = 0;

	while (got < n &&
	       dequeue_one(emu_local_cq(base)->world, emu_local_cq(base)->entry, &wc[got]))
		got++;
	return got;
}

bool emu_direct_spin(struct nic_cq *base, struct nic_wc *wc)
{
	struct emu_world *w = emu_local_cq(base)->world;

	if (emu_lockstep(w)) {
		if (dequeue_one(w, emu_local_cq(base)->entry, wc))
			return true;
		emu_lockstep_poll(w);
		return false;
	}
	if (w->membership->held)
		emu_clock_settle(w);
	return dequeue_one(w, emu_local_cq(base)->entry, wc);
}

bool emu_direct_quick(struct nic_world *world)
{
	return !emu_lockstep((struct emu_world *)world);
}

bool emu_direct_quiet(struct nic_world *world)
{
	struct emu_world *w = (struct emu_world *)world;
	const struct emu_process *p = emu_process(w, w->process);
	const struct emu_fabric *fab = w->fab;

	if (__atomic_load_n(&p->inbox, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&p->overrun, __ATOMIC_RELAXED) || w->membership->payload_lost)
		return false;
	return __atomic_load_n(&fab->events, __ATOMIC_RELAXED) == 0 ||
	       !emu_clock_due(w, __atomic_load_n(&fab->heap[0].time, __ATOMIC_RELAXED));
}

/* ---- posting a Receive ---- */

/* The sender has read the Receives before rq.get: theirs are the entries that may be filled. */
static uint32_t count_posted(const struct emu_wq *rq)
{
	return rq->put - __atomic_load_n(&rq->get, __ATOMIC_ACQUIRE);
}

/*
 * Another process may end the connection at the same time and flush the queue without this Receive.
 * It then also leaves a message in this process's inbox, and inbox.c flushes the rest when it takes
 * that message.
 */
int emu_direct_recv(struct nic_qp *base, const struct nic_recv_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_rwqe *wqe;

	if (w->membership->held)
		return emu_post_recv(base, wr);
	if (!qp->rq_fast || wr->num_sge > qp->max_recv_sge || count_posted(&qp->rq) >= qp->rq.max)
		return -EAGAIN;
	wqe = emu_wqe(w, &qp->rq, qp->rq.put);
	emu_recv_fill(w, wqe, wr);
	__atomic_store_n(&qp->rq.put, qp->rq.put + 1, __ATOMIC_RELEASE);
	return 0;
}

/* ---- a Send that is delivered at the post ---- */

struct delivery {
	struct emu_qp *from, *to;
	struct emu_wq *wq; /* receive queue or SRQ */
	const struct emu_rwqe *rwqe;
	struct emu_cq *send_cq, *recv_cq;
	const struct nic_send_wr *wr;
	bool is_inline;
};

static bool link_is_instant(const struct emu_link *link)
{
	return link->latency_ns == 0 && link->ns_per_byte == 0;
}

/*
 * Nothing of this connection is in flight in this direction, both ends may take their fast paths,
 * and nothing observes single packets.
 */
static bool is_pair_idle(struct emu_world *w, const struct emu_qp *from, const struct emu_qp *to)
{
	const struct emu_fabric *fab = w->fab;
	const struct emu_process *p = emu_process(w, w->process);

	return !fab->observed && !fab->trace_on && !p->inbox && !p->overrun && from->tx_fast &&
	       from->sq.max > 0 && emu_wq_count(&from->sq) == 0 && from->sq_next == from->sq.put &&
	       to->rx_fast && to->epoch == from->peer_epoch && from->epoch == to->peer_epoch &&
	       to->rx_next == from->sq.put && link_is_instant(&EMU_AT(fab->link, from->link)) &&
	       link_is_instant(&EMU_AT(fab->link, to->link));
}

/*
 * cq->get is on the owner's cache line; it is read only when the cached copy says the CQ is full.
 */
static bool has_room(struct emu_cq *cq, uint32_t limit)
{
	if (cq->put - cq->cached_get >= limit)
		cq->cached_get = __atomic_load_n(&cq->get, __ATOMIC_ACQUIRE);
	return cq->put - cq->cached_get < limit;
}

static bool is_ready(struct emu_cq *cq)
{
	return !cq->armed && has_room(cq, cq->limit);
}

/* The next Receive; false: there is none that the direct path can use. */
static bool find_receive(struct emu_world *w, struct delivery *d)
{
	struct emu_srq *srq = emu_recv_srq(w, d->to);
	uint32_t count;

	d->wq = emu_recv_queue(d->to, srq);
	count = __atomic_load_n(&d->wq->put, __ATOMIC_ACQUIRE) - d->wq->get;
	if (EMU_RECV_IS_LOW(srq, count))
		return false;
	d->rwqe = emu_wqe(w, d->wq, d->wq->get);
	return emu_recv_needs_no_check(w->fab, d->rwqe, d->wr->length);
}

static uint8_t recv_flags(const struct delivery *d)
{
	return (uint8_t)emu_recv_flags(d->rwqe, d->wr->flags);
}

static void fill_inline_cqe(struct emu_world *w, const struct delivery *d)
{
	uint32_t number = d->recv_cq->put;
	struct emu_inline_cqe *cqe = emu_inline_at(w, d->recv_cq, number);

	cqe->addr = d->rwqe->sge[0].addr;
	cqe->lkey = d->rwqe->sge[0].lkey;
	cqe->length = d->wr->length;
	cqe->wr_id = d->rwqe->wr_id;
	cqe->qp = emu_qp_index(w, d->to);
	cqe->flags = recv_flags(d);
	cqe->number = number;
}

/* Copy the payload to an inline CQE (or staging buffer), else straight to its destination. */
static bool place_payload(struct emu_world *w, struct delivery *d)
{
	struct emu_place to = { emu_process_of(w, d->to->adapter), d->rwqe->sge[0].addr, 0 };
	struct emu_place from = { w->process, d->wr->sge->addr, 0 };

	d->is_inline = has_room(d->recv_cq, EMU_INLINE_CQES) &&
		       emu_inline_load(w, d->recv_cq, d->recv_cq->put, from.addr, d->wr->length);
	if (d->is_inline) {
		fill_inline_cqe(w, d);
		return true;
	}
	return to.process && emu_peer_reach(w, to.process) &&
	       emu_reach_copy(w, &to, &from, d->wr->length) == EMU_COPY_OK;
}

/* The record from which emu_direct_undo rolls back. */
static void record_delivery(struct emu_world *w, const struct delivery *d)
{
	struct emu_delivery *kept = &emu_process(w, w->process)->delivery;

	kept->qp = emu_qp_index(w, d->to);
	kept->get = d->wq->get;
	kept->taken = d->to->taken;
	kept->rx_taken = d->to->rx_taken;
	kept->rx_completed = d->to->rx_completed;
	kept->rx_next = d->to->rx_next;
	kept->put = d->recv_cq->put;
	__asm__ volatile("" ::: "memory");
	kept->running = true;
	__asm__ volatile("" ::: "memory");
}

static void consume_receive(struct emu_world *w, const struct delivery *d)
{
	struct emu_qp *to = d->to;
	struct emu_cqe *cqe;

	emu_recv_take_whole(to, d->wq, to->rx_next);
	if (d->is_inline)
		return;
	cqe = (struct emu_cqe *)emu_at(w, d->recv_cq->ring) + (d->recv_cq->put & d->recv_cq->mask);
	*cqe = (struct emu_cqe){ .wr_id = d->rwqe->wr_id,
				 .qp = emu_qp_index(w, to),
				 .length = d->wr->length,
				 .opcode = NIC_OP_RECV,
				 .status = NIC_WC_SUCCESS,
				 .flags = recv_flags(d) };
}

/*
 * The store to put delivers the message. It is the only store to that cache line: the owner may be
 * polling it, and each store would take the line away from its core.
 */
static void publish_completion(struct emu_world *w, const struct delivery *d)
{
	__atomic_store_n(&d->recv_cq->put, d->recv_cq->put + 1, __ATOMIC_RELEASE);
	__asm__ volatile("" ::: "memory");
	emu_process(w, w->process)->delivery.running = false;
}

/*
 * Complete the Send. It was never on the wire, but its request and its packets count, so that later
 * packets have the sequence numbers they would have had.
 */
static void complete_send(struct emu_world *w, const struct delivery *d)
{
	struct emu_qp *from = d->from;
	uint32_t put = from->sq.put;

	if (d->wr->length > from->mtu) {
		struct emu_swqe *wqe = emu_wqe(w, &from->sq, put);

		wqe->opcode = NIC_OP_SEND;
		wqe->length = d->wr->length;
		emu_wire_count(w, from, put);
	}
	from->sq.put = from->sq.get = from->sq_next = put + 1;
	from->rnr_tries = 0;
	if (!(d->wr->flags & NIC_WR_SUPPRESS))
		emu_cq_push(w, from->send_cq, emu_qp_index(w, from), d->wr->wr_id, d->wr->length,
			    NIC_OP_SEND, NIC_WC_SUCCESS, d->wr->flags & NIC_WR_QUIET);
}

/* Fetch lines that are about to be written from other cores' caches, all at once. */
static void prefetch_lines(const void *what, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += EMU_LINE)
		__builtin_prefetch((const uint8_t *)what + i, 1);
}

static void prefetch_delivery(struct emu_world *w, const struct emu_qp *from)
{
	const struct emu_qp *to = emu_qp_at(w, from->peer);

	prefetch_lines(&w->fab->shared.lock, EMU_LINE);
	prefetch_lines(to, offsetof(struct emu_qp, pd));
}

static bool deliver_send(struct emu_world *w, struct emu_qp *from, const struct nic_send_wr *wr)
{
	struct emu_fabric *fab = w->fab;
	struct delivery d = { .from = from,
			      .to = emu_qp_at(w, from->peer),
			      .send_cq = &EMU_AT(fab->cq, from->send_cq),
			      .wr = wr };

	d.recv_cq = &EMU_AT(fab->cq, d.to->recv_cq);
	/* Entry 0 of the CQ table stands for "no CQ"; it never has room. */
	if (!is_pair_idle(w, from, d.to) || d.send_cq == d.recv_cq || !is_ready(d.send_cq) ||
	    !is_ready(d.recv_cq) || !find_receive(w, &d))
		return false;
	/* Record first: after put grows, whatever the inline CQE holds counts as delivered. */
	record_delivery(w, &d);
	if (!place_payload(w, &d)) {
		emu_process(w, w->process)->delivery.running = false;
		return false;
	}
	consume_receive(w, &d);
	publish_completion(w, &d);
	complete_send(w, &d);
	prefetch_lines(emu_inline_at(w, d.recv_cq, d.recv_cq->put),
		       sizeof(struct emu_inline_cqe) / 2);
	return true;
}

int emu_direct_send(struct nic_qp *base, const struct nic_send_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	bool done;

	if (w->membership->held)
		return emu_post_send(base, wr);
	if (wr->opcode != NIC_OP_SEND ||
	    (wr->flags & (NIC_WR_FENCE | NIC_WR_IMM | NIC_WR_INVALIDATE)) || wr->num_sge != 1 ||
	    wr->length == 0)
		return -EAGAIN;
	prefetch_delivery(w, emu_local_qp(base)->entry);
	emu_shared_take(w);
	done = deliver_send(w, emu_local_qp(base)->entry, wr);
	emu_shared_release_clean(w);
	return done ? 0 : -EAGAIN;
}

/* ---- rollback after the sender died ---- */

static void undo_delivery(struct emu_world *w, const struct emu_delivery *kept)
{
	struct emu_fabric *fab = w->fab;
	struct emu_qp *to = emu_qp_at(w, kept->qp);
	struct emu_wq *wq = to->srq ? &EMU_AT(fab->srq, to->srq).wq : &to->rq;
	struct emu_cq *cq = &EMU_AT(fab->cq, to->recv_cq);

	if (cq->put != kept->put)
		return; /* the message has been delivered */
	wq->get = kept->get;
	to->taken = kept->taken;
	to->rx_taken = kept->rx_taken;
	to->rx_completed = kept->rx_completed;
	to->rx_next = kept->rx_next;
	emu_inline_drop(w, cq, kept->put);
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
