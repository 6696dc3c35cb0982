/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a failed run and what its faults hit, for the report of datsim explore: story.h. */
#include "story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/run/run.h"
#include "tools/datsim/show/show.h"
#include "tools/datsim/show/trace_fault.h"

#define LINES_READ 400 /* at the end of the trace, for the rows of the timeline */
#define HITS_SHOWN 3   /* of one fault */
#define TURN_NOTE  "turn of line "

/* ---- the end of the timeline ---- */

/*
 * The length of the trace up to its last event. The notes behind it say that the programs were
 * ended, of which story_places says more.
 */
static size_t length_of_events(const struct story *story)
{
	const char *text = text_of(story->trace);
	size_t length = 0;
	struct trace_reader reader;
	struct trace_line line;

	if (trace_open(&reader, story->name, text, story->trace->length)) {
		while (trace_next(&reader, &line))
			if (!span_is(line.verb, "note") && !span_is(line.verb, "rule"))
				length = (size_t)(reader.at - text);
	}
	trace_close(&reader);
	return length;
}

static uint64_t count_lines(const char *text, size_t length)
{
	uint64_t n = 0;

	for (const char *at = text; (at = memchr(at, '\n', length - (size_t)(at - text))); at++)
		n += (size_t)(at + 1 - text) < length && at[1] != '#';
	return n;
}

/* The timeline, with or without its titles. The caller frees it; NULL: there is none. */
static char *render_end(const struct story *story, size_t length, bool bare)
{
	struct terminal terminal = terminal_of(stdout);
	uint64_t lines = count_lines(text_of(story->trace), length);
	struct text error = { 0 };
	char *shown = NULL;
	size_t size;

	terminal.out = open_memstream(&shown, &size);
	if (!terminal.out)
		return NULL;
	terminal.bare = bare;
	terminal.skip = lines > LINES_READ ? lines - LINES_READ : 0;
	show_trace(&terminal, story->name, text_of(story->trace), length, &error);
	fclose(terminal.out);
	text_free(&error);
	return shown;
}

void story_end(const struct story *story, struct text *text)
{
	size_t length = length_of_events(story), titles;
	char *whole = length ? render_end(story, length, false) : NULL;
	char *bare = whole ? render_end(story, length, true) : NULL;
	const char *at;
	int rows = 0;

	if (bare && *bare) {
		titles = strlen(whole) - strlen(bare);
		for (at = bare + strlen(bare) - 1; at > bare && rows < STORY_ROWS; at--)
			rows += at[-1] == '\n';
		text_add(text, "\nthe end of the timeline:\n%.*s%s", (int)titles, whole,
			 at > bare ? at + 1 : bare);
	}
	free(bare);
	free(whole);
}

/* ---- what the faults hit ---- */

struct hits {
	uint64_t id, line, times;
	struct text words;
};

struct hit_list {
	struct timeline timeline;
	struct hits *list;
	size_t count;
	uint64_t line;   /* of the script, whose statement comes next in the trace */
	uint64_t origin; /* time at which the script begins */
};

static struct hits *hits_of(struct hit_list *hits, uint64_t id)
{
	size_t i;

	for (i = 0; i < hits->count && hits->list[i].id != id; i++)
		;
	if (i == hits->count) {
		hits->list = mem_grow(hits->list, ++hits->count * sizeof(*hits->list));
		hits->list[i] = (struct hits){ .id = id };
	}
	return &hits->list[i];
}

/* "dropped" of "dropped by fault 2" */
static void add_deed(struct text *text, const struct trace_line *line)
{
	struct text words = { 0 };
	const char *by;
	bool arrives;

	if (is_fault(line, &arrives))
		fault_words(line, &words);
	else
		other_fault_words(line, &words);
	by = strstr(text_of(&words), " by fault");
	text_add(text, "%.*s", (int)(by ? by - text_of(&words) : (long)words.length),
		 text_of(&words));
	text_free(&words);
}

static void add_name(const struct timeline *timeline, struct text *text, struct span object)
{
	struct span name = name_of(timeline, object);

	text_printable(text, name.s, name.length);
}

/* "ACK #1 from a-emu0.ep1 to b-emu0", or the object of another line */
static void add_victim(const struct timeline *timeline, struct text *text,
		       const struct trace_line *line)
{
	struct span op = trace_value(line, "op"), from, to;
	bool arrives;

	if (!is_fault(line, &arrives)) {
		add_name(timeline, text, line->object);
		return;
	}
	packet_ends(line, &from, &to);
	text_printable(text, op.s, op.length);
	if (trace_number(line, "message"))
		text_add(text, " #%llu", (unsigned long long)trace_number(line, "message"));
	text_add(text, " from ");
	add_name(timeline, text, from);
	text_add(text, " to ");
	add_name(timeline, text, to);
}

static void take_hit(struct hit_list *hits, const struct trace_line *line)
{
	struct hits *one = hits_of(hits, trace_number(line, "rule"));
	uint64_t ns = line->ns - hits->origin;

	if (++one->times > HITS_SHOWN)
		return;
	text_add(&one->words, ", at %llu.%03u us: ", (unsigned long long)(ns / 1000),
		 (unsigned int)(ns % 1000));
	add_victim(&hits->timeline, &one->words, line);
	text_add(&one->words, ": ");
	add_deed(&one->words, line);
	text_append(&one->words, "", 1);
}

/* "turn of line 2: thread 1 of server sleeps for 6 ns": a turn line has no rule in the trace. */
static void take_turn(struct hit_list *hits, const struct trace_line *line)
{
	uint64_t number = span_number(line->rest, strlen(TURN_NOTE));
	struct hits *one = hits_of(hits, UINT64_MAX - number);
	const char *words = memchr(line->rest.s, ':', line->rest.length);
	uint64_t ns = line->ns - hits->origin;

	one->line = number;
	one->times++; /* it acts once */
	text_add(&one->words, ", at %llu.%03u us", (unsigned long long)(ns / 1000),
		 (unsigned int)(ns % 1000));
	if (words)
		text_printable(&one->words, words,
			       line->rest.length - (size_t)(words - line->rest.s));
	text_append(&one->words, "", 1);
}

static void take_line(struct hit_list *hits, const struct trace_line *line)
{
	uint64_t is = trace_number(line, "is"), add = trace_number(line, "add");

	if (span_is(line->verb, "note")) {
		if (span_is(line->rest, "script begins"))
			hits->origin = line->ns;
		else if (is_inner_note(line->rest) && span_starts(line->rest, LINE_NOTE))
			hits->line = span_number(line->rest, strlen(LINE_NOTE));
		else if (span_starts(line->rest, TURN_NOTE))
			take_turn(hits, line);
	} else if (span_is(line->verb, "rule")) {
		if (is)
			hits_of(hits, is)->line = trace_number(line, "line");
		else if (add)
			hits_of(hits, add)->line = hits->line;
	} else if (trace_number(line, "rule")) {
		take_hit(hits, line);
	}
}

/* The words of a fault are strings, one behind the other. */
static void print_hits(const struct hits *one, struct text *text)
{
	const char *words = text_of(&one->words), *end = words + one->words.length;

	if (!one->times && one->line)
		text_add(text, "  line %llu never acts\n", (unsigned long long)one->line);
	for (; words < end; words += strlen(words) + 1) {
		if (one->line)
			text_add(text, "  line %llu%s\n", (unsigned long long)one->line, words);
		else
			text_add(text, "  fault %llu%s\n", (unsigned long long)one->id, words);
	}
	if (one->times > HITS_SHOWN)
		text_add(text, "  line %llu, %llu more times\n", (unsigned long long)one->line,
			 (unsigned long long)(one->times - HITS_SHOWN));
}

void story_hits(const struct story *story, struct text *text)
{
	struct hit_list hits = { .list = NULL };
	struct trace_reader reader;
	struct trace_line line;
	struct text all = { 0 };

	names_collect(&hits.timeline.names, text_of(story->trace), story->trace->length);
	if (trace_open(&reader, story->name, text_of(story->trace), story->trace->length)) {
		while (trace_next(&reader, &line))
			take_line(&hits, &line);
	}
	trace_close(&reader);
	for (size_t i = 0; i < hits.count; i++) {
		print_hits(&hits.list[i], &all);
		text_free(&hits.list[i].words);
	}
	if (all.length)
		text_add(text, "\nwhat the faults hit:\n%s", text_of(&all));
	timeline_free(&hits.timeline);
	free(hits.list);
	text_free(&all);
}
