/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of events: FIFO, heap, and what moves from the wheel. emu_schedule is in queue.h. */
#include "queue.h"

#include <string.h>

#include "sharing.h"
#include "wheel.h"

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

/* One number, so that the compiler compares without a branch: none of these could be predicted. */
static unsigned __int128 key_of(const struct emu_event *event)
{
	return (unsigned __int128)event->time << 64 | event->order;
}

static bool is_earlier(const struct emu_event *a, const struct emu_event *b)
{
	return key_of(a) < key_of(b);
}

/* Note where the timer of a QP is, for emu_timer_remove: on the heap, or behind it in the pool. */
static void note_place(struct emu_fabric *fab, const struct emu_event *event)
{
	if (emu_is_timer(event) && event->qp <= EMU_QPS)
		fab->timer_at[event->qp] = (uint32_t)(event - fab->heap);
}

static void heap_move(struct emu_fabric *fab, uint32_t to, const struct emu_event *event)
{
	fab->heap[to] = *event;
	note_place(fab, &fab->heap[to]);
}

/* A place on the heap for an event that is queued now. */
static struct emu_event *heap_place(struct emu_world *w, uint64_t time)
{
	struct emu_event *heap = w->fab->heap;
	uint32_t i = w->fab->events++;

	EMU_SURE(w, i < EMU_EVENTS);
	while (i > 0 && time < heap[(i - 1) / EMU_HEAP_ARITY].time) {
		heap_move(w->fab, i, &heap[(i - 1) / EMU_HEAP_ARITY]);
		i = (i - 1) / EMU_HEAP_ARITY;
	}
	return &heap[i];
}

/* Does an event of that time go to the wheel? An empty one begins behind the next event. */
static bool is_far(struct emu_world *w, uint64_t time)
{
	if (!w->wheel.events) {
		if (emu_is_shared(w) || w->fab->events < EMU_HEAP_EVENTS)
			return false;
		emu_wheel_start(&w->wheel, w->fab->heap[0].time);
	}
	return time > w->wheel.near;
}

/* A place for an event that is queued now and is not for the FIFO. */
static struct emu_event *queue_place(struct emu_world *w, uint64_t time)
{
	struct emu_event *event = is_far(w, time) ? emu_wheel_place(w, time) : NULL;

	return event ? event : heap_place(w, time);
}

EMU_COLD void emu_schedule_any(struct emu_world *w, uint64_t time, enum emu_event_kind kind,
			       uint32_t qp, uint32_t epoch, uint32_t index, uint32_t packet)
{
	struct emu_fifo *fifo = &w->fifo;
	bool room = fifo->end != fifo->limit || fifo_make_room(fifo);
	struct emu_event *event = room && time >= fifo->end[-1].time ? fifo->end++
								     : queue_place(w, time);

	emu_event_fill(w->fab, event, time, kind, qp, epoch, index, packet);
}

/* The earliest of the children from `child` on, of which there is at least one. */
static uint32_t earliest_child(const struct emu_event *heap, uint32_t child, uint32_t n)
{
	uint32_t a = child, b = child + 2;

	if (__builtin_expect(child + EMU_HEAP_ARITY <= n, 1)) {
		a += is_earlier(&heap[child + 1], &heap[child]);
		b += is_earlier(&heap[child + 3], &heap[child + 2]);
		return is_earlier(&heap[b], &heap[a]) ? b : a;
	}
	while (++child < n)
		if (is_earlier(&heap[child], &heap[a]))
			a = child;
	return a;
}

/* Put `event` into the hole at i, or above it: parents that are later move down. */
static void sift_up(struct emu_fabric *fab, uint32_t i, uint32_t top, const struct emu_event *event)
{
	struct emu_event *heap = fab->heap;

	while (i > top && is_earlier(event, &heap[(i - 1) / EMU_HEAP_ARITY])) {
		heap_move(fab, i, &heap[(i - 1) / EMU_HEAP_ARITY]);
		i = (i - 1) / EMU_HEAP_ARITY;
	}
	heap_move(fab, i, event);
}

/*
 * Fill the hole at i with `event`. The hole goes down to a leaf first, and the event from there up:
 * it is the last of the heap, so it seldom goes far.
 */
static void sift_down(struct emu_fabric *fab, uint32_t i, const struct emu_event *event)
{
	struct emu_event *heap = fab->heap;
	uint32_t n = fab->events, top = i, child;

	while ((child = i * EMU_HEAP_ARITY + 1) < n) {
		child = earliest_child(heap, child, n);
		heap_move(fab, i, &heap[child]);
		i = child;
	}
	sift_up(fab, i, top, event);
}

/* An event of the first slot goes to the heap, or to a slot of a lower level. */
static void move_nearer(struct emu_world *w, const struct emu_event *event)
{
	struct emu_wheel *wheel = &w->wheel;
	struct emu_event *place = event->time > wheel->near ? emu_wheel_place(w, event->time)
							    : NULL;

	if (!place) {
		sift_up(w->fab, w->fab->events++, 0, event);
		return;
	}
	*place = *event;
	note_place(w->fab, place);
}

/* Move events from the wheel to the heap until the next one is there. */
static EMU_COLD void heap_refill(struct emu_world *w)
{
	const struct emu_fabric *fab = w->fab;
	struct emu_event event;
	struct emu_slot slot;

	while (w->wheel.events > 0 && (!fab->events || fab->heap[0].time > w->wheel.near)) {
		emu_wheel_advance(w, &slot);
		while (emu_wheel_take(w, &slot, &event))
			move_nearer(w, &event);
	}
}

EMU_COLD void emu_heap_pop(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;
	uint32_t n = --fab->events;

	if (n > 0)
		sift_down(fab, 0, &fab->heap[n]);
	if (w->wheel.events > 0)
		heap_refill(w);
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
	if (i > 0 && is_earlier(&last, &fab->heap[(i - 1) / EMU_HEAP_ARITY]))
		sift_up(fab, i, 0, &last);
	else
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
	struct emu_event *event;

	EMU_SURE(w, !qp->timer);
	qp->timer = true;
	/* Never in the FIFO: a timer may be removed, and is due later than what follows it. */
	event = queue_place(w, time);
	emu_event_fill(w->fab, event, time, kind, emu_qp_index(w, qp), qp->epoch, 0, 0);
	note_place(w->fab, event);
}

static bool is_timer_of(struct emu_world *w, const struct emu_qp *qp, const struct emu_event *event)
{
	return emu_is_timer(event) && event->qp == emu_qp_index(w, qp) && event->epoch == qp->epoch;
}

/* Where it was noted to be. After a recovery, or with garbage in the arena, it may be elsewhere. */
static uint32_t find_timer(struct emu_world *w, const struct emu_qp *qp)
{
	uint32_t i = w->fab->timer_at[emu_qp_index(w, qp)], n = emu_events(w->fab);

	if (i < n && is_timer_of(w, qp, &w->fab->heap[i]))
		return i;
	i = 0;
	while (i < n && !is_timer_of(w, qp, &w->fab->heap[i]) && emu_go_on(w))
		i++;
	return i;
}

/* The timer, if it is on the wheel; NULL: on the heap. */
static struct emu_event *find_far_timer(struct emu_world *w, const struct emu_qp *qp)
{
	uint32_t i = w->fab->timer_at[emu_qp_index(w, qp)];
	struct emu_event *far = &EMU_AT(w->fab->heap, i);

	if (i < EMU_EVENTS || emu_is_shared(w))
		return NULL;
	assert(is_timer_of(w, qp, far));
	return far;
}

void emu_timer_remove(struct emu_world *w, const struct emu_qp *qp)
{
	struct emu_fabric *fab = w->fab;
	struct emu_event *far = find_far_timer(w, qp);
	uint32_t i;

	if (far) {
		far = emu_wheel_remove(w, far);
		if (far)
			note_place(fab, far);
		return;
	}
	i = find_timer(w, qp);
	EMU_SURE(w, i < fab->events);
	if (i < fab->events && fab->events <= EMU_EVENTS)
		heap_remove(fab, i);
	if (w->wheel.events > 0)
		heap_refill(w);
}
