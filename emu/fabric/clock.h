/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h - virtual time.
 *
 * In a single-threaded process time jumps to the next event or deadline; with several threads it
 * follows the monotonic clock that lib passes in (fabric.h: world.following). A thread that waits
 * runs the events that are due (queue.h).
 */
#ifndef EMU_FABRIC_CLOCK_H
#define EMU_FABRIC_CLOCK_H

#include "queue.h"

/* A nic with upcalls: for the control nic, that of any open adapter. NULL: none is open. */
struct nic *emu_clock_host(struct emu_world *w, struct nic *nic);
/* While time follows the monotonic clock: has it reached `time`? */
bool emu_clock_due(struct emu_world *w, uint64_t time);
/* Virtual time, or the clock that a shared fabric follows if that is ahead. */
uint64_t emu_clock_real(struct emu_world *w);
/* A call of this process is over: run due events. */
void emu_clock_settle(struct emu_world *w);
uint64_t emu_now(struct nic *nic);
enum nic_wait emu_wait(struct nic *nic, struct nic_cq *cq, uint64_t deadline);
/*
 * One step of a wait under the monotonic clock: run the events that are due, else sleep. nic has
 * upcalls.
 */
enum nic_wait emu_clock_wait(struct emu_world *w, struct nic *nic, uint64_t deadline);
/* Run the next event; false: there is none. */
bool emu_step(struct nic *nic);
/* The number of queued events, and the time of the first. */
uint32_t emu_pending(struct nic *nic, uint64_t *next_ns);
/*
 * While following the monotonic clock: advance virtual time to it and run due events. False: more
 * are due.
 */
bool emu_follow(struct emu_world *w, struct nic *nic);
/* Begin to follow the monotonic clock if that is due; true if it is followed. */
EMU_COLD bool emu_clock_follows_now(struct emu_world *w, struct nic *nic);

static inline bool emu_clock_follows(struct emu_world *w, struct nic *nic)
{
	return __builtin_expect(nic->threaded, 0) && emu_clock_follows_now(w, nic);
}

/* An event was queued: wake threads that sleep until the next event, to test again. */
static inline void emu_sent(struct emu_world *w, struct nic *nic)
{
	if (__builtin_expect(w->following, 0))
		nic->up->wake(nic->ctx);
}

#endif /* EMU_FABRIC_CLOCK_H */
