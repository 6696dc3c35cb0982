/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handed.h - in lockstep, a short payload that goes to its receiver together with the turn.
 *
 * To write into the memory of another process takes a system call, a sixth of what a turn costs.
 * The process that runs the event of a short Send leaves the payload in the arena instead, if each
 * thread of the receiver takes turns. If the turn goes to the receiver next, the receiver places
 * the payload, before the call that waited for the turn returns. In every other case the payload is
 * written into the receiver's memory before anything can look there: before the turn goes to a
 * thread of another process, and before the next event accesses the memory of any process. The
 * choice of the next thread does not depend on it, and a program that leaves its buffers mapped
 * cannot tell. If the receiver has unmapped the buffer, its Receive completes with an error and the
 * Send succeeds, as where payload goes through the inbox.
 *
 * There is one such payload in a fabric. Another process may write garbage over it. The receiver
 * copies at most EMU_HANDED_BYTES, into its own registered memory; a process that writes there for
 * it trusts the address, as each direct copy does (doc/security.md).
 *
 * Lock: the fabric's.
 */
#ifndef EMU_PAYLOAD_HANDED_H
#define EMU_PAYLOAD_HANDED_H

#include "emu/fabric/sharing.h"

static inline bool emu_handed_waits(const struct emu_world *w)
{
	return __builtin_expect(w->fab->shared.lockstep.handed.length != 0, 0);
}

/*
 * Leave the payload of the running event in the arena. This process can access the memory of the
 * receiver. False: the caller has to write it there, because the payload is no short Send, a thread
 * of the receiver could miss it, or `from` is not mapped.
 */
bool emu_handed_put(struct emu_world *w, const struct emu_place *to, uint64_t from,
		    uint64_t length);
/* Write the payload that waits into its receiver's memory now. */
void emu_handed_place(struct emu_world *w);
/* The inbox is emptied: place the payload if it is for this process. */
void emu_handed_take(struct emu_world *w);
/* The process has left or died: forget a payload that waits for it. */
void emu_handed_drop(struct emu_world *w, uint16_t process);

/* The memory of any process is about to be accessed. */
static inline void emu_handed_settle(struct emu_world *w)
{
	if (emu_handed_waits(w))
		emu_handed_place(w);
}

/* The turn goes to that process. */
static inline void emu_handed_follow(struct emu_world *w, uint16_t process)
{
	if (emu_handed_waits(w) && w->fab->shared.lockstep.handed.process != process)
		emu_handed_place(w);
}

#endif /* EMU_PAYLOAD_HANDED_H */
