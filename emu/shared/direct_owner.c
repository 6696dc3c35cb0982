/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner's side of the direct path between processes: polls of its CQs and posts of its Receives
 * without the fabric's lock. direct.h explains why that is sound.
 */
#include "direct.h"

#include <errno.h>

#include "emu/fabric/clock.h"
#include "emu/hostile/posted.h"
#include "emu/lockstep/lockstep.h"
#include "emu/number/number.h"
#include "emu/qp.h"
#include "emu/srq.h"
#include "emu/payload/inline.h"
#include "emu/payload/split.h"
#include "inbox.h"
#include "shared.h"

/* Has the calling thread the lock for a call of the general path? That has run what was due. */
static bool is_general(const struct emu_world *w)
{
	return w->membership->held && !w->membership->brief;
}

/* ---- polling a CQ ---- */

/*
 * Without the lock no completion is dequeued while the inbox may hold its payload, or that of an
 * RDMA Write before it. The inbox is loaded after put, or after the number of an inline CQE, so
 * what is seen of it is at least as new.
 */
static bool has_payload_waiting(struct emu_world *w)
{
	return __atomic_load_n(&w->own->inbox, __ATOMIC_RELAXED);
}

/* Nor is one of the ring dequeued while an event that may be rolled back changes the CQ. */
static bool is_whole(struct emu_world *w, uint64_t look)
{
	return !emu_cq_was_in_event(look) && !has_payload_waiting(w);
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
			       .flags = (uint8_t)cqe->flags,
			       .imm = cqe->imm };
	if (__builtin_expect(lost, 0)) {
		wc->status = cqe->length ? NIC_WC_LOCAL_PROTECTION : NIC_WC_FLUSHED;
		wc->length = 0;
		emu_qp_break_soon(w, emu_qp_at(w, qp));
		if (cqe->length)
			emu_inbox_note_lost(w);
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
		w->membership->payload_lost = lost && !is_general(w);
	return lost;
}

/* May completion `number`, which is the next one, be in the ring? */
static bool is_near_ring(const struct emu_cq *cq, uint32_t number)
{
	return (int32_t)(__atomic_load_n(&cq->ring_end, __ATOMIC_RELAXED) - number) > 0;
}

/* Is it there? False: it is not, or it may not be dequeued without the lock. */
static inline __attribute__((always_inline)) bool
is_in_ring(struct emu_world *w, const struct emu_cq *cq, uint32_t number)
{
	uint64_t look;

	if (!is_near_ring(cq, number))
		return false;
	look = emu_cq_look(cq);
	return (uint32_t)look != number && (is_general(w) || is_whole(w, look));
}

static EMU_COLD bool help_with_split(struct emu_world *w)
{
	if (!is_general(w))
		emu_split_help(w);
	return false;
}

/* Take the next completion, if it is there. look: the number that was in the inline CQE. */
static __attribute__((noinline)) bool take_one(struct emu_world *w, struct emu_cq *cq,
					       struct nic_wc *wc, struct emu_inline_cqe *cqe,
					       uint32_t look)
{
	uint32_t number = cq->get;
	bool is_inline = look == number, good, lost;

	if (!is_inline && !is_in_ring(w, cq, number))
		return false;
	/* It may have come between the two looks, and a later one be in the ring. */
	if (is_inline || emu_inline_is_for(cqe, number)) {
		if (__builtin_expect(has_payload_waiting(w), 0) && !is_general(w))
			return false;
		lost = is_lost(w, cqe);
		if (__builtin_expect(lost, 0) && !is_general(w))
			return false;
		good = take_inline_cqe(w, cqe, lost, wc);
		/* Not the line with the number: the sender may be about to store to it. */
		__builtin_prefetch((uint8_t *)emu_inline_at(w, cq, number + 1) + EMU_LINE);
	} else {
		good = take_ring_cqe(
			w, (const struct emu_cqe *)emu_at(w, cq->ring) + (number & cq->mask), wc);
		emu_inline_pass(cqe, number);
	}
	__atomic_store_n(&cq->get, number + 1, __ATOMIC_RELEASE);
	return good;
}

/* A poll that finds nothing calls no function, so it has no register to save. */
static inline bool dequeue_one(struct emu_world *w, struct emu_cq *cq, struct nic_wc *wc)
{
	uint32_t number = cq->get;
	struct emu_inline_cqe *cqe = emu_inline_at(w, cq, number);
	uint32_t look = emu_inline_look(cqe);

	if (look == number || is_near_ring(cq, number))
		return take_one(w, cq, wc, cqe, look);
	if (__builtin_expect(look == emu_split_mark(number), 0))
		return help_with_split(w);
	return false;
}

int emu_direct_poll(struct nic_cq *base, struct nic_wc *wc, int n)
{
	int got = 0;

	while (got < n &&
	       dequeue_one(emu_local_cq(base)->world, emu_local_cq(base)->entry, &wc[got]))
		got++;
	return got;
}

/* emu_direct_spin in lockstep, or with the fabric's lock. */
static __attribute__((noinline)) bool spin_general(struct emu_world *w, struct emu_cq *cq,
						   struct nic_wc *wc)
{
	if (!emu_lockstep(w))
		emu_clock_settle(w);
	if (dequeue_one(w, cq, wc))
		return true;
	if (emu_lockstep(w))
		emu_lockstep_poll(w);
	return false;
}

bool emu_direct_spin(struct nic_cq *base, struct nic_wc *wc)
{
	struct emu_world *w = emu_local_cq(base)->world;

	if (emu_lockstep(w) || is_general(w))
		return spin_general(w, emu_local_cq(base)->entry, wc);
	return dequeue_one(w, emu_local_cq(base)->entry, wc);
}

/* While the CQ is empty the line of `put` is left to the sender. */
uint32_t emu_direct_count(struct nic_cq *base)
{
	struct emu_world *w = emu_local_cq(base)->world;
	const struct emu_cq *cq = emu_local_cq(base)->entry;
	uint32_t number = cq->get;

	if (!emu_inline_is_for(emu_inline_at(w, cq, number), number) && !is_near_ring(cq, number))
		return 0;
	return (uint32_t)emu_cq_look(cq) - number;
}

bool emu_direct_quick(struct nic_world *world)
{
	return !emu_lockstep((struct emu_world *)world);
}

bool emu_direct_quiet(struct nic_world *world)
{
	struct emu_world *w = (struct emu_world *)world;
	const struct emu_process *p = w->own;
	const struct emu_fabric *fab = w->fab;

	if (__atomic_load_n(&p->inbox, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&p->overrun, __ATOMIC_RELAXED) || w->membership->payload_lost)
		return false;
	return __atomic_load_n(&fab->events, __ATOMIC_RELAXED) == 0 ||
	       !emu_clock_due(w, __atomic_load_n(&fab->heap[0].time, __ATOMIC_RELAXED));
}

/* ---- the lines of a call ---- */

/* While the CQ is empty, or the next completion is an inline CQE, the line of `put` is not read. */
static bool has_next(struct emu_world *w, const struct emu_cq *cq)
{
	return emu_inline_is_for(emu_inline_at(w, cq, cq->get), cq->get) ||
	       is_in_ring(w, cq, cq->get);
}

/* As on the general path, time is the clock's while events are pending. */
enum nic_line emu_direct_line_begin(struct nic_world *world, struct nic_cq *cq)
{
	struct emu_world *w = (struct emu_world *)world;

	if (cq && !has_next(w, emu_local_cq(cq)->entry))
		return emu_direct_quiet(world) ? NIC_LINE_EMPTY : NIC_LINE_DUE;
	emu_shared_take(w);
	if (__builtin_expect(!emu_direct_quiet(world), 0)) {
		emu_shared_release_clean(w);
		return NIC_LINE_DUE;
	}
	if (emu_queue_length(w) > 0)
		w->fab->now = emu_clock_real(w);
	w->membership->brief = true;
	return NIC_LINE_READY;
}

void emu_direct_line_end(struct nic_world *world)
{
	struct emu_world *w = (struct emu_world *)world;

	w->membership->brief = false;
	emu_shared_release_clean(w);
}

/* ---- posting a Receive ---- */

/*
 * Is there an entry that may be filled? The sender has read the Receives before rq.get. That is on
 * a line to which the sender stores, so it is looked at only when the ring seems full.
 */
static bool has_place(const struct emu_wq *rq, struct emu_seen *seen)
{
	if (rq->put - seen->get >= seen->max)
		seen->get = __atomic_load_n(&rq->get, __ATOMIC_ACQUIRE);
	return rq->put - seen->get < seen->max;
}

/*
 * Another process may end the connection at the same time and flush the queue without this Receive.
 * It then also leaves a message in this process's inbox, and inbox.c flushes the rest when it takes
 * that message.
 */
int emu_direct_recv(struct nic_qp *base, const struct nic_recv_wr *wr)
{
	struct emu_local_qp *local = emu_local_qp(base);
	struct emu_world *w = local->world;
	struct emu_qp *qp = local->entry;
	struct emu_seen *seen = &w->seen[base->index];
	struct emu_rwqe *wqe;

	if (is_general(w))
		return emu_post_recv(base, wr);
	if (!qp->rq_fast || wr->num_sge > qp->max_recv_sge || !has_place(&qp->rq, seen))
		return -EAGAIN;
	wqe = (struct emu_rwqe *)(local->rq + (qp->rq.put & seen->mask) * seen->words);
	emu_recv_fill(w, wqe, wr);
	__atomic_store_n(&qp->rq.put, qp->rq.put + 1, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Likewise on an SRQ. Its Receives are taken with the fabric's lock, by messages of any of its
 * queue pairs, and its `get` is on the line of `put`.
 */
int emu_direct_srq_post(struct nic_srq *base, const struct nic_recv_wr *wr)
{
	struct emu_world *w = emu_local_srq(base)->world;
	struct emu_srq *srq = emu_local_srq(base)->entry;
	struct emu_wq *wq = &srq->wq;

	if (is_general(w))
		return emu_srq_post(base, wr);
	if (emu_posted_on(w) || wr->num_sge > srq->max_sge ||
	    wq->put - __atomic_load_n(&wq->get, __ATOMIC_ACQUIRE) >= wq->max)
		return -EAGAIN;
	emu_recv_fill(w, emu_wqe(w, wq, wq->put), wr);
	__atomic_store_n(&wq->put, wq->put + 1, __ATOMIC_RELEASE);
	return 0;
}
