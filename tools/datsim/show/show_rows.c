/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins, measures and prints the rows of a timeline (show_rows.h). */
#include "show_rows.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH_ELSEWHERE 100 /* of what is no terminal */
#define WIDTH_LEAST     40
#define COLUMN_LEAST    12 /* no column is made narrower than that, if there is room for it */
#define WIDTH_MOST      60000

#define RESET "\033[0m"
#define DIM   "\033[2m"
#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define CYAN  "\033[36m"
#define GREEN "\033[32m"

void rows_begin(struct rows *rows, const struct terminal *terminal, uint64_t last_ns)
{
	uint64_t us;

	memset(rows, 0, sizeof(*rows));
	rows->terminal = terminal;
	rows->width = rows_terminal_width(terminal);
	rows->time_width = 4;
	for (us = last_ns / 1000; us; us /= 10)
		rows->time_width++;
	if (rows->time_width < 8)
		rows->time_width = 8;
	rows->shapes = mem_zero(ROWS_SHAPES, sizeof(*rows->shapes));
	rows->row.filled = rows->row.call = -1;
	rows->row.times = 1;
	rows->nothing = true;
}

int rows_column(struct rows *rows, enum column kind, const char *title, size_t length)
{
	struct rows_column *column = &rows->columns[rows->column_count];

	column->kind = kind;
	column->colour = kind == COLUMN_WIRE ? CYAN : kind == COLUMN_COUNTS ? GREEN : "";
	text_printable(&column->title, title, length);
	return rows->column_count++;
}

int rows_terminal_width(const struct terminal *terminal)
{
	if (!terminal->width)
		return WIDTH_ELSEWHERE;
	return terminal->width < WIDTH_LEAST ? WIDTH_LEAST : terminal->width;
}

/* ---- measuring ---- */

static void measure_row(struct rows *rows)
{
	struct shape shape = { .rows = 1 };
	size_t hash = 0, i;
	int n, width;

	for (n = 0; n < rows->column_count; n++) {
		width = wrap_columns(text_of(&rows->row.cells[n]));
		if (width > rows->columns[n].width)
			rows->columns[n].width = width;
		shape.widths[n] = (uint16_t)(width < WIDTH_MOST ? width : WIDTH_MOST);
		hash = hash * 31 + shape.widths[n];
	}
	for (i = hash % ROWS_SHAPES; rows->shapes[i].rows; i = (i + 1) % ROWS_SHAPES) {
		if (memcmp(rows->shapes[i].widths, shape.widths, sizeof(shape.widths)) != 0)
			continue;
		rows->shapes[i].rows++;
		return;
	}
	/* What does not fit here is rare enough not to decide the widths. */
	if (rows->shape_count == ROWS_SHAPES / 2)
		return;
	rows->shape_count++;
	rows->shapes[i] = shape;
}

/* The width of a cell: it may use the space of empty cells to its right. */
static int cell_width(const int widths[], const bool filled[], int count, int n, int *next)
{
	int width = widths[n];

	for (*next = n + 1; *next < count && !filled[*next]; ++*next) {
		if (widths[*next])
			width += 1 + widths[*next];
	}
	return width;
}

/* The lines that all rows need beyond their first, with these widths. */
static uint64_t lines_over(const struct rows *rows, const int widths[])
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < ROWS_SHAPES; i++) {
		const struct shape *shape = &rows->shapes[i];
		bool filled[ROWS_COLUMNS];
		int n, next, lines, most = 1;

		if (!shape->rows)
			continue;
		for (n = 0; n < rows->column_count; n++)
			filled[n] = shape->widths[n] > 0;
		for (n = 0; n < rows->column_count; n = next) {
			lines = wrap_lines(shape->widths[n],
					   cell_width(widths, filled, rows->column_count, n,
						      &next));
			if (lines > most)
				most = lines;
		}
		sum += (uint64_t)(most - 1) * shape->rows;
	}
	return sum;
}

static int total_width(const struct rows *rows, const int widths[])
{
	int n, sum = rows->time_width;

	for (n = 0; n < rows->column_count; n++)
		sum += widths[n] ? widths[n] + 1 : 0;
	return sum;
}

/* Take columns away from the one that needs them least, by lines; of equals, from the widest. */
static bool make_narrower(const struct rows *rows, int widths[])
{
	int n, best = -1, step = total_width(rows, widths) > rows->width + 40 ? 8 : 1;
	int count = 0, keeps;
	uint64_t over, least = 0;

	for (n = 0; n < rows->column_count; n++)
		count += widths[n] > 0;
	keeps = wrap_least(rows->width - rows->time_width, count, COLUMN_LEAST);
	for (n = 0; n < rows->column_count; n++) {
		if (widths[n] < keeps + step)
			continue;
		widths[n] -= step;
		over = lines_over(rows, widths);
		widths[n] += step;
		if (best >= 0 && (over > least || (over == least && widths[n] <= widths[best])))
			continue;
		best = n;
		least = over;
	}
	if (best >= 0)
		widths[best] -= step;
	return best >= 0;
}

/* Put the columns further apart, by two blanks at most, if all of them have room for it. */
static void spread_columns(const struct rows *rows, int widths[])
{
	int n, step;

	for (step = 0; step < 2; step++) {
		if (total_width(rows, widths) + rows->column_count > rows->width)
			return;
		for (n = 0; n < rows->column_count; n++)
			widths[n] += widths[n] ? 1 : 0;
	}
}

void rows_fit(struct rows *rows)
{
	int widths[ROWS_COLUMNS], n, longest;

	for (n = 0; n < rows->column_count; n++) {
		/* No wider than the terminal, however long the trace's words are. */
		widths[n] = rows->columns[n].width < rows->width ? rows->columns[n].width
								 : rows->width;
		longest = wrap_columns(text_of(&rows->columns[n].title));
		if (widths[n] && widths[n] < longest && longest <= COLUMN_LEAST)
			widths[n] = longest;
	}
	while (total_width(rows, widths) > rows->width && make_narrower(rows, widths))
		;
	spread_columns(rows, widths);
	for (n = 0; n < rows->column_count; n++)
		rows->columns[n].width = widths[n];
	rows->printing = true;
	rows->nothing = true;
}

/* ---- printing ---- */

static void set_colour(const struct rows *rows, const char *colour)
{
	if (rows->terminal->colour && *colour)
		fputs(colour, rows->terminal->out);
}

static void put_spaces(const struct rows *rows, int n)
{
	fprintf(rows->terminal->out, "%*s", n, "");
}

/* The rest of a cell, and its place. */
struct left {
	const char *s, *colour;
	int at, width;
	bool first; /* its first line */
};

/* One line of a row: a piece of each cell. False: nothing was left. */
static bool put_line(const struct rows *rows, struct left *left, int count)
{
	int i, column = 0, indent;
	bool any = false;
	const char *rest;
	size_t length;

	for (i = 0; i < count; i++)
		any |= *left[i].s != '\0';
	if (!any)
		return false;
	if (!left[0].first)
		put_spaces(rows, rows->time_width + 1);
	for (i = 0; i < count; i++) {
		if (!*left[i].s)
			continue;
		indent = !left[i].first && left[i].width > 4 * WRAP_INDENT ? WRAP_INDENT : 0;
		length = wrap_piece(left[i].s, left[i].width - indent, &rest);
		put_spaces(rows, left[i].at + indent - column);
		set_colour(rows, left[i].colour);
		fwrite(left[i].s, 1, length, rows->terminal->out);
		if (*left[i].colour)
			set_colour(rows, RESET);
		column = left[i].at + indent;
		for (; length; length--)
			column += ((unsigned char)*left[i].s++ & 0xc0) != 0x80;
		left[i].s = rest;
		left[i].first = false;
	}
	fputc('\n', rows->terminal->out);
	for (i = 0; i < count; i++)
		left[i].first = false;
	return true;
}

/* The cells of a row, each with the space that it may use. */
static int lay_out(const struct rows *rows, const struct text cells[], const bool alarm[],
		   struct left left[])
{
	int widths[ROWS_COLUMNS], n, next, count = 0, at = 0, i;
	bool filled[ROWS_COLUMNS];

	for (n = 0; n < rows->column_count; n++) {
		widths[n] = rows->columns[n].width;
		filled[n] = cells[n].length > 0;
	}
	for (n = 0; n < rows->column_count; n = next) {
		int width = cell_width(widths, filled, rows->column_count, n, &next);

		if (filled[n])
			left[count++] = (struct left){ text_of(&cells[n]),
						       alarm[n] ? RED : rows->columns[n].colour, at,
						       width > 0 ? width : 1, true };
		for (i = n; i < next; i++)
			at += widths[i] ? widths[i] + 1 : 0;
	}
	return count;
}

static void put_time(const struct rows *rows, uint64_t ns)
{
	FILE *out = rows->terminal->out;
	uint64_t since = ns - rows->origin_ns;

	set_colour(rows, DIM);
	if (ns < rows->origin_ns)
		fprintf(out, "%*s ", rows->time_width, "set-up");
	else
		fprintf(out, "%*llu.%03u ", rows->time_width - 4,
			(unsigned long long)(since / 1000), (unsigned int)(since % 1000));
	set_colour(rows, RESET);
}

static void put_row(struct rows *rows)
{
	struct left left[ROWS_COLUMNS];
	int count = lay_out(rows, rows->row.cells, rows->row.alarm, left);

	put_time(rows, rows->row.ns);
	while (put_line(rows, left, count))
		;
	rows->any = true;
	rows->noted = false;
}

/* Text beside the column of times, folded; the time of the first line is already there. */
static void put_text(const struct rows *rows, const char *s)
{
	int width = rows->width - rows->time_width - 1;
	const char *rest = s;
	size_t length;

	do {
		if (rest != s)
			put_spaces(rows, rows->time_width + 1);
		s = rest;
		length = wrap_piece(s, width, &rest);
		fwrite(s, 1, length, rows->terminal->out);
		fputc('\n', rows->terminal->out);
	} while (*rest);
}

void rows_titles(struct rows *rows, const struct text *legend)
{
	struct rows_taker *taker = rows->terminal->taker;
	FILE *out = rows->terminal->out;
	static const bool alarm[ROWS_COLUMNS];
	struct text titles[ROWS_COLUMNS] = { { NULL, 0, 0 } };
	struct left left[ROWS_COLUMNS];
	int i, count;

	if (taker) {
		taker->titles(taker, rows, text_of(legend));
		return;
	}
	for (i = 0; i < rows->column_count; i++) {
		if (rows->columns[i].width)
			titles[i] = rows->columns[i].title;
	}
	fprintf(out, "%*s ", rows->time_width, "time, us");
	count = lay_out(rows, titles, alarm, left);
	for (i = 0; i < count; i++)
		left[i].colour = DIM;
	while (put_line(rows, left, count))
		;
	if (!count)
		fputc('\n', out);
	set_colour(rows, DIM);
	for (i = 0; i < rows->width; i++)
		fputs(rows->terminal->utf8 ? "─" : "-", out);
	set_colour(rows, RESET);
	fputc('\n', out);
	if (!legend->length)
		return;
	put_spaces(rows, rows->time_width + 1);
	put_text(rows, text_of(legend));
}

/* ---- rows ---- */

static void clear_row(struct row_cells *row)
{
	int i;

	for (i = 0; i < ROWS_COLUMNS; i++) {
		row->cells[i].length = 0;
		if (row->cells[i].s)
			row->cells[i].s[0] = '\0';
		row->alarm[i] = row->event[i] = false;
	}
	row->filled = row->call = -1;
	row->times = 1;
}

void rows_flush(struct rows *rows)
{
	struct rows_taker *taker = rows->terminal->taker;
	struct row_cells *row = &rows->row;

	if (row->filled < 0)
		return;
	if (row->times > 1)
		text_add(&row->cells[row->call], " x%d", row->times);
	if (!rows->printing)
		measure_row(rows);
	else if (taker)
		taker->row(taker, rows);
	else
		put_row(rows);
	rows->nothing = false;
	clear_row(row);
}

static int first_cell(const struct row_cells *row)
{
	int i = 0;

	while (i < ROWS_COLUMNS && !row->cells[i].length)
		i++;
	return i;
}

static int last_cell(const struct row_cells *row)
{
	int i = ROWS_COLUMNS - 1;

	while (i >= 0 && !row->cells[i].length)
		i--;
	return i;
}

static void replace_cell(struct row_cells *row, const struct row_cells *from, int i)
{
	row->cells[i].length = 0;
	text_append(&row->cells[i], text_of(&from->cells[i]), from->cells[i].length);
	row->alarm[i] = from->alarm[i];
	row->event[i] = from->event[i];
}

/* A call, and at most the counts of a queue? */
static bool is_call_alone(const struct rows *rows, const struct row_cells *row)
{
	int i;

	for (i = 0; i < rows->column_count; i++) {
		if (i != row->call && rows->columns[i].kind != COLUMN_COUNTS &&
		    row->cells[i].length)
			return false;
	}
	return row->call >= 0;
}

static bool is_again(const struct rows *rows, const struct row_cells *next)
{
	const struct row_cells *row = &rows->row;

	return row->filled >= 0 && row->ns == next->ns && row->call == next->call &&
	       is_call_alone(rows, row) && is_call_alone(rows, next) &&
	       !strcmp(text_of(&row->cells[row->call]), text_of(&next->cells[next->call]));
}

void rows_add(struct rows *rows, const struct row_cells *next)
{
	struct rows_taker *taker = rows->terminal->taker;
	struct row_cells *row = &rows->row;
	int i, last = last_cell(next);
	bool again;

	if (last < 0)
		return;
	again = is_again(rows, next);
	if (again)
		row->times++;
	else if (row->ns != next->ns || next->alone || first_cell(next) <= row->filled)
		rows_flush(rows);
	if (rows->printing && taker)
		taker->line(taker, next->line, again);
	row->ns = next->ns;
	if (row->filled < 0)
		row->call = next->call;
	for (i = 0; i < ROWS_COLUMNS; i++) {
		if (next->cells[i].length && !(again && i == row->call))
			replace_cell(row, next, i);
	}
	row->filled = last_cell(row);
}

void rows_note(struct rows *rows, uint64_t ns, struct span note)
{
	struct rows_taker *taker = rows->terminal->taker;
	struct text text = { 0 };

	rows_flush(rows);
	if (!rows->printing)
		return;
	if (taker) {
		taker->note(taker, rows, ns, note);
		return;
	}
	if (rows->any || !rows->noted)
		fputc('\n', rows->terminal->out);
	text_printable(&text, note.s, note.length);
	put_time(rows, ns);
	set_colour(rows, BOLD);
	put_text(rows, text_of(&text));
	set_colour(rows, RESET);
	text_free(&text);
	rows->any = false;
	rows->noted = true;
}

void row_cells_free(struct row_cells *row)
{
	int i;

	for (i = 0; i < ROWS_COLUMNS; i++)
		text_free(&row->cells[i]);
}

void rows_free(struct rows *rows)
{
	int i;

	for (i = 0; i < rows->column_count; i++)
		text_free(&rows->columns[i].title);
	row_cells_free(&rows->row);
	free(rows->shapes);
}
