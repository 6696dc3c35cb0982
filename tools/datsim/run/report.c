/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the report of a failure: what was expected, what came, pending operations, trace, replay.
 */
#include "tools/datsim/show/show.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_LINES 20

/* ---- values as a script writes them ---- */

void text_time(struct text *text, uint64_t ns)
{
	char digits[4];
	int n = 3;

	text_add(text, "%llu", (unsigned long long)(ns / 1000));
	snprintf(digits, sizeof(digits), "%03u", (unsigned int)(ns % 1000));
	while (n && digits[n - 1] == '0')
		n--;
	if (n)
		text_add(text, ".%.*s", n, digits);
	text_add(text, "us");
}

void text_handle(const struct run *run, struct text *text, int actor, DAT_HANDLE handle)
{
	const struct symbol *symbol;
	int i = object_of(run, handle);

	if (handle == DAT_HANDLE_NULL) {
		text_add(text, "NULL");
	} else if (i < 0) {
		text_add(text, "an unknown handle");
	} else {
		symbol = &run->script->symbols[i];
		text_add(text, "%s", run->objects[i].alive ? "" : "stale(");
		if (symbol->actor != actor)
			text_add(text, "%s.", run->script->actors[symbol->actor].name);
		text_add(text, "%s%s", symbol->name, run->objects[i].alive ? "" : ")");
	}
}

void text_result(struct text *text, DAT_RETURN ret)
{
	group_print(text, GROUP_RETURN, DAT_GET_TYPE(ret), false, sizeof(ret));
	if (!DAT_GET_SUBTYPE(ret))
		return;
	text_add(text, "/");
	group_print(text, GROUP_SUBTYPE, DAT_GET_SUBTYPE(ret), false, sizeof(ret));
}

static void text_statement(const struct run *run, struct text *text)
{
	const struct statement *st = run->st;
	const char *line;
	int length, column = st->when.kind == WHEN_DEFAULT ? st->at.column : st->when.at.column;

	line = source_line(&run->script->source, st->at.line, &length);
	text_printable(text, line + column - 1, (size_t)(st->at.column + st->at.length - column));
}

/* ---- the moment of the failure ---- */

static const char *line_start(const char *text, const char *end)
{
	while (end > text && end[-1] != '\n')
		end--;
	return end;
}

/* The text of the note that a trace line is; empty for any other line. */
static struct span note_of(const char *line, size_t n)
{
	static const char mark[] = " note ";
	const char *note = memmem(line, n, mark, sizeof(mark) - 1);
	size_t before = note ? (size_t)(note - line) + sizeof(mark) - 1 : n;

	return (struct span){ line + before, n - before };
}

/* The part of a trace that a report shows. */
struct excerpt {
	const char *first; /* its first line */
	uint64_t line;     /* of the script, by then; 0: none */
	int count;         /* of lines to show */
};

/*
 * The last lines, but none from before the script began: the set-up is not what failed. False:
 * the excerpt needs no earlier line.
 */
static bool excerpt_extend(struct excerpt *excerpt, const char *line, size_t n)
{
	struct span note = note_of(line, n);

	if (span_is(note, "script begins"))
		return false;
	if (span_starts(note, LINE_NOTE) && is_inner_note(note)) {
		if (!excerpt->line)
			excerpt->line = span_number(note, strlen(LINE_NOTE));
		return excerpt->count < TRACE_LINES;
	}
	if (excerpt->count < TRACE_LINES && !is_inner_note(note)) {
		excerpt->first = line;
		excerpt->line = 0; /* an earlier note tells */
		excerpt->count++;
	}
	return true;
}

/* Trace lines begin with fabric time; the report shows script time, and the line of the script. */
static void add_trace_line(const struct run *run, struct text *text, const char *line, size_t n,
			   uint64_t number)
{
	char when[32] = "set-up", where[32] = "";
	char *rest;
	uint64_t ns;

	if (!n || line[0] < '0' || line[0] > '9')
		return;
	ns = strtoull(line, &rest, 10);
	if (run->begun && ns >= run->origin_ns) {
		ns -= run->origin_ns;
		snprintf(when, sizeof(when), "%llu.%03uus", (unsigned long long)(ns / 1000),
			 (unsigned int)(ns % 1000));
	}
	if (number)
		snprintf(where, sizeof(where), "line %-3llu ", (unsigned long long)number);
	text_add(text, "%12s %s", when, where);
	text_printable(text, rest + (*rest == ' '), n - (size_t)(rest - line) - (*rest == ' '));
	text_append(text, "\n", 1);
}

static void add_excerpt(const struct run *run, struct text *text, const struct excerpt *excerpt,
			const char *end)
{
	const char *p, *nl;
	uint64_t number = excerpt->line;
	struct span note;

	for (p = excerpt->first; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		note = note_of(p, (size_t)(nl - p));
		if (!is_inner_note(note))
			add_trace_line(run, text, p, (size_t)(nl - p), number);
		else if (span_starts(note, LINE_NOTE))
			number = span_number(note, strlen(LINE_NOTE));
	}
}

static void take_trace(struct run *run)
{
	struct excerpt excerpt = { .count = 0 };
	const char *text, *p, *end, *line;
	bool more = true;
	size_t length;

	if (!run->traced || dat_sim_trace_read(run->sim, &text, &length) != DAT_SUCCESS)
		return;
	end = text + length;
	if (length && end[-1] == '\n')
		end--;
	excerpt.first = end;
	for (p = end + 1; more && p > text; p = line) {
		line = line_start(text, p - 1);
		more = excerpt_extend(&excerpt, line, (size_t)(p - 1 - line));
	}
	add_excerpt(run, &run->failure.trace, &excerpt, end);
}

static void take_pending(struct run *run)
{
	struct text *text = &run->failure.pending;
	DAT_COUNT events = 0;
	DAT_UINT64 next = 0;
	const char *line;
	size_t i;
	int length;

	if (dat_sim_pending(run->sim, &events, &next) == DAT_SUCCESS && events > 0) {
		text_add(text, "%d event%s of the fabric, the next at ", events,
			 events == 1 ? "" : "s");
		/* Due in the set-up, as a fault without a time, is due now. */
		text_time(text, next > run->origin_ns ? next - run->origin_ns : 0);
		text_add(text, "\n");
	}
	for (i = 0; i < run->hold_count; i++) {
		if (run->holds[i].released)
			continue;
		line = source_line(&run->script->source, run->holds[i].st->at.line, &length);
		text_printable(text, line + run->holds[i].st->at.column - 1,
			       (size_t)run->holds[i].st->at.length);
		text_add(text, ", since line %d\n", run->holds[i].st->at.line);
	}
	ledger_pending(run, text);
}

bool run_fail(struct run *run, enum exit_code code, struct text *expected, struct text *actual,
	      const char *format, ...)
{
	struct failure *failure = &run->failure;
	struct text none = { 0 };
	va_list args;

	if (failure->code != EXIT_PASS) {
		if (expected)
			text_free(expected);
		if (actual)
			text_free(actual);
		return false;
	}
	failure->code = code;
	failure->line = run->st ? run->st->at.line : 0;
	va_start(args, format);
	text_vadd(&failure->title, format, args);
	va_end(args);
	if (run->st && run->st->loop)
		text_add(&failure->title, " (%s)", run->st->loop);
	if (run->st && run->st->repeat > 1)
		text_add(&failure->title, " (%llu of %llu)", (unsigned long long)run->turn,
			 (unsigned long long)run->st->repeat);
	failure->expected = expected ? *expected : none;
	failure->actual = actual ? *actual : none;
	if (!failure->expected.length && run->st && actual)
		text_statement(run, &failure->expected);
	if (run->fabric_up) {
		take_trace(run);
		take_pending(run);
	}
	return false;
}

/* ---- printing ---- */

static void add_indented(struct text *text, const struct text *lines)
{
	const char *p = text_of(lines), *nl;

	for (; *p; p = nl + 1) {
		nl = strchr(p, '\n');
		text_add(text, "  %.*s\n", (int)(nl - p), p);
	}
}

static void failure_free(struct failure *failure)
{
	text_free(&failure->title);
	text_free(&failure->expected);
	text_free(&failure->actual);
	text_free(&failure->trace);
	text_free(&failure->pending);
}

void run_forgive(struct run *run)
{
	failure_free(&run->failure);
	memset(&run->failure, 0, sizeof(run->failure));
}

static const char *why_no_trace(const struct run *run)
{
	if (!run->traced)
		return " none, as it fails only where nothing is traced";
	return run->failure.trace.length ? "" : " none since the script began";
}

void failure_print(const struct run *run, const char *replay, struct text *text)
{
	const struct failure *failure = &run->failure;

	text_add(text, "%s:", run->script->source.name);
	if (failure->line)
		text_add(text, "%d:", failure->line);
	text_add(text, " %s\n", text_of(&failure->title));
	if (failure->expected.length)
		text_add(text, "expected: %s\n", text_of(&failure->expected));
	if (failure->actual.length)
		text_add(text, "actual:   %s\n", text_of(&failure->actual));
	if (run->fabric_up) {
		text_add(text, "trace, the last lines:%s\n", why_no_trace(run));
		add_indented(text, &failure->trace);
		text_add(text, "pending:%s\n", failure->pending.length ? "" : " nothing");
		add_indented(text, &failure->pending);
	}
	text_add(text, "replay:   %s\n", replay);
}
