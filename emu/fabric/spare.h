/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spare.h - the memory of a destroyed world, kept for the next one.
 *
 * For a program that makes a thousand short worlds a second, mapping them and touching their pages
 * for the first time costs more than all that happens in them. So one small world per process stays
 * mapped after it is destroyed; only the parts its tables say were used are cleared. A world from
 * here is all zero in either case.
 */
#ifndef EMU_FABRIC_SPARE_H
#define EMU_FABRIC_SPARE_H

#include "fabric.h"

/* A world with an empty fabric; NULL when the machine has no room for it. */
struct emu_world *emu_world_map(void);
/* Destroy a world, or keep its memory. */
void emu_world_unmap(struct emu_world *w);
/* A world without a fabric, to which a shared one is attached; its memory is not kept. */
struct emu_world *emu_world_map_bare(void);
void emu_world_unmap_bare(struct emu_world *w);

#endif /* EMU_FABRIC_SPARE_H */
