/* SPDX-License-Identifier: BSD-3-Clause */
/* The script's names for the objects of a trace, from the name notes in it. */
#include "show.h"

#include <string.h>

/* Reads a note such as "name emu1.srq1 b.S". */
static void add_alias(struct timeline *timeline, struct span rest)
{
	struct alias *alias;
	const char *blank;

	rest.s += strlen(NAME_NOTE);
	rest.length -= strlen(NAME_NOTE);
	blank = memchr(rest.s, ' ', rest.length);
	if (!blank)
		return;
	timeline->aliases = mem_grow(timeline->aliases,
				     (timeline->alias_count + 1) * sizeof(*timeline->aliases));
	alias = &timeline->aliases[timeline->alias_count++];
	alias->object = (struct span){ rest.s, (size_t)(blank - rest.s) };
	alias->name = (struct span){ blank + 1, rest.length - alias->object.length - 1 };
}

bool is_inner_note(struct span note)
{
	size_t i;

	if (span_starts(note, NAME_NOTE))
		return true;
	if (!span_starts(note, LINE_NOTE) || note.length == strlen(LINE_NOTE))
		return false;
	for (i = strlen(LINE_NOTE); i < note.length; i++) {
		if (note.s[i] < '0' || note.s[i] > '9')
			return false;
	}
	return true;
}

bool trace_has_beginning(const char *text, size_t length)
{
	static const char mark[] = " note script begins";

	return memmem(text, length, mark, sizeof(mark) - 1) != NULL;
}

void names_collect(struct timeline *timeline, const char *text, size_t length)
{
	struct trace_reader reader;
	struct trace_line line;

	if (trace_open(&reader, "", text, length)) {
		while (trace_next(&reader, &line)) {
			if (span_is(line.verb, "note") && span_starts(line.rest, NAME_NOTE))
				add_alias(timeline, line.rest);
			timeline->last_ns = line.ns;
		}
	}
	trace_close(&reader);
}

struct span name_of(const struct timeline *timeline, struct span object)
{
	size_t i;

	/* The last one wins: the trace may use a name again after a free. */
	for (i = timeline->alias_count; i-- > 0;) {
		if (timeline->aliases[i].object.length == object.length &&
		    !memcmp(timeline->aliases[i].object.s, object.s, object.length))
			return timeline->aliases[i].name;
	}
	return object;
}

struct span actor_on(const struct timeline *timeline, struct span adapter)
{
	const struct alias *alias;
	const char *dot;
	size_t i;

	for (i = 0; i < timeline->alias_count; i++) {
		alias = &timeline->aliases[i];
		if (alias->object.length <= adapter.length ||
		    alias->object.s[adapter.length] != '.' ||
		    memcmp(alias->object.s, adapter.s, adapter.length))
			continue;
		dot = memchr(alias->name.s, '.', alias->name.length);
		if (dot)
			return (struct span){ alias->name.s, (size_t)(dot - alias->name.s) };
	}
	return adapter;
}
