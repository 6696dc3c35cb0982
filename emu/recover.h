/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.h - what is done about a process that died with the fabric's lock: half of a change may be in
 * the arena.
 *
 * Each structure has one of two ways. Undone, from a copy made before (struct emu_section): the two QPs of
 * an event, their CQs and SRQs. Rebuilt, from what each entry says of itself: free lists of tables, the
 * hash of listeners, the event queue, the ends of inboxes. What the dead one had is buried afterwards, so
 * it need only be fit for that; and everything it did, it did to connections of its own, which break.
 * Blocks of the pool it was about to hand on are reclaimed (reclaim.h).
 */
#ifndef EMU_RECOVER_H
#define EMU_RECOVER_H

#include "fabric.h"

/* What is there now is whole: the lock is let go. */
void emu_section_end(struct emu_world *w);
/* An event is about to run. */
void emu_section_event(struct emu_world *w, const struct emu_event *event);
void emu_section_event_done(struct emu_world *w);
/* Who had the lock died with it: make the arena whole again. */
void emu_recover(struct emu_world *w);
/* It is buried: ends of connections that have lost the other one break, whatever word of it was lost. */
void emu_recover_orphans(struct emu_world *w);

#endif /* EMU_RECOVER_H */
