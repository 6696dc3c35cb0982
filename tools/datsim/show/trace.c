/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the text of a trace line by line (trace.h), and checks that it is whole.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

static const char first_line[] = "libdat trace 1";
static const char end_mark[] = "# end lines=";

static bool trace_bad(struct trace_reader *reader, const char *what)
{
	text_add(&reader->error, "%s:%d: %s\n", reader->name, reader->line, what);
	reader->at = reader->end;
	return false;
}

/* The next line of the text, without its newline. False at the end. */
static bool take_line(struct trace_reader *reader, struct span *line)
{
	const char *nl;

	if (reader->at == reader->end)
		return false;
	nl = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
	line->s = reader->at;
	line->length = (size_t)((nl ? nl : reader->end) - reader->at);
	reader->at = nl ? nl + 1 : reader->end;
	reader->line++;
	return true;
}

/* Where the last line begins; `end` is behind its newline, or behind the text that has none. */
static const char *last_line(const char *text, const char *end)
{
	const char *at = end > text ? end - 1 : text;

	while (at > text && at[-1] != '\n')
		at--;
	return at;
}

/*
 * The end of the lines that were written whole. A trace may be cut off anywhere, by a full disk or
 * by the death of its program, whose file is longer than the trace: newlines fill it. The writer
 * puts a zero byte behind what it has written, so a last line with the newlines of the rest behind
 * it, and no zero byte, was being written.
 */
static const char *whole_lines(const char *text, size_t length, bool *torn)
{
	const char *end = text + strnlen(text, length), *filled = end, *last;

	while (filled - text > 1 && filled[-1] == '\n' && filled[-2] == '\n')
		filled--;
	last = last_line(text, filled);
	*torn = end > text && (filled < end || end[-1] != '\n');
	if (!*torn)
		return end;
	return last == text ? filled : last;
}

bool trace_is_cut(const char *text, size_t length, bool *torn)
{
	const char *end = whole_lines(text, length, torn), *last = last_line(text, end);

	return !span_starts((struct span){ last, (size_t)(end - last) }, end_mark);
}

bool trace_open(struct trace_reader *reader, const char *name, const char *text, size_t length)
{
	struct span line = { text, 0 };

	memset(reader, 0, sizeof(*reader));
	reader->name = name;
	reader->at = text;
	reader->end = whole_lines(text, length, &reader->torn);
	reader->line = 0;
	if (take_line(reader, &line) && span_is(line, first_line))
		return true;
	reader->line = 1;
	trace_bad(reader, line.length && line.length < strlen(first_line) &&
					  !memcmp(line.s, first_line, line.length)
				  ? "the trace is cut off in its first line"
				  : "not a trace: expected \"libdat trace 1\" in the first line");
	return false;
}

static bool take_number(struct span *span, uint64_t *number)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < span->length && span->s[i] >= '0' && span->s[i] <= '9'; i++) {
		if (n > (UINT64_MAX - 9) / 10)
			return false;
		n = n * 10 + (uint64_t)(span->s[i] - '0');
	}
	span->s += i;
	span->length -= i;
	*number = n;
	return i > 0;
}

uint32_t span_number(struct span span, size_t from)
{
	uint64_t number = 0;

	span.s += from;
	span.length -= from;
	take_number(&span, &number);
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static struct span take_word(struct span *span)
{
	struct span word = { span->s, 0 };

	while (span->length && *span->s == ' ') {
		span->s++;
		span->length--;
	}
	word.s = span->s;
	while (word.length < span->length && word.s[word.length] != ' ')
		word.length++;
	span->s += word.length;
	span->length -= word.length;
	return word;
}

/* Of each word the part before its first '=', and the part behind it. */
static void take_pairs(struct span rest, struct trace_line *line)
{
	const char *at = rest.s, *end = rest.s + rest.length, *word, *equals;

	line->pair_count = 0;
	while (line->pair_count < TRACE_KEYS_MAX && at < end) {
		for (word = at; at < end && *at != '=' && *at != ' '; at++)
			;
		equals = at;
		for (; at < end && *at != ' '; at++)
			;
		if (equals < at) {
			line->pairs[line->pair_count].key =
				(struct span){ word, (size_t)(equals - word) };
			line->pairs[line->pair_count].value =
				(struct span){ equals + 1, (size_t)(at - equals) - 1 };
			line->pair_count++;
		}
		at++; /* the blank */
	}
}

/* "# end lines=N": the trace is complete if it has N lines before this one. */
static bool check_end(struct trace_reader *reader, struct span line)
{
	uint64_t lines;

	line.s += strlen(end_mark);
	line.length -= strlen(end_mark);
	if (!take_number(&line, &lines) || lines != reader->events)
		return trace_bad(reader, "lines are missing before this one");
	reader->ended = true;
	return true;
}

bool trace_next(struct trace_reader *reader, struct trace_line *line)
{
	struct span s;

	while (take_line(reader, &s)) {
		if (reader->ended)
			return trace_bad(reader, "expected nothing after the end mark");
		if (span_starts(s, end_mark)) {
			if (!check_end(reader, s))
				return false;
			continue;
		}
		if (!s.length || *s.s == '#')
			continue;
		if (!take_number(&s, &line->ns))
			return trace_bad(reader, "expected a time in nanoseconds");
		if (line->ns < reader->last_ns)
			return trace_bad(reader, "time goes back");
		line->object = take_word(&s);
		line->verb = take_word(&s);
		if (!line->verb.length)
			return trace_bad(reader, "expected an object and a verb");
		line->rest = s;
		while (line->rest.length && *line->rest.s == ' ') {
			line->rest.s++;
			line->rest.length--;
		}
		take_pairs(s, line);
		reader->last_ns = line->ns;
		reader->events++;
		return true;
	}
	return false;
}

void trace_close(struct trace_reader *reader)
{
	text_free(&reader->error);
}

bool trace_keeps_end(const struct trace_line *line)
{
	return span_is(line->verb, "note") && span_starts(line->rest, "the trace keeps its end");
}

bool trace_only_asks(const struct trace_line *line)
{
	struct span call = span_is(line->verb, "refuse") ? trace_value(line, "call") : line->verb;

	return !memchr(line->object.s, '.', line->object.length) &&
	       (span_starts(call, "ibv_open_") || span_starts(call, "ibv_close_") ||
		span_starts(call, "ibv_query_") || span_starts(call, "ibv_get_"));
}

uint64_t trace_number(const struct trace_line *line, const char *key)
{
	struct span value = trace_value(line, key);
	uint64_t number = 0;

	take_number(&value, &number);
	return number;
}

/* Is the line exactly "# key=value"? */
static bool is_setting(struct span line, const char *key, struct span *value)
{
	size_t n = strlen(key);

	if (line.length < n + 3 || memcmp(line.s, "# ", 2) != 0 ||
	    memcmp(line.s + 2, key, n) != 0 || line.s[n + 2] != '=')
		return false;
	value->s = line.s + n + 3;
	value->length = line.length - n - 3;
	return true;
}

bool trace_setting(const char *text, size_t length, const char *key, struct span *value)
{
	struct trace_reader reader = { .at = text };
	struct span line;
	bool found = false;

	reader.end = whole_lines(text, length, &reader.torn);

	/* Settings stand between the first line and the first event. */
	if (!take_line(&reader, &line))
		return false;
	while (take_line(&reader, &line) && line.length && *line.s == '#')
		found |= is_setting(line, key, value);
	return found;
}

uint64_t trace_setting_number(const char *text, size_t length, const char *key, uint64_t fallback)
{
	struct span value = { "", 0 };
	uint64_t number;

	if (!trace_setting(text, length, key, &value) || !take_number(&value, &number))
		return fallback;
	return number;
}
