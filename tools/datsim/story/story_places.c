/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the programs of a failed run were: what each waits for, by the library's own words on
 * standard error, and what it did last, by the trace: story.h.
 */
#include "story.h"

#include <stdlib.h>
#include <string.h>

#include "tools/datsim/run/run.h"
#include "tools/datsim/show/show.h"

static const char waits_mark[] = " waits forever";
static const char library_mark[] = "libdat: ";
static const char feeder_mark[] = "; it is fed by ";

/* What a program did last. */
struct last_deed {
	uint64_t ns;
	struct text words;
};

/* ---- what it did last ---- */

/* Is an object, "server-emu0.ep1", of the program with this node? NULL: any is. */
static bool is_of(struct span object, const char *node)
{
	size_t n = node ? strlen(node) : 0;

	return !node || (object.length > n && !memcmp(object.s, node, n) && object.s[n] == '-');
}

/* Lines that the library or the NIC writes by itself, and that the timeline shows beside calls. */
static bool is_own(const struct trace_line *line)
{
	static const char *const others[] = {
		"note", "rule", "path", "trigger", "heard", "drained"
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (span_is(line->verb, others[i]))
			return false;
	return true;
}

/* The call that the timeline shows for a line; *words is empty if it is none. */
static void word_call(struct timeline *timeline, const struct trace_line *line, struct text *words)
{
	struct row row = { .ns = line->ns };

	words->length = 0;
	text_append(words, "", 0);
	if (is_own(line))
		cells_of(timeline, line, &row);
	text_append(words, text_of(&row.cells[COLUMN_PROGRAM]), row.cells[COLUMN_PROGRAM].length);
	for (int i = 0; i < NUM_COLUMNS; i++)
		text_free(&row.cells[i]);
}

/* False: it did nothing. */
static bool find_last(const struct story *story, const char *node, struct last_deed *deed)
{
	struct terminal terminal = { .out = stdout, .all = true };
	struct timeline timeline = { .terminal = &terminal };
	const char *text = text_of(story->trace);
	struct trace_reader reader;
	struct trace_line line;
	struct text words = { 0 };

	names_collect(&timeline.names, text, story->trace->length);
	if (trace_open(&reader, story->name, text, story->trace->length)) {
		while (trace_next(&reader, &line)) {
			if (!is_of(line.object, node))
				continue;
			word_call(&timeline, &line, &words);
			if (!words.length)
				continue;
			deed->ns = line.ns;
			deed->words.length = 0;
			text_append(&deed->words, text_of(&words), words.length);
		}
	}
	trace_close(&reader);
	text_free(&words);
	timeline_free(&timeline);
	return deed->words.length > 0;
}

static void add_last(const struct story *story, const char *node, const char *before,
		     struct text *text)
{
	struct last_deed deed = { 0 };

	if (find_last(story, node, &deed))
		text_add(text, "%s%llu.%03u us: %s\n", before, (unsigned long long)(deed.ns / 1000),
			 (unsigned int)(deed.ns % 1000), text_of(&deed.words));
	text_free(&deed.words);
}

/* ---- what it waits for ---- */

bool story_tells(const char *line)
{
	return !strncmp(line, library_mark, strlen(library_mark)) && strstr(line, waits_mark);
}

/* The object of "libdat: dat_evd_wait on server-emu0.evd2 waits forever: ..." */
static struct span waited_object(const char *line)
{
	const char *on = strstr(line, " on "), *end = strstr(line, waits_mark);

	if (!on || on > end)
		return (struct span){ "", 0 };
	return (struct span){ on + 4, (size_t)(end - on) - 4 };
}

/* "dat_evd_wait on server-emu0.evd2, fed by server-emu0.ep1 (CONNECTED)" */
static void add_wait(const char *line, size_t length, struct text *text)
{
	const char *call = line + strlen(library_mark), *end = strstr(line, waits_mark);
	const char *fed = memmem(line, length, feeder_mark, strlen(feeder_mark));

	text_printable(text, call, (size_t)(end - call));
	if (fed) {
		fed += strlen(feeder_mark);
		text_add(text, ", fed by ");
		text_printable(text, fed, length - (size_t)(fed - line));
	}
	text_add(text, "\n");
}

/* Every wait of a program. Returns their number. */
static int add_waits(const struct story *story, const char *node, const char *label,
		     struct text *text)
{
	const char *line = story->said, *end;
	int n = 0;

	for (; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (!story_tells(line) || !is_of(waited_object(line), node))
			continue;
		text_add(text, "  %-*s", (int)strlen(label), n++ ? "" : label);
		add_wait(line, (size_t)(end - line), text);
	}
	return n;
}

static void add_place(const struct story *story, const char *node, int width, struct text *text)
{
	struct text label = { 0 }, since = { 0 };

	if (node)
		text_add(&label, "%-*s  ", width, node);
	if (add_waits(story, node, text_of(&label), text)) {
		text_add(&since, "  %*ssince ", (int)label.length, "");
		add_last(story, node, text_of(&since), text);
	} else {
		text_add(&since, "  %slast call at ", text_of(&label));
		add_last(story, node, text_of(&since), text);
	}
	text_free(&since);
	text_free(&label);
}

void story_places(const struct story *story, struct text *text)
{
	struct text all = { 0 };
	int width = 0;

	for (int i = 0; story->several && i < story->several->count; i++)
		if ((int)strlen(story->several->one[i].name) > width)
			width = (int)strlen(story->several->one[i].name);
	for (int i = 0; story->several && i < story->several->count; i++)
		add_place(story, story->several->one[i].name, width, &all);
	if (!story->several)
		add_place(story, NULL, 0, &all);
	if (all.length)
		text_add(text, "\n%s:\n%s",
			 story->several ? "where each program is" : "where it is", text_of(&all));
	text_free(&all);
}
