/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forks.h - a program that is run thousands of times from where it opens its fabric.
 *
 * DATSIM_FORKS=FD:PID names a socket whose other end is `datsim explore`'s, and the process it is meant
 * for: the one started there, not what that one starts. Such a process stops at the first call that is
 * about to make a fabric, while nothing of ours exists, and from then on forks a child for each message
 * it is sent: lines NAME=value, which are settings of the environment for that child. The child returns
 * from here and goes on. FD:PID:once: no forks, the process itself is the one run.
 *
 * Told to the other end, each in a message of its own: "ready" or "threads N" (there are several, so
 * nothing can be forked: the process goes on as if not asked), "child PID", "ended STATUS" (of waitpid),
 * and by a child "stuck WHY" (nothing can wake it: it ends) and "left N NAMES" (objects, when it exits).
 *
 * Without that variable, or with one that makes no sense, nothing happens here at all.
 */
#ifndef LIB_FORKS_H
#define LIB_FORKS_H

/* About to read what the environment says of a fabric, or to make one; no lock is held. */
void forks_stop(void);
/* The only thread waits for what cannot come. Returns unless somebody asked for an end of that. */
void forks_stuck(const char *why);

#endif /* LIB_FORKS_H */
