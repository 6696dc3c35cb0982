/* SPDX-License-Identifier: BSD-3-Clause */
/* handle.c - reserve ranges of addresses for handles, issue handles, retire them. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "handle.h"
#include "host/backend.h"
#include "lib/registry/registry.h"

#define RANGE_SLOTS (HANDLE_RANGE_BYTES / sizeof(struct handle_slot))
#define PAGE_BYTES  4096ul
#define PAGE_SLOTS  (PAGE_BYTES / sizeof(struct handle_slot))
#define RANGE_PAGES (HANDLE_RANGE_BYTES / PAGE_BYTES)

struct handle_table handle_table = { .base = { [0 ... HANDLE_RANGES - 1] = HANDLE_RANGE_NONE } };

/* The part of the table that lookups do not need. */
static struct {
	pthread_mutex_t lock;
	unsigned int ranges;
	struct handle_slot *next, *end; /* the unissued rest of the newest range */
	uint16_t *live[HANDLE_RANGES];  /* for each page, the handles issued and not retired */
} issue = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Reserve addresses aligned to their size: map twice as much and unmap both ends. */
static void *reserve_aligned(size_t bytes)
{
	uint8_t *base = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t head;

	if (base == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)base & (bytes - 1);
	if (head > 0)
		munmap(base, head);
	munmap(base + head + bytes, bytes - head);
	return base + head;
}

/* Reserve one more range to issue from; false: no addresses left, or no range. */
static bool handle_reserve_range(void)
{
	unsigned int i = issue.ranges;
	uint16_t *live;
	void *base;

	if (i == HANDLE_RANGES)
		return false;
	live = calloc(RANGE_PAGES, sizeof(*live));
	if (!live)
		return false;
	base = reserve_aligned(HANDLE_RANGE_BYTES);
	if (!base) {
		free(live);
		return false;
	}
	madvise(base, HANDLE_RANGE_BYTES, MADV_WIPEONFORK);
	issue.live[i] = live;
	issue.next = base;
	issue.end = issue.next + RANGE_SLOTS;
	issue.ranges = i + 1;
	__atomic_store_n(&handle_table.base[i], (uintptr_t)base, __ATOMIC_RELEASE);
	return true;
}

/* A lookup compares with the first range unconditionally, so it is reserved before any call. */
__attribute__((constructor)) static void reserve_first(void)
{
	backend_fork_lock(FORK_LOCK_HANDLES, &issue.lock);
	handle_reserve_range();
}

static uint16_t *page_live(const struct handle_slot *slot)
{
	for (unsigned int i = 0; i < issue.ranges; i++) {
		uintptr_t offset = (uintptr_t)slot - handle_table.base[i];

		if (offset < HANDLE_RANGE_BYTES)
			return &issue.live[i][offset / PAGE_BYTES];
	}
	assert(!"a slot of no range");
	return NULL;
}

DAT_HANDLE handle_issue(DAT_PROVIDER *provider, struct obj *object)
{
	struct handle_slot *slot = NULL;

	pthread_mutex_lock(&issue.lock);
	if (issue.next == issue.end && !handle_reserve_range())
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
	struct handle_slot *slot = handle, *page;
	uint16_t *live;

	pthread_mutex_lock(&issue.lock);
	__atomic_store_n(&slot->object, NULL, __ATOMIC_RELEASE);
	live = page_live(slot);
	assert(*live > 0);
	page = (struct handle_slot *)((uintptr_t)slot & ~(PAGE_BYTES - 1));
	/* Keep the page that handles are issued from: its unissued slots are needed. */
	if (--*live == 0 && !(issue.next >= page && issue.next < page + PAGE_SLOTS))
		madvise(page, PAGE_BYTES, MADV_DONTNEED);
	pthread_mutex_unlock(&issue.lock);
}

_Static_assert(HANDLE_RANGES *RANGE_SLOTS <= 1ul << 32, "a slot's number has 32 bits");

uint32_t handle_number(DAT_HANDLE handle)
{
	unsigned int i = 0;

	while (!handle_in_range(handle, i))
		i++;
	return (uint32_t)(i * RANGE_SLOTS +
			  ((uintptr_t)handle - handle_table.base[i]) / sizeof(struct handle_slot));
}

DAT_HANDLE handle_of_number(uint32_t number)
{
	uintptr_t base = handle_table.base[number / RANGE_SLOTS];

	return (struct handle_slot *)base + number % RANGE_SLOTS;
}

struct handle_slot *handle_slot_later_ranges(DAT_HANDLE handle)
{
	for (unsigned int i = 1; i < HANDLE_RANGES && handle_range_base(i) != HANDLE_RANGE_NONE;
	     i++)
		if (handle_in_range(handle, i))
			return handle;
	return NULL;
}

DAT_PROVIDER *handle_foreign_provider(DAT_HANDLE handle)
{
	return registry_foreign_provider(handle);
}
