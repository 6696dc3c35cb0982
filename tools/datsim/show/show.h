/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show.h - print a trace as a timeline.
 *
 * Columns: time, calls of the programs, packets on the wire, counts of the shared receive queue,
 * events. show.c lays out the rows; show_cells.c words each line of the trace. A timeline borrows
 * the trace's text and owns the rest.
 */
#ifndef DATSIM_SHOW_H
#define DATSIM_SHOW_H

#include <stdio.h>

#include "trace.h"

struct terminal {
	FILE *out;
	bool colour;
	bool utf8;
	int width;     /* columns; 0: not a terminal */
	bool bare;     /* no titles */
	uint64_t skip; /* the number of lines of the trace that were shown before */
	bool all;      /* show set-up, tear-down and routine lines too */
};

/*
 * The terminal as the environment describes it: colour if it has any and NO_COLOR is not set, UTF-8
 * by LC_ALL, LC_CTYPE and LANG.
 */
struct terminal terminal_of(FILE *out);

/* Print a trace. False: the trace is damaged; *error says where. The lines before are printed. */
bool show_trace(const struct terminal *terminal, const char *name, const char *text, size_t length,
		struct text *error);

enum column {
	COLUMN_PROGRAM,
	COLUMN_WIRE,
	COLUMN_COUNTS,
	COLUMN_EVENT,
	NUM_COLUMNS
};

/* The script's name of an object of the trace: "emu1.srq1" is S of actor b. */
struct alias {
	struct span object;
	struct span name; /* b.S */
};

/* The counts of one shared receive queue, as the trace has them. */
struct queue {
	struct span object;
	uint64_t max, low, available, outstanding;
};

struct row {
	uint64_t ns;
	struct text cells[NUM_COLUMNS];
	int filled; /* the last column that has text, or -1 */
	int times;  /* repeats of the same call, shown as one row */
	bool alarm; /* a watermark or a failure: shown in colour */
	bool alone; /* always begins a new row */
};

struct timeline {
	const struct terminal *terminal;
	struct alias *aliases;
	size_t alias_count;
	struct arena memory; /* of names that the trace does not have */
	bool verbs;          /* it has objects of verbs */
	struct text legend;  /* what their actors' letters mean */
	struct queue *queues;
	size_t queue_count;
	struct row row;
	uint64_t origin_ns, printed_ns;
	bool printed_any;
	bool noted; /* a note was printed; a note right after it joins its paragraph */
	bool begun, over;
	uint64_t last_ns; /* the time of the trace's last line */
	int time_width, widths[NUM_COLUMNS];
	uint64_t folded;  /* lines before the start of the script */
	uint64_t skipped; /* lines read so far, to compare with terminal->skip */
};

/* The note by which the runner names an object: "name emu1.srq1 b.S". */
#define NAME_NOTE "name "
/* The note that the following lines come from a line of the script: "line 7". */
#define LINE_NOTE "line "
/* Is it a note for the tools, which is not shown? */
bool is_inner_note(struct span note);

/*
 * Collect all names before anything is shown: an object's name is noted after the object was made.
 */
void names_collect(struct timeline *timeline, const char *text, size_t length);
/* The script's name of an object; the object itself if it has none. */
struct span name_of(const struct timeline *timeline, struct span object);
/* The actor on an adapter: the first one that has an object there. */
struct span actor_on(const struct timeline *timeline, struct span adapter);
/*
 * Does the trace mark the start of a script? A program's trace does not, and has no set-up to fold.
 */
bool trace_has_beginning(const char *text, size_t length);

/* Word one line of the trace: at most one text for each column. */
void cells_of(struct timeline *timeline, const struct trace_line *line, struct row *row);

#endif
