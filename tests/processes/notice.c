/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process is killed while it holds no lock. Its peer's connection must break within 100 ms.
 *
 * Each process checks the others every 40 ms, when its helper thread wakes. On a busy machine that
 * sleep takes longer; a process that only sleeps measures by how much, and the limit grows by it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "die.h"

#define ALLOWED_NS 100000000u
#define SLEEP_NS   40000000u
#define ROUNDS_MAX 100

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Writes 0 when it is connected, and the time when the connection breaks. */
static void notice_break(int report)
{
	struct peer peer = { 0 };
	uint64_t at = 0;

	peer_open(&peer);
	peer_connect(&peer);
	if (write(report, &at, sizeof(at)) != sizeof(at))
		_exit(1);
	expect_event(peer.connect, DAT_CONNECTION_EVENT_BROKEN);
	at = now_ns();
	_exit(write(report, &at, sizeof(at)) != sizeof(at));
}

static int by_size(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return (one > two) - (one < two);
}

/* A server, and a client connected to it */
static bool connect_two(const char *server, int report[2], pid_t pids[2])
{
	uint64_t connected;

	if (pipe(report))
		return false;
	pids[0] = start_process();
	if (pids[0] == 0)
		serve(server);
	pids[1] = start_process();
	if (pids[1] == 0)
		notice_break(report[1]);
	close(report[1]);
	return read(report[0], &connected, sizeof(connected)) == sizeof(connected);
}

/* The time until the break is seen, and how much longer than asked a sleep took meanwhile */
static bool kill_one(const char *server, uint64_t *took, uint64_t *late)
{
	const struct timespec pause = { .tv_nsec = SLEEP_NS };
	uint64_t killed, seen = 0;
	int report[2];
	pid_t pids[2];
	bool good;

	if (!connect_two(server, report, pids))
		return false;
	killed = now_ns();
	kill(pids[0], SIGKILL);
	nanosleep(&pause, NULL);
	*late = now_ns() - killed - SLEEP_NS;
	good = read(report[0], &seen, sizeof(seen)) == sizeof(seen);
	*took = seen - killed;
	close(report[0]);
	waitpid(pids[0], NULL, 0);
	waitpid(pids[1], NULL, 0);
	return good;
}

bool notice(const char *server, int rounds)
{
	uint64_t took[ROUNDS_MAX], late[ROUNDS_MAX];

	if (rounds > ROUNDS_MAX)
		rounds = ROUNDS_MAX;
	for (int i = 0; i < rounds; i++)
		if (!kill_one(server, &took[i], &late[i]))
			return false;
	qsort(took, (size_t)rounds, sizeof(took[0]), by_size);
	qsort(late, (size_t)rounds, sizeof(late[0]), by_size);
	printf("# a connection breaks %lu us after its other end died "
	       "(median of %d, at most %lu us); "
	       "a sleep takes %lu us too long\n",
	       took[rounds / 2] / 1000, rounds, took[rounds - 1] / 1000, late[rounds / 2] / 1000);
	return took[rounds / 2] <= ALLOWED_NS + 3 * late[rounds / 2];
}
