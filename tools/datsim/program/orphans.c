/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that programs leave: orphans.h. */
#include "orphans.h"
#include "startup.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/sim.h>

#define PASSES_MOST 64   /* of processes that have children, which have children ... */
#define LOOKS_MOST  1000 /* at a fabric whose processes end: 5 seconds */
#define LOOK_NS     5000000
#define ASKS_MOST   400 /* looks at children that have been asked to end */
#define ASKED_MOST  64  /* children that are asked only once */

/* 0: unknown */
static pid_t parent_of(pid_t pid)
{
	char text[STARTUP_STAT];
	const char *behind = startup_stat(pid, text, sizeof(text));
	int parent;

	return behind && sscanf(behind, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_kept(pid_t pid, const pid_t *kept, int n)
{
	while (n-- > 0)
		if (kept[n] == pid)
			return true;
	return false;
}

/* Call `take` with each child of this process. */
static void each_child(void (*take)(pid_t pid, void *ctx), void *ctx)
{
	DIR *all = opendir("/proc");
	struct dirent *one;
	pid_t pid;

	while (all && (one = readdir(all))) {
		pid = (pid_t)strtol(one->d_name, NULL, 10);
		if (pid > 0 && parent_of(pid) == getpid())
			take(pid, ctx);
	}
	if (all)
		closedir(all);
}

struct children {
	pid_t *kept;
	int n, count;
};

static void keep_child(pid_t pid, void *ctx)
{
	struct children *children = ctx;

	if (children->count < children->n)
		children->kept[children->count++] = pid;
}

void orphans_adopt(pid_t *kept, int n)
{
	struct children children = { kept, n, 0 };

	if (n > 0)
		each_child(keep_child, &children);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

struct asking {
	const pid_t *kept;
	int n, count, found;
	pid_t asked[ASKED_MOST];
};

static void ask_child(pid_t pid, void *ctx)
{
	struct asking *asking = ctx;

	if (is_kept(pid, asking->kept, asking->n))
		return;
	asking->found++; /* one that has ended may have left children that were not seen */
	if (waitpid(pid, NULL, WNOHANG) != 0 || is_kept(pid, asking->asked, asking->count))
		return;
	if (asking->count < ASKED_MOST)
		asking->asked[asking->count++] = pid;
	kill(pid, SIGTERM);
}

void orphans_ask(const pid_t *kept, int n, const char *fabric)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct asking asking = { .kept = kept, .n = n };
	DAT_SIM_MEMBER member;

	for (int look = 0; look < ASKS_MOST; look++) {
		asking.found = 0;
		each_child(ask_child, &asking);
		if (!asking.found)
			return;
		if (fabric)
			dat_sim_fabric_member(fabric, 0, &member);
		nanosleep(&pause, NULL);
	}
}

static void end_child(pid_t pid, void *ctx)
{
	struct children *children = ctx;

	if (is_kept(pid, children->kept, children->n))
		return;
	children->count++;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void orphans_end(const pid_t *kept, int n)
{
	struct children children = { (pid_t *)(uintptr_t)kept, n, 1 };

	/* One that has ended hands its own children to this process. */
	for (int pass = 0; pass < PASSES_MOST && children.count > 0; pass++) {
		children.count = 0;
		each_child(end_child, &children);
	}
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
