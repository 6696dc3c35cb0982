/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_open.c - opening a FIFO (a pipe with a name) in a program in lockstep. In the kernel, a
 * reader's open waits until a writer opens the FIFO, and the other way round. All other files are
 * opened by libc as usual.
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
 * Has a writer opened the FIFO since this end was opened? While a writer has it open and has
 * written nothing, only a read shows that, by blocking; tee reads, and leaves the bytes there. If
 * no pipe can be had for tee, the answer is yes.
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

/* False: no writer can be waited for here; errno says why. */
static bool await_writer(int fd, int dir, const char *path, int flags)
{
	int second;

	while (!has_met_writer(fd)) {
		pthread_testcancel();
		if (turns_wait_fd(OUTSIDE_NEVER)) {
			if (!has_met_writer(fd) && turns_interrupted(true))
				return false;
			continue;
		}
		/* Block in the kernel. fd stays open: it has what was written since. */
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

/* While there is no reader, an open that is not to block fails with ENXIO. */
static int open_to_write(int dir, const char *path, int flags, mode_t mode)
{
	bool waited = false;
	int fd;

	while ((fd = REAL(openat)(dir, path, flags | O_NONBLOCK, mode)) < 0 && errno == ENXIO &&
	       is_fifo(dir, path)) {
		if (waited && turns_interrupted(true))
			return -1;
		waited = true;
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

/* The mode that follows the flags, if these say that there is one. */
static mode_t mode_of(int flags, va_list args)
{
	bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;

	return has_mode ? va_arg(args, mode_t) : 0;
}

/* With the parameters in front of the mode. */
#define DEFINE_OPEN(name, label, dir, more, ...)                              \
	int turns_##name(__VA_ARGS__, ...) __asm__(label);                    \
	int turns_##name(__VA_ARGS__, ...)                                    \
	{                                                                     \
		va_list args;                                                 \
		mode_t mode;                                                  \
                                                                              \
		va_start(args, flags);                                        \
		mode = mode_of(flags, args);                                  \
		va_end(args);                                                 \
		return open_in_turn(CALLER, dir, path, flags | (more), mode); \
	}

DEFINE_OPEN(open, "open", AT_FDCWD, 0, const char *path, int flags)
DEFINE_OPEN(open64, "open64", AT_FDCWD, O_LARGEFILE, const char *path, int flags)
DEFINE_OPEN(openat, "openat", dir, 0, int dir, const char *path, int flags)
DEFINE_OPEN(openat64, "openat64", dir, O_LARGEFILE, int dir, const char *path, int flags)
/* The names that the headers give them in a fortified program, if it passes no mode. */
DEFINE_OPEN(open_2, "__open_2", AT_FDCWD, 0, const char *path, int flags)
DEFINE_OPEN(open64_2, "__open64_2", AT_FDCWD, O_LARGEFILE, const char *path, int flags)
DEFINE_OPEN(openat_2, "__openat_2", dir, 0, int dir, const char *path, int flags)
DEFINE_OPEN(openat64_2, "__openat64_2", dir, O_LARGEFILE, int dir, const char *path, int flags)

#define CREAT (O_WRONLY | O_CREAT | O_TRUNC)

int turns_creat(const char *path, mode_t mode) __asm__("creat");
int turns_creat(const char *path, mode_t mode)
{
	return open_in_turn(CALLER, AT_FDCWD, path, CREAT, mode);
}

int turns_creat64(const char *path, mode_t mode) __asm__("creat64");
int turns_creat64(const char *path, mode_t mode)
{
	return open_in_turn(CALLER, AT_FDCWD, path, CREAT | O_LARGEFILE, mode);
}

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

/* libc takes a mode that it does not know, or one with a character set. */
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

typedef FILE *reopen_function(const char *path, const char *mode, FILE *file);

/*
 * libc opens the FIFO itself. The other end was open at the same time as `fd`, but may be closed by
 * now: a descriptor for both ends, which Linux opens at once, keeps libc from waiting for it again.
 */
static FILE *reopen_stream(reopen_function *reopen, const char *path, const char *mode, FILE *file)
{
	int fd = open_fifo(AT_FDCWD, path, flags_of(mode), 0666);
	int both = fd < 0 ? -1 : REAL(openat)(AT_FDCWD, path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	file = reopen(path, mode, file);
	if (both >= 0)
		close_quietly(both);
	if (fd >= 0)
		close_quietly(fd);
	return file;
}

/* The stream is closed first: what that writes, or ends, may be what others wait for. */
static FILE *reopen_in_turn(const void *caller, reopen_function *reopen, const char *path,
			    const char *mode, FILE *file)
{
	bool ours = turns_is_program(caller);

	file = ours && path && is_opened_here(path, mode) ? reopen_stream(reopen, path, mode, file)
							  : reopen(path, mode, file);
	if (ours)
		turns_tell(true);
	return file;
}

reopen_function turns_freopen __asm__("freopen");
FILE *turns_freopen(const char *path, const char *mode, FILE *file)
{
	return reopen_in_turn(CALLER, REAL(freopen), path, mode, file);
}

reopen_function turns_freopen64 __asm__("freopen64");
FILE *turns_freopen64(const char *path, const char *mode, FILE *file)
{
	return reopen_in_turn(CALLER, REAL(freopen64), path, mode, file);
}
