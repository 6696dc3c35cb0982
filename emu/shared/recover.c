/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery of the arena after a process died with the fabric's lock: copies before an event, the
 * rollback to them, and the structures that are rebuilt. recover.h explains the scheme.
 */
#include "recover.h"

#include <stdlib.h>
#include <string.h>

#include "emu/fabric/clock.h"
#include "emu/cm.h"
#include "direct.h"
#include "emu/fabric/sharing.h"
#include "emu/payload/split.h"
#include "emu/wire/links.h"
#include "emu/wire/wire.h"
#include "inbox.h"
#include "emu/qp.h"
#include "emu/number/unreliable.h"
#include "shared.h"
#include "emu/fabric/trace.h"

/* ---- copies before an event, and the rollback ---- */

static struct emu_mark mark_here(const struct emu_fabric *fab)
{
	return (struct emu_mark){ .sequence = fab->sequence,
				  .events = fab->events,
				  .observed = fab->observed };
}

/* What recovery goes back to now. */
static const struct emu_mark *mark_in_force(const struct emu_section *s)
{
	return s->running ? &s->before : &s->after;
}

void emu_section_keep(struct emu_world *w)
{
	__asm__ volatile("" ::: "memory");
	w->fab->shared.section.after = mark_here(w->fab);
	__asm__ volatile("" ::: "memory");
}

void emu_section_end(struct emu_world *w)
{
	const struct emu_mark here = mark_here(w->fab);
	struct emu_section *s = &w->fab->shared.section;

	/* Unchanged marks are not stored: their cache lines stay shared by all processes. */
	if (memcmp(&s->after, &here, sizeof(here)) != 0)
		emu_section_keep(w);
	if (s->running || s->qps) {
		s->running = false;
		s->qps = 0;
	}
	w->fab->holder = 0;
}

static void copy_qp(struct emu_world *w, struct emu_section *s, uint32_t index)
{
	struct emu_fabric *fab = w->fab;
	struct emu_kept *kept = &s->kept[s->qps];
	const struct emu_qp *qp = &EMU_AT(fab->qp, index);
	struct emu_cq *send_cq = &EMU_AT(fab->cq, qp->send_cq);
	struct emu_cq *recv_cq = &EMU_AT(fab->cq, qp->recv_cq);

	kept->index = index;
	kept->qp = *qp;
	kept->send_put = send_cq->put;
	kept->send_armed = send_cq->armed;
	kept->recv_put = recv_cq->put;
	kept->recv_armed = recv_cq->armed;
	kept->srq = EMU_AT(fab->srq, qp->srq);
	s->qps++;
	emu_cq_event_begin(send_cq);
	emu_cq_event_begin(recv_cq);
}

/* The request of a packet that is never answered; NULL: it is another event, or a stale one. */
static struct emu_letter *letter_of(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (emu_event_kind(event) != EMU_EV_UNANSWERED || qp->kind == NIC_QP_RELIABLE ||
	    !emu_wq_has(&qp->sq, event->index))
		return NULL;
	return emu_letter(emu_wqe(w, &qp->sq, event->index));
}

/* Returns the QP that such a packet is for; 0: none. */
static uint32_t copy_letter(struct emu_world *w, struct emu_section *s,
			    const struct emu_event *event)
{
	const struct emu_letter *letter = letter_of(w, event);

	if (letter) {
		s->letter_left = letter->left;
		s->letter_packet = letter->packet;
	}
	return emu_unreliable_to(w, event);
}

void emu_section_event(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp);
	struct emu_section *s = &w->fab->shared.section;
	uint32_t other;

	s->qps = 0;
	s->event = *event;
	s->before = mark_here(w->fab);
	copy_qp(w, s, event->qp);
	other = emu_event_kind(event) == EMU_EV_UNANSWERED ? copy_letter(w, s, event) : qp->peer;
	if (other && other != event->qp)
		copy_qp(w, s, other);
	__asm__ volatile("" ::: "memory");
	s->running = true;
	__asm__ volatile("" ::: "memory");
}

void emu_section_event_done(struct emu_world *w)
{
	struct emu_section *s = &w->fab->shared.section;
	uint32_t qps = s->qps;

	emu_section_keep(w);
	s->running = false;
	__asm__ volatile("" ::: "memory");
	for (uint32_t i = 0; i < qps; i++) {
		emu_cq_event_end(&EMU_AT(w->fab->cq, s->kept[i].qp.send_cq));
		emu_cq_event_end(&EMU_AT(w->fab->cq, s->kept[i].qp.recv_cq));
	}
}

/*
 * The rollback leaves out rq.put, also of an SRQ, and reaped: their owner may be writing them,
 * without the lock (direct.h).
 */
#define BEHIND(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

static void restore_range(void *to, const void *was, size_t begin, size_t end)
{
	memcpy((uint8_t *)to + begin, (const uint8_t *)was + begin, end - begin);
}

static void restore_but_posts(struct emu_qp *qp, const struct emu_qp *was)
{
	size_t put = offsetof(struct emu_qp, rq.put), reaped = offsetof(struct emu_qp, reaped);

	restore_range(qp, was, 0, reaped);
	restore_range(qp, was, BEHIND(struct emu_qp, reaped), put);
	restore_range(qp, was, BEHIND(struct emu_qp, rq.put), sizeof(*qp));
}

static void restore_srq(struct emu_srq *srq, const struct emu_srq *was)
{
	restore_range(srq, was, 0, offsetof(struct emu_srq, wq.put));
	restore_range(srq, was, BEHIND(struct emu_srq, wq.put), sizeof(*srq));
}

/* An event adds completions and disarms; the owner polls meanwhile, and sees in_event. */
static void restore_cq(struct emu_cq *cq, uint32_t put, uint8_t armed)
{
	cq->armed = armed;
	__atomic_store_n(&cq->put, put, __ATOMIC_RELAXED);
}

/* A list that the event changed becomes empty: its blocks may have been freed. */
static void restore_qp(struct emu_qp *qp, const struct emu_qp *was)
{
	struct emu_qp now = *qp;

	restore_but_posts(qp, was);
	if (now.rx != was->rx)
		qp->rx = qp->rx_count = 0;
	if (now.parked != was->parked || now.parked_tail != was->parked_tail)
		qp->parked = qp->parked_tail = 0;
	if (now.held != was->held || now.held_tail != was->held_tail)
		qp->held = qp->held_tail = 0;
	if (now.early != was->early || now.early_tail != was->early_tail)
		qp->early = qp->early_tail = 0;
	if (now.rdma_sge != was->rdma_sge)
		qp->rdma_sge = 0;
}

/*
 * Without the lock, owners look at their CQs again from here on. Those of the event, whether it has
 * run or was about to, and all others, where another process may have written.
 */
static void end_events(struct emu_world *w)
{
	const struct emu_section *s = &w->fab->shared.section;
	struct emu_fabric *fab = w->fab;

	for (uint32_t i = 0; i < s->qps && i < sizeof(s->kept) / sizeof(s->kept[0]); i++) {
		emu_cq_event_end(&EMU_AT(fab->cq, s->kept[i].qp.send_cq));
		emu_cq_event_end(&EMU_AT(fab->cq, s->kept[i].qp.recv_cq));
	}
	for (uint32_t i = 1; i <= EMU_HIGH(fab, cqs, cq); i++)
		emu_cq_event_end(&fab->cq[i]);
}

/* The QP has been restored, so a request that the event had completed is on its queue again. */
static void restore_letter(struct emu_world *w, const struct emu_section *s)
{
	struct emu_letter *letter = s->running && s->qps ? letter_of(w, &s->event) : NULL;

	if (!letter)
		return;
	letter->left = s->letter_left;
	letter->packet = s->letter_packet;
}

static void roll_back_event(struct emu_world *w)
{
	struct emu_section *s = &w->fab->shared.section;
	struct emu_fabric *fab = w->fab;

	for (uint32_t i = s->running ? s->qps : 0; i > 0; i--) {
		const struct emu_kept *kept = &s->kept[i - 1];

		restore_qp(&EMU_AT(fab->qp, kept->index), &kept->qp);
		restore_cq(&EMU_AT(fab->cq, kept->qp.send_cq), kept->send_put, kept->send_armed);
		restore_cq(&EMU_AT(fab->cq, kept->qp.recv_cq), kept->recv_put, kept->recv_armed);
		restore_srq(&EMU_AT(fab->srq, kept->qp.srq), &kept->srq);
	}
	restore_letter(w, s);
	fab->observed = mark_in_force(s)->observed & EMU_OBSERVED_MOST;
	end_events(w);
}

/* ---- the event queue ---- */

static bool is_valid_event(const struct emu_section *s, const struct emu_event *event)
{
	return event->order != EMU_NO_EVENT && event->order >> 8 < mark_in_force(s)->sequence &&
	       emu_event_is_valid(event);
}

static int by_order(const void *a, const void *b)
{
	const struct emu_event *one = a, *two = b;

	return (one->order > two->order) - (one->order < two->order);
}

static int by_time(const void *a, const void *b)
{
	const struct emu_event *one = a, *two = b;

	if (one->time != two->time)
		return one->time < two->time ? -1 : 1;
	return by_order(a, b);
}

/* Some events are there twice, if the holder died while it moved them. Returns how many differ. */
static uint32_t drop_copies(struct emu_event *events, uint32_t n)
{
	uint32_t kept = 0;

	qsort(events, n, sizeof(*events), by_order);
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || events[i].order != events[kept - 1].order)
			events[kept++] = events[i];
	return kept;
}

/* The queued events that the arena has, and the one that was rolled back; NULL: no memory. */
static struct emu_event *collect_events(struct emu_world *w, uint32_t seen, uint32_t *n)
{
	const struct emu_section *s = &w->fab->shared.section;
	const struct emu_event *heap = w->fab->heap;
	struct emu_event *events;
	uint32_t valid = 0;

	for (uint32_t i = 0; i < seen; i++)
		valid += is_valid_event(s, &heap[i]);
	events = malloc(((size_t)valid + 1) * sizeof(*events));
	*n = 0;
	for (uint32_t i = 0; events && i < seen && *n < valid; i++) {
		events[*n] = heap[i];
		*n += is_valid_event(s, &events[*n]);
	}
	/* It is on no queue, or the holder died before it was taken off. */
	if (events && s->running && is_valid_event(s, &s->event))
		events[(*n)++] = s->event;
	return events;
}

/*
 * Events queued since the mark are dropped: the event that queued them runs again, or they are of
 * the dead process's own connections, which break. All others are in the heap. They are sorted by
 * time in memory of this process, for a sorted array is a heap.
 */
static void rebuild_events(struct emu_world *w)
{
	struct emu_section *s = &w->fab->shared.section;
	uint32_t n, marked = mark_in_force(s)->events,
		    seen = marked > w->fab->events ? marked : w->fab->events;
	struct emu_event *heap = w->fab->heap, *events;

	if (seen > EMU_EVENTS)
		seen = EMU_EVENTS;
	events = collect_events(w, seen, &n);
	if (!events)
		w->sharing->damaged(w);
	n = events ? drop_copies(events, n) : 0;
	if (n > 0) {
		qsort(events, n, sizeof(*events), by_time);
		memcpy(heap, events, n * sizeof(*events));
	}
	free(events);
	for (uint32_t i = n; i < seen; i++)
		heap[i].order = EMU_NO_EVENT;
	w->fab->events = n;
	emu_section_keep(w);
	s->running = false;
}

/* ---- what the queue holds, for those that ask of each QP or request ---- */

/*
 * A QP whose timer event was dropped has no timer. If its requests need one, emu_stalled_resume
 * starts it. One with an event of a retry timer has that timer, though its process may have died
 * before it said so.
 */
static void match_timers(struct emu_world *w)
{
	uint8_t timed[EMU_MARKS(EMU_QPS)] = { 0 }, retried[EMU_MARKS(EMU_QPS)] = { 0 };

	for (uint32_t i = 0; i < emu_events(w->fab); i++) {
		const struct emu_event *event = &w->fab->heap[i];

		if (emu_is_timer(event) && event->qp <= EMU_QPS &&
		    event->epoch == EMU_AT(w->fab->qp, event->qp).epoch)
			emu_mark(emu_event_kind(event) == EMU_EV_RETRY_TIMER ? retried : timed,
				 event->qp);
	}
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, qps, qp); i++) {
		struct emu_qp *qp = &w->fab->qp[i];

		if (emu_is_marked(retried, i)) {
			qp->timer = true;
			qp->retry_timer = true;
		} else if (qp->timer && !emu_is_marked(timed, i)) {
			qp->timer = qp->rnr_wait = false;
			qp->retry_timer = false;
		}
	}
}

/* ---- tables ---- */

#define REBUILD(fab, table, entries)                                           \
	do {                                                                   \
		(fab)->table.free = (fab)->table.live = 0;                     \
		for (uint32_t i = EMU_HIGH(fab, table, entries); i > 0; i--) { \
			if ((fab)->entries[i].head.live) {                     \
				(fab)->table.live++;                           \
				continue;                                      \
			}                                                      \
			(fab)->entries[i].head.next_free = (fab)->table.free;  \
			(fab)->table.free = i;                                 \
		}                                                              \
	} while (0)

static void rebuild_tables(struct emu_fabric *fab)
{
	fab->shared.processes = 0;
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		fab->shared.processes += fab->shared.process[i].used;
	REBUILD(fab, pds, pd);
	REBUILD(fab, mrs, mr);
	REBUILD(fab, mws, mw);
	REBUILD(fab, cqs, cq);
	REBUILD(fab, srqs, srq);
	REBUILD(fab, qps, qp);
	REBUILD(fab, listeners, listener);
	REBUILD(fab, conns, conn);
	REBUILD(fab, links, link);
}

static void rebuild_listeners(struct emu_fabric *fab)
{
	for (uint32_t i = 0; i < EMU_LISTEN_BUCKETS; i++)
		fab->listen_hash[i] = 0;
	for (uint32_t i = 1; i <= EMU_HIGH(fab, listeners, listener); i++) {
		struct emu_listener *l = &fab->listener[i];
		uint32_t *bucket = &fab->listen_hash[EMU_LISTEN_BUCKET(l->adapter, l->port)];

		if (!l->head.live)
			continue;
		l->next = *bucket;
		*bucket = i;
	}
}

/*
 * Relink the list of a process. Messages of the event that was rolled back are dropped: it will
 * send them again.
 */
static void rebuild_inbox(struct emu_world *w, uint16_t process)
{
	const struct emu_section *s = &w->fab->shared.section;
	struct emu_process *p = emu_process(w, process);
	emu_ref *link = &p->inbox;
	struct emu_message *message;

	while ((message = emu_inbox_at(w, *link)) && emu_go_on(w)) {
		if (s->running && message->during == s->event.order) {
			*link = message->next;
			__asm__ volatile("" ::: "memory");
			message->mark = 0;
			continue;
		}
		p->inbox_tail = *link;
		link = &message->next;
	}
	if (*link)
		emu_inbox_cut(w, process, link);
}

/*
 * The dead process may have died before it woke the others. In lockstep, emu_lockstep_recover wakes
 * them, and a wait ends at its time: only a message in the inbox ends it here.
 */
static void rebuild_inboxes(struct emu_world *w)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		if (emu_process(w, i)->used)
			rebuild_inbox(w, i);
		if (!emu_lockstep(w) || emu_process(w, i)->inbox)
			w->membership->to_wake |= 1ul << (i - 1);
	}
}

/* ---- the reasons to observe packets ---- */

static uint32_t marked_in_inboxes(struct emu_world *w)
{
	uint32_t n = 0;

	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		const struct emu_process *p = emu_process(w, i);
		const struct emu_message *message = emu_inbox_at(w, p->used ? p->inbox : 0);

		for (; message && emu_go_on(w); message = emu_inbox_at(w, message->next))
			n += message->kind == EMU_MESSAGE_RUN && emu_wire_marked(&message->event);
	}
	return n;
}

/*
 * A flag of a QP and fabric.observed, the sum over all such flags, change one after the other. An
 * event is rolled back as a whole, but the calls of a program are not, and one that ends a
 * connection changes the QP at its other end, which stays. QPs change over to single packets, or
 * back, where the sum becomes or ceases to be 0.
 */
static void recount_reasons(struct emu_world *w)
{
	uint32_t reasons = emu_wire_reasons(w) + marked_in_inboxes(w);

	emu_observe(w, (int)(reasons - w->fab->observed));
}

void emu_recover(struct emu_world *w)
{
	emu_split_withdraw(w);
	emu_direct_undo(w);
	roll_back_event(w);
	rebuild_inboxes(w);
	rebuild_tables(w->fab);
	emu_links_rebuild(w);
	rebuild_events(w);
	match_timers(w);
	rebuild_listeners(w->fab);
	recount_reasons(w);
	/* The helper of each process takes the lock now and then: lockstep must not show that. */
	if (!emu_lockstep(w))
		emu_trace(w, "- note a process died with the lock of the fabric");
}
