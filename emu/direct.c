/* SPDX-License-Identifier: BSD-3-Clause */
#include "direct.h"

#include <errno.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "lockstep.h"
#include "mem.h"
#include "qp.h"
#include "reach.h"
#include "rx.h"
#include "shared.h"
#include "slot.h"
#include "srq.h"
#include "tx.h"
#include "wire.h"

/* ---- taking completions ---- */

/*
 * Looked at after cq->put: else what was found there may be given back, or its payload may be in the inbox,
 * where it was left before.
 */
static bool is_whole(struct emu_world *w, const struct emu_cq *cq)
{
	return !__atomic_load_n(&cq->unsettled, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&emu_process(w, w->process)->inbox, __ATOMIC_RELAXED);
}

/* The arena is others', too: only of QPs of this process something completes. */
static bool is_own(const struct emu_world *w, uint32_t qp)
{
	return __builtin_expect(qp <= EMU_QPS && w->qp[qp].base.nic, 1);
}

static bool take_slot(struct emu_world *w, const struct emu_slot *slot, struct nic_wc *wc)
{
	uint32_t qp = slot->qp;

	if (!is_own(w, qp))
		return false;
	emu_slot_place(w, slot);
	*wc = (struct nic_wc){ .wr_id = slot->wr_id,
			       .qp = &w->qp[qp].base,
			       .length = slot->length,
			       .opcode = NIC_OP_RECV,
			       .status = NIC_WC_SUCCESS,
			       .flags = (uint8_t)slot->flags };
	return true;
}

static bool take_entry(struct emu_world *w, const struct emu_cqe *cqe, struct nic_wc *wc)
{
	uint32_t qp = cqe->qp;

	if (!is_own(w, qp) || cqe->opcode >= NIC_OP_COUNT || cqe->status >= NIC_WC_COUNT)
		return false;
	*wc = (struct nic_wc){ .wr_id = cqe->wr_id,
			       .qp = &w->qp[qp].base,
			       .length = cqe->length,
			       .opcode = cqe->opcode,
			       .status = cqe->status,
			       .flags = cqe->flags };
	return true;
}

static bool get(struct emu_world *w, struct emu_cq *cq, struct nic_wc *wc)
{
	uint32_t turn = cq->get, put = __atomic_load_n(&cq->put, __ATOMIC_ACQUIRE);
	bool good;

	if (put == turn || (!w->membership->held && !is_whole(w, cq)))
		return false;
	if (emu_slot_is_of(emu_slot_at(w, cq, turn), turn))
		good = take_slot(w, emu_slot_at(w, cq, turn), wc);
	else
		good = take_entry(
			w, (const struct emu_cqe *)emu_at(w, cq->ring) + (turn & cq->mask), wc);
	__atomic_store_n(&cq->get, turn + 1, __ATOMIC_RELEASE);
	if (put != turn + 1)
		__builtin_prefetch(emu_slot_at(w, cq, turn + 1));
	return good;
}

int emu_direct_poll(struct nic_cq *base, struct nic_wc *wc, int n)
{
	int got = 0;

	while (got < n && get(emu_local_cq(base)->world, emu_local_cq(base)->entry, &wc[got]))
		got++;
	return got;
}

bool emu_direct_spin(struct nic_cq *base, struct nic_wc *wc)
{
	struct emu_world *w = emu_local_cq(base)->world;

	if (emu_lockstep(w)) {
		if (get(w, emu_local_cq(base)->entry, wc))
			return true;
		emu_lockstep_poll(w);
		return false;
	}
	if (w->membership->held)
		emu_clock_settle(w);
	return get(w, emu_local_cq(base)->entry, wc);
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
	    __atomic_load_n(&p->overrun, __ATOMIC_RELAXED))
		return false;
	return __atomic_load_n(&fab->events, __ATOMIC_RELAXED) == 0 ||
	       !emu_clock_due(w, __atomic_load_n(&fab->heap[0].time, __ATOMIC_RELAXED));
}

/* ---- posting a receive ---- */

/*
 * Another process may have ended and flushed the QP meanwhile, and may not have seen this receive. It left word
 * of the end in the inbox: who takes that out flushes what came late.
 */
int emu_direct_recv(struct nic_qp *base, const struct nic_recv_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_rwqe *wqe;

	if (w->membership->held)
		return emu_post_recv(base, wr);
	if (qp->srq || wr->num_sge > qp->max_recv_sge || qp->state == EMU_QP_ERROR ||
	    emu_wq_count(&qp->rq) >= qp->rq.max)
		return -EAGAIN;
	wqe = emu_wqe(w, &qp->rq, qp->rq.put);
	emu_recv_fill(w, wqe, wr);
	__atomic_store_n(&qp->rq.put, qp->rq.put + 1, __ATOMIC_RELEASE);
	return 0;
}

/* ---- a send that is delivered at once ---- */

struct delivery {
	struct emu_qp *from, *to;
	struct emu_wq *wq; /* where its receive is */
	const struct emu_rwqe *rwqe;
	struct emu_cq *send_cq, *recv_cq;
	const struct nic_send_wr *wr;
	bool in_slot;
};

static bool link_is_instant(const struct emu_link *link)
{
	return link->latency_ns == 0 && link->ns_per_byte == 0;
}

/* Nothing is under way from here, and nothing is out of the ordinary at either end. */
static bool is_clear(struct emu_world *w, const struct emu_qp *from, const struct emu_qp *to)
{
	const struct emu_fabric *fab = w->fab;
	const struct emu_process *p = emu_process(w, w->process);

	return !fab->observed && !fab->trace_on && !p->inbox && !p->overrun && from->tx_plain &&
	       from->sq.max > 0 && emu_wq_count(&from->sq) == 0 && from->sq_next == from->sq.put &&
	       to->plain && to->epoch == from->peer_epoch && from->epoch == to->peer_epoch &&
	       to->rx_next == from->sq.put && link_is_instant(&fab->links[from->link]) &&
	       link_is_instant(&fab->links[to->link]);
}

/* The owner's line is looked at only where what was seen there last will not do. */
static bool has_room(struct emu_cq *cq, uint32_t limit)
{
	if (cq->put - cq->seen >= limit)
		cq->seen = __atomic_load_n(&cq->get, __ATOMIC_ACQUIRE);
	return cq->put - cq->seen < limit;
}

static bool is_ready(struct emu_cq *cq)
{
	return !cq->armed && has_room(cq, cq->limit);
}

/* The receive that is next. */
static bool find_receive(struct emu_world *w, struct delivery *d)
{
	struct emu_fabric *fab = w->fab;
	struct emu_srq *srq = d->to->srq ? &fab->srq[d->to->srq] : NULL;
	uint32_t count;

	d->wq = srq ? &srq->wq : &d->to->rq;
	count = __atomic_load_n(&d->wq->put, __ATOMIC_ACQUIRE) - d->wq->get;
	if (count == 0 || (srq && count <= srq->limit))
		return false;
	d->rwqe = emu_wqe(w, d->wq, d->wq->get);
	return d->rwqe->num_sge == 1 && d->rwqe->mem_epoch == fab->mem_epoch &&
	       d->wr->length <= d->rwqe->sge[0].length;
}

static uint8_t recv_flags(const struct delivery *d)
{
	return (uint8_t)((d->rwqe->flags & NIC_WR_QUIET) | (d->wr->flags & NIC_WR_SOLICITED));
}

static void fill_slot(struct emu_world *w, const struct delivery *d)
{
	uint32_t turn = d->recv_cq->put;
	struct emu_slot *slot = emu_slot_at(w, d->recv_cq, turn);

	slot->addr = d->rwqe->sge[0].addr;
	slot->lkey = d->rwqe->sge[0].lkey;
	slot->length = d->wr->length;
	slot->wr_id = d->rwqe->wr_id;
	slot->qp = emu_qp_index(w, d->to);
	slot->flags = recv_flags(d);
	slot->turn = turn + 1;
}

/* The payload waits for its receiver, or is in place. */
static bool move(struct emu_world *w, struct delivery *d)
{
	struct emu_place to = { emu_process_of(w, d->to->adapter), d->rwqe->sge[0].addr };
	struct emu_place from = { w->process, d->wr->sge->addr };

	d->in_slot = has_room(d->recv_cq, EMU_SLOTS) &&
		     emu_slot_load(w, d->recv_cq, d->recv_cq->put, from.addr, d->wr->length);
	if (d->in_slot) {
		fill_slot(w, d);
		return true;
	}
	return to.process && emu_reach_process(w, to.process) &&
	       emu_reach_copy(w, &to, &from, d->wr->length);
}

/* What emu_direct_undo needs. */
static void keep(struct emu_world *w, const struct delivery *d)
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

static void receive(struct emu_world *w, const struct delivery *d)
{
	struct emu_qp *to = d->to;
	struct emu_cqe *cqe;

	d->wq->get++;
	to->taken++;
	to->rx_taken = ++to->rx_completed;
	to->rx_next++;
	if (d->in_slot)
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
 * With this one store it is delivered. The owner may look at that line all the time: every store to it costs
 * a way there and back.
 */
static void complete(struct emu_world *w, const struct delivery *d)
{
	__atomic_store_n(&d->recv_cq->put, d->recv_cq->put + 1, __ATOMIC_RELEASE);
	__asm__ volatile("" ::: "memory");
	emu_process(w, w->process)->delivery.running = false;
}

/* It was never on the wire; the number of the request, and those of its packets, are counted. */
static void acknowledge(struct emu_world *w, const struct delivery *d)
{
	struct emu_qp *from = d->from;
	uint32_t put = from->sq.put;

	if (d->wr->length > w->fab->config.mtu) {
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

/* To be written soon: other processes' caches are asked for all of it at once. */
static void expect(const void *what, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += EMU_LINE)
		__builtin_prefetch((const uint8_t *)what + i, 1);
}

static void expect_delivery(struct emu_world *w, const struct emu_qp *from)
{
	const struct emu_qp *to = emu_qp_at(w, from->peer);

	expect(&w->fab->shared.lock, EMU_LINE);
	expect(to, offsetof(struct emu_qp, pd));
}

static bool deliver(struct emu_world *w, struct emu_qp *from, const struct nic_send_wr *wr)
{
	struct emu_fabric *fab = w->fab;
	struct delivery d = { .from = from,
			      .to = emu_qp_at(w, from->peer),
			      .send_cq = &fab->cq[from->send_cq],
			      .wr = wr };

	d.recv_cq = &fab->cq[d.to->recv_cq];
	/* Entry 0 of the table stands for no CQ: it never has room. */
	if (!is_clear(w, from, d.to) || d.send_cq == d.recv_cq || !is_ready(d.send_cq) ||
	    !is_ready(d.recv_cq) || !find_receive(w, &d))
		return false;
	/* Before anything is in a slot: what is found in one is taken for delivered with that completion. */
	keep(w, &d);
	if (!move(w, &d)) {
		emu_process(w, w->process)->delivery.running = false;
		return false;
	}
	receive(w, &d);
	complete(w, &d);
	acknowledge(w, &d);
	expect(emu_slot_at(w, d.recv_cq, d.recv_cq->put), sizeof(struct emu_slot) / 2);
	return true;
}

int emu_direct_send(struct nic_qp *base, const struct nic_send_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	bool done;

	if (w->membership->held)
		return emu_post_send(base, wr);
	if (wr->opcode != NIC_OP_SEND || (wr->flags & NIC_WR_FENCE) || wr->num_sge != 1 ||
	    wr->length == 0)
		return -EAGAIN;
	expect_delivery(w, emu_local_qp(base)->entry);
	emu_shared_take(w);
	done = deliver(w, emu_local_qp(base)->entry, wr);
	emu_shared_let_go(w);
	return done ? 0 : -EAGAIN;
}

/* ---- death ---- */

static void undo(struct emu_world *w, const struct emu_delivery *kept)
{
	struct emu_fabric *fab = w->fab;
	struct emu_qp *to = emu_qp_at(w, kept->qp);
	struct emu_wq *wq = to->srq ? &fab->srq[to->srq].wq : &to->rq;
	struct emu_cq *cq = &fab->cq[to->recv_cq];

	if (cq->put != kept->put)
		return; /* it is delivered */
	wq->get = kept->get;
	to->taken = kept->taken;
	to->rx_taken = kept->rx_taken;
	to->rx_completed = kept->rx_completed;
	to->rx_next = kept->rx_next;
	emu_slot_drop(w, cq, kept->put);
}

void emu_direct_undo(struct emu_world *w)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		struct emu_delivery *kept = &emu_process(w, i)->delivery;

		if (kept->running && kept->qp <= EMU_QPS)
			undo(w, kept);
		kept->running = false;
	}
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, cqs, cq); i++)
		w->fab->cq[i].unsettled = false;
}
