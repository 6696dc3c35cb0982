/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.c - sending and receiving bytes. */
#include <limits.h>
#include <string.h>

#include "rsocket.h"

#define RECV_FLAGS (MSG_DONTWAIT | MSG_PEEK | MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC)
#define SEND_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_WAITALL | MSG_MORE)

/* The program's buffers, and how far they have been worked off. */
struct cursor {
	const struct iovec *iov;
	size_t n;
	size_t left; /* bytes of all */
	size_t at;   /* in the first one */
};

/* A negative errno: they are no buffers. */
static int begin_cursor(struct cursor *c, const struct iovec *iov, ssize_t n)
{
	*c = (struct cursor){ .iov = iov, .n = (size_t)n };
	if (n < 0 || n > IOV_MAX)
		return -EINVAL;
	if (!iov && n > 0)
		return -EFAULT;
	for (ssize_t i = 0; i < n; i++) {
		if (iov[i].iov_len > SSIZE_MAX - c->left)
			return -EINVAL;
		if (!iov[i].iov_base && iov[i].iov_len > 0)
			return -EFAULT;
		c->left += iov[i].iov_len;
	}
	return 0;
}

/* The next bytes, at most `most`; what is used of them is taken off by advance_by. */
static size_t next_piece(struct cursor *c, size_t most, uint8_t **at)
{
	size_t size;

	while (c->n > 0 && c->at == c->iov->iov_len) {
		c->iov++;
		c->n--;
		c->at = 0;
	}
	if (c->n == 0)
		return 0;
	*at = (uint8_t *)c->iov->iov_base + c->at;
	size = c->iov->iov_len - c->at;
	return size < most ? size : most;
}

static void advance_by(struct cursor *c, size_t size)
{
	c->at += size;
	c->left -= size;
}

/* ---- receiving ---- */

static void drop_first(struct rs_socket *rs)
{
	struct rs_receiver *rx = &rs->rx;
	uint32_t slot = rx->queue[rx->first];

	rx->first = (rx->first + 1) % rx->slots.n;
	rx->count--;
	rx->taken = 0;
	rs_receive_again(rs, slot);
}

/* Copy from the i-th slot with data, of which `from` bytes were read. */
static size_t copy_slot(const struct rs_receiver *rx, uint32_t i, uint32_t from, struct cursor *c)
{
	uint32_t slot = rx->queue[(rx->first + i) % rx->slots.n], end = rx->length[slot], at = from;
	const uint8_t *body =
		rx->slots.memory + (size_t)slot * rx->slots.size + sizeof(struct rs_head);
	uint8_t *to;
	size_t size;

	while (at < end && (size = next_piece(c, end - at, &to)) > 0) {
		memcpy(to, body + at, size);
		advance_by(c, size);
		at += (uint32_t)size;
	}
	return at - from;
}

static size_t take_bytes(struct rs_socket *rs, struct cursor *c)
{
	struct rs_receiver *rx = &rs->rx;
	size_t all = 0, size;

	while (rx->count > 0 && c->left > 0) {
		size = copy_slot(rx, 0, rx->taken, c);
		rx->taken += (uint32_t)size;
		all += size;
		if (rx->taken == rx->length[rx->queue[rx->first]])
			drop_first(rs);
	}
	if (all > 0)
		rs_send_due(rs);
	return all;
}

static size_t peek_bytes(const struct rs_socket *rs, struct cursor *c)
{
	size_t all = 0;

	for (uint32_t i = 0; i < rs->rx.count && c->left > 0; i++)
		all += copy_slot(&rs->rx, i, i ? 0 : rs->rx.taken, c);
	return all;
}

/* Nothing is there to read. 1: it may come; 0: it is the end of the stream. */
static int may_receive(const struct rs_socket *rs)
{
	switch (rs->state) {
	case RS_CONNECTING:
	case RS_ACCEPTING:
	case RS_CONNECTED:
		return rs->read_shut || rs->peer_ended ? 0 : 1;
	case RS_OVER:
		return rs->peer_ended || rs->read_shut ? 0 : -rs->error;
	default:
		return -ENOTCONN;
	}
}

static ssize_t receive(struct rs_socket *rs, struct cursor *c, int flags)
{
	bool blocks = !rs->nonblocking && !(flags & MSG_DONTWAIT);
	ssize_t all = 0;
	int err;

	if (flags & MSG_PEEK)
		rs_progress(rs); /* a program may peek until enough is there */
	for (;;) {
		all += (ssize_t)(flags & MSG_PEEK ? peek_bytes(rs, c) : take_bytes(rs, c));
		if (c->left == 0 || (all > 0 && (!(flags & MSG_WAITALL) || flags & MSG_PEEK)))
			return all;
		if (rs_progress(rs) > 0)
			continue;
		err = may_receive(rs);
		if (err > 0 && blocks)
			err = rs_wait(rs, "rrecv");
		else if (err > 0)
			err = -EAGAIN;
		else if (err == 0)
			return all;
		if (err == -EAGAIN && all == 0)
			rs_pause(rs);
		if (err)
			return all > 0 ? all : err;
	}
}

static ssize_t receive_into(int fd, const struct iovec *iov, ssize_t n, int flags)
{
	struct rs_socket *rs = rs_enter(fd);
	struct cursor c;
	ssize_t err;

	if (!rs)
		return -1;
	err = begin_cursor(&c, iov, n);
	if (!err && flags & ~RECV_FLAGS)
		err = -EOPNOTSUPP;
	if (!err)
		err = may_receive(rs) == -ENOTCONN ? -ENOTCONN : receive(rs, &c, flags);
	return rs_leave(rs, err);
}

ssize_t rrecv(int fd, void *to, size_t size, int flags)
{
	const struct iovec iov = { .iov_base = to, .iov_len = size };

	return receive_into(fd, &iov, 1, flags);
}

ssize_t rrecvfrom(int fd, void *to, size_t size, int flags, struct sockaddr *from,
		  socklen_t *from_size)
{
	struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
	socklen_t peer_size = sizeof(peer);
	ssize_t got;

	if (from && !from_size)
		return cm_fail(EFAULT);
	if (from && (int)*from_size < 0)
		return cm_fail(EINVAL);
	/* As of a connected socket: the peer's. */
	if (from && rgetpeername(fd, (struct sockaddr *)&peer, &peer_size) && errno != ENOTCONN)
		return -1;
	got = rrecv(fd, to, size, flags);
	if (got >= 0 && from && peer.ss_family)
		rs_address_copy((struct sockaddr *)&peer, from, from_size);
	return got;
}

ssize_t rrecvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t n;

	if (!message)
		return cm_fail(EFAULT);
	if (message->msg_iovlen > IOV_MAX)
		return cm_fail(EMSGSIZE);
	n = receive_into(fd, message->msg_iov, (ssize_t)message->msg_iovlen, flags);
	if (n < 0)
		return n;
	message->msg_namelen = 0;
	message->msg_controllen = 0;
	message->msg_flags = 0;
	return n;
}

ssize_t rread(int fd, void *to, size_t size)
{
	return rrecv(fd, to, size, 0);
}

ssize_t rreadv(int fd, const struct iovec *iov, int n)
{
	return receive_into(fd, iov, n, 0);
}

/* ---- sending ---- */

int rs_why_not_send(const struct rs_socket *rs)
{
	if (rs->write_shut)
		return -EPIPE;
	switch (rs->state) {
	case RS_CONNECTING:
	case RS_ACCEPTING:
	case RS_CONNECTED:
		return 1;
	case RS_OVER:
		return rs->error ? -rs->error : -EPIPE;
	default:
		return -ENOTCONN;
	}
}

/* One message. */
static int send_piece(struct rs_socket *rs, struct cursor *c, size_t *sent)
{
	uint32_t room = rs->tx.slots.size - (uint32_t)sizeof(struct rs_head), at = 0;
	uint8_t *body = rs_next_body(rs), *from;
	size_t size;

	while (at < room && (size = next_piece(c, room - at, &from)) > 0) {
		memcpy(body + at, from, size);
		advance_by(c, size);
		at += (uint32_t)size;
	}
	*sent += at;
	return rs_send_data(rs, at);
}

static ssize_t send_all(struct rs_socket *rs, struct cursor *c, int flags)
{
	bool blocks = !rs->nonblocking && !(flags & MSG_DONTWAIT);
	size_t all = 0;
	int err = 0;

	rs_send_due(rs); /* notices go first */
	while (!err && c->left > 0) {
		if (rs_may_send(rs) && STAILQ_EMPTY(&rs->notices)) {
			err = send_piece(rs, c, &all);
			continue;
		}
		if (rs_progress(rs) > 0)
			continue;
		err = rs_why_not_send(rs);
		if (err > 0)
			err = blocks ? rs_wait(rs, "rsend") : -EAGAIN;
	}
	return all > 0 ? (ssize_t)all : err;
}

static ssize_t send_from(int fd, const struct iovec *iov, ssize_t n, int flags)
{
	struct rs_socket *rs = rs_enter(fd);
	struct cursor c;
	ssize_t err;

	if (!rs)
		return -1;
	err = begin_cursor(&c, iov, n);
	if (!err && flags & ~SEND_FLAGS)
		err = -EOPNOTSUPP;
	if (!err && rs_why_not_send(rs) < 0)
		err = rs_why_not_send(rs);
	if (!err)
		err = send_all(rs, &c, flags);
	return rs_leave(rs, err);
}

ssize_t rsend(int fd, const void *from, size_t size, int flags)
{
	const struct iovec iov = { .iov_base = (void *)from, .iov_len = size };

	return send_from(fd, &iov, 1, flags);
}

/* Of a connected socket: it goes to the peer. */
ssize_t rsendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *to,
		socklen_t to_size)
{
	if (to && to_size)
		return cm_fail(EISCONN);
	return rsend(fd, from, size, flags);
}

ssize_t rsendmsg(int fd, const struct msghdr *message, int flags)
{
	if (!message)
		return cm_fail(EFAULT);
	if (message->msg_iovlen > IOV_MAX)
		return cm_fail(EMSGSIZE);
	if (message->msg_controllen > 0)
		return cm_fail(EOPNOTSUPP);
	return send_from(fd, message->msg_iov, (ssize_t)message->msg_iovlen, flags);
}

ssize_t rwrite(int fd, const void *from, size_t size)
{
	return rsend(fd, from, size, 0);
}

ssize_t rwritev(int fd, const struct iovec *iov, int n)
{
	return send_from(fd, iov, n, 0);
}
