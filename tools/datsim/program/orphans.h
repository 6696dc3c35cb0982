/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orphans.h - processes that programs leave when they end or are killed: children of a shell script
 * that was the program, above all. They would keep the fabric of a run, and never end.
 */
#ifndef DATSIM_ORPHANS_H
#define DATSIM_ORPHANS_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on they become children of this process. */
void orphans_adopt(void);
/* Kill and reap all children of this process, and theirs, except the `n` of `keep`. */
void orphans_end(const pid_t *keep, int n);
/*
 * Remove a fabric whose processes have been killed, and may still be about to die. False: it is
 * still in use.
 */
bool orphans_leave_fabric(const char *fabric);

#endif
