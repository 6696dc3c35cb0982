/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_syscall.c - syscall() of a program in lockstep: the kernel's own futex, ids of processes
 * and threads, random numbers and clocks. Another call is the kernel's, and if it blocks the thread
 * is preempted.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "turns.h"

struct args {
	long a, b, c, d, e, f;
};

static long fail_with(int err)
{
	errno = err;
	return -1;
}

/* The time of a FUTEX_WAIT is relative, that of a FUTEX_WAIT_BITSET is not. */
static uint64_t futex_ns(int op, const struct timespec *ts)
{
	clockid_t clock = op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;

	if (!ts)
		return OUTSIDE_NEVER;
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
		return turns_until(clock, ts);
	return turns_later(turns_ns(ts));
}

static uint32_t value_of(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* A futex may wake without cause: a thread tests its word again when anything has been told. */
static long wait_for_futex(const struct args *a, bool *real)
{
	const uint32_t *word = (const uint32_t *)a->a;
	const struct timespec *ts = (const struct timespec *)a->d;
	uint64_t ns, begin = ts ? turns_now() : 0;

	*real = ts && !turns_is_valid(ts);
	if (*real)
		return 0;
	ns = futex_ns((int)a->b, ts);
	if (value_of(word) != (uint32_t)a->c)
		return fail_with(EAGAIN);
	if (ns == 0) {
		turns_found_nothing();
		return fail_with(ETIMEDOUT);
	}
	*real = !turns_wait_fd(ns);
	if (*real)
		return 0;
	if (value_of(word) == (uint32_t)a->c && turns_interrupted(!ts))
		return -1;
	if (ts && turns_now() - begin >= ns && value_of(word) == (uint32_t)a->c)
		return fail_with(ETIMEDOUT);
	return 0;
}

static long call_kernel(long n, const struct args *a)
{
	return REAL(syscall)(n, a->a, a->b, a->c, a->d, a->e, a->f);
}

static long call_and_tell(long n, const struct args *a)
{
	long result = call_kernel(n, a);

	if (result == 0)
		turns_tell(true);
	return result;
}

static long call_futex(const struct args *a)
{
	int op = (int)a->b & FUTEX_CMD_MASK;
	bool real = true;
	long result = 0;

	if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET)
		result = wait_for_futex(a, &real);
	if (real)
		result = call_kernel(SYS_futex, a);
	if (real && result >= 0)
		turns_tell(true);
	return result;
}

static long call_clock_gettime(const struct args *a)
{
	return a->b ? turns_gettime((clockid_t)a->a, (struct timespec *)a->b)
		    : call_kernel(SYS_clock_gettime, a);
}

static long call_gettimeofday(const struct args *a)
{
	struct timeval *tv = (struct timeval *)a->a;
	struct timespec ts;

	if (!tv || a->b)
		return call_kernel(SYS_gettimeofday, a);
	turns_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){ .tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000 };
	return 0;
}

/* To a process, to a thread, or to both ids. */
static long call_kill(long n, const struct args *a)
{
	struct args meant = *a;

	meant.a = turns_id_meant((pid_t)a->a);
	if (n == SYS_tgkill)
		meant.b = turns_pid_meant((pid_t)a->b);
	return call_and_tell(n, &meant);
}

/* With six arguments, whatever their number: those that the caller did not pass are not used. */
long turns_syscall(long n, long a, long b, long c, long d, long e, long f) __asm__("syscall");
long turns_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	const struct args args = { a, b, c, d, e, f };

	if (!PROGRAM)
		return call_kernel(n, &args);
	switch (n) {
	case SYS_futex:
		return call_futex(&args);
	case SYS_getpid:
		return turns_pid_shown(REAL(getpid)());
	case SYS_gettid:
		return turns_tid();
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
		return call_kill(n, &args);
	case SYS_pidfd_open:
		return call_kernel(n, &(struct args){ .a = turns_pid_meant((pid_t)a), .b = b });
	case SYS_pidfd_send_signal:
		return call_and_tell(n, &args);
	case SYS_close_range:
		return turns_close_range((unsigned int)a, (unsigned int)b, (int)c);
	case SYS_getrandom:
		if (!turns_random_flags((unsigned int)c))
			return call_kernel(n, &args);
		turns_random((void *)a, (size_t)b);
		return b;
	case SYS_clock_gettime:
		return call_clock_gettime(&args);
	case SYS_gettimeofday:
		return call_gettimeofday(&args);
	default:
		return call_kernel(n, &args);
	}
}
