/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show_rows.h - the rows of a timeline on a terminal.
 *
 * A row has a cell for each column. Rows at the same time are joined if the later one's cells are
 * further to the right; a repeated call becomes one row with a count. Rows are first measured
 * (printing is off): rows_fit then chooses the widths that break the fewest rows on the given
 * terminal. A cell that is still too long goes on in the next line; nothing is cut off. A taker
 * gets the same rows in place of the terminal.
 */
#ifndef DATSIM_SHOW_ROWS_H
#define DATSIM_SHOW_ROWS_H

#include "show.h"

#define ROWS_LANES   4 /* programs that have a lane each; of more, all calls are in one column */
#define ROWS_COLUMNS (ROWS_LANES + 2)

struct row_cells {
	uint64_t ns;
	struct text cells[ROWS_COLUMNS];
	bool alarm[ROWS_COLUMNS];
	bool event[ROWS_COLUMNS];      /* an event in the lane of its program */
	int filled;                    /* the last column that has text, or -1 */
	int call;                      /* the column of a call that may be repeated; -1: none */
	int times;                     /* repeats of that call */
	bool alone;                    /* always begins a new row */
	const struct trace_line *line; /* of a row that is added: where it comes from */
};

struct rows_column {
	const char *colour;
	struct text title;
	enum column kind; /* COLUMN_PROGRAM: of a lane, too */
	int width;        /* 0: the trace has nothing for it */
};

/* Rows whose cells have the same widths. */
struct shape {
	uint16_t widths[ROWS_COLUMNS];
	uint32_t rows; /* 0: unused */
};

#define ROWS_SHAPES 4096

struct rows;

/*
 * What takes the rows of a timeline in place of a terminal: first the titles, then for each row its
 * lines of the trace and the row. `again`: the line repeats the call of the one before it, and
 * becomes part of its count.
 */
struct rows_taker {
	void (*titles)(struct rows_taker *taker, const struct rows *rows, const char *legend);
	void (*line)(struct rows_taker *taker, const struct trace_line *line, bool again);
	void (*row)(struct rows_taker *taker, const struct rows *rows);
	void (*note)(struct rows_taker *taker, const struct rows *rows, uint64_t ns,
		     struct span note);
};

struct rows {
	const struct terminal *terminal;
	struct rows_column columns[ROWS_COLUMNS];
	int column_count;
	int width; /* of the terminal */
	int time_width;
	uint64_t origin_ns;
	bool printing;
	struct row_cells row;
	struct shape *shapes;
	size_t shape_count;
	bool noted;   /* the last thing printed is a note */
	bool any;     /* a row was printed behind the last note */
	bool nothing; /* no row was printed or measured at all */
};

void rows_begin(struct rows *rows, const struct terminal *terminal, uint64_t last_ns);
/* Add a column, in the colour of its kind; returns its number. */
int rows_column(struct rows *rows, enum column kind, const char *title, size_t length);
/* The width of a terminal, or of what is none. */
int rows_terminal_width(const struct terminal *terminal);
/* Choose the widths from what was measured, and print from now on. */
void rows_fit(struct rows *rows);
void rows_titles(struct rows *rows, const struct text *legend);
/* Add a row; its texts are copied. */
void rows_add(struct rows *rows, const struct row_cells *next);
void rows_flush(struct rows *rows);
/* Add a note: a row of its own, across all columns. */
void rows_note(struct rows *rows, uint64_t ns, struct span note);
void rows_free(struct rows *rows);
void row_cells_free(struct row_cells *row);

/* show_wrap.c: the number of columns of a text. */
int wrap_columns(const char *s);
/*
 * The bytes at s that are printed in a line of `width` columns; *rest: where the next line begins.
 * A line ends at a blank, else behind a mark of punctuation, else anywhere.
 */
size_t wrap_piece(const char *s, int width, const char **rest);
/* Lines that a text needs in a cell of this width, whose further lines are indented. */
int wrap_lines(int columns, int width);
/* The least width of each of so many columns: the usual one, or an equal part of a narrow width. */
int wrap_least(int width, int columns, int usual);
#define WRAP_INDENT 2

#endif
