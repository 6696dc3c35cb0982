/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds every block of the pool that something refers to, and makes free lists from the rest: part
 * of recovery.
 */
#include "reclaim.h"

#include <stdlib.h>
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/cq.h"
#include "inbox.h"
#include "emu/wire/link.h"
#include "emu/partial.h"
#include "emu/rdma.h"
#include "shared.h"
#include "emu/wire/links.h"
#include "emu/payload/inline.h"

struct block {
	emu_ref ref;
	uint32_t units;
	uint32_t free_class; /* size class of a free block; 0: the block is in use */
};

struct blocks {
	struct block *block;
	size_t count, room;
	uint32_t next; /* emu_fabric.pool_next: the end of all blocks */
	bool full;     /* realloc failed, or there are more than can be: reclaim nothing */
};

static void add_block(struct blocks *all, emu_ref ref, uint32_t units, uint32_t free_class)
{
	if (all->full || !ref || ref >= all->next || units > all->next - ref)
		return;
	/* A list that leads back into itself; what was torn may be there twice. */
	all->full = all->count >= 2 * (size_t)all->next;
	if (all->count == all->room) {
		size_t room = all->room ? all->room * 2 : 1024;
		struct block *block = realloc(all->block, room * sizeof(*block));

		all->full = all->full || !block;
		if (all->full)
			return;
		all->block = block;
		all->room = room;
	}
	all->block[all->count++] = (struct block){ ref, units, free_class };
}

static void add_bytes(struct blocks *all, emu_ref ref, size_t bytes)
{
	uint32_t units;

	if (ref && bytes <= (size_t)all->next * EMU_POOL_UNIT) {
		emu_pool_class(bytes, &units);
		add_block(all, ref, units, 0);
	}
}

/* ---- blocks in use ---- */

static void add_held(struct emu_world *w, struct blocks *all, emu_ref ref)
{
	while (ref && emu_go_on(w)) {
		add_bytes(all, ref, sizeof(struct emu_held));
		ref = ((const struct emu_held *)emu_at(w, ref))->next;
	}
}

static void add_qp(struct emu_world *w, struct blocks *all, const struct emu_qp *qp)
{
	emu_ref ref = qp->rx;

	add_bytes(all, qp->sq.ring, emu_wq_bytes(&qp->sq));
	add_bytes(all, qp->rq.ring, emu_wq_bytes(&qp->rq));
	add_bytes(all, qp->rdma_sge, emu_rdma_bytes(qp));
	add_bytes(all, qp->holds, sizeof(struct emu_hold_rule) * EMU_HOLDS);
	while (ref && emu_go_on(w)) {
		const struct emu_rx *rx = emu_at(w, ref);

		add_bytes(all, ref, emu_partial_bytes(&rx->wqe));
		ref = rx->next;
	}
	add_held(w, all, qp->parked);
	add_held(w, all, qp->held);
	add_held(w, all, qp->early);
}

static void add_inboxes(struct emu_world *w, struct blocks *all)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		const struct emu_process *p = emu_process(w, i);
		const struct emu_message *message;
		emu_ref ref = p->used ? p->inbox : 0;

		for (; (message = emu_inbox_at(w, ref)) && emu_go_on(w); ref = message->next) {
			add_bytes(all, ref, sizeof(*message));
			if (message->kind == EMU_MESSAGE_COPY)
				add_bytes(all, message->copy.data, message->copy.length);
		}
	}
}

static void add_used(struct emu_world *w, struct blocks *all)
{
	const struct emu_fabric *fab = w->fab;

	for (uint32_t i = 1; i <= EMU_HIGH(fab, qps, qp); i++)
		if (fab->qp[i].head.live)
			add_qp(w, all, &fab->qp[i]);
	for (uint32_t i = 1; i <= EMU_HIGH(fab, srqs, srq); i++)
		if (fab->srq[i].head.live)
			add_bytes(all, fab->srq[i].wq.ring, emu_wq_bytes(&fab->srq[i].wq));
	for (uint32_t i = 1; i <= EMU_HIGH(fab, cqs, cq); i++) {
		if (!fab->cq[i].head.live)
			continue;
		add_bytes(all, fab->cq[i].ring, emu_cq_bytes(fab->cq[i].mask));
		add_bytes(all, fab->cq[i].inline_ring, emu_inline_bytes());
	}
	for (uint32_t i = 1; i <= EMU_HIGH(fab, links, link); i++)
		add_held(w, all, fab->link[i].held);
	add_bytes(all, fab->link_places, emu_links_bytes(fab));
	for (uint32_t i = 0; i < EMU_STAGES; i++)
		add_bytes(all, fab->shared.stage[i].data, fab->shared.stage[i].bytes);
	add_inboxes(w, all);
}

static void add_free(struct emu_world *w, struct blocks *all, const emu_ref *lists)
{
	uint32_t left = all->next;

	for (uint32_t class = 1; class < EMU_POOL_CLASSES; class ++) {
		uint32_t units = emu_pool_class_units(class);
		emu_ref ref = lists[class];

		while (ref && ref < all->next && left-- > 0) {
			add_block(all, ref, units, class);
			memcpy(&ref, emu_at(w, ref), sizeof(ref));
		}
	}
}

/* ---- new free lists ---- */

static int by_place(const void *a, const void *b)
{
	const struct block *one = a, *two = b;

	if (one->ref != two->ref)
		return one->ref < two->ref ? -1 : 1;
	return (one->free_class > 0) - (two->free_class > 0);
}

/* Free a range that nothing refers to, as blocks of size classes, the largest first. */
static void free_range(struct emu_world *w, emu_ref from, emu_ref to)
{
	uint32_t class, units = 0;

	while (from < to) {
		class = emu_pool_class((size_t)(to - from) * EMU_POOL_UNIT, &units);
		if (units > to - from)
			units = emu_pool_class_units(class - 1);
		emu_pool_free(w->fab, from, (size_t)units * EMU_POOL_UNIT);
		from += units;
	}
}

static void rebuild_free_lists(struct emu_world *w, struct blocks *all)
{
	emu_ref end = 1;

	if (all->count > 0) /* or `block` is NULL, which qsort does not allow */
		qsort(all->block, all->count, sizeof(*all->block), by_place);
	for (size_t i = 0; i < all->count; i++) {
		const struct block *block = &all->block[i];

		if (block->free_class && block->ref < end)
			continue; /* overlaps another block: its free list was torn */
		free_range(w, end, block->ref);
		if (block->free_class)
			emu_pool_free(w->fab, block->ref, (size_t)block->units * EMU_POOL_UNIT);
		if (block->ref + block->units > end)
			end = block->ref + block->units;
	}
	if (end < all->next)
		w->fab->pool_next = end;
}

void emu_reclaim_begin(struct emu_world *w, struct emu_reclaim *kept)
{
	memcpy(kept->lists, w->fab->pool_free, sizeof(kept->lists));
	memset(w->fab->pool_free, 0, sizeof(w->fab->pool_free));
}

void emu_reclaim_end(struct emu_world *w, const struct emu_reclaim *kept)
{
	struct blocks all = { .next = w->fab->pool_next };

	add_used(w, &all);
	add_free(w, &all, kept->lists);
	add_free(w, &all, w->fab->pool_free);
	memset(w->fab->pool_free, 0, sizeof(w->fab->pool_free));
	if (!all.full)
		rebuild_free_lists(w, &all);
	free(all.block);
}
