/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client and a server of librdmacm. The client sends as soon as it is connected.
 *
 * Planted: the server posts its Receive when it hears that the connection is there, and not before
 * it accepts. The message may overtake that news, and the client wants no retry (rnr_retry_count).
 */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef FIXED
#define BUG 0
#else
#define BUG 1
#endif

#define PORT  7471
#define PAUSE 5 /* polls */

static struct rdma_event_channel *channel;
static char memory[64];

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static struct rdma_cm_id *await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
	need(event->event == type, rdma_event_str(event->event));
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static struct ibv_mr *make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };
	struct ibv_mr *mr;

	need(rdma_create_qp(id, NULL, &init) == 0, "rdma_create_qp");
	mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	need(mr != NULL, "ibv_reg_mr");
	return mr;
}

static void post(struct rdma_cm_id *id, struct ibv_mr *mr, int receive)
{
	struct ibv_sge sge = { (uintptr_t)memory, sizeof(memory), mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND },
			   *bad_send;

	need((receive ? ibv_post_recv(id->qp, &recv, &bad_recv)
		      : ibv_post_send(id->qp, &send, &bad_send)) == 0,
	     "a post");
}

static void complete(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

static void destroy(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	ibv_dereg_mr(mr);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static struct rdma_cm_id *resolve(const struct sockaddr_in *to)
{
	struct rdma_cm_id *id;

	need(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	need(rdma_resolve_addr(id, NULL, (struct sockaddr *)to, 1000) == 0, "rdma_resolve_addr");
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(id, 1000) == 0, "rdma_resolve_route");
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

/* The server hears of the connection. */
static void serve(struct rdma_cm_id *server, struct ibv_mr *mr)
{
	await(RDMA_CM_EVENT_ESTABLISHED);
	if (BUG)
		post(server, mr, 1);
}

int main(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 0 };
	struct rdma_cm_id *listener, *client, *server;
	struct ibv_mr *client_mr, *server_mr;
	struct pollfd pfd;
	struct ibv_wc wc;
	int heard;

	inet_pton(AF_INET, "198.18.0.2", &at.sin_addr);
	channel = rdma_create_event_channel();
	need(channel != NULL, "rdma_create_event_channel");
	pfd = (struct pollfd){ .fd = channel->fd, .events = POLLIN };
	need(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	need(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0, "rdma_bind_addr");
	need(rdma_listen(listener, 1) == 0, "rdma_listen");
	client = resolve(&at);
	client_mr = make_qp(client);
	need(rdma_connect(client, &param) == 0, "rdma_connect");
	server = await(RDMA_CM_EVENT_CONNECT_REQUEST);
	server_mr = make_qp(server);
	if (!BUG)
		post(server, server_mr, 1);
	need(rdma_accept(server, &param) == 0, "rdma_accept");
	await(RDMA_CM_EVENT_ESTABLISHED); /* of the client, which then has other things to do */
	for (int i = 0; i < PAUSE; i++)
		need(ibv_poll_cq(client->send_cq, 1, &wc) == 0, "a completion of nothing");
	heard = poll(&pfd, 1, 0) == 1;
	if (heard)
		serve(server, server_mr);
	post(client, client_mr, 0);
	if (!heard)
		serve(server, server_mr);
	complete(client->send_cq);
	complete(server->recv_cq);
	rdma_disconnect(client);
	await(RDMA_CM_EVENT_DISCONNECTED);
	await(RDMA_CM_EVENT_DISCONNECTED);
	destroy(client, client_mr);
	destroy(server, server_mr);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return 0;
}
