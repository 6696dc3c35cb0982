/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_sync.c - semaphores and condition variables of a program in lockstep. */
#define _GNU_SOURCE
#include <semaphore.h>

#include "turns.h"

/* Else libc refuses the time before it looks at anything. The seconds may be any. */
static bool has_valid_ns(const struct timespec *abs)
{
	return (uint64_t)abs->tv_nsec < TURNS_NS;
}

/* ---- semaphores ---- */

/* glibc keeps that behind the value. Those of sem_open are shared. */
static bool is_shared_sem(const sem_t *sem)
{
	return ((const int *)sem)[2] != 0;
}

/* The process that posts may be another one. */
static bool wait_for_sem(const sem_t *sem, uint64_t ns)
{
	return is_shared_sem(sem) ? turns_wait_fd(ns) : turns_wait_own(ns);
}

int turns_sem_trywait(sem_t *sem) __asm__("sem_trywait");
int turns_sem_trywait(sem_t *sem)
{
	bool ours = PROGRAM;
	int result = REAL(sem_trywait)(sem);

	if (ours && result < 0 && errno == EAGAIN)
		turns_yield_briefly();
	return result;
}

int turns_sem_wait(sem_t *sem) __asm__("sem_wait");
int turns_sem_wait(sem_t *sem)
{
	bool ours = PROGRAM, waited = false;

	while (ours) {
		pthread_testcancel();
		if (REAL(sem_trywait)(sem) == 0)
			return 0;
		if (errno == EAGAIN && waited && turns_interrupted(true))
			return -1;
		waited = true;
		if (errno != EAGAIN || !wait_for_sem(sem, OUTSIDE_NEVER))
			break;
	}
	return REAL(sem_wait)(sem);
}

/* Linux restarts no futex that has a limit. */
static int sem_until(sem_t *sem, clockid_t clock, const struct timespec *abs)
{
	uint64_t end = turns_after(turns_now(), turns_until(clock, abs)), t;
	struct timespec room;
	bool waited = false;

	for (;;) {
		pthread_testcancel();
		if (REAL(sem_trywait)(sem) == 0)
			return 0;
		if (errno == EAGAIN && waited && turns_interrupted(false))
			return -1;
		t = turns_now();
		if (errno == EAGAIN && t >= end) {
			if (!waited)
				turns_found_nothing();
			errno = ETIMEDOUT;
		}
		waited = true;
		if (errno != EAGAIN)
			return -1;
		if (!wait_for_sem(sem, turns_left(end, t)))
			return REAL(sem_clockwait)(sem, clock,
						   turns_real_time(true, clock, abs, &room));
	}
}

int turns_sem_timedwait(sem_t *sem, const struct timespec *abs) __asm__("sem_timedwait");
int turns_sem_timedwait(sem_t *sem, const struct timespec *abs)
{
	bool ours = PROGRAM && has_valid_ns(abs);

	return ours ? sem_until(sem, CLOCK_REALTIME, abs) : REAL(sem_timedwait)(sem, abs);
}

int turns_sem_clockwait(sem_t *sem, clockid_t clock,
			const struct timespec *abs) __asm__("sem_clockwait");
int turns_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *abs)
{
	bool ours = PROGRAM && has_valid_ns(abs) && turns_is_lock_clock(clock);

	return ours ? sem_until(sem, clock, abs) : REAL(sem_clockwait)(sem, clock, abs);
}

int turns_sem_post(sem_t *sem) __asm__("sem_post");
int turns_sem_post(sem_t *sem)
{
	/* Asked before: the thread that is woken may join the fabric, or destroy it. */
	bool ours = PROGRAM, shared = is_shared_sem(sem);
	int err = REAL(sem_post)(sem);

	if (ours)
		turns_tell(shared);
	return err;
}

/* ---- condition variables ---- */

/* A thread that waits for a condition, and the mutex that it takes again. */
struct cond_wait {
	struct turns_waiter *waiter;
	pthread_mutex_t *mutex;
	bool shared;
};

/* In glibc, a bit of its flags. */
static bool is_shared_cond(const pthread_cond_t *cond)
{
	return cond->__data.__wrefs & 1;
}

/* The thread's handlers run with the mutex held, as POSIX has it. */
static void cond_cancelled(void *arg)
{
	struct cond_wait *wait = arg;

	turns_mutex_lock(wait->mutex);
	turns_waiter_end(wait->waiter);
}

/* Until it is told, or the time is over, or the caller has to wait as usual (*real). */
static int cond_await(const struct cond_wait *wait, uint64_t t, uint64_t end, bool *real)
{
	int err = 0;

	if (t >= end)
		turns_found_nothing();
	while (!err && !*real && !turns_waiter_told(wait->waiter)) {
		pthread_testcancel();
		if (t >= end)
			err = ETIMEDOUT;
		else if (!turns_let_others(turns_left(end, t), wait->shared))
			*real = true;
		t = end != OUTSIDE_NEVER && !*real ? turns_now() : 0;
	}
	return err;
}

/*
 * Any signal wakes all: POSIX lets a wait end without a signal. An error of the mutex is that of
 * the wait: the caller may have to repair what it protects (EOWNERDEAD).
 */
int turns_cond_until(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
		     const struct timespec *abs, bool *real)
{
	bool valid = !abs || has_valid_ns(abs), shared = is_shared_cond(cond);
	struct cond_wait wait = { valid ? turns_waiter_begin(cond, shared) : NULL, mutex, shared };
	uint64_t t = abs ? turns_now() : 0;
	uint64_t end = abs ? turns_after(t, turns_until(clock, abs)) : OUTSIDE_NEVER;
	int err, of_mutex;

	*real = !wait.waiter;
	if (*real)
		return 0;
	err = turns_mutex_unlock(mutex);
	if (err) {
		turns_waiter_end(wait.waiter);
		return err;
	}
	pthread_cleanup_push(cond_cancelled, &wait);
	err = cond_await(&wait, t, end, real);
	pthread_cleanup_pop(0);
	of_mutex = turns_mutex_lock(mutex);
	*real &= !turns_waiter_told(wait.waiter) && !of_mutex;
	turns_waiter_end(wait.waiter);
	if (!*real)
		pthread_testcancel();
	return of_mutex ? of_mutex : err;
}

int turns_pthread_cond_wait(pthread_cond_t *cond,
			    pthread_mutex_t *mutex) __asm__("pthread_cond_wait");
int turns_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	bool real = !PROGRAM;
	int err = 0;

	if (!real)
		err = turns_cond_until(cond, mutex, CLOCK_REALTIME, NULL, &real);
	return real ? REAL_COND(pthread_cond_wait)(cond, mutex) : err;
}

/* In glibc, another bit of its flags. */
static clockid_t cond_clock(const pthread_cond_t *cond)
{
	return cond->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

int turns_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				 const struct timespec *abs) __asm__("pthread_cond_timedwait");
int turns_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				 const struct timespec *abs)
{
	bool ours = PROGRAM, real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_cond_until(cond, mutex, cond_clock(cond), abs, &real);
	if (!real)
		return err;
	abs = turns_real_time(ours, cond_clock(cond), abs, &room);
	return REAL_COND(pthread_cond_timedwait)(cond, mutex, abs);
}

int turns_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				 const struct timespec *abs) __asm__("pthread_cond_clockwait");
int turns_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				 const struct timespec *abs)
{
	bool ours = PROGRAM && turns_is_lock_clock(clock), real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_cond_until(cond, mutex, clock, abs, &real);
	if (!real)
		return err;
	abs = turns_real_time(ours, clock, abs, &room);
	return REAL(pthread_cond_clockwait)(cond, mutex, clock, abs);
}

int turns_pthread_cond_signal(pthread_cond_t *cond) __asm__("pthread_cond_signal");
int turns_pthread_cond_signal(pthread_cond_t *cond)
{
	if (PROGRAM)
		turns_waiters_tell(cond, is_shared_cond(cond));
	return REAL_COND(pthread_cond_signal)(cond);
}

int turns_pthread_cond_broadcast(pthread_cond_t *cond) __asm__("pthread_cond_broadcast");
int turns_pthread_cond_broadcast(pthread_cond_t *cond)
{
	if (PROGRAM)
		turns_waiters_tell(cond, is_shared_cond(cond));
	return REAL_COND(pthread_cond_broadcast)(cond);
}
