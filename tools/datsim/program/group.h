/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group.h - a run of several programs in lockstep, for `datsim explore`. The process that the
 * runner (runner.h) starts is no program then: it makes the fabric, runs all programs on it as
 * `datsim run --lockstep` does, and reports how they ended by one message, a struct group_end.
 *
 * The runner needs no more than that: it hands over the settings of a schedule and gets an outcome.
 * A process that forks the programs where they open the fabric, as host/forks.h does for one, could
 * take the place of this one.
 */
#ifndef DATSIM_GROUP_H
#define DATSIM_GROUP_H

#include "programs.h"
#include "runner.h"

struct group_end {
	char tag[8]; /* GROUP_TAG */
	struct outcome outcome;
};

#define GROUP_TAG "group"

/*
 * Run the programs, with the environment's settings, and report by the socket `fd`. They are killed
 * when they take `seconds` of processor time, or ten times as long, and when this process is asked
 * to end.
 */
void group_run(const struct programs *programs, int fd, double seconds) __attribute__((noreturn));

#endif
