/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * util.h - memory and text for a tool that never runs for long.
 *
 * Nothing here returns NULL: without memory the tool prints a message and exits with 99, which is
 * what every caller would do. An arena owns the memory it allocated and frees it at once; a text
 * owns its characters.
 */
#ifndef DATSIM_UTIL_H
#define DATSIM_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The exit codes of datsim; `datsim help` explains them. */
enum exit_code {
	EXIT_PASS = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_CHECKER = 3,
	EXIT_NOT_QUIET = 4,
	EXIT_UNSUPPORTED = 77,
	EXIT_INTERNAL = 99
};

/* For lists of words, which mostly differ in the first letter. */
static inline bool same_word(const char *a, const char *b)
{
	return a[0] == b[0] && strcmp(a, b) == 0;
}

struct arena {
	struct arena_block *newest;
};

/* Zeroed memory that lives until arena_free. */
void *arena_alloc(struct arena *arena, size_t size);
/* A NUL-terminated copy of `length` bytes of `s`. */
char *arena_copy(struct arena *arena, const char *s, size_t length);
void arena_free(struct arena *arena);
/* A place in an arena; arena_rewind frees what came after it. */
struct arena_block *arena_mark(struct arena *arena);
void arena_rewind(struct arena *arena, struct arena_block *mark);

/* realloc and calloc that cannot return NULL. */
void *mem_grow(void *old, size_t size);
void *mem_zero(size_t count, size_t size);

struct text {
	char *s; /* NUL-terminated, or NULL while nothing was added */
	size_t length;
	size_t size;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vadd(struct text *text, const char *format, va_list args);
void text_append(struct text *text, const char *s, size_t length);
void text_put(struct text *text, const char *s);
/* Length of the UTF-8 character at s; 0: invalid, or a control character other than a newline. */
size_t utf8_length(const char *s, size_t left);
/*
 * Like text_append, but bytes that are not printable UTF-8 become '?', so that a script cannot
 * control the terminal.
 */
void text_printable(struct text *text, const char *s, size_t length);
/* Cut the text to `length` characters, if it is longer. */
void text_cut(struct text *text, size_t length);
/* The characters, never NULL. */
const char *text_of(const struct text *text);
void text_free(struct text *text);

#endif
