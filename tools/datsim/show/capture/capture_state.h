/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture_state.h - a capture that is being written: the current packet and its comment.
 *
 * A packet's frames are written when a line comes that does not concern it, because faults and what
 * the receiver made of it belong to its comment.
 */
#ifndef DATSIM_CAPTURE_STATE_H
#define DATSIM_CAPTURE_STATE_H

#include "capture.h"
#include "tools/datsim/show/show.h"

#define MARKS_MAX 64u    /* faults whose packets have not arrived yet */
#define PARTS_MAX 65536u /* packets of one line */
#define RULES_MAX 256u   /* rules whose script lines are known */

/* A fault that lets its packet arrive; it is added to the comment of that packet. */
struct mark {
	struct span op;
	uint64_t message, packet;
	struct text words;
};

struct capture {
	struct wire wire;
	struct timeline names;
	FILE *out;
	const struct show_filter *filter; /* NULL: all packets */
	bool takes;                       /* the filter takes the current packet */
	bool row_matches;                 /* the line's row of the timeline has the pattern */
	bool matches;                     /* a row of the current packet has it */
	bool any;                         /* a packet was written */
	bool follows; /* the trace goes on growing: collect names as they come */
	struct mark *marks;
	size_t mark_count;
	struct span *interfaces; /* adapters, in the order of their first received packet */
	uint32_t interface_count;
	struct carried carried; /* written once a line comes that does not concern it */
	bool carrying;
	struct span script;        /* its name; empty: none */
	uint32_t rules[RULES_MAX]; /* for each rule the script line that made it */
	uint64_t ns;
	struct text comment;
	uint8_t frame[FRAME_MAX];
};

/* ---- capture_comment.c ---- */

/* Comments must be UTF-8, and a trace may contain any bytes. */
void comment_ascii(struct text *text, struct span span);
/* Begin the comment: the script's names of both ends, if known, and the trace line. */
void comment_begin(struct capture *capture, const struct trace_line *line,
		   const struct carried *carried);
/* Word a fault, with the script line of its rule. */
void comment_fault(const struct capture *capture, const struct trace_line *line, struct text *text);
/* A fault whose packet arrives later. */
void comment_mark(struct capture *capture, const struct trace_line *line);
/* Add the faults that hit this packet before it arrived. */
void comment_marks(struct capture *capture, const struct carried *carried);

#endif
