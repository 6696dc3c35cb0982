/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The y coordinates of times. Time runs downwards, but not evenly: pauses of a second and of a
 * microsecond must both fit, so the distance grows with the logarithm of the pause. Labels and
 * notes of one moment get the height that they need.
 */
#include "svg.h"

#include <math.h>
#include <stdlib.h>

#define GAP_LEAST  8.0
#define GAP_LABEL  15.0 /* enough for a label */
#define GAP_MOST   46.0
#define GAP_MARKED 20000 /* ns; a longer pause is marked as one */
#define NOTE_SPACE 12.0  /* around notes */
#define NAMES_EACH 1300.0
#define NAMES_GAP  14.0 /* above repeated names, and less below them */
#define NAMES_MOST 4000 /* names that are repeated on a page: a picture is of bounded size */

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct moment *)a)->ns, y = ((const struct moment *)b)->ns;

	return x < y ? -1 : x > y;
}

static void moment_add(struct scale *scale, const struct picture *picture, uint64_t ns, bool busy)
{
	if (ns < picture->begin_ns || ns > picture->end_ns)
		return;
	scale->moments[scale->count++] = (struct moment){ .ns = ns, .busy = busy };
}

static void moments_collect(struct scale *scale, const struct picture *picture)
{
	size_t i, j,
		room = 2 + picture->label_count + picture->arrow_count + picture->paragraph_count;

	for (i = 0; i < picture->graph_count; i++)
		room += picture->graphs[i].level_count;
	scale->moments = mem_zero(room, sizeof(*scale->moments));
	moment_add(scale, picture, picture->begin_ns, true);
	moment_add(scale, picture, picture->end_ns, false);
	for (i = 0; i < picture->label_count; i++)
		moment_add(scale, picture, picture->labels[i].ns, true);
	for (i = 0; i < picture->arrow_count; i++)
		moment_add(scale, picture, picture->arrows[i].came_ns, true);
	for (i = 0; i < picture->paragraph_count; i++)
		moment_add(scale, picture, picture->paragraphs[i].ns, false);
	for (i = 0; i < picture->graph_count; i++) {
		for (j = 0; j < picture->graphs[i].level_count; j++)
			moment_add(scale, picture, picture->graphs[i].levels[j].ns, false);
	}
}

static void moments_merge(struct scale *scale)
{
	size_t i, kept = 0;

	qsort(scale->moments, scale->count, sizeof(*scale->moments), by_time);
	for (i = 0; i < scale->count; i++) {
		if (kept && scale->moments[kept - 1].ns == scale->moments[i].ns)
			scale->moments[kept - 1].busy |= scale->moments[i].busy;
		else
			scale->moments[kept++] = scale->moments[i];
	}
	scale->count = kept;
}

/* Labels of one lifeline at the same time are stacked; the tallest stack counts. */
static void stack_labels(struct scale *scale, const struct picture *picture)
{
	size_t *stacked = mem_zero(picture->lifeline_count, sizeof(*stacked));
	uint64_t *at = mem_zero(picture->lifeline_count, sizeof(*at));
	struct moment *moment;
	size_t i, line;
	double height;

	for (i = 0; i < picture->label_count; i++) {
		if (picture->labels[i].ns < picture->begin_ns ||
		    picture->labels[i].ns > picture->end_ns)
			continue;
		line = picture->labels[i].lifeline;
		if (at[line] != picture->labels[i].ns || !stacked[line])
			stacked[line] = 0;
		at[line] = picture->labels[i].ns;
		height = (double)stacked[line]++ * SVG_LINE;
		moment = (struct moment *)scale_moment(scale, picture->labels[i].ns);
		if (height > moment->height)
			moment->height = height;
		moment->labelled = true;
	}
	free(at);
	free(stacked);
}

static void count_notes(struct scale *scale, const struct picture *picture)
{
	struct moment *moment;
	size_t i;

	for (i = 0; i < picture->paragraph_count; i++) {
		if (picture->paragraphs[i].ns < picture->begin_ns ||
		    picture->paragraphs[i].ns > picture->end_ns)
			continue;
		moment = (struct moment *)scale_moment(scale, picture->paragraphs[i].ns);
		if (picture->paragraphs[i].above)
			moment->above++;
		else
			moment->below++;
	}
}

static double note_room(int lines)
{
	return lines ? NOTE_SPACE + SVG_NOTE * lines : 0;
}

static double gap_of(uint64_t ns)
{
	double px = GAP_LEAST + 6.0 * log2(1.0 + (double)ns / 100.0);

	return px < GAP_MOST ? px : GAP_MOST;
}

static double moment_gap(const struct moment *moment)
{
	double px = gap_of(moment->ns - moment[-1].ns);

	return moment->labelled && px < GAP_LABEL ? GAP_LABEL : px;
}

double scale_note_y(const struct moment *moment, bool above)
{
	return above ? moment->y - NOTE_SPACE - SVG_NOTE * moment->above
		     : moment->y + moment->height - note_room(moment->below) + NOTE_SPACE;
}

/* The names of the lifelines are repeated in long pictures. */
static void repeat_names(struct scale *scale, size_t lifelines, double *y)
{
	size_t count = scale->header_count + 1;

	if (*y <= NAMES_EACH * (double)count || count * lifelines > NAMES_MOST)
		return;
	scale->headers = mem_grow(scale->headers, count * sizeof(*scale->headers));
	scale->headers[scale->header_count++] = *y + NAMES_GAP;
	*y += SVG_NAMES + 1.5 * NAMES_GAP;
}

/* Does a packet come in the period that is drawn, and was sent before it? */
static bool begins_before(const struct picture *picture)
{
	size_t i;

	for (i = 0; i < picture->arrow_count; i++) {
		const struct arrow *arrow = &picture->arrows[i];

		if (arrow->sent_ns < picture->begin_ns && arrow->came_ns >= picture->begin_ns &&
		    arrow->came_ns <= picture->end_ns)
			return true;
	}
	return false;
}

void scale_make(struct scale *scale, const struct picture *picture)
{
	double y = SVG_HEADER + 24.0 + (begins_before(picture) ? GAP_MOST : 0);
	size_t i;

	scale->headers = NULL;
	scale->header_count = 0;

	scale->count = 0;
	moments_collect(scale, picture);
	moments_merge(scale);
	stack_labels(scale, picture);
	count_notes(scale, picture);
	for (i = 0; i < scale->count; i++) {
		struct moment *moment = &scale->moments[i];

		if (i)
			y += moment[-1].height;
		repeat_names(scale, picture->lifeline_count, &y);
		if (i) {
			y += moment_gap(moment);
			moment->gap = moment->ns - moment[-1].ns >= GAP_MARKED;
		}
		y += note_room(moment->above);
		moment->y = y;
		moment->height += note_room(moment->below);
	}
	scale->bottom = y + (scale->count ? scale->moments[scale->count - 1].height : 0) + 24.0;
}

void scale_free(struct scale *scale)
{
	free(scale->moments);
	free(scale->headers);
}

const struct moment *scale_moment(const struct scale *scale, uint64_t ns)
{
	size_t low = 0, high = scale->count, middle;

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (scale->moments[middle].ns <= ns)
			low = middle;
		else
			high = middle;
	}
	return &scale->moments[low];
}

double scale_y(const struct scale *scale, uint64_t ns)
{
	const struct moment *moment = scale_moment(scale, ns);
	const struct moment *last = &scale->moments[scale->count - 1];
	double from, to;

	if (ns < moment->ns)
		return moment->y - gap_of(moment->ns - ns);
	if (ns == moment->ns || moment == last)
		return moment->y;
	from = moment->y + moment->height;
	to = moment[1].y;
	return from + (to - from) * (double)(ns - moment->ns) / (double)(moment[1].ns - moment->ns);
}
