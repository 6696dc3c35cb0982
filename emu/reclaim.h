/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reclaim.h - blocks of the pool that a dead process was about to hand on, or had on its hands: all that
 * nothing in the arena refers to goes back to the free lists.
 *
 * Lists may be torn, and what the dead one had may have been freed in part: between begin and end blocks
 * are taken from where none has been before.
 */
#ifndef EMU_RECLAIM_H
#define EMU_RECLAIM_H

#include "fabric.h"

struct emu_reclaim {
	emu_ref lists[EMU_POOL_CLASSES];
};

void emu_reclaim_begin(struct emu_world *w, struct emu_reclaim *kept);
/* With everything referred to by a table, a link or an inbox, that is to stay. */
void emu_reclaim_end(struct emu_world *w, const struct emu_reclaim *kept);

#endif /* EMU_RECLAIM_H */
