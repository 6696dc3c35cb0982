/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws a picture as SVG: title, lifelines, arrows, labels, notes and the legend. svg_times.c draws
 * the times, svg_graph.c the graphs.
 */
#include "svg.h"

#include <stdlib.h>
#include <string.h>

#include "xml.h"

static const char *const mood_class[] = {
	[MOOD_NORMAL] = "plain",        [MOOD_ROUTINE] = "quiet", [MOOD_EVENT] = "event",
	[MOOD_WATERMARK] = "watermark", [MOOD_WRONG] = "wrong",   [MOOD_PACKET] = "packet",
};

/* ---- text ---- */

static void put_text(FILE *out, const char *s)
{
	xml_escape(out, s, strlen(s));
}

/* ---- the sheet ---- */

double sheet_x(const struct sheet *sheet, size_t lifeline)
{
	return sheet->lanes[lifeline].x;
}

bool sheet_shows(const struct sheet *sheet, uint64_t ns)
{
	return ns >= sheet->picture->begin_ns && ns <= sheet->picture->end_ns;
}

static void put_title(const struct sheet *sheet)
{
	fprintf(sheet->out, "<text class='title' x='14' y='22'>");
	put_text(sheet->out, svg_title(sheet->picture));
	fprintf(sheet->out, "</text><text class='small' x='14' y='40'>time, us</text>\n");
}

/*
 * Names stand above their lifelines at the top. Where they are repeated they stand beside them, as
 * labels do: packets may be in flight between the two lifelines of a pair.
 */
static void put_names(const struct sheet *sheet, double y, bool again)
{
	size_t i;

	for (i = 0; i < sheet->picture->lifeline_count; i++) {
		const struct lifeline *line = &sheet->picture->lifelines[i];
		bool named = !span_equal(line->name, line->object);
		double width = svg_head_width(line), aside = width / 2 + SVG_BESIDE;
		double x = sheet_x(sheet, i);

		if (again)
			x += sheet->lanes[i].left ? -aside : aside;
		fprintf(sheet->out,
			"<rect class='head' x='%.1f' y='%.1f' width='%.1f' height='%.0f' rx='6'/>"
			"<text class='name mid' x='%.1f' y='%.1f'>",
			x - width / 2, y, width, SVG_NAMES, x, y + (named ? 15.0 : 21.0));
		xml_escape(sheet->out, line->name.s, line->name.length);
		fputs("</text>", sheet->out);
		if (named) {
			fprintf(sheet->out, "<text class='small mid' x='%.1f' y='%.1f'>", x,
				y + 28.0);
			xml_escape(sheet->out, line->object.s, line->object.length);
			fputs("</text>", sheet->out);
		}
		fputc('\n', sheet->out);
	}
}

/* The names of the graphs are repeated together with those of the lifelines. */
static void put_graph_names(const struct sheet *sheet, double y)
{
	size_t i;

	for (i = 0; i < sheet->picture->graph_count; i++) {
		const struct graph *graph = &sheet->picture->graphs[i];
		double x = sheet->graphs + (double)i * (SVG_GRAPH + SVG_GRAPH_GAP);

		fprintf(sheet->out,
			"<rect class='head' x='%.1f' y='%.1f' width='%.1f' height='%.0f' rx='6'/>"
			"<text class='name mid' x='%.1f' y='%.1f'>",
			x, y, SVG_GRAPH, SVG_NAMES, x + SVG_GRAPH / 2, y + 15.0);
		xml_escape(sheet->out, graph->name.s, graph->name.length);
		fprintf(sheet->out,
			"</text><text class='small' x='%.1f' y='%.1f'>0</text>"
			"<text class='small end' x='%.1f' y='%.1f'>%lld</text>\n",
			x + 4.0, y + 28.0, x + SVG_GRAPH - 4.0, y + 28.0, (long long)graph->top);
	}
}

/* Notes are drawn in two passes: their bands below the arrows, their words above everything. */
static void put_paragraphs(const struct sheet *sheet, bool words)
{
	const struct picture *picture = sheet->picture;
	const struct moment *moment, *last = NULL;
	double y = 0;
	size_t i;

	for (i = 0; i < picture->paragraph_count; i++) {
		const struct paragraph *note = &picture->paragraphs[i];

		if (!sheet_shows(sheet, note->ns))
			continue;
		moment = scale_moment(&sheet->scale, note->ns);
		if (moment != last || note->above != note[-1].above)
			y = scale_note_y(moment, note->above);
		last = moment;
		if (words) {
			fprintf(sheet->out, "<text class='note' x='%.1f' y='%.1f'>", sheet->margin,
				y + 14.0);
			put_text(sheet->out, note->text);
			fputs("</text>\n", sheet->out);
		} else {
			fprintf(sheet->out,
				"<rect class='band' x='10' y='%.1f' width='%.1f' height='%.1f'/>\n",
				y, sheet->graphs - 30.0, SVG_NOTE);
		}
		y += SVG_NOTE;
	}
}

/* ---- lifelines ---- */

static const char *state_class(struct span state)
{
	if (span_is(state, "CONNECTED") || span_is(state, "RTS") || span_is(state, "SQD"))
		return "life up";
	if (span_is(state, "DISCONNECTED") || span_is(state, "ERR") || span_is(state, "SQE"))
		return "life down";
	if (span_is(state, "RTR"))
		return "life going";
	return memmem(state.s, state.length, "PENDING", 7) ? "life going" : "life";
}

static void put_stretch(const struct sheet *sheet, size_t lifeline, struct span state, double from,
			double to)
{
	if (to > from)
		fprintf(sheet->out, "<path class='%s' d='M%.1f %.1fV%.1f'/>\n", state_class(state),
			sheet_x(sheet, lifeline), from, to);
}

static void put_lifeline(const struct sheet *sheet, size_t lifeline)
{
	const struct picture *picture = sheet->picture;
	struct span state = { "", 0 };
	double y = SVG_HEADER - 6.0, next;
	size_t i;

	for (i = 0; i < picture->stretch_count; i++) {
		const struct stretch *stretch = &picture->stretches[i];

		if (stretch->lifeline != lifeline || stretch->ns > picture->end_ns)
			continue;
		if (stretch->ns > picture->begin_ns) {
			next = scale_y(&sheet->scale, stretch->ns);
			put_stretch(sheet, lifeline, state, y, next);
			y = next;
		}
		state = stretch->state;
	}
	put_stretch(sheet, lifeline, state, y, sheet->scale.bottom - 10.0);
}

/* ---- arrows ---- */

#define CALL_FAR 256 /* so many labels before a packet its call is looked for */

/* The number of labels up to a place in the trace. */
static size_t labels_until(const struct picture *picture, size_t at)
{
	size_t low = 0, high = picture->label_count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (picture->labels[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The y coordinate of the label of a line of the trace beside a lifeline, or of the one before it
 * at the same time: labels are in the order of the trace, and a repeated call or packet shares its
 * label. Without one it is the time's.
 */
static double label_y(const struct sheet *sheet, size_t lifeline, uint64_t ns, size_t at)
{
	const struct picture *picture = sheet->picture;
	size_t low = labels_until(picture, at);

	if (!low || picture->labels[low - 1].ns != ns ||
	    picture->labels[low - 1].lifeline != lifeline)
		return scale_y(&sheet->scale, ns);
	return sheet->labels[low - 1];
}

/* The y coordinate of the call that sent the packet of an arrow, among the labels before it. */
static double caller_y(const struct sheet *sheet, const struct arrow *arrow)
{
	const struct picture *picture = sheet->picture;
	size_t i = labels_until(picture, arrow->at), last = i > CALL_FAR ? i - CALL_FAR : 0;

	while (i-- > last) {
		const struct label *label = &picture->labels[i];

		if (label->ns == arrow->sent_ns && label->lifeline == arrow->from &&
		    (strstr(label->text, arrow->call[0]) || strstr(label->text, arrow->call[1])))
			return sheet->labels[i];
	}
	return scale_y(&sheet->scale, arrow->sent_ns);
}

/* An arrow begins beside the call, or the retransmission, that sends its packet. */
static double departure_y(const struct sheet *sheet, const struct arrow *arrow)
{
	if (arrow->call[0] && sheet_shows(sheet, arrow->sent_ns))
		return caller_y(sheet, arrow);
	if (!arrow->posted || !sheet_shows(sheet, arrow->sent_ns))
		return scale_y(&sheet->scale, arrow->sent_ns);
	return label_y(sheet, arrow->from, arrow->sent_ns, arrow->sent_at);
}

/* It ends beside its label, which stands below others of that time. */
static double arrival_y(const struct sheet *sheet, const struct arrow *arrow)
{
	if (arrow->mood == MOOD_ROUTINE)
		return scale_y(&sheet->scale, arrow->came_ns);
	return label_y(sheet, arrow->to, arrow->came_ns, arrow->at);
}

static void begin_arrow(const struct sheet *sheet, const struct arrow *arrow)
{
	fprintf(sheet->out, "<path class='arrow %s%s%s' data-l='%zu' d='",
		arrow->mood == MOOD_PACKET ? "plain" : mood_class[arrow->mood],
		arrow->lost ? " lost" : "", arrow->ignored ? " ignored" : "", arrow->at);
}

static void end_arrow(const struct sheet *sheet, const struct arrow *arrow)
{
	fputs("'><title>", sheet->out);
	xml_escape(sheet->out, arrow->line.s, arrow->line.length);
	fputs("</title></path>\n", sheet->out);
}

/*
 * An arrow to a lifeline that is no neighbour would cross the labels of others: it is drawn as its
 * end only, and its label names the sender.
 */
static void put_far_arrow(const struct sheet *sheet, const struct arrow *arrow)
{
	const struct lane *lane = &sheet->lanes[arrow->to];
	double y = arrival_y(sheet, arrow);
	double from = lane->x + (lane->left ? SVG_STUB : -SVG_STUB);

	begin_arrow(sheet, arrow);
	fprintf(sheet->out, "M%.1f %.1fL%.1f %.1f", from, y, lane->x + (lane->left ? 2.0 : -2.0),
		y);
	end_arrow(sheet, arrow);
}

static void put_arrow(const struct sheet *sheet, const struct arrow *arrow)
{
	double from[2] = { sheet_x(sheet, arrow->from), departure_y(sheet, arrow) };
	double to[2] = { sheet_x(sheet, arrow->to), arrival_y(sheet, arrow) };

	if (sheet->picture->lifelines[arrow->from].beside != arrow->to + 1) {
		put_far_arrow(sheet, arrow);
		return;
	}
	/* The arrow of a lost packet ends half way. */
	if (arrow->lost) {
		to[0] = (from[0] + to[0]) / 2;
		to[1] = (from[1] + to[1]) / 2;
	}
	begin_arrow(sheet, arrow);
	fprintf(sheet->out, "M%.1f %.1fL%.1f %.1f", from[0], from[1],
		arrow->lost ? to[0] : to[0] + (to[0] > from[0] ? -2.0 : 2.0), to[1]);
	end_arrow(sheet, arrow);
	if (arrow->lost)
		fprintf(sheet->out, "<path class='cross' d='M%.1f %.1fl8 8m0 -8l-8 8'/>\n",
			to[0] - 4.0, to[1] - 4.0);
}

/* ---- labels ---- */

/* Words, cut to SVG_WORDS_MOST characters; the tooltip has the full text. */
static void put_words(const struct sheet *sheet, const char *words, int times)
{
	size_t length = 0, n = 0;

	while (words[length] && n < SVG_WORDS_MOST - 1) {
		length++;
		n += ((unsigned char)words[length] & 0xc0) != 0x80;
	}
	if (!words[length] || svg_characters(words) <= SVG_WORDS_MOST)
		length = strlen(words);
	xml_escape(sheet->out, words, length);
	if (words[length])
		fputs("\xe2\x80\xa6", sheet->out);
	if (times > 1)
		fprintf(sheet->out, " x%d", times);
	if (words[length]) {
		fputs("<title>", sheet->out);
		put_text(sheet->out, words);
		fputs("</title>", sheet->out);
	}
}

static void put_label(const struct sheet *sheet, const struct label *label, double y)
{
	const struct lane *lane = &sheet->lanes[label->lifeline];

	fprintf(sheet->out,
		"<circle class='dot %s' cx='%.1f' cy='%.1f' r='%s'/>"
		"<text class='label %s%s' data-l='%zu' x='%.1f' y='%.1f'>",
		mood_class[label->mood], lane->x, y, label->mood == MOOD_WATERMARK ? "5" : "3",
		mood_class[label->mood], lane->left ? " end" : "", label->at,
		lane->left ? lane->x - SVG_BESIDE : lane->x + SVG_BESIDE, y + 4.0);
	put_words(sheet, svg_words(sheet->picture, label), label->times);
	fputs("</text>\n", sheet->out);
}

/* Labels of one lifeline at the same time are stacked. */
static void stack_labels(struct sheet *sheet)
{
	const struct picture *picture = sheet->picture;
	uint64_t *at = mem_zero(picture->lifeline_count + 1, sizeof(*at));
	int *row = mem_zero(picture->lifeline_count + 1, sizeof(*row));
	size_t i, line;

	sheet->labels = mem_zero(picture->label_count + 1, sizeof(*sheet->labels));
	for (i = 0; i < picture->label_count; i++) {
		const struct label *label = &picture->labels[i];

		if (!sheet_shows(sheet, label->ns))
			continue;
		line = label->lifeline;
		if (at[line] != label->ns)
			row[line] = 0;
		at[line] = label->ns;
		sheet->labels[i] =
			scale_moment(&sheet->scale, label->ns)->y + SVG_LINE * row[line]++;
	}
	free(at);
	free(row);
}

static void put_labels(const struct sheet *sheet)
{
	const struct picture *picture = sheet->picture;
	size_t i;

	for (i = 0; i < picture->label_count; i++) {
		if (sheet_shows(sheet, picture->labels[i].ns))
			put_label(sheet, &picture->labels[i], sheet->labels[i]);
	}
}

static bool has_hard_mark(const struct picture *picture)
{
	size_t i, j;

	for (i = 0; i < picture->graph_count; i++) {
		for (j = 0; j < picture->graphs[i].level_count; j++) {
			if (picture->graphs[i].levels[j].hard >= 0)
				return true;
		}
	}
	return false;
}

static void put_legend(const struct sheet *sheet)
{
	double y = sheet->scale.bottom + 4.0, x = sheet->graphs;

	if (!sheet->picture->graph_count)
		return;
	fprintf(sheet->out,
		"<rect class='filled' x='%.1f' y='%.1f' width='9' height='9'/>"
		"<text class='small' x='%.1f' y='%.1f'>there now</text>"
		"<rect class='whole' x='%.1f' y='%.1f' width='9' height='9'/>"
		"<text class='small' x='%.1f' y='%.1f'>not reaped yet</text>\n",
		x, y - 8.0, x + 13.0, y, x, y + 6.0, x + 13.0, y + 14.0);
	fprintf(sheet->out,
		"<path class='armed' d='M%.1f %.1fh14'/>"
		"<text class='small' x='%.1f' y='%.1f'>a mark, armed</text>"
		"<path class='flag' d='M%.1f %.1fl5 -8h-10z'/>"
		"<text class='small' x='%.1f' y='%.1f'>passed: the event</text>\n",
		x, y + 24.0, x + 19.0, y + 28.0, x + 6.0, y + 42.0, x + 19.0, y + 42.0);
	if (has_hard_mark(sheet->picture))
		fprintf(sheet->out,
			"<path class='hardmark' d='M%.1f %.1fh14'/>"
			"<text class='small' x='%.1f' y='%.1f'>a hard mark</text>\n",
			x, y + 52.0, x + 19.0, y + 56.0);
}

static void draw_sheet(struct sheet *sheet)
{
	const struct picture *picture = sheet->picture;
	size_t i;

	put_paragraphs(sheet, false);
	svg_times(sheet);
	put_title(sheet);
	for (i = 0; i < picture->graph_count; i++)
		svg_graph(sheet, &picture->graphs[i],
			  sheet->graphs + (double)i * (SVG_GRAPH + SVG_GRAPH_GAP));
	for (i = 0; i < picture->lifeline_count; i++)
		put_lifeline(sheet, i);
	put_names(sheet, SVG_HEADER - 42.0, false);
	for (i = 0; i < picture->arrow_count; i++) {
		if (sheet_shows(sheet, picture->arrows[i].came_ns))
			put_arrow(sheet, &picture->arrows[i]);
	}
	for (i = 0; i < sheet->scale.header_count; i++) {
		put_names(sheet, sheet->scale.headers[i], true);
		put_graph_names(sheet, sheet->scale.headers[i]);
	}
	put_paragraphs(sheet, true);
	put_labels(sheet);
	put_legend(sheet);
}

void svg_begin(FILE *out, double width, double height)
{
	fprintf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
		"viewBox='0 0 %.0f %.0f'>\n",
		width, height, width, height);
	fputs(svg_style, out);
	fputs("<rect class='paper' width='100%' height='100%'/>\n", out);
}

void svg_draw(const struct picture *picture, FILE *out)
{
	struct sheet sheet = { .picture = picture, .out = out };

	scale_make(&sheet.scale, picture);
	lanes_make(&sheet);
	stack_labels(&sheet);
	svg_begin(out, sheet.width, sheet.scale.bottom + (picture->graph_count ? 74.0 : 10.0));
	draw_sheet(&sheet);
	fputs("</svg>\n", out);
	free(sheet.labels);
	free(sheet.lanes);
	scale_free(&sheet.scale);
}
