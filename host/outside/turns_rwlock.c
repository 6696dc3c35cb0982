/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_rwlock.c - locks for reading and writing, and spin locks, of a program in lockstep. */
#define _GNU_SOURCE
#include <unistd.h>

#include "turns.h"

/* ---- locks for reading and writing ---- */

static int try_to_read(void *lock)
{
	return REAL(pthread_rwlock_tryrdlock)(lock);
}

static int try_to_write(void *lock)
{
	return REAL(pthread_rwlock_trywrlock)(lock);
}

/* As by libc, the thread that writes is told that it would wait for itself. */
static int own_or_busy(const pthread_rwlock_t *lock, int err)
{
	return err == EBUSY && lock->__data.__cur_writer == REAL(gettid)() ? EDEADLK : err;
}

static int try_to_write_unless_own(void *lock)
{
	return own_or_busy(lock, try_to_write(lock));
}

static int try_to_read_unless_own(void *lock)
{
	return own_or_busy(lock, try_to_read(lock));
}

static bool is_shared(const pthread_rwlock_t *lock)
{
	return lock->__data.__shared;
}

/* libc refuses another time or clock even if the lock is free. */
static bool is_limit(clockid_t clock, const struct timespec *abs)
{
	return turns_is_lock_clock(clock) && (uint64_t)abs->tv_nsec < TURNS_NS;
}

int turns_pthread_rwlock_rdlock(pthread_rwlock_t *lock) __asm__("pthread_rwlock_rdlock");
int turns_pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	bool real = !PROGRAM;
	int err = 0;

	if (!real)
		err = turns_lock(lock, try_to_read_unless_own, is_shared(lock), CLOCK_REALTIME,
				 NULL, &real);
	return real ? REAL(pthread_rwlock_rdlock)(lock) : err;
}

int turns_pthread_rwlock_wrlock(pthread_rwlock_t *lock) __asm__("pthread_rwlock_wrlock");
int turns_pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	bool real = !PROGRAM;
	int err = 0;

	if (!real)
		err = turns_lock(lock, try_to_write_unless_own, is_shared(lock), CLOCK_REALTIME,
				 NULL, &real);
	return real ? REAL(pthread_rwlock_wrlock)(lock) : err;
}

int turns_pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *abs) __asm__(
	"pthread_rwlock_timedrdlock");
int turns_pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *abs)
{
	bool ours = PROGRAM && is_limit(CLOCK_REALTIME, abs), real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_lock(lock, try_to_read_unless_own, is_shared(lock), CLOCK_REALTIME, abs,
				 &real);
	if (!real)
		return err;
	abs = turns_real_time(ours, CLOCK_REALTIME, abs, &room);
	return REAL(pthread_rwlock_timedrdlock)(lock, abs);
}

int turns_pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *abs) __asm__(
	"pthread_rwlock_timedwrlock");
int turns_pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *abs)
{
	bool ours = PROGRAM && is_limit(CLOCK_REALTIME, abs), real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_lock(lock, try_to_write_unless_own, is_shared(lock), CLOCK_REALTIME,
				 abs, &real);
	if (!real)
		return err;
	abs = turns_real_time(ours, CLOCK_REALTIME, abs, &room);
	return REAL(pthread_rwlock_timedwrlock)(lock, abs);
}

int turns_pthread_rwlock_clockrdlock(
	pthread_rwlock_t *lock, clockid_t clock,
	const struct timespec *abs) __asm__("pthread_rwlock_clockrdlock");
int turns_pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
				     const struct timespec *abs)
{
	bool ours = PROGRAM && is_limit(clock, abs), real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_lock(lock, try_to_read_unless_own, is_shared(lock), clock, abs, &real);
	if (!real)
		return err;
	abs = turns_real_time(ours, clock, abs, &room);
	return REAL(pthread_rwlock_clockrdlock)(lock, clock, abs);
}

int turns_pthread_rwlock_clockwrlock(
	pthread_rwlock_t *lock, clockid_t clock,
	const struct timespec *abs) __asm__("pthread_rwlock_clockwrlock");
int turns_pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
				     const struct timespec *abs)
{
	bool ours = PROGRAM && is_limit(clock, abs), real = !ours;
	struct timespec room;
	int err = 0;

	if (!real)
		err = turns_lock(lock, try_to_write_unless_own, is_shared(lock), clock, abs, &real);
	if (!real)
		return err;
	abs = turns_real_time(ours, clock, abs, &room);
	return REAL(pthread_rwlock_clockwrlock)(lock, clock, abs);
}

int turns_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) __asm__("pthread_rwlock_tryrdlock");
int turns_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	bool ours = PROGRAM;
	int err = try_to_read(lock);

	return ours ? turns_after_try(err) : err;
}

int turns_pthread_rwlock_trywrlock(pthread_rwlock_t *lock) __asm__("pthread_rwlock_trywrlock");
int turns_pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	bool ours = PROGRAM;
	int err = try_to_write(lock);

	return ours ? turns_after_try(err) : err;
}

int turns_pthread_rwlock_unlock(pthread_rwlock_t *lock) __asm__("pthread_rwlock_unlock");
int turns_pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	bool ours = PROGRAM, shared = is_shared(lock);
	int err = REAL(pthread_rwlock_unlock)(lock);

	if (ours)
		turns_waiters_tell(lock, shared);
	return err;
}

/* ---- spin locks ---- */

static int try_to_spin(void *lock)
{
	return REAL(pthread_spin_trylock)(lock);
}

/*
 * Nothing in a spin lock says whether processes share it. So all count as shared once a process has
 * made one that is.
 */
static bool shares_spins;

static bool is_shared_spin(void)
{
	const struct nic_book *book = turns_book();

	return shares_spins || (book && book->spins);
}

int turns_pthread_spin_init(pthread_spinlock_t *lock, int shared) __asm__("pthread_spin_init");
int turns_pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
	struct nic_book *book = turns_book();

	shares_spins |= shared == PTHREAD_PROCESS_SHARED;
	if (book && shares_spins)
		book->spins = 1;
	return REAL(pthread_spin_init)(lock, shared);
}

/* The thread that has it may be one that waits for the turn. */
int turns_pthread_spin_lock(pthread_spinlock_t *lock) __asm__("pthread_spin_lock");
int turns_pthread_spin_lock(pthread_spinlock_t *lock)
{
	bool real = !PROGRAM;
	int err = 0;

	if (!real)
		err = turns_lock((void *)(uintptr_t)lock, try_to_spin, is_shared_spin(),
				 CLOCK_REALTIME, NULL, &real);
	return real ? REAL(pthread_spin_lock)(lock) : err;
}

int turns_pthread_spin_trylock(pthread_spinlock_t *lock) __asm__("pthread_spin_trylock");
int turns_pthread_spin_trylock(pthread_spinlock_t *lock)
{
	bool ours = PROGRAM;
	int err = REAL(pthread_spin_trylock)(lock);

	return ours ? turns_after_try(err) : err;
}

int turns_pthread_spin_unlock(pthread_spinlock_t *lock) __asm__("pthread_spin_unlock");
int turns_pthread_spin_unlock(pthread_spinlock_t *lock)
{
	bool ours = PROGRAM;
	int err = REAL(pthread_spin_unlock)(lock);

	if (ours)
		turns_waiters_tell((const void *)(uintptr_t)lock, is_shared_spin());
	return err;
}
