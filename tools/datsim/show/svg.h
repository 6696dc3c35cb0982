/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.h - how a picture comes onto paper: svg_scale.c, svg_lanes.c and svg_places.c say
 * where, svg.c and svg_graph.c draw.
 */
#ifndef DATSIM_SVG_H
#define DATSIM_SVG_H

#include <stdio.h>

#include "picture.h"

#define SVG_CHAR   6.7  /* width of a character, px */
#define SVG_SMALL  6.1  /* the same of a packet's label */
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

/* A lifeline, and the side of it on which its words stand. */
struct lane {
	double x;
	bool left;
};

#define SVG_WORDS_MOST 50 /* characters */

/* Where words stand, so that others go elsewhere. */
struct places {
	struct taken *taken;
	size_t count;
	uint32_t *rows; /* the last that was taken in each row, + 1 */
	size_t row_count;
};

struct sheet {
	const struct picture *picture;
	struct scale scale;
	struct lane *lanes;
	struct places places;
	FILE *out;
	double margin; /* times */
	double graphs; /* left of the first graph */
	double width;
};

/* svg_lanes.c: the lanes, and where the graphs begin. */
void lanes_make(struct sheet *sheet);
/* "a: dat_ep_post_send(ep, 64)", "a.ep CONNECTED": the lifeline says who. */
const char *svg_words(const struct picture *picture, const struct label *label);
size_t svg_characters(const char *s);

/* svg_places.c */
void places_make(struct places *places, double bottom);
void places_take(struct places *places, double x1, double x2, double y);
/* Finds room so wide and takes it, at: its middle; on the way from one point to another, or beside one. */
void places_on(struct places *places, const double from[2], const double to[2], double width,
	       double at[2]);
void places_beside(struct places *places, const double point[2], double width, double at[2]);
void places_free(struct places *places);

#define SVG_GRAPH     132.0 /* width of one graph */
#define SVG_GRAPH_GAP 34.0

double sheet_x(const struct sheet *sheet, size_t lifeline);
void svg_graph(const struct sheet *sheet, const struct graph *graph, double x);

#endif
