/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The x coordinates of the lifelines. The two ends of a connection stand side by side, so that
 * their packets cross no other lifeline, with their labels on the outer sides. A lifeline without a
 * peer stands alone.
 */
#include "svg.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN      86.0  /* for the times, and more if they are long */
#define RIGHT       70.0  /* the same, on the right */
#define TIME_CHAR   6.1   /* width of a character of a time */
#define BETWEEN     190.0 /* between the two ends of a connection */
#define WORDS_LEAST 60.0
#define WORDS_MOST  (SVG_CHAR * SVG_WORDS_MOST)
#define WORDS_GAP   18.0 /* around words */
#define HEADS       62.0 /* where the box with the first lifeline's names may begin */
#define HEAD_GAP    12.0 /* between two boxes */

const char *svg_words(const struct picture *picture, const struct label *label)
{
	struct span name = picture->lifelines[label->lifeline].name;
	const char *s = label->text, *colon = strstr(s, ": ");

	if (!strncmp(s, name.s, name.length) && s[name.length] == ' ')
		return s + name.length + 1;
	return colon && strcspn(s, " (") > (size_t)(colon - s) ? colon + 2 : s;
}

size_t svg_characters(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

const char *svg_title(const struct picture *picture)
{
	const char *slash = strrchr(picture->title, '/');

	return slash ? slash + 1 : picture->title;
}

double svg_title_width(const char *title)
{
	return 28.0 + SVG_CHAR * 1.2 * (double)svg_characters(title);
}

double svg_head_width(const struct lifeline *line)
{
	size_t longest = line->name.length > line->object.length ? line->name.length
								 : line->object.length;

	return SVG_CHAR * 1.15 * (double)(longest + 3);
}

double svg_label_width(const struct picture *picture, const struct label *label)
{
	size_t n = svg_characters(svg_words(picture, label));

	n = n < SVG_WORDS_MOST ? n : SVG_WORDS_MOST;
	if (label->times > 1)
		n += (size_t)snprintf(NULL, 0, " x%d", label->times);
	return SVG_CHAR * (double)n;
}

/* The width of the labels beside each lifeline, and of its names if they are repeated there. */
static double *label_widths(const struct picture *picture, bool names)
{
	double *most = mem_zero(picture->lifeline_count + 1, sizeof(*most)), width;
	size_t i, line;

	for (i = 0; i < picture->label_count; i++) {
		line = picture->labels[i].lifeline;
		width = SVG_CHAR *
			(double)(svg_characters(svg_words(picture, &picture->labels[i])) + 5);
		if (most[line] < width)
			most[line] = width < WORDS_MOST ? width : WORDS_MOST;
	}
	for (i = 0; i < picture->lifeline_count; i++) {
		width = names ? svg_head_width(&picture->lifelines[i]) : WORDS_LEAST;
		if (most[i] < width)
			most[i] = width;
	}
	return most;
}

/* How much longer than others are the times of the picture, which its margins have to hold? */
static double times_over(const struct picture *picture)
{
	int n = snprintf(NULL, 0, "%llu.000",
			 (unsigned long long)(picture->end_ns - picture->origin_ns) / 1000);
	double over = 12.0 + TIME_CHAR * n - MARGIN;

	return picture->end_ns > picture->origin_ns && over > 0 ? over : 0;
}

/* The first lifeline always has its labels on the left, where there is nothing else. */
void lanes_make(struct sheet *sheet)
{
	const struct picture *picture = sheet->picture;
	double *words = label_widths(picture, sheet->scale.header_count > 0);
	double over = times_over(picture), x = MARGIN + over, heads = HEADS + over, head;
	double title = svg_title_width(svg_title(picture));
	size_t i, count = picture->lifeline_count;
	bool left, words_on_right = false;

	sheet->margin = MARGIN + over;
	sheet->lanes = mem_zero(count + 1, sizeof(*sheet->lanes));
	for (i = 0; i < count; i++) {
		const struct lifeline *line = &picture->lifelines[i];
		bool second = i && line[-1].beside == i + 1;

		left = !second && (i == 0 || line->beside);
		if (second)
			x += BETWEEN;
		else
			x += WORDS_GAP + (left ? words[i] : words_on_right ? 40.0 : WORDS_LEAST);
		/* As far from the one before that their boxes do not meet. */
		head = svg_head_width(line);
		if (x < heads + head / 2)
			x = heads + head / 2;
		heads = x + head / 2 + HEAD_GAP;
		sheet->lanes[i] = (struct lane){ .x = x, .left = left };
		words_on_right = !left;
		if (!left)
			x += WORDS_GAP + words[i];
		else if (!line->beside)
			x += BETWEEN - WORDS_GAP - WORDS_LEAST;
	}
	sheet->times = (x > heads ? x : heads) + 20.0;
	sheet->graphs = sheet->times + RIGHT + over;
	sheet->width =
		sheet->graphs + (double)picture->graph_count * (SVG_GRAPH + SVG_GRAPH_GAP) + 20.0;
	if (sheet->width < title)
		sheet->width = title;
	free(words);
}
