/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h - virtual time and the one queue of events.
 *
 * Events run in order of (time, sequence number). Running one is the only way anything happens on the
 * wire. In a single-threaded process time jumps to what is asked for; with several threads it
 * follows the monotonic clock that lib passes in (fabric.h: world.following).
 */
#ifndef EMU_CLOCK_H
#define EMU_CLOCK_H

#include "fabric.h"

/* A heap of four children: shallower than two, and the four share two cache lines. */
#define EMU_HEAP_ARITY 4u

/* Queue an event for `time` (not before now). Never fails: posting checks emu_clock_has_room first. */
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

/* How many there can be of those that are queued: in a shared fabric others may have written nonsense. */
static inline uint32_t emu_events(const struct emu_fabric *fab)
{
	return fab->events <= EMU_EVENTS ? fab->events : EMU_EVENTS;
}

/* Queue an event again, marks and all. */
void emu_reschedule(struct emu_world *w, const struct emu_event *event, uint64_t time);
/* Run an event that is on no queue, now. */
void emu_clock_run(struct emu_world *w, struct emu_event *event);
/* A shared fabric: time follows the monotonic clock from the first adapter on; nic is one of this process. */
void emu_clock_share(struct emu_world *w, struct nic *nic);
/* Run the first event of a shared fabric, or have it run; there is one. */
void emu_clock_run_first(struct emu_world *w);
/* A nic with services of the host: any open adapter's stands in for the control nic. NULL: none. */
struct nic *emu_clock_host(struct emu_world *w, struct nic *nic);
/* While following: has that time come? */
bool emu_clock_due(struct emu_world *w, uint64_t time);
/* A call of this process is over: what is due runs. */
void emu_clock_settle(struct emu_world *w);
/* Posting may add events only while this holds; the rest is kept for answers and teardown. */
static inline bool emu_clock_has_room(const struct emu_world *w)
{
	return w->fab->events < EMU_EVENTS - EMU_EVENTS_RESERVE;
}

/* A QP has at most one timer, for a connection, for RNR or for an answer: EMU_EV_xxx_TIMER, _TIMEOUT. */
void emu_timer_start(struct emu_world *w, struct emu_qp *qp, uint64_t time,
		     enum emu_event_kind kind);
/* Take it out of the queue, if it runs. */
void emu_timer_stop(struct emu_world *w, struct emu_qp *qp);
bool emu_timer_queued(struct emu_world *w, const struct emu_qp *qp);

uint64_t emu_now(struct nic *nic);
enum nic_wait emu_wait(struct nic *nic, struct nic_cq *cq, uint64_t deadline);
/* Run the next event; false: there is none. */
bool emu_step(struct nic *nic);
/* How many events are queued, and when the first is due. */
uint32_t emu_pending(struct nic *nic, uint64_t *next_ns);
/* While following the monotonic clock: bring now up to it and run what is due. False: there is more. */
bool emu_follow(struct emu_world *w, struct nic *nic);
/* Something was sent: those who sleep until the next event have to look again. */
static inline void emu_sent(struct emu_world *w, struct nic *nic)
{
	if (__builtin_expect(w->following, 0))
		nic->up->wake(nic->ctx);
}

static inline enum emu_event_kind emu_event_kind(const struct emu_event *event)
{
	return (enum emu_event_kind)(event->order & 0x3f);
}

#endif /* EMU_CLOCK_H */
