/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - run one script from file to verdict.
 *
 * A verdict owns its texts; verdict_free frees them.
 */
#ifndef DATSIM_RUN_H
#define DATSIM_RUN_H

#include "tools/datsim/script/script.h"

struct options {
	bool has_seed;
	uint64_t seed;
	bool once;           /* traced only, not untraced before */
	bool untraced;       /* and this, untraced only */
	unsigned int slow;   /* on a device: so many times as much patience; 0: once */
	struct point *point; /* not NULL: with one more fault, point.h */
	struct text *echo;   /* not NULL: the last line may return anything, and says here what */
};

struct verdict {
	enum exit_code code;
	int kind;           /* of the statement that failed; -1: of none */
	struct text report; /* why it is not a pass */
	struct text trace;
	bool expected_failure; /* the script was to fail, and did as it said */
};

/* The text is NUL-terminated; the name is for messages. */
void run_text(const char *name, const char *text, size_t length, const struct options *options,
	      struct verdict *verdict);
void run_file(const char *path, const struct options *options, struct verdict *verdict);
/* One line that runs the script again as it ran now. */
void replay_line(const char *path, const struct options *options, struct text *text);
/* Why a script was skipped: the characters to print of *reason, which is the verdict's. */
int verdict_reason(const struct verdict *verdict, const char **reason);
void verdict_free(struct verdict *verdict);

#endif
