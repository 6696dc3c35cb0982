/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.h - run many scripts, several at a time.
 *
 * Each script runs in a child process of its own, so that a script that crashes the tool fails
 * alone. Results are delivered in the order of the scripts, whichever finishes first, so the output
 * does not depend on the number of processes.
 */
#ifndef DATSIM_JOBS_H
#define DATSIM_JOBS_H

#include "tools/datsim/run/run.h"

#define JOBS_MAX 256

struct jobs_sink {
	/* Called once a script, in order; the verdict is freed afterwards. */
	void (*result)(void *ctx, size_t index, const struct verdict *verdict);
	void *ctx;
};

/* Run up to jobs_at_once(at_once) scripts at a time; one at a time means in this process. */
void jobs_run(char *const *paths, size_t count, const struct options *options, int at_once,
	      const struct jobs_sink *sink);

/* What -j N means: as many as the machine has processors if it is 0, and JOBS_MAX at most. */
int jobs_at_once(int wanted);

#endif
