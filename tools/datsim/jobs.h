/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.h - run many scripts, several at a time.
 *
 * Each runs in a child process of its own, so that one that kills the tool fails alone. Results come
 * back in the order of the scripts whatever finishes first, so the output does not depend on how many
 * run at a time.
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

/* One after the other in this process if at_once is 1. */
void jobs_run(char *const *paths, size_t count, const struct options *options, int at_once,
	      const struct jobs_sink *sink);

/* What -j takes: 0 (as many as the machine has processors) to JOBS_MAX. */
bool jobs_parse(const char *s, int *jobs);

#endif
