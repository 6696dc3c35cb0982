/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hang.h - programs that do not end (--hang S): they took S seconds of processor time, or ten times
 * as long in real time, and were killed.
 */
#ifndef DATSIM_HANG_H
#define DATSIM_HANG_H

#include <stdbool.h>
#include <sys/types.h>

#include "tools/datsim/util.h"

/* Looks whether programs without a limit go round: they are not ended, but a person is told. */
struct hang_look {
	const char *trace; /* NULL: there is none */
	off_t next;        /* the length at which the trace is looked at again; 0: the usual */
	bool told;
};

#define HANG_WANTS "seconds from 0.01 to 3600"

/* The value of --hang, for a member of type double. */
bool hang_take(void *member, const char *value);
/* Real time, in seconds. */
double hang_clock(void);
/* Has a process, which began at that real time, taken too long? */
bool hang_reached(pid_t pid, double began, double seconds);
/* Keep the trace of the next programs short, unless the environment says how long it may be. */
void hang_limit_trace(void);
/*
 * Say what the programs did all the time, by their trace, and take that out of the file, where it
 * would hide the rest. trace: NULL if there is none.
 */
void hang_tell(const char *trace, double seconds, struct text *text);
/* While programs run: has their trace become long, and do they go round? Then tell it, once. */
void hang_look(struct hang_look *look);
/* The same as hang_tell, if they go round, of programs that a signal has ended. */
void hang_tell_ended(const char *trace, struct text *text);

#endif
