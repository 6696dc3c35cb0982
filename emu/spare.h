/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spare.h - the memory of a world, kept for the next one.
 *
 * Whoever runs a thousand short worlds a second pays for mapping them and for the first touch of each
 * page more than for all that happens in them. A small world is cleared where it was used, as its tables
 * say, and stays mapped; one at a time in a process. What comes out of here is zero either way.
 */
#ifndef EMU_SPARE_H
#define EMU_SPARE_H

#include "fabric.h"

/* A world with an empty fabric; NULL when the machine has no room for it. */
struct emu_world *emu_world_map(void);
/* Nothing of it is used any more. */
void emu_world_unmap(struct emu_world *w);
/* A world without a fabric: those of shared ones are not kept. */
struct emu_world *emu_world_map_bare(void);
void emu_world_unmap_bare(struct emu_world *w);

#endif /* EMU_SPARE_H */
