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
 * choice of the next thread does not depend on it, and no program can tell that leaves its buffers
 * mapped. If the receiver has unmapped the buffer, its Receive completes with an error, as where
 * payload goes through the inbox, and the Send does not: it was acknowledged before.
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
 * The running event places a payload in the memory of another process, which this one reaches.
 * False: it is not left for the receiver; there is a reason against it, or `from` is gone.
 */
bool emu_handed_put(struct emu_world *w, const struct emu_place *to, uint64_t from,
		    uint64_t length);
/* A payload that waits for the turn is written into its receiver's memory now. */
void emu_handed_place(struct emu_world *w);
/* This process has the turn, or its helper looks at the inbox: take what is for this process. */
void emu_handed_take(struct emu_world *w);
/* The process has left, or it is dead: nothing waits for it. */
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
