/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory in the arena: mapping it, blocks of the pool, table entries, rings of work requests.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "sharing.h"

#define POOL_SMALLEST (16ul << 20)
#define BACKED_AHEAD  4096u /* units */
#define LARGE_PAGE    (2ul << 20)
#define RINGS_MANY    2048u /* units: 128 KiB; the rings of a few connections are smaller */

EMU_COLD bool emu_out_of_steps(struct emu_world *w)
{
	w->steps = 0;
	w->steps_most = EMU_STEPS_DAMAGED;
	w->sharing->damaged(w);
	return false;
}

/*
 * Tables and pool are mapped whole, and the kernel allocates pages on first use; most are never
 * used. If the kernel refuses the mapping (strict overcommit, ulimit -v), try a smaller pool.
 */
struct emu_fabric *emu_arena_map(size_t *size)
{
	for (size_t pool = EMU_POOL_BYTES; pool >= POOL_SMALLEST; pool /= 4) {
		size_t bytes = sizeof(struct emu_fabric) + pool;
		struct emu_fabric *fab;

		fab = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (fab == MAP_FAILED)
			continue;
		fab->size = bytes;
		fab->pool_next = 1;
		fab->pool_end = (uint32_t)(pool / EMU_POOL_UNIT);
		*size = bytes;
		return fab;
	}
	return NULL;
}

void emu_arena_unmap(struct emu_fabric *fab, size_t size)
{
	munmap(fab, size);
}

void emu_want_large_pages(void *at, size_t bytes)
{
	uintptr_t from = ((uintptr_t)at + LARGE_PAGE - 1) & -LARGE_PAGE;
	uintptr_t end = (uintptr_t)at + bytes;

	if (from < end)
		madvise((void *)from, end - from, MADV_HUGEPAGE);
}

/*
 * Size classes in pool units: one each for 1..16 units, then four for each doubling, so that a
 * block wastes at most a fifth. *units gets the size of the class.
 */
uint32_t emu_pool_class(size_t bytes, uint32_t *units)
{
	size_t n = (bytes + EMU_POOL_UNIT - 1) / EMU_POOL_UNIT;
	uint32_t shift, quarter;

	if (n == 0)
		n = 1;
	if (n <= 16) {
		*units = (uint32_t)n;
		return (uint32_t)n;
	}
	shift = 63u - (uint32_t)__builtin_clzl(n - 1) -
		2;                                  /* n - 1 = quarter.rest in [4, 8) << shift */
	quarter = (uint32_t)((n - 1) >> shift) + 1; /* 5..8 */
	*units = quarter << shift;
	return 16 + (shift - 2) * 4 + (quarter - 4);
}

uint32_t emu_pool_class_units(uint32_t class)
{
	if (class <= 16)
		return class;
	return ((class - 17) % 4 + 5) << ((class - 17) / 4 + 2);
}

/*
 * Does the pool have disk space for so many units more? A private fabric needs none. All units
 * before pool_next have it; in a new fabric pool_next is 1 and `backed` 0, because unit 0 is never
 * given out. A greater distance is garbage of another process, and must not reserve the disk.
 */
static bool is_backed(struct emu_world *w, uint32_t units)
{
	struct emu_fabric *fab = w->fab;
	uint32_t end = fab->pool_next + units;
	uint32_t from = fab->shared.backed, to = end + BACKED_AHEAD;

	if (!emu_is_shared(w) || end <= from)
		return true;
	if (fab->pool_next > from + 1)
		return false;
	if (to > fab->pool_end || to < end)
		to = end;
	if (!emu_back(w, fab->pool + (uint64_t)from * EMU_POOL_UNIT,
		      (uint64_t)(to - from) * EMU_POOL_UNIT))
		return false;
	fab->shared.backed = to;
	return true;
}

/*
 * Take units that were never used. Once the pool holds the rings of many QPs, the rest of it is to
 * be in large pages: with pages of 4 KiB the TLB reaches 8 MiB, and most messages would miss it.
 * The tables stay in small pages, because idle QPs would take more memory in large ones.
 */
static emu_ref take_new(struct emu_world *w, uint32_t units)
{
	struct emu_fabric *fab = w->fab;
	emu_ref ref = fab->pool_next;

	fab->pool_next += units;
	if (ref < RINGS_MANY && fab->pool_next >= RINGS_MANY && !emu_is_shared(w))
		emu_want_large_pages(fab->pool + (size_t)fab->pool_next * EMU_POOL_UNIT,
				     (size_t)(fab->pool_end - fab->pool_next) * EMU_POOL_UNIT);
	return ref;
}

emu_ref emu_pool_alloc(struct emu_world *w, size_t bytes)
{
	struct emu_fabric *fab = w->fab;
	uint32_t units, class;
	emu_ref ref;

	if (bytes > (1ul << 36))
		return 0;
	class = emu_pool_class(bytes, &units);
	if (class >= EMU_POOL_CLASSES)
		return 0;
	ref = fab->pool_free[class];
	if (ref) {
		uint8_t *block = fab->pool + (uint64_t)ref * EMU_POOL_UNIT;

		memcpy(&fab->pool_free[class], block, sizeof(emu_ref));
		return ref;
	}
	if (units > fab->pool_end - fab->pool_next || !is_backed(w, units))
		return 0;
	return take_new(w, units);
}

void emu_pool_free(struct emu_fabric *fab, emu_ref ref, size_t bytes)
{
	uint32_t units, class;

	if (!ref)
		return;
	class = emu_pool_class(bytes, &units);
	if (class >= EMU_POOL_CLASSES || ref >= fab->pool_next)
		return;
	memcpy(fab->pool + (uint64_t)ref * EMU_POOL_UNIT, &fab->pool_free[class], sizeof(emu_ref));
	fab->pool_free[class] = ref;
}

static struct emu_head *entry_head(void *entries, size_t stride, uint32_t index)
{
	return (struct emu_head *)((uint8_t *)entries + (size_t)index * stride);
}

uint32_t emu_entry_take(struct emu_world *w, struct emu_table *table, void *entries, size_t stride,
			uint32_t limit)
{
	uint32_t index = table->free;
	struct emu_head *head;

	if (index) {
		head = entry_head(entries, stride, index);
		table->free = head->next_free;
	} else if (table->high < limit) {
		index = table->high + 1;
		head = entry_head(entries, stride, index);
		if (!emu_back(w, head, stride))
			return 0;
		/* Store before `live` is loaded: a new page that is read first faults twice. */
		head->next_free = 0;
		__asm__ volatile("" ::: "memory");
		table->high = index;
	} else {
		return 0;
	}
	/* A live entry on the free list, or a wild index: garbage in the arena. */
	if (head->live || index > limit)
		return 0;
	return index;
}

void emu_entry_live(struct emu_table *table, struct emu_head *head)
{
	__asm__ volatile("" ::: "memory");
	head->live = 1;
	table->live++;
}

void emu_entry_free(struct emu_table *table, void *entries, size_t stride, uint32_t index)
{
	struct emu_head *head = entry_head(entries, stride, index);

	if (!index || index > table->high || !head->live)
		return;
	head->live = 0;
	head->next_free = table->free;
	table->free = index;
	table->live--;
}

/*
 * In a shared fabric the owner posts Receives without the lock, while another process, with the
 * lock, still reads the one that it has taken. A ring with an entry more than may be posted keeps
 * that one until the next is taken.
 */
static uint32_t ring_mask(const struct emu_world *w, uint32_t max)
{
	uint32_t entries = 1, needed = max + (emu_is_shared(w) ? 1 : 0);

	while (entries < needed)
		entries <<= 1;
	return entries - 1;
}

static size_t ring_bytes(uint32_t mask, uint32_t stride)
{
	return ((size_t)mask + 1) * stride;
}

size_t emu_wq_bytes(const struct emu_wq *wq)
{
	return ring_bytes(wq->mask, wq->words * EMU_WORD);
}

int emu_wq_init(struct emu_world *w, struct emu_wq *wq, uint32_t max, uint32_t stride)
{
	uint32_t mask = ring_mask(w, max);
	emu_ref ring = 0;

	/* A queue without entries needs no ring. */
	if (max) {
		ring = emu_pool_alloc(w, ring_bytes(mask, stride));
		if (!ring)
			return -ENOMEM;
	}
	*wq = (struct emu_wq){ .ring = ring, .mask = mask, .words = stride / EMU_WORD, .max = max };
	return 0;
}

int emu_wq_resize(struct emu_world *w, struct emu_wq *wq, uint32_t max, uint32_t stride)
{
	struct emu_wq grown;
	uint32_t queued = emu_wq_count(wq);
	uint32_t had = wq->words * EMU_WORD, bytes = stride < had ? stride : had;
	int err;

	EMU_SURE(w, queued <= max);
	if (queued > max)
		queued = max;
	if (ring_mask(w, max) == wq->mask && stride == had && wq->ring && max) {
		wq->max = max;
		return 0;
	}
	err = emu_wq_init(w, &grown, max, stride);
	if (err)
		return err;
	for (uint32_t i = 0; i < queued; i++)
		memcpy(emu_wqe(w, &grown, wq->get + i), emu_wqe(w, wq, wq->get + i), bytes);
	grown.get = wq->get;
	grown.put = wq->put;
	emu_wq_fini(w, wq);
	*wq = grown;
	return 0;
}

void emu_wq_fini(struct emu_world *w, struct emu_wq *wq)
{
	emu_ref ring = wq->ring;

	/* Clear the reference first: if this process dies, the ring is not freed twice. */
	wq->ring = 0;
	emu_pool_free(w->fab, ring, ring_bytes(wq->mask, wq->words * EMU_WORD));
}
