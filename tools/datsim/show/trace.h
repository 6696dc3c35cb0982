/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - read the text of a trace, line by line.
 *
 * A reader walks over text that the caller owns and does not change while it is read. A trace that
 * is cut off, at any byte, is read up to its last whole line. Text that is not a trace, or is
 * damaged, gives an error that names the line; nothing is guessed.
 */
#ifndef DATSIM_TRACE_H
#define DATSIM_TRACE_H

#include <string.h>

#include "tools/datsim/util.h"

/* The longest trace of libdat, and the lines of its header that datsim adds. */
#define TRACE_BYTES_MAX (257u << 20)
#define TRACE_KEYS_MAX  16

#define RNR_FOR_EVER 7 /* the value of rnr_retry= that means no limit */

/* A piece of the text. */
struct span {
	const char *s;
	size_t length;
};

struct trace_line {
	uint64_t ns;
	struct span object;
	struct span verb;
	struct span rest; /* everything after the verb, unchanged */
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
	bool ended; /* the "# end" line was seen */
	bool torn;  /* the text ends within a line, which is left out */
	struct text error;
};

/* False: the text is not a trace, and reader->error is set. */
bool trace_open(struct trace_reader *reader, const char *name, const char *text, size_t length);
/* The next event. False: the end of the trace, or an error in reader->error. */
bool trace_next(struct trace_reader *reader, struct trace_line *line);
void trace_close(struct trace_reader *reader);
/* Has the text no end mark? *torn: it ends within a line. */
bool trace_is_cut(const char *text, size_t length, bool *torn);

/*
 * The value of the last "# key=value" line before the first event. False: there is none, and *value
 * is not written.
 */
bool trace_setting(const char *text, size_t length, const char *key, struct span *value);
/* The same for a number; `fallback` if the line is missing or has no number. */
uint64_t trace_setting_number(const char *text, size_t length, const char *key, uint64_t fallback);

/* Is it the note in place of the lines that were dropped (DATSIM_TRACE_LAST)? */
bool trace_keeps_end(const struct trace_line *line);
/* A program of verbs opens, asks or closes a device, and makes nothing on it. */
bool trace_only_asks(const struct trace_line *line);
uint64_t trace_number(const struct trace_line *line, const char *key);
/* The decimal number that begins at character `from`; 0 if there is none. */
uint32_t span_number(struct span span, size_t from);

/*
 * Both are in line because `s` is nearly always a constant: the compiler then knows its length and
 * compares without a call. Each line of a trace is compared with some twenty words.
 */
static inline bool span_is(struct span span, const char *s)
{
	return span.length == strlen(s) && !memcmp(span.s, s, strlen(s));
}

static inline bool span_starts(struct span span, const char *s)
{
	return span.length >= strlen(s) && !memcmp(span.s, s, strlen(s));
}

/* The value of a key; empty if the line has none. In line because the key is a constant, too. */
static inline struct span trace_value(const struct trace_line *line, const char *key)
{
	for (int i = 0; i < line->pair_count; i++)
		if (span_is(line->pairs[i].key, key))
			return line->pairs[i].value;
	return (struct span){ "", 0 };
}

#endif
