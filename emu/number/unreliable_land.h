/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unreliable_land.h - placement=tail and placement=random (emu/hostile/land.h) of QPs of type UC:
 * their packets stay in order, and the cache lines of each are placed in any.
 *
 * A packet that arrives is placed in stages. Only then it counts as arrived: its Receive is taken
 * and completes, or its request ends. Packets behind it, of the same QP, wait so long. A packet
 * that would be dropped is dropped at once.
 */
#ifndef EMU_UNRELIABLE_LAND_H
#define EMU_UNRELIABLE_LAND_H

#include "emu/hostile/land.h"
#include "unreliable.h"

/* Has the packet to come again, because it, or the one before it, is not yet placed? */
EMU_COLD bool emu_unreliable_waits(struct emu_world *w, const struct emu_event *event,
				   const struct emu_unanswered *u);

/* Place what this stage has of a packet; false: it is one that is dropped, or is all placed. */
bool emu_unreliable_place(struct emu_world *w, const struct emu_unanswered *u, uint32_t stage);

static inline bool emu_unreliable_lands(struct emu_world *w, const struct emu_event *event,
					const struct emu_unanswered *u)
{
	return emu_lands(w) && emu_unreliable_waits(w, event, u);
}

#endif /* EMU_UNRELIABLE_LAND_H */
