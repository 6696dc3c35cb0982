/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clauses.h - what a script of the conformance suite shows, read from the comment it begins with.
 *
 *     # dat_srq_set_lw: the event comes once per arming, however the level
 *     #   rises and falls (L3)
 *     # every call: ...
 *
 * One clause begins on each line that names a call and a colon; lines indented further go on. At the
 * end the rulings may stand in parentheses. The texts are the list's; clauses_free frees them.
 */
#ifndef DATSIM_CLAUSES_H
#define DATSIM_CLAUSES_H

#include "util.h"

struct clause {
	const char *page; /* "dat_srq_set_lw" */
	const char *text;
	const char *rulings; /* "L3, L5"; "" for none */
	size_t script;
};

struct clauses {
	struct arena arena;
	struct clause *all;
	size_t count, room;
};

/* Add what the script with this text and number shows. False: its first line names no clause. */
bool clauses_read(struct clauses *clauses, size_t script, const char *text);
/* By call, in one call as they were added. */
void clauses_sort(struct clauses *clauses);
void clauses_free(struct clauses *clauses);

#endif
