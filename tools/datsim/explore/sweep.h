/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.h - all points of a script at which something can fail, one after the other.
 *
 * sweep_script runs a script once to see which points there are, and then once for each point that is
 * chosen. A site is what fails together with the call that leads to it ("lmr in dat_lmr_create"): the same
 * in all scripts.
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
	uint32_t percent; /* of the points whose site was had already */
	uint64_t only;    /* this point and no other; 0: all that are chosen */
	struct sites sites;

	/* Called before each run, with the point's number; and for each site that is new. */
	void (*runs)(uint64_t point);
	void (*covers)(const char *site);
};

struct swept {
	uint64_t points, ran;
	uint64_t failed;    /* the point; 0: none */
	struct text report; /* of it; or why the script cannot be swept */
};

/* False: a point failed, or the script does so by itself. */
bool sweep_script(struct sweep *sweep, const char *path, struct swept *swept);

/* True: it was not there. */
bool sites_add(struct sites *sites, const char *name);
void sites_free(struct sites *sites);

#endif
