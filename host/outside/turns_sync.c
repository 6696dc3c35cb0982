/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_sync.c - semaphores, mutexes and condition variables of a program in lockstep. */
#define _GNU_SOURCE
#include <semaphore.h>

#include "turns.h"

#define CONDS 1024u /* condition variables are told apart by a hash */

/* The one of this version: dlsym may find an older one. */
#define REAL_COND(name)                                                                         \
	({                                                                                      \
		static __typeof__(&(name)) libc_2_;                                             \
		if (!libc_2_)                                                                   \
			libc_2_ = (__typeof__(&(name)))dlvsym(RTLD_NEXT, #name, "GLIBC_2.3.2"); \
		libc_2_ ? libc_2_ : REAL(name);                                                 \
	})

/* ---- semaphores ---- */

int turns_sem_wait(sem_t *sem) __asm__("sem_wait");
int turns_sem_wait(sem_t *sem)
{
	bool ours = PROGRAM;

	while (ours) {
		pthread_testcancel();
		if (sem_trywait(sem) == 0)
			return 0;
		if (errno != EAGAIN || !turns_let_others(OUTSIDE_NEVER, false))
			break;
	}
	return REAL(sem_wait)(sem);
}

static int sem_until(sem_t *sem, clockid_t clock, const struct timespec *abs)
{
	uint64_t end = turns_now() + turns_until(clock, abs), t;

	for (;;) {
		pthread_testcancel();
		if (sem_trywait(sem) == 0)
			return 0;
		t = turns_now();
		if (errno == EAGAIN && t >= end)
			errno = ETIMEDOUT;
		if (errno != EAGAIN)
			return -1;
		if (!turns_let_others(end - t, false))
			return REAL(sem_clockwait)(sem, clock, abs);
	}
}

int turns_sem_timedwait(sem_t *sem, const struct timespec *abs) __asm__("sem_timedwait");
int turns_sem_timedwait(sem_t *sem, const struct timespec *abs)
{
	return PROGRAM ? sem_until(sem, CLOCK_REALTIME, abs) : REAL(sem_timedwait)(sem, abs);
}

int turns_sem_clockwait(sem_t *sem, clockid_t clock,
			const struct timespec *abs) __asm__("sem_clockwait");
int turns_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *abs)
{
	return PROGRAM ? sem_until(sem, clock, abs) : REAL(sem_clockwait)(sem, clock, abs);
}

int turns_sem_post(sem_t *sem) __asm__("sem_post");
int turns_sem_post(sem_t *sem)
{
	bool ours = PROGRAM; /* asked before, for the thread that is woken may join the fabric */
	int err = REAL(sem_post)(sem);

	if (ours)
		turns_tell(false);
	return err;
}

/* ---- mutexes ---- */

#define LOOK_NS 1000000 /* between two tests of a waiting thread whether the process has joined */

static unsigned int lockers; /* threads that wait for a mutex */

static int lock_mutex(pthread_mutex_t *mutex)
{
	int err = pthread_mutex_trylock(mutex);

	if (err != EBUSY)
		return err;
	__atomic_fetch_add(&lockers, 1, __ATOMIC_SEQ_CST);
	while (err == EBUSY && turns_let_others(OUTSIDE_NEVER, false))
		err = pthread_mutex_trylock(mutex);
	__atomic_fetch_sub(&lockers, 1, __ATOMIC_SEQ_CST);
	return err == EBUSY ? REAL(pthread_mutex_lock)(mutex) : err;
}

/*
 * A thread that waits for a mutex as the process joins a fabric has to notice. ETIMEDOUT: the
 * process has joined, or will not, or this mutex cannot be waited for with a limit. Not by
 * pthread_mutex_clocklock, which ThreadSanitizer does not know.
 */
static int lock_before(pthread_mutex_t *mutex)
{
	int err = ETIMEDOUT;
	struct timespec ts;

	while (err == ETIMEDOUT && turns_before()) {
		REAL(clock_gettime)(CLOCK_REALTIME, &ts);
		ts.tv_nsec += LOOK_NS;
		ts.tv_sec += ts.tv_nsec / (long)TURNS_NS;
		ts.tv_nsec %= (long)TURNS_NS;
		err = pthread_mutex_timedlock(mutex, &ts);
	}
	return err == EINVAL ? ETIMEDOUT : err;
}

int turns_pthread_mutex_lock(pthread_mutex_t *mutex) __asm__("pthread_mutex_lock");
int turns_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int err = lock_before(mutex);

	if (err != ETIMEDOUT)
		return err;
	return PROGRAM ? lock_mutex(mutex) : REAL(pthread_mutex_lock)(mutex);
}

static int unlock_mutex(pthread_mutex_t *mutex)
{
	int err = REAL(pthread_mutex_unlock)(mutex);

	if (__atomic_load_n(&lockers, __ATOMIC_SEQ_CST))
		turns_tell(false);
	return err;
}

int turns_pthread_mutex_unlock(pthread_mutex_t *mutex) __asm__("pthread_mutex_unlock");
int turns_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return PROGRAM ? unlock_mutex(mutex) : REAL(pthread_mutex_unlock)(mutex);
}

/* ---- condition variables ---- */

static struct {
	uint32_t signals;
	uint32_t waiters;
} conds[CONDS];

static unsigned int cond_hash(const pthread_cond_t *cond)
{
	return (unsigned int)((uintptr_t)cond / sizeof(*cond) % CONDS);
}

/*
 * One that shares the entry may wake it, too, and any signal wakes all: POSIX lets a wait end
 * without a signal.
 */
static int cond_until(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
		      const struct timespec *abs, bool *real)
{
	unsigned int i = cond_hash(cond);
	uint32_t before = __atomic_load_n(&conds[i].signals, __ATOMIC_SEQ_CST);
	uint64_t t = abs ? turns_now() : 0, end = abs ? t + turns_until(clock, abs) : OUTSIDE_NEVER;
	int err = 0;

	__atomic_fetch_add(&conds[i].waiters, 1, __ATOMIC_SEQ_CST);
	unlock_mutex(mutex);
	while (!err && before == __atomic_load_n(&conds[i].signals, __ATOMIC_SEQ_CST)) {
		if (abs && t >= end)
			err = ETIMEDOUT;
		else if (!turns_let_others(abs ? end - t : OUTSIDE_NEVER, false))
			*real = true;
		if (*real)
			break;
		t = abs ? turns_now() : 0;
	}
	__atomic_fetch_sub(&conds[i].waiters, 1, __ATOMIC_SEQ_CST);
	lock_mutex(mutex);
	*real &= before == __atomic_load_n(&conds[i].signals, __ATOMIC_SEQ_CST);
	if (!*real)
		pthread_testcancel();
	return err;
}

int turns_pthread_cond_wait(pthread_cond_t *cond,
			    pthread_mutex_t *mutex) __asm__("pthread_cond_wait");
int turns_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	bool real = !PROGRAM;
	int err = 0;

	if (!real)
		err = cond_until(cond, mutex, CLOCK_REALTIME, NULL, &real);
	return real ? REAL_COND(pthread_cond_wait)(cond, mutex) : err;
}

/* The clock of a condition variable: a bit of its flags. */
static clockid_t cond_clock(const pthread_cond_t *cond)
{
	return cond->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

int turns_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				 const struct timespec *abs) __asm__("pthread_cond_timedwait");
int turns_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				 const struct timespec *abs)
{
	bool real = !PROGRAM;
	int err = 0;

	if (!real)
		err = cond_until(cond, mutex, cond_clock(cond), abs, &real);
	return real ? REAL_COND(pthread_cond_timedwait)(cond, mutex, abs) : err;
}

int turns_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				 const struct timespec *abs) __asm__("pthread_cond_clockwait");
int turns_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				 const struct timespec *abs)
{
	bool real = !PROGRAM;
	int err = 0;

	if (!real)
		err = cond_until(cond, mutex, clock, abs, &real);
	return real ? REAL(pthread_cond_clockwait)(cond, mutex, clock, abs) : err;
}

static void cond_tell(const pthread_cond_t *cond)
{
	unsigned int i = cond_hash(cond);

	__atomic_fetch_add(&conds[i].signals, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&conds[i].waiters, __ATOMIC_SEQ_CST))
		turns_tell(false);
}

int turns_pthread_cond_signal(pthread_cond_t *cond) __asm__("pthread_cond_signal");
int turns_pthread_cond_signal(pthread_cond_t *cond)
{
	if (PROGRAM)
		cond_tell(cond);
	return REAL_COND(pthread_cond_signal)(cond);
}

int turns_pthread_cond_broadcast(pthread_cond_t *cond) __asm__("pthread_cond_broadcast");
int turns_pthread_cond_broadcast(pthread_cond_t *cond)
{
	if (PROGRAM)
		cond_tell(cond);
	return REAL_COND(pthread_cond_broadcast)(cond);
}
