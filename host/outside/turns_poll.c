/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_poll.c - waiting for several descriptors, of a program in lockstep. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "turns.h"

/* errno stays, also if handlers run now. */
static void set_mask(const sigset_t *mask)
{
	int before = errno;

	pthread_sigmask(SIG_SETMASK, mask, NULL);
	errno = before;
}

/*
 * Test now, and again until the time is over (OUTSIDE_NEVER: it never is). The result of the last
 * test; *real: the caller has to wait as usual. mask: of the call, or NULL. The tests let in the
 * signals that it does not block, and the waits none that it blocks.
 */
static int test_until(int (*test)(const void *), const void *arg, uint64_t ns, const sigset_t *mask,
		      bool *real)
{
	uint64_t t = turns_now(), end = turns_after(t, turns_later(ns));
	sigset_t before;
	int n;

	turns_timers_fire();
	n = test(arg);

	*real = false;
	if (n == 0 && ns == 0) {
		turns_found_nothing();
		return n;
	}
	if (n == 0 && mask)
		pthread_sigmask(SIG_BLOCK, mask, &before);
	else
		mask = NULL;
	while (n == 0 && t < end && !*real) {
		*real = !turns_wait_fd(turns_left(end, t));
		pthread_testcancel();
		turns_timers_fire();
		n = test(arg);
		if (n == 0 && !*real && turns_interrupted(false))
			n = -1;
		t = turns_now();
	}
	if (mask)
		set_mask(&before);
	*real &= n == 0;
	return n;
}

static uint64_t ns_of_ms(int ms)
{
	return ms < 0 ? OUTSIDE_NEVER : (uint64_t)ms * 1000000;
}

/* NULL: there is no limit. */
static uint64_t ns_of(const struct timespec *ts)
{
	return ts ? turns_ns(ts) : OUTSIDE_NEVER;
}

/* Else libc refuses it. */
static bool is_limit(const struct timespec *ts)
{
	return !ts || turns_is_valid(ts);
}

/* ---- poll ---- */

struct poll_args {
	struct pollfd *fds;
	nfds_t n;
	const sigset_t *mask; /* of ppoll, or NULL */
};

static int test_poll(const void *args)
{
	const struct poll_args *a = args;
	const struct timespec none = { 0 };

	return REAL(ppoll)(a->fds, a->n, &none, a->mask);
}

static int poll_in_turn(struct pollfd *fds, nfds_t n, int ms)
{
	const struct poll_args args = { fds, n, NULL };
	bool real;
	int got = test_until(test_poll, &args, ns_of_ms(ms), NULL, &real);

	return real ? REAL(poll)(fds, n, ms) : got;
}

int turns_poll(struct pollfd *fds, nfds_t n, int ms) __asm__("poll");
int turns_poll(struct pollfd *fds, nfds_t n, int ms)
{
	return PROGRAM ? poll_in_turn(fds, n, ms) : REAL(poll)(fds, n, ms);
}

/* As the headers call it in a fortified program. */
int turns_poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t size) __asm__("__poll_chk");
int turns_poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t size)
{
	if (size / sizeof(*fds) < n)
		__builtin_trap();
	return PROGRAM ? poll_in_turn(fds, n, ms) : REAL(poll)(fds, n, ms);
}

static int ppoll_in_turn(struct pollfd *fds, nfds_t n, const struct timespec *ts,
			 const sigset_t *mask)
{
	const struct poll_args args = { fds, n, mask };
	bool real;
	int got = test_until(test_poll, &args, ns_of(ts), mask, &real);

	return real ? REAL(ppoll)(fds, n, ts, mask) : got;
}

int turns_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
		const sigset_t *mask) __asm__("ppoll");
int turns_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask)
{
	bool ours = PROGRAM && is_limit(ts);

	return ours ? ppoll_in_turn(fds, n, ts, mask) : REAL(ppoll)(fds, n, ts, mask);
}

int turns_ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask,
		    size_t size) __asm__("__ppoll_chk");
int turns_ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask,
		    size_t size)
{
	if (size / sizeof(*fds) < n)
		__builtin_trap();
	bool ours = PROGRAM && is_limit(ts);

	return ours ? ppoll_in_turn(fds, n, ts, mask) : REAL(ppoll)(fds, n, ts, mask);
}

/* ---- select ---- */

struct select_args {
	int n;
	fd_set *sets[3];
	fd_set before[3];
	const sigset_t *mask; /* of pselect, or NULL */
};

static int test_select(const void *args)
{
	const struct select_args *a = args;
	const struct timespec none = { 0 };

	for (int i = 0; i < 3; i++)
		if (a->sets[i])
			*a->sets[i] = a->before[i];
	return REAL(pselect)(a->n, a->sets[0], a->sets[1], a->sets[2], &none, a->mask);
}

/* The sets are as they were if *real. */
static int select_until(struct select_args *a, uint64_t ns, bool *real)
{
	int got;

	for (int i = 0; i < 3; i++)
		if (a->sets[i])
			a->before[i] = *a->sets[i];
	got = test_until(test_select, a, ns, a->mask, real);
	for (int i = 0; *real && i < 3; i++)
		if (a->sets[i])
			*a->sets[i] = a->before[i];
	return got;
}

/* As libc takes it: there may be seconds among the microseconds. NULL: there is no limit. */
static uint64_t ns_of_select(const struct timeval *timeout)
{
	struct timespec ts;

	if (!timeout || (uint64_t)timeout->tv_sec >= TURNS_MOST_NS / TURNS_NS)
		return OUTSIDE_NEVER;
	ts.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000;
	ts.tv_nsec = timeout->tv_usec % 1000000 * 1000;
	return turns_ns(&ts);
}

/* Linux writes what is left of the time, even if a signal has interrupted it. */
static int select_in_turn(struct select_args *a, struct timeval *timeout)
{
	uint64_t ns = ns_of_select(timeout), begin = turns_now(), past;
	int got, err;
	bool real;

	got = select_until(a, ns, &real);
	if (real)
		return REAL(select)(a->n, a->sets[0], a->sets[1], a->sets[2], timeout);
	if (ns == 0 || ns == OUTSIDE_NEVER)
		return got;
	err = errno;
	past = turns_now() - begin;
	errno = err;
	ns = past < ns ? ns - past : 0;
	*timeout = (struct timeval){ .tv_sec = (time_t)(ns / TURNS_NS),
				     .tv_usec = (suseconds_t)(ns % TURNS_NS / 1000) };
	return got;
}

int turns_select(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *timeout) __asm__("select");
int turns_select(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *timeout)
{
	struct select_args args = { .n = n, .sets = { r, w, x } };

	/* A larger set than this one's type: the program knows what it does. */
	if (n > FD_SETSIZE || !PROGRAM ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return REAL(select)(n, r, w, x, timeout);
	return select_in_turn(&args, timeout);
}

int turns_pselect(int n, fd_set *r, fd_set *w, fd_set *x, const struct timespec *ts,
		  const sigset_t *mask) __asm__("pselect");
int turns_pselect(int n, fd_set *r, fd_set *w, fd_set *x, const struct timespec *ts,
		  const sigset_t *mask)
{
	struct select_args args = { .n = n, .sets = { r, w, x }, .mask = mask };
	bool real;
	int got;

	if (n > FD_SETSIZE || !PROGRAM || !is_limit(ts))
		return REAL(pselect)(n, r, w, x, ts, mask);
	got = select_until(&args, ns_of(ts), &real);
	return real ? REAL(pselect)(n, r, w, x, ts, mask) : got;
}

/* ---- epoll ---- */

struct epoll_args {
	int fd, max;
	struct epoll_event *events;
	const sigset_t *mask; /* of epoll_pwait, or NULL */
	bool waits;           /* the call has time to wait */
};

static int test_epoll(const void *args)
{
	const struct epoll_args *a = args;
	const struct timespec none = { 0 };
	int n = REAL(epoll_pwait)(a->fd, a->events, a->max, 0, a->mask);

	/* Without time to wait, it lets no signal in; ppoll does, for a call that may wait. */
	return n == 0 && a->mask && a->waits ? REAL(ppoll)(NULL, 0, &none, a->mask) : n;
}

int turns_epoll_wait(int fd, struct epoll_event *events, int max, int ms) __asm__("epoll_wait");
int turns_epoll_wait(int fd, struct epoll_event *events, int max, int ms)
{
	const struct epoll_args args = { fd, max, events, NULL, false };
	bool real;
	int got = 0;

	if (ms != 0 && turns_wait_before(fd, ms))
		ms = 0;
	real = !PROGRAM;
	if (!real)
		got = test_until(test_epoll, &args, ns_of_ms(ms), NULL, &real);
	return real ? REAL(epoll_wait)(fd, events, max, ms) : got;
}

int turns_epoll_pwait(int fd, struct epoll_event *events, int max, int ms,
		      const sigset_t *mask) __asm__("epoll_pwait");
int turns_epoll_pwait(int fd, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	const struct epoll_args args = { fd, max, events, mask, ms != 0 };
	bool real = !PROGRAM;
	int got = 0;

	if (!real)
		got = test_until(test_epoll, &args, ns_of_ms(ms), mask, &real);
	return real ? REAL(epoll_pwait)(fd, events, max, ms, mask) : got;
}

int turns_epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *ts,
		       const sigset_t *mask) __asm__("epoll_pwait2");
int turns_epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *ts,
		       const sigset_t *mask)
{
	const struct epoll_args args = { fd, max, events, mask, ns_of(ts) != 0 };
	bool real = !PROGRAM || !is_limit(ts);
	int got = 0;

	if (!real)
		got = test_until(test_epoll, &args, ns_of(ts), mask, &real);
	return real ? REAL(epoll_pwait2)(fd, events, max, ts, mask) : got;
}
