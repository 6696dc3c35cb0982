/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_fd.c - descriptors of a program in lockstep: a call that would block lets others have the
 * turn first; one that may end another's wait tells.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "turns.h"

#define POLL_NS    2000u /* as in turns_poll.c */
#define CONNECT_NS 100000u

/* Return when the call will not block, or when it has to block as usual. */
static void await_fd(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	while (REAL(poll)(&pfd, 1, 0) == 0) {
		if (fcntl(fd, F_GETFL) & O_NONBLOCK) {
			turns_let_others(POLL_NS, false);
			return;
		}
		pthread_testcancel();
		if (!turns_let_others(OUTSIDE_NEVER, true))
			return;
	}
}

static void await_in(const void *caller, int fd)
{
	if (turns_is_program(caller))
		await_fd(fd, POLLIN);
}

static void await_out(const void *caller, int fd)
{
	if (turns_is_program(caller))
		await_fd(fd, POLLOUT);
}

static ssize_t tell_success(const void *caller, ssize_t result)
{
	if (result >= 0 && turns_is_program(caller))
		turns_tell(true);
	return result;
}

#define CALLER __builtin_return_address(0)
/* Declare and begin the function of this name. */
#define DEFINE(type, name, label, ...)                 \
	type turns_##name(__VA_ARGS__) __asm__(label); \
	type turns_##name(__VA_ARGS__)

/* ---- in ---- */

DEFINE(ssize_t, read, "read", int fd, void *to, size_t n)
{
	await_in(CALLER, fd);
	return REAL(read)(fd, to, n);
}

DEFINE(ssize_t, readv, "readv", int fd, const struct iovec *iov, int n)
{
	await_in(CALLER, fd);
	return REAL(readv)(fd, iov, n);
}

DEFINE(ssize_t, recv, "recv", int fd, void *to, size_t n, int flags)
{
	if (!(flags & MSG_DONTWAIT))
		await_in(CALLER, fd);
	return REAL(recv)(fd, to, n, flags);
}

DEFINE(ssize_t, recvfrom, "recvfrom", int fd, void *to, size_t n, int flags, struct sockaddr *addr,
       socklen_t *size)
{
	if (!(flags & MSG_DONTWAIT))
		await_in(CALLER, fd);
	return REAL(recvfrom)(fd, to, n, flags, addr, size);
}

DEFINE(ssize_t, recvmsg, "recvmsg", int fd, struct msghdr *message, int flags)
{
	if (!(flags & MSG_DONTWAIT))
		await_in(CALLER, fd);
	return REAL(recvmsg)(fd, message, flags);
}

DEFINE(int, accept, "accept", int fd, struct sockaddr *addr, socklen_t *size)
{
	await_in(CALLER, fd);
	return REAL(accept)(fd, addr, size);
}

DEFINE(int, accept4, "accept4", int fd, struct sockaddr *addr, socklen_t *size, int flags)
{
	await_in(CALLER, fd);
	return REAL(accept4)(fd, addr, size, flags);
}

/* As the headers call them in a fortified program. */

static void check_room(size_t n, size_t room)
{
	if (n > room)
		__builtin_trap();
}

DEFINE(ssize_t, read_chk, "__read_chk", int fd, void *to, size_t n, size_t room)
{
	check_room(n, room);
	await_in(CALLER, fd);
	return REAL(read)(fd, to, n);
}

DEFINE(ssize_t, recv_chk, "__recv_chk", int fd, void *to, size_t n, size_t room, int flags)
{
	check_room(n, room);
	if (!(flags & MSG_DONTWAIT))
		await_in(CALLER, fd);
	return REAL(recv)(fd, to, n, flags);
}

DEFINE(ssize_t, recvfrom_chk, "__recvfrom_chk", int fd, void *to, size_t n, size_t room, int flags,
       struct sockaddr *addr, socklen_t *size)
{
	check_room(n, room);
	if (!(flags & MSG_DONTWAIT))
		await_in(CALLER, fd);
	return REAL(recvfrom)(fd, to, n, flags, addr, size);
}

/* ---- out ---- */

DEFINE(ssize_t, write, "write", int fd, const void *from, size_t n)
{
	await_out(CALLER, fd);
	return tell_success(CALLER, REAL(write)(fd, from, n));
}

DEFINE(ssize_t, writev, "writev", int fd, const struct iovec *iov, int n)
{
	await_out(CALLER, fd);
	return tell_success(CALLER, REAL(writev)(fd, iov, n));
}

DEFINE(ssize_t, send, "send", int fd, const void *from, size_t n, int flags)
{
	if (!(flags & MSG_DONTWAIT))
		await_out(CALLER, fd);
	return tell_success(CALLER, REAL(send)(fd, from, n, flags));
}

DEFINE(ssize_t, sendto, "sendto", int fd, const void *from, size_t n, int flags,
       const struct sockaddr *addr, socklen_t size)
{
	if (!(flags & MSG_DONTWAIT))
		await_out(CALLER, fd);
	return tell_success(CALLER, REAL(sendto)(fd, from, n, flags, addr, size));
}

DEFINE(ssize_t, sendmsg, "sendmsg", int fd, const struct msghdr *message, int flags)
{
	if (!(flags & MSG_DONTWAIT))
		await_out(CALLER, fd);
	return tell_success(CALLER, REAL(sendmsg)(fd, message, flags));
}

/*
 * A connection to this machine is made inside the call: the peer need not accept it first, but it
 * has to listen. So the call takes time, as between machines, in which a peer that is about to
 * listen does so.
 */
DEFINE(int, connect, "connect", int fd, const struct sockaddr *addr, socklen_t size)
{
	bool ours = turns_is_program(CALLER);
	int result, err;

	if (ours)
		turns_sleep_ns(CONNECT_NS);
	result = REAL(connect)(fd, addr, size);
	err = errno;
	if (ours && (result == 0 || err == EINPROGRESS))
		turns_tell(true);
	errno = err;
	return result;
}

DEFINE(int, shutdown, "shutdown", int fd, int how)
{
	return (int)tell_success(CALLER, REAL(shutdown)(fd, how));
}

DEFINE(int, close, "close", int fd)
{
	return (int)tell_success(CALLER, REAL(close)(fd));
}
