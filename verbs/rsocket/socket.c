/* SPDX-License-Identifier: BSD-3-Clause */
/* socket.c - rsockets: making, binding, ending; addresses; flags. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

#include "rsocket.h"

#define NS_PER_S  1000000000ul
#define ANSWER_NS NS_PER_S /* as long as rclose waits for a client to hear that it is accepted */

/* ---- creation ---- */

int rsocket(int domain, int type, int protocol)
{
	int flags = type & (SOCK_NONBLOCK | SOCK_CLOEXEC), fd;
	struct rs_socket *rs;

	if (domain != PF_INET && domain != PF_INET6)
		return cm_fail(EAFNOSUPPORT);
	if ((type ^ flags) != SOCK_STREAM)
		return cm_fail(ESOCKTNOSUPPORT);
	if (protocol != 0 && protocol != IPPROTO_TCP)
		return cm_fail(EPROTONOSUPPORT);
	rs = rs_make(domain, NULL);
	if (!rs)
		return -1;
	fd = rs->fd;
	rs->nonblocking = flags & SOCK_NONBLOCK;
	rs->close_on_exec = flags & SOCK_CLOEXEC;
	rs_put(rs);
	return fd;
}

/* ---- addresses ---- */

int rs_address_check(const struct rs_socket *rs, const struct sockaddr *addr, socklen_t size)
{
	if (!addr)
		return -EFAULT;
	if (size < sizeof(addr->sa_family))
		return -EINVAL;
	if (addr->sa_family != rs->domain)
		return -EAFNOSUPPORT;
	return size < cm_address_size(addr) ? -EINVAL : 0;
}

int rs_address_copy(const struct sockaddr *from, struct sockaddr *to, socklen_t *size)
{
	socklen_t all = (socklen_t)cm_address_size(from);

	if (!size || (!to && *size))
		return -EFAULT;
	if ((int)*size < 0)
		return -EINVAL;
	if (*size)
		memcpy(to, from, *size < all ? *size : all);
	*size = all;
	return 0;
}

const struct sockaddr *rs_address_none(const struct rs_socket *rs)
{
	static const struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	static const struct sockaddr_in four = { .sin_family = AF_INET };

	return rs->domain == AF_INET6 ? (const struct sockaddr *)&six
				      : (const struct sockaddr *)&four;
}

int rbind(int fd, const struct sockaddr *addr, socklen_t size)
{
	struct rs_socket *rs = rs_enter(fd);
	int err;

	if (!rs)
		return -1;
	err = rs_address_check(rs, addr, size);
	if (!err && rs->state != RS_OPEN)
		err = -EINVAL;
	if (!err)
		err = rs_id_make(rs);
	if (!err && rdma_bind_addr(rs->id, (struct sockaddr *)addr))
		err = -errno;
	if (!err)
		rs->state = RS_BOUND;
	return (int)rs_leave(rs, err);
}

int rgetsockname(int fd, struct sockaddr *addr, socklen_t *size)
{
	struct rs_socket *rs = rs_enter(fd);
	const struct sockaddr *own;
	int err;

	if (!rs)
		return -1;
	own = rs->id ? &rs->id->route.addr.src_addr : NULL;
	if (!own || !own->sa_family)
		own = rs_address_none(rs);
	err = rs_address_copy(own, addr, size);
	return (int)rs_leave(rs, err);
}

int rgetpeername(int fd, struct sockaddr *addr, socklen_t *size)
{
	struct rs_socket *rs = rs_enter(fd);
	int err = -ENOTCONN;

	if (!rs)
		return -1;
	/* A peer that has closed its side is known yet. */
	if (rs->state == RS_ACCEPTING || rs->state == RS_CONNECTED || rs->state == RS_OVER)
		err = rs_address_copy(&rs->id->route.addr.dst_addr, addr, size);
	return (int)rs_leave(rs, err);
}

/* ---- flags ---- */

int rfcntl(int fd, int cmd, ...)
{
	struct rs_socket *rs = rs_enter(fd);
	va_list args;
	int result = 0;

	if (!rs)
		return -1;
	va_start(args, cmd);
	switch (cmd) {
	case F_GETFL:
		result = O_RDWR | (rs->nonblocking ? O_NONBLOCK : 0);
		break;
	case F_SETFL:
		rs->nonblocking = va_arg(args, int) & O_NONBLOCK;
		break;
	/* Kept for the program: no rsocket outlives an exec. */
	case F_GETFD:
		result = rs->close_on_exec ? FD_CLOEXEC : 0;
		break;
	case F_SETFD:
		rs->close_on_exec = va_arg(args, int) & FD_CLOEXEC;
		break;
	default:
		result = -EOPNOTSUPP;
	}
	va_end(args);
	return (int)rs_leave(rs, result);
}

/* ---- the end ---- */

static void end_stream(struct rs_socket *rs)
{
	if (rs->write_shut)
		return;
	rs->end_due = true;
	rs->write_shut = true;
	rs_send_due(rs);
}

int rshutdown(int fd, int how)
{
	struct rs_socket *rs = rs_enter(fd);

	if (!rs)
		return -1;
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return (int)rs_leave(rs, -EINVAL);
	if (rs->state != RS_ACCEPTING && rs->state != RS_CONNECTED)
		return (int)rs_leave(rs, -ENOTCONN);
	if (how != SHUT_WR)
		rs->read_shut = true;
	if (how != SHUT_RD)
		end_stream(rs);
	rs_wake(rs);
	return (int)rs_leave(rs, 0);
}

/*
 * Until the peer has all that was sent, or the time of SO_LINGER is over; with none, at once. A
 * client that does not know yet that it is accepted is to find the end of the stream, as with
 * sockets, but a program may close both in one thread.
 */
static void end_gently(struct rs_socket *rs)
{
	const struct linger *linger = &rs->options.linger;
	uint64_t left = NIC_TIME_NEVER, answered;
	int err = 0;

	if (linger->l_onoff)
		left = linger->l_linger > 0 ? (uint64_t)linger->l_linger * NS_PER_S : 0;
	answered = left < ANSWER_NS ? left : ANSWER_NS;
	while (!err && answered > 0 && rs->state == RS_ACCEPTING)
		err = rs_wait_for(rs, &answered, "rclose");
	if (left > 0 && rs->state == RS_CONNECTED)
		end_stream(rs);
	while (!err && left > 0 && rs->state == RS_CONNECTED && rs->tx.busy > 0)
		err = rs_wait_for(rs, &left, "rclose");
}

int rclose(int fd)
{
	struct rs_socket *rs = rs_enter(fd);

	if (!rs)
		return -1;
	if (rs->state == RS_ACCEPTING || rs->state == RS_CONNECTED)
		end_gently(rs);
	if (rs->state > RS_LISTENING)
		rs_fail(rs, 0);
	if (!rs->closed)
		rs_close(rs);
	/* Threads that sleep for its requests keep a listener, and are not to keep its port. */
	if (rs->state == RS_LISTENING) {
		rs_drop_accepted(rs);
		rs_link_free(rs);
		rs->state = RS_OVER;
	}
	return (int)rs_leave(rs, 0);
}
