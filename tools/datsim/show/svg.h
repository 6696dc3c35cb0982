/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.h - draw a picture as SVG: svg_scale.c and svg_lanes.c compute coordinates, svg.c,
 * svg_times.c and svg_graph.c write the elements, svg_pages.c the files.
 *
 * Labels stand beside their lifelines, on the outer side of a pair; arrows are drawn between the
 * two lifelines of a pair only. So no label can cover an arrow, or another label.
 */
#ifndef DATSIM_SVG_H
#define DATSIM_SVG_H

#include <stdio.h>

#include "picture.h"

#define SVG_CHAR   6.7  /* width of a character, px */
#define SVG_LINE   16.0 /* height of a label, px */
#define SVG_BESIDE 12.0 /* distance of a label from its lifeline */
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
	bool gap; /* much more time passes before it than is drawn */
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
/* The y coordinate of any time, interpolated between moments; above the first one: before it. */
double scale_y(const struct scale *scale, uint64_t ns);

/* The x coordinate of a lifeline; left: its labels stand on its left side. */
struct lane {
	double x;
	bool left;
};

#define SVG_WORDS_MOST 50 /* characters */

struct sheet {
	const struct picture *picture;
	struct scale scale;
	struct lane *lanes;
	double *labels; /* the y coordinate of each label */
	FILE *out;
	double margin; /* x where the margin with the times ends */
	double times;  /* x of the times on the right */
	double graphs; /* x of the first graph */
	double width;
};

/* The name of the trace, without its folders, and the width of a drawing with this title. */
const char *svg_title(const struct picture *picture);
double svg_title_width(const char *title);
/* svg_lanes.c: the lanes, the margins and the total width. */
void lanes_make(struct sheet *sheet);
/*
 * The words of a label without the name of its lifeline: "dat_ep_post_send(ep, 64)" of
 * "a: dat_ep_post_send(ep, 64)", "CONNECTED" of "a.ep CONNECTED".
 */
const char *svg_words(const struct picture *picture, const struct label *label);
size_t svg_characters(const char *s);
/* The width of its words as they are drawn, cut and with their count. */
double svg_label_width(const struct picture *picture, const struct label *label);
/* The width of the box with a lifeline's names. */
double svg_head_width(const struct lifeline *line);

#define SVG_GRAPH     132.0 /* width of one graph */
#define SVG_GRAPH_GAP 34.0

#define SVG_STUB 44.0 /* the length of an arrow from a lifeline far away */

extern const char svg_style[];
/* The head of a drawing of this size, with its style. */
void svg_begin(FILE *out, double width, double height);
/* Is this time in the period that is drawn? */
bool sheet_shows(const struct sheet *sheet, uint64_t ns);
double sheet_x(const struct sheet *sheet, size_t lifeline);
/* svg_times.c, svg_graph.c */
void svg_times(const struct sheet *sheet);
/*
 * A line at a time, from a lifeline or the margin to the times on the right or into the graphs. It
 * leaves out the labels and times that stand on it.
 */
void svg_time_line(const struct sheet *sheet, const char *kind, const struct moment *moment,
		   double from, double to);
void svg_graph(const struct sheet *sheet, const struct graph *graph, double x);

#endif
