/* SPDX-License-Identifier: BSD-3-Clause */
/* asleep.h - wait until another thread sleeps, so that what comes next has to wake it. */
#ifndef TESTS_SUPPORT_ASLEEP_H
#define TESTS_SUPPORT_ASLEEP_H

#include <sys/types.h>

void until_asleep(pid_t process, pid_t thread);
/* Of this process: a thread that first writes its number there, with a release. */
void until_thread_asleep(const pid_t *tid);

#endif
