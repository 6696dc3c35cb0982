/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the graphs of counts and watermarks, on the time scale of the lifelines. */
#include "svg.h"

#include "xml.h"

static double value_x(const struct graph *graph, double x, int64_t value)
{
	return x + SVG_GRAPH * (double)(value > 0 ? value : 0) / (double)graph->top;
}

/* A level from before the drawn period counts from its beginning. */
static double level_y(const struct sheet *sheet, const struct level *level)
{
	uint64_t ns = level->ns;

	if (ns < sheet->picture->begin_ns)
		ns = sheet->picture->begin_ns;
	return scale_y(&sheet->scale, ns);
}

static bool is_drawn(const struct sheet *sheet, const struct graph *graph, size_t i)
{
	if (graph->levels[i].ns > sheet->picture->end_ns)
		return false;
	/* Of the levels before the drawn period only the last one counts. */
	return i + 1 == graph->level_count || graph->levels[i + 1].ns > sheet->picture->begin_ns ||
	       graph->levels[i].ns >= sheet->picture->begin_ns;
}

/* The area under one of the two counts, as steps. */
static void put_area(const struct sheet *sheet, const struct graph *graph, double x, bool whole,
		     const char *kind)
{
	double y = SVG_HEADER + 10.0, px = x;
	size_t i;

	fprintf(sheet->out, "<path class='%s' d='M%.1f %.1f", kind, x, y);
	for (i = 0; i < graph->level_count; i++) {
		const struct level *level = &graph->levels[i];

		if (!is_drawn(sheet, graph, i))
			continue;
		y = level_y(sheet, level);
		fprintf(sheet->out, "L%.1f %.1f", px, y);
		px = value_x(graph, x, whole ? level->whole : level->filled);
		fprintf(sheet->out, "L%.1f %.1f", px, y);
	}
	y = sheet->scale.bottom - 16.0;
	fprintf(sheet->out, "L%.1f %.1fL%.1f %.1fZ'/>\n", px, y, x, y);
}

static void put_segment(const struct sheet *sheet, const char *kind, double x, double from,
			double to)
{
	if (to > from)
		fprintf(sheet->out, "<path class='%s' d='M%.1f %.1fV%.1f'/>\n", kind, x, from, to);
}

/* A watermark is a line for as long as it is set, bright while it is armed. */
static void put_marks(const struct sheet *sheet, const struct graph *graph, double x)
{
	double y, next;
	size_t i;

	for (i = 0; i < graph->level_count; i++) {
		const struct level *level = &graph->levels[i];

		if (!is_drawn(sheet, graph, i))
			continue;
		y = level_y(sheet, level);
		next = i + 1 < graph->level_count &&
				       graph->levels[i + 1].ns <= sheet->picture->end_ns
			       ? level_y(sheet, level + 1)
			       : sheet->scale.bottom - 16.0;
		/* 0 of an SRQ and -1 of an EP mean that no watermark is set. */
		if (level->low > (graph->is_srq ? 0 : -1))
			put_segment(sheet, level->armed ? "armed" : "spent",
				    value_x(graph, x, level->low), y, next);
		if (level->hard >= 0)
			put_segment(sheet, "hardmark", value_x(graph, x, level->hard), y, next);
	}
}

/* A watermark event: a flag, and a dotted line to the lifeline of the event's object. */
static void put_flags(const struct sheet *sheet, const struct graph *graph, double x)
{
	size_t i;

	for (i = 0; i < graph->level_count; i++) {
		const struct level *level = &graph->levels[i];
		double px, y;

		if (!level->fired || level->ns < sheet->picture->begin_ns ||
		    level->ns > sheet->picture->end_ns)
			continue;
		y = level_y(sheet, level);
		px = value_x(graph, x, level->filled);
		svg_time_line(sheet, "thread", scale_moment(&sheet->scale, level->ns),
			      sheet_x(sheet, graph->lifeline) + 6.0, px);
		fprintf(sheet->out, "<path class='flag' d='M%.1f %.1fl5 -8h-10z'/>\n", px, y);
	}
}

void svg_graph(const struct sheet *sheet, const struct graph *graph, double x)
{
	const char *what = graph->is_srq ? "available, outstanding" : "taken and not reaped";
	int64_t tick = graph->top;

	fprintf(sheet->out, "<g class='graph'><text class='name' x='%.1f' y='%.1f'>", x,
		SVG_HEADER - 34.0);
	xml_escape(sheet->out, graph->name.s, graph->name.length);
	fprintf(sheet->out, "</text><text class='small' x='%.1f' y='%.1f'>%s</text>\n", x,
		SVG_HEADER - 20.0, what);
	fprintf(sheet->out,
		"<text class='small' x='%.1f' y='%.1f'>0</text>"
		"<text class='small end' x='%.1f' y='%.1f'>%lld</text>\n",
		x, SVG_HEADER, x + SVG_GRAPH, SVG_HEADER, (long long)tick);
	fprintf(sheet->out, "<path class='axis' d='M%.1f %.1fH%.1fM%.1f %.1fV%.1f'/>\n", x,
		SVG_HEADER + 5.0, x + SVG_GRAPH, x, SVG_HEADER + 5.0, sheet->scale.bottom - 16.0);
	if (graph->is_srq)
		put_area(sheet, graph, x, true, "whole");
	put_area(sheet, graph, x, false, "filled");
	put_marks(sheet, graph, x);
	put_flags(sheet, graph, x);
	fputs("</g>\n", sheet->out);
}
