/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_lock.c - mutexes of a program in lockstep, how any lock is waited for, and the table of the
 * threads that wait for one, or for a condition variable (turns_sync.c).
 *
 * A thread that unlocks makes those who wait ready and keeps the turn. If it locks again before it
 * gives the turn up, and gives it up only with the lock held (in a poll, for instance), those who
 * wait find the lock held each time that they have the turn. So after MISSED_MOST times a thread
 * that is about to take the lock lets them go first. They do not go first at once: a thread that
 * unlocks goes on until it waits, whether others wait for the lock or not.
 *
 * Locks are told apart by their addresses and by nothing that is made of them, which differ between
 * runs. One in memory that processes share has another address in each, at the same place in a
 * page. By that place the fabric's book says whether threads of any process wait for it, how often
 * it was told, and whether one of the threads has missed it too often. A thread that was preempted
 * uses these while another one has the turn.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "turns.h"

#define MISSED_MOST  16u
#define WAITERS      1024u
#define MUTEX_SHARED 128     /* of a mutex's kind, in glibc: PTHREAD_PROCESS_SHARED */
#define TRY_NS       1000    /* of a try that fails, so that a loop of them ends */
#define LOOK_NS      1000000 /* between two tests whether the process has joined */

/* ---- threads that wait ---- */

struct turns_waiter {
	const void *what; /* the lock, or condition variable; NULL: the entry is free, and zero */
	uint32_t told;    /* a lock was let go since the thread tried it, a condition signalled */
	uint32_t missed;  /* times that it was let go and locked again before the thread tried */
	uint32_t seen;    /* how often other processes had told when the wait began */
	bool shared;
};

static struct turns_waiter waiters[WAITERS];
static unsigned int waiters_high; /* those in use are below; it never sinks */

/* NULL: the process is in no fabric. */
static struct nic_book_meet *meet_of(const void *what)
{
	struct nic_book *book = turns_book();

	return book ? &book->meet[(uintptr_t)what / sizeof(uint64_t) % NIC_BOOK_MEETS] : NULL;
}

static void meet_begin(struct turns_waiter *waiter, const void *what)
{
	struct nic_book_meet *meet = meet_of(what);

	waiter->shared = meet != NULL;
	if (!meet)
		return;
	__atomic_fetch_add(&meet->waiting, 1, __ATOMIC_SEQ_CST);
	waiter->seen = __atomic_load_n(&meet->told, __ATOMIC_SEQ_CST);
}

static void meet_end(struct turns_waiter *waiter)
{
	struct nic_book_meet *meet = waiter->shared ? meet_of(waiter->what) : NULL;

	waiter->shared = false;
	if (!meet)
		return;
	__atomic_fetch_sub(&meet->waiting, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&waiter->missed, __ATOMIC_SEQ_CST) >= MISSED_MOST)
		__atomic_fetch_sub(&meet->starved, 1, __ATOMIC_SEQ_CST);
}

/* A forked child has none of the threads. */
static void forget_waiters(void)
{
	for (unsigned int i = 0; i < WAITERS; i++)
		waiters[i] = (struct turns_waiter){ 0 };
}

static void __attribute__((constructor)) waiters_begin(void)
{
	pthread_atfork(NULL, NULL, forget_waiters);
}

/* For turns_waiter_begin, told and missed are 0 in a free entry. */
struct turns_waiter *turns_waiter_begin(const void *what, bool shared)
{
	unsigned int high = __atomic_load_n(&waiters_high, __ATOMIC_SEQ_CST), i = 0;
	const void *none = NULL;

	while (i < WAITERS && !__atomic_compare_exchange_n(&waiters[i].what, &none, what, false,
							   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		none = NULL;
		i++;
	}
	if (i == WAITERS)
		return NULL;
	while (high <= i && !__atomic_compare_exchange_n(&waiters_high, &high, i + 1, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	if (shared)
		meet_begin(&waiters[i], what);
	return &waiters[i];
}

void turns_waiter_end(struct turns_waiter *waiter)
{
	meet_end(waiter);
	__atomic_store_n(&waiter->told, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&waiter->missed, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&waiter->what, NULL, __ATOMIC_SEQ_CST);
}

bool turns_waiter_told(const struct turns_waiter *waiter)
{
	const struct nic_book_meet *meet = waiter->shared ? meet_of(waiter->what) : NULL;

	if (meet && __atomic_load_n(&meet->told, __ATOMIC_SEQ_CST) != waiter->seen)
		return true;
	return __atomic_load_n(&waiter->told, __ATOMIC_SEQ_CST);
}

/* The thread has tried the lock, which another one has. */
static void waiter_tried(struct turns_waiter *waiter)
{
	struct nic_book_meet *meet = waiter->shared ? meet_of(waiter->what) : NULL;

	if (!turns_waiter_told(waiter))
		return;
	__atomic_store_n(&waiter->told, 0, __ATOMIC_SEQ_CST);
	if (meet)
		waiter->seen = __atomic_load_n(&meet->told, __ATOMIC_SEQ_CST);
	if (__atomic_add_fetch(&waiter->missed, 1, __ATOMIC_SEQ_CST) == MISSED_MOST && meet)
		__atomic_fetch_add(&meet->starved, 1, __ATOMIC_SEQ_CST);
}

/* The next that waits for it, from entry *i on; NULL: none. */
static struct turns_waiter *next_waiter(const void *what, unsigned int *i)
{
	while (*i < __atomic_load_n(&waiters_high, __ATOMIC_SEQ_CST)) {
		struct turns_waiter *waiter = &waiters[(*i)++];

		if (__atomic_load_n(&waiter->what, __ATOMIC_SEQ_CST) == what)
			return waiter;
	}
	return NULL;
}

void turns_waiters_tell(const void *what, bool shared)
{
	struct nic_book_meet *meet = shared ? meet_of(what) : NULL;
	struct turns_waiter *waiter;
	unsigned int i = 0;
	bool any = false;

	while ((waiter = next_waiter(what, &i))) {
		__atomic_store_n(&waiter->told, 1, __ATOMIC_SEQ_CST);
		any = true;
	}
	shared = meet && __atomic_load_n(&meet->waiting, __ATOMIC_SEQ_CST) > 0;
	if (shared)
		__atomic_fetch_add(&meet->told, 1, __ATOMIC_SEQ_CST);
	if (any || shared)
		turns_tell(shared);
}

/* Does a thread wait for it that has missed it too often? */
static bool is_starved(const void *what, bool shared)
{
	const struct nic_book_meet *meet = shared ? meet_of(what) : NULL;
	const struct turns_waiter *waiter;
	unsigned int i = 0;

	if (meet && __atomic_load_n(&meet->starved, __ATOMIC_SEQ_CST) > 0)
		return true;
	while ((waiter = next_waiter(what, &i)))
		if (__atomic_load_n(&waiter->missed, __ATOMIC_SEQ_CST) >= MISSED_MOST)
			return true;
	return false;
}

/* ---- locking ---- */

static int lock_in_turn(void *lock, turns_try *try, bool shared, clockid_t clock,
			const struct timespec *abs, bool *real)
{
	uint64_t t = abs ? turns_now() : 0;
	uint64_t end = abs ? turns_after(t, turns_until(clock, abs)) : OUTSIDE_NEVER;
	struct turns_waiter *waiter = NULL;
	bool late = t >= end;
	int err = try(lock);

	*real = false;
	if (err != EBUSY)
		return err;
	if (!abs || (uint64_t)abs->tv_nsec < TURNS_NS)
		waiter = turns_waiter_begin(lock, shared);
	*real = !waiter;
	while (!*real && (err = try(lock)) == EBUSY) {
		waiter_tried(waiter);
		if (t >= end)
			break;
		*real = !turns_let_others(turns_left(end, t), shared);
		t = abs ? turns_now() : 0;
	}
	if (waiter)
		turns_waiter_end(waiter);
	if (err == EBUSY && late && !*real)
		turns_found_nothing();
	return err == EBUSY ? ETIMEDOUT : err;
}

int turns_lock(void *lock, turns_try *try, bool shared, clockid_t clock, const struct timespec *abs,
	       bool *real)
{
	if (is_starved(lock, shared))
		turns_yield(1);
	return lock_in_turn(lock, try, shared, clock, abs, real);
}

void turns_yield_briefly(void)
{
	turns_yield(TRY_NS);
}

int turns_after_try(int err)
{
	if (err == EBUSY)
		turns_yield_briefly();
	return err;
}

/* ---- mutexes ---- */

static int try_mutex(void *lock)
{
	return REAL(pthread_mutex_trylock)(lock);
}

/* An error-checking mutex tells its owner that it would wait for itself, as that of libc does. */
static int try_to_lock(void *lock)
{
	const pthread_mutex_t *mutex = lock;
	int err = try_mutex(lock);

	if (err == EBUSY && (mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK &&
	    mutex->__data.__owner == gettid())
		return EDEADLK;
	return err;
}

static bool is_shared(const pthread_mutex_t *mutex)
{
	return mutex->__data.__kind & MUTEX_SHARED;
}

int turns_mutex_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *abs,
		      bool *real)
{
	bool shared = is_shared(mutex);

	/* Not a thread that has it already, if it may lock it again. */
	if (is_starved(mutex, shared) && mutex->__data.__owner != gettid())
		turns_yield(1);
	return lock_in_turn(mutex, try_to_lock, shared, clock, abs, real);
}

int turns_mutex_lock(pthread_mutex_t *mutex)
{
	bool real;
	int err = turns_mutex_until(mutex, CLOCK_REALTIME, NULL, &real);

	return real ? REAL(pthread_mutex_lock)(mutex) : err;
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
		err = REAL(pthread_mutex_timedlock)(mutex, &ts);
	}
	return err == EINVAL ? ETIMEDOUT : err;
}

int turns_pthread_mutex_lock(pthread_mutex_t *mutex) __asm__("pthread_mutex_lock");
int turns_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int err = lock_before(mutex);

	if (err != ETIMEDOUT)
		return err;
	return PROGRAM ? turns_mutex_lock(mutex) : REAL(pthread_mutex_lock)(mutex);
}

int turns_pthread_mutex_timedlock(pthread_mutex_t *mutex,
				  const struct timespec *abs) __asm__("pthread_mutex_timedlock");
int turns_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *abs)
{
	bool ours = PROGRAM, real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_mutex_until(mutex, CLOCK_REALTIME, abs, &real);
	if (!real)
		return err;
	abs = turns_real_time(ours, CLOCK_REALTIME, abs, &room);
	return REAL(pthread_mutex_timedlock)(mutex, abs);
}

int turns_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				  const struct timespec *abs) __asm__("pthread_mutex_clocklock");
int turns_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				  const struct timespec *abs)
{
	bool ours = PROGRAM && turns_is_lock_clock(clock), real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_mutex_until(mutex, clock, abs, &real);
	if (!real)
		return err;
	abs = turns_real_time(ours, clock, abs, &room);
	return REAL(pthread_mutex_clocklock)(mutex, clock, abs);
}

int turns_pthread_mutex_trylock(pthread_mutex_t *mutex) __asm__("pthread_mutex_trylock");
int turns_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	bool ours = PROGRAM;
	int err = try_mutex(mutex);

	return ours ? turns_after_try(err) : err;
}

int turns_mutex_unlock(pthread_mutex_t *mutex)
{
	/* Asked before, for another thread may destroy it after that. */
	bool shared = is_shared(mutex);
	int err = REAL(pthread_mutex_unlock)(mutex);

	turns_waiters_tell(mutex, shared);
	return err;
}

int turns_pthread_mutex_unlock(pthread_mutex_t *mutex) __asm__("pthread_mutex_unlock");
int turns_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return PROGRAM ? turns_mutex_unlock(mutex) : REAL(pthread_mutex_unlock)(mutex);
}
