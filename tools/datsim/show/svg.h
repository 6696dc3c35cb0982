/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.h - draw a picture as SVG: svg_scale.c, svg_lanes.c and svg_places.c compute coordinates,
 * svg.c and svg_graph.c write the elements.
 */
#ifndef DATSIM_SVG_H
#define DATSIM_SVG_H

#include <stdio.h>

#include "picture.h"

#define SVG_CHAR   6.7  /* width of a character, px */
#define SVG_SMALL  6.1  /* width of a character of a packet's label */
#define SVG_LINE   16.0 /* height of a label, px */
#define SVG_NOTE   20.0 /* height of a line of a note */
#define SVG_NAMES  34.0 /* height of the names of the lifelines */
#define SVG_HEADER 74.0 /* title and the names of the lifelines */

/* One point in time at which something is drawn. */
struct moment {
	uint64_t ns;
	double y;         /* of its arrows' ends and first labels */
	double height;    /* of the labels below y */
	int above, below; /* lines of notes above y, and below the labels */
	bool busy;        /* has a label or an arrow's end: its time stands in the margin */
	bool labelled;
};

struct scale {
	struct moment *moments;
	size_t count;
	double *headers; /* y of each repetition of the names, for long pictures */
	size_t header_count;
	double bottom;
};

void scale_make(struct scale *scale, const struct picture *picture);
void scale_free(struct scale *scale);
/* The top of the first line of notes above or below a moment. */
double scale_note_y(const struct moment *moment, bool above);
/* The moment at ns, or the last one before it. */
const struct moment *scale_moment(const struct scale *scale, uint64_t ns);
/* The y coordinate of any time, interpolated between moments. */
double scale_y(const struct scale *scale, uint64_t ns);

/* The x coordinate of a lifeline; left: its labels stand on its left side. */
struct lane {
	double x;
	bool left;
};

#define SVG_WORDS_MOST 50 /* characters */

/* The places covered by labels, so that further labels avoid them. */
struct places {
	struct covered *covered;
	size_t count;
	uint32_t *rows; /* for each row, index + 1 of the last covered place in it */
	size_t row_count;
};

struct sheet {
	const struct picture *picture;
	struct scale scale;
	struct lane *lanes;
	struct places places;
	FILE *out;
	double margin; /* x where the margin with the times ends */
	double graphs; /* x of the first graph */
	double width;
};

/* svg_lanes.c: the lanes, the margins and the total width. */
void lanes_make(struct sheet *sheet);
/*
 * The words of a label without the name of its lifeline: "dat_ep_post_send(ep, 64)" of
 * "a: dat_ep_post_send(ep, 64)", "CONNECTED" of "a.ep CONNECTED".
 */
const char *svg_words(const struct picture *picture, const struct label *label);
size_t svg_characters(const char *s);

/* svg_places.c */
void places_make(struct places *places, double bottom);
void places_take(struct places *places, double x1, double x2, double y);
/*
 * Find a free place of a width, on the way between two points or near one, and cover it. `at` gets
 * its middle.
 */
void places_on(struct places *places, const double from[2], const double to[2], double width,
	       double at[2]);
void places_beside(struct places *places, const double point[2], double width, double at[2]);
void places_free(struct places *places);

#define SVG_GRAPH     132.0 /* width of one graph */
#define SVG_GRAPH_GAP 34.0

double sheet_x(const struct sheet *sheet, size_t lifeline);
void svg_graph(const struct sheet *sheet, const struct graph *graph, double x);

#endif
