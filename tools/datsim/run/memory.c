/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory behind the LMRs of a script: regions with guard bytes, and buffers cut from them. */
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD_BYTES  16
#define GUARD_VALUE  0xa5
#define ALIGNMENT    16
#define REGION_GUARD 64

static struct region *region_make(size_t size, const char *shared)
{
	struct region *region = mem_zero(1, sizeof(*region));
	unsigned char *base = MAP_FAILED;

	if (shared)
		base = mmap(NULL, size + 2 * REGION_GUARD, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	region->shared = base == MAP_FAILED ? NULL : shared;
	if (base == MAP_FAILED)
		base = mem_zero(1, size + 2 * REGION_GUARD);
	region->bytes = base + REGION_GUARD;
	region->size = size;
	return region;
}

/* ---- handed on ---- */

/* A region of this size that an earlier run has left, all zero; NULL: there is none. */
static struct region *pool_take(struct region_pool *pool, size_t size)
{
	struct region *region;
	size_t i;

	for (i = 0; pool && i < pool->count; i++) {
		region = pool->regions[i];
		if (region->size != size)
			continue;
		pool->regions[i] = pool->regions[--pool->count];
		return region;
	}
	return NULL;
}

/*
 * Only buffers cut from the region were written to, and they are at its end. A script that places
 * its data by addresses or offsets leaves nothing for the pool; nor does a run that failed, or
 * memory that is shared.
 */
void region_hand_on(struct run *run, struct region *region)
{
	struct region_pool *pool = run->pool;

	if (!pool || pool->count == ARRAY_SIZE(pool->regions) || region->shared ||
	    run->by_address || run->failure.code != EXIT_PASS) {
		region_free(region);
		return;
	}
	memset(region->bytes + region->size - region->used, 0, region->used);
	region->used = region->hole_count = 0;
	pool->regions[pool->count++] = region;
}

void pool_free(struct region_pool *pool)
{
	while (pool->count)
		region_free(pool->regions[--pool->count]);
}

struct region *region_new(struct run *run, size_t size, const char *shared)
{
	struct region *region = shared ? NULL : pool_take(run->pool, size);

	if (!region)
		region = region_make(size, shared);
	memset(region->bytes - REGION_GUARD, GUARD_VALUE, REGION_GUARD);
	memset(region->bytes + size, GUARD_VALUE, REGION_GUARD);
	run->regions = mem_grow(run->regions, (run->region_count + 1) * sizeof(*run->regions));
	run->regions[run->region_count++] = region;
	return region;
}

void region_free(struct region *region)
{
	if (region->shared)
		munmap(region->bytes - REGION_GUARD, region->size + 2 * REGION_GUARD);
	else
		free(region->bytes - REGION_GUARD);
	free(region->holes);
	free(region);
}

static size_t room_for(size_t length)
{
	return (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + 2 * GUARD_BYTES;
}

bool region_carve(struct region *region, size_t length, struct piece *piece)
{
	size_t i, room = room_for(length);

	piece->region = region;
	piece->length = length;
	piece->carved = true;
	/* Reuse the newest hole of this size: a script that repeats a line needs no new memory. */
	for (i = region->hole_count; i-- > 0;) {
		if (region->holes[i].length != length)
			continue;
		piece->offset = region->holes[i].offset;
		region->holes[i] = region->holes[--region->hole_count];
		return true;
	}
	if (length > region->size || room > region->size - region->used)
		return false;
	region->used += room;
	piece->offset = region->size - region->used + GUARD_BYTES;
	memset(region->bytes + piece->offset - GUARD_BYTES, GUARD_VALUE, GUARD_BYTES);
	memset(region->bytes + piece->offset + length, GUARD_VALUE, room - GUARD_BYTES - length);
	return true;
}

void region_return(const struct piece *piece)
{
	struct region *region = piece->region;

	if (!piece->carved)
		return;
	if (region->hole_count == region->hole_room) {
		region->hole_room = region->hole_room ? 2 * region->hole_room : 32;
		region->holes = mem_grow(region->holes, region->hole_room * sizeof(*region->holes));
	}
	region->holes[region->hole_count].offset = piece->offset;
	region->holes[region->hole_count++].length = piece->length;
}

/* Each byte is the same as the one before it; there is at least one. */
static bool all_guard(const unsigned char *bytes, size_t n)
{
	return bytes[0] == GUARD_VALUE && !memcmp(bytes, bytes + 1, n - 1);
}

bool piece_guards_whole(const struct piece *piece)
{
	const unsigned char *bytes;

	if (!piece->carved)
		return true;
	bytes = piece->region->bytes + piece->offset;
	return all_guard(bytes - GUARD_BYTES, GUARD_BYTES) &&
	       all_guard(bytes + piece->length,
			 room_for(piece->length) - GUARD_BYTES - piece->length);
}

bool region_guards_whole(const struct region *region)
{
	return all_guard(region->bytes - REGION_GUARD, REGION_GUARD) &&
	       all_guard(region->bytes + region->size, REGION_GUARD);
}
