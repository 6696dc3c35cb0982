/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_fd.c - descriptors of a program in lockstep: a call that would block lets others have the
 * turn first; one that may end another's wait tells.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "turns.h"

/* How long a socket's calls wait in that direction (SO_RCVTIMEO, SO_SNDTIMEO). */
static uint64_t limit_of(int fd, short events)
{
	struct timeval limit = { 0 };
	socklen_t size = sizeof(limit);
	int before = errno;

	if (getsockopt(fd, SOL_SOCKET, events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO, &limit, &size))
		errno = before;
	if (limit.tv_sec == 0 && limit.tv_usec == 0)
		return OUTSIDE_NEVER;
	return turns_ns(
		&(struct timespec){ .tv_sec = limit.tv_sec, .tv_nsec = limit.tv_usec * 1000 });
}

/*
 * Return when the call will not block, or when it has to block as usual. False: it is to fail, for
 * its time is over, or a handler has run. One with a limit is not restarted.
 */
static bool await_fd(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	uint64_t begin, limit;

	turns_timers_fire();
	if (REAL(poll)(&pfd, 1, 0) != 0)
		return true;
	if (fcntl(fd, F_GETFL) & O_NONBLOCK) {
		turns_found_nothing();
		return true;
	}
	limit = turns_later(limit_of(fd, events));
	begin = limit == OUTSIDE_NEVER ? 0 : turns_now();
	do {
		uint64_t past = limit == OUTSIDE_NEVER ? 0 : turns_now() - begin;

		pthread_testcancel();
		if (past >= limit) {
			errno = EAGAIN;
			return false;
		}
		if (!turns_wait_fd(limit == OUTSIDE_NEVER ? limit : limit - past))
			return true;
		turns_timers_fire();
		if (REAL(poll)(&pfd, 1, 0) != 0)
			return true;
	} while (!turns_interrupted(limit == OUTSIDE_NEVER));
	return false;
}

bool turns_await_in(int fd)
{
	return await_fd(fd, POLLIN);
}

bool turns_await_out(int fd)
{
	return await_fd(fd, POLLOUT);
}

/* For calls of the program: false if the call is to return -1 at once. */
static bool await_in(const void *caller, int fd)
{
	return !turns_is_program(caller) || await_fd(fd, POLLIN);
}

/* Linux waits for data, and neither for errors nor for an urgent byte. */
static short events_of(short events, int flags)
{
	if (events != POLLIN || !(flags & (MSG_ERRQUEUE | MSG_OOB)))
		return events;
	return flags & MSG_ERRQUEUE ? 0 : POLLPRI;
}

/* The same for calls with flags: MSG_DONTWAIT is for this one what O_NONBLOCK is for all. */
static bool await_flags(const void *caller, int fd, short events, int flags)
{
	struct pollfd pfd = { .fd = fd, .events = events_of(events, flags) };

	if (!turns_is_program(caller))
		return true;
	if (pfd.events == events && !(flags & MSG_DONTWAIT))
		return await_fd(fd, events);
	if (REAL(poll)(&pfd, 1, 0) == 0)
		turns_found_nothing();
	return true;
}

static ssize_t tell_success(const void *caller, ssize_t result)
{
	if (result >= 0 && turns_is_program(caller))
		turns_tell(true);
	return result;
}

/* ---- parts, of a call that would block in the middle ---- */

static int kind_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (int)(st.st_mode & S_IFMT);
}

static bool is_stream(int fd)
{
	socklen_t size = sizeof(int);
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* As much as goes without blocking. A pipe that is writable has room for PIPE_BUF bytes. */
static ssize_t put_part(int fd, int kind, const void *from, size_t n, int flags)
{
	if (kind == S_IFSOCK)
		return REAL(send)(fd, from, n, flags | MSG_DONTWAIT);
	return REAL(write)(fd, from, n < PIPE_BUF ? n : PIPE_BUF);
}

/* All of it, with turns for others in between, who read it. */
static ssize_t put_all(int fd, int kind, const char *from, size_t n, int flags)
{
	size_t done = 0;
	ssize_t part;

	do {
		part = await_fd(fd, POLLOUT) ? put_part(fd, kind, from + done, n - done, flags)
					     : -1;
		if (part > 0)
			turns_tell(true);
		done += part > 0 ? (size_t)part : 0;
	} while (done < n && (part > 0 || (part < 0 && errno == EAGAIN)) &&
		 !(fcntl(fd, F_GETFL) & O_NONBLOCK) && limit_of(fd, POLLOUT) == OUTSIDE_NEVER);
	return done ? (ssize_t)done : part;
}

/* May it block although the descriptor is writable? */
static bool is_long(int fd, size_t n, int *kind)
{
	if (n <= PIPE_BUF)
		return false;
	*kind = kind_of(fd);
	return *kind == S_IFSOCK || *kind == S_IFIFO;
}

static size_t bytes_of(const struct iovec *iov, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* The vectors without their first `done` bytes, which were sent. */
static ssize_t put_rest(int fd, int kind, const struct iovec *iov, size_t n, size_t done, int flags)
{
	size_t all = done, skip = done;
	ssize_t part = 0;

	for (size_t i = 0; i < n && part >= 0; i++) {
		size_t before = skip < iov[i].iov_len ? skip : iov[i].iov_len;
		size_t left = iov[i].iov_len - before;

		skip -= before;
		part = left ? put_all(fd, kind, (const char *)iov[i].iov_base + before, left, flags)
			    : 0;
		all += part > 0 ? (size_t)part : 0;
		if (part >= 0 && (size_t)part < left)
			break;
	}
	return all ? (ssize_t)all : part;
}

/* recv with MSG_WAITALL. */
static ssize_t get_all(int fd, char *to, size_t n, int flags)
{
	ssize_t part = 1;
	size_t done = 0;

	while (done < n && part > 0 && await_fd(fd, POLLIN)) {
		part = REAL(recv)(fd, to + done, n - done, flags & ~MSG_WAITALL);
		done += part > 0 ? (size_t)part : 0;
	}
	return done ? (ssize_t)done : part > 0 ? -1 : part;
}

static bool waits_for_all(const void *caller, int fd, int flags)
{
	const int none = MSG_DONTWAIT | MSG_PEEK | MSG_ERRQUEUE | MSG_OOB;

	return (flags & MSG_WAITALL) && !(flags & none) && turns_is_program(caller) &&
	       is_stream(fd);
}

#define CALLER __builtin_return_address(0)
/* Declare and begin the function of this name. */
#define DEFINE(type, name, label, ...)                 \
	type turns_##name(__VA_ARGS__) __asm__(label); \
	type turns_##name(__VA_ARGS__)

/*
 * What was sent has to be readable when the call returns. On this machine it is, but for a TCP
 * socket that holds back a short packet until the peer has acknowledged the one before, which the
 * kernel does after 40 ms of real time. Other sockets refuse the option.
 */
void turns_send_at_once(int fd)
{
	int on = 1, before = errno;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	errno = before;
}

/* ---- in ---- */

/* A read of no bytes does not wait. */
static ssize_t read_in_turn(const void *caller, int fd, void *to, size_t n)
{
	ssize_t got;

	if (n == 0 || !turns_is_program(caller) || (n < sizeof(uint64_t) && turns_is_counter(fd)))
		return REAL(read)(fd, to, n);
	if (!await_fd(fd, POLLIN))
		return -1;
	if (turns_is_random(fd)) {
		turns_random(to, n);
		return (ssize_t)n;
	}
	got = REAL(read)(fd, to, n);
	turns_signals_shown(fd, to, got);
	return got;
}

static ssize_t recv_in_turn(const void *caller, int fd, void *to, size_t n, int flags)
{
	if (n > 0 && waits_for_all(caller, fd, flags))
		return get_all(fd, to, n, flags);
	if (!await_flags(caller, fd, POLLIN, flags))
		return -1;
	return REAL(recv)(fd, to, n, flags);
}

static ssize_t recvfrom_in_turn(const void *caller, int fd, void *to, size_t n, int flags,
				struct sockaddr *addr, socklen_t *size)
{
	ssize_t got;

	if (!addr)
		return recv_in_turn(caller, fd, to, n, flags);
	if (!await_flags(caller, fd, POLLIN, flags))
		return -1;
	got = REAL(recvfrom)(fd, to, n, flags, addr, size);
	if (got >= 0 && turns_is_program(caller))
		turns_addr_shown(addr, *size);
	return got;
}

DEFINE(ssize_t, read, "read", int fd, void *to, size_t n)
{
	return read_in_turn(CALLER, fd, to, n);
}

DEFINE(int, eventfd_read, "eventfd_read", int fd, eventfd_t *value)
{
	return read_in_turn(CALLER, fd, value, sizeof(*value)) == sizeof(*value) ? 0 : -1;
}

DEFINE(ssize_t, readv, "readv", int fd, const struct iovec *iov, int n)
{
	return await_in(CALLER, fd) ? REAL(readv)(fd, iov, n) : -1;
}

DEFINE(ssize_t, recv, "recv", int fd, void *to, size_t n, int flags)
{
	return recv_in_turn(CALLER, fd, to, n, flags);
}

DEFINE(ssize_t, recvfrom, "recvfrom", int fd, void *to, size_t n, int flags, struct sockaddr *addr,
       socklen_t *size)
{
	return recvfrom_in_turn(CALLER, fd, to, n, flags, addr, size);
}

DEFINE(ssize_t, recvmsg, "recvmsg", int fd, struct msghdr *message, int flags)
{
	ssize_t got;

	if (!await_flags(CALLER, fd, POLLIN, flags))
		return -1;
	got = REAL(recvmsg)(fd, message, flags);
	if (got >= 0 && message->msg_name && turns_is_program(CALLER))
		turns_addr_shown(message->msg_name, message->msg_namelen);
	return got;
}

DEFINE(int, recvmmsg, "recvmmsg", int fd, struct mmsghdr *messages, unsigned int n, int flags,
       struct timespec *timeout)
{
	bool ours = turns_is_program(CALLER);

	if (!await_flags(CALLER, fd, POLLIN, flags))
		return -1;
	/* All that are there: it does not block for the rest. */
	return REAL(recvmmsg)(fd, messages, n, ours ? flags | MSG_WAITFORONE : flags, timeout);
}

static int accept_in_turn(const void *caller, int fd, struct sockaddr *addr, socklen_t *size,
			  int flags)
{
	int accepted = await_in(caller, fd) ? REAL(accept4)(fd, addr, size, flags) : -1;

	if (accepted < 0 || !turns_is_program(caller))
		return accepted;
	turns_send_at_once(accepted);
	if (addr)
		turns_addr_shown(addr, *size);
	return accepted;
}

DEFINE(int, accept, "accept", int fd, struct sockaddr *addr, socklen_t *size)
{
	return accept_in_turn(CALLER, fd, addr, size, 0);
}

DEFINE(int, accept4, "accept4", int fd, struct sockaddr *addr, socklen_t *size, int flags)
{
	return accept_in_turn(CALLER, fd, addr, size, flags);
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
	return read_in_turn(CALLER, fd, to, n);
}

DEFINE(ssize_t, recv_chk, "__recv_chk", int fd, void *to, size_t n, size_t room, int flags)
{
	check_room(n, room);
	return recv_in_turn(CALLER, fd, to, n, flags);
}

DEFINE(ssize_t, recvfrom_chk, "__recvfrom_chk", int fd, void *to, size_t n, size_t room, int flags,
       struct sockaddr *addr, socklen_t *size)
{
	check_room(n, room);
	return recvfrom_in_turn(CALLER, fd, to, n, flags, addr, size);
}

/* ---- out ---- */

ssize_t turns_write_by(const void *caller, int fd, const void *from, size_t n)
{
	int kind;

	if (turns_is_program(caller) && turns_is_timer(fd)) {
		errno = EINVAL; /* as of a timer: its eventfd would take it */
		return -1;
	}
	/* Of no bytes, it does not wait; a socket may send an empty message. */
	if (!turns_is_program(caller) || (n == 0 && kind_of(fd) != S_IFSOCK))
		return REAL(write)(fd, from, n);
	if (is_long(fd, n, &kind))
		return put_all(fd, kind, from, n, 0);
	return await_fd(fd, POLLOUT) ? tell_success(caller, REAL(write)(fd, from, n)) : -1;
}

DEFINE(ssize_t, write, "write", int fd, const void *from, size_t n)
{
	return turns_write_by(CALLER, fd, from, n);
}

DEFINE(int, eventfd_write, "eventfd_write", int fd, eventfd_t value)
{
	return turns_write_by(CALLER, fd, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}

ssize_t turns_writev_by(const void *caller, int fd, const struct iovec *iov, int n)
{
	int kind;

	if (!turns_is_program(caller) || n < 0)
		return REAL(writev)(fd, iov, n);
	if (is_long(fd, bytes_of(iov, (size_t)n), &kind) && (kind == S_IFIFO || is_stream(fd)))
		return put_rest(fd, kind, iov, (size_t)n, 0, 0);
	return await_fd(fd, POLLOUT) ? tell_success(caller, REAL(writev)(fd, iov, n)) : -1;
}

DEFINE(ssize_t, writev, "writev", int fd, const struct iovec *iov, int n)
{
	return turns_writev_by(CALLER, fd, iov, n);
}

static ssize_t sendto_in_turn(const void *caller, int fd, const void *from, size_t n, int flags,
			      const struct sockaddr *addr, socklen_t size)
{
	bool ours = turns_is_program(caller), given;
	struct sockaddr_storage room;
	ssize_t sent;

	if (!ours)
		return REAL(sendto)(fd, from, n, flags, addr, size);
	given = addr && !turns_is_bound(fd);
	if (!addr && n > PIPE_BUF && !(flags & MSG_DONTWAIT))
		return put_all(fd, S_IFSOCK, from, n, flags);
	if (!await_flags(caller, fd, POLLOUT, flags))
		return -1;
	sent = REAL(sendto)(fd, from, n, flags, turns_addr_meant(addr, size, &room), size);
	if (given && sent >= 0)
		turns_port_given(fd);
	return tell_success(caller, sent);
}

DEFINE(ssize_t, send, "send", int fd, const void *from, size_t n, int flags)
{
	return sendto_in_turn(CALLER, fd, from, n, flags, NULL, 0);
}

DEFINE(ssize_t, sendto, "sendto", int fd, const void *from, size_t n, int flags,
       const struct sockaddr *addr, socklen_t size)
{
	return sendto_in_turn(CALLER, fd, from, n, flags, addr, size);
}

/* A long one to a stream: what goes at once, with its control data, and then the rest. */
static ssize_t sendmsg_in_turn(const void *caller, int fd, const struct msghdr *message, int flags)
{
	bool whole = bytes_of(message->msg_iov, message->msg_iovlen) > PIPE_BUF &&
		     !(flags & MSG_DONTWAIT) && is_stream(fd);
	struct sockaddr_storage room;
	struct msghdr copy = *message;
	ssize_t sent;

	copy.msg_name =
		(void *)(uintptr_t)turns_addr_meant(message->msg_name, message->msg_namelen, &room);
	do {
		if (!await_flags(caller, fd, POLLOUT, flags))
			return -1;
		sent = REAL(sendmsg)(fd, &copy, flags | (whole ? MSG_DONTWAIT : 0));
	} while (sent < 0 && whole && errno == EAGAIN && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	if (sent >= 0)
		turns_tell(true);
	if (sent < 0 || !whole)
		return sent;
	return put_rest(fd, S_IFSOCK, copy.msg_iov, copy.msg_iovlen, (size_t)sent, flags);
}

DEFINE(ssize_t, sendmsg, "sendmsg", int fd, const struct msghdr *message, int flags)
{
	return turns_is_program(CALLER) ? sendmsg_in_turn(CALLER, fd, message, flags)
					: REAL(sendmsg)(fd, message, flags);
}

DEFINE(int, sendmmsg, "sendmmsg", int fd, struct mmsghdr *messages, unsigned int n, int flags)
{
	if (!await_flags(CALLER, fd, POLLOUT, flags))
		return -1;
	return (int)tell_success(CALLER, REAL(sendmmsg)(fd, messages, n, flags));
}

DEFINE(int, shutdown, "shutdown", int fd, int how)
{
	return (int)tell_success(CALLER, REAL(shutdown)(fd, how));
}
