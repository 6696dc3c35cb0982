/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gap.h - a place in a script whose lines are exchanged again and again, as datsim explore does
 * with the faults of its schedules. The rest of the script is read once.
 *
 * The script is the same afterwards as if it had been read with those lines: the numbers of the
 * lines behind them, too, which reports and traces have.
 */
#ifndef DATSIM_GAP_H
#define DATSIM_GAP_H

#include "tools/datsim/script/script.h"

struct gap {
	size_t at;                /* offset in the text of the script */
	int line;                 /* number of the line there */
	int lines;                /* that are in it */
	int behind;               /* lines of the script behind it */
	struct statement **link;  /* what leads to the first statement in it, or behind it */
	struct statement *next;   /* the first one behind it */
	struct arena_block *mark; /* the script without the lines in it */
};

/* An empty gap at the beginning of a line of a script, which was loaded from its source. */
void gap_open(struct gap *gap, struct script *script, size_t at);
/*
 * Put lines into the gap in place of those that are there. `text` is the whole script with them;
 * they are its bytes from the gap on. It has to outlive the use of the script. False: this cannot
 * be done with such lines, and the script cannot be used any more; read all of the text.
 */
bool gap_fill(struct gap *gap, struct script *script, const char *text, size_t length,
	      size_t bytes);

#endif
