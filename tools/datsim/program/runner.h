/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runner.h - runs of a program, one at a time in each runner.
 *
 * A runner is the program, started once and stopped where it opens its fabric (lib/forks.h); each run
 * is a fork of that. Where the program cannot be forked there, or opens no fabric itself, it is started
 * anew for each run, and tells as much as it can. A run is told what its environment is: lines
 * NAME=value. What programs print goes nowhere.
 */
#ifndef DATSIM_RUNNER_H
#define DATSIM_RUNNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/datsim/util.h"

#define RUNNERS_MAX 64

enum ending {
	ENDED_WELL,
	ENDED_CODE, /* an exit status that is not 0 */
	ENDED_SIGNAL,
	ENDED_STUCK, /* nothing could wake it */
	ENDED_HUNG,  /* it ran for too long */
	ENDED_LEFT   /* objects, when it exited */
};

struct outcome {
	enum ending how;
	int code;        /* exit status, or signal */
	char what[1024]; /* why it was stuck; which objects it left */
};

struct runner {
	int fd;        /* -1: nothing is there to be told or heard */
	int process;   /* pidfd of what was started; -1: none */
	pid_t started; /* its id */
	pid_t running; /* the process whose run it is; 0: none yet */
	bool ready, busy, hung;
	unsigned int threads; /* so many, and therefore no forks */
	uint64_t number;      /* of the schedule, the caller's */
	double began;
	unsigned int left;
	char said_left[512], said_stuck[1024];
	struct outcome outcome; /* once it is not busy any more */
};

struct runners {
	char **argv;
	bool starts_anew; /* for each run */
	bool leaves;      /* objects, also when nothing is done to it: no failure */
	double seconds;   /* of processor time that a run may take; ten times as much of any time */
	int errors;       /* where the standard error output goes; -1: nowhere */
	int count;
	struct runner list[RUNNERS_MAX];
};

/* Start them, and see whether the program can be forked; it says so where not. */
void runners_start(struct runners *runners);
void runners_end(struct runners *runners);
/* Begin a run in a runner that is not busy. False: no process is to be had. */
bool runner_begin(struct runners *runners, struct runner *runner, const char *settings);
/* Wait a while, until one of them is done; not for longer than a tenth of a second. */
void runners_wait(struct runners *runners);
/* A run, and wait for it. */
bool runner_run(struct runners *runners, const char *settings, struct outcome *outcome);

bool same_outcome(const struct outcome *a, const struct outcome *b);
/* "exits with 3", "leaves 2 objects: emu0.ia1 emu0.evd1" */
void outcome_add(struct text *text, const struct outcome *outcome);
/* As a shell has it. */
int outcome_code(const struct outcome *outcome);

#endif
