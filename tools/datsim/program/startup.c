/* SPDX-License-Identifier: BSD-3-Clause */
/* startup.c - what /proc tells of a program that was started: startup.h. */
#include "startup.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKETS  256 /* of a process that are looked at */
#define DEPTH    4   /* of processes that start others: shells, above all */
#define LISTENS  10u /* TCP_LISTEN of the kernel */
#define CHILDREN 1024

struct sockets {
	uint64_t inode[SOCKETS];
	int count;
};

static void find_sockets(pid_t pid, struct sockets *sockets)
{
	char path[64], target[64];
	struct dirent *entry;
	ssize_t length;
	DIR *dir;

	sockets->count = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return;
	while (sockets->count < SOCKETS && (entry = readdir(dir)) != NULL) {
		length = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		if (sscanf(target, "socket:[%lu]", &sockets->inode[sockets->count]) == 1)
			sockets->count++;
	}
	closedir(dir);
}

static bool has_socket(const struct sockets *sockets, uint64_t inode)
{
	for (int i = 0; i < sockets->count; i++)
		if (sockets->inode[i] == inode)
			return true;
	return false;
}

/* One of the sockets is a listener in this table of the process's network. */
static bool is_listener(pid_t pid, const char *table, const struct sockets *sockets)
{
	unsigned long inode;
	unsigned int state;
	char path[64], line[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, table);
	file = fopen(path, "r");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %*s %*s %x %*s %*s %*s %*s %*s %lu", &state, &inode) ==
				2 &&
			state == LISTENS && has_socket(sockets, inode);
	fclose(file);
	return found;
}

static bool has_listener(pid_t pid)
{
	struct sockets sockets;

	find_sockets(pid, &sockets);
	return sockets.count > 0 &&
	       (is_listener(pid, "tcp", &sockets) || is_listener(pid, "tcp6", &sockets));
}

const char *startup_stat(pid_t pid, char *text, size_t size)
{
	char path[64], *end;
	size_t length = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (file) {
		length = fread(text, 1, size - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	end = strrchr(text, ')');
	return end ? end + 1 : NULL;
}

/* The state that the kernel gives the first thread: 'S' asleep, 'R' running; 0: it is not there. */
static char state_of(pid_t pid)
{
	char text[STARTUP_STAT];
	const char *behind = startup_stat(pid, text, sizeof(text));

	return behind && behind[0] == ' ' ? behind[1] : '\0';
}

static bool is_busy(pid_t pid)
{
	char state = state_of(pid);

	return state == 'R' || state == 'D';
}

static bool any_in_tree(pid_t pid, int depth, bool (*holds)(pid_t pid));

static bool any_child(pid_t pid, int depth, bool (*holds)(pid_t pid))
{
	char path[64], list[CHILDREN], *at = list, *end;
	bool found = false;
	FILE *file;
	long child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(list, sizeof(list), file))
		*list = '\0';
	fclose(file);
	while (!found && (child = strtol(at, &end, 10)) > 0) {
		found = any_in_tree((pid_t)child, depth, holds);
		at = end;
	}
	return found;
}

/* Does it hold for the process, or for one that it started? */
static bool any_in_tree(pid_t pid, int depth, bool (*holds)(pid_t pid))
{
	return holds(pid) || (depth > 0 && any_child(pid, depth - 1, holds));
}

bool startup_listens(pid_t pid)
{
	return any_in_tree(pid, DEPTH, has_listener);
}

/* A shell is asleep while the program that it started has work to do. */
bool startup_waits(pid_t pid)
{
	return state_of(pid) == 'S' && !any_in_tree(pid, DEPTH, is_busy);
}

/* Programs that start the processes of a job. */
static const char *const launchers[] = { "mpirun", "mpiexec",    "orterun",       "prterun", "prun",
					 "srun",   "mpirun_rsh", "mpiexec.hydra", NULL };

/* The processes of a job would wait for each other on a fabric each. */
void startup_warn_of_launcher(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t i;

	for (i = 0; launchers[i] && strcmp(launchers[i], name) != 0; i++)
		;
	if (launchers[i] && !getenv("DATSIM_FABRIC"))
		fprintf(stderr,
			"datsim run: each process that %s starts is on a private fabric and cannot "
			"reach the others; name one fabric for all: DATSIM_FABRIC=%s datsim run "
			"...\n",
			name, name);
}
