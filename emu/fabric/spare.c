/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps and unmaps worlds, and keeps one small world for the next use.
 */
#include "spare.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "record.h"

/* A larger world is not kept: clearing it would cost more than mapping a new one. */
#define SPARE_ENTRIES 512u
#define SPARE_POOL    (1u << 20) /* bytes */
#define SPARE_TRACE   4096u      /* bytes: little more than the header */

/* The world that is kept; NULL: none. */
static struct emu_world *spare;

static bool worth_keeping(const struct emu_world *w)
{
	const struct emu_fabric *fab = w->fab;
	uint32_t high = fab->pds.high | fab->mrs.high | fab->mws.high | fab->cqs.high |
			fab->srqs.high | fab->qps.high | fab->listeners.high | fab->conns.high |
			fab->links.high | fab->adapter_high;

	return high < SPARE_ENTRIES && fab->pool_next < SPARE_POOL / EMU_POOL_UNIT &&
	       fab->trace_length < SPARE_TRACE && w->trace_fd < 0 && !fab->trace_full;
}

/* Entries 0 .. high of a table, in the fabric and in the process's view of it. */
#define CLEAR(w, table, entries)                                                   \
	do {                                                                       \
		size_t used = (size_t)(w)->fab->table.high + 1;                    \
		memset((w)->fab->entries, 0, used * sizeof((w)->fab->entries[0])); \
		memset((w)->entries, 0, used * sizeof((w)->entries[0]));           \
	} while (0)

/*
 * How much of an array of events was used is not recorded. It was used from the beginning on, and
 * the order of an event that was queued is never 0. Returns the first that was not used.
 */
static struct emu_event *clear_events(struct emu_event *event, const struct emu_event *end)
{
	struct emu_event *first = event;

	while (event < end && event->order)
		event++;
	memset(first, 0, (size_t)(event - first) * sizeof(*first));
	return event;
}

static void clear_heap(struct emu_fabric *fab)
{
	uintptr_t heap = (uintptr_t)fab->heap, trace = (uintptr_t)fab->trace;
	uintptr_t rest = (heap + 2 * EMU_PAGE - 1) & -(uintptr_t)EMU_PAGE;

	if (clear_events(fab->heap, (const struct emu_event *)rest) >= (struct emu_event *)rest)
		madvise((void *)rest, trace - rest, MADV_DONTNEED);
}

static void clear_fifo(struct emu_fifo *fifo)
{
	/* The first entry is queued only when the others move to the front: queue.c. */
	memset(&fifo->event[0], 0, sizeof(fifo->event[0]));
	clear_events(&fifo->event[1], &fifo->event[EMU_FIFO_EVENTS]);
	fifo->first = fifo->end = fifo->limit = NULL;
}

/* The parts in front of the tables, of which the rules are large. */
static void clear_head(struct emu_fabric *fab)
{
	size_t rules = offsetof(struct emu_fabric, rule);
	size_t behind = offsetof(struct emu_fabric, rule) + sizeof(fab->rule);

	memset(fab->rule, 0, fab->rules * sizeof(fab->rule[0]));
	memset(fab, 0, rules);
	memset((char *)fab + behind, 0, offsetof(struct emu_fabric, adapters) - behind);
}

/* A record is built behind the others, and may not have been finished. */
static void clear_trace(struct emu_fabric *fab)
{
	memset(fab->trace, 0, fab->trace_length + sizeof(struct emu_record));
}

static void clear_world(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;
	size_t size = w->fab_size;
	uint32_t pool_end = fab->pool_end;

	memset(fab->adapters, 0, (fab->adapter_high + 1) * sizeof(fab->adapters[0]));
	memset(w->nics, 0, (fab->adapter_high + 1) * sizeof(w->nics[0]));
	memset(fab->link, 0, (fab->links.high + 1) * sizeof(fab->link[0]));
	CLEAR(w, pds, pd);
	CLEAR(w, mrs, mr);
	memset(w->range, 0, (fab->mrs.high + 1) * sizeof(w->range[0]));
	w->range_high = w->range_last = 0;
	CLEAR(w, mws, mw);
	CLEAR(w, cqs, cq);
	CLEAR(w, srqs, srq);
	CLEAR(w, qps, qp);
	memset(fab->path, 0, (fab->qps.high + 1) * sizeof(fab->path[0]));
	memset(fab->timer_at, 0, (fab->qps.high + 1) * sizeof(fab->timer_at[0]));
	memset(fab->qp_lives, 0, (fab->qps.high + 1) * sizeof(fab->qp_lives[0]));
	memset(fab->member, 0, fab->members * sizeof(fab->member[0]));
	fab->members = 0;
	CLEAR(w, listeners, listener);
	CLEAR(w, conns, conn);
	clear_heap(fab);
	clear_fifo(&w->fifo);
	memset(&w->wheel, 0, sizeof(w->wheel));
	clear_trace(fab);
	memset(fab->pool, 0, (size_t)fab->pool_next * EMU_POOL_UNIT);
	clear_head(fab);
	memset(&w->fab, 0, offsetof(struct emu_world, nics) - offsetof(struct emu_world, fab));
	fab->size = size;
	fab->pool_next = 1;
	fab->pool_end = pool_end;
	w->fab = fab;
	w->fab_size = size;
}

static void unmap_world(struct emu_world *w)
{
	emu_arena_unmap(w->fab, w->fab_size);
	emu_world_unmap_bare(w);
}

struct emu_world *emu_world_map_bare(void)
{
	/* Pages are allocated on first use; most of the parallel arrays stay unused. */
	struct emu_world *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return w == MAP_FAILED ? NULL : w;
}

void emu_world_unmap_bare(struct emu_world *w)
{
	munmap(w, sizeof(*w));
}

struct emu_world *emu_world_map(void)
{
	struct emu_world *w = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);

	if (w)
		return w;
	w = emu_world_map_bare();
	if (!w)
		return NULL;
	w->fab = emu_arena_map(&w->fab_size);
	if (w->fab)
		return w;
	emu_world_unmap_bare(w);
	return NULL;
}

void emu_world_unmap(struct emu_world *w)
{
	if (worth_keeping(w)) {
		clear_world(w);
		w = __atomic_exchange_n(&spare, w, __ATOMIC_ACQ_REL);
	}
	if (w)
		unmap_world(w);
}

/* Leak checkers read all mapped memory at exit, and this is gigabytes of unused pages. */
__attribute__((destructor)) static void unmap_spare(void)
{
	struct emu_world *w = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);

	if (w)
		unmap_world(w);
}
