/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery of the arena after a process died with the fabric's lock: copies before an event, the
 * rollback to them, and the structures that are rebuilt. recover.h explains the scheme.
 */
#include "recover.h"

#include <string.h>

#include "emu/fabric/clock.h"
#include "emu/cm.h"
#include "direct.h"
#include "inbox.h"
#include "emu/qp.h"
#include "shared.h"
#include "emu/fabric/trace.h"

/* ---- copies before an event, and the rollback ---- */

void emu_section_end(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;
	struct emu_section *s = &fab->shared.section;

	__asm__ volatile("" ::: "memory");
	s->running = false;
	s->qps = 0;
	s->events = fab->events;
	s->sequence = fab->sequence;
	s->observed = fab->observed;
	fab->shared.holder = 0;
}

static void copy_qp(struct emu_world *w, struct emu_section *s, uint32_t index)
{
	const struct emu_fabric *fab = w->fab;
	struct emu_kept *kept = &s->kept[s->qps];
	const struct emu_qp *qp = &fab->qp[index];

	kept->index = index;
	kept->qp = *qp;
	kept->send_cq = fab->cq[qp->send_cq];
	kept->recv_cq = fab->cq[qp->recv_cq];
	kept->srq = fab->srq[qp->srq];
	s->qps++;
	emu_cq_event_begin(&w->fab->cq[qp->send_cq]);
	emu_cq_event_begin(&w->fab->cq[qp->recv_cq]);
}

void emu_section_event(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp);
	struct emu_section *s = &w->fab->shared.section;

	s->qps = 0;
	s->event = *event;
	copy_qp(w, s, event->qp);
	if (qp->peer && qp->peer != event->qp)
		copy_qp(w, s, qp->peer);
	__asm__ volatile("" ::: "memory");
	s->running = true;
	__asm__ volatile("" ::: "memory");
}

void emu_section_event_done(struct emu_world *w)
{
	struct emu_section *s = &w->fab->shared.section;
	uint32_t qps = s->qps;

	__asm__ volatile("" ::: "memory");
	s->running = false;
	__asm__ volatile("" ::: "memory");
	for (uint32_t i = 0; i < qps; i++) {
		emu_cq_event_end(&w->fab->cq[s->kept[i].qp.send_cq]);
		emu_cq_event_end(&w->fab->cq[s->kept[i].qp.recv_cq]);
	}
}

/*
 * The rollback leaves out rq.put, reaped and get: their owner may be writing them, without the lock
 * (direct.h).
 */
#define BEHIND(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

static void restore_range(void *to, const void *was, size_t begin, size_t end)
{
	memcpy((uint8_t *)to + begin, (const uint8_t *)was + begin, end - begin);
}

static void restore_but_posts(struct emu_qp *qp, const struct emu_qp *was)
{
	size_t put = offsetof(struct emu_qp, rq.put), reaped = offsetof(struct emu_qp, reaped);

	restore_range(qp, was, 0, put);
	restore_range(qp, was, BEHIND(struct emu_qp, rq.put), reaped);
	restore_range(qp, was, BEHIND(struct emu_qp, reaped), sizeof(*qp));
}

static void restore_cq(struct emu_cq *cq, const struct emu_cq *was)
{
	restore_range(cq, was, 0, offsetof(struct emu_cq, get));
	restore_range(cq, was, BEHIND(struct emu_cq, get), sizeof(*cq));
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

static void roll_back_event(struct emu_world *w)
{
	struct emu_section *s = &w->fab->shared.section;
	struct emu_fabric *fab = w->fab;

	for (uint32_t i = s->running ? s->qps : 0; i > 0; i--) {
		const struct emu_kept *kept = &s->kept[i - 1];

		restore_qp(&fab->qp[kept->index], &kept->qp);
		restore_cq(&fab->cq[kept->qp.send_cq], &kept->send_cq);
		restore_cq(&fab->cq[kept->qp.recv_cq], &kept->recv_cq);
		fab->srq[kept->qp.srq] = kept->srq;
	}
	fab->observed = s->observed;
}

/* ---- the event queue ---- */

static bool is_valid_event(const struct emu_section *s, const struct emu_event *event)
{
	enum emu_event_kind kind = emu_event_kind(event);

	return event->order != EMU_NO_EVENT && event->order >> 8 < s->sequence &&
	       kind > EMU_EV_NONE && kind < EMU_EV_COUNT && event->qp <= EMU_QPS;
}

static bool has_event(const struct emu_event *heap, uint32_t n, const struct emu_event *event)
{
	for (uint32_t i = 0; i < n; i++)
		if (heap[i].order == event->order)
			return true;
	return false;
}

/*
 * Events queued in this section are dropped: their connections break. All others are in the heap,
 * some of them twice if the holder died while it moved them. They are sorted by time; a sorted
 * array is a heap.
 */
static void rebuild_events(struct emu_world *w)
{
	struct emu_section *s = &w->fab->shared.section;
	struct emu_event *heap = w->fab->heap;
	uint32_t n = 0, seen = s->events > w->fab->events ? s->events : w->fab->events;

	if (seen > EMU_EVENTS)
		seen = EMU_EVENTS;
	for (uint32_t i = 0; i < seen; i++) {
		struct emu_event event = heap[i];
		uint32_t at = n;

		if (!is_valid_event(s, &event) || has_event(heap, n, &event))
			continue;
		for (; at > 0 &&
		       (heap[at - 1].time > event.time ||
			(heap[at - 1].time == event.time && heap[at - 1].order > event.order));
		     at--)
			heap[at] = heap[at - 1];
		heap[at] = event;
		n++;
	}
	for (uint32_t i = n; i < seen; i++)
		heap[i].order = EMU_NO_EVENT;
	w->fab->events = n;
	/* The event that ran has been rolled back: queue it again. */
	if (s->running && is_valid_event(s, &s->event) && !has_event(heap, n, &s->event))
		emu_reschedule(w, &s->event, s->event.time);
	s->running = false;
}

/* A QP whose timer event was dropped has no timer. */
static void clear_lost_timers(struct emu_world *w)
{
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, qps, qp); i++) {
		struct emu_qp *qp = &w->fab->qp[i];

		if (qp->timer && !emu_timer_queued(w, qp))
			qp->timer = qp->retry_timer = qp->rnr_wait = false;
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
 * Relink the lists. Messages of the event that was rolled back are dropped: it will send them
 * again.
 */
static void rebuild_inboxes(struct emu_world *w)
{
	const struct emu_section *s = &w->fab->shared.section;

	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		struct emu_process *p = emu_process(w, i);
		emu_ref *link = &p->inbox;

		for (uint32_t n = 0; p->used && *link && n < EMU_STEPS_MOST; n++) {
			struct emu_message *message = emu_at(w, *link);

			if (s->running && message->during == s->event.order) {
				*link = message->next;
				continue;
			}
			p->inbox_tail = *link;
			link = &message->next;
		}
		w->membership->to_wake |= 1ul << (i - 1);
	}
}

/* ---- connection requests whose event was dropped ---- */

static bool is_request_queued(struct emu_world *w, uint32_t conn)
{
	const struct emu_fabric *fab = w->fab;

	for (uint32_t i = 0; i < emu_events(fab); i++) {
		enum emu_event_kind kind = emu_event_kind(&fab->heap[i]);

		if ((kind == EMU_EV_CM_REQUEST || kind == EMU_EV_CM_REPLY) &&
		    fab->heap[i].index == conn)
			return true;
	}
	return emu_inbox_has_request(w, conn);
}

static void refuse_lost_requests(struct emu_world *w)
{
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, conns, conn); i++) {
		const struct emu_conn *conn = &w->fab->conn[i];

		/* A request that has arrived and is not answered yet waits for its listener. */
		if (conn->head.live && (conn->answered || !conn->arrived) &&
		    !is_request_queued(w, i))
			emu_cm_turn_down(w, i);
	}
}

void emu_recover(struct emu_world *w)
{
	emu_direct_undo(w);
	roll_back_event(w);
	rebuild_inboxes(w);
	rebuild_tables(w->fab);
	rebuild_events(w);
	clear_lost_timers(w);
	rebuild_listeners(w->fab);
	emu_trace(w, "- note a process died with the lock of the fabric");
}

static bool is_orphan(struct emu_world *w, const struct emu_qp *qp)
{
	bool connected = emu_qp_running(qp) || (qp->state == EMU_QP_CONNECTING && qp->peer);

	return qp->head.live && connected && emu_qp_at(w, qp->peer)->epoch != qp->peer_epoch;
}

void emu_recover_orphans(struct emu_world *w)
{
	refuse_lost_requests(w);
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, qps, qp); i++) {
		struct emu_qp *qp = &w->fab->qp[i];

		if (is_orphan(w, qp))
			emu_schedule(w, w->fab->now, EMU_EV_TERMINATE, i, qp->epoch, 0, 0);
	}
}
