/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explorer.h - a script under many schedules: explore.c runs them until one fails,
 * explore_campaign.c runs all and counts the failures.
 */
#ifndef DATSIM_EXPLORER_H
#define DATSIM_EXPLORER_H

#include "campaign.h"
#include "tools/datsim/series/series.h"

struct explorer {
	const char *path;
	struct course *course;
	struct text content;
	struct plan plan;
	struct schedule schedule;
	struct series series;  /* its runs */
	uint64_t failed;       /* number of the failing schedule; UINT64_MAX: none */
	uint64_t open;         /* the first schedule that has not ended */
	int worker;            /* which of the processes that run schedules this is */
	struct ended ended;    /* watched all the time */
	struct text explained; /* what of a failure matters */
	bool acted;            /* some schedule changed what happened to some packet */
	bool told;             /* the failure was made short and printed */
	bool half; /* a round that was interrupted is counted: its position is the one before it */
	struct campaign *campaign; /* NULL: it ends with the first failure */
};

/* Run one schedule. */
void explorer_schedule(struct explorer *explorer, uint64_t number, bool untraced,
		       struct verdict *verdict);
/*
 * Print a schedule that fails, by its lines, with what the last run said; unless there is a store,
 * keep the trace of that run beside the script `name`.
 */
void explorer_report(const struct explorer *explorer, const struct lines *lines,
		     const struct verdict *verdict, const char *name, uint64_t seed);
/* FILE.dsim: FILE.shrunk.dsim */
void explorer_out_name(const struct explorer *explorer, struct text *name);
/* No schedule fails: say so. Returns the exit code. */
int explorer_tell_of_none(const struct explorer *explorer);

/* ---- explore_campaign.c ---- */

/*
 * Run all schedules of the course, unless the script itself has ended with another code than
 * EXIT_PASS. Returns the exit code.
 */
int explorer_campaign(struct explorer *explorer, int code);

#endif
