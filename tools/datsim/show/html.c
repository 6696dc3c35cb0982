/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a trace as an HTML page (html.h). */
#include "html.h"

#include <string.h>

#include "tools/datsim/files.h"
#include "trace_fault.h"
#include "xml.h"

#define HTML_ROWS 20000 /* more are left out, and the page says so */

struct html {
	FILE *out;
	struct timeline words;
	const struct picture *picture;
	struct terminal terminal;
	size_t rows;
	bool begun, over, cut;
};

static void put_span(FILE *out, struct span span)
{
	xml_escape(out, span.s, span.length);
}

static void put_string(FILE *out, const char *s)
{
	xml_escape(out, s, strlen(s));
}

/* The Endpoints that a line concerns, for the filter: their names, with a blank around each. */
static void put_endpoints(const struct html *html, const struct trace_line *line)
{
	struct span object = trace_value(line, "object"), ends[3] = { line->object, object };
	size_t i;

	packet_ends(line, &ends[0], &ends[2]);
	fputs(" data-e=' ", html->out);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		if (!picture_is_ep(ends[i]))
			continue;
		put_span(html->out, name_of(&html->words, ends[i]));
		fputc(' ', html->out);
	}
	fputc('\'', html->out);
}

static void put_time(const struct html *html, uint64_t ns)
{
	uint64_t origin = html->picture->origin_ns;

	if (ns < origin)
		fputs("<td>set-up</td>", html->out);
	else
		fprintf(html->out, "<td>%llu.%03u</td>", (unsigned long long)((ns - origin) / 1000),
			(unsigned int)((ns - origin) % 1000));
}

/* An event without a packet begins in the column of packets, so that no scrolling is needed. */
static void put_cells(const struct html *html, const struct row *row)
{
	static const char *const classes[NUM_COLUMNS] = { "p", "w", "c", "v" };
	bool alone = !row->cells[COLUMN_WIRE].length && !row->cells[COLUMN_COUNTS].length;
	int i;

	for (i = 0; i < NUM_COLUMNS; i++) {
		if (alone && (i == COLUMN_WIRE || i == COLUMN_COUNTS))
			continue;
		fprintf(html->out, "<td class='%s'%s>", classes[i],
			alone && i == COLUMN_EVENT ? " colspan='3'" : "");
		put_string(html->out, text_of(&row->cells[i]));
		fputs("</td>", html->out);
	}
}

static void put_row(struct html *html, const struct trace_line *line, const struct row *row)
{
	size_t at = (size_t)(line->object.s - html->picture->first);

	fprintf(html->out, "<tr data-l='%zu'%s", at, row->alarm ? " class='alarm'" : "");
	put_endpoints(html, line);
	fputs(" title='", html->out);
	put_span(html->out, (struct span){ line->object.s, (size_t)(line->rest.s - line->object.s) +
								   line->rest.length });
	fputs("'>", html->out);
	put_time(html, line->ns);
	put_cells(html, row);
	fputs("</tr>\n", html->out);
}

static void put_note(struct html *html, const struct trace_line *line)
{
	if (span_is(line->rest, "script begins")) {
		html->begun = true;
	} else if (span_is(line->rest, "script ends")) {
		html->over = true;
	} else if (html->begun && !html->over && !is_inner_note(line->rest)) {
		fputs("<tr class='note'>", html->out);
		put_time(html, line->ns);
		fputs("<td colspan='4'>", html->out);
		put_span(html->out, line->rest);
		fputs("</td></tr>\n", html->out);
		html->rows++;
	}
}

static bool has_cells(const struct row *row)
{
	int i = 0;

	while (i < NUM_COLUMNS && !row->cells[i].length)
		i++;
	return i < NUM_COLUMNS;
}

static void put_line(struct html *html, const struct trace_line *line)
{
	const struct show_filter *filter = html->terminal.filter;
	struct row row = { .ns = line->ns };
	bool shown;
	int i;

	if (span_is(line->verb, "note")) {
		rule_note(&html->words, line);
		put_note(html, line);
		return;
	}
	cells_of(&html->words, line, &row);
	shown = has_cells(&row) &&
		(html->terminal.all || (html->begun && !html->over && !show_is_routine(line))) &&
		(!filter || (filter_takes_time(filter, line->ns, html->picture->origin_ns) &&
			     filter_takes(filter, &html->words, line, &row)));
	if (shown && html->rows == HTML_ROWS)
		html->cut = true;
	else if (shown) {
		put_row(html, line, &row);
		html->rows++;
	}
	for (i = 0; i < NUM_COLUMNS; i++)
		text_free(&row.cells[i]);
}

static void put_table(struct html *html, size_t length)
{
	const char *text = html->picture->trace;
	struct trace_reader reader;
	struct trace_line line;

	fputs("<table id='rows'><thead><tr><th>time, us</th><th>program</th><th>wire</th>"
	      "<th>SRQ</th><th>event</th></tr></thead><tbody>\n",
	      html->out);
	names_collect(&html->words.names, text, length);
	if (trace_open(&reader, "", text, length)) {
		while (trace_next(&reader, &line))
			rule_note(&html->words, &line);
	}
	trace_close(&reader);
	html->begun = !html->words.names.begins;
	if (trace_open(&reader, "", text, length)) {
		while (!html->cut && trace_next(&reader, &line))
			put_line(html, &line);
	}
	trace_close(&reader);
	timeline_free(&html->words);
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
	struct html html = { .picture = picture, .terminal = picture->terminal };
	const char *slash = strrchr(picture->title, '/');
	const char *name = slash ? slash + 1 : picture->title;

	html.words.terminal = &html.terminal;
	html.out = create_output(path, error);
	if (!html.out)
		return false;
	fputs(html_head, html.out);
	fputs("<title>", html.out);
	put_string(html.out, name);
	fputs("</title>\n<header><b>", html.out);
	put_string(html.out, name);
	fputs("</b>\n", html.out);
	put_choices(&html);
	fputs(html_controls, html.out);
	fputs("<main><section id='left'>\n", html.out);
	put_table(&html, length);
	fputs("</section><section id='right'>\n", html.out);
	picture_shorten(picture, HTML_ROWS);
	svg_draw(picture, html.out);
	fputs("</section></main>\n", html.out);
	fputs(html_script, html.out);
	return finish_file(html.out, path, error);
}
