/* SPDX-License-Identifier: BSD-3-Clause */
/* cm CASE [fixed]: as udapl.c, with programs of librdmacm; both ends are in one process. */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "tests/planted/verbs/ends.h"

#define BYTES   256
#define ROUNDS  20
#define PATIENT 1000 /* ms, for addresses */
#define POLLS   50

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *client, *server;
static struct ibv_mr *from_mr, *to_mr;
static char from[BYTES], to[BYTES];
static int fixed;

/* ---- both ends ---- */

/* Wait for an event; returns the id of which it is. */
static struct rdma_cm_id *next_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
	need(event->event == type, rdma_event_str(event->event));
	id = event->id;
	need(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
	return id;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .cap = { 8, 8, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };

	need(rdma_create_qp(id, NULL, &init) == 0, "rdma_create_qp");
}

static void connect_ends(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct rdma_conn_param param = { .rnr_retry_count = 7, .retry_count = 7 };

	need(inet_pton(AF_INET, "198.18.0.2", &at.sin_addr) == 1, "inet_pton");
	channel = rdma_create_event_channel();
	need(channel != NULL, "rdma_create_event_channel");
	need(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0 &&
		     rdma_create_id(channel, &client, NULL, RDMA_PS_TCP) == 0,
	     "rdma_create_id");
	need(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0, "rdma_bind_addr");
	need(rdma_listen(listener, 1) == 0, "rdma_listen");
	need(rdma_resolve_addr(client, NULL, (struct sockaddr *)&at, PATIENT) == 0,
	     "rdma_resolve_addr");
	next_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(client, PATIENT) == 0, "rdma_resolve_route");
	next_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(client);
	need(rdma_connect(client, &param) == 0, "rdma_connect");
	server = next_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(server);
	need(rdma_accept(server, &param) == 0, "rdma_accept");
	next_event(RDMA_CM_EVENT_ESTABLISHED);
	next_event(RDMA_CM_EVENT_ESTABLISHED);
	from_mr = rdma_reg_msgs(client, from, BYTES);
	to_mr = rdma_reg_write(server, to, BYTES);
	need(from_mr && to_mr, "rdma_reg");
}

static void destroy(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	need(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

static void close_ends(void)
{
	need(ibv_dereg_mr(from_mr) == 0 && ibv_dereg_mr(to_mr) == 0, "ibv_dereg_mr");
	destroy(client);
	destroy(server);
	destroy(listener);
	rdma_destroy_event_channel(channel);
}

/* ---- the cases ---- */

/* complete=sent: a Write that has completed is in the memory of the peer. */
static void delivered(void)
{
	for (char i = 1; i <= ROUNDS; i++) {
		memset(from, i, BYTES);
		need(rdma_post_recv(server, NULL, to, 8, to_mr) == 0, "rdma_post_recv");
		need(rdma_post_write(client, NULL, from, BYTES, from_mr, 0, (uintptr_t)to,
				     to_mr->rkey) == 0,
		     "rdma_post_write");
		wait_wc(client->send_cq);
		need(fixed || to[BYTES - 1] == i, "the Write has completed, and is not there");
		need(rdma_post_send(client, NULL, from, 8, from_mr, 0) == 0, "rdma_post_send");
		wait_wc(server->recv_cq);
		need(to[BYTES - 1] == i, "the message behind it is there, and the Write is not");
		wait_wc(client->send_cq);
	}
}

/* ends=device: an end whose peer has disconnected knows it as soon as that does. */
static void hang_up(void)
{
	struct pollfd event = { .fd = channel->fd, .events = POLLIN };
	int polls = 0;

	need(rdma_disconnect(client) == 0, "rdma_disconnect");
	need(next_event(RDMA_CM_EVENT_DISCONNECTED) == client || fixed,
	     "the peer heard of it first");
	while (!fixed && poll(&event, 1, 0) == 0)
		need(polls++ < POLLS, "the peer still does not know");
	next_event(RDMA_CM_EVENT_DISCONNECTED);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "delivered", delivered },
	{ "hang_up", hang_up },
};

int main(int argc, char **argv)
{
	size_t i = 0, n = sizeof(cases) / sizeof(cases[0]);

	while (i < n && (argc < 2 || strcmp(argv[1], cases[i].name) != 0))
		i++;
	need(i < n, "no such case");
	fixed = argc > 2;
	connect_ends();
	cases[i].run();
	close_ends();
	return 0;
}
