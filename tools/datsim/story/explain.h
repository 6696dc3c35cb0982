/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain.h - what of a shortened failure matters: each fault line is changed in one place, and the
 * run repeated. Other packets, links and times, other ways to lose a packet, other seeds: does it
 * still fail in the same way?
 */
#ifndef DATSIM_EXPLAIN_H
#define DATSIM_EXPLAIN_H

#include "tools/datsim/explore/explore.h"

#define EXPLAIN_TRIES 60 /* runs; a run of a program that hangs takes long */

struct explaining {
	struct lines *lines; /* as they were before, when it is done */
	bool (*fails)(const struct lines *lines, void *ctx);
	void *ctx;
	const struct plan *plan;
	size_t left_out; /* lines that the schedule had, and that were not needed */
	int tries, tries_most;
	struct course *course;
	struct ended *ended;
	bool seeds; /* a "fabric seed=" line chooses the seed, as for programs */
};

/* Add sentences, a line each. */
void explain_lines(struct explaining *explaining, struct text *text);

#endif
