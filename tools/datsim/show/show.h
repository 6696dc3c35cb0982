/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show.h - print a trace as a timeline.
 *
 * Columns: time, calls of the programs, packets on the wire, counts of the shared receive queue,
 * events. Of several programs each has a column of its own (a lane) with its calls and events.
 * show.c reads the trace twice: once to measure what is in the columns, once to print. show_cells.c
 * and its neighbours word each line of the trace, show_rows.c lays out the rows. A timeline borrows
 * the trace's text and owns the rest.
 */
#ifndef DATSIM_SHOW_H
#define DATSIM_SHOW_H

#include <stdio.h>

#include "show_filter.h"
#include "trace.h"

struct rows_taker; /* show_rows.h */

struct terminal {
	FILE *out;
	bool colour;
	bool utf8;
	int width;     /* columns; 0: not a terminal */
	bool bare;     /* no titles */
	uint64_t skip; /* the number of lines of the trace that were shown before */
	bool all;      /* show set-up, tear-down and routine lines too */
	const struct show_filter *filter; /* the lines to show; NULL: all */
	struct rows_taker *taker;         /* takes the rows in place of the terminal; NULL: none */
};

/*
 * The terminal as the environment describes it: colour if it has any and NO_COLOR is not set, UTF-8
 * by LC_ALL, LC_CTYPE and LANG.
 */
struct terminal terminal_of(FILE *out);

/* Print a trace. False: the trace is damaged; *error says where. The lines before are printed. */
bool show_trace(const struct terminal *terminal, const char *name, const char *text, size_t length,
		struct text *error);

/* What a line of the trace says, by where it stands without lanes. */
enum column {
	COLUMN_PROGRAM,
	COLUMN_WIRE,
	COLUMN_COUNTS,
	COLUMN_EVENT,
	NUM_COLUMNS
};

/* The name of an object of the trace: in the script, "emu1.srq1" is S of actor b. */
struct alias {
	struct span object;
	struct span name; /* b.S */
	uint32_t next;    /* index + 1 of the next one with the same hash */
};

/* An adapter, its program's node ("server" of "server-emu0"), and its name in the timeline. */
struct show_actor {
	struct span adapter, node, name;
};

#define ALIAS_HASHES 1024

/* What names_collect finds in a trace. */
struct names {
	struct alias *aliases;
	size_t count;
	uint32_t hash[ALIAS_HASHES]; /* index + 1 of the last alias with this hash */
	struct show_actor *actors;
	size_t actor_count;
	struct span *nodes; /* of a shared fabric, in the order in which they appear */
	size_t node_count;
	bool verbs;          /* there are objects of verbs */
	bool srqs;           /* there are SRQs */
	bool begins;         /* the trace marks the start of a script */
	uint64_t begin_ns;   /* when the script starts: 0 of the timeline */
	uint64_t last_ns;    /* the time of the last line */
	int letters;         /* letters that long names have */
	struct text legend;  /* what the letters of long names mean */
	struct arena memory; /* of names that the trace does not have */
};

/* The counts of one shared receive queue, as the trace has them. */
struct queue {
	struct span object;
	uint64_t max, low, available, outstanding;
	bool verbs; /* made by ibv_create_srq */
};

#define SHOW_RULES 256 /* of packets; and as many others */

/* A fault rule: where it comes from, and its words. */
struct rule {
	uint32_t line;     /* of the script; 0: not known */
	struct span words; /* of the script; empty: not known */
	bool outside;      /* a line of the trace that follows has all of it */
};

struct row {
	uint64_t ns;
	struct text cells[NUM_COLUMNS];
	bool alarm; /* a watermark or a failure: shown in colour */
	bool alone; /* always begins a new row */
};

/* What the wording of a line depends on. */
struct timeline {
	const struct terminal *terminal;
	struct names names;
	struct queue *queues;
	size_t queue_count;
	struct rule rules[2 * SHOW_RULES];
	struct rule noted; /* the rule that the next line adds */
	uint32_t line;     /* the current line of the script */
	bool bars;         /* draw the counts of a queue as a bar */
};

void timeline_free(struct timeline *timeline);

/* The note by which the runner names an object: "name emu1.srq1 b.S". */
#define NAME_NOTE "name "
/* The note that the following lines come from a line of the script: "line 7". */
#define LINE_NOTE "line "
/* The note before a rule is added, with its words: "rule of line 7: link a>b drop nth=3". */
#define RULE_NOTE "rule of line "
/* Is it a note for the tools, which is not shown? */
bool is_inner_note(struct span note);

/*
 * Collect all names before anything is shown: an object's name is noted after the object was made.
 * Without a script's names, objects get short ones of their node: "server.ep1".
 */
void names_collect(struct names *names, const char *text, size_t length);
/* The same for one line more of a program's trace, which is still being written. */
void names_follow(struct names *names, const struct trace_line *line);
void names_free(struct names *names);
/* The script's or short name of an object; the object itself if it has none. */
struct span name_of(const struct timeline *timeline, struct span object);
/* The actor on an adapter; the adapter itself if it has none. */
struct span actor_on(const struct timeline *timeline, struct span adapter);
/* The adapter of an object: "emu1" of "emu1.srq1". */
struct span adapter_of(struct span object);
/* "server" of "server-emu0"; on a private fabric, the adapter. */
struct span node_of(struct span adapter);
/* The index of an adapter's node; names->node_count: it has none. */
size_t node_index(const struct names *names, struct span adapter);
bool span_equal(struct span a, struct span b);

/*
 * Does the trace mark the start of a script? A program's trace does not, and has no set-up to fold.
 */
bool trace_has_beginning(const char *text, size_t length);

/* Word one line of the trace: at most one text for each column. */
void cells_of(struct timeline *timeline, const struct trace_line *line, struct row *row);

/* ---- for the files that word lines ---- */

void text_span(struct text *text, struct span span);
/* Is it an object of a kind, such as ".ep"? */
bool is_kind(struct span object, const char *kind);
/* "b" and "S" of "b.S" */
void split_name(struct span name, struct span *actor, struct span *object);
/* A word of the trace without a redundant prefix. */
struct span strip_prefix(struct span span, const char *prefix);
/* "ESTABLISHED" of "CONNECTION_ESTABLISHED" */
struct span short_event(struct span number);
/* show_calls.c: word a call of a program. False: the line is none. */
bool call_cells(struct timeline *timeline, const struct trace_line *line, struct row *row);
/* show_counts.c: the counts of an SRQ, after a line of it, and after a take or a reap. */
void queue_counts(struct timeline *timeline, const struct trace_line *line, struct row *row);
void take_counts(struct timeline *timeline, const struct trace_line *line, struct row *row);
void reap_counts(struct timeline *timeline, const struct trace_line *line, struct row *row);
/* Does the line free an SRQ of verbs? */
bool srq_is_verbs(struct timeline *timeline, const struct trace_line *line);
/*
 * show_rules.c: rule_note remembers the rule that a line adds, rules_collect all those of a trace,
 * before anything is worded. rule_cell words the rule, and the other two say which rule hit: a
 * packet (behind fault_words), or anything else.
 */
void rule_note(struct timeline *timeline, const struct trace_line *line);
void rules_collect(struct timeline *timeline, const char *text, size_t length);
void rule_cell(const struct timeline *timeline, const struct trace_line *line, struct row *row);
void rule_line(const struct timeline *timeline, const struct trace_line *line, struct text *text);
void rule_words(const struct timeline *timeline, const struct trace_line *line, struct text *text);

#endif
