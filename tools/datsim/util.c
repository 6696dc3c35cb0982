/* SPDX-License-Identifier: BSD-3-Clause */
/* Arenas, growing texts, and allocation that ends the tool instead of failing. */
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK 8192

struct arena_block {
	struct arena_block *older;
	size_t used;
	size_t size;
	max_align_t bytes[];
};

static void out_of_memory(void)
{
	fputs("datsim: out of memory\n", stderr);
	exit(EXIT_INTERNAL);
}

void *mem_grow(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *mem_zero(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

static struct arena_block *arena_grow(struct arena *arena, size_t need)
{
	size_t room = need > ARENA_BLOCK ? need : ARENA_BLOCK;
	struct arena_block *block = mem_zero(1, sizeof(*block) + room);

	block->size = room;
	block->older = arena->newest;
	arena->newest = block;
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->newest;
	size_t need = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	void *p;

	if (!block || block->size - block->used < need)
		block = arena_grow(arena, need);
	p = (char *)block->bytes + block->used;
	block->used += need;
	return p;
}

char *arena_copy(struct arena *arena, const char *s, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);

	memcpy(copy, s, length);
	return copy;
}

static void free_newer(struct arena *arena, const struct arena_block *than)
{
	struct arena_block *block;

	while ((block = arena->newest) != than) {
		arena->newest = block->older;
		free(block);
	}
}

/* It has a block of its own, which is still there after each arena_rewind. */
struct arena_block *arena_mark(struct arena *arena)
{
	return arena_grow(arena, ARENA_BLOCK);
}

void arena_rewind(struct arena *arena, struct arena_block *mark)
{
	free_newer(arena, mark);
	memset(mark->bytes, 0, mark->used);
	mark->used = 0;
}

void arena_free(struct arena *arena)
{
	free_newer(arena, NULL);
}

static void text_reserve(struct text *text, size_t more)
{
	size_t need = text->length + more + 1;

	if (need <= text->size)
		return;
	text->size = need < 128 ? 128 : need + need / 2;
	text->s = mem_grow(text->s, text->size);
}

void text_vadd(struct text *text, const char *format, va_list args)
{
	va_list again;
	size_t room;
	int n;

	text_reserve(text, 0);
	room = text->size - text->length;
	va_copy(again, args);
	n = vsnprintf(text->s + text->length, room, format, again);
	va_end(again);
	if (n >= 0 && (size_t)n >= room) {
		text_reserve(text, (size_t)n);
		vsnprintf(text->s + text->length, (size_t)n + 1, format, args);
	}
	/* On an error the text stays as it was. */
	text->length += n < 0 ? 0 : (size_t)n;
	text->s[text->length] = '\0';
}

void text_cut(struct text *text, size_t length)
{
	if (length >= text->length)
		return;
	text->length = length;
	text->s[length] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_vadd(text, format, args);
	va_end(args);
}

void text_append(struct text *text, const char *s, size_t length)
{
	text_reserve(text, length);
	if (length)
		memcpy(text->s + text->length, s, length);
	text->length += length;
	text->s[text->length] = '\0';
}

void text_put(struct text *text, const char *s)
{
	text_append(text, s, strlen(s));
}

size_t utf8_length(const char *text, size_t left)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80   ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;
	size_t i;

	if (!n || n > left || (s[0] < 0x20 && s[0] != '\n') || s[0] == 0x7f)
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0)
		return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

void text_printable(struct text *text, const char *s, size_t length)
{
	size_t i, n, start = text->length;

	text_append(text, s, length);
	for (i = start; i < text->length; i += n) {
		n = utf8_length(text->s + i, text->length - i);
		if (!n || text->s[i] == '\n') {
			text->s[i] = '?';
			n = 1;
		}
	}
}

const char *text_of(const struct text *text)
{
	return text->s ? text->s : "";
}

void text_free(struct text *text)
{
	free(text->s);
	memset(text, 0, sizeof(*text));
}
