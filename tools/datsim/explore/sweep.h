/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.h - fails every operation of a script, one after the other.
 *
 * sweep_script runs a script once to find the points where an operation can fail, and then once for
 * each chosen point. A site is the operation that fails together with the call that leads to it
 * ("lmr in dat_lmr_create"); sites are the same in all scripts.
 */
#ifndef DATSIM_SWEEP_H
#define DATSIM_SWEEP_H

#include "tools/datsim/run/run.h"

enum sweep_kind {
	SWEEP_ALLOC,
	SWEEP_POST,
	SWEEP_EVENT
};

struct sites {
	char **names;
	size_t count, room;
};

struct sweep {
	enum sweep_kind kind;
	bool persistent;
	uint64_t seed;
	uint32_t percent; /* percent of the points to run at a site that was visited before */
	uint64_t only;    /* only this point; 0: all chosen points */
	struct sites sites;

	/* Called before each run with the number of the point, and for each new site. */
	void (*runs)(uint64_t point);
	void (*covers)(const char *site);
};

struct swept {
	uint64_t points, ran;
	uint64_t failed;    /* the failing point; 0: none */
	bool unfit;         /* it is a bad script, or cannot be read */
	struct text report; /* report of the failure, or why the script cannot be swept */
};

/* False: a point failed, or the script fails without any fault. */
bool sweep_script(struct sweep *sweep, const char *path, struct swept *swept);

/* True: the site is new. */
bool sites_add(struct sites *sites, const char *name);
void sites_free(struct sites *sites);

#endif
