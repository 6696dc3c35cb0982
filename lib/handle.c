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

/* Pages are numbered from 1 through all ranges; 0: none. */
struct handle_page {
	uint32_t next; /* in the queue of retired pages */
	uint16_t live; /* handles issued and not retired */
};

/* The part of the table that lookups do not need. */
static struct {
	pthread_mutex_t lock;
	unsigned int ranges;
	struct handle_page *pages[HANDLE_RANGES];
	uint32_t page;                        /* the page that is issued from */
	struct handle_slot *next, *end;       /* its slots that are to be issued */
	uint32_t fresh;                       /* pages that were issued from ever: 1 .. fresh */
	uint32_t retired_first, retired_last; /* pages of retired slots, the oldest first */
} issue = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct handle_page *handle_page(uint32_t number)
{
	return &issue.pages[(number - 1) / RANGE_PAGES][(number - 1) % RANGE_PAGES];
}

static struct handle_slot *page_slots(uint32_t number)
{
	return (struct handle_slot *)(handle_table.base[(number - 1) / RANGE_PAGES] +
				      (number - 1) % RANGE_PAGES * PAGE_BYTES);
}

static uint32_t page_of(const struct handle_slot *slot)
{
	for (unsigned int i = 0; i < issue.ranges; i++) {
		uintptr_t offset = (uintptr_t)slot - handle_table.base[i];

		if (offset < HANDLE_RANGE_BYTES)
			return (uint32_t)(i * RANGE_PAGES + offset / PAGE_BYTES + 1);
	}
	assert(!"a slot of no range");
	return 0;
}

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
	struct handle_page *pages;
	void *base;

	if (i == HANDLE_RANGES)
		return false;
	pages = calloc(RANGE_PAGES, sizeof(*pages));
	if (!pages)
		return false;
	base = reserve_aligned(HANDLE_RANGE_BYTES);
	if (!base) {
		free(pages);
		return false;
	}
	madvise(base, HANDLE_RANGE_BYTES, MADV_WIPEONFORK);
	issue.pages[i] = pages;
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

/* All slots of the page are retired: it reads as zero from now on, and waits for its next use. */
static void page_retire(uint32_t number)
{
	madvise(page_slots(number), PAGE_BYTES, MADV_DONTNEED);
	handle_page(number)->next = 0;
	if (issue.retired_last)
		handle_page(issue.retired_last)->next = number;
	else
		issue.retired_first = number;
	issue.retired_last = number;
}

static uint32_t page_take_oldest(void)
{
	uint32_t number = issue.retired_first;

	if (!number)
		return 0;
	issue.retired_first = handle_page(number)->next;
	if (!issue.retired_first)
		issue.retired_last = 0;
	return number;
}

/* Issue from another page: one that was never used, while there are any. */
static bool handle_next_page(void)
{
	uint32_t old = issue.page, number;

	if (issue.fresh < issue.ranges * RANGE_PAGES || handle_reserve_range())
		number = ++issue.fresh;
	else
		number = page_take_oldest();
	if (!number)
		return false;
	issue.page = number;
	issue.next = page_slots(number);
	issue.end = issue.next + PAGE_SLOTS;
	if (old && handle_page(old)->live == 0)
		page_retire(old);
	return true;
}

DAT_HANDLE handle_issue(DAT_PROVIDER *provider, struct obj *object)
{
	struct handle_slot *slot = NULL;

	pthread_mutex_lock(&issue.lock);
	if (issue.next == issue.end && !handle_next_page())
		goto unlock;
	slot = issue.next++;
	__atomic_store_n(&slot->provider, provider, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->object, object, __ATOMIC_RELEASE);
	handle_page(issue.page)->live++;
unlock:
	pthread_mutex_unlock(&issue.lock);
	return slot;
}

void handle_retire(DAT_HANDLE handle)
{
	struct handle_slot *slot = handle;
	uint32_t number;

	pthread_mutex_lock(&issue.lock);
	__atomic_store_n(&slot->object, NULL, __ATOMIC_RELEASE);
	number = page_of(slot);
	assert(handle_page(number)->live > 0);
	/* The page that is issued from is retired when that ends. */
	if (--handle_page(number)->live == 0 && number != issue.page)
		page_retire(number);
	pthread_mutex_unlock(&issue.lock);
}

_Static_assert(HANDLE_RANGES *RANGE_SLOTS <= 1ul << 32, "a slot's number has 32 bits");

uint32_t handle_number(DAT_HANDLE handle)
{
	unsigned int i = 0;

	while (!handle_in_range(handle, i))
		i++;
	return (uint32_t)(i * RANGE_SLOTS +
			  ((uintptr_t)handle - handle_range_base(i)) / sizeof(struct handle_slot));
}

DAT_HANDLE handle_of_number(uint32_t number)
{
	uintptr_t base = handle_range_base(number / RANGE_SLOTS);

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
