/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.h - a trace as things to draw: lifelines, arrows, labels, notes and level graphs.
 *
 * picture.c reads a trace into one, picture_levels.c its graphs; svg.c draws it. Times are the
 * trace's virtual nanoseconds; where they come to lie on paper is svg_scale.c's business. A picture
 * borrows the trace's text and owns the rest.
 */
#ifndef DATSIM_PICTURE_H
#define DATSIM_PICTURE_H

#include "show.h"

enum mood {
	MOOD_PLAIN,
	MOOD_QUIET, /* goes without saying: an acknowledgement */
	MOOD_EVENT,
	MOOD_WATERMARK,
	MOOD_WRONG /* an error, a fault, a broken connection */
};

struct lifeline {
	struct span object; /* emu1.ep1, or emu1 where an adapter has no EP */
	struct span name;   /* b.ep */
	size_t peer;        /* at the other end of its connection, + 1; 0: not known */
	size_t beside;      /* the one it is drawn beside, + 1: its first peer; 0: none */
};

/* A lifeline changes its dress with the state of its EP. */
struct stretch {
	size_t lifeline;
	uint64_t ns;
	struct span state;
};

struct arrow {
	size_t from, to;
	uint64_t sent_ns, came_ns;
	enum mood mood;
	bool lost; /* never came; came_ns is when it would have */
	char *label;
	struct span line; /* of the trace, for those who ask */
};

struct label {
	size_t lifeline;
	uint64_t ns;
	enum mood mood;
	int times;
	char *text;
};

struct paragraph {
	uint64_t ns;
	bool above; /* nothing was drawn at this moment before it was said */
	char *text;
};

/* One value from here on. */
struct level {
	uint64_t ns;
	int64_t filled;    /* available on an SRQ, unreaped of an EP */
	int64_t whole;     /* outstanding on an SRQ; the same as filled for an EP */
	int64_t low, hard; /* marks; -1: none */
	bool armed, fired; /* the low or soft mark; fired: at this very moment */
};

struct graph {
	struct span object;
	struct span name;
	bool is_srq;
	size_t lifeline;
	int64_t top;
	struct level *levels;
	size_t level_count;
};

/* When a message was posted, or is sent again: its first packet left no earlier. */
struct post {
	struct span ep;
	uint64_t message;
	uint64_t ns;
	bool left;
};

struct picture {
	struct timeline words; /* names, and the words for a line */
	struct arena memory;   /* labels and notes */
	struct lifeline *lifelines;
	size_t lifeline_count;
	struct stretch *stretches;
	size_t stretch_count;
	struct arrow *arrows;
	size_t arrow_count;
	struct label *labels;
	size_t label_count;
	struct paragraph *paragraphs;
	size_t paragraph_count;
	struct post *posts;
	size_t post_count;
	struct graph *graphs;
	size_t graph_count;
	uint64_t latency_ns;
	uint64_t begin_ns, end_ns; /* of what is drawn */
	bool drawn;                /* anything */
	const char *title;
};

/* False: the trace is damaged, and the text says where. picture_free either way. */
bool picture_read(struct picture *picture, const char *name, const char *text, size_t length,
		  bool all, struct text *error);
void picture_free(struct picture *picture);

/* Let a line of the trace change the graph it is about, if any. */
void picture_levels(struct picture *picture, const struct trace_line *line);
/* The lifeline that an object of the trace is drawn on. False: its adapter has none. */
bool picture_lifeline(const struct picture *picture, struct span object, size_t *lifeline);
bool span_equal(struct span a, struct span b);
bool picture_is_ep(struct span object);
/* picture_lines.c: every EP, and every adapter that sent something and has none. */
void picture_lifelines(struct picture *picture, const char *text, size_t length);
/* One more entry in a growing list; the room doubles. */
#define GROW(list, count)                                                                          \
	((((count) & ((count)-1)) == 0)                                                            \
		 ? (void)((list) =                                                                 \
				  mem_grow((list), ((count) ? 2 * (count) : 1) * sizeof(*(list)))) \
		 : (void)0)

/* Draw it as SVG. False: the file could not be written, and *error says why. */
bool svg_write(const struct picture *picture, const char *path, struct text *error);

#endif
