/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_dup.c - dup and fcntl of a program in lockstep: a timer is known by each of its
 * descriptors, a thread that waits for a record lock of a file gives up its turn, and who owns a
 * descriptor or a lock is told by the ids that the program sees.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <asm/sockios.h>

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
		turns_found_nothing();
	return result;
}

/* ---- owners: of a descriptor, who gets its signals, and of a lock ---- */

/*
 * F_SETOWN takes the process id, or the negative id of a group; F_SETOWN_EX says which it is. The
 * kernel has no process with an id of programs, and when it says so it has read the owner: one that
 * cannot be read is the kernel's to refuse.
 */
static int set_owner_ex(int fd, const struct f_owner_ex *owner)
{
	int result = REAL(fcntl)(fd, F_SETOWN_EX, owner);
	struct f_owner_ex meant;

	if (result == 0 || errno != ESRCH)
		return result;
	meant = (struct f_owner_ex){ owner->type, turns_pid_meant(owner->pid) };
	return REAL(fcntl)(fd, F_SETOWN_EX, &meant);
}

/* By F_GETOWN_EX, for F_GETOWN cannot tell the id of a group from an error. */
static int get_owner(int fd, struct f_owner_ex *owner)
{
	int result = REAL(fcntl)(fd, F_GETOWN_EX, owner);

	if (result == 0)
		owner->pid = owner->type == F_OWNER_TID ? turns_tid_known(owner->pid)
							: turns_pid_known(owner->pid);
	return result;
}

static int get_owner_id(int fd)
{
	struct f_owner_ex owner;

	if (get_owner(fd, &owner))
		return -1;
	return owner.type == F_OWNER_PGRP ? -owner.pid : owner.pid;
}

/* A lock of an open file description has the owner -1, and one of a process out of sight 0. */
static int get_lock(int fd, int command, struct flock *lock)
{
	int result = REAL(fcntl)(fd, command, lock);

	if (result == 0 && lock->l_type != F_UNLCK)
		lock->l_pid = turns_pid_known(lock->l_pid);
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
	case F_GETLK:
	case F_OFD_GETLK:
		return get_lock(fd, command, arg);
	case F_SETOWN:
		return REAL(fcntl)(fd, F_SETOWN, turns_id_meant((pid_t)(intptr_t)arg));
	case F_GETOWN:
		return get_owner_id(fd);
	case F_SETOWN_EX:
		return set_owner_ex(fd, arg);
	case F_GETOWN_EX:
		return get_owner(fd, arg);
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

/* The kernel has read the id, as in set_owner_ex, when there is no such process. */
static int ioctl_in_turn(int fd, unsigned long request, pid_t *id)
{
	int result = REAL(ioctl)(fd, request, id);
	pid_t meant;

	switch ((unsigned int)request) {
	case FIOSETOWN:
	case SIOCSPGRP:
	case TIOCSPGRP:
		if (result == 0 || errno != ESRCH)
			return result;
		meant = turns_id_meant(*id);
		return REAL(ioctl)(fd, request, &meant);
	case FIOGETOWN:
	case SIOCGPGRP:
	case TIOCGPGRP:
	case TIOCGSID:
		if (result == 0)
			*id = *id < 0 ? -turns_pid_known(-*id) : turns_tid_known(*id);
		return result;
	default:
		return result;
	}
}

int turns_ioctl(int fd, unsigned long request, void *arg) __asm__("ioctl");
int turns_ioctl(int fd, unsigned long request, void *arg)
{
	return PROGRAM ? ioctl_in_turn(fd, request, arg) : REAL(ioctl)(fd, request, arg);
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
