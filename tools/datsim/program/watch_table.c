/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of a trace that watch.c looks at, and lists of what is not over (watch_table.h). */
#include "watch_table.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

void watch_list_add(struct watch_list *list, const struct watch_entry *entry)
{
	if ((list->count & (list->count - 1)) == 0)
		list->entries = mem_grow(list->entries, (list->count ? 2 * list->count : 1) *
								sizeof(*list->entries));
	list->entries[list->count++] = *entry;
}

struct watch_entry *watch_list_oldest(struct watch_list *list)
{
	return list->first < list->count ? &list->entries[list->first] : NULL;
}

void watch_list_take(struct watch_list *list)
{
	if (++list->first == list->count)
		list->first = list->count = 0;
}

void watch_list_clear(struct watch_list *list)
{
	list->first = list->count = 0;
}

/* ---- objects ---- */

bool watch_same(struct span a, struct span b)
{
	return a.length == b.length && !memcmp(a.s, b.s, a.length);
}

bool watch_is_kind(struct span object, const char *kind)
{
	const char *dot = memchr(object.s, '.', object.length);

	return dot && object.length - (size_t)(dot - object.s) > strlen(kind) &&
	       !memcmp(dot, kind, strlen(kind));
}

uint32_t watch_hash(struct span object)
{
	uint32_t hash = 2166136261u;
	size_t i;

	for (i = 0; i < object.length; i++)
		hash = (hash ^ (unsigned char)object.s[i]) * 16777619u;
	return hash;
}

/* Where an object is in the table, or is to be: index + 1, or 0. */
static uint32_t *slot_of(const struct watch *watch, struct span object)
{
	size_t i;

	for (i = watch_hash(object);; i++) {
		uint32_t *slot = &watch->slots[i & (watch->slot_count - 1)];

		if (!*slot || watch_same(watch->list[*slot - 1].object, object))
			return slot;
	}
}

static void grow_table(struct watch *watch)
{
	size_t i;

	watch->slot_count = watch->slot_count ? 2 * watch->slot_count : 64;
	free(watch->slots);
	watch->slots = mem_zero(watch->slot_count, sizeof(*watch->slots));
	watch->list = mem_grow(watch->list, watch->slot_count * sizeof(*watch->list));
	for (i = 0; i < watch->count; i++)
		*slot_of(watch, watch->list[i].object) = (uint32_t)i + 1;
}

struct watched *watch_object(struct watch *watch, struct span object)
{
	struct watched *one;
	uint32_t *slot;

	if (2 * watch->count >= watch->slot_count)
		grow_table(watch);
	slot = slot_of(watch, object);
	if (*slot)
		return &watch->list[*slot - 1];
	one = &watch->list[watch->count++];
	*slot = (uint32_t)watch->count;
	*one = (struct watched){ .object = object,
				 .verbs = watch_is_kind(object, ".qp"),
				 .reliable = true };
	return one;
}
