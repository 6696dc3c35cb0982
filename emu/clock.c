/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "cm.h"
#include "link.h"
#include "qp.h"
#include "rx.h"
#include "tx.h"

/* A 4-ary heap: shallower than a binary one, and the four children of a node share two cache lines. */
#define HEAP_ARITY 4u

static bool earlier(const struct emu_event *a, const struct emu_event *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void heap_push(struct emu_fabric *fab, const struct emu_event *event)
{
	uint32_t i = fab->events++;

	while (i > 0) {
		uint32_t parent = (i - 1) / HEAP_ARITY;

		if (!earlier(event, &fab->heap[parent]))
			break;
		fab->heap[i] = fab->heap[parent];
		i = parent;
	}
	fab->heap[i] = *event;
}

static struct emu_event heap_pop(struct emu_fabric *fab)
{
	struct emu_event top = fab->heap[0];
	uint32_t n = --fab->events;
	const struct emu_event *last = &fab->heap[n];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = i * HEAP_ARITY + 1, least = child, end = child + HEAP_ARITY;

		if (child >= n)
			break;
		if (end > n)
			end = n;
		while (++child < end)
			if (earlier(&fab->heap[child], &fab->heap[least]))
				least = child;
		if (!earlier(&fab->heap[least], last))
			break;
		fab->heap[i] = fab->heap[least];
		i = least;
	}
	fab->heap[i] = *last;
	return top;
}

void emu_schedule(struct emu_world *w, uint64_t time, enum emu_event_kind kind, uint32_t qp,
		  uint32_t epoch, uint32_t index, uint32_t packet)
{
	struct emu_fabric *fab = w->fab;
	struct emu_event event = {
		.time = time,
		.order = fab->sequence++ << 8 | kind,
		.qp = qp,
		.epoch = epoch,
		.index = index,
		.packet = packet,
	};

	assert(time >= fab->now && fab->events < EMU_EVENTS);
	heap_push(fab, &event);
}

void emu_reschedule(struct emu_world *w, const struct emu_event *event)
{
	emu_schedule(w, w->fab->now, emu_event_kind(event), event->qp, event->epoch, event->index,
		     event->packet);
}

bool emu_clock_has_room(const struct emu_world *w)
{
	return w->fab->events < EMU_EVENTS - EMU_EVENTS_RESERVE;
}

static void dispatch(struct emu_world *w, struct emu_event *event)
{
	if (emu_link_holds(w, event))
		return;
	switch (emu_event_kind(event)) {
	case EMU_EV_DATA:
	case EMU_EV_DATA_REST:
		emu_rx_data(w, event);
		break;
	case EMU_EV_ACK:
	case EMU_EV_RNR:
	case EMU_EV_NAK:
	case EMU_EV_RNR_TIMER:
		emu_tx_answer(w, event);
		break;
	case EMU_EV_TERMINATE:
	case EMU_EV_BREAK:
	case EMU_EV_DISCONNECT:
		emu_qp_end_event(w, event);
		break;
	case EMU_EV_CM_REQUEST:
	case EMU_EV_CM_REPLY:
	case EMU_EV_CM_READY:
	case EMU_EV_CM_GONE:
	case EMU_EV_CM_TIMEOUT:
		emu_cm_event(w, event);
		break;
	case EMU_EV_NONE:
	case EMU_EV_COUNT:
		assert(!"an event of no kind");
	}
}

/* A timer whose reason is gone; it stays queued, for taking it out of the middle would cost more. */
static bool timer_stale(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp);

	switch (emu_event_kind(event)) {
	case EMU_EV_CM_TIMEOUT:
		return emu_qp_stale(qp, event) || qp->state != EMU_QP_CONNECTING;
	case EMU_EV_RNR_TIMER:
		return emu_qp_stale(qp, event);
	default:
		return false;
	}
}

void emu_timer_start(struct emu_world *w, struct emu_qp *qp, uint64_t time,
		     enum emu_event_kind kind)
{
	assert(!qp->timer);
	qp->timer = true;
	emu_schedule(w, time, kind, emu_qp_index(w, qp), qp->epoch, 0, 0);
}

void emu_timer_stop(struct emu_world *w, struct emu_qp *qp)
{
	if (qp->timer)
		w->fab->stale_timers++;
	qp->timer = false;
}

/* Whether anything is left to happen; dead timers in front are thrown away, without moving time. */
static bool pending(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;

	while (fab->stale_timers > 0 && fab->events > 0 && timer_stale(w, &fab->heap[0])) {
		heap_pop(fab);
		fab->stale_timers--;
	}
	return fab->events > 0;
}

uint32_t emu_pending(struct nic *nic, uint64_t *next_ns)
{
	struct emu_world *w = emu_world_of(nic);

	if (!pending(w))
		return 0;
	*next_ns = w->fab->heap[0].time;
	return w->fab->events - w->fab->stale_timers;
}

bool emu_step(struct emu_world *w)
{
	struct emu_event event;

	if (!pending(w))
		return false;
	event = heap_pop(w->fab);
	assert(event.time >= w->fab->now || w->following);
	if (event.time > w->fab->now)
		w->fab->now = event.time;
	dispatch(w, &event);
	return true;
}

uint64_t emu_now(struct nic *nic)
{
	struct emu_world *w = emu_world_of(nic);

	if (w->following)
		emu_follow(w, nic);
	return w->fab->now;
}

void emu_follow(struct emu_world *w, struct nic *nic)
{
	uint64_t mono = nic->up->monotonic_ns(nic->ctx) - w->mono_base;

	while (pending(w) && w->fab->heap[0].time <= mono)
		emu_step(w);
	if (mono > w->fab->now)
		w->fab->now = mono;
}

/* One step under the monotonic clock: what is due runs, what is not is slept for. */
static enum nic_wait wait_following(struct emu_world *w, struct nic *nic, uint64_t deadline)
{
	uint64_t sequence = w->fab->sequence, until = deadline;
	uint32_t events = w->fab->events;

	emu_follow(w, nic);
	if (w->fab->sequence != sequence || w->fab->events != events)
		return NIC_WAIT_RAN;
	if (w->fab->now >= deadline)
		return NIC_WAIT_DEADLINE;
	if (pending(w) && w->fab->heap[0].time < until)
		until = w->fab->heap[0].time;
	if (until != NIC_TIME_NEVER)
		until += w->mono_base;
	return nic->up->sleep(nic->ctx, until);
}

enum nic_wait emu_wait(struct nic *nic, struct nic_cq *cq, uint64_t deadline)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_fabric *fab = w->fab;

	(void)cq;
	if (!w->following && nic->up->threaded(nic->ctx)) {
		/* Once several threads are about, time is nobody's to jump with any more. */
		w->following = true;
		w->mono_base = nic->up->monotonic_ns(nic->ctx) - fab->now;
		for (uint32_t i = 0; i <= EMU_ADAPTERS; i++)
			w->nics[i].base.poll_quantum_ns = 0;
	}
	if (w->following)
		return wait_following(w, nic, deadline);
	if (pending(w) && fab->heap[0].time <= deadline) {
		emu_step(w);
		return NIC_WAIT_RAN;
	}
	if (deadline == NIC_TIME_NEVER)
		return NIC_WAIT_HOPELESS;
	if (deadline > fab->now)
		fab->now = deadline;
	return NIC_WAIT_DEADLINE;
}
