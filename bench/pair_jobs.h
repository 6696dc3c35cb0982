/* SPDX-License-Identifier: BSD-3-Clause */
/* pair_jobs.h - what is measured between two processes, the same for each library. */
#ifndef BENCH_PAIR_JOBS_H
#define BENCH_PAIR_JOBS_H

#include <stdint.h>

#define SMALL      64u
#define LARGE      (1u << 20)
#define WINDOW_MAX 64

struct job {
	char name[8];
	uint32_t bytes, window, messages;
};

static const struct job jobs[] = {
	{ "ping", SMALL, 1, 100000 },
	{ "rate", SMALL, WINDOW_MAX, 1000000 },
	{ "bulk", LARGE, 8, 4000 },
};

#endif /* BENCH_PAIR_JOBS_H */
