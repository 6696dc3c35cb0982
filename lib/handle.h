/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - what a DAT handle is, and how any 64-bit value is told to be one or not.
 *
 * A handle is the address of a 16-byte slot in a large reserved address range: {provider, object}. A
 * slot is issued once and never again; when its object goes, `object` becomes NULL for ever, and a
 * page of which all slots are spent goes back to the kernel (reading as zero, which is just as dead).
 * So a value is checked by range, alignment and one load, and a stale handle is found for as long as
 * the process lives: ruling G3. The first word is the provider, as DAT's redirection macros expect.
 *
 * Lock: issuing and retiring take a lock of their own; looking up takes none.
 */
#ifndef LIB_HANDLE_H
#define LIB_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>
#include <dat/udat_redirection.h>

struct obj;

struct slot {
	DAT_PROVIDER *provider;
	struct obj *object;
};

/* A fresh handle of provider for object; DAT_HANDLE_NULL when address space is used up. */
DAT_HANDLE handle_issue(DAT_PROVIDER *provider, struct obj *object);
/* Never valid again. */
void handle_retire(DAT_HANDLE handle);

#define HANDLE_RANGES 16

struct handle_range {
	struct slot *first,
		*end; /* reserved; read by lookups without a lock, so set before `count` */
};

struct handle_table {
	struct handle_range range[HANDLE_RANGES];
	unsigned int count;
};

extern struct handle_table handle_table;

/* Whether the value lies in one range; *spent or not*. */
static inline struct slot *handle_slot_in(const struct handle_range *r, DAT_HANDLE handle)
{
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)r->first;

	if (offset >= (uintptr_t)r->end - (uintptr_t)r->first)
		return NULL;
	return offset % sizeof(struct slot) == 0 ? (struct slot *)handle : NULL;
}

struct slot *handle_slot_later_ranges(DAT_HANDLE handle);

/* The slot a value names if it lies in our ranges, spent or not; else NULL. */
static inline struct slot *handle_slot(DAT_HANDLE handle)
{
	/* An unused range is empty: no value lies in it. */
	struct slot *slot = handle_slot_in(&handle_table.range[0], handle);

	return __builtin_expect(slot != NULL, 1) ? slot : handle_slot_later_ranges(handle);
}

/*
 * The provider whose table a call on this handle goes through; NULL: no handle. A value outside our
 * ranges is looked at only while a third-party IA is open, by a read that cannot fault.
 */
DAT_PROVIDER *handle_foreign_provider(DAT_HANDLE handle);

static inline DAT_PROVIDER *handle_provider(DAT_HANDLE handle)
{
	struct slot *slot = handle_slot(handle);

	if (__builtin_expect(slot != NULL, 1))
		return slot->provider;
	return handle_foreign_provider(handle);
}

/* For tests: slots per range from the next range on. */
void handle_test_range(size_t slots);

#endif /* LIB_HANDLE_H */
