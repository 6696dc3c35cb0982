/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * links.h - the links of a fabric: one for each two adapters that have used it, and each direction.
 *
 * A link that was not used yet is as the fabric's configuration says, and needs no memory: index 0
 * stands for all of these, and is only read. emu_link_get makes one. A QP that is connected
 * has the index of its link, for the path of a message. Other code looks the two adapters up in a
 * table in the pool. When that table is half full, links go that no QP has and that are again as
 * the configuration says; so a fabric in which each adapter speaks with every other, one after
 * another, holds only the links in use.
 */
#ifndef EMU_WIRE_LINKS_H
#define EMU_WIRE_LINKS_H

#include "emu/fabric/fabric.h"

static inline struct emu_link *emu_link_at(struct emu_world *w, uint32_t index)
{
	return &EMU_AT(w->fab->link, index);
}

/* The link from one adapter to another; 0: it is as the configuration says. */
uint32_t emu_link_find(struct emu_world *w, uint16_t from, uint16_t to);
/* The same; it is made if it does not exist. 0: no memory. */
uint32_t emu_link_get(struct emu_world *w, uint16_t from, uint16_t to);
void emu_link_init(struct emu_link *link, uint64_t latency_ns, uint64_t bandwidth_bps);
/* Make link 0 of a new fabric. */
void emu_links_begin(struct emu_world *w);
/* Drop unused links and make the table again: also a part of recovery. */
void emu_links_rebuild(struct emu_world *w);
/* The bytes of the table in the pool. */
size_t emu_links_bytes(const struct emu_fabric *fab);

#endif /* EMU_WIRE_LINKS_H */
