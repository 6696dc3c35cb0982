/* SPDX-License-Identifier: BSD-3-Clause */
/* slab.c - objects that lie side by side once there are many: slab.h. */
#include "slab.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host/backend.h"
#include "host/fault_door.h"

#define LARGE_PAGE (2ul << 20)

static pthread_mutex_t slabs_lock = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((constructor)) slabs_begin(void)
{
	backend_fork_lock(FORK_LOCK_SLABS, &slabs_lock);
}

/*
 * A large page more than the range is reserved, so that the range can begin at one. A program that
 * called mlockall does not want the range in memory.
 */
static bool range_reserve(struct slab *slab)
{
	size_t bytes = SLAB_RANGE_BYTES + LARGE_PAGE;
	uint8_t *base =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return false;
	munlock(base, bytes);
	if (mprotect(base, bytes, PROT_READ | PROT_WRITE)) {
		munmap(base, bytes);
		return false;
	}
	slab->base = base + (-(uintptr_t)base & (LARGE_PAGE - 1));
	slab->fresh = slab->base;
	madvise(slab->base, SLAB_RANGE_BYTES, MADV_HUGEPAGE);
	return true;
}

static bool range_has(const struct slab *slab, const void *object)
{
	return slab->base && (uintptr_t)object - (uintptr_t)slab->base < SLAB_RANGE_BYTES;
}

/* An object of the range. NULL: it is full, or cannot be reserved. */
static void *range_take(struct slab *slab)
{
	void *object = slab->free;

	if (!slab->base && !range_reserve(slab))
		return NULL;
	if (object) {
		memcpy(&slab->free, object, sizeof(slab->free));
	} else if (slab->base + SLAB_RANGE_BYTES - slab->fresh >= slab->stride) {
		object = slab->fresh;
		slab->fresh += slab->stride;
	} else {
		return NULL;
	}
	memset(object, 0, slab->stride);
	slab->together++;
	return object;
}

/*
 * When the last object of the range is freed, its memory goes back to the kernel, except the first
 * large page: a program that makes and frees one object beyond the first SLAB_FEW would otherwise
 * pay for clearing that page each time.
 */
static void range_put_back(struct slab *slab, void *object)
{
	size_t used = (size_t)(slab->fresh - slab->base);

	memcpy(object, &slab->free, sizeof(slab->free));
	slab->free = object;
	if (--slab->together > 0)
		return;
	if (used > LARGE_PAGE)
		madvise(slab->base + LARGE_PAGE, (used - 1) & -LARGE_PAGE, MADV_DONTNEED);
	slab->fresh = slab->base;
	slab->free = NULL;
}

void *slab_alloc(struct slab *slab, struct nic *nic)
{
	void *object = NULL;

	if (!nic_has_memory(nic, slab->where))
		return NULL;
	pthread_mutex_lock(&slabs_lock);
	if (slab->apart >= SLAB_FEW)
		object = range_take(slab);
	if (!object) {
		object = calloc(1, slab->bytes);
		slab->apart += object != NULL;
	}
	pthread_mutex_unlock(&slabs_lock);
	return object;
}

void slab_free(struct slab *slab, void *object)
{
	if (!object)
		return;
	pthread_mutex_lock(&slabs_lock);
	if (range_has(slab, object)) {
		range_put_back(slab, object);
		object = NULL;
	} else {
		slab->apart--;
	}
	pthread_mutex_unlock(&slabs_lock);
	free(object);
}
