/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.h - a trace as things to draw: lifelines, arrows, labels, notes and level graphs.
 *
 * picture.c reads a trace into a picture, picture_levels.c fills its graphs; svg.c draws it. Times
 * are the trace's virtual nanoseconds; svg_scale.c turns them into coordinates. A picture borrows
 * the trace's text and owns the rest.
 */
#ifndef DATSIM_PICTURE_H
#define DATSIM_PICTURE_H

#include "show.h"

enum mood {
	MOOD_NORMAL,
	MOOD_ROUTINE, /* drawn faintly: an acknowledgement */
	MOOD_EVENT,
	MOOD_WATERMARK,
	MOOD_WRONG, /* an error, a fault, a broken connection */
	MOOD_PACKET /* the label of an arrow */
};

struct lifeline {
	struct span object; /* emu1.ep1, or emu1 if the adapter has no EP */
	struct span name;   /* b.ep */
	struct span id;     /* of librdmacm, whose connection a QP of verbs has; empty: none */
	uint64_t qpn;       /* of a QP of verbs */
	size_t peer;        /* index + 1 of its connection's other end; 0: not known */
	size_t beside;      /* index + 1 of its neighbour in the drawing, its first peer; 0: none */
};

/* A part of a lifeline, drawn in the style of the EP's state from ns on. */
struct stretch {
	size_t lifeline;
	uint64_t ns;
	struct span state;
};

struct arrow {
	size_t from, to;
	uint64_t sent_ns, came_ns;
	enum mood mood;
	bool lost;    /* did not arrive; came_ns is when it would have */
	bool ignored; /* arrived, and the receiver dropped it */
	bool posted;  /* left with the line at sent_at: a post or a retransmission */
	size_t sent_at;
	const char *call[2]; /* either is in the label of the call that sent it; NULL: none is */
	struct span line;    /* the line of the trace, shown as the tooltip */
	size_t at;           /* where it is behind the first event of the trace */
};

struct label {
	size_t lifeline;
	uint64_t ns;
	enum mood mood;
	int times;
	size_t at; /* where its line is behind the first event of the trace */
	char *text;
};

struct paragraph {
	uint64_t ns;
	bool above; /* the note comes before everything else drawn at its time */
	char *text;
};

/* The counts and marks from ns on. */
struct level {
	uint64_t ns;
	int64_t filled;    /* SRQ: available; EP: taken and not reaped */
	int64_t whole;     /* SRQ: outstanding; EP: the same as filled */
	int64_t low, hard; /* watermarks; -1: none */
	bool armed, fired; /* the low or soft watermark; fired: exactly at ns */
};

struct graph {
	struct span object;
	struct span name;
	bool is_srq;
	bool uncounted; /* an SRQ of verbs, which does not count the Receives that were taken */
	size_t lifeline;
	int64_t top;
	struct level *levels;
	size_t level_count;
};

/* When a message was posted, or is retransmitted: its first packet leaves then. */
struct post {
	struct span ep;
	uint64_t message;
	uint64_t ns;
	size_t at; /* where its line is behind the first event of the trace */
	bool left;
};

struct picture {
	struct timeline words; /* names, and the wording of lines */
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
	uint64_t begin_ns, end_ns; /* the period that is drawn */
	uint64_t origin_ns;        /* 0 of the times that are drawn */
	const char *trace;         /* its text */
	const char *first;         /* its first event, where `at` is 0 */
	struct terminal terminal;  /* has the filter */
	bool drawn;                /* something was drawn so far */
	const char *title;
};

/* False: the trace is damaged, and *error says where. Call picture_free in any case. */
bool picture_read(struct picture *picture, const char *name, const char *text, size_t length,
		  const struct terminal *how, struct text *error);
void picture_free(struct picture *picture);

/* Apply a line of the trace to the graph of its object, if there is one. */
void picture_levels(struct picture *picture, const struct trace_line *line);
/* The lifeline that an object of the trace is drawn on. False: its adapter has none. */
bool picture_lifeline(const struct picture *picture, struct span object, size_t *lifeline);
/* Is it an EP, or a QP of verbs? */
bool picture_is_ep(struct span object);
/* picture_lines.c: make a lifeline for every EP, and for every adapter that sends but has no EP. */
void picture_lifelines(struct picture *picture, const char *text, size_t length);
/* Make room for one more entry of a list whose size doubles as it grows. */
#define GROW(list, count)                                                                          \
	((((count) & ((count)-1)) == 0)                                                            \
		 ? (void)((list) =                                                                 \
				  mem_grow((list), ((count) ? 2 * (count) : 1) * sizeof(*(list)))) \
		 : (void)0)

/* End the period before what would be more than so many labels. */
void picture_shorten(struct picture *picture, size_t labels);
/* svg.c: draw the period between begin_ns and end_ns. */
void svg_draw(const struct picture *picture, FILE *out);
/*
 * svg_pages.c: draw the picture as an SVG file; one of more than SVG_ROWS rows as several beside
 * it, NAME-1.svg and so on, and the file is an index of them. False: a file could not be written,
 * and *error says why.
 */
bool svg_write(struct picture *picture, const char *path, struct text *error);

#endif
