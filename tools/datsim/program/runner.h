/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runner.h - runs a program many times: in a process that is started for each run, or forked by one
 * that was stopped where it opens its fabric. The checkers of watch.h read the trace of each run
 * that ended without an error. Several programs (programs.h) run in a process group of their own,
 * started by the process of group.h.
 */
#ifndef DATSIM_RUNNER_H
#define DATSIM_RUNNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "programs.h"
#include "tools/datsim/util.h"

#define RUNNERS_MAX 64

enum ending {
	ENDED_WELL,
	ENDED_CODE, /* an exit status that is not 0 */
	ENDED_SIGNAL,
	ENDED_STUCK, /* it waited for an event that cannot come */
	ENDED_HUNG,  /* it ran for too long */
	ENDED_LEFT,  /* it left objects when it exited */
	ENDED_WRONG  /* the checkers found something in its trace (watch.h) */
};

struct outcome {
	enum ending how;
	int code;               /* exit status, or signal; if all hung, what a shell has of `who` */
	bool alone;             /* the library started no thread, as it would have elsewhere */
	char who[PROGRAM_NAME]; /* node of the one of several programs that failed; "": none */
	char what[1024]; /* what it waited for, left, repeated (round.h); what checkers found */
};

struct runner {
	int fd;        /* socket to it; -1: none */
	int words;     /* file of what the current run says on standard error; -1: none */
	int process;   /* pidfd of the started process; -1: none */
	pid_t started; /* its id */
	pid_t running; /* the process of the current run; 0: none yet */
	bool ready, busy, hung, alone;
	bool forks;           /* the started process, for each run */
	unsigned int threads; /* its threads, which prevent forks; 0: it can fork */
	char anew[160];       /* why several programs cannot fork; "": they can */
	uint64_t number;      /* number of the schedule, for the caller */
	double began;
	unsigned int left;
	char said_left[512], said_stuck[1024];
	struct outcome said; /* by a group */
	bool has_said;
	bool outside;           /* of lockstep was one of a group */
	struct outcome outcome; /* valid when the runner is not busy any more */
	bool preempted;         /* so is this: threads in lockstep lost their turns */
};

struct runners {
	char **argv;
	const struct programs *several; /* which run in lockstep; NULL: argv is the only program */
	bool starts_anew;               /* for each run */
	bool leaves;                    /* it leaves objects even without faults: not a failure */
	double seconds;                 /* processor time for a run, and a tenth of its real time */
	bool quotes;                    /* runner_said is wanted */
	int errors;                     /* file for standard error; -1: discarded */
	const char *traces; /* folder for traces (runner_trace), for the checkers; NULL: none */
	unsigned int trace_bytes; /* the longest trace; 0: as the environment says */
	struct ended *ended;      /* the caller watches; once it is asked to end, no run goes on */
	void (*tick)(void *ctx);  /* called ten times a second while runs are waited for; or NULL */
	void *tick_ctx;
	int count;
	struct runner list[RUNNERS_MAX];
};

/* Start the runners and find out whether the program can be forked; stderr says if not. */
void runners_start(struct runners *runners);
void runners_end(struct runners *runners);
/* Begin a run in an idle runner. False: no process could be started. */
bool runner_begin(struct runners *runners, struct runner *runner, const char *settings);
/* The name of the file with the trace of a runner's last run. */
void runner_trace(const struct runners *runners, int which, struct text *path);
/* Seconds since the oldest run that goes on began; 0: none goes on. */
double runners_longest(const struct runners *runners);
/* Wait until a runner is done, for a tenth of a second at most. */
void runners_wait(struct runners *runners);
/* Run once, and wait for the end. False: no process could be started, or the tool has to end. */
bool runner_run(struct runners *runners, const char *settings, struct outcome *outcome);

/* ---- runner_trace.c ---- */

/* The end of what the last run said on standard error, if the runners quote it. */
void runner_said(const struct runner *runner, struct text *said);

/* Add the settings of a run, and where its trace goes. */
void runner_add_trace(const struct runners *runners, const struct runner *runner,
		      const char *settings, struct text *text);
/* A run has ended: what its trace says goes into runner->outcome. */
void runner_check_trace(const struct runners *runners, struct runner *runner);

/* ---- runner_outcome.c ---- */

bool same_outcome(const struct outcome *a, const struct outcome *b);
/* "exits with 3", "server exits with 3", "leaves 2 objects: emu0.ia1 emu0.evd1" */
void outcome_add(struct text *text, const struct outcome *outcome);
/* The exit status as a shell reports it. */
int outcome_code(const struct outcome *outcome);

#endif
