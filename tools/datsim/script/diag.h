/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diag.h - what is wrong with a script: where, what was expected there, the line with a caret, and
 * a suggestion where a name was nearly right.
 *
 * The source is the caller's and outlives the diag. A diag collects up to DIAG_MAX messages and
 * counts the rest, so a reader can go on after the first mistake without flooding anyone.
 */
#ifndef DATSIM_DIAG_H
#define DATSIM_DIAG_H

#include "tools/datsim/util.h"

#define DIAG_MAX    10
#define SUGGEST_MAX 64 /* bytes of a name; longer ones are not compared */

/* A place in a script: line and column count from 1, a column is a byte. */
struct place {
	int line;
	int column;
	int length;
};

struct source {
	const char *name;
	const char *text;
	size_t length;
};

struct diag {
	const struct source *source;
	struct text text;
	int count;
};

/* Add a message; the caret stands under `at`. */
void diag_add(struct diag *diag, struct place at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The candidate that is nearest to what was written. */
struct suggest {
	const char *name; /* what was written */
	int length;
	char best[SUGGEST_MAX + 1]; /* empty: none yet */
	int distance;
};

void suggest_start(struct suggest *suggest, const char *name, int length);
void suggest_try(struct suggest *suggest, const char *candidate);
void suggest_try_part(struct suggest *suggest, const char *candidate, size_t length);
/* Add "did you mean" to the message just added, if the nearest candidate is near enough. */
void diag_suggest(struct diag *diag, const struct suggest *suggest);

/* Add an indented line of advice to the message just added. */
void diag_hint(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Say how many messages did not find room. */
void diag_finish(struct diag *diag);

/* Line `line` of the source, without its newline. */
const char *source_line(const struct source *source, int line, int *length);

#endif
