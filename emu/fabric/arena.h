/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena.h - memory inside the fabric: table entries and pool blocks.
 *
 * Both are recycled through free lists in the arena itself. Nothing is returned to the kernel
 * before the fabric ends. The last freed entry or block is allocated first, so memory use stays
 * flat and allocation is the same in every run.
 */
#ifndef EMU_FABRIC_ARENA_H
#define EMU_FABRIC_ARENA_H

#include "fabric.h"

/* Map a zeroed fabric; NULL when the machine has no room for it. */
struct emu_fabric *emu_arena_map(size_t *size);
void emu_arena_unmap(struct emu_fabric *fab, size_t size);

/*
 * Ask the kernel for large pages, if it has them, from the next boundary of 2 MiB on. The memory is
 * a private fabric's and has not been used yet.
 */
void emu_want_large_pages(void *at, size_t bytes);

/* A block of at least `bytes`, not zeroed; 0 when the pool is exhausted. */
emu_ref emu_pool_alloc(struct emu_world *w, size_t bytes);
/* `bytes` as given to alloc. ref 0 is fine. */
void emu_pool_free(struct emu_fabric *fab, emu_ref ref, size_t bytes);

/* The size class that a block of so many bytes comes from; *units gets its true size. */
uint32_t emu_pool_class(size_t bytes, uint32_t *units);
uint32_t emu_pool_class_units(uint32_t class);

/*
 * Take an entry of a table whose entries are `stride` bytes and begin with struct emu_head. Its
 * other fields are as the last user left them, so generations and epochs keep counting. 0: `limit`
 * entries are live. The caller fills the entry and then calls emu_entry_live; if its process dies
 * before, the entry is still free.
 */
uint32_t emu_entry_take(struct emu_world *w, struct emu_table *table, void *entries, size_t stride,
			uint32_t limit);
void emu_entry_live(struct emu_table *table, struct emu_head *head);
void emu_entry_free(struct emu_table *table, void *entries, size_t stride, uint32_t index);

#define EMU_TAKE(w, table, entries, limit)                                                     \
	emu_entry_take((w), &(w)->fab->table, (w)->fab->entries, sizeof((w)->fab->entries[0]), \
		       (limit))
#define EMU_LIVE(fab, table, entry) emu_entry_live(&(fab)->table, &(entry)->head)
#define EMU_FREE(fab, table, entries, index) \
	emu_entry_free(&(fab)->table, (fab)->entries, sizeof((fab)->entries[0]), (index))

/*
 * Make wq a ring of max entries of stride bytes, a multiple of EMU_WORD; -ENOMEM leaves it
 * unchanged.
 */
int emu_wq_init(struct emu_world *w, struct emu_wq *wq, uint32_t max, uint32_t stride);
/* Change both and keep the queued entries. */
int emu_wq_resize(struct emu_world *w, struct emu_wq *wq, uint32_t max, uint32_t stride);
size_t emu_wq_bytes(const struct emu_wq *wq);
void emu_wq_fini(struct emu_world *w, struct emu_wq *wq);

#endif /* EMU_FABRIC_ARENA_H */
