/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that programs leave: orphans.h. */
#include "orphans.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/sim.h>

#include "tools/datsim/files.h"

#define PASSES_MOST 64  /* of processes that have children, which have children ... */
#define LOOKS_MOST  200 /* at a fabric whose processes die */
#define LOOK_NS     5000000

void orphans_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The parent of a process, by "PID (NAME) STATE PARENT ..."; 0: unknown. */
static pid_t parent_of(const char *pid)
{
	struct text stat = { 0 }, path = { 0 }, error = { 0 };
	const char *behind;
	int parent = 0;

	text_add(&path, "/proc/%s/stat", pid);
	if (read_whole(text_of(&path), 4096, &stat, &error)) {
		behind = strrchr(text_of(&stat), ')');
		if (!behind || sscanf(behind + 1, " %*c %d", &parent) != 1)
			parent = 0;
	}
	text_free(&error);
	text_free(&path);
	text_free(&stat);
	return parent;
}

static bool is_kept(pid_t pid, const pid_t *keep, int n)
{
	while (n-- > 0)
		if (keep[n] == pid)
			return true;
	return false;
}

/* False: there was none. */
static bool end_children(const pid_t *keep, int n)
{
	DIR *all = opendir("/proc");
	struct dirent *one;
	bool any = false;
	pid_t pid;

	while (all && (one = readdir(all))) {
		pid = (pid_t)strtol(one->d_name, NULL, 10);
		if (pid <= 0 || is_kept(pid, keep, n) || parent_of(one->d_name) != getpid())
			continue;
		any = true;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (all)
		closedir(all);
	return any;
}

void orphans_end(const pid_t *keep, int n)
{
	for (int pass = 0; pass < PASSES_MOST && end_children(keep, n); pass++)
		;
}

bool orphans_leave_fabric(const char *fabric)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	for (int look = 0; look < LOOKS_MOST; look++) {
		if (DAT_GET_TYPE(dat_sim_fabric_destroy(fabric)) != DAT_INVALID_STATE)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}
