/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the times of a picture: on both sides, with a line between them, and long pauses. */
#include "svg.h"

#include <stdlib.h>

#define AROUND 4.0  /* a line of a time ends so far before a label */
#define APART  10.0 /* times that would stand closer together are left out */

/* A time stands on both sides of the lifelines. */
static void put_time(const struct sheet *sheet, const struct moment *moment)
{
	uint64_t since = moment->ns - sheet->picture->origin_ns;
	int side;

	for (side = 0; side < 2; side++)
		fprintf(sheet->out, "<text class='time%s' x='%.1f' y='%.1f'>%llu.%03u</text>\n",
			side ? " right" : "", side ? sheet->times : sheet->margin - 6.0,
			moment->y + 3.5, (unsigned long long)(since / 1000),
			(unsigned int)(since % 1000));
}

/* Long pauses are drawn shorter than they are, with a mark that says how long they are. */
static void put_gap(const struct sheet *sheet, const struct moment *moment)
{
	double y = (moment->y + moment[-1].y + moment[-1].height) / 2;
	unsigned long long us = (moment->ns - moment[-1].ns) / 1000, pass;
	const char *unit = us < 100000 ? "us" : us < 100000000 ? "ms" : "s";

	pass = us < 100000 ? us : us < 100000000 ? us / 1000 : us / 1000000;

	fprintf(sheet->out,
		"<path class='gap' d='M%.1f %.1fH%.1f'/>"
		"<text class='gaptext' x='%.1f' y='%.1f'>%llu %s pass</text>\n",
		sheet->margin, y, sheet->times, sheet->margin - 6.0, y + 3.0, pass, unit);
}

/*
 * The widths of the labels that stand on the line of a time, by their lifelines; 0: it has none
 * there. Labels are in the order of their times.
 */
static double *labels_on_line(const struct sheet *sheet, const struct moment *moment)
{
	const struct picture *picture = sheet->picture;
	double *width = mem_zero(picture->lifeline_count + 1, sizeof(*width));
	size_t low = 0, high = picture->label_count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (picture->labels[middle].ns < moment->ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < picture->label_count && picture->labels[low].ns == moment->ns; low++) {
		const struct label *label = &picture->labels[low];

		if (sheet->labels[low] < moment->y + SVG_LINE / 2)
			width[label->lifeline] = svg_label_width(picture, label) + 2 * AROUND;
	}
	return width;
}

void svg_time_line(const struct sheet *sheet, const char *kind, const struct moment *moment,
		   double from, double to)
{
	double *width = labels_on_line(sheet, moment), times = sheet->times - AROUND;
	double begin;
	size_t i;

	fprintf(sheet->out, "<path class='%s' d='M%.1f %.1f", kind, from, moment->y);
	for (i = 0; i < sheet->picture->lifeline_count; i++) {
		const struct lane *lane = &sheet->lanes[i];

		begin = lane->x + SVG_BESIDE - AROUND;
		if (lane->left)
			begin = lane->x - SVG_BESIDE + AROUND - width[i];
		if (width[i] > 0 && begin > from)
			fprintf(sheet->out, "H%.1fM%.1f %.1f", begin, begin + width[i], moment->y);
	}
	fprintf(sheet->out, "H%.1f", times);
	if (to > sheet->graphs)
		fprintf(sheet->out, "M%.1f %.1fH%.1f", sheet->graphs - AROUND, moment->y, to);
	fputs("'/>", sheet->out);
	free(width);
}

void svg_times(const struct sheet *sheet)
{
	double last = -100.0;
	size_t i;

	for (i = 0; i < sheet->scale.count; i++) {
		const struct moment *moment = &sheet->scale.moments[i];

		if (moment->gap)
			put_gap(sheet, moment);
		if (!moment->busy)
			continue;
		svg_time_line(sheet, "tick", moment, sheet->margin, sheet->graphs);
		if (moment->y - last >= APART) {
			put_time(sheet, moment);
			last = moment->y;
		}
	}
}
