/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listen.c - rlisten and raccept, and the requests that arrive in between.
 *
 * As with sockets, a connection is made before the program calls raccept, which takes the oldest of
 * those that are there. No thread works for rsockets; so a call that sleeps, for whatever rsocket,
 * sleeps for the requests of all listeners, too, and accepts them (rs_sleep).
 */
#include <stdlib.h>
#include <string.h>

#include "rsocket.h"

#define ACCEPTED_MOST 128u /* beyond them, requests wait for raccept as long as the backlog is */

/* ---- requests ---- */

/* The new rsocket has the id; it is accepted. */
static int accept_id(struct rs_socket *rs, const struct rs_hello *peer)
{
	struct rdma_conn_param param;
	struct rs_hello hello;
	int err;

	if (rdma_migrate_id(rs->id, rs->channel))
		return -errno;
	err = rs_link_make(rs);
	if (!err)
		err = rs_hello_take(rs, peer, sizeof(*peer));
	if (err)
		return err;
	rs_hello_fill(rs, &hello);
	param = rs_conn_param(&hello);
	if (rdma_accept(rs->id, &param))
		return -ECONNABORTED;
	rs->state = RS_ACCEPTING;
	return 0;
}

/* The request is accepted, and waits for raccept, or it is rejected. */
static int adopt_id(struct rs_socket *listener, struct rdma_cm_id *id, const struct rs_hello *peer)
{
	struct rs_socket *rs = rs_make(listener->domain, listener);
	int err = rs ? 0 : -errno;

	if (!rs) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return err;
	}
	pthread_mutex_lock(&rs->mutex);
	rs->options = listener->options;
	rs->id = id;
	id->context = rs;
	err = accept_id(rs, peer);
	if (err) {
		rdma_reject(id, NULL, 0);
		rs_close(rs);
	}
	pthread_mutex_unlock(&rs->mutex);
	if (err) {
		rs_put(rs);
		return err;
	}
	TAILQ_INSERT_TAIL(&listener->accepted, rs, link);
	listener->accepted_count++;
	return 0;
}

/* A request of another kind than an rsocket's is rejected. */
static int take_request(struct rs_socket *listener, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct rdma_cm_id *id = event->id;
	struct rs_hello hello = { .magic = 0 };

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdma_ack_cm_event(event);
		return 0;
	}
	if (!rs_hello_check(conn->private_data, conn->private_data_len))
		memcpy(&hello, conn->private_data, sizeof(hello));
	rdma_ack_cm_event(event);
	if (hello.magic)
		return adopt_id(listener, id, &hello);
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
	return 0;
}

static bool has_room(const struct rs_socket *rs)
{
	return rs->state == RS_LISTENING && !rs->closed && rs->accepted_count < ACCEPTED_MOST;
}

unsigned int rs_take_requests(struct rs_socket *rs)
{
	unsigned int before = rs->accepted_count;
	struct rdma_cm_event *event;
	int err = 0;

	while (!err && has_room(rs) && rs_has_event(rs))
		err = rdma_get_cm_event(rs->channel, &event) ? -errno : take_request(rs, event);
	if (err)
		rs->accept_error = err;
	if (err || rs->accepted_count > before)
		rs_wake(rs);
	return rs->accepted_count - before;
}

void rs_drop_accepted(struct rs_socket *rs)
{
	struct rs_socket *new;

	while ((new = TAILQ_FIRST(&rs->accepted)) != NULL) {
		TAILQ_REMOVE(&rs->accepted, new, link);
		rs->accepted_count--;
		pthread_mutex_lock(&new->mutex);
		rs_fail(new, 0);
		rs_close(new);
		rs_leave(new, 0);
	}
}

/* ---- sleep ---- */

static int sleep_in_world(struct vb_wait *wait)
{
	int n;

	cm_enter();
	n = vb_event_wait_many(cm_backend(), wait);
	cm_leave();
	return n;
}

/* Add the descriptors by which the listeners learn of requests. */
static void add_listeners(struct vb_wait *wait, struct rs_socket **listeners, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct rs_socket *rs = listeners[i];

		pthread_mutex_lock(&rs->mutex);
		if (has_room(rs))
			wait->fds[wait->n++] =
				(struct pollfd){ .fd = rs->channel->fd, .events = POLLIN };
		pthread_mutex_unlock(&rs->mutex);
	}
}

struct sleeper {
	struct rs_socket **listeners;
	unsigned int count;
	struct pollfd *fds; /* those that it waits for, and the listeners'; NULL: no memory */
};

/* Awake again, or cancelled. */
static void end_sleep(void *arg)
{
	struct sleeper *s = arg;

	for (unsigned int i = 0; i < s->count; i++) {
		pthread_mutex_lock(&s->listeners[i]->mutex);
		rs_take_requests(s->listeners[i]);
		rs_leave(s->listeners[i], 0);
	}
	free(s->fds);
	free(s->listeners);
}

int rs_sleep(struct vb_wait *wait)
{
	struct vb_wait all = *wait;
	struct sleeper s;
	int n;

	s.count = rs_listeners(&s.listeners);
	s.fds = s.count ? calloc(wait->n + s.count, sizeof(*s.fds)) : NULL;
	if (s.fds) {
		if (wait->n)
			memcpy(s.fds, wait->fds, wait->n * sizeof(*s.fds));
		all.fds = s.fds;
		add_listeners(&all, s.listeners, s.count);
	}
	pthread_cleanup_push(end_sleep, &s);
	n = sleep_in_world(&all);
	wait->left = all.left;
	if (s.fds && wait->n)
		memcpy(wait->fds, s.fds, wait->n * sizeof(*s.fds));
	pthread_cleanup_pop(1);
	return n < 0 ? n : 0;
}

/* ---- calls ---- */

static int listen_at(struct rs_socket *rs, int backlog)
{
	int err;

	if (rs->state > RS_LISTENING)
		return -EINVAL;
	err = rs_id_make(rs);
	if (err)
		return err;
	if (rs->state == RS_OPEN && rdma_bind_addr(rs->id, (struct sockaddr *)rs_address_none(rs)))
		return -errno;
	if (rdma_listen(rs->id, backlog))
		return -errno;
	rs->state = RS_LISTENING;
	rs_listens(rs);
	return 0;
}

int rlisten(int fd, int backlog)
{
	struct rs_socket *rs = rs_enter(fd);
	int err;

	if (!rs)
		return -1;
	if (rs->state == RS_LISTENING)
		return (int)rs_leave(rs, 0);
	err = (int)rs_leave(rs, listen_at(rs, backlog));
	/* Threads that sleep already do not sleep for this one. */
	if (!err)
		rs_wake_all();
	return err;
}

static int accept_next(struct rs_socket *rs, struct rs_socket **out)
{
	int err;

	if (rs->state != RS_LISTENING)
		return -EINVAL;
	for (;;) {
		rs_take_requests(rs);
		*out = TAILQ_FIRST(&rs->accepted);
		if (*out) {
			TAILQ_REMOVE(&rs->accepted, *out, link);
			rs->accepted_count--;
			return 0;
		}
		err = rs->accept_error;
		rs->accept_error = 0;
		if (err)
			return err;
		if (rs->nonblocking) {
			rs_pause(rs);
			return -EAGAIN;
		}
		err = rs_wait(rs, "raccept");
		if (err)
			return err;
	}
}

/* Its address, and its number or an error; then it is closed. */
static int hand_out(struct rs_socket *new, struct sockaddr *addr, socklen_t *size)
{
	int got = new->fd, err = 0;

	pthread_mutex_lock(&new->mutex);
	if (addr)
		err = rs_address_copy(&new->id->route.addr.dst_addr, addr, size);
	if (err) {
		rs_fail(new, 0);
		rs_close(new);
		got = err;
	}
	rs_leave(new, 0);
	return got;
}

int raccept(int fd, struct sockaddr *addr, socklen_t *size)
{
	struct rs_socket *rs = rs_enter(fd), *new;
	int got;

	if (!rs)
		return -1;
	got = addr && !size ? -EFAULT : accept_next(rs, &new);
	if (!got)
		got = hand_out(new, addr, size);
	return (int)rs_leave(rs, got);
}
