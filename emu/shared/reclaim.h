/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reclaim.h - returns lost blocks of the pool to the free lists, after a process died with the
 * lock.
 *
 * A block is lost if the dead process had allocated it and not linked it yet, or had unlinked it
 * and not freed it yet. The free lists themselves may be torn. emu_reclaim_begin therefore sets
 * them aside, so that everything allocated from there on comes from the unused end of the pool;
 * emu_reclaim_end marks what is referred to from tables, links and inboxes, and makes new free
 * lists from all the rest.
 */
#ifndef EMU_SHARED_RECLAIM_H
#define EMU_SHARED_RECLAIM_H

#include "emu/fabric/fabric.h"

struct emu_reclaim {
	emu_ref lists[EMU_POOL_CLASSES];
};

void emu_reclaim_begin(struct emu_world *w, struct emu_reclaim *kept);
/* Everything that is to stay is referred to by a table, a link or an inbox at this point. */
void emu_reclaim_end(struct emu_world *w, const struct emu_reclaim *kept);

#endif /* EMU_SHARED_RECLAIM_H */
