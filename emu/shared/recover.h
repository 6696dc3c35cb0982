/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.h - makes the arena consistent after a process died while it held the fabric's lock.
 *
 * A process can be killed at any instruction. If it holds the fabric's lock at that moment, a
 * change in the arena may be half done: a Receive is taken from its queue, and the completion for
 * it is not written yet. The next process that takes the lock is told so (lock.h) and repairs the
 * arena before it does anything else. Each kind of state is repaired in one of three ways:
 *
 * - Rolled back from a copy. An event changes at most two QPs, their CQs and their SRQs. Before an
 *   event runs, emu_section_event copies these into fabric.shared.section; recovery copies them
 *   back and queues the event again. So it does with what a packet that is never answered changes
 *   of its request, in the sender's ring (struct emu_letter). The events before it are done, and
 *   what they queued stays on the queue: they may have been timers of connections of others. A
 *   direct delivery (direct.h) keeps a smaller record for the same purpose.
 * - Rebuilt from the entries. Free lists of tables, the hash of listeners, the event queue and the
 *   ends of the inbox lists are computed again from what each entry says of itself; so is the
 *   number of reasons to observe packets (wire/reasons.c).
 * - Reclaimed. Blocks of the pool that nothing in the arena refers to return to the free lists
 *   (reclaim.h).
 *
 * Then the dead process is cleaned up like any other that died (emu_shared_clean_up): its objects
 * are freed and its connections break. The repair therefore does not have to finish the dead
 * process's work, and its own objects need only be good enough to be freed.
 *
 * Example. A's QP is connected to B's. A Send of A is in flight as an event, B has posted one
 * Receive.
 *
 *   A   takes the lock; the event is due
 *   A   copies both QPs and their CQs into the section, marks the CQs in_event
 *   A   removes the event from the queue and runs it: it takes B's Receive (rq.get 4 -> 5)
 *   A   is killed; the kernel marks the lock's word
 *   B   takes the lock, and is told that its holder died
 *   B   copies the QPs and CQs back: rq.get is 4 again; queues the event again
 *   B   cleans up A: A's QP is freed, B's QP gets an event that its peer has terminated
 *   B   runs these events: the Send's is stale, for A's QP is gone; the Receive is flushed
 *
 * B's Consumer gets each Receive exactly once, completed or flushed, whenever A was killed. The
 * mark in_event matters here: without it B could have dequeued, without the lock, a completion that
 * the rollback then removes.
 *
 * Four fields are never copied back, for their owner may change them without the lock at any time:
 * rq.put and reaped of a QP, wq.put of an SRQ, get of a CQ.
 */
#ifndef EMU_SHARED_RECOVER_H
#define EMU_SHARED_RECOVER_H

#include "emu/fabric/fabric.h"

/* The arena is consistent and the lock is about to be released: remember this state. */
void emu_section_end(struct emu_world *w);
/* An event is about to run: copy what it may change. */
void emu_section_event(struct emu_world *w, const struct emu_event *event);
/*
 * The events that are queued now stay when this process dies in the same section. They may be the
 * packets of a connection of others, sent by a timer that this process has run, and no other
 * process would send them again.
 */
void emu_section_keep(struct emu_world *w);
/* The event has run: its changes stay. */
void emu_section_event_done(struct emu_world *w);
/* The lock was taken from a dead holder: make the arena consistent. */
void emu_recover(struct emu_world *w);
/* Sets of QPs, or of other entries of the arena by their number, from 0 to `most`: a bit each. */
#define EMU_MARKS(most) ((most) / 8u + 1)

static inline bool emu_is_marked(const uint8_t *marks, uint32_t i)
{
	return marks[i / 8u] >> i % 8u & 1;
}

static inline void emu_mark(uint8_t *marks, uint32_t i)
{
	marks[i / 8u] |= (uint8_t)(1u << i % 8u);
}

#endif /* EMU_SHARED_RECOVER_H */
