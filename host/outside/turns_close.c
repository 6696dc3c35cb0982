/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_close.c - descriptors that a program in lockstep closes. Many programs close all
 * descriptors that they do not know before an exec. If the library's descriptor of the fabric was
 * among them, the process would look dead to others, and lose its place among them while it still
 * runs. So that descriptor is kept open until the exec closes it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "turns.h"
#include "host/nic_process.h"

#define KEPT      4
#define KEPT_FROM 512 /* shells take lower numbers, by dup2 */

static int kept[KEPT]; /* the descriptor plus one; 0: the entry is free */

static bool change_entry(int from, int to)
{
	for (int i = 0; i < KEPT; i++) {
		int expected = from;

		if (__atomic_compare_exchange_n(&kept[i], &expected, to, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return true;
	}
	return false;
}

void libdat_outside_keep(int *fd)
{
	int before = errno, high = fcntl(*fd, F_DUPFD_CLOEXEC, KEPT_FROM);

	if (high >= 0) {
		REAL(close)(*fd);
		*fd = high;
	}
	errno = before;
	change_entry(0, *fd + 1);
}

void libdat_outside_drop(int fd)
{
	change_entry(fd + 1, 0);
}

/* The lowest kept descriptor from `first` to `last`, or -1. */
static int kept_between(unsigned int first, unsigned int last)
{
	int lowest = -1;

	for (int i = 0; i < KEPT; i++) {
		int fd = __atomic_load_n(&kept[i], __ATOMIC_SEQ_CST) - 1;

		if (fd >= 0 && (unsigned int)fd >= first && (unsigned int)fd <= last &&
		    (lowest < 0 || fd < lowest))
			lowest = fd;
	}
	return lowest;
}

/* By the system call: libc has close_range only since glibc 2.34. */
static int close_these(unsigned int first, unsigned int last, int flags)
{
	return (int)REAL(syscall)(SYS_close_range, first, last, flags);
}

static int close_others(unsigned int first, unsigned int last, int flags)
{
	int fd, result = 0;

	while (first <= last && (fd = kept_between(first, last)) >= 0) {
		if ((unsigned int)fd > first)
			result = close_these(first, (unsigned int)fd - 1, flags);
		if (result)
			return result;
		first = (unsigned int)fd + 1;
		if (first > last)
			return 0;
	}
	return close_these(first, last, flags);
}

int turns_close_range(unsigned int first, unsigned int last, int flags)
{
	int result;

	/* An exec closes the kept descriptors anyway, so they may be marked with the others. */
	if (flags & CLOSE_RANGE_CLOEXEC)
		return close_these(first, last, flags);
	result = close_others(first, last, flags);
	if (result)
		return result;
	turns_timers_closed(first, last);
	turns_tell(true);
	return 0;
}

/* ---- calls ---- */

int turns_close(int fd) __asm__("close");
int turns_close(int fd)
{
	int result;

	if (!PROGRAM)
		return REAL(close)(fd);
	if (fd >= 0 && kept_between((unsigned int)fd, (unsigned int)fd) == fd) {
		errno = EBADF;
		return -1;
	}
	turns_timer_closed(fd);
	result = REAL(close)(fd);
	if (result >= 0)
		turns_tell(true);
	return result;
}

int turns_close_range_called(unsigned int first, unsigned int last,
			     int flags) __asm__("close_range");
int turns_close_range_called(unsigned int first, unsigned int last, int flags)
{
	return PROGRAM ? turns_close_range(first, last, flags) : close_these(first, last, flags);
}

/* ---- closefrom, which cannot fail ---- */

static int number_of(const char *name)
{
	int fd = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		fd = fd * 10 + (*name - '0');
	return *name ? -1 : fd;
}

static bool close_listed(int dir, int first, const char *names, long size)
{
	const struct dirent64 *entry;
	bool any = false;

	for (long at = 0; at < size; at += entry->d_reclen) {
		int fd;

		entry = (const void *)(names + at);
		fd = number_of(entry->d_name);
		if (fd >= first && fd != dir &&
		    kept_between((unsigned int)fd, (unsigned int)fd) < 0)
			any |= REAL(close)(fd) == 0;
	}
	return any;
}

/*
 * Without the system call close_range, as before Linux 5.9 and in some containers. It allocates
 * nothing, for forked children call it.
 */
static bool close_by_list(int first)
{
	_Alignas(struct dirent64) char names[1024];
	int dir = process_open("/proc/self/fd", O_RDONLY | O_DIRECTORY, 0);
	long size;

	if (dir < 0)
		return false;
	while ((size = REAL(syscall)(SYS_getdents64, dir, names, sizeof(names))) > 0)
		if (close_listed(dir, first, names, size))
			lseek(dir, 0, SEEK_SET);
	REAL(close)(dir);
	return size == 0;
}

void turns_closefrom(int first) __asm__("closefrom");
void turns_closefrom(int first)
{
	bool ours = PROGRAM;
	unsigned int from = first > 0 ? (unsigned int)first : 0;

	if (!(ours ? turns_close_range(from, UINT_MAX, 0) : close_these(from, UINT_MAX, 0)))
		return;
	if (!close_by_list((int)from))
		abort();
	if (!ours)
		return;
	turns_timers_closed(from, UINT_MAX);
	turns_tell(true);
}
