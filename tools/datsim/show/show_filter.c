/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters the lines of a timeline (show_filter.h). */
#include "show.h"

#include <stdlib.h>
#include <string.h>

#define LISTED_MOST 16 /* names in an error message */

/* ---- reading the options ---- */

static const struct {
	const char *name;
	uint64_t ns;
} units[] = { { "", 1000 },      { "us", 1000 },      { "ns", 1 },
	      { "ms", 1000000 }, { "s", 1000000000 }, { "min", 60000000000 } };

bool filter_time(const char *word, uint64_t *ns)
{
	const char *s = word, *digits;
	uint64_t whole = 0, part = 0, scale = 1;
	size_t i = 0;

	for (digits = s; *s >= '0' && *s <= '9'; s++) {
		whole = whole * 10 + (uint64_t)(*s - '0');
		if (s - digits > 9)
			return false;
	}
	if (s == digits)
		return false;
	if (*s == '.') {
		for (digits = ++s; *s >= '0' && *s <= '9'; s++) {
			part = part * 10 + (uint64_t)(*s - '0');
			scale *= 10;
			if (s - digits > 8)
				return false;
		}
		if (s == digits)
			return false;
	}
	while (i < ARRAY_SIZE(units) && strcmp(s, units[i].name) != 0)
		i++;
	if (i == ARRAY_SIZE(units))
		return false;
	part = part * units[i].ns / scale;
	if (whole > (UINT64_MAX - part) / units[i].ns)
		return false;
	*ns = whole * units[i].ns + part;
	return true;
}

bool filter_pattern(struct show_filter *filter, const char *pattern, struct text *error)
{
	int code = regcomp(&filter->words, pattern, REG_EXTENDED | REG_NOSUB);
	char why[128];

	filter->by_words = code == 0;
	if (code == 0)
		return true;
	regerror(code, &filter->words, why, sizeof(why));
	text_add(error, "%s", why);
	return false;
}

void filter_free(struct show_filter *filter)
{
	if (filter->by_words)
		regfree(&filter->words);
}

/* ---- a line ---- */

bool filter_takes_time(const struct show_filter *filter, uint64_t ns, uint64_t origin_ns)
{
	if (!filter->timed)
		return true;
	return ns >= origin_ns && ns - origin_ns >= filter->from_ns &&
	       ns - origin_ns <= filter->until_ns;
}

/* "client.ep1", "client-emu0.ep1" or "ep1" */
static bool is_called(const struct timeline *timeline, struct span object, const char *name)
{
	struct span actor, own, called = name_of(timeline, object);

	if (!object.length)
		return false;
	split_name(called, &actor, &own);
	return span_is(called, name) || span_is(object, name) || span_is(own, name);
}

static bool is_end(const struct timeline *timeline, const struct trace_line *line, const char *name)
{
	static const char *const keys[] = { "object", "to", "from", "ep" };
	size_t i;

	if (is_called(timeline, line->object, name))
		return true;
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (is_called(timeline, trace_value(line, keys[i]), name))
			return true;
	}
	return false;
}

static bool is_on(const struct timeline *timeline, struct span object, const char *name)
{
	struct span adapter = adapter_of(object);

	return object.length && (span_is(adapter, name) || span_is(node_of(adapter), name) ||
				 span_is(actor_on(timeline, adapter), name));
}

/* Is it on an adapter of the program, or a packet from or to it? */
static bool is_of_program(const struct timeline *timeline, const struct trace_line *line,
			  const char *name)
{
	const char *arrow = memchr(line->object.s, '>', line->object.length);
	struct span from = line->object, to = trace_value(line, "to");

	if (arrow) {
		from.length = (size_t)(arrow - from.s);
		to = (struct span){ arrow + 1, line->object.length - from.length - 1 };
	}
	return is_on(timeline, from, name) ||
	       ((arrow || span_is(line->verb, "packet")) && is_on(timeline, to, name));
}

static bool has_words(const struct show_filter *filter, const char *s)
{
	return regexec(&filter->words, s, 0, NULL, 0) == 0;
}

bool filter_takes(const struct show_filter *filter, const struct timeline *timeline,
		  const struct trace_line *line, const struct row *row)
{
	int i;

	if (filter->ep && !is_end(timeline, line, filter->ep))
		return false;
	if (filter->program && !is_of_program(timeline, line, filter->program))
		return false;
	if (!filter->by_words)
		return true;
	for (i = 0; i < NUM_COLUMNS; i++) {
		if (row->cells[i].length && has_words(filter, text_of(&row->cells[i])))
			return true;
	}
	return false;
}

bool filter_takes_packet(const struct show_filter *filter, const struct timeline *timeline,
			 struct span from, struct span to)
{
	if (filter->ep && !is_called(timeline, from, filter->ep) &&
	    !is_called(timeline, to, filter->ep))
		return false;
	return !filter->program || is_on(timeline, from, filter->program) ||
	       is_on(timeline, to, filter->program);
}

bool filter_takes_words(const struct show_filter *filter, const char *words)
{
	return !filter->by_words || has_words(filter, words);
}

bool filter_takes_note(const struct show_filter *filter, struct span note)
{
	struct text text = { 0 };
	bool takes = true;

	if (filter->ep || filter->program)
		return false;
	if (filter->by_words) {
		text_printable(&text, note.s, note.length);
		takes = has_words(filter, text_of(&text));
	}
	text_free(&text);
	return takes;
}

/* ---- names that the trace does not have ---- */

/* Add a name to a list of those that there are, once. */
static void list_name(struct text *list, int *count, struct span name)
{
	struct text word = { 0 };

	text_add(&word, " ");
	text_printable(&word, name.s, name.length);
	text_add(&word, ",");
	if (*count <= LISTED_MOST &&
	    !memmem(text_of(list), list->length, text_of(&word), word.length)) {
		if (++*count <= LISTED_MOST)
			text_append(list, text_of(&word), word.length);
		else
			text_add(list, " ...,");
	}
	text_free(&word);
}

static bool is_endpoint(struct span object)
{
	return is_kind(object, ".ep") || is_kind(object, ".qp");
}

/* Does a line have the name? Lists the names that it could have been. */
static bool finds_name(const struct timeline *timeline, const struct trace_line *line,
		       const char *ep, const char *program, struct text *list, int *count)
{
	if (!memchr(line->object.s, '.', line->object.length))
		return false;
	if (ep && is_endpoint(line->object)) {
		list_name(list, count, name_of(timeline, line->object));
		return is_called(timeline, line->object, ep);
	}
	if (!program)
		return false;
	list_name(list, count, actor_on(timeline, adapter_of(line->object)));
	return is_on(timeline, line->object, program);
}

static bool has_name(const struct timeline *timeline, const char *name, const char *text,
		     size_t length, const char *ep, const char *program, struct text *error)
{
	struct trace_reader reader;
	struct trace_line line;
	struct text list = { 0 };
	bool found = false;
	int count = 0;

	if (trace_open(&reader, name, text, length)) {
		while (!found && trace_next(&reader, &line))
			found = finds_name(timeline, &line, ep, program, &list, &count);
	}
	trace_close(&reader);
	if (!found) {
		text_add(error, "%s: no %s is called \"", name, ep ? "EP or QP" : "program");
		text_printable(error, ep ? ep : program, strlen(ep ? ep : program));
		text_add(error, "\" in this trace; there %s%.*s\n",
			 list.length ? "are:" : "is none", list.length ? (int)list.length - 1 : 0,
			 text_of(&list));
	}
	text_free(&list);
	return found;
}

bool filter_fits_trace(const struct show_filter *filter, const char *name, const char *text,
		       size_t length, struct text *error)
{
	struct timeline *timeline;
	bool good = true;

	if (!filter->ep && !filter->program)
		return true;
	timeline = mem_zero(1, sizeof(*timeline));
	names_collect(&timeline->names, text, length);
	if (filter->ep)
		good = has_name(timeline, name, text, length, filter->ep, NULL, error);
	if (good && filter->program)
		good = has_name(timeline, name, text, length, NULL, filter->program, error);
	timeline_free(timeline);
	free(timeline);
	return good;
}
