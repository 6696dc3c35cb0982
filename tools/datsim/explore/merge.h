/* SPDX-License-Identifier: BSD-3-Clause */
/* merge.h - datsim merge: merge_command.c unites stores, merge_script.c shrinks scripts in one,
 * merge_tell.c says what the united one has. */
#ifndef DATSIM_MERGE_H
#define DATSIM_MERGE_H

#include "campaign.h"

struct merge {
	struct course course; /* store: the folder that takes all */
	const char **folders; /* the others too, in order */
	size_t count;
	uint64_t fresh;    /* failures that it had not */
	struct text known; /* the names of those that it had, each between newlines */
};

/* Shorten the scripts of a store that are as they were found. False: stderr says why. */
bool merge_scripts(struct store *store);
/* The summary, the table, the JSON. Returns the exit code. */
int merge_tell(const struct merge *merge);

#endif
