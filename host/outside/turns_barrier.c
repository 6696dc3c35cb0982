/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_barrier.c - barriers of a program in lockstep. libc's own cannot be tried without blocking,
 * so the threads that have come to a barrier are counted here, from its pthread_barrier_init on:
 * some may come before the process joins a fabric. A barrier that processes share, or one for which
 * the table has no entry left, stays libc's. A shared one has to keep libc's layout and protocol
 * (those since glibc 2.25), because processes that are not in lockstep may wait at it as well.
 *
 * Lock: `lock`.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* ---- barriers of libc ---- */

struct libc_barrier {
	uint32_t came; /* threads that have arrived, in all rounds */
	uint32_t over; /* threads whose rounds have ended; the others wait on this word */
	uint32_t count;
	int shared;    /* 0: the barrier is of one process */
	uint32_t left; /* threads that have left the barrier */
};
_Static_assert(sizeof(struct libc_barrier) <= sizeof(pthread_barrier_t),
	       "struct libc_barrier is larger than pthread_barrier_t");

#define CAME_MOST (UINT32_MAX / 2) /* libc resets its counts at the last whole round before this */

/*
 * End the complete rounds up to that of thread `number`; return the new value of b->over. Threads
 * of a process that is not in lockstep may have ended later rounds.
 */
static uint32_t end_rounds(struct libc_barrier *b, uint32_t number)
{
	uint32_t over = __atomic_load_n(&b->over, __ATOMIC_ACQUIRE);

	while (number >= over && number - over >= b->count) {
		uint32_t next = number - number % b->count;

		if (!__atomic_compare_exchange_n(&b->over, &over, next, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			continue;
		REAL(syscall)(SYS_futex, &b->over, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
		turns_tell(true);
		return next;
	}
	return over;
}

/* Without a turn to give up, the thread sleeps on the kernel's futex. */
static void await_rounds(struct libc_barrier *b, uint32_t number, uint32_t over)
{
	while (number > over) {
		if (!turns_let_others(OUTSIDE_NEVER, true))
			REAL(syscall)(SYS_futex, &b->over, FUTEX_WAIT, over, NULL, NULL, 0);
		over = __atomic_load_n(&b->over, __ATOMIC_ACQUIRE);
	}
}

/*
 * A thread in libc's pthread_barrier_destroy adds to `left` so that the last thread to leave resets
 * the counts, and waits for the reset. Without a reset, the barrier's memory may be gone as soon as
 * this thread has added itself to `left`.
 */
static void leave_rounds(struct libc_barrier *b)
{
	uint32_t most = CAME_MOST - CAME_MOST % b->count;

	if (__atomic_add_fetch(&b->left, 1, __ATOMIC_ACQ_REL) == most) {
		__atomic_store_n(&b->over, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&b->left, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&b->came, 0, __ATOMIC_RELEASE);
		REAL(syscall)(SYS_futex, &b->came, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}

static int wait_as_libc(struct libc_barrier *b)
{
	uint32_t number = __atomic_add_fetch(&b->came, 1, __ATOMIC_ACQ_REL);
	uint32_t over = end_rounds(b, number);
	bool last = number % b->count == 0, waits = number > over;

	await_rounds(b, number, over);
	leave_rounds(b);
	if (waits)
		turns_tell(true); /* an earlier thread may be waiting to destroy the barrier */
	return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

/* Give turns to the threads that have not left the last round yet. */
static void await_leaving(struct libc_barrier *b)
{
	while (__atomic_load_n(&b->left, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&b->came, __ATOMIC_RELAXED))
		if (!turns_let_others(OUTSIDE_NEVER, true))
			return;
}

/*
 * Another process may have written anything to a shared barrier. One that has counted to half of
 * CAME_MOST is left to libc, which resets the counts.
 */
static bool is_ours(const struct libc_barrier *b)
{
	return b->shared != 0 && b->count > 0 &&
	       __atomic_load_n(&b->came, __ATOMIC_RELAXED) < CAME_MOST / 2;
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
	if (!b && ours && is_ours((struct libc_barrier *)what))
		return wait_as_libc((struct libc_barrier *)what);
	if (!b)
		return REAL(pthread_barrier_wait)(what);
	if (last && ours)
		turns_tell(false);
	if (!last)
		await_round(b, round, __builtin_return_address(0));
	return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

/* Wait until all threads have left the last round. */
int turns_pthread_barrier_destroy(pthread_barrier_t *what) __asm__("pthread_barrier_destroy");
int turns_pthread_barrier_destroy(pthread_barrier_t *what)
{
	bool ours = PROGRAM;
	struct barrier *b;

	REAL(pthread_mutex_lock)(&lock);
	b = barrier_of(what);
	if (b) {
		b->what = NULL;
		end_round(b);
	}
	REAL(pthread_mutex_unlock)(&lock);
	if (!b && ours && is_ours((struct libc_barrier *)what))
		await_leaving((struct libc_barrier *)what);
	return REAL(pthread_barrier_destroy)(what);
}
