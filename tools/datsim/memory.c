/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 16
#define GUARD_VALUE 0xa5
#define ALIGNMENT   16

struct region *region_new(size_t size)
{
	struct region *region = mem_zero(1, sizeof(*region));

	region->bytes = mem_zero(1, size);
	region->size = size;
	return region;
}

void region_free(struct region *region)
{
	if (!region)
		return;
	free(region->bytes);
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
	/* Same size, newest first: what a script repeats costs no new memory. */
	for (i = region->hole_count; i-- > 0;) {
		if (region->holes[i].length != length)
			continue;
		piece->offset = region->holes[i].offset;
		region->holes[i] = region->holes[--region->hole_count];
		return true;
	}
	if (length > region->size || room > region->size - region->used)
		return false;
	piece->offset = region->used + GUARD_BYTES;
	region->used += room;
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

static bool all_guard(const unsigned char *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (bytes[i] != GUARD_VALUE)
			return false;
	}
	return true;
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
