/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_dup.c - dup and fcntl of a program in lockstep: a timer is known by each of its
 * descriptors, and a thread that waits for a record lock of a file gives up its turn.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "turns.h"

/* dup2 and dup3 may have closed a descriptor, which may end another thread's wait. */
static int note_copy(int fd, int copy)
{
	if (copy < 0 || copy == fd)
		return copy;
	turns_timer_copied(fd, copy);
	turns_tell(true);
	return copy;
}

int turns_dup(int fd) __asm__("dup");
int turns_dup(int fd)
{
	int copy = REAL(dup)(fd);

	return PROGRAM ? note_copy(fd, copy) : copy;
}

int turns_dup2(int fd, int to) __asm__("dup2");
int turns_dup2(int fd, int to)
{
	int copy = REAL(dup2)(fd, to);

	return PROGRAM ? note_copy(fd, copy) : copy;
}

int turns_dup3(int fd, int to, int flags) __asm__("dup3");
int turns_dup3(int fd, int to, int flags)
{
	int copy = REAL(dup3)(fd, to, flags);

	return PROGRAM ? note_copy(fd, copy) : copy;
}

/* ---- locks of records ---- */

/*
 * The kernel detects a deadlock of processes only in a call that blocks. Such a call is made only
 * if no other thread can run.
 */
static int lock_record(int fd, int waits, int tries, const struct flock *lock)
{
	bool waited = false;
	int result;

	while ((result = REAL(fcntl)(fd, tries, lock)) < 0 &&
	       (errno == EAGAIN || errno == EACCES)) {
		if (waited && turns_interrupted(true))
			return -1;
		waited = true;
		pthread_testcancel();
		if (!turns_wait_fd(OUTSIDE_NEVER))
			return REAL(fcntl)(fd, waits, lock);
	}
	/* The call may have made a lock shared, or shorter, so that others can have theirs. */
	if (result == 0)
		turns_tell(true);
	return result;
}

static int try_record(int fd, int tries, const struct flock *lock)
{
	int result = REAL(fcntl)(fd, tries, lock);

	if (result == 0)
		turns_tell(true);
	else if (errno == EAGAIN || errno == EACCES)
		turns_let_others(TURNS_TEST_NS, false);
	return result;
}

static int fcntl_in_turn(int fd, int command, void *arg)
{
	_Static_assert(sizeof(struct flock) == sizeof(struct flock64),
		       "F_SETLK and F_SETLK64 take different structures");
	switch (command) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return note_copy(fd, REAL(fcntl)(fd, command, arg));
	case F_SETLK:
	case F_OFD_SETLK:
		return try_record(fd, command, arg);
	case F_SETLKW:
		return lock_record(fd, F_SETLKW, F_SETLK, arg);
	case F_OFD_SETLKW:
		return lock_record(fd, F_OFD_SETLKW, F_OFD_SETLK, arg);
	default:
		return REAL(fcntl)(fd, command, arg);
	}
}

/* Commands without a third argument ignore `arg`. */
int turns_fcntl(int fd, int command, void *arg) __asm__("fcntl");
int turns_fcntl(int fd, int command, void *arg)
{
	return PROGRAM ? fcntl_in_turn(fd, command, arg) : REAL(fcntl)(fd, command, arg);
}

int turns_fcntl64(int fd, int command, void *arg) __asm__("fcntl64");
int turns_fcntl64(int fd, int command, void *arg)
{
	return PROGRAM ? fcntl_in_turn(fd, command, arg) : REAL(fcntl)(fd, command, arg);
}

static int lockf_in_turn(int fd, int operation, off_t length)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = length };

	switch (operation) {
	case F_ULOCK:
		lock.l_type = F_UNLCK;
		return try_record(fd, F_SETLK, &lock);
	case F_LOCK:
		return lock_record(fd, F_SETLKW, F_SETLK, &lock);
	case F_TLOCK:
		return try_record(fd, F_SETLK, &lock);
	default:
		return REAL(lockf)(fd, operation, length);
	}
}

int turns_lockf(int fd, int operation, off_t length) __asm__("lockf");
int turns_lockf(int fd, int operation, off_t length)
{
	return PROGRAM ? lockf_in_turn(fd, operation, length) : REAL(lockf)(fd, operation, length);
}

int turns_lockf64(int fd, int operation, off64_t length) __asm__("lockf64");
int turns_lockf64(int fd, int operation, off64_t length)
{
	return PROGRAM ? lockf_in_turn(fd, operation, length) : REAL(lockf)(fd, operation, length);
}
