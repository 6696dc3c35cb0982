/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies payload within this process, and between it and the arena: reach.h. */
#include "reach.h"

#include <string.h>

#include "emu/mem.h"

#define LAST_BYTES   8u
#define STREAM_BYTES (256u << 10)

enum emu_copy emu_reach_place(uint64_t to, const void *from, uint64_t length)
{
	uint64_t first = length > LAST_BYTES ? length - LAST_BYTES : 0, fault;

	/*
	 * Programs poll the last word, as they do on hardware; all other bytes are visible before
	 * it.
	 */
	fault = emu_guard_copy(emu_memory(to), from, first);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (!fault)
		fault = emu_guard_copy(emu_memory(to + first), (const uint8_t *)from + first,
				       length - first);
	if (!fault)
		return EMU_COPY_OK;
	return emu_guard_is_in(fault, from, length) ? EMU_COPY_BAD_SOURCE : EMU_COPY_BAD_TARGET;
}

/*
 * A fault in the arena is not the program's but ours: without the guard, it is reported as any
 * other.
 */
bool emu_reach_place_from_arena(uint64_t to, const void *from, uint64_t length)
{
	enum emu_copy placed = emu_reach_place(to, from, length);

	if (placed == EMU_COPY_BAD_SOURCE)
		memmove(emu_memory(to), from, length);
	return placed != EMU_COPY_BAD_TARGET;
}

static bool copy_to_arena_failed(uint64_t fault, void *to, uint64_t from, uint64_t length)
{
	if (!emu_guard_is_in(fault, to, length))
		return true;
	memcpy(to, emu_memory(from), length);
	return false;
}

bool emu_reach_to_arena(void *to, uint64_t from, uint64_t length)
{
	uint64_t fault = emu_guard_copy(to, emu_memory(from), length);

	return __builtin_expect(fault == 0, 1) || !copy_to_arena_failed(fault, to, from, length);
}

/*
 * For a long payload with non-temporal stores: the receiver's core reads it faster from memory than
 * from this core's cache, and this core need not get the lines back for the next payload.
 */
bool emu_reach_to_arena_long(void *to, uint64_t from, uint64_t length)
{
	uint64_t fault;

	if (length < STREAM_BYTES)
		return emu_reach_to_arena(to, from, length);
	fault = emu_guard_stream(to, emu_memory(from), length);
	return fault == 0 || !copy_to_arena_failed(fault, to, from, length);
}
