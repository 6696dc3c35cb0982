/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_open.c - opening a pipe that has a name (a FIFO), of a program in lockstep. The kernel lets
 * one that opens it to read wait until another one opens it to write, and the other way round. All
 * other files are opened by libc as usual.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "turns.h"

static bool is_fifo(int dir, const char *path)
{
	struct stat st;
	int before = errno;
	bool fifo = fstatat(dir, path, &st, 0) == 0 && S_ISFIFO(st.st_mode);

	errno = before;
	return fifo;
}

static void close_quietly(int fd)
{
	int before = errno;

	REAL(close)(fd);
	errno = before;
}

static void close_cancelled(void *fd)
{
	close_quietly(*(const int *)fd);
}

/*
 * Has any program opened it to write since this end was opened? While one has it open and has
 * written nothing, only a read tells: it would block. tee reads, and leaves the bytes there. Where
 * that cannot be tried, yes.
 */
static bool has_met_writer(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int copy[2], before = errno;
	ssize_t n;

	if (REAL(poll)(&pfd, 1, 0) != 0 || REAL(pipe2)(copy, O_CLOEXEC))
		return true;
	n = tee(fd, copy[1], 1, SPLICE_F_NONBLOCK);
	close_quietly(copy[0]);
	close_quietly(copy[1]);
	errno = before;
	return n != 0;
}

/* False: it cannot be waited for here, errno says why. */
static bool await_writer(int fd, int dir, const char *path, int flags)
{
	int second;

	while (!has_met_writer(fd)) {
		pthread_testcancel();
		if (turns_wait_fd(OUTSIDE_NEVER))
			continue;
		/* As usual. The first one stays open, for it has what was written since. */
		second = REAL(openat)(dir, path, flags & ~(O_CREAT | O_EXCL));
		if (second >= 0)
			close_quietly(second);
		return second >= 0;
	}
	return true;
}

static int open_to_read(int dir, const char *path, int flags, mode_t mode)
{
	int fd = REAL(openat)(dir, path, flags | O_NONBLOCK, mode);
	bool met = true;

	if (fd < 0)
		return fd;
	turns_tell(true); /* those that open it to write */
	pthread_cleanup_push(close_cancelled, &fd);
	if (flags & O_NONBLOCK)
		turns_yield(TURNS_TEST_NS); /* they have it open when it is read */
	else
		met = await_writer(fd, dir, path, flags);
	pthread_cleanup_pop(!met);
	if (!met)
		return -1;
	if (!(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

/* The kernel refuses one that is not to wait with ENXIO while there is no reader. */
static int open_to_write(int dir, const char *path, int flags, mode_t mode)
{
	int fd;

	while ((fd = REAL(openat)(dir, path, flags | O_NONBLOCK, mode)) < 0 && errno == ENXIO &&
	       is_fifo(dir, path)) {
		pthread_testcancel();
		if (!turns_wait_fd(OUTSIDE_NEVER))
			return REAL(openat)(dir, path, flags, mode);
	}
	if (fd < 0)
		return fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	turns_tell(true);
	return fd;
}

static int open_fifo(int dir, const char *path, int flags, mode_t mode)
{
	int way = flags & O_ACCMODE, fd;

	if (way == O_RDONLY)
		return open_to_read(dir, path, flags, mode);
	if (way == O_WRONLY && !(flags & O_NONBLOCK))
		return open_to_write(dir, path, flags, mode);
	fd = REAL(openat)(dir, path, flags, mode);
	if (fd >= 0)
		turns_tell(true);
	return fd;
}

static int open_in_turn(const void *caller, int dir, const char *path, int flags, mode_t mode)
{
	if (turns_is_program(caller) && !(flags & O_PATH) && is_fifo(dir, path))
		return open_fifo(dir, path, flags, mode);
	return REAL(openat)(dir, path, flags, mode);
}

#define CALLER __builtin_return_address(0)

/* Of the arguments after the flags. */
static mode_t mode_of(int flags, va_list args)
{
	bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;

	return has_mode ? va_arg(args, mode_t) : 0;
}

#define DEFINE_OPEN(name, label, more)                                             \
	int turns_##name(const char *path, int flags, ...) __asm__(label);         \
	int turns_##name(const char *path, int flags, ...)                         \
	{                                                                          \
		va_list args;                                                      \
		mode_t mode;                                                       \
                                                                                   \
		va_start(args, flags);                                             \
		mode = mode_of(flags, args);                                       \
		va_end(args);                                                      \
		return open_in_turn(CALLER, AT_FDCWD, path, flags | (more), mode); \
	}
#define DEFINE_OPENAT(name, label, more)                                            \
	int turns_##name(int dir, const char *path, int flags, ...) __asm__(label); \
	int turns_##name(int dir, const char *path, int flags, ...)                 \
	{                                                                           \
		va_list args;                                                       \
		mode_t mode;                                                        \
                                                                                    \
		va_start(args, flags);                                              \
		mode = mode_of(flags, args);                                        \
		va_end(args);                                                       \
		return open_in_turn(CALLER, dir, path, flags | (more), mode);       \
	}

DEFINE_OPEN(open, "open", 0)
DEFINE_OPEN(open64, "open64", O_LARGEFILE)
DEFINE_OPENAT(openat, "openat", 0)
DEFINE_OPENAT(openat64, "openat64", O_LARGEFILE)
/* As the headers call them in a fortified program, without a mode. */
DEFINE_OPEN(open_2, "__open_2", 0)
DEFINE_OPEN(open64_2, "__open64_2", O_LARGEFILE)
DEFINE_OPENAT(openat_2, "__openat_2", 0)
DEFINE_OPENAT(openat64_2, "__openat64_2", O_LARGEFILE)

/* ---- streams ---- */

static int flags_of(const char *mode)
{
	int flags = mode[0] == 'r' ? 0 : O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC);

	if (strchr(mode, '+'))
		flags |= O_RDWR;
	else
		flags |= mode[0] == 'r' ? O_RDONLY : O_WRONLY;
	return flags | (strchr(mode, 'e') ? O_CLOEXEC : 0) | (strchr(mode, 'x') ? O_EXCL : 0);
}

static FILE *open_stream(const char *path, const char *mode)
{
	int fd = open_fifo(AT_FDCWD, path, flags_of(mode), 0666);
	FILE *file = fd < 0 ? NULL : REAL(fdopen)(fd, mode);

	if (fd >= 0 && !file)
		close_quietly(fd);
	return file;
}

/* A mode that libc does not know, or one with a character set, is its own. */
static bool is_opened_here(const char *path, const char *mode)
{
	return strchr("rwa", mode[0]) && mode[0] && !strchr(mode, ',') && is_fifo(AT_FDCWD, path);
}

FILE *turns_fopen(const char *path, const char *mode) __asm__("fopen");
FILE *turns_fopen(const char *path, const char *mode)
{
	return PROGRAM && is_opened_here(path, mode) ? open_stream(path, mode)
						     : REAL(fopen)(path, mode);
}

FILE *turns_fopen64(const char *path, const char *mode) __asm__("fopen64");
FILE *turns_fopen64(const char *path, const char *mode)
{
	return PROGRAM && is_opened_here(path, mode) ? open_stream(path, mode)
						     : REAL(fopen64)(path, mode);
}
