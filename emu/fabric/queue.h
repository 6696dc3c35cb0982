/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue.h - the one queue of events, and the timers of queue pairs on it.
 *
 * Events run in order of (time, sequence number). Running one is the only way anything happens on
 * the wire; what an event does is in emu/nic_model.c.
 */
#ifndef EMU_FABRIC_QUEUE_H
#define EMU_FABRIC_QUEUE_H

#include "fabric.h"

static inline enum emu_event_kind emu_event_kind(const struct emu_event *event)
{
	return (enum emu_event_kind)(event->order & 0x3f);
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

	return kind == EMU_EV_RNR_TIMER || kind == EMU_EV_RETRY_TIMER ||
	       kind == EMU_EV_CM_TIMEOUT || kind == EMU_EV_ALARM;
}

/* A heap of four children: shallower than two, and the four share two cache lines. */
#define EMU_HEAP_ARITY 4u

/*
 * Queue an event for `time` (not before now). Never fails: posting checks emu_clock_has_room first.
 */
static inline void emu_schedule(struct emu_world *w, uint64_t time, enum emu_event_kind kind,
				uint32_t qp, uint32_t epoch, uint32_t index, uint32_t packet)
{
	struct emu_fabric *fab = w->fab;
	struct emu_event *heap = fab->heap, *event;
	uint32_t i = fab->events++;

	EMU_SURE(w, i < EMU_EVENTS);
	/* The newest event has the highest sequence number: it goes behind all of its time. */
	while (i > 0 && time < heap[(i - 1) / EMU_HEAP_ARITY].time) {
		heap[i] = heap[(i - 1) / EMU_HEAP_ARITY];
		i = (i - 1) / EMU_HEAP_ARITY;
	}
	event = &heap[i];
	event->time = time;
	event->order = fab->sequence++ << 8 | kind;
	event->qp = qp;
	event->epoch = epoch;
	event->index = index;
	event->packet = packet;
}

/*
 * The number of queued events, bounded: in a shared fabric another process may have written
 * garbage.
 */
static inline uint32_t emu_events(const struct emu_fabric *fab)
{
	return fab->events <= EMU_EVENTS ? fab->events : EMU_EVENTS;
}

/* Fill the hole at i: the general part of emu_event_pop. */
EMU_COLD void emu_queue_sift_down(struct emu_fabric *fab, uint32_t i,
				  const struct emu_event *event);

/* Take the first event off the queue; there is one. */
static inline void emu_event_pop(struct emu_fabric *fab)
{
	uint32_t n = --fab->events;

	if (n > 0)
		emu_queue_sift_down(fab, 0, &fab->heap[n]);
}

/* Queue an event again, with its flags. */
void emu_reschedule(struct emu_world *w, const struct emu_event *event, uint64_t time);
/* May a post add events? The rest of the queue is reserved for ACKs, NAKs and teardown. */
static inline bool emu_clock_has_room(const struct emu_world *w)
{
	return w->fab->events < EMU_EVENTS - EMU_EVENTS_RESERVE;
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
