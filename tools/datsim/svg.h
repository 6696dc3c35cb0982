/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.h - how a picture comes onto paper: svg_scale.c says where, svg.c and svg_graph.c draw.
 */
#ifndef DATSIM_SVG_H
#define DATSIM_SVG_H

#include <stdio.h>

#include "picture.h"

#define SVG_CHAR   6.7  /* width of a character, px */
#define SVG_LINE   16.0 /* height of a label, px */
#define SVG_NOTE   20.0 /* height of a line of a note */
#define SVG_NAMES  34.0 /* height of the names of the lifelines */
#define SVG_HEADER 74.0 /* title and the names of the lifelines */

/* One moment at which something is drawn. */
struct moment {
	uint64_t ns;
	double y;         /* of what happens */
	double height;    /* of the labels below it */
	int above, below; /* lines of notes over it, and under its labels */
	bool busy;        /* has a label or an arrow's end: worth a time in the margin */
	bool labelled;
};

struct scale {
	struct moment *moments;
	size_t count;
	double *headers; /* where the names stand again, for those who scroll */
	size_t header_count;
	double bottom;
};

void scale_make(struct scale *scale, const struct picture *picture);
void scale_free(struct scale *scale);
/* Where the first line of the notes over a moment, or under it, begins. */
double scale_note_y(const struct moment *moment, bool above);
/* The moment of exactly ns, or the last one before it. */
const struct moment *scale_moment(const struct scale *scale, uint64_t ns);
/* Where ns comes to lie, between moments too. */
double scale_y(const struct scale *scale, uint64_t ns);

struct sheet {
	const struct picture *picture;
	struct scale scale;
	FILE *out;
	double margin; /* times */
	double left;   /* of the first lifeline */
	double step;   /* from one lifeline to the next */
	double graphs; /* left of the first graph */
	double width;
};

#define SVG_GRAPH     132.0 /* width of one graph */
#define SVG_GRAPH_GAP 34.0

double sheet_x(const struct sheet *sheet, size_t lifeline);
void svg_graph(const struct sheet *sheet, const struct graph *graph, double x);

#endif
