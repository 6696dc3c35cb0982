/* SPDX-License-Identifier: BSD-3-Clause */
/* connect.c - rconnect, and what both sides say of a connection. */
#include "rsocket.h"

#define TIMEOUT_MS 2000
#define RETRIES    7

struct rdma_conn_param rs_conn_param(const struct rs_hello *hello)
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
	param = rs_conn_param(&hello);
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
	rs->error = rs->pending_error = 0; /* of an earlier one */
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
