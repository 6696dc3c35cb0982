/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standard.h - a forked child without some of its standard streams opens adapters; libdat must use
 * none of their descriptors.
 */
#ifndef TESTS_KERNEL_STANDARD_H
#define TESTS_KERNEL_STANDARD_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/support.h"

/* Every set of closed standard streams but the empty one, as a mask */
#define STANDARD_SETS 8

/*
 * How often a test looks whether a stream is free. The helper thread of lockstep opens files of
 * /proc, and holds the descriptor of a closed stream until process_fd has moved it.
 */
#define STANDARD_LOOKS 100000

static inline bool standard_open(int mask)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if ((mask & 1 << fd) && fcntl(fd, F_GETFD) >= 0)
			return true;
	return false;
}

/* True if a descriptor of the mask is open, and stays so. */
static inline bool standard_used(int mask)
{
	for (int look = 0; look < STANDARD_LOOKS; look++) {
		if (!standard_open(mask))
			return false;
		sched_yield();
	}
	return true;
}

/* Run child(mask) in a process without these streams; it returns 0 if all was well. */
static inline void standard_close_and_run(int mask, int (*child)(int mask))
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			if (mask & 1 << fd)
				close(fd);
		_exit(child(mask));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "descriptors closed: mask %d; wait status %#x", mask, status);
}

#endif /* TESTS_KERNEL_STANDARD_H */
