/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show.h - a trace as a timeline for people.
 *
 * Columns: time, what the programs did, what the wire did, the shared queue's counts, what surfaced
 * as an event. show.c lays rows out; show_cells.c finds the words for each line of the trace. A
 * timeline borrows the trace's text and owns the rest.
 */
#ifndef DATSIM_SHOW_H
#define DATSIM_SHOW_H

#include <stdio.h>

#include "trace.h"

struct terminal {
	FILE *out;
	bool colour;
	bool utf8;
	int width;     /* columns; 0: none */
	bool bare;     /* no titles */
	uint64_t skip; /* lines of the trace, seen before */
	bool all;      /* set-up, tear-down and what goes without saying too */
};

/* By the environment: colour on a terminal that has it, without NO_COLOR; UTF-8 by LC_ALL, LC_CTYPE, LANG. */
struct terminal terminal_of(FILE *out);

/* Print a trace. False: it is damaged; the text says where. What came before that is printed. */
bool show_trace(const struct terminal *terminal, const char *name, const char *text, size_t length,
		struct text *error);

enum column {
	COLUMN_PROGRAM,
	COLUMN_WIRE,
	COLUMN_COUNTS,
	COLUMN_EVENT,
	NUM_COLUMNS
};

/* Who a name of the trace is to the script: "emu1.srq1" is S of b. */
struct alias {
	struct span object;
	struct span name; /* b.S */
};

/* Counts of one shared receive queue as the trace tells them. */
struct queue {
	struct span object;
	uint64_t max, low, available, outstanding;
};

struct row {
	uint64_t ns;
	struct text cells[NUM_COLUMNS];
	int filled; /* the last column that has text, or -1 */
	int times;  /* the same call so often */
	bool alarm; /* a watermark, a failure: worth a colour */
	bool alone; /* begins a row whatever came before */
};

struct timeline {
	const struct terminal *terminal;
	struct alias *aliases;
	size_t alias_count;
	struct queue *queues;
	size_t queue_count;
	struct row row;
	uint64_t origin_ns, printed_ns;
	bool printed_any;
	bool noted; /* the last thing printed may be a note: a paragraph of several */
	bool begun, over;
	uint64_t last_ns; /* of the trace */
	int time_width, widths[NUM_COLUMNS];
	uint64_t folded;  /* lines before the script began */
	uint64_t skipped; /* lines read so far, to compare with the terminal's */
};

/* The note by which the runner names an object: "name emu1.srq1 b.S". */
#define NAME_NOTE "name "
/* And by which it says that what follows is a call's or a fault's doing: "line 7". */
#define LINE_NOTE "line "
/* A note that is not for people. */
bool is_inner_note(struct span note);

/* Learn all names first: one is noted after its object was made, and wanted from then on. */
void names_collect(struct timeline *timeline, const char *text, size_t length);
/* What the script calls it, or the object itself. */
struct span name_of(const struct timeline *timeline, struct span object);
/* The actor on an adapter: the first that has anything there. */
struct span actor_on(const struct timeline *timeline, struct span adapter);
/* A trace of a program, not of a script, has no set-up to fold. */
bool trace_has_beginning(const char *text, size_t length);

/* Put one line of the trace into words: at most one text for each column. */
void cells_of(struct timeline *timeline, const struct trace_line *line, struct row *row);

#endif
