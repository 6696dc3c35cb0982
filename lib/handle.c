/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "handle.h"
#include "registry.h"

#define RANGE_SLOTS     (1ul << 26) /* 1 GiB of addresses, of which only touched pages cost memory */
#define RANGE_SLOTS_MIN (1ul << 16)
#define PAGE_BYTES      4096ul
#define PAGE_SLOTS      (PAGE_BYTES / sizeof(struct slot))

struct handle_table handle_table;

/* The side of the table that only issuing and retiring look at. */
static struct {
	pthread_mutex_t lock;
	struct slot *next;             /* in the newest range */
	uint16_t *live[HANDLE_RANGES]; /* per page: slots issued and not retired */
	size_t slots;                  /* of the next range */
} issue = { .lock = PTHREAD_MUTEX_INITIALIZER, .slots = RANGE_SLOTS };

static bool reserve(void)
{
	unsigned int i = handle_table.count;
	struct handle_range *range = &handle_table.range[i];

	if (i == HANDLE_RANGES)
		return false;
	/* Where a large reservation is refused (ulimit -v), a smaller one lasts less long. */
	for (size_t slots = issue.slots; slots >= RANGE_SLOTS_MIN || slots == issue.slots;
	     slots /= 8) {
		size_t bytes = slots * sizeof(struct slot);
		size_t pages = bytes / PAGE_BYTES;
		void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (base == MAP_FAILED)
			continue;
		issue.live[i] = calloc(pages, sizeof(*issue.live[i]));
		if (!issue.live[i]) {
			munmap(base, bytes);
			continue;
		}
		range->first = base;
		range->end = range->first + slots;
		issue.next = range->first;
		__atomic_store_n(&handle_table.count, i + 1, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

static uint16_t *page_live(const struct slot *slot)
{
	for (unsigned int i = 0; i < handle_table.count; i++) {
		const struct handle_range *r = &handle_table.range[i];

		if (slot >= r->first && slot < r->end)
			return &issue.live[i][(size_t)(slot - r->first) / PAGE_SLOTS];
	}
	assert(!"a slot of no range");
	return NULL;
}

DAT_HANDLE handle_issue(DAT_PROVIDER *provider, struct obj *object)
{
	struct slot *slot = NULL;

	pthread_mutex_lock(&issue.lock);
	if (handle_table.count == 0 || issue.next == handle_table.range[handle_table.count - 1].end)
		if (!reserve())
			goto unlock;
	slot = issue.next++;
	slot->provider = provider;
	__atomic_store_n(&slot->object, object, __ATOMIC_RELEASE);
	++*page_live(slot);
unlock:
	pthread_mutex_unlock(&issue.lock);
	return slot;
}

void handle_retire(DAT_HANDLE handle)
{
	struct slot *slot = handle, *page, *next;
	uint16_t *live;

	pthread_mutex_lock(&issue.lock);
	__atomic_store_n(&slot->object, NULL, __ATOMIC_RELEASE);
	live = page_live(slot);
	assert(*live > 0);
	page = (struct slot *)((uintptr_t)slot & ~(PAGE_BYTES - 1));
	next = issue.next;
	/* The page being issued from is kept: its unissued slots will be needed. */
	if (--*live == 0 && !(next >= page && next < page + PAGE_SLOTS))
		madvise(page, PAGE_BYTES, MADV_DONTNEED);
	pthread_mutex_unlock(&issue.lock);
}

struct slot *handle_slot_later_ranges(DAT_HANDLE handle)
{
	unsigned int count = __atomic_load_n(&handle_table.count, __ATOMIC_ACQUIRE);
	struct slot *slot = NULL;

	for (unsigned int i = 1; i < count && !slot; i++)
		slot = handle_slot_in(&handle_table.range[i], handle);
	return slot;
}

DAT_PROVIDER *handle_foreign_provider(DAT_HANDLE handle)
{
	return registry_foreign_provider(handle);
}

void handle_test_range(size_t slots)
{
	pthread_mutex_lock(&issue.lock);
	issue.slots = slots;
	issue.next = handle_table.count ? handle_table.range[handle_table.count - 1].end : NULL;
	pthread_mutex_unlock(&issue.lock);
}
