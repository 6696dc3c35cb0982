/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server of librdmacm answers messages, and sleeps on its completion channel when there is none.
 * It arms the channel after it has found the queue empty.
 *
 * Planted: it does not look at the queue again after that. A message that came between the two
 * wakes neither end, and both wait.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FIXED
#define BUG 0
#else
#define BUG 1
#endif

#define PORT     7471
#define SERVER   "198.18.0.1"
#define MESSAGES 8
#define THINK_US 20
#define BYTES    64

static char memory[2 * BYTES];

struct queue {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
};

struct end {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct queue recv, send;
	struct ibv_mr *mr;
};

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static struct rdma_cm_id *await(struct end *end, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(rdma_get_cm_event(end->events, &event) == 0, "rdma_get_cm_event");
	need(event->event == type, rdma_event_str(event->event));
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void open_id(struct end *end, struct rdma_cm_id **id)
{
	end->events = rdma_create_event_channel();
	need(end->events != NULL, "rdma_create_event_channel");
	need(rdma_create_id(end->events, id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
}

static struct ibv_cq *make_queue(struct end *end, struct queue *queue)
{
	queue->channel = ibv_create_comp_channel(end->id->verbs);
	need(queue->channel != NULL, "ibv_create_comp_channel");
	queue->cq = ibv_create_cq(end->id->verbs, 8, NULL, queue->channel, 0);
	need(queue->cq != NULL, "ibv_create_cq");
	return queue->cq;
}

static void close_queue(struct queue *queue)
{
	ibv_destroy_cq(queue->cq);
	ibv_destroy_comp_channel(queue->channel);
}

static void make_qp(struct end *end)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };

	init.recv_cq = make_queue(end, &end->recv);
	init.send_cq = make_queue(end, &end->send);
	need(rdma_create_qp(end->id, NULL, &init) == 0, "rdma_create_qp");
	end->mr = ibv_reg_mr(end->id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	need(end->mr != NULL, "ibv_reg_mr");
}

static void post_recv(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)memory, BYTES, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	need(ibv_post_recv(end->id->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static int has_one(struct queue *queue)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(queue->cq, 1, &wc);

	need(n == 0 || wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	return n;
}

static void wait_for_one(struct queue *queue, int bug)
{
	struct ibv_cq *cq;
	void *context;

	while (!has_one(queue)) {
		need(ibv_req_notify_cq(queue->cq, 0) == 0, "ibv_req_notify_cq");
		if (!bug && has_one(queue))
			return;
		need(ibv_get_cq_event(queue->channel, &cq, &context) == 0, "ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
}

static void post_send(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)memory + BYTES, BYTES, end->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	need(ibv_post_send(end->id->qp, &wr, &bad) == 0, "ibv_post_send");
}

static void receive_one(struct end *end, int bug)
{
	wait_for_one(&end->recv, bug);
	post_recv(end);
}

static void close_end(struct end *end)
{
	rdma_destroy_qp(end->id);
	ibv_dereg_mr(end->mr);
	close_queue(&end->recv);
	close_queue(&end->send);
	rdma_destroy_id(end->id);
	rdma_destroy_event_channel(end->events);
}

static void serve(struct sockaddr_in *at)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *listener;
	struct end end;

	open_id(&end, &listener);
	need(rdma_bind_addr(listener, (struct sockaddr *)at) == 0, "rdma_bind_addr");
	need(rdma_listen(listener, 1) == 0, "rdma_listen");
	end.id = await(&end, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(&end);
	post_recv(&end);
	need(rdma_accept(end.id, &param) == 0, "rdma_accept");
	await(&end, RDMA_CM_EVENT_ESTABLISHED);
	for (int i = 0; i < MESSAGES; i++) {
		receive_one(&end, BUG);
		post_send(&end);
		/* The client may be gone before it is known that the last one has arrived. */
		if (i + 1 < MESSAGES)
			wait_for_one(&end.send, 0);
	}
	await(&end, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_id(listener);
	close_end(&end);
}

static void ask(struct sockaddr_in *to)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct end end;

	open_id(&end, &end.id);
	need(rdma_resolve_addr(end.id, NULL, (struct sockaddr *)to, 1000) == 0,
	     "rdma_resolve_addr");
	await(&end, RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(end.id, 1000) == 0, "rdma_resolve_route");
	await(&end, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(&end);
	post_recv(&end);
	need(rdma_connect(end.id, &param) == 0, "rdma_connect");
	await(&end, RDMA_CM_EVENT_ESTABLISHED);
	for (int i = 0; i < MESSAGES; i++) {
		usleep(THINK_US);
		post_send(&end);
		wait_for_one(&end.send, 0);
		receive_one(&end, 0);
	}
	rdma_disconnect(end.id);
	await(&end, RDMA_CM_EVENT_DISCONNECTED);
	close_end(&end);
}

int main(int argc, char **argv)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	need(argc == 2, "expected serve or ask");
	inet_pton(AF_INET, SERVER, &server.sin_addr);
	if (strcmp(argv[1], "serve") == 0)
		serve(&server);
	else
		ask(&server);
	return 0;
}
