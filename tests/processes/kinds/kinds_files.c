/* SPDX-License-Identifier: BSD-3-Clause */
/* kinds_files.c - kinds of programs that wait for descriptors, and files. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
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

/* ---- a timer with several descriptors ---- */

static void expire(int set, int wait)
{
	const struct itimerspec soon = { .it_value = { .tv_nsec = 20000000 } };
	uint64_t times;

	must(timerfd_settime(set, 0, &soon, NULL) == 0, "not a timer");
	must(read(wait, &times, sizeof(times)) == sizeof(times), "no expiration");
	printf("expired %d\n", (int)times);
}

int run_copies(void)
{
	int first = timerfd_create(CLOCK_MONOTONIC, 0), second = dup(first), third;
	struct itimerspec left;
	pid_t child;

	expire(second, first);
	close(first);
	expire(second, second);
	third = dup2(second, 77);
	expire(third, second);
	close_range((unsigned int)second, (unsigned int)second, 0);
	first = fcntl(third, F_DUPFD, 5);
	close(third);
	child = fork();
	if (child == 0) {
		expire(first, first);
		_exit(0);
	}
	must(waitpid(child, NULL, 0) == child, "no child");
	must(dup2(STDIN_FILENO, first) == first, "no copy");
	must(timerfd_gettime(first, &left) == -1, "it is a timer no more");
	return 0;
}

/* ---- locks of records of a file ---- */

static void lock_and_say(int fd, int way)
{
	struct flock lock = { .l_type = F_WRLCK };

	if (way == 0)
		must(lockf(fd, F_LOCK, 0) == 0, "no lock");
	else
		must(fcntl(fd, way == 1 ? F_SETLKW : F_OFD_SETLKW, &lock) == 0, "no lock");
	printf("child locks %d\n", way);
	_exit(0);
}

int run_records(void)
{
	char path[] = "/tmp/kinds-XXXXXX";
	struct flock lock = { .l_type = F_WRLCK };
	int fd = mkstemp(path), again = open(path, O_RDWR);
	pid_t child;

	must(fd >= 0 && again >= 0, "no file");
	for (int way = 0; way < 3; way++) {
		must(fcntl(fd, way == 2 ? F_OFD_SETLK : F_SETLK, &lock) == 0, "no lock");
		child = fork();
		if (child == 0)
			lock_and_say(again, way);
		sleep_ms(20);
		printf("parent lets %d go\n", way);
		lock.l_type = F_UNLCK;
		must(fcntl(fd, way == 2 ? F_OFD_SETLK : F_SETLK, &lock) == 0, "no unlock");
		lock.l_type = F_WRLCK;
		must(waitpid(child, NULL, 0) == child, "no child");
	}
	unlink(path);
	return 0;
}
