/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a trace as an HTML page (html.h). */
#include "html.h"

#include <string.h>

#include "tools/datsim/files.h"
#include "show_rows.h"
#include "trace_fault.h"
#include "xml.h"

#define HTML_ROWS 20000 /* more are left out, and the page says so */

#define WORD_LONG 18 /* characters; a longer word may be broken */

/* The table takes the rows of the timeline. */
struct html {
	struct rows_taker taker; /* first, so that a taker is its page */
	FILE *out;
	const struct picture *picture;
	int columns; /* beside the one of times */
	size_t rows;
	bool cut;
	struct text places, ends, fields; /* of the lines of the row that is being made */
	int times;                        /* lines of one call, of which the first is in them */
};

static void put_span(FILE *out, struct span span)
{
	xml_escape(out, span.s, span.length);
}

static void put_string(FILE *out, const char *s)
{
	xml_escape(out, s, strlen(s));
}

/* ---- the lines of a row ---- */

/* Is it an EP or QP, or an adapter that has a lifeline of its own because it has none? */
static bool is_choice(const struct html *html, struct span object)
{
	size_t lifeline;

	return picture_is_ep(object) ||
	       (object.length && picture_lifeline(html->picture, object, &lifeline) &&
		span_equal(html->picture->lifelines[lifeline].object, object));
}

/* The lifelines that a line concerns, for the filter: their names, with a blank around each. */
static void add_ends(struct html *html, const struct trace_line *line)
{
	struct span object = trace_value(line, "object"), ends[3] = { line->object, object };
	struct text name = { 0 };
	size_t i;

	packet_ends(line, &ends[0], &ends[2]);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		if (!is_choice(html, ends[i]))
			continue;
		text_append(&name, " ", 1);
		text_span(&name, name_of(&html->picture->words, ends[i]));
		text_append(&name, " ", 1);
		/* The blank behind the last name is the one before the next. */
		if (!strstr(text_of(&html->ends), text_of(&name)))
			text_append(&html->ends, text_of(&name) + !!html->ends.length,
				    name.length - !!html->ends.length);
		text_free(&name);
	}
}

static void take_line(struct rows_taker *taker, const struct trace_line *line, bool again)
{
	struct html *html = (struct html *)taker;

	if (html->cut)
		return;
	if (again) {
		html->times++;
		return;
	}
	text_add(&html->places, "%s%zu", html->places.length ? " " : "",
		 (size_t)(line->object.s - html->picture->first));
	add_ends(html, line);
	text_append(&html->fields, "\n", !!html->fields.length);
	text_append(&html->fields, line->object.s,
		    (size_t)(line->rest.s - line->object.s) + line->rest.length);
}

/* A line of the trace is a line of the hover. */
static void put_fields(const struct html *html)
{
	const char *s = text_of(&html->fields), *last = s + html->fields.length, *end;

	for (; (end = memchr(s, '\n', (size_t)(last - s))); s = end + 1) {
		xml_escape(html->out, s, (size_t)(end - s));
		fputs("&#10;", html->out);
	}
	xml_escape(html->out, s, (size_t)(last - s));
	if (html->times > 1)
		fprintf(html->out, "&#10;(the first of %d)", html->times);
}

static void forget_lines(struct html *html)
{
	text_free(&html->places);
	text_free(&html->ends);
	text_free(&html->fields);
	html->times = 1;
}

/* ---- rows ---- */

static void put_time(const struct html *html, uint64_t ns, uint64_t origin)
{
	if (ns < origin)
		fputs("<td>set-up</td>", html->out);
	else
		fprintf(html->out, "<td>%llu.%03u</td>", (unsigned long long)((ns - origin) / 1000),
			(unsigned int)((ns - origin) % 1000));
}

static char cell_class(const struct rows *rows, int n)
{
	static const char classes[NUM_COLUMNS] = { 'p', 'w', 'c', 'v' };

	if (rows->row.alarm[n])
		return 'a';
	return classes[rows->row.event[n] ? COLUMN_EVENT : rows->columns[n].kind];
}

/* A long word may end its line behind "_" and ">", and one that has none of them anywhere. */
static void put_words(FILE *out, const char *s)
{
	size_t word = strcspn(s, " "), n, piece = 0;

	for (; *s; s += n, piece++) {
		if (*s == ' ') {
			word = strcspn(s + 1, " ");
			piece = 0;
		}
		n = utf8_length(s, strnlen(s, 4));
		n = n ? n : 1;
		xml_escape(out, s, n);
		if (word > WORD_LONG && ((piece > 2 && strchr("_>", *s)) || piece > WORD_LONG)) {
			fputs("<wbr>", out);
			piece = 0;
		}
	}
}

/* A cell uses the space of empty cells to its right. */
static void put_cells(const struct html *html, const struct rows *rows)
{
	const struct text *cells = rows->row.cells;
	int n, next, span;

	for (n = 0; n < rows->column_count; n = next) {
		span = rows->columns[n].width > 0;
		for (next = n + 1; next < rows->column_count && !cells[next].length; next++)
			span += rows->columns[next].width > 0;
		if (!span)
			continue;
		fprintf(html->out, "<td class='%c'", cell_class(rows, n));
		if (span > 1)
			fprintf(html->out, " colspan='%d'", span);
		fputc('>', html->out);
		put_words(html->out, text_of(&cells[n]));
		fputs("</td>", html->out);
	}
}

/* Has the page room for one row more? */
static bool html_has_room(struct html *html)
{
	html->cut = html->cut || html->rows == HTML_ROWS;
	html->rows += !html->cut;
	return !html->cut;
}

static void take_row(struct rows_taker *taker, const struct rows *rows)
{
	struct html *html = (struct html *)taker;

	if (html_has_room(html)) {
		fprintf(html->out, "<tr data-l='%s' data-e='", text_of(&html->places));
		put_string(html->out, text_of(&html->ends));
		fputs("' title='", html->out);
		put_fields(html);
		fputs("'>", html->out);
		put_time(html, rows->row.ns, rows->origin_ns);
		put_cells(html, rows);
		fputs("</tr>\n", html->out);
	}
	forget_lines(html);
}

static void take_note(struct rows_taker *taker, const struct rows *rows, uint64_t ns,
		      struct span note)
{
	struct html *html = (struct html *)taker;

	if (!html_has_room(html))
		return;
	fputs("<tr class='note'>", html->out);
	put_time(html, ns, rows->origin_ns);
	fprintf(html->out, "<td colspan='%d'>", html->columns);
	put_span(html->out, note);
	fputs("</td></tr>\n", html->out);
}

static void take_titles(struct rows_taker *taker, const struct rows *rows, const char *legend)
{
	struct html *html = (struct html *)taker;
	int n;

	fputs("<table id='rows'><caption>", html->out);
	put_string(html->out, legend);
	fputs("</caption><thead><tr><th>time, us</th>", html->out);
	for (n = 0; n < rows->column_count; n++) {
		if (!rows->columns[n].width)
			continue;
		fputs("<th>", html->out);
		put_string(html->out, text_of(&rows->columns[n].title));
		fputs("</th>", html->out);
		html->columns++;
	}
	fputs("</tr></thead><tbody>\n", html->out);
}

static void put_table(struct html *html, size_t length, struct text *error)
{
	struct terminal terminal = html->picture->terminal;

	terminal.taker = &html->taker;
	terminal.bare = false;
	forget_lines(html);
	show_trace(&terminal, html->picture->title, html->picture->trace, length, error);
	fputs("</tbody></table>\n", html->out);
	if (html->cut)
		fprintf(html->out,
			"<p class='alarm'>Only the first %d rows are here. Choose a part with "
			"--from, --until or --ep.</p>\n",
			HTML_ROWS);
}

static void put_choices(const struct html *html)
{
	const struct picture *picture = html->picture;
	size_t i;

	fputs("<select id='ep'><option value=''>every EP and QP</option>\n", html->out);
	for (i = 0; i < picture->lifeline_count; i++) {
		fputs("<option>", html->out);
		put_span(html->out, picture->lifelines[i].name);
		fputs("</option>\n", html->out);
	}
	fputs("</select>\n", html->out);
}

bool html_write(struct picture *picture, const char *path, size_t length, struct text *error)
{
	struct html html = { .taker = { take_titles, take_line, take_row, take_note },
			     .picture = picture };
	const char *slash = strrchr(picture->title, '/');
	const char *name = slash ? slash + 1 : picture->title;

	html.out = create_output(path, error);
	if (!html.out)
		return false;
	fputs(html_head, html.out);
	fputs("<title>", html.out);
	put_string(html.out, name);
	fputs("</title></head><body>\n<header><b>", html.out);
	put_string(html.out, name);
	fputs("</b>\n", html.out);
	put_choices(&html);
	fputs(html_controls, html.out);
	fputs("<main><section id='left'>\n", html.out);
	put_table(&html, length, error);
	fputs("</section><section id='right'>\n", html.out);
	picture_shorten(picture, HTML_ROWS);
	svg_draw(picture, html.out);
	fputs("</section></main>\n", html.out);
	fputs(html_script, html.out);
	return finish_file(html.out, path, error);
}
