/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * series.h - one script, run again and again with other lines in one place: datsim explore.
 *
 * What does not differ from run to run is done once: the script is read, and with it the settings
 * of the fabric in the environment; the memory of fixtures is mapped. A run is the same as one by
 * run_text in all that it says and leaves: no object, no byte of memory and no setting passes from
 * one to the next (tests/unit/explore/test_series.c).
 */
#ifndef DATSIM_SERIES_H
#define DATSIM_SERIES_H

#include "gap.h"
#include "tools/datsim/run/run.h"

struct series {
	bool loaded;
	struct text text; /* of the script, without the lines that vary */
	struct script script;
	struct gap gap;
	DAT_UINT64 seed; /* of the fabric, unless a run has another */
	struct region_pool pool;
};

/*
 * Run a script; its bytes from `at` on are `bytes` of the lines that vary. The script is read anew
 * if it differs elsewhere from that of the last run.
 */
void series_run(struct series *series, const char *name, const struct text *text, size_t at,
		size_t bytes, const struct options *options, struct verdict *verdict);
void series_free(struct series *series);

#endif
