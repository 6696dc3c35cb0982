/* SPDX-License-Identifier: BSD-3-Clause */
/* What of the failure of programs matters (explain.h), once it is short: hunt.h. */
#include "hunt.h"
#include "tools/datsim/story/explain.h"

#define TRIES_OF_HANGS 12 /* each takes a while */

void hunt_explain(struct hunt *hunt, struct lines *lines)
{
	bool hangs = hunt->failure.how == ENDED_HUNG;
	struct explaining explaining = { .lines = lines,
					 .fails = hunt_fails_so,
					 .ctx = hunt,
					 .plan = &hunt->plan,
					 .left_out = hunt->lines_before - lines->count,
					 .tries_most = hangs ? TRIES_OF_HANGS : EXPLAIN_TRIES,
					 .course = hunt->course,
					 .ended = &hunt->ended,
					 .seeds = true };

	if (hangs)
		hunt->runners.seconds = hunt_shorter_hang(hunt);
	explain_lines(&explaining, &hunt->explained);
	hunt->runners.seconds = hunt->course->hang;
}
