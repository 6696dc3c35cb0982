/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_barrier.c - barriers of a program in lockstep. libc's own cannot be tried without blocking,
 * so the threads that have come to a barrier are counted here, from its pthread_barrier_init on:
 * some may come before the process joins a fabric. A barrier between processes, or one of too many,
 * is libc's.
 *
 * Lock: `lock`.
 */
#define _GNU_SOURCE
#include "turns.h"

#define BARRIERS 256
#define LOOK_NS  1000000 /* between two tests whether the process has joined */

struct barrier {
	const pthread_barrier_t *what; /* NULL: the entry is free */
	unsigned int count, came;      /* threads of a round */
	unsigned int round;            /* it goes on when the entry gets another barrier */
};

static struct barrier barriers[BARRIERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER; /* a round, for threads that block */

/* Another thread may have had the lock. */
static void forget_lock(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void __attribute__((constructor)) barriers_begin(void)
{
	pthread_atfork(NULL, NULL, forget_lock);
}

static struct barrier *barrier_of(const pthread_barrier_t *what)
{
	for (int i = 0; i < BARRIERS; i++)
		if (barriers[i].what == what)
			return &barriers[i];
	return NULL;
}

static void end_round(struct barrier *b)
{
	b->came = 0;
	b->round++;
	REAL_COND(pthread_cond_broadcast)(&ended);
}

static bool is_of_process(const pthread_barrierattr_t *attr)
{
	int shared = PTHREAD_PROCESS_PRIVATE;

	return !attr || (pthread_barrierattr_getpshared(attr, &shared) == 0 &&
			 shared == PTHREAD_PROCESS_PRIVATE);
}

int turns_pthread_barrier_init(pthread_barrier_t *what, const pthread_barrierattr_t *attr,
			       unsigned int count) __asm__("pthread_barrier_init");
int turns_pthread_barrier_init(pthread_barrier_t *what, const pthread_barrierattr_t *attr,
			       unsigned int count)
{
	int err = REAL(pthread_barrier_init)(what, attr, count);
	struct barrier *b;

	if (err)
		return err;
	REAL(pthread_mutex_lock)(&lock);
	b = barrier_of(what);
	if (!b && is_of_process(attr))
		b = barrier_of(NULL);
	if (b) {
		b->what = is_of_process(attr) ? what : NULL;
		b->count = count;
		end_round(b);
	}
	REAL(pthread_mutex_unlock)(&lock);
	return 0;
}

/* Threads that have not left the last round yet leave it. */
int turns_pthread_barrier_destroy(pthread_barrier_t *what) __asm__("pthread_barrier_destroy");
int turns_pthread_barrier_destroy(pthread_barrier_t *what)
{
	struct barrier *b;

	REAL(pthread_mutex_lock)(&lock);
	b = barrier_of(what);
	if (b) {
		b->what = NULL;
		end_round(b);
	}
	REAL(pthread_mutex_unlock)(&lock);
	return REAL(pthread_barrier_destroy)(what);
}

/* Wait for the end of a round in the kernel, for so long; 0: only look. True: it has ended. */
static bool block_for_round(const struct barrier *b, unsigned int round, uint64_t ns)
{
	struct timespec ts;
	bool over;

	REAL(clock_gettime)(CLOCK_REALTIME, &ts);
	ts.tv_sec += (time_t)((ns + (uint64_t)ts.tv_nsec) / TURNS_NS);
	ts.tv_nsec = (long)((ns + (uint64_t)ts.tv_nsec) % TURNS_NS);
	REAL(pthread_mutex_lock)(&lock);
	if (ns > 0 && b->round == round)
		REAL_COND(pthread_cond_timedwait)(&ended, &lock, &ts);
	over = b->round != round;
	REAL(pthread_mutex_unlock)(&lock);
	return over;
}

/* A thread that waits as the process joins a fabric has to notice, and takes turns from then on. */
static void await_round(const struct barrier *b, unsigned int round, const void *caller)
{
	bool in_turn = true;
	uint64_t ns = 0;

	while (!block_for_round(b, round, ns)) {
		ns = LOOK_NS;
		if (!turns_is_program(caller))
			continue;
		in_turn = in_turn && turns_let_others(OUTSIDE_NEVER, false);
		ns = in_turn ? 0 : TURNS_NS;
	}
}

int turns_pthread_barrier_wait(pthread_barrier_t *what) __asm__("pthread_barrier_wait");
int turns_pthread_barrier_wait(pthread_barrier_t *what)
{
	bool ours = PROGRAM, last = false;
	unsigned int round = 0;
	struct barrier *b;

	REAL(pthread_mutex_lock)(&lock);
	b = barrier_of(what);
	if (b) {
		round = b->round;
		last = ++b->came == b->count;
	}
	if (last)
		end_round(b);
	REAL(pthread_mutex_unlock)(&lock);
	if (!b)
		return REAL(pthread_barrier_wait)(what);
	if (last && ours)
		turns_tell(false);
	if (!last)
		await_round(b, round, __builtin_return_address(0));
	return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
