/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - read the text of a trace, line by line.
 *
 * A reader walks over text that the caller owns and may not change meanwhile. A trace that is not
 * one, or is cut or damaged, gives an error that names the line; nothing is guessed.
 */
#ifndef DATSIM_TRACE_H
#define DATSIM_TRACE_H

#include "tools/datsim/util.h"

#define TRACE_BYTES_MAX (256u << 20)
#define TRACE_KEYS_MAX  16

/* A piece of the text. */
struct span {
	const char *s;
	size_t length;
};

struct trace_line {
	uint64_t ns;
	struct span object;
	struct span verb;
	struct span rest; /* what follows the verb, as it stands */
	struct {
		struct span key, value;
	} pairs[TRACE_KEYS_MAX];
	int pair_count;
};

struct trace_reader {
	const char *name;
	const char *at, *end;
	int line;
	uint64_t last_ns;
	uint64_t events;
	bool ended; /* the closing line was seen */
	struct text error;
};

/* False: not a trace; reader->error says so. */
bool trace_open(struct trace_reader *reader, const char *name, const char *text, size_t length);
/* The next event. False: no more, or an error. */
bool trace_next(struct trace_reader *reader, struct trace_line *line);
void trace_close(struct trace_reader *reader);

/*
 * What a "# key=value" line before the first event says: the last such, as it stands. False: there is
 * none, and value is left alone.
 */
bool trace_setting(const char *text, size_t length, const char *key, struct span *value);
/* The same, of a number; `usual` where it is none or not there. */
uint64_t trace_setting_number(const char *text, size_t length, const char *key, uint64_t usual);

struct span trace_value(const struct trace_line *line, const char *key);
uint64_t trace_number(const struct trace_line *line, const char *key);
bool span_is(struct span span, const char *s);
/* The number that begins so many characters in; 0: none does. */
uint32_t span_number(struct span span, size_t from);
bool span_starts(struct span span, const char *s);

#endif
