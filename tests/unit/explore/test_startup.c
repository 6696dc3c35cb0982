/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What datsim run asks the kernel about a program that it has started: does it listen at a TCP
 * port, by itself or in a program that it started? Does it wait, or has one of them work to do?
 */
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/support.h"
#include "tools/datsim/program/startup.h"

/* A socket at a port that the kernel chooses. */
static int bound(int family)
{
	struct sockaddr_in6 at = { .sin6_family = (sa_family_t)family };
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd >= 0)
		ck_assert_int_eq(bind(fd, (struct sockaddr *)&at,
				      family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(at)),
				 0);
	return fd;
}

static const int families[] = { AF_INET, AF_INET6 };

START_TEST(a_program_listens_from_listen_to_close)
{
	int other, fd;

	ck_assert(!startup_listens(getpid()));
	fd = bound(families[_i]);
	if (fd < 0)
		return; /* no IPv6 */
	other = bound(families[_i]);
	ck_assert(!startup_listens(getpid()));
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert(startup_listens(getpid()));
	close(other);
	ck_assert(startup_listens(getpid()));
	close(fd);
	ck_assert(!startup_listens(getpid()));
}
END_TEST

START_TEST(a_program_listens_if_one_that_it_started_does)
{
	int told[2], ended, fd = bound(AF_INET);
	char byte = 0;
	pid_t child;

	ck_assert_int_eq(pipe(told), 0);
	child = fork();
	if (child == 0) {
		ended = listen(fd, 1) == 0 && write(told[1], &byte, 1) == 1 ? pause() : 1;
		_exit(ended);
	}
	close(fd);
	ck_assert_int_eq(read(told[0], &byte, 1), 1);
	ck_assert(startup_listens(child));
	ck_assert(startup_listens(getpid()));
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert(!startup_listens(getpid()));
	close(told[0]);
	close(told[1]);
}
END_TEST

/* A shell, for example, waits for the server that it has started. */
START_TEST(a_program_does_not_wait_while_one_that_it_started_is_busy)
{
	int pids[2];
	pid_t parent, busy;

	ck_assert_int_eq(pipe(pids), 0);
	parent = fork();
	if (parent == 0) {
		busy = fork();
		while (busy == 0)
			;
		_exit(write(pids[1], &busy, sizeof(busy)) == sizeof(busy) ? pause() : 1);
	}
	ck_assert_int_eq(read(pids[0], &busy, sizeof(busy)), sizeof(busy));
	kill(busy, SIGSTOP);
	while (!startup_waits(parent))
		;
	kill(busy, SIGCONT);
	ck_assert(!startup_waits(parent));
	kill(busy, SIGKILL);
	while (!startup_waits(parent))
		;
	kill(parent, SIGKILL);
	ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
	ck_assert(!startup_waits(parent));
	close(pids[0]);
	close(pids[1]);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, a_program_listens_from_listen_to_close, (int)COUNT(families),
		 setup_nothing);
	unit_add(suite, a_program_listens_if_one_that_it_started_does, 1, setup_nothing);
	unit_add(suite, a_program_does_not_wait_while_one_that_it_started_is_busy, 1,
		 setup_nothing);
}

UNIT_SUITE("programs that start")
