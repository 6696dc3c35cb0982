/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_splice.c - calls of a program in lockstep that move bytes between descriptors inside the
 * kernel, and preadv2 and its like. Sockets and pipes are set not to block during such a call: only
 * the thread with the turn uses them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "turns.h"

/* The descriptors of a call; -1: the call has none on this side. */
struct ends {
	int in, out;
};

static bool is_pipe_or_socket(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool may_block(int fd)
{
	return is_pipe_or_socket(fd) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* Wait until both descriptors are ready. False: the call has to fail with errno. */
static bool await_ends(const struct ends *ends)
{
	return (!is_pipe_or_socket(ends->in) || turns_await_in(ends->in)) &&
	       (!is_pipe_or_socket(ends->out) || turns_await_out(ends->out));
}

static void set_blocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

typedef ssize_t move(const void *args);

/* Call `make` once, with descriptors that do not block. */
static ssize_t move_once(const struct ends *ends, move *make, const void *args)
{
	bool in = may_block(ends->in), out = may_block(ends->out);
	ssize_t moved;
	int err;

	if (in)
		set_blocking(ends->in, false);
	if (out)
		set_blocking(ends->out, false);
	moved = make(args);
	err = errno;
	if (in)
		set_blocking(ends->in, true);
	if (out)
		set_blocking(ends->out, true);
	if (moved > 0)
		turns_tell(true);
	errno = err;
	return moved;
}

static bool never_blocks(int fd)
{
	return is_pipe_or_socket(fd) && !may_block(fd);
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

/*
 * Wait until some bytes have been moved. The call is tried first, so that one with wrong arguments
 * fails at once, and not when its descriptors are ready. Linux waits for neither descriptor if the
 * one to read from is nonblocking, or if the one to write to is a nonblocking pipe.
 */
static ssize_t move_some(const struct ends *ends, move *make, const void *args)
{
	bool again = !never_blocks(ends->out);
	ssize_t moved = move_once(ends, make, args);

	if (moved >= 0 || errno != EAGAIN)
		return moved;
	if (never_blocks(ends->in) || (is_pipe(ends->out) && !again)) {
		turns_found_nothing();
		errno = EAGAIN;
		return -1;
	}
	do {
		if (!await_ends(ends))
			return -1;
		moved = move_once(ends, make, args);
	} while (again && moved < 0 && errno == EAGAIN && turns_wait_fd(OUTSIDE_NEVER) &&
		 !turns_interrupted(true));
	return moved;
}

/* ---- sendfile: all of it, if the descriptor that it writes to blocks ---- */

struct sendfile_args {
	struct ends ends;
	off64_t *offset;
	size_t n;
};

static ssize_t make_sendfile(const void *args)
{
	const struct sendfile_args *a = args;

	return REAL(sendfile64)(a->ends.out, a->ends.in, a->offset, a->n);
}

static ssize_t sendfile_in_turn(int out, int in, off64_t *offset, size_t n)
{
	struct sendfile_args args = { { in, out }, offset, n };
	bool all = may_block(out);
	size_t done = 0;
	ssize_t moved;

	do {
		moved = move_some(&args.ends, make_sendfile, &args);
		done += moved > 0 ? (size_t)moved : 0;
		args.n = n - done;
	} while (all && moved > 0 && done < n);
	return done ? (ssize_t)done : moved;
}

ssize_t turns_sendfile64(int out, int in, off64_t *offset, size_t n) __asm__("sendfile64");
ssize_t turns_sendfile64(int out, int in, off64_t *offset, size_t n)
{
	return PROGRAM ? sendfile_in_turn(out, in, offset, n)
		       : REAL(sendfile64)(out, in, offset, n);
}

ssize_t turns_sendfile(int out, int in, off_t *offset, size_t n) __asm__("sendfile");
ssize_t turns_sendfile(int out, int in, off_t *offset, size_t n)
{
	_Static_assert(sizeof(off_t) == sizeof(off64_t), "one is the other");
	return PROGRAM ? sendfile_in_turn(out, in, offset, n) : REAL(sendfile)(out, in, offset, n);
}

/* ---- splice, tee, vmsplice ---- */

struct splice_args {
	struct ends ends;
	off64_t *in_offset, *out_offset;
	const struct iovec *iov;
	size_t n;
	unsigned int flags;
};

static ssize_t make_splice(const void *args)
{
	const struct splice_args *a = args;

	return REAL(splice)(a->ends.in, a->in_offset, a->ends.out, a->out_offset, a->n,
			    a->flags | SPLICE_F_NONBLOCK);
}

static ssize_t make_tee(const void *args)
{
	const struct splice_args *a = args;

	return REAL(tee)(a->ends.in, a->ends.out, a->n, a->flags | SPLICE_F_NONBLOCK);
}

static ssize_t make_vmsplice(const void *args)
{
	const struct splice_args *a = args;

	return REAL(vmsplice)(a->ends.out, a->iov, a->n, a->flags | SPLICE_F_NONBLOCK);
}

static int option_of(int fd, int option)
{
	socklen_t size = sizeof(int);
	int value = -1, before = errno;

	if (getsockopt(fd, SOL_SOCKET, option, &value, &size))
		errno = before;
	return value;
}

/* SPLICE_F_NONBLOCK is for pipes. Only a stream of AF_UNIX heeds it, too, when it is read. */
static bool waits_anyway(int fd, bool reads)
{
	int domain = fd < 0 ? -1 : option_of(fd, SO_DOMAIN);

	return domain >= 0 && may_block(fd) &&
	       !(reads && domain == AF_UNIX && option_of(fd, SO_TYPE) == SOCK_STREAM);
}

static bool is_ready(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return REAL(poll)(&pfd, 1, 0) > 0;
}

/* The call has failed with EAGAIN. False: it is to fail with errno, else to be tried again. */
static bool await_socket(const struct ends *ends)
{
	if (waits_anyway(ends->in, true) && is_ready(ends->out, POLLOUT))
		return turns_await_in(ends->in);
	if (waits_anyway(ends->out, false) && is_ready(ends->in, POLLIN))
		return turns_await_out(ends->out);
	turns_found_nothing();
	errno = EAGAIN;
	return false;
}

/* With SPLICE_F_NONBLOCK a call waits for no pipe. */
static ssize_t splice_in_turn(move *make, const struct splice_args *args)
{
	ssize_t moved;

	if (args->n == 0 || !(args->flags & SPLICE_F_NONBLOCK))
		return move_some(&args->ends, make, args);
	do
		moved = move_once(&args->ends, make, args);
	while (moved < 0 && errno == EAGAIN && await_socket(&args->ends));
	return moved;
}

ssize_t turns_splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t n,
		     unsigned int flags) __asm__("splice");
ssize_t turns_splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t n,
		     unsigned int flags)
{
	const struct splice_args args = { .ends = { in, out },
					  .in_offset = in_offset,
					  .out_offset = out_offset,
					  .n = n,
					  .flags = flags };

	if (!PROGRAM || n == 0)
		return REAL(splice)(in, in_offset, out, out_offset, n, flags);
	return splice_in_turn(make_splice, &args);
}

ssize_t turns_tee(int in, int out, size_t n, unsigned int flags) __asm__("tee");
ssize_t turns_tee(int in, int out, size_t n, unsigned int flags)
{
	const struct splice_args args = { .ends = { in, out }, .n = n, .flags = flags };

	if (!PROGRAM || n == 0)
		return REAL(tee)(in, out, n, flags);
	return splice_in_turn(make_tee, &args);
}

/* Linux waits though the pipe is nonblocking: only the flag of the call keeps it from that. */
static ssize_t vmsplice_in_turn(const struct splice_args *args)
{
	const struct ends none = { -1, -1 };
	ssize_t moved;

	while ((moved = move_once(&none, make_vmsplice, args)) < 0 && errno == EAGAIN) {
		if (args->flags & SPLICE_F_NONBLOCK) {
			turns_found_nothing();
			return moved;
		}
		if (!turns_wait_fd(OUTSIDE_NEVER))
			return REAL(vmsplice)(args->ends.out, args->iov, args->n, args->flags);
		if (turns_interrupted(true))
			return -1;
	}
	return moved;
}

ssize_t turns_vmsplice(int fd, const struct iovec *iov, size_t n,
		       unsigned int flags) __asm__("vmsplice");
ssize_t turns_vmsplice(int fd, const struct iovec *iov, size_t n, unsigned int flags)
{
	const struct splice_args args = { .ends = { -1, fd }, .iov = iov, .n = n, .flags = flags };

	if (!PROGRAM || n == 0)
		return REAL(vmsplice)(fd, iov, n, flags);
	return vmsplice_in_turn(&args);
}

/* ---- preadv2 and pwritev2: an offset of -1 is the current file position ---- */

/* Flags with which a call may wait; not RWF_NOWAIT, nor flags that the kernel refuses. */
#define WAITING_FLAGS (RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND)

static bool may_wait(int fd, off64_t offset, int flags)
{
	return offset == -1 && !(flags & ~WAITING_FLAGS) && is_pipe_or_socket(fd);
}

ssize_t turns_preadv2(int fd, const struct iovec *iov, int n, off_t offset,
		      int flags) __asm__("preadv2");
ssize_t turns_preadv2(int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
	if (PROGRAM && may_wait(fd, offset, flags) && !turns_await_in(fd))
		return -1;
	return REAL(preadv2)(fd, iov, n, offset, flags);
}

ssize_t turns_preadv64v2(int fd, const struct iovec *iov, int n, off64_t offset,
			 int flags) __asm__("preadv64v2");
ssize_t turns_preadv64v2(int fd, const struct iovec *iov, int n, off64_t offset, int flags)
{
	if (PROGRAM && may_wait(fd, offset, flags) && !turns_await_in(fd))
		return -1;
	return REAL(preadv2)(fd, iov, n, offset, flags);
}

/* The flags have no effect on pipes and sockets, so writev does the same there. */
ssize_t turns_pwritev2(int fd, const struct iovec *iov, int n, off_t offset,
		       int flags) __asm__("pwritev2");
ssize_t turns_pwritev2(int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
	if (PROGRAM && may_wait(fd, offset, flags))
		return turns_writev_by(__builtin_return_address(0), fd, iov, n);
	return REAL(pwritev2)(fd, iov, n, offset, flags);
}

ssize_t turns_pwritev64v2(int fd, const struct iovec *iov, int n, off64_t offset,
			  int flags) __asm__("pwritev64v2");
ssize_t turns_pwritev64v2(int fd, const struct iovec *iov, int n, off64_t offset, int flags)
{
	if (PROGRAM && may_wait(fd, offset, flags))
		return turns_writev_by(__builtin_return_address(0), fd, iov, n);
	return REAL(pwritev2)(fd, iov, n, offset, flags);
}
