/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_c11.c - <threads.h> of a program in lockstep, and what is to run once. In glibc the types
 * are those of pthreads, and the calls use its internal functions, which no library can replace.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <threads.h>

#include "turns.h"

#define RETEST_NS 1000000u /* a function may end by an exception, which tells no thread */

static int thrd_answer(int err)
{
	switch (err) {
	case 0:
		return thrd_success;
	case ENOMEM:
		return thrd_nomem;
	case ETIMEDOUT:
		return thrd_timedout;
	case EBUSY:
		return thrd_busy;
	default:
		return thrd_error;
	}
}

/* ---- threads ---- */

struct start {
	thrd_start_t run;
	void *arg;
};

static void *start_thread(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	return (void *)(intptr_t)start.run(start.arg);
}

int turns_thrd_create(thrd_t *thread, thrd_start_t run, void *arg) __asm__("thrd_create");
int turns_thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
	struct start *start = PROGRAM ? malloc(sizeof(*start)) : NULL;
	int err;

	if (!start)
		return REAL(thrd_create)(thread, run, arg);
	*start = (struct start){ run, arg };
	if (turns_create(thread, NULL, start_thread, start, &err)) {
		if (err)
			free(start);
		return thrd_answer(err);
	}
	free(start);
	return REAL(thrd_create)(thread, run, arg);
}

int turns_thrd_join(thrd_t thread, int *result) __asm__("thrd_join");
int turns_thrd_join(thrd_t thread, int *result)
{
	void *value;
	int err;

	if (!PROGRAM)
		return REAL(thrd_join)(thread, result);
	err = turns_join(thread, &value);
	if (!err && result)
		*result = (int)(intptr_t)value;
	return thrd_answer(err);
}

/* 0; -1: a handler has run; another negative number: the time is invalid. */
int turns_thrd_sleep(const struct timespec *ts, struct timespec *left) __asm__("thrd_sleep");
int turns_thrd_sleep(const struct timespec *ts, struct timespec *left)
{
	if (!PROGRAM || !turns_is_valid(ts))
		return REAL(thrd_sleep)(ts, left);
	return turns_sleep_for(ts, left);
}

void turns_thrd_yield(void) __asm__("thrd_yield");
void turns_thrd_yield(void)
{
	if (PROGRAM)
		turns_yield_briefly();
	REAL(thrd_yield)();
}

/* ---- mutexes ---- */

static pthread_mutex_t *mutex_of(mtx_t *mutex)
{
	return (pthread_mutex_t *)mutex;
}

int turns_mtx_lock(mtx_t *mutex) __asm__("mtx_lock");
int turns_mtx_lock(mtx_t *mutex)
{
	return PROGRAM ? thrd_answer(turns_mutex_lock(mutex_of(mutex))) : REAL(mtx_lock)(mutex);
}

int turns_mtx_timedlock(mtx_t *mutex, const struct timespec *abs) __asm__("mtx_timedlock");
int turns_mtx_timedlock(mtx_t *mutex, const struct timespec *abs)
{
	bool ours = PROGRAM, real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_mutex_until(mutex_of(mutex), CLOCK_REALTIME, abs, &real);
	if (!real)
		return thrd_answer(err);
	return REAL(mtx_timedlock)(mutex, turns_real_time(ours, CLOCK_REALTIME, abs, &room));
}

int turns_mtx_trylock(mtx_t *mutex) __asm__("mtx_trylock");
int turns_mtx_trylock(mtx_t *mutex)
{
	bool ours = PROGRAM;
	int answer = REAL(mtx_trylock)(mutex);

	if (ours && answer == thrd_busy)
		turns_yield_briefly();
	return answer;
}

int turns_mtx_unlock(mtx_t *mutex) __asm__("mtx_unlock");
int turns_mtx_unlock(mtx_t *mutex)
{
	return PROGRAM ? thrd_answer(turns_mutex_unlock(mutex_of(mutex))) : REAL(mtx_unlock)(mutex);
}

/* ---- condition variables ---- */

static pthread_cond_t *cond_of(cnd_t *cond)
{
	return (pthread_cond_t *)cond;
}

int turns_cnd_wait(cnd_t *cond, mtx_t *mutex) __asm__("cnd_wait");
int turns_cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	bool real = !PROGRAM;
	int err = 0;

	if (!real)
		err = turns_cond_until(cond_of(cond), mutex_of(mutex), CLOCK_REALTIME, NULL, &real);
	return real ? REAL(cnd_wait)(cond, mutex) : thrd_answer(err);
}

int turns_cnd_timedwait(cnd_t *cond, mtx_t *mutex,
			const struct timespec *abs) __asm__("cnd_timedwait");
int turns_cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *abs)
{
	bool ours = PROGRAM, real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_cond_until(cond_of(cond), mutex_of(mutex), CLOCK_REALTIME, abs, &real);
	if (!real)
		return thrd_answer(err);
	abs = turns_real_time(ours, CLOCK_REALTIME, abs, &room);
	return REAL(cnd_timedwait)(cond, mutex, abs);
}

int turns_cnd_signal(cnd_t *cond) __asm__("cnd_signal");
int turns_cnd_signal(cnd_t *cond)
{
	if (PROGRAM)
		turns_waiters_tell(cond, false);
	return REAL(cnd_signal)(cond);
}

int turns_cnd_broadcast(cnd_t *cond) __asm__("cnd_broadcast");
int turns_cnd_broadcast(cnd_t *cond)
{
	if (PROGRAM)
		turns_waiters_tell(cond, false);
	return REAL(cnd_broadcast)(cond);
}

/* ---- once ---- */

/* In glibc the word has what is done in two bits, and above them a number of the forks so far. */
#define ONCE_STATE   3
#define ONCE_RUNNING 1
#define ONCE_DONE    2
#define ONCE_FORK    4

static int forks;
static int waiting; /* threads; only the one that has the turn uses it */

/* A child runs what another thread of its parent was running. */
static void count_fork(void)
{
	forks += ONCE_FORK;
	waiting = 0;
}

static void __attribute__((constructor)) forks_begin(void)
{
	pthread_atfork(NULL, NULL, count_fork);
}

static int once_state(const void *once)
{
	return __atomic_load_n((const int *)once, __ATOMIC_ACQUIRE);
}

static bool is_being_run(const void *once)
{
	return once_state(once) == (forks | ONCE_RUNNING);
}

static bool is_done(const void *once)
{
	return (once_state(once) & ONCE_STATE) == ONCE_DONE;
}

/* Until another thread has run it. */
static void await_once(const void *once)
{
	while (is_being_run(once)) {
		bool again;

		waiting++;
		again = turns_let_others(RETEST_NS, false);
		waiting--;
		if (!again)
			break;
	}
}

static void once_has_run(void)
{
	if (waiting)
		turns_tell(false);
}

int turns_pthread_once(pthread_once_t *once, void (*run)(void)) __asm__("pthread_once");
int turns_pthread_once(pthread_once_t *once, void (*run)(void))
{
	bool ours = !is_done(once) && PROGRAM;
	int err;

	if (ours)
		await_once(once);
	err = REAL(pthread_once)(once, run);
	if (ours)
		once_has_run();
	return err;
}

void turns_call_once(once_flag *once, void (*run)(void)) __asm__("call_once");
void turns_call_once(once_flag *once, void (*run)(void))
{
	bool ours = !is_done(once) && PROGRAM;

	if (ours)
		await_once(once);
	REAL(call_once)(once, run);
	if (ours)
		once_has_run();
}
