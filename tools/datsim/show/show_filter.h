/* SPDX-License-Identifier: BSD-3-Clause */
/* show_filter.h - which lines of a trace are shown: by time, Endpoint, program and words. */
#ifndef DATSIM_SHOW_FILTER_H
#define DATSIM_SHOW_FILTER_H

#include <regex.h>

#include "trace.h"

struct timeline;
struct row;

struct show_filter {
	bool timed;
	uint64_t from_ns, until_ns; /* counted as the timeline does */
	const char *ep;             /* as the timeline or the trace calls it; NULL: any */
	const char *program;        /* a node, an actor or an adapter; NULL: any */
	bool by_words;
	regex_t words;
};

/* Read a time: "12.5us", or "12.5", which is microseconds as in the timeline. */
bool filter_time(const char *word, uint64_t *ns);
/* False: the pattern is no extended regular expression, and *error says why. */
bool filter_pattern(struct show_filter *filter, const char *pattern, struct text *error);
void filter_free(struct show_filter *filter);
/* False: the trace has no such Endpoint or program, and *error lists those that it has. */
bool filter_fits_trace(const struct show_filter *filter, const char *name, const char *text,
		       size_t length, struct text *error);
/* Is a line at this time shown? Times before the origin are set-up. */
bool filter_takes_time(const struct show_filter *filter, uint64_t ns, uint64_t origin_ns);
bool filter_takes(const struct show_filter *filter, const struct timeline *timeline,
		  const struct trace_line *line, const struct row *row);
/* The same for a packet, by the objects at its ends; and for words alone. */
bool filter_takes_packet(const struct show_filter *filter, const struct timeline *timeline,
			 struct span from, struct span to);
bool filter_takes_words(const struct show_filter *filter, const char *words);
/* Is a note shown? It belongs to no Endpoint and to no program. */
bool filter_takes_note(const struct show_filter *filter, struct span note);

#endif
