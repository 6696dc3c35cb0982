/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints a timeline: lays out the rows, joins what belongs into one row, and decides which lines of
 * the trace are shown.
 */
#include "show_verbs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* With a blank between them they fill 100 columns; a wider terminal widens the events. */
static const int default_widths[NUM_COLUMNS] = { 31, 14, 21, 22 };
/* Of verbs, whose names are longer, without an SRQ */
static const int verbs_widths[NUM_COLUMNS] = { 35, 20, 0, 33 };
#define TIME_WIDTH  8
#define WHOLE_WIDTH 100

static const char *const titles[NUM_COLUMNS] = { "program", "wire", "SRQ max/avail/outst",
						 "event" };

#define RESET "\033[0m"
#define DIM   "\033[2m"
#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define CYAN  "\033[36m"
#define GREEN "\033[32m"

static bool says_utf8(const char *value)
{
	return value && (strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8") ||
			 strstr(value, "utf-8"));
}

static bool takes_colour(FILE *out)
{
	const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");

	return isatty(fileno(out)) && !(no_colour && *no_colour) && kind && *kind &&
	       strcmp(kind, "dumb") != 0;
}

struct terminal terminal_of(FILE *out)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	struct terminal terminal = { .out = out, .colour = takes_colour(out) };
	struct winsize size;
	const char *value;
	size_t i;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
		terminal.width = size.ws_col;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		value = getenv(names[i]);
		if (!value || !*value)
			continue;
		terminal.utf8 = says_utf8(value);
		break;
	}
	return terminal;
}

/* ---- printing ---- */

/* The number of columns of a text: its bytes that begin a UTF-8 character. */
static int width_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void set_colour(const struct timeline *timeline, const char *colour)
{
	if (timeline->terminal->colour)
		fputs(colour, timeline->terminal->out);
}

static void put_cell(const struct timeline *timeline, const char *s, int width, const char *colour,
		     bool last)
{
	FILE *out = timeline->terminal->out;
	int n = width_of(s), shown = 0;

	set_colour(timeline, colour);
	if (n <= width) {
		fputs(s, out);
		shown = n;
	} else {
		for (; shown < width - 1; s++) {
			fputc(*s, out);
			shown += (((unsigned char)s[1]) & 0xc0) != 0x80;
		}
		fputc('~', out);
		shown++;
	}
	if (*colour)
		set_colour(timeline, RESET);
	if (!last)
		fprintf(out, "%*s ", width - shown, "");
}

static void put_time(struct timeline *timeline, uint64_t ns)
{
	FILE *out = timeline->terminal->out;
	uint64_t since = ns - timeline->origin_ns;

	if (timeline->printed_any && ns == timeline->printed_ns) {
		fprintf(out, "%*s ", timeline->time_width, "");
		return;
	}
	set_colour(timeline, DIM);
	if (ns < timeline->origin_ns)
		fprintf(out, "%*s ", timeline->time_width, "set-up");
	else
		fprintf(out, "%*llu.%03u ", timeline->time_width - 4,
			(unsigned long long)(since / 1000), (unsigned int)(since % 1000));
	set_colour(timeline, RESET);
	timeline->printed_ns = ns;
	timeline->printed_any = true;
}

static void clear_row(struct row *row)
{
	int i;

	for (i = 0; i < NUM_COLUMNS; i++) {
		row->cells[i].length = 0;
		if (row->cells[i].s)
			row->cells[i].s[0] = '\0';
	}
	row->filled = -1;
	row->times = 1;
	row->alarm = false;
}

static void flush_row(struct timeline *timeline)
{
	static const char *const colours[NUM_COLUMNS] = { "", CYAN, GREEN, "" };
	struct row *row = &timeline->row;
	int i, next, width;

	if (row->filled < 0)
		return;
	put_time(timeline, row->ns);
	if (row->times > 1)
		text_add(&row->cells[COLUMN_PROGRAM], " x%d", row->times);
	for (i = 0; i <= row->filled; i = next) {
		/* A long cell may use the space of empty cells to its right. */
		width = timeline->widths[i];
		for (next = i + 1; next < NUM_COLUMNS && !row->cells[next].length; next++)
			width += 1 + timeline->widths[next];
		put_cell(timeline, text_of(&row->cells[i]), width,
			 i == COLUMN_EVENT && row->alarm ? RED : colours[i], i == row->filled);
	}
	fputc('\n', timeline->terminal->out);
	clear_row(row);
}

/* Set the widths of the columns, by the last time of the trace and the width of the terminal. */
static void lay_out_columns(struct timeline *timeline, bool plain)
{
	int i, more;
	uint64_t us;

	timeline->time_width = 4;
	for (us = timeline->last_ns / 1000; us; us /= 10)
		timeline->time_width++;
	if (timeline->time_width < TIME_WIDTH)
		timeline->time_width = TIME_WIDTH;
	for (i = 0; i < NUM_COLUMNS; i++)
		timeline->widths[i] = plain ? verbs_widths[i] : default_widths[i];
	more = timeline->terminal->width - WHOLE_WIDTH - (timeline->time_width - TIME_WIDTH);
	if (more > 0)
		timeline->widths[COLUMN_EVENT] += more;
}

static void put_legend(struct timeline *timeline)
{
	if (timeline->legend.length)
		fprintf(timeline->terminal->out, "%*s %s\n", timeline->time_width, "",
			text_of(&timeline->legend));
}

static void put_titles(struct timeline *timeline)
{
	FILE *out = timeline->terminal->out;
	int i, whole = WHOLE_WIDTH + timeline->time_width - TIME_WIDTH;

	fprintf(out, "%*s ", timeline->time_width, "time, us");
	for (i = 0; i < NUM_COLUMNS; i++)
		put_cell(timeline, timeline->widths[i] ? titles[i] : "", timeline->widths[i], DIM,
			 i == NUM_COLUMNS - 1);
	fputc('\n', out);
	set_colour(timeline, DIM);
	for (i = 0; i < whole; i++)
		fputs(timeline->terminal->utf8 ? "─" : "-", out);
	set_colour(timeline, RESET);
	fputc('\n', out);
	put_legend(timeline);
}

/* ---- rows ---- */

static int first_cell(const struct row *row)
{
	int i = 0;

	while (i < NUM_COLUMNS && !row->cells[i].length)
		i++;
	return i;
}

static int last_cell(const struct row *row)
{
	int i = NUM_COLUMNS - 1;

	while (i >= 0 && !row->cells[i].length)
		i--;
	return i;
}

static void replace_cell(struct row *row, const struct row *from, int i)
{
	row->cells[i].length = 0;
	text_append(&row->cells[i], text_of(&from->cells[i]), from->cells[i].length);
}

/* A repeated call is shown as one row with a count. */
static bool is_again(const struct row *row, const struct row *next)
{
	return row->filled >= 0 && row->ns == next->ns && row->filled != COLUMN_EVENT &&
	       next->cells[COLUMN_PROGRAM].length && last_cell(next) != COLUMN_EVENT &&
	       !strcmp(text_of(&row->cells[COLUMN_PROGRAM]), text_of(&next->cells[COLUMN_PROGRAM]));
}

/* A line of the same time whose columns are further to the right joins the current row. */
static void add_row(struct timeline *timeline, const struct row *next)
{
	struct row *row = &timeline->row;
	int i, last = last_cell(next);

	if (last < 0)
		return;
	if (is_again(row, next)) {
		row->times++;
		replace_cell(row, next, COLUMN_COUNTS);
		row->filled = last_cell(row);
		return;
	}
	if (row->ns != next->ns || next->alone || first_cell(next) <= row->filled)
		flush_row(timeline);
	row->ns = next->ns;
	row->alarm |= next->alarm;
	row->filled = last;
	for (i = 0; i < NUM_COLUMNS; i++) {
		if (next->cells[i].length)
			replace_cell(row, next, i);
	}
}

/* ---- lines ---- */

static void put_note(struct timeline *timeline, struct span note)
{
	struct text text = { 0 };

	if (timeline->row.filled >= 0 || timeline->printed_any || !timeline->noted) {
		flush_row(timeline);
		fputc('\n', timeline->terminal->out);
	}
	text_printable(&text, note.s, note.length);
	set_colour(timeline, BOLD);
	fprintf(timeline->terminal->out, "%*s %s", timeline->time_width, "", text_of(&text));
	set_colour(timeline, RESET);
	fputc('\n', timeline->terminal->out);
	text_free(&text);
	timeline->printed_any = false; /* the next row shows its time */
	timeline->noted = true;
}

/* A note written by the runner or by the script. */
static void read_note(struct timeline *timeline, const struct trace_line *line)
{
	struct span rest = line->rest;

	if (is_inner_note(rest))
		return;
	if (span_is(rest, "script begins")) {
		timeline->origin_ns = line->ns;
		timeline->begun = true;
	} else if (span_is(rest, "script ends")) {
		flush_row(timeline);
		timeline->over = true;
	} else {
		put_note(timeline, rest);
	}
}

/* A note that was shown before still tells where the script begins. */
static void note_begin(struct timeline *timeline, const struct trace_line *line)
{
	if (!span_is(line->rest, "script begins"))
		return;
	timeline->origin_ns = line->ns;
	timeline->begun = true;
}

/*
 * Routine lines are hidden without --all: ACKs, successful completions of Sends, and how programs
 * of verbs wait for completions.
 */
static bool is_routine(const struct trace_line *line)
{
	struct span op = trace_value(line, "op");

	if (span_is(line->verb, "packet"))
		return span_is(op, "ACK");
	if (span_is(line->verb, "ibv_req_notify_cq") || span_is(line->verb, "ibv_get_cq_event") ||
	    span_is(line->verb, "path"))
		return true;
	return span_is(line->verb, "complete") && span_is(op, "SEND") &&
	       span_is(trace_value(line, "status"), "SUCCESS");
}

static void read_line(struct timeline *timeline, const struct trace_line *line)
{
	bool all = timeline->terminal->all;
	struct row next = { .ns = line->ns, .filled = -1, .times = 1 };
	int i;

	if (span_is(line->verb, "note")) {
		if (timeline->skipped++ < timeline->terminal->skip)
			note_begin(timeline, line);
		else
			read_note(timeline, line);
		return;
	}
	cells_of(timeline, line, &next);
	if (timeline->skipped++ < timeline->terminal->skip)
		timeline->folded++; /* shown before */
	else if (!timeline->begun && !all)
		timeline->folded++;
	else if (all || (!timeline->over && !is_routine(line)))
		add_row(timeline, &next);
	for (i = 0; i < NUM_COLUMNS; i++)
		text_free(&next.cells[i]);
}

bool show_trace(const struct terminal *terminal, const char *name, const char *text, size_t length,
		struct text *error)
{
	struct timeline timeline = { .terminal = terminal, .row = { .filled = -1, .times = 1 } };
	struct trace_reader reader;
	struct trace_line line;
	bool good;
	int i;

	good = trace_open(&reader, name, text, length);
	if (good) {
		names_collect(&timeline, text, length);
		verbs_names(&timeline, text, length);
		lay_out_columns(&timeline, timeline.verbs && !memmem(text, length, ".srq", 4));
		timeline.begun = !trace_has_beginning(text, length);
		if (!terminal->bare)
			put_titles(&timeline);
		while (trace_next(&reader, &line))
			read_line(&timeline, &line);
		flush_row(&timeline);
		good = !reader.error.length;
	}
	text_append(error, text_of(&reader.error), reader.error.length);
	for (i = 0; i < NUM_COLUMNS; i++)
		text_free(&timeline.row.cells[i]);
	free(timeline.aliases);
	text_free(&timeline.legend);
	arena_free(&timeline.memory);
	free(timeline.queues);
	trace_close(&reader);
	return good;
}
