/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage.h - which faults acted and which states were reached, in how many schedules: causes of
 * broken connections, transitions of EPs and QPs, calls that returned an error, completions by
 * their status, events, and faults that acted. Traces tell.
 */
#ifndef DATSIM_COVERAGE_H
#define DATSIM_COVERAGE_H

#include "json.h"
#include "tools/datsim/show/trace.h"

enum cover_kind {
	COVER_CAUSE,
	COVER_TRANSITION,
	COVER_CALL,
	COVER_COMPLETION,
	COVER_EVENT,
	COVER_FAULT,
	COVER_KINDS
};

#define COVER_NAME 96

struct cover {
	enum cover_kind kind;
	char name[COVER_NAME];
	uint64_t schedules, times;
	bool seen; /* in the trace that is being read */
};

struct coverage {
	struct cover *list; /* in order of kind and name */
	size_t count;
	uint64_t schedules;
};

/* Count what the trace of one schedule has. */
void coverage_read(struct coverage *coverage, const char *trace, size_t length);
/* Add all that another one counted. */
void coverage_unite(struct coverage *coverage, const struct coverage *other);
void coverage_free(struct coverage *coverage);

/* As lines "# covered: KIND SCHEDULES TIMES NAME", which coverage_take reads one by one. */
void coverage_format(const struct coverage *coverage, struct text *text);
bool coverage_take(const char **at, struct coverage *coverage);

/* ---- coverage_tell.c ---- */

/* A table for a person: each kind, with what exists and was never reached. */
void coverage_tell(const struct coverage *coverage, struct text *text);
void coverage_json(const struct coverage *coverage, struct json *json);
/* The word of a kind, as in files and JSON. */
const char *cover_word(enum cover_kind kind);

#endif
