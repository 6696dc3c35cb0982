/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue.h - the one queue of events, and the timers of queue pairs on it.
 *
 * Events run in order of (time, sequence number). Running one is the only way anything happens on
 * the wire; what an event does is in emu/nic_model.c.
 *
 * The queue begins with a FIFO and a heap, and the earlier of their two first events is the next.
 * Links delay messages by the same time, so nearly every event is due no earlier than the one
 * queued before it: it goes to the end of the FIFO (struct emu_fifo), an array in which nothing
 * moves. Timers, and events that are due before the end of the FIFO, go to the heap.
 *
 * While more events are queued than a heap is quick with (EMU_HEAP_EVENTS), those that are due
 * later than a certain time (emu_wheel.near) go to a wheel behind the heap: wheel.h. They move to
 * the heap before its first event is later than that time. So while there are events on the wheel,
 * the heap has earlier ones, and the next event of the queue is never on the wheel.
 *
 * In a shared fabric all events are on the heap, because FIFO and wheel are of one process: there
 * the limit of the FIFO is its beginning, and the wheel stays empty.
 */
#ifndef EMU_FABRIC_QUEUE_H
#define EMU_FABRIC_QUEUE_H

#include "fabric.h"

static inline enum emu_event_kind emu_event_kind(const struct emu_event *event)
{
	return (enum emu_event_kind)(event->order & 0x3f);
}

/* The same with the flags: one comparison finds an event of that kind without flags. */
static inline uint8_t emu_event_kind_and_flags(const struct emu_event *event)
{
	return (uint8_t)event->order;
}

/* False: no event that this library queued; another process wrote it. */
static inline bool emu_event_is_valid(const struct emu_event *event)
{
	enum emu_event_kind kind = emu_event_kind(event);

	return kind > EMU_EV_NONE && kind < EMU_EV_COUNT && event->qp <= EMU_QPS;
}

static inline bool emu_is_timer(const struct emu_event *event)
{
	enum emu_event_kind kind = emu_event_kind(event);

	return 1ul << kind & (1ul << EMU_EV_RNR_TIMER | 1ul << EMU_EV_RETRY_TIMER |
			      1ul << EMU_EV_CM_TIMEOUT | 1ul << EMU_EV_ALARM);
}

/* A heap of four children: shallower than two, and the four share two cache lines (layout.h). */
#define EMU_HEAP_ARITY 4u

/* Open the FIFO of a private fabric. */
void emu_fifo_open(struct emu_fifo *fifo);
/* Queue an event anywhere: emu_schedule. */
EMU_COLD void emu_schedule_any(struct emu_world *w, uint64_t time, enum emu_event_kind kind,
			       uint32_t qp, uint32_t epoch, uint32_t index, uint32_t packet);

static inline void emu_event_fill(struct emu_fabric *fab, struct emu_event *event, uint64_t time,
				  enum emu_event_kind kind, uint32_t qp, uint32_t epoch,
				  uint32_t index, uint32_t packet)
{
	event->time = time;
	event->order = fab->sequence++ << 8 | kind;
	event->qp = qp;
	event->epoch = epoch;
	event->index = index;
	event->packet = packet;
}

/*
 * Queue an event for `time` (not before now). Never fails: posting checks emu_clock_has_room first.
 * The newest event has the highest sequence number: it goes behind all of its time.
 */
static inline __attribute__((always_inline)) void emu_schedule(struct emu_world *w, uint64_t time,
							       enum emu_event_kind kind,
							       uint32_t qp, uint32_t epoch,
							       uint32_t index, uint32_t packet)
{
	struct emu_event *end = w->fifo.end;

	if (__builtin_expect(end == w->fifo.limit || time < end[-1].time, 0)) {
		emu_schedule_any(w, time, kind, qp, epoch, index, packet);
		return;
	}
	w->fifo.end = end + 1;
	emu_event_fill(w->fab, end, time, kind, qp, epoch, index, packet);
}

/*
 * The number of events on the heap, bounded: in a shared fabric another process may have written
 * garbage.
 */
static inline uint32_t emu_events(const struct emu_fabric *fab)
{
	return fab->events <= EMU_EVENTS ? fab->events : EMU_EVENTS;
}

/* The number of all queued events. */
static inline uint32_t emu_queue_length(const struct emu_world *w)
{
	return w->fab->events + w->wheel.events + (uint32_t)(w->fifo.end - w->fifo.first);
}

/* The next event of the FIFO and the heap, neither of which is empty. */
EMU_COLD const struct emu_event *emu_queue_earlier(const struct emu_world *w);

/* The next event; NULL: there is none. */
static inline const struct emu_event *emu_queue_first(const struct emu_world *w)
{
	const struct emu_fifo *fifo = &w->fifo;

	if (__builtin_expect(fifo->first == fifo->end, 0))
		return w->fab->events > 0 ? &w->fab->heap[0] : NULL;
	return __builtin_expect(w->fab->events > 0, 0) ? emu_queue_earlier(w) : fifo->first;
}

/* Take the first event off the heap; there is one. */
EMU_COLD void emu_heap_pop(struct emu_world *w);

/* Take that event, the next one, off the queue. Its contents stay until one is queued. */
static inline void emu_queue_pop(struct emu_world *w, const struct emu_event *first)
{
	if (__builtin_expect(first == w->fifo.first, 1))
		w->fifo.first++;
	else
		emu_heap_pop(w);
}

/* Queue an event again, with its flags. */
void emu_reschedule(struct emu_world *w, const struct emu_event *event, uint64_t time);
/* May a post add events? The rest of the queue is reserved for ACKs, NAKs and teardown. */
static inline bool emu_clock_has_room(const struct emu_world *w)
{
	return w->fab->events + w->wheel.events < EMU_EVENTS - EMU_EVENTS_RESERVE;
}

/*
 * Is there room whatever the wheel holds? For the short way of a post, where another number to add
 * costs several instructions. If not, the general way asks again.
 */
static inline bool emu_clock_has_much_room(const struct emu_world *w)
{
	return w->fab->events < EMU_EVENTS - EMU_EVENTS_RESERVE - EMU_WHEEL_EVENTS;
}

/*
 * A QP has at most one timer: connect timeout, RNR, retry, or after all these an alarm
 * (EMU_EV_CM_TIMEOUT, EMU_EV_xxx_TIMER, EMU_EV_ALARM).
 */
void emu_timer_start(struct emu_world *w, struct emu_qp *qp, uint64_t time,
		     enum emu_event_kind kind);
/*
 * Remove the timer, which is on the queue. All other code calls emu_timer_stop (emu/wire/retry.h).
 */
void emu_timer_remove(struct emu_world *w, const struct emu_qp *qp);

#endif /* EMU_FABRIC_QUEUE_H */
