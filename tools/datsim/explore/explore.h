/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explore.h - a script, or a program, under many schedules.
 *
 * A schedule is a seed of the fabric and a few fault lines. Both depend only on the seed of the
 * explorer and the number of the schedule, so any machine can make them again. For a script the
 * result is a script: set-up, faults, the rest of the script, then "heal" and "quiet". For a
 * program it is a script of faults, each of which ends (until=) at a time that the schedule sets.
 * For several programs in lockstep, a schedule may be the seed alone, which chooses whose turn it
 * is.
 */
#ifndef DATSIM_EXPLORE_H
#define DATSIM_EXPLORE_H

#include "tools/datsim/program/programs.h"
#include "tools/datsim/run/run.h"

/* The schedules to run, and the progress so far. */
struct course {
	uint64_t seed, first, runs, shard, shards; /* runs 0: no limit */
	unsigned long seconds;                     /* 0: no limit */
	uint64_t done;
	double began, told; /* wall clock; 0: not yet */
	bool progress;      /* is shown, on a terminal */
	uint64_t failed;    /* schedules that have failed */
	double longest;     /* seconds that a run has taken by now */
	struct text doing;  /* instead of running schedules: shrinking one */
	struct text reason; /* why nothing was explored; empty: it was */
	bool lockstep;      /* programs */
	int jobs;           /* at a time */
	uint32_t kinds;     /* of faults, a bit for each */
	double hang;        /* a program hangs after this many seconds of processor time */
	const char *out;    /* file for the shortened script; NULL: the default */

	/* campaign.h: it goes on after a failure, counts and writes down what it finds. */
	const char *store; /* folder of failures; NULL: none */
	const char *json;  /* file for the result, or "-"; NULL: none */
	bool coverage;     /* of faults and states, as a table and in the JSON */
	bool resume;       /* go on where an earlier run of this shard was */
	bool as_found;     /* failures are not shrunk */
	uint64_t failures; /* new ones, after which it ends */
	bool merges;       /* run no schedule, but shrink what the store has */
	bool reported;     /* the JSON is written */
};

/* The number of the next schedule; false: all are done. */
bool course_next(struct course *course, uint64_t *number);
/* Clear what course_tell has printed. */
void course_end(struct course *course);
/* Print the progress on a terminal, every half second. */
void course_tell(struct course *course, uint64_t done);
/* What it says: "137 of 10000 schedules, 512 a second, no failure, 19 s left". */
void course_line(const struct course *course, uint64_t done, double passed, struct text *line);
/* Say from now on what is done instead of running schedules. */
void course_doing(struct course *course, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Say how to go on with that schedule. */
void course_go_on(const struct course *course, uint64_t number);
/* Nothing is explored: say why, for the JSON, too. Returns the exit code of the tool. */
int course_refuse(struct course *course, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Real time, in seconds. */
double course_clock(void);
/* The number of schedules of the course before that one. */
uint64_t course_before(const struct course *course, uint64_t number);

/* Run a script or a program under many schedules. Returns the exit code. */
int explore_script(struct course *course, const char *path);
int explore_program(struct course *course, char **argv);
/* Either of them, by the words behind "--" of a command of datsim. */
int explore_named(struct course *course, const char *command, char **words);
/* The same of several programs in lockstep. */
int explore_programs(struct course *course, const struct programs *programs);

/* The kinds that --faults names, as bits; 0: a name is wrong. */
uint32_t kinds_parse(const char *list);
uint32_t kinds_usual(void);
/* Do they ask for other orders of turns, and no fault? */
bool kinds_only_turns(uint32_t kinds);
/* Are there some that need programs in lockstep? */
bool kinds_need_lockstep(uint32_t kinds);

/* A script or program as the schedules need to know it. The text is the caller's. */
struct plan {
	const char *text;
	size_t length;
	size_t fabric_at; /* offset of the first statement; fabric lines come there */
	size_t faults_at; /* offset of the first line after the set-up */
	size_t heal_at;   /* offset of "end", or of the end of the text */
	char links[SCRIPT_ACTORS_MAX * SCRIPT_ACTORS_MAX][64]; /* "a>b" */
	size_t link_count;
	bool rnr;      /* the profile has RNR NAKs */
	int retry;     /* losses in total that a connection survives */
	int rnr_retry; /* RNR NAKs in total that it survives */
	uint32_t kinds;
	bool watch;   /* each schedule watches buffers that are posted */
	bool bare;    /* adapters are opened during the run, so no link line can precede it */
	bool program; /* a program: faults name adapters, and fabric settings vary */
	bool turns;   /* the seed chooses whose turn it is: a schedule without faults counts */
	const struct programs *several; /* which faults may kill; NULL: none */
	struct plan_thread {
		char node[PROGRAM_NAME];
		unsigned int number; /* among those of its node */
		uint64_t calls;      /* that it makes without faults */
	} threads[64];
	size_t thread_count; /* 0: unknown, so only seeds order the turns */
	uint64_t span_us;    /* virtual time that the program takes without faults */
	uint32_t settings;   /* fabric settings that may vary, a bit for each */
};

struct schedule {
	uint64_t number;
	uint64_t seed; /* of the fabric */
	struct text text;
	size_t faults_at, faults_length; /* of a script: where its fault and link lines are */
	size_t way_count; /* fabric lines that make adapters hostile, in front of the set-up */
	size_t fault_count;
	bool slows;      /* it sets the latency of a link */
	bool has_faults; /* it has more than settings of the fabric */
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

/* Make the plan of a valid script. */
void plan_make(struct plan *plan, const struct script *script);
/* The fabric settings that the environment does not fix. */
uint32_t settings_free(void);
/* Make schedule `number` of `seed`; reuses the text of the struct. */
void schedule_make(struct schedule *schedule, const struct plan *plan, uint64_t seed,
		   uint64_t number);

/* ---- schedule_turns.c ---- */

/* Add the lines of the n-th order of turns, from 0. Returns how many. */
size_t schedule_add_turns(struct text *text, const struct plan *plan, uint64_t n, uint64_t *random);
/* Add 1 to `most` places where the turn changes hands, or a thread sleeps. Returns how many. */
size_t schedule_add_places(struct text *text, const struct plan *plan, size_t most,
			   uint64_t *random);

/*
 * ways.c: begin a schedule with the set-up of its plan, and with fabric lines that make adapters
 * hostile: to watch buffers that are posted, and, if asked, in other ways as `*random` has it.
 */
void schedule_begin(struct schedule *schedule, const struct plan *plan, bool hostile,
		    uint64_t *random);

void lines_split(struct lines *lines, const struct plan *plan, const struct schedule *schedule);
/* Join the lines to a script, with or without the faults. */
void lines_join(const struct lines *lines, bool faults, struct text *text);
void lines_free(struct lines *lines);

/*
 * Makes a failing script shorter and simpler while `fails`, which is called many times, says that
 * it still fails.
 */
struct shrinking {
	struct lines *lines;
	bool (*fails)(const struct lines *lines, void *ctx);
	void *ctx;
	bool words; /* words may be removed from fault lines */
	int tries;
	struct course *course; /* whose progress tells of it */
	struct ended *ended;   /* once it is asked to end, nothing fails any more */
	/* NULL, or: say of a script what of it matters (explain.h), with the links of the plan. */
	struct text *explained;
	const struct plan *plan;
};

void shrink_lines(struct shrinking *shrinking);

/* The title in "FILE:LINE: title (2 of 3)". */
const char *failure_title(const struct verdict *verdict, size_t *length);
/* Are two failures the same: exit code, kind of the failing line, and its message? */
bool same_failure(const struct verdict *a, const struct verdict *b);

/*
 * Shorten a failing script, with the lines, course and ended of `shrinking`, while it fails in the
 * same way and, if it did so before, passes without the faults. *seed becomes 1 if the script fails
 * with that seed too.
 */
void shrink_script(struct shrinking *shrinking, const char *name, const struct verdict *failure,
		   uint64_t *seed);

#endif
