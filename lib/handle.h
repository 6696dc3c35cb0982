/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - DAT handles: their representation, and how to tell a handle from any other 64-bit
 * value.
 *
 * A handle is the address of a 16-byte handle slot, {provider, object}, in a reserved range of 64
 * MiB of addresses. When its object is freed, `object` becomes NULL; a page whose slots are all
 * retired is returned to the kernel and then reads as zero, which is just as invalid. So one
 * comparison and one load check a value. The first word is the provider, as DAT's redirection
 * macros expect.
 *
 * The first range is reserved when the library is loaded, another one after every four million
 * handles, up to 256, which are 2^30 handles in 16 GiB of addresses. Until then each slot is issued
 * once. After that, or when no more addresses can be had, the page that was retired first is issued
 * from again. So a stale handle is refused until 2^30 other objects have been made, or 64 million
 * for each GiB of addresses that could be had (ruling G3).
 *
 * A generation in the handle would not help: a handle is the address of its first word, so all of
 * the address space has 2^43 of them, which an object each microsecond uses up in a hundred days.
 * To refuse all further objects would end a program that registers memory for each transfer after
 * three hours, in order to protect it from a handle that it freed a thousand million objects ago.
 * The type of the object is checked in any case.
 *
 * A page is issued from again as soon as none of its 256 handles is live, so a few objects that
 * live long do not keep many slots from use. A forked child inherits no handle: there the ranges
 * read as zero.
 *
 * Lock: issuing and retiring take a lock of this module; a lookup takes none.
 */
#ifndef LIB_HANDLE_H
#define LIB_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>
#include <dat/udat_redirection.h>

struct obj;

struct handle_slot {
	DAT_PROVIDER *provider;
	struct obj *object;
};

/* Issue a new handle of `provider` for `object`; DAT_HANDLE_NULL: the address space is used up. */
DAT_HANDLE handle_issue(DAT_PROVIDER *provider, struct obj *object);
/* Make a handle invalid: until its slot is issued again, as said above. */
void handle_retire(DAT_HANDLE handle);

/* A 32-bit number for each slot, and back. */
uint32_t handle_number(DAT_HANDLE handle);
DAT_HANDLE handle_of_number(uint32_t number);

/*
 * The size of a range is also its alignment. Ranges are reserved one by one, because tools such as
 * valgrind read all of a process's memory.
 */
#ifdef LIBDAT_SMALL_LIMITS
#define HANDLE_RANGES      4
#define HANDLE_RANGE_BYTES (1ul << 20)
#else
#define HANDLE_RANGES      256
#define HANDLE_RANGE_BYTES (1ul << 26)
#endif

/*
 * The bits that every handle of a range shares with the range's base, including the slot's
 * alignment.
 */
#define HANDLE_RANGE_MASK (~(HANDLE_RANGE_BYTES - 1) | (sizeof(struct handle_slot) - 1))
/* The base of a range that is not reserved yet: not a valid address. */
#define HANDLE_RANGE_NONE ((uintptr_t)0x8000000000000007ul)

struct handle_table {
	uintptr_t base[HANDLE_RANGES]; /* HANDLE_RANGE_NONE until reserved, constant from then on */
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

struct handle_slot *handle_slot_later_ranges(DAT_HANDLE handle);

/* The handle slot at this address if it lies in a range of ours, retired or not; else NULL. */
static inline struct handle_slot *handle_slot(DAT_HANDLE handle)
{
	if (__builtin_expect(handle_in_range(handle, 0), 1))
		return handle;
	return handle_slot_later_ranges(handle);
}

/*
 * The provider whose table a call on this handle uses; NULL: an invalid handle. A value outside our
 * ranges is dereferenced only while a third-party IA is open, by a read that cannot fault.
 */
DAT_PROVIDER *handle_foreign_provider(DAT_HANDLE handle);

/*
 * A relaxed load: another thread may change it, when the object is freed or its calls get their own
 * table (quick_hw_calls).
 */
static inline DAT_PROVIDER *handle_slot_provider(const struct handle_slot *slot)
{
	return __atomic_load_n(&slot->provider, __ATOMIC_RELAXED);
}

static inline DAT_PROVIDER *handle_provider(DAT_HANDLE handle)
{
	struct handle_slot *slot = handle_slot(handle);

	if (__builtin_expect(slot != NULL, 1))
		return handle_slot_provider(slot);
	return handle_foreign_provider(handle);
}

#endif /* LIB_HANDLE_H */
