/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explore.h - a script under many schedules.
 *
 * A schedule is a seed of the fabric and a few fault lines, both made of nothing but the explorer's
 * seed and the schedule's number, so that any machine can make it again. The script it leads to is
 * text: set-up, faults, the rest of the script, then "heal" and "quiet". A program is what it is; its
 * schedule is a script of faults, and each ends (until=) at a time that is the schedule's.
 */
#ifndef DATSIM_EXPLORE_H
#define DATSIM_EXPLORE_H

#include "tools/datsim/run/run.h"

/* Which schedules are wanted, and how far they are. */
struct course {
	uint64_t seed, first, runs, shard, shards; /* runs 0: no limit */
	unsigned long seconds;                     /* 0: no limit */
	uint64_t done;
	double began, told; /* wall clock */
	bool progress;
	int jobs;        /* at a time */
	uint32_t kinds;  /* of faults, a bit for each */
	double hang;     /* of a program: seconds of processor time that no run takes */
	const char *out; /* where what is found goes; NULL: the usual place */
};

/* The next schedule's number; false: that was all. */
bool course_next(struct course *course, uint64_t *number);
void course_end(const struct course *course);
/* How far others are that run it; every half second, on a terminal. */
void course_tell(struct course *course, uint64_t done);
/* So many schedules of it come before that one. */
uint64_t course_before(const struct course *course, uint64_t number);

/* From all states the same numbers, everywhere. */
uint64_t schedule_random(uint64_t *state);

/* A script or a program under many schedules; what to exit with. */
int explore_script(struct course *course, const char *path);
int explore_program(struct course *course, char **argv);

/* "loss,delay,break": what --faults says; 0: it makes no sense. */
uint32_t kinds_parse(const char *list);
uint32_t kinds_usual(void);

/* What is put into, and where. The text is the caller's. */
struct plan {
	const char *text;
	size_t length;
	size_t faults_at; /* offset of the first line behind the set-up */
	size_t heal_at;   /* and of "end", or of the end */
	char links[SCRIPT_ACTORS_MAX * SCRIPT_ACTORS_MAX][64]; /* "a>b" */
	size_t link_count;
	bool rnr;      /* the profile knows it */
	int retry;     /* losses that a connection survives, all in all */
	int rnr_retry; /* and refusals */
	uint32_t kinds;
	bool bare;         /* adapters are opened as it runs: links are not there yet */
	bool program;      /* faults alone, with names of adapters; and what the fabric is like */
	uint64_t span_us;  /* of virtual time that the program takes undisturbed */
	uint32_t settings; /* of the fabric that may be varied, a bit for each */
};

struct schedule {
	uint64_t number;
	uint64_t seed; /* of the fabric */
	struct text text;
	size_t fault_count;
};

enum line_kind {
	LINE_SCRIPT,
	LINE_FAULT
};

struct line {
	char *text; /* without its newline */
	enum line_kind kind;
};

struct lines {
	struct line *line;
	size_t count;
};

/* Of a script that is good. */
void plan_make(struct plan *plan, const struct script *script);
/* Which settings of the fabric are free: the environment does not have them. */
uint32_t settings_free(void);
/* Schedule `number` of `seed`; the text is used again if there is one. */
void schedule_make(struct schedule *schedule, const struct plan *plan, uint64_t seed,
		   uint64_t number);

void lines_split(struct lines *lines, const struct plan *plan, const struct schedule *schedule);
/* As a script; without the faults if so asked. */
void lines_join(const struct lines *lines, bool faults, struct text *text);
void lines_free(struct lines *lines);

/*
 * Lines that fail, made fewer and simpler as long as `fails` says that they still do; it is asked again
 * and again.
 */
struct shrinking {
	struct lines *lines;
	bool (*fails)(const struct lines *lines, void *ctx);
	void *ctx;
	bool words; /* fault lines may lose words */
	int tries;
};

void shrink_lines(struct shrinking *shrinking);

/* Do two verdicts say the same: exit code, kind of the line that failed, what is wrong with it? */
bool same_failure(const struct verdict *a, const struct verdict *b);

/*
 * Make a script that fails shorter, as long as it fails in the same way, and holds without the faults
 * if it did so before. *seed becomes 1 if that will do.
 */
void shrink(struct lines *lines, const char *name, const struct verdict *failure, uint64_t *seed);

#endif
