/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - run one script from file to verdict.
 *
 * A verdict owns its texts; verdict_free frees them.
 */
#ifndef DATSIM_RUN_H
#define DATSIM_RUN_H

#include "tools/datsim/script/script.h"

struct region;

/* Memory that a run leaves to the next one (memory.c). */
struct region_pool {
	struct region *regions[8]; /* all zero between their guards */
	size_t count;
};

struct options {
	bool has_seed;
	uint64_t seed;
	bool once;           /* only the traced run, not the untraced one before it */
	bool untraced;       /* only the untraced run */
	unsigned int slow;   /* on a device, multiplies waiting times; 0: as 1 */
	struct point *point; /* not NULL: with an additional fault, see point.h */
	struct text *echo;   /* not NULL: receives the result of the last line, which may be any */
	struct region_pool *pool; /* not NULL: memory that runs hand on */
};

struct verdict {
	enum exit_code code;
	int kind;           /* kind of the statement that failed; -1: none */
	struct text report; /* why the script did not pass */
	struct text trace;
	bool expected_failure; /* the script failed as its "# Failure:" line says */
	size_t faults_acted;   /* fault lines that did something in the last run */
	double seconds;        /* that the script took; set by who runs several */
	struct text said;      /* what libdat printed meanwhile, each line once; likewise */
};

/* The text is NUL-terminated; the name is for messages. */
void run_text(const char *name, const char *text, size_t length, const struct options *options,
	      struct verdict *verdict);
/*
 * run_text in two steps. Read a script; false: the verdict says why. In both cases the caller frees
 * the script afterwards, by script_free.
 */
bool run_load(struct script *script, const char *name, const char *text, size_t length,
	      struct verdict *verdict);
void run_script(struct script *script, const struct options *options, struct verdict *verdict);
void run_file(const char *path, const struct options *options, struct verdict *verdict);
/* The command line that repeats this run of the script. */
void replay_line(const char *path, const struct options *options, struct text *text);
/* Why a script was skipped: *reason points into the verdict; returns its length. */
int verdict_reason(const struct verdict *verdict, const char **reason);
/* The line of the script that its report names first; 0: none. */
int verdict_line(const struct verdict *verdict, const char *path);
void verdict_free(struct verdict *verdict);
void pool_free(struct region_pool *pool);

#endif
