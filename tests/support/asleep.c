/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a thread sleeps in the kernel, as /proc says: asleep.h. */
#include "asleep.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"

void until_asleep(pid_t process, pid_t thread)
{
	char path[64], text[512];
	const char *end;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)process, (int)thread);
	do {
		stat = fopen(path, "r");
		ck_assert_ptr_nonnull(stat);
		ck_assert_ptr_nonnull(fgets(text, sizeof(text), stat));
		fclose(stat);
		end = strrchr(text, ')');
		ck_assert_ptr_nonnull(end);
	} while (end[2] != 'S');
}

void until_thread_asleep(const pid_t *tid)
{
	while (!__atomic_load_n(tid, __ATOMIC_ACQUIRE))
		sched_yield();
	until_asleep(getpid(), *tid);
}
