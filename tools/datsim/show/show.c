/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints a timeline: reads the trace twice, decides which of its lines are shown, and puts what
 * they say into columns.
 */
#include "show_rows.h"
#include "show_verbs.h"
#include "tools/datsim/colour.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What COLUMNS may say, as --width. */
#define WIDTH_LEAST 40
#define WIDTH_MOST  2000

/* So wide a terminal has room for the counts of a queue as a bar. */
#define WIDTH_OF_BARS 100

static bool says_utf8(const char *value)
{
	return value && (strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8") ||
			 strstr(value, "utf-8"));
}

struct terminal terminal_of(FILE *out)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	struct terminal terminal = { .out = out, .colour = colour_wanted(COLOUR_AUTO, out) };
	const char *value, *columns = getenv("COLUMNS");
	struct winsize size;
	size_t i;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
		terminal.width = size.ws_col;
	else if (columns && atoi(columns) >= WIDTH_LEAST && atoi(columns) <= WIDTH_MOST)
		terminal.width = atoi(columns);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		value = getenv(names[i]);
		if (!value || !*value)
			continue;
		terminal.utf8 = says_utf8(value);
		break;
	}
	return terminal;
}

/* ---- columns ---- */

/* A trace while it is shown. */
struct show {
	struct timeline words;
	struct rows rows;
	bool lanes;              /* a column for each program */
	int at[NUM_COLUMNS];     /* the column of each kind of text, without lanes */
	int lane_at[ROWS_LANES]; /* the column of each program */
	bool begun, over;
	uint64_t skipped; /* lines read so far, to compare with terminal->skip */
};

static void make_columns(struct show *show)
{
	const struct names *names = &show->words.names;
	const char *counts = !names->srqs       ? "Receives"
			     : show->words.bars ? "SRQ max/avail/outst"
						: "SRQ m/a/o";
	struct rows *rows = &show->rows;
	size_t i;

	show->lanes = !names->begins && names->node_count > 1 && names->node_count <= ROWS_LANES;
	for (i = 0; show->lanes && i < names->node_count; i++) {
		show->lane_at[i] = rows_column(rows, COLUMN_PROGRAM, names->nodes[i].s,
					       names->nodes[i].length);
		if (i == 0)
			show->at[COLUMN_WIRE] = rows_column(rows, COLUMN_WIRE, "wire", 4);
	}
	if (!show->lanes) {
		show->at[COLUMN_PROGRAM] = rows_column(rows, COLUMN_PROGRAM, "program", 7);
		show->at[COLUMN_WIRE] = rows_column(rows, COLUMN_WIRE, "wire", 4);
	}
	show->at[COLUMN_COUNTS] = rows_column(rows, COLUMN_COUNTS, counts, strlen(counts));
	if (!show->lanes)
		show->at[COLUMN_EVENT] = rows_column(rows, COLUMN_EVENT, "event", 5);
}

/* Remove "client." and "client: " in the column of client. */
static void drop_actor(struct text *text, struct span actor)
{
	const char *s = text_of(text);
	struct text kept = { 0 };
	bool word = true;

	while (*s) {
		if (word && !strncmp(s, actor.s, actor.length) &&
		    (s[actor.length] == '.' || !strncmp(s + actor.length, ": ", 2)))
			s += actor.length + (s[actor.length] == '.' ? 1 : 2);
		word = *s == ' ' || *s == '(';
		if (*s)
			text_append(&kept, s++, 1);
	}
	text_free(text);
	*text = kept;
}

/* The program's column; that of the first one for what belongs to none. */
static int lane_of(const struct show *show, const struct trace_line *line, struct row *row)
{
	const struct names *names = &show->words.names;
	struct span adapter = adapter_of(line->object);
	size_t i = node_index(names, adapter);

	if (i == names->node_count)
		return show->lane_at[0];
	if (span_equal(actor_on(&show->words, adapter), node_of(adapter))) {
		drop_actor(&row->cells[COLUMN_PROGRAM], node_of(adapter));
		drop_actor(&row->cells[COLUMN_EVENT], node_of(adapter));
	}
	return show->lane_at[i];
}

static struct row_cells row_cells_of(const struct trace_line *line, const struct row *row)
{
	return (struct row_cells){ .ns = row->ns,
				   .call = -1,
				   .times = 1,
				   .alone = row->alone,
				   .line = line };
}

static void put_cell(struct row_cells *next, int column, const struct text *text, bool alarm)
{
	text_append(&next->cells[column], text_of(text), text->length);
	next->alarm[column] = alarm;
}

/* A program's calls and events have the same column: an event gets a row of its own. */
static void add_to_lanes(struct show *show, const struct trace_line *line, struct row *row)
{
	struct row_cells next = row_cells_of(line, row);
	struct text *cells = row->cells;
	int lane = lane_of(show, line, row);

	/* What a fault does to a packet stands behind the packet. */
	if (cells[COLUMN_WIRE].length && cells[COLUMN_EVENT].length) {
		text_add(&cells[COLUMN_WIRE], " %s", text_of(&cells[COLUMN_EVENT]));
		put_cell(&next, show->at[COLUMN_WIRE], &cells[COLUMN_WIRE], row->alarm);
		cells[COLUMN_EVENT].length = 0;
	} else if (cells[COLUMN_WIRE].length) {
		put_cell(&next, show->at[COLUMN_WIRE], &cells[COLUMN_WIRE], false);
	}
	if (cells[COLUMN_COUNTS].length)
		put_cell(&next, show->at[COLUMN_COUNTS], &cells[COLUMN_COUNTS], false);
	if (cells[COLUMN_PROGRAM].length) {
		put_cell(&next, lane, &cells[COLUMN_PROGRAM], false);
		next.call = lane;
		if (cells[COLUMN_EVENT].length) {
			rows_add(&show->rows, &next);
			row_cells_free(&next);
			row->alone = false;
			next = row_cells_of(line, row);
		}
	}
	if (cells[COLUMN_EVENT].length) {
		put_cell(&next, lane, &cells[COLUMN_EVENT], row->alarm);
		next.event[lane] = true;
	}
	rows_add(&show->rows, &next);
	row_cells_free(&next);
}

static void add_row(struct show *show, const struct trace_line *line, struct row *row)
{
	struct row_cells next = row_cells_of(line, row);
	int i;

	if (show->lanes) {
		add_to_lanes(show, line, row);
		return;
	}
	for (i = 0; i < NUM_COLUMNS; i++)
		put_cell(&next, show->at[i], &row->cells[i], i == COLUMN_EVENT && row->alarm);
	if (row->cells[COLUMN_PROGRAM].length)
		next.call = show->at[COLUMN_PROGRAM];
	rows_add(&show->rows, &next);
	row_cells_free(&next);
}

/* ---- lines ---- */

static bool takes_note(const struct show *show, const struct trace_line *line)
{
	const struct show_filter *filter = show->words.terminal->filter;

	return !filter || (filter_takes_time(filter, line->ns, show->rows.origin_ns) &&
			   filter_takes_note(filter, line->rest));
}

/* A note written by the runner or by the script; `before`: it was shown by an earlier call. */
static void read_note(struct show *show, const struct trace_line *line, bool before)
{
	if (is_inner_note(line->rest))
		return;
	if (span_is(line->rest, "script begins")) {
		show->rows.origin_ns = line->ns;
		show->begun = true;
	} else if (before) {
		return;
	} else if (span_is(line->rest, "script ends")) {
		rows_flush(&show->rows);
		show->over = true;
	} else if (takes_note(show, line)) {
		rows_note(&show->rows, line->ns, line->rest);
	}
}

/*
 * Routine lines are hidden without --all: ACKs, successful completions of Sends, and what uDAPL
 * does by itself. Every call of a program is shown.
 */
static bool is_routine(const struct trace_line *line)
{
	struct span op = trace_value(line, "op");

	if (span_is(line->verb, "path") || span_is(line->verb, "heard"))
		return true;
	if (span_is(line->verb, "packet"))
		return span_is(op, "ACK");
	if (is_kind(line->object, ".cr"))
		return span_is(line->verb, "create") || span_is(line->verb, "free");
	if (span_is(line->verb, "rule"))
		return trace_value(line, "fired").length > 0;
	if (verbs_routine(line))
		return true;
	return span_is(line->verb, "complete") && span_is(op, "SEND") &&
	       span_is(trace_value(line, "status"), "SUCCESS");
}

static bool is_shown(const struct show *show, const struct trace_line *line, const struct row *row)
{
	const struct terminal *terminal = show->words.terminal;

	if (show->skipped <= terminal->skip)
		return false; /* shown before */
	if (!terminal->all && (!show->begun || show->over || is_routine(line)))
		return false;
	return !terminal->filter ||
	       (filter_takes_time(terminal->filter, line->ns, show->rows.origin_ns) &&
		filter_takes(terminal->filter, &show->words, line, row));
}

static void read_line(struct show *show, const struct trace_line *line)
{
	struct row row = { .ns = line->ns };
	int i;

	show->skipped++;
	if (span_is(line->verb, "note")) {
		rule_note(&show->words, line);
		read_note(show, line, show->skipped <= show->words.terminal->skip);
		return;
	}
	cells_of(&show->words, line, &row);
	if (is_shown(show, line, &row))
		add_row(show, line, &row);
	for (i = 0; i < NUM_COLUMNS; i++)
		text_free(&row.cells[i]);
}

static void read_lines(struct show *show, struct trace_reader *reader)
{
	struct trace_line line;

	show->begun = !show->words.names.begins;
	show->over = false;
	show->skipped = 0;
	show->rows.origin_ns = 0;
	show->words.queue_count = 0;
	show->words.line = 0;
	while (trace_next(reader, &line))
		read_line(show, &line);
	rows_flush(&show->rows);
}

void timeline_free(struct timeline *timeline)
{
	names_free(&timeline->names);
	free(timeline->queues);
}

/* Measure all rows; print them. */
static bool show_lines(struct show *show, const char *name, const char *text, size_t length,
		       struct text *error)
{
	struct trace_reader reader;
	bool good;

	trace_open(&reader, name, text, length);
	read_lines(show, &reader);
	trace_close(&reader);
	rows_fit(&show->rows);
	if (!show->words.terminal->bare)
		rows_titles(&show->rows, &show->words.names.legend);
	trace_open(&reader, name, text, length);
	read_lines(show, &reader);
	good = !reader.error.length;
	text_append(error, text_of(&reader.error), reader.error.length);
	trace_close(&reader);
	return good;
}

bool show_trace(const struct terminal *terminal, const char *name, const char *text, size_t length,
		struct text *error)
{
	struct show *show;
	struct trace_reader reader;
	bool good = trace_open(&reader, name, text, length);

	text_append(error, text_of(&reader.error), reader.error.length);
	trace_close(&reader);
	if (!good)
		return false;
	show = mem_zero(1, sizeof(*show));
	show->words.terminal = terminal;
	show->words.bars = rows_terminal_width(terminal) >= WIDTH_OF_BARS;
	names_collect(&show->words.names, text, length);
	rows_begin(&show->rows, terminal, show->words.names.last_ns);
	make_columns(show);
	good = show_lines(show, name, text, length, error);
	if (good && terminal->filter && show->rows.nothing)
		text_add(error, "%s: note: no line of the trace fits the filter\n", name);
	rows_free(&show->rows);
	timeline_free(&show->words);
	free(show);
	return good;
}
