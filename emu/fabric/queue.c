/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of events: a FIFO, and a heap in the arena. emu_schedule is in queue.h. */
#include "queue.h"

#include <string.h>

/* ---- the FIFO ---- */

/* Entry 0 is due at 0 and never runs: with it there is always a last event to compare with. */
void emu_fifo_open(struct emu_fifo *fifo)
{
	fifo->event[0].time = 0;
	fifo->first = fifo->end = &fifo->event[1];
	fifo->limit = &fifo->event[EMU_FIFO_EVENTS];
}

/* Move the events to the front of the array, with the one before them, if half of it is free. */
static bool fifo_make_room(struct emu_fifo *fifo)
{
	ptrdiff_t gone = fifo->limit ? fifo->first - &fifo->event[1] : 0;

	if (gone < (ptrdiff_t)(EMU_FIFO_EVENTS / 2))
		return false;
	memmove(fifo->event, fifo->first - 1,
		(size_t)(fifo->end - fifo->first + 1) * sizeof(fifo->event[0]));
	fifo->first -= gone;
	fifo->end -= gone;
	return true;
}

/* ---- the heap ---- */

static bool is_earlier(const struct emu_event *a, const struct emu_event *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

/* A place on the heap for an event that is queued now. */
static struct emu_event *heap_place(struct emu_world *w, uint64_t time)
{
	struct emu_event *heap = w->fab->heap;
	uint32_t i = w->fab->events++;

	EMU_SURE(w, i < EMU_EVENTS);
	while (i > 0 && time < heap[(i - 1) / EMU_HEAP_ARITY].time) {
		heap[i] = heap[(i - 1) / EMU_HEAP_ARITY];
		i = (i - 1) / EMU_HEAP_ARITY;
	}
	return &heap[i];
}

EMU_COLD void emu_schedule_any(struct emu_world *w, uint64_t time, enum emu_event_kind kind,
			       uint32_t qp, uint32_t epoch, uint32_t index, uint32_t packet)
{
	struct emu_fifo *fifo = &w->fifo;
	bool room = fifo->end != fifo->limit || fifo_make_room(fifo);
	struct emu_event *event = room && time >= fifo->end[-1].time ? fifo->end++
								     : heap_place(w, time);

	emu_event_fill(w->fab, event, time, kind, qp, epoch, index, packet);
}

/* Fill the hole at i with `event`; children that are earlier move up. */
static void sift_down(struct emu_fabric *fab, uint32_t i, const struct emu_event *event)
{
	struct emu_event *heap = fab->heap;
	uint32_t n = fab->events;

	for (;;) {
		uint32_t child = i * EMU_HEAP_ARITY + 1, least = child,
			 end = child + EMU_HEAP_ARITY;

		if (child >= n)
			break;
		if (end > n)
			end = n;
		while (++child < end)
			if (is_earlier(&heap[child], &heap[least]))
				least = child;
		if (!is_earlier(&heap[least], event))
			break;
		heap[i] = heap[least];
		i = least;
	}
	heap[i] = *event;
}

EMU_COLD void emu_heap_pop(struct emu_fabric *fab)
{
	uint32_t n = --fab->events;

	if (n > 0)
		sift_down(fab, 0, &fab->heap[n]);
}

EMU_COLD const struct emu_event *emu_queue_earlier(const struct emu_world *w)
{
	const struct emu_event *heap = w->fab->heap;

	return is_earlier(&heap[0], w->fifo.first) ? &heap[0] : w->fifo.first;
}

static void heap_remove(struct emu_fabric *fab, uint32_t i)
{
	struct emu_event last = fab->heap[--fab->events];

	if (i == fab->events)
		return;
	while (i > 0 && is_earlier(&last, &fab->heap[(i - 1) / EMU_HEAP_ARITY])) {
		fab->heap[i] = fab->heap[(i - 1) / EMU_HEAP_ARITY];
		i = (i - 1) / EMU_HEAP_ARITY;
	}
	sift_down(fab, i, &last);
	fab->heap[fab->events].order = EMU_NO_EVENT;
}

void emu_reschedule(struct emu_world *w, const struct emu_event *event, uint64_t time)
{
	emu_schedule(w, time, (enum emu_event_kind)(event->order & 0xff), event->qp, event->epoch,
		     event->index, event->packet);
}

void emu_timer_start(struct emu_world *w, struct emu_qp *qp, uint64_t time,
		     enum emu_event_kind kind)
{
	EMU_SURE(w, !qp->timer);
	qp->timer = true;
	/* Never in the FIFO: a timer may be removed, and is due later than what follows it. */
	emu_event_fill(w->fab, heap_place(w, time), time, kind, emu_qp_index(w, qp), qp->epoch, 0,
		       0);
}

static bool is_timer_of(struct emu_world *w, const struct emu_qp *qp, const struct emu_event *event)
{
	return emu_is_timer(event) && event->qp == emu_qp_index(w, qp) && event->epoch == qp->epoch;
}

static uint32_t find_timer(struct emu_world *w, const struct emu_qp *qp)
{
	uint32_t i = 0, n = emu_events(w->fab);

	while (i < n && !is_timer_of(w, qp, &w->fab->heap[i]) && emu_go_on(w))
		i++;
	return i;
}

/* A linear search will do: timers are stopped when connections begin and end, not per message. */
void emu_timer_remove(struct emu_world *w, const struct emu_qp *qp)
{
	struct emu_fabric *fab = w->fab;
	uint32_t i = find_timer(w, qp);

	EMU_SURE(w, i < fab->events);
	if (i < fab->events && fab->events <= EMU_EVENTS)
		heap_remove(fab, i);
}
