/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orphans.h - processes that programs leave when they end or are killed: children of a shell script
 * that was the program, above all. They would keep the fabric of a run, and never end.
 */
#ifndef DATSIM_ORPHANS_H
#define DATSIM_ORPHANS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * From now on they become children of this process. kept: children that it has by now (a shell that
 * became this process may have left some), at most n; the rest of the array is not changed.
 */
void orphans_adopt(pid_t *kept, int n);
/*
 * Ask them by SIGTERM to end, and wait until they have, at most for a grace period. fabric: one
 * that they may be on, whose dead members are removed meanwhile, so that others get their turns;
 * NULL: none.
 */
void orphans_ask(const pid_t *kept, int n, const char *fabric);
/* Kill and reap all children of this process, and theirs, except those; 0: no process. */
void orphans_end(const pid_t *kept, int n);
/*
 * Remove a fabric whose processes have been killed, and may still be about to die. False: it is
 * still in use.
 */
bool orphans_leave_fabric(const char *fabric);

#endif
