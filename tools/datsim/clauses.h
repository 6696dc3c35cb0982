/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clauses.h - the clauses that a conformance script tests, from the comment at its head.
 *
 *    # dat_srq_set_lw: the event comes once per arming, however the level
 *    #   rises and falls (L3)
 *    # every call: ...
 *
 * A clause begins on each line that names a call and a colon; further indented lines continue it.
 * The rulings may follow at its end in parentheses. The list owns the texts; clauses_free frees
 * them.
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

/* Add the clauses of script number `script`, from its text. False: its first line has no clause. */
bool clauses_read(struct clauses *clauses, size_t script, const char *text);
/* Sort by call; clauses of one call stay in the order in which they were added. */
void clauses_sort(struct clauses *clauses);
void clauses_free(struct clauses *clauses);

#endif
