/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diag.h - diagnostics of a script: the place, what was expected there, the line with a caret, and
 * a suggestion if a name was nearly right.
 *
 * The source belongs to the caller and outlives the diag. A diag collects up to DIAG_MAX messages
 * and counts the rest, so that parsing can continue after a mistake without flooding the user.
 */
#ifndef DATSIM_DIAG_H
#define DATSIM_DIAG_H

#include "tools/datsim/util.h"

#define DIAG_MAX    10
#define SUGGEST_MAX 64 /* bytes of a name; longer names are not compared */

/* A place in a script. Lines and columns count from 1; a column is a byte. */
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

/* Add a message, with a caret under `at`. */
void diag_add(struct diag *diag, struct place at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A search for the candidate nearest to the name that was written. */
struct suggest {
	const char *name; /* what was written */
	int length;
	char best[SUGGEST_MAX + 1]; /* the nearest so far; empty: none */
	int distance;               /* edits between name and best */
};

void suggest_start(struct suggest *suggest, const char *name, int length);
void suggest_try(struct suggest *suggest, const char *candidate);
void suggest_try_part(struct suggest *suggest, const char *candidate, size_t length);
/* Is the nearest candidate near enough to be suggested? */
bool suggest_is_near(const struct suggest *suggest);
/* Add "did you mean" to the last message, if the nearest candidate is near enough. */
void diag_suggest(struct diag *diag, const struct suggest *suggest);

#define OFFER_MAX 64 /* names that one message lists */

/* The names that are valid where another one was written. */
struct offer {
	struct suggest suggest;
	const char *names[OFFER_MAX];
	size_t count;
};

void offer_start(struct offer *offer, const char *name, int length);
/* The name stays the caller's until offer_tell; a second one that is equal is left out. */
void offer_add(struct offer *offer, const char *name);
/* Add "did you mean" to the last message if a name is near, otherwise the list of all names. */
void offer_tell(const struct offer *offer, struct diag *diag, const char *title);

/* Add an indented line of advice to the last message. */
void diag_hint(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add the names that are valid in that place to the last message: "title name, name ...". */
void diag_list(struct diag *diag, const char *title, const char *const *names, size_t count);

/* Take messages back: `count` of them, with a text of `length` bytes, stay. */
void diag_take_back(struct diag *diag, int count, size_t length);

/* Add the number of messages beyond DIAG_MAX. */
void diag_finish(struct diag *diag);

/* Line `line` of the source, without its newline. */
const char *source_line(const struct source *source, int line, int *length);

#endif
