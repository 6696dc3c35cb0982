/* SPDX-License-Identifier: BSD-3-Clause */
/* link.c - what a connected rsocket owns of librdmacm and verbs, and the events of its id. */
#include <fcntl.h>
#include <stdlib.h>

#include "rsocket.h"

/* ---- channels and ids ---- */

static int unblock_fd(int fd)
{
	return fcntl(fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

struct rdma_event_channel *rs_channel_make(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int err = channel ? unblock_fd(channel->fd) : 0;

	if (!err)
		return channel;
	rdma_destroy_event_channel(channel);
	return vb_failed(err);
}

int rs_id_make(struct rs_socket *rs)
{
	struct rs_options *options = &rs->options;
	int err = 0;

	if (rs->id)
		return 0;
	if (rdma_create_id(rs->channel, &rs->id, rs, RDMA_PS_TCP))
		return -errno;
	cm_id_of(rs->id)->inner = true;
	if (options->reuse_address)
		err = rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
				      &options->reuse_address, sizeof(int));
	if (!err && rs->domain == AF_INET6)
		err = rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY,
				      &options->only_ipv6, sizeof(int));
	if (!err)
		return 0;
	err = -errno;
	rs_link_free(rs);
	return err;
}

/* ---- memory ---- */

static int make_slots(struct rs_socket *rs, struct rs_slots *slots, uint32_t n, uint32_t body)
{
	size_t bytes;

	slots->n = n;
	slots->size = body + (uint32_t)sizeof(struct rs_head);
	bytes = (size_t)n * slots->size;
	slots->memory = calloc(1, bytes);
	if (!slots->memory)
		return -ENOMEM;
	slots->mr = ibv_reg_mr(rs->id->pd, slots->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	return slots->mr ? 0 : -errno;
}

static void free_slots(struct rs_slots *slots)
{
	if (slots->mr)
		ibv_dereg_mr(slots->mr);
	free(slots->memory);
	*slots = (struct rs_slots){ .n = 0 };
}

static uint32_t clamp_to(uint32_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : n;
}

static int make_receiver(struct rs_socket *rs)
{
	const struct rs_options *options = &rs->options;
	uint32_t bytes = (uint32_t)options->recv_bytes, n = (uint32_t)options->recv_slots;
	uint32_t body = clamp_to(bytes / n, RS_BODY_USEFUL, RS_BODY_MOST);

	n = clamp_to(bytes / body, RS_SLOTS_LEAST, n);

	rs->rx.queue = calloc(n, sizeof(uint32_t));
	rs->rx.length = calloc(n, sizeof(uint32_t));
	if (!rs->rx.queue || !rs->rx.length)
		return -ENOMEM;
	return make_slots(rs, &rs->rx.slots, n, body & ~7u);
}

int rs_sender_make(struct rs_socket *rs, uint32_t body)
{
	uint32_t bytes = (uint32_t)rs->options.send_bytes, n;

	body = clamp_to(bytes / RS_SLOTS_LEAST, RS_BODY_LEAST, body);
	n = clamp_to(bytes / body, RS_SLOTS_LEAST, (uint32_t)rs->options.send_slots);
	rs->tx.inline_bytes = (uint32_t)rs->options.inline_bytes;
	return make_slots(rs, &rs->tx.slots, n + RS_RESERVE, body);
}

/* ---- queue pair ---- */

static int make_queue_pair(struct rs_socket *rs)
{
	const uint32_t send = (uint32_t)rs->options.send_slots + RS_RESERVE;
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = send,
			 .max_recv_wr = rs->rx.slots.n,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = (uint32_t)rs->options.inline_bytes },
		.qp_type = IBV_QPT_RC,
	};
	int err;

	rs->comp = ibv_create_comp_channel(rs->id->verbs);
	if (!rs->comp)
		return -errno;
	err = unblock_fd(rs->comp->fd);
	if (err)
		return err;
	rs->cq = ibv_create_cq(rs->id->verbs, (int)(send + rs->rx.slots.n), rs, rs->comp, 0);
	if (!rs->cq)
		return -errno;
	init.send_cq = rs->cq;
	init.recv_cq = rs->cq;
	return rdma_create_qp(rs->id, NULL, &init) ? -errno : 0;
}

int rs_link_make(struct rs_socket *rs)
{
	int err = make_receiver(rs);

	if (!err)
		err = make_queue_pair(rs);
	return err ? err : rs_receive_all(rs);
}

void rs_link_free(struct rs_socket *rs)
{
	if (!rs->id)
		return;
	if (rs->id->qp) {
		rdma_disconnect(rs->id);
		rdma_destroy_qp(rs->id);
	}
	if (rs->cq)
		ibv_destroy_cq(rs->cq);
	if (rs->comp)
		ibv_destroy_comp_channel(rs->comp);
	rs->cq = NULL;
	rs->comp = NULL;
	rs->armed = false;
	rs_maps_free(rs);
	free_slots(&rs->rx.slots);
	free_slots(&rs->tx.slots);
	free(rs->rx.queue);
	free(rs->rx.length);
	rs->rx = (struct rs_receiver){ .posted = 0 };
	rs->tx = (struct rs_sender){ .sent = 0 };
	rdma_destroy_id(rs->id);
	rs->id = NULL;
}

/* ---- events ---- */

bool rs_has_event(const struct rs_socket *rs)
{
	const struct cm_channel *channel = (const struct cm_channel *)rs->channel;
	bool has;

	cm_enter();
	has = !TAILQ_EMPTY(&channel->events);
	cm_leave();
	return has;
}

static void on_established(struct rs_socket *rs, const struct rdma_conn_param *conn)
{
	int err = 0;

	if (rs->state >= RS_REFUSED)
		return; /* nonsense has ended it, which came sooner than this event was fetched */
	if (rs->state == RS_CONNECTING)
		err = rs_hello_take(rs, conn->private_data, conn->private_data_len);
	if (err)
		rs_fail(rs, -err);
	else
		rs->state = RS_CONNECTED;
}

static void on_refused(struct rs_socket *rs, int error)
{
	/* A client that cannot be reached any more will not hear that it is accepted. */
	if (rs->state == RS_ACCEPTING)
		rs_fail(rs, ECONNRESET);
	if (rs->state != RS_CONNECTING)
		return;
	rs->state = RS_REFUSED;
	rs->error = error;
	rs->pending_error = error;
}

static void handle_event(struct rs_socket *rs, const struct rdma_cm_event *event)
{
	int err;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = rs_connect_on(rs, event->event);
		if (err)
			on_refused(rs, -err);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		on_refused(rs, ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(rs, &event->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		on_refused(rs, ECONNREFUSED);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		on_refused(rs, ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		on_refused(rs, ECONNRESET);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		/* What the peer sent before is there. */
		rs_drain(rs);
		rs_fail(rs, rs->peer_ended ? 0 : ECONNRESET);
		break;
	default:
		break;
	}
}

bool rs_handle_next(struct rs_socket *rs)
{
	struct rdma_cm_event *event;

	if (!rs_has_event(rs) || rdma_get_cm_event(rs->channel, &event))
		return false;
	handle_event(rs, event);
	rdma_ack_cm_event(event);
	return true;
}

unsigned int rs_handle_events(struct rs_socket *rs)
{
	unsigned int n = 0;

	while (rs_handle_next(rs))
		n++;
	return n;
}
