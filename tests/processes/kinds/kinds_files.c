/* SPDX-License-Identifier: BSD-3-Clause */
/* kinds_files.c - kinds of programs that wait for descriptors, and files. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kinds.h"

/* ---- a child that closes all descriptors, as Python's does, and goes on for a while ---- */

#define ASK  3 /* descriptors of the child */
#define TELL 4

static void close_all(int how)
{
	if (how == 0)
		closefrom(TELL + 1);
	else if (how == 1)
		syscall(SYS_close_range, TELL + 1, UINT_MAX, 0);
	else
		for (int fd = TELL + 1; fd < 1024; fd++)
			close(fd);
}

static void close_and_wait(int how, int ask, int tell)
{
	char byte;

	dup2(ask, ASK);
	dup2(tell, TELL);
	close_all(how);
	must(write(TELL, "", 1) == 1 && read(ASK, &byte, 1) == 1, "no parent");
	execlp("sleep", "sleep", "0.1", (char *)NULL);
	_exit(1);
}

/* A process that joins finds out who is dead. */
static void begin_another(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	must(waitpid(pid, NULL, 0) == pid, "no other child");
}

int run_closes(void)
{
	int ask[2], tell[2], status;
	pid_t child;
	char byte;

	for (int how = 0; how < 3; how++) {
		must(pipe(ask) == 0 && pipe(tell) == 0, "no pipe");
		/* Not the numbers that the child gives them. */
		for (int i = 0; i < 2; i++) {
			ask[i] = fcntl(ask[i], F_DUPFD, TELL + 1);
			tell[i] = fcntl(tell[i], F_DUPFD, TELL + 1);
		}
		child = fork();
		if (child == 0)
			close_and_wait(how, ask[0], tell[1]);
		must(read(tell[0], &byte, 1) == 1, "no word of the child");
		begin_another();
		must(write(ask[1], "", 1) == 1, "no child that reads");
		must(waitpid(child, &status, 0) == child, "no child");
		printf("%d ended with %d\n", how, status);
	}
	return 0;
}
