/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * point.h - a script that runs with one additional fault, which it does not know of.
 *
 * Until the fault happens, every line has to hold. After that, lines may fail and the script goes
 * on. But every call has to return success or an error that its page lists, every checker stays
 * content, and at the end, with the fault removed and all holds released, the fabric has to become
 * quiet and everything must be freed.
 */
#ifndef DATSIM_POINT_H
#define DATSIM_POINT_H

#include "tools/datsim/script/script.h"

struct run;

/* How many operations that fit the rule each line caused. */
struct point_line {
	const char *what; /* the call, or "use" during set-up; a constant, or text of the script */
	uint64_t until;   /* operations up to the end of the line */
};

struct point {
	DAT_SIM_CALL_FAULT rule; /* verdict PASS: it only counts operations */
	DAT_COUNT id;
	uint64_t fired;
	bool over; /* removed by a heal line of the script */
	struct point_line *lines;
	size_t line_count;
};

void point_free(struct point *point);

/* Add the rule: the fabric exists, and nothing has happened yet. */
bool point_plant(struct run *run);
/* A line failed: may the failure be passed over? */
bool point_passes_over(struct run *run);
/* A line is over: record how many operations it caused. */
void point_line_over(struct run *run, const struct statement *st);
/* Has the fault happened? */
bool point_is_broken(struct run *run);
/* Is this return value allowed after the fault? Fails the run if not. */
bool point_allows(struct run *run, const char *call, DAT_RETURN ret);
/* Remove the fault; run->point->fired keeps its last value. */
void point_note_fired(struct run *run);
/* The script has ended: release all holds and run until the fabric is quiet. */
bool point_settle(struct run *run);

/* returns.c: is it success, or an error that the page of the call lists? */
bool is_documented(const char *call, DAT_RETURN ret);

#endif
