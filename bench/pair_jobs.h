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
	uint32_t buffers; /* to send from, and as many to receive into: they are used in turn */
	uint32_t signals; /* the client's Sends: each so many-th has a completion */
};

static const struct job jobs[] = {
	{ "ping", SMALL, 1, 100000, 1, 1 },
	{ "rate", SMALL, IN_FLIGHT_MAX, 1000000, IN_FLIGHT_MAX, 1 },
	{ "sparse", SMALL, IN_FLIGHT_MAX, 1000000, IN_FLIGHT_MAX, 32 },
	{ "bulk", LARGE, 8, 4000, 1, 1 },
	{ "wide", LARGE, 8, 4000, 8, 1 },
};

#endif /* BENCH_PAIR_JOBS_H */
