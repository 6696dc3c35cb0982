/* SPDX-License-Identifier: BSD-3-Clause */
/* connect.c - rconnect, rlisten and raccept. */
#include <string.h>

#include "rsocket.h"

#define TIMEOUT_MS 2000
#define RETRIES    7

static struct rdma_conn_param conn_param(const struct rs_hello *hello)
{
	return (struct rdma_conn_param){ .private_data = hello,
					 .private_data_len = sizeof(*hello),
					 .flow_control = 1,
					 .retry_count = RETRIES,
					 .rnr_retry_count = RETRIES };
}

/* ---- the active side ---- */

static int ask_peer(struct rs_socket *rs)
{
	struct rdma_conn_param param;
	struct rs_hello hello;
	int err = rs_link_make(rs);

	if (err)
		return err;
	rs_hello_fill(rs, &hello);
	param = conn_param(&hello);
	return rdma_connect(rs->id, &param) ? -errno : 0;
}

int rs_connect_on(struct rs_socket *rs, enum rdma_cm_event_type event)
{
	if (event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		return ask_peer(rs);
	return rdma_resolve_route(rs->id, TIMEOUT_MS) ? -errno : 0;
}

/* The next steps follow events, which are there at once unless the port is down. */
static int begin_connect(struct rs_socket *rs, const struct sockaddr *to)
{
	int err;

	if (rs->state == RS_REFUSED)
		rs_link_free(rs);
	err = rs_id_make(rs);
	if (err)
		return err;
	/* The real library takes what it does not write. */
	if (rdma_resolve_addr(rs->id, NULL, (struct sockaddr *)to, TIMEOUT_MS))
		return -errno;
	rs->state = RS_CONNECTING;
	while (rs->state == RS_CONNECTING && !rs->id->qp && rs_handle_next(rs))
		;
	return 0;
}

static int may_connect(const struct rs_socket *rs)
{
	switch (rs->state) {
	case RS_OPEN:
	case RS_BOUND:
	case RS_REFUSED:
		return 0;
	case RS_CONNECTING:
		return -EALREADY;
	case RS_LISTENING:
		return -EINVAL;
	case RS_ACCEPTING:
	case RS_CONNECTED:
	case RS_OVER:
		break;
	}
	return -EISCONN;
}

static int await_answer(struct rs_socket *rs)
{
	int err = 0;

	if (rs->nonblocking && rs->state == RS_CONNECTING)
		return -EINPROGRESS;
	while (!err && rs->state == RS_CONNECTING)
		err = rs_wait(rs, "rconnect");
	if (!err && rs->state != RS_CONNECTED) {
		/* Another thread may have taken SO_ERROR meanwhile. */
		err = -rs->error;
		rs->pending_error = 0;
	}
	return err;
}

int rconnect(int fd, const struct sockaddr *addr, socklen_t size)
{
	struct rs_socket *rs = rs_enter(fd);
	int err;

	if (!rs)
		return -1;
	err = rs_address_check(rs, addr, size);
	if (!err)
		err = may_connect(rs);
	if (!err) {
		err = begin_connect(rs, addr);
		if (err)
			rs->state = RS_REFUSED;
		else
			err = await_answer(rs);
	}
	return (int)rs_leave(rs, err);
}

/* ---- the passive side ---- */

int rlisten(int fd, int backlog)
{
	struct rs_socket *rs = rs_enter(fd);
	int err = 0;

	if (!rs)
		return -1;
	if (rs->state == RS_LISTENING)
		return (int)rs_leave(rs, 0);
	if (rs->state > RS_LISTENING)
		err = -EINVAL;
	if (!err)
		err = rs_id_make(rs);
	if (!err && rs->state == RS_OPEN &&
	    rdma_bind_addr(rs->id, (struct sockaddr *)rs_address_none(rs)))
		err = -errno;
	if (!err && rdma_listen(rs->id, backlog))
		err = -errno;
	if (!err)
		rs->state = RS_LISTENING;
	return (int)rs_leave(rs, err);
}

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
	param = conn_param(&hello);
	if (rdma_accept(rs->id, &param))
		return -ECONNABORTED;
	rs->state = RS_ACCEPTING;
	return 0;
}

/* A new rsocket, or a negative errno. The request is accepted or rejected. */
static int adopt_id(const struct rs_socket *listener, struct rdma_cm_id *id,
		    const struct rs_hello *peer)
{
	struct rs_socket *rs = rs_make(listener->domain);
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
	} else {
		err = rs->fd;
	}
	pthread_mutex_unlock(&rs->mutex);
	rs_put(rs);
	return err;
}

/* -EAGAIN: the request was none of an rsocket. */
static int take_request(const struct rs_socket *listener, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct rdma_cm_id *id = event->id;
	struct rs_hello hello = { .magic = 0 };

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdma_ack_cm_event(event);
		return -EAGAIN;
	}
	if (!rs_hello_check(conn->private_data, conn->private_data_len))
		memcpy(&hello, conn->private_data, sizeof(hello));
	rdma_ack_cm_event(event);
	if (hello.magic)
		return adopt_id(listener, id, &hello);
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
	return -EAGAIN;
}

/* A new rsocket, or a negative errno. */
static int accept_next(struct rs_socket *rs)
{
	struct rdma_cm_event *event;
	int got;

	if (rs->state != RS_LISTENING)
		return -EINVAL;
	for (;;) {
		while (!rs_has_event(rs)) {
			if (rs->nonblocking) {
				rs_pause(rs);
				return -EAGAIN;
			}
			got = rs_wait(rs, "raccept");
			if (got < 0)
				return got;
		}
		if (rdma_get_cm_event(rs->channel, &event))
			return -errno;
		got = take_request(rs, event);
		if (got != -EAGAIN)
			return got;
	}
}

int raccept(int fd, struct sockaddr *addr, socklen_t *size)
{
	struct rs_socket *rs = rs_enter(fd), *new;
	int got, err = 0;

	if (!rs)
		return -1;
	got = addr && !size ? -EFAULT : accept_next(rs);
	new = got < 0 ? NULL : rs_enter(got);
	if (new) {
		if (addr)
			err = rs_address_copy(&new->id->route.addr.dst_addr, addr, size);
		rs_leave(new, 0);
	}
	if (err) {
		rclose(got);
		got = err;
	}
	return (int)rs_leave(rs, got);
}
