/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forks.h - run a program thousands of times, each time from the point where it opens its fabric.
 *
 * DATSIM_FORKS=FD:PID names a socket to `datsim explore` and the process it is meant for: the one
 * started with it, not that one's children. Such a process stops at the first call that is about to
 * make a fabric, before any object exists. From then on it forks a child for each message it
 * receives: lines NAME=value, settings of the environment for that child. The child returns from
 * here and goes on. With FD:PID:once there are no forks: the process itself is the run.
 *
 * The process sends, one message each: "ready" or "threads N" (it has several, so it cannot fork
 * and continues as without DATSIM_FORKS), "child PID", "ended STATUS" (of waitpid). A child sends
 * "stuck WHY" (nothing can end its wait: it ends), "alone" (forks_stay_alone) and "left N NAMES"
 * (objects left at its exit).
 *
 * With FD:PID:several the process is one of several programs. Then the children are not its own
 * but its parent's, which is a subreaper (PR_SET_CHILD_SUBREAPER) and waits for them; they send
 * nothing.
 * A program that has a socket or a pipe by then is not forked either, because all runs would share
 * it: it sends "holds WHAT" and continues.
 *
 * Without that variable, or with an invalid one, these functions do nothing.
 */
#ifndef HOST_FORKS_H
#define HOST_FORKS_H

#include <stdbool.h>

/*
 * Called before the environment's settings of a fabric are read or a fabric is made; no lock is
 * held.
 */
void forks_stop(void);
/*
 * The only thread is in a wait that nothing can end. Returns unless a run or DATSIM_STUCK=abort is
 * to end then.
 */
void forks_stuck(const char *why);
/*
 * True if such waits are to be reported, to `datsim explore` or because of DATSIM_STUCK=abort. The
 * library then starts no thread beside the program's only one, and time stays virtual.
 */
bool forks_stay_alone(void);

#endif /* HOST_FORKS_H */
