/* SPDX-License-Identifier: BSD-3-Clause */
/* value.c - kinds of arguments that need no object: see fuzz.h. */
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "tests/support/support.h"

#define PAGE 4096

/* ---- numbers ---- */

/* Value n + 1 is edge n; the last one is random. */
#define NUMBERS(type, ...)                                                              \
	static uint64_t make_##type(uint64_t good, unsigned int value)                  \
	{                                                                               \
		static const uint64_t edges[] = { __VA_ARGS__ };                        \
                                                                                        \
		if (value == 0)                                                         \
			return good;                                                    \
		return value <= COUNT(edges) ? edges[value - 1] : random_##type();      \
	}                                                                               \
	const struct fuzz_kind fuzz_##type = {                                          \
		2 + sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), make_##type \
	}

static uint64_t random_u8(void)
{
	return (uint8_t)fuzz_next();
}

static uint64_t random_u16(void)
{
	return (uint16_t)fuzz_next();
}

static uint64_t random_u32(void)
{
	return (uint32_t)fuzz_next();
}

/* Half of them small. */
static uint64_t random_int(void)
{
	uint64_t random = fuzz_next();

	return random % 2 ? (uint32_t)(random >> 32) : random >> 60;
}

static uint64_t random_u64(void)
{
	return fuzz_next();
}

NUMBERS(u8, 0, 1, 2, 3, 4, 5, 6, 7, 0x7f, 0x80, 0xff);
NUMBERS(u16, 0, 1, 0x7fff, 0x8000, 0xffff);
NUMBERS(u32, 0, 1, INT_MAX, 0x80000000u, UINT32_MAX);
NUMBERS(int, 0, 1, 2, 3, 255, 65536, INT_MAX, (uint64_t)(uint32_t)INT_MIN, UINT32_MAX);
NUMBERS(u64, 0, 1, UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX - PAGE, UINT64_MAX);

static uint64_t make_size(uint64_t good, unsigned int value)
{
	switch (value) {
	case 0:
		return good;
	case 1:
		return 0;
	case 2:
		return 1;
	default:
		return fuzz_next() % (good + 1);
	}
}
const struct fuzz_kind fuzz_size = { 4, make_size };

static uint64_t make_only(uint64_t good, unsigned int value)
{
	(void)value;
	return good;
}
const struct fuzz_kind fuzz_only = { 1, make_only };

/* ---- memory ---- */

static uint64_t make_out(uint64_t good, unsigned int value)
{
	return value == 0 ? (uintptr_t)fuzz_output(good) : 0;
}
const struct fuzz_kind fuzz_out = { 1, make_out }, fuzz_out_or_null = { 2, make_out };

static uint64_t make_bytes(uint64_t good, unsigned int value)
{
	void *room = value == 3 ? NULL : fuzz_room(good);

	if (value == 1)
		memset(room, 0xff, good);
	if (value == 2)
		fuzz_fill(room, good);
	return (uintptr_t)room;
}
const struct fuzz_kind fuzz_bytes = { 3, make_bytes }, fuzz_bytes_or_null = { 4, make_bytes };

static void *map_pages(int prot)
{
	void *pages = mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert(pages != MAP_FAILED);
	return pages;
}

/* Once for the process; no access, read only, and not mapped. */
static uint64_t make_address(uint64_t good, unsigned int value)
{
	static void *none, *fixed, *gone;

	if (!none) {
		none = map_pages(PROT_NONE);
		fixed = map_pages(PROT_READ);
		gone = map_pages(PROT_READ);
		munmap(gone, PAGE);
	}
	switch (value) {
	case 0:
		return good ? good : (uintptr_t)fuzz_room(64);
	case 1:
		return 0;
	case 2:
		return 1;
	case 3:
		return UINT64_MAX;
	case 4:
		return (uintptr_t)none;
	case 5:
		return (uintptr_t)fixed;
	case 6:
		return (uintptr_t)gone;
	default:
		return fuzz_next();
	}
}
const struct fuzz_kind fuzz_address = { 8, make_address };

/* ---- texts ---- */

static uint64_t make_text(uint64_t good, unsigned int value)
{
	char *room;

	switch (value) {
	case 0:
		return good;
	case 1:
		return (uintptr_t) "";
	case 2:
		return (uintptr_t) "%s%n%s%n";
	case 3:
		room = fuzz_room(PAGE);
		memset(room, 'x', PAGE - 1);
		return (uintptr_t)room;
	case 4:
		room = fuzz_room(64);
		fuzz_fill(room, 63);
		return (uintptr_t)room;
	default:
		return 0;
	}
}
const struct fuzz_kind fuzz_text = { 5, make_text }, fuzz_text_or_null = { 6, make_text };
