/* SPDX-License-Identifier: BSD-3-Clause */
/* pair_jobs.h - the measurements between two processes, equal for every library. */
#ifndef BENCH_PAIR_JOBS_H
#define BENCH_PAIR_JOBS_H

#include <stdint.h>

#define SMALL         64u
#define LARGE         (1u << 20)
#define IN_FLIGHT_MAX 64

struct job {
	char name[8];
	uint32_t bytes, in_flight, messages;
};

static const struct job jobs[] = {
	{ "ping", SMALL, 1, 100000 },
	{ "rate", SMALL, IN_FLIGHT_MAX, 1000000 },
	{ "bulk", LARGE, 8, 4000 },
};

#endif /* BENCH_PAIR_JOBS_H */
