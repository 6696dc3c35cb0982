/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account.h - a trace added up: what a program did on its fabric, in a few lines.
 *
 * Borrows the trace's text; account_free frees the rest.
 */
#ifndef DATSIM_ACCOUNT_H
#define DATSIM_ACCOUNT_H

#include "tools/datsim/show/trace.h"

struct tally {
	struct span what;
	uint64_t times;
};

struct tallies {
	struct tally *list;
	size_t count;
};

/* A rule of faults that came from outside (DATSIM_FAULTS). */
struct account_rule {
	uint64_t id, line; /* line: of the script it was in; 0: unknown */
	uint64_t times;    /* so often it acted */
	bool ended;        /* the fabric said so itself */
};

struct account {
	uint64_t ns; /* of virtual time */
	uint64_t packets, bytes, lost;
	struct tallies events;   /* by number, as programs got them */
	struct tallies statuses; /* of work requests that ended badly */
	struct tallies refusals; /* calls that returned an error */
	struct tallies left;     /* objects that were made and never freed */
	struct account_rule *rules;
	size_t rule_count;
	bool whole; /* the program closed what it opened: the trace has its end */
};

/* False: not a trace, or a damaged one. */
bool account_read(struct account *account, const char *name, const char *text, size_t length,
		  struct text *error);
/* One line each; `indent` in front. */
void account_print(const struct account *account, struct text *text, const char *indent);
void account_free(struct account *account);

#endif
