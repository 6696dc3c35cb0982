/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * round.h - a program that goes round: at its end its trace has line after line, and no message
 * moves. An example is a low watermark that is set again at its own event while no buffer can be
 * posted: the next event comes at once.
 *
 * A message moves when a packet arrives, a buffer is taken or a request completes. Packets that a
 * receiver without a buffer refuses again and again do not count.
 */
#ifndef DATSIM_ROUND_H
#define DATSIM_ROUND_H

#include "tools/datsim/show/trace.h"

#define ROUND_KINDS 3 /* of lines, those that come most often */

/*
 * The longest trace (DATSIM_TRACE_BYTES) of a program that may go round: half a million lines are
 * enough to see it, and soon written.
 */
#define ROUND_TRACE_BYTES (32u << 20)

struct round {
	uint64_t ns;     /* when a message last moved, or else the trace began */
	uint64_t lines;  /* since then */
	size_t cut_at;   /* offset of the line behind those that show what goes round; 0: none */
	uint64_t cut_ns; /* its time */
	struct {
		struct span verb, what; /* "event", "ASYNC_SRQ_LOW_WATERMARK" */
		uint64_t times;
	} kinds[ROUND_KINDS];
	int kind_count;
};

/* Look at the end of a trace. False: the program did not go round. Borrows the text. */
bool round_read(struct round *round, const char *text, size_t length);
/* "over 100,000 times event ASYNC_SRQ_LOW_WATERMARK, set_lw; no message moved since 3.005 us" */
void round_words(const struct round *round, struct text *words);
/* Leave out the end of the trace that repeats itself; a note says so. */
void round_cut(const struct round *round, struct text *trace);

#endif
