/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * point.h - a script run with one more fault, at a point that it knows nothing of.
 *
 * What is right then: until the fault happens, every line holds. From then on lines may be broken, and
 * the script goes on all the same. But every call still returns success or an error that its page lists,
 * every checker stays content, and in the end, when all is healed and released, everything becomes quiet
 * and can be freed.
 */
#ifndef DATSIM_POINT_H
#define DATSIM_POINT_H

#include "tools/datsim/script/script.h"

struct run;

/* What a line led to, of the things that the rule fits. */
struct point_line {
	const char *what; /* the call; "use" while things are set up; outlives the script */
	uint64_t until;   /* so many by its end */
};

struct point {
	DAT_SIM_CALL_FAULT rule; /* verdict PASS: nothing is broken, the lines are written down */
	DAT_COUNT id;
	uint64_t fired;
	bool over; /* the script healed it */
	struct point_line *lines;
	size_t line_count;
};

void point_free(struct point *point);

/* The fabric is there, nothing has happened. */
bool point_plant(struct run *run);
/* A line is over; it held, or not: is the failure to be passed over? */
bool point_passes_over(struct run *run);
void point_line_over(struct run *run, const struct statement *st);
/* Has the fault happened? */
bool point_is_broken(struct run *run);
/* A call returned this: may it, now? Fails the run if not. */
bool point_allows(struct run *run, const char *call, DAT_RETURN ret);
/* No faults from here on; run->point->fired is what it was. */
void point_note_fired(struct run *run);
/* The script is over: nothing is held any more, and all comes to rest. */
bool point_settle(struct run *run);

/* returns.c: success, or an error that the page of the call lists. */
bool is_documented(const char *call, DAT_RETURN ret);

#endif
