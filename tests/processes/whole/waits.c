/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waits first | waits second - two programs that wait for timers (timerfd) by each call that can,
 * for counts (eventfd) of a thread, and for each other by pipes with names: "there" and "back",
 * which the caller has made. They print for how long, in virtual time.
 */
#include <dat/udat.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000l

static const char *me;

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "waits %s: %s\n", me, what);
	exit(1);
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / MS;
}

static struct timespec ts_of(long ms)
{
	return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS };
}

static void nap(long ms)
{
	const struct timespec ts = ts_of(ms);

	check(nanosleep(&ts, NULL) == 0, "nanosleep failed");
}

/* ---- timers ---- */

static int make_timer(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	check(fd >= 0, "timerfd_create failed");
	return fd;
}

static void arm(int fd, long ms, long every)
{
	const struct itimerspec value = { .it_value = ts_of(ms), .it_interval = ts_of(every) };

	check(timerfd_settime(fd, 0, &value, NULL) == 0, "timerfd_settime failed");
}

static uint64_t expirations(int fd)
{
	uint64_t times;

	check(read(fd, &times, sizeof(times)) == sizeof(times), "read failed");
	return times;
}

static void by_read(int fd)
{
	(void)fd; /* the read that follows waits */
}

static void by_poll(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	check(poll(&pfd, 1, -1) == 1 && pfd.revents == POLLIN, "poll found nothing");
}

static void by_select(int fd)
{
	struct timeval hour = { .tv_sec = 3600 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	check(select(fd + 1, &set, NULL, NULL, &hour) == 1 && FD_ISSET(fd, &set),
	      "select found nothing");
}

static void by_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 &&
		      epoll_wait(epoll, &event, 1, 3600000) == 1 && event.events == EPOLLIN,
	      "epoll_wait found nothing");
	close(epoll);
}

static const struct way {
	const char *name;
	void (*wait)(int fd);
} ways[] = { { "read", by_read },
	     { "poll", by_poll },
	     { "select", by_select },
	     { "epoll_wait", by_epoll } };

/* Once, and then from 10 ms on each 20 ms, of which 50 pass: three times. */
static void wait_for_timer(const struct way *way)
{
	long begin = now_ms();
	uint64_t once, late, next;
	int fd = make_timer();

	arm(fd, 30, 0);
	way->wait(fd);
	once = expirations(fd);
	printf("%s, %s: %d after %ld ms", me, way->name, (int)once, now_ms() - begin);
	begin = now_ms();
	arm(fd, 10, 20);
	nap(55);
	way->wait(fd);
	late = expirations(fd);
	way->wait(fd);
	next = expirations(fd);
	printf(", %d and %d after %ld ms\n", (int)late, (int)next, now_ms() - begin);
	close(fd);
}

/* One that is disarmed, or has been read, does not end a wait. */
static void wait_for_none(void)
{
	struct pollfd pfd = { .fd = make_timer(), .events = POLLIN };
	long begin = now_ms();

	arm(pfd.fd, 10, 0);
	arm(pfd.fd, 0, 0);
	check(poll(&pfd, 1, 30) == 0, "a timer that is not armed expires");
	arm(pfd.fd, 10, 0);
	check(expirations(pfd.fd) == 1 && poll(&pfd, 1, 30) == 0, "a timer expires twice");
	printf("%s, none: after %ld ms\n", me, now_ms() - begin);
	close(pfd.fd);
}

/* ---- counts ---- */

static int given, taken; /* eventfds */

static void *count(void *arg)
{
	eventfd_t value;

	check(eventfd_read(given, &value) == 0 && value == 5, "another value was counted");
	nap(20);
	check(eventfd_read(taken, &value) == 0 && value == UINT64_MAX - 1, "not what was given");
	return arg;
}

/* The second value fits when the thread has taken the first one. */
static void wait_for_counts(void)
{
	long begin = now_ms();
	pthread_t thread;

	given = eventfd(0, 0);
	taken = eventfd(0, 0);
	check(given >= 0 && taken >= 0, "eventfd failed");
	check(pthread_create(&thread, NULL, count, NULL) == 0, "pthread_create failed");
	nap(10);
	check(eventfd_write(given, 5) == 0 && eventfd_write(taken, UINT64_MAX - 1) == 0 &&
		      eventfd_write(taken, 1) == 0,
	      "eventfd_write failed");
	printf("%s, counts: after %ld ms\n", me, now_ms() - begin);
	check(pthread_join(thread, NULL) == 0, "pthread_join failed");
	close(given);
	close(taken);
}

/* ---- pipes with names ---- */

static void say(const char *pipe)
{
	long begin = now_ms();
	int fd = open(pipe, O_WRONLY);

	check(fd >= 0, "a pipe cannot be opened");
	begin = now_ms() - begin;
	nap(10);
	check(dprintf(fd, "after %ld ms\n", begin) > 0 && close(fd) == 0, "dprintf failed");
}

static void hear(const char *pipe)
{
	long begin = now_ms(), opened;
	FILE *file = fopen(pipe, "r");
	char line[40];

	check(file, "a pipe cannot be opened");
	opened = now_ms() - begin;
	check(fgets(line, sizeof(line), file) == line, "nothing came");
	line[strcspn(line, "\n")] = '\0';
	printf("%s, %s: opened after %ld ms, by the other one %s, read after %ld ms\n", me, pipe,
	       opened, line, now_ms() - begin);
	check(fgets(line, sizeof(line), file) == NULL, "the pipe does not end");
	fclose(file);
}

/* Each end is the first one to open a pipe twice. */
static void wait_for_other(bool first)
{
	for (int i = 0; i < 4; i++) {
		if (first == (i < 2))
			nap(20);
		if (first == (i % 2 == 0))
			say(i % 2 ? "back" : "there");
		else
			hear(i % 2 ? "back" : "there");
	}
}

static void open_adapter(void)
{
	char name[] = "emu0";
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	check(dat_ia_open(name, 8, &async, &ia) == DAT_SUCCESS, "dat_ia_open failed");
	check(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS, "dat_ia_close failed");
}

int main(int argc, char **argv)
{
	me = argc == 2 ? argv[1] : "";
	check(!strcmp(me, "first") || !strcmp(me, "second"), "first, or second");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		wait_for_timer(&ways[i]);
	wait_for_none();
	wait_for_counts();
	wait_for_other(!strcmp(me, "first"));
	open_adapter();
	return 0;
}
