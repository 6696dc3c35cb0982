/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - what a DAT handle is, and how any 64-bit value is told to be one or not.
 *
 * A handle is the address of a 16-byte slot in a reserved range of 64 MiB of addresses: {provider,
 * object}. A slot is issued once and never again; when its object goes, `object` becomes NULL for ever,
 * and a page of which all slots are spent goes back to the kernel (reading as zero, which is just as
 * dead). So a value is checked by one comparison and one load, and a stale handle is found for as long
 * as the process lives: ruling G3. The first word is the provider, as DAT's redirection macros expect.
 *
 * The first range is reserved when the library is loaded, further ones (each four million handles
 * later) when they are needed. A forked child inherits none: the ranges read as zero there.
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

/* A number of 32 bits that names a handle ever issued, and back. */
uint32_t handle_number(DAT_HANDLE handle);
DAT_HANDLE handle_of_number(uint32_t number);

/* Each aligned to its size; tools that read all of a process's memory, as valgrind does, read one. */
#define HANDLE_RANGES      256
#define HANDLE_RANGE_BYTES (1ul << 26)

/* The bits in which every handle of a range equals its base, those of the slot's alignment included. */
#define HANDLE_RANGE_MASK (~(HANDLE_RANGE_BYTES - 1) | (sizeof(struct slot) - 1))
/* The base of a range not reserved yet: no address. */
#define HANDLE_RANGE_NONE ((uintptr_t)0x8000000000000007ul)

struct handle_table {
	uintptr_t base[HANDLE_RANGES]; /* HANDLE_RANGE_NONE, then for ever the same */
};

extern struct handle_table handle_table __attribute__((visibility("hidden")));

static inline uintptr_t handle_range_base(unsigned int range)
{
	return __atomic_load_n(&handle_table.base[range], __ATOMIC_RELAXED);
}

static inline bool handle_in_range(DAT_HANDLE handle, unsigned int range)
{
	return (((uintptr_t)handle ^ handle_range_base(range)) & HANDLE_RANGE_MASK) == 0;
}

struct slot *handle_slot_later_ranges(DAT_HANDLE handle);

/* The slot a value names if it lies in our ranges, spent or not; else NULL. */
static inline struct slot *handle_slot(DAT_HANDLE handle)
{
	if (__builtin_expect(handle_in_range(handle, 0), 1))
		return handle;
	return handle_slot_later_ranges(handle);
}

/*
 * The provider whose table a call on this handle goes through; NULL: no handle. A value outside our
 * ranges is looked at only while a third-party IA is open, by a read that cannot fault.
 */
DAT_PROVIDER *handle_foreign_provider(DAT_HANDLE handle);

/* It changes when the object goes, and while it is there if calls on it get quick ones. */
static inline DAT_PROVIDER *slot_provider(const struct slot *slot)
{
	return __atomic_load_n(&slot->provider, __ATOMIC_RELAXED);
}

static inline DAT_PROVIDER *handle_provider(DAT_HANDLE handle)
{
	struct slot *slot = handle_slot(handle);

	if (__builtin_expect(slot != NULL, 1))
		return slot_provider(slot);
	return handle_foreign_provider(handle);
}

#endif /* LIB_HANDLE_H */
