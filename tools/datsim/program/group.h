/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group.h - a run of several programs in lockstep, for `datsim explore`. The process that the
 * runner (runner.h) starts is no program then: it makes the fabric, runs all programs on it as
 * `datsim run --lockstep` does, and reports how they ended by one message, a struct group_end.
 *
 * The runner needs no more than that: it hands over the settings of a schedule and gets an outcome.
 * It starts the programs for one run (group.c), or lets them fork for each run (group_serve.c).
 */
#ifndef DATSIM_GROUP_H
#define DATSIM_GROUP_H

#include "programs.h"
#include "runner.h"

struct group_end {
	char tag[8]; /* GROUP_TAG */
	struct outcome outcome;
	bool outside; /* a program took no part in lockstep */
};

#define GROUP_TAG "group"

/*
 * Start each program once, up to where it opens its fabric (host/forks.h), and then run them for
 * each message with settings that comes by the socket: each forks. Sends "ready" first, and a
 * struct group_end for each run; or "anew WHY" if a program cannot be forked.
 */
void group_serve(const struct programs *programs, int fd, double seconds) __attribute__((noreturn));
/* Let a stopped program fork its process of this run, with the environment as it is. -1: failed. */
pid_t group_fork(const struct programs *programs, int i);
/* How the programs of a run ended. */
void group_outcome(const struct programs *programs, struct outcome *outcome);

/*
 * Run the programs, with the environment's settings, and report by the socket `fd`. They are killed
 * when they take `seconds` of processor time, or ten times as long, and when this process is asked
 * to end.
 */
void group_run(const struct programs *programs, int fd, double seconds) __attribute__((noreturn));

#endif
