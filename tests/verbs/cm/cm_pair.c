/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_pair.c - both ends of a connection of librdmacm in one process: see cm_pair.h. */
#include "cm_pair.h"

#include <poll.h>

struct rdma_event_channel *cm_channel;
struct rdma_cm_id *cm_listener, *cm_client, *cm_server;
struct rdma_cm_event cm_last; /* a copy of the last event, with its private data */
char cm_data[256];

struct sockaddr_in cm_address(const char *ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	return in;
}

struct rdma_cm_event *cm_fetch(struct rdma_event_channel *from, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_get_cm_event(from, &event), 0);
	ck_assert_str_eq(rdma_event_str(event->event), rdma_event_str(type));
	cm_last = *event;
	memset(cm_data, 0, sizeof(cm_data));
	if (event->event > RDMA_CM_EVENT_ROUTE_ERROR && event->param.conn.private_data)
		memcpy(cm_data, event->param.conn.private_data, event->param.conn.private_data_len);
	return event;
}

void cm_take(enum rdma_cm_event_type type)
{
	ck_assert_int_eq(rdma_ack_cm_event(cm_fetch(cm_channel, type)), 0);
}

void cm_expect_quiet(void)
{
	struct pollfd pfd = { .fd = cm_channel->fd, .events = POLLIN };

	ck_assert_int_eq(poll(&pfd, 1, 0), 0);
}

void cm_begin(void)
{
	struct sockaddr_in in = cm_address(CM_THERE, CM_PORT);

	cm_server = NULL;
	cm_channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(cm_channel);
	ck_assert_int_eq(rdma_create_id(cm_channel, &cm_listener, &cm_listener, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_bind_addr(cm_listener, (struct sockaddr *)&in), 0);
	ck_assert_int_eq(rdma_listen(cm_listener, 2), 0);
	ck_assert_int_eq(rdma_create_id(cm_channel, &cm_client, NULL, RDMA_PS_TCP), 0);
}

void cm_destroy(struct rdma_cm_id **id)
{
	if (!*id)
		return;
	if ((*id)->qp)
		rdma_destroy_qp(*id);
	ck_assert_int_eq(rdma_destroy_id(*id), 0);
	*id = NULL;
}

void cm_end(void)
{
	cm_destroy(&cm_client);
	cm_destroy(&cm_server);
	cm_destroy(&cm_listener);
	rdma_destroy_event_channel(cm_channel);
}

void cm_resolve(struct rdma_cm_id *id, const char *ip, uint16_t port)
{
	struct sockaddr_in in = cm_address(ip, port);

	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, CM_TIMEOUT), 0);
	cm_take(RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_ptr_eq(cm_last.id, id);
	ck_assert_int_eq(rdma_resolve_route(id, CM_TIMEOUT), 0);
	cm_take(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void cm_make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1
	};

	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	ck_assert_int_eq((int)id->qp->state, (int)IBV_QPS_INIT);
}

struct rdma_conn_param cm_param(const char *data)
{
	return (struct rdma_conn_param){ .private_data = data,
					 .private_data_len = (uint8_t)strlen(data),
					 .responder_resources = 3,
					 .initiator_depth = 2,
					 .retry_count = 5,
					 .rnr_retry_count = 4 };
}

/* The client asks; the server's id is there. */
void cm_ask(void)
{
	struct rdma_conn_param param = cm_param("question");

	cm_resolve(cm_client, CM_THERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
}

void cm_connect(void)
{
	struct rdma_conn_param param = cm_param("answer");

	cm_ask();
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	ck_assert_str_eq(cm_data, "answer");
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
}
