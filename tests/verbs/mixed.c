/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mixed client HOST ROUNDS | server | reject - one end of examples/pair, in verbs and librdmacm,
 * whose other end is the uDAPL program of that folder, unchanged. A server ends with its client.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/pair/pair.h"

enum {
	ASKED,
	WRITTEN,
	FETCHED,
	MESSAGES
};

#define NO_LISTENER 8
#define TRIES       600 /* a minute, for a server that starts on a busy machine */
#define PAUSE_NS    100000000

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static struct pair_message messages[MESSAGES];
static struct pair_target peer;
static struct ibv_mr *mr;
static struct ibv_cq *cq;

static void need(int good, const char *what)
{
	if (good)
		return;
	printf("mixed: %s failed\n", what);
	exit(1);
}

/* ---- the connection ---- */

/*
 * Wait for the next event; it is of this type, and private data of the peer's memory is kept.
 * False: it is a rejection because there is no listener.
 */
static int await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	int refused;

	need(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
	refused = event->event == RDMA_CM_EVENT_REJECTED && event->status == NO_LISTENER;
	if (event->event != type && !refused) {
		printf("%s, status %d\n", rdma_event_str(event->event), event->status);
		exit(1);
	}
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		id = event->id;
	if (type >= RDMA_CM_EVENT_CONNECT_REQUEST &&
	    event->param.conn.private_data_len >= sizeof(peer))
		memcpy(&peer, event->param.conn.private_data, sizeof(peer));
	rdma_ack_cm_event(event);
	return !refused;
}

static void make_qp(void)
{
	struct ibv_qp_init_attr init = { .cap = { 8, 8, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	need(pd != NULL, "ibv_alloc_pd");
	cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	need(cq != NULL, "ibv_create_cq");
	init.send_cq = init.recv_cq = cq;
	need(rdma_create_qp(id, pd, &init) == 0, "rdma_create_qp");
	mr = ibv_reg_mr(pd, messages, sizeof(messages),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	need(mr != NULL, "ibv_reg_mr");
}

static struct rdma_conn_param param_with(const struct pair_target *mine)
{
	return (struct rdma_conn_param){ .private_data = mine,
					 .private_data_len = sizeof(*mine),
					 .responder_resources = 4,
					 .initiator_depth = 4,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
}

/* RNICs have none. */
static void await_timewait(void)
{
	if (id->verbs->device->transport_type == IBV_TRANSPORT_IB)
		await(RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

static void destroy(void)
{
	struct ibv_pd *pd = id->pd;

	rdma_destroy_qp(id);
	need(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
	need(ibv_destroy_cq(cq) == 0, "ibv_destroy_cq");
	need(ibv_dealloc_pd(pd) == 0, "ibv_dealloc_pd");
	rdma_destroy_id(id);
}

/* ---- messages ---- */

static void post(enum ibv_wr_opcode opcode, int message)
{
	struct ibv_sge sge = { (uintptr_t)&messages[message], sizeof(messages[0]), mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.rdma.remote_addr = peer.address;
	wr.wr.rdma.rkey = peer.key;
	need(ibv_post_send(id->qp, &wr, &bad) == 0, "ibv_post_send");
}

static void post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)&messages[ASKED], sizeof(messages[0]), mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	need(ibv_post_recv(id->qp, &wr, &bad) == 0, "ibv_post_recv");
}

/* ---- the client ---- */

static void complete_request(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	if (wc.status != IBV_WC_SUCCESS)
		printf("%s\n", ibv_wc_status_str(wc.status));
	need(wc.status == IBV_WC_SUCCESS, "a request");
}

static void ask(uint64_t round)
{
	struct pair_message wanted;
	struct ibv_wc wc;

	pair_ask(&messages[ASKED], round, 0);
	pair_answer(&messages[ASKED], &wanted);
	post(IBV_WR_SEND, ASKED);
	complete_request();
	while (!pair_is_whole(&messages[WRITTEN], round))
		need(ibv_poll_cq(cq, 1, &wc) == 0, "the answer's way");
	need(memcmp(messages[WRITTEN].word, wanted.word, sizeof(wanted.word)) == 0, "the answer");
	post(IBV_WR_RDMA_READ, FETCHED);
	complete_request();
	need(memcmp(messages[FETCHED].word, wanted.word, sizeof(wanted.word)) == 0, "the Read");
}

/* A server rejects a client without private data. False: there is no listener. */
static int connect_once(struct sockaddr_in to, int is_taken)
{
	struct rdma_conn_param param;
	struct pair_target mine;

	need(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	need(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000) == 0, "rdma_resolve_addr");
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(id, 1000) == 0, "rdma_resolve_route");
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp();
	mine = (struct pair_target){ mr->rkey, 0, (uintptr_t)&messages[WRITTEN] };
	param = param_with(&mine);
	if (!is_taken)
		param.private_data_len = 0;
	need(rdma_connect(id, &param) == 0, "rdma_connect");
	if (await(is_taken ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_REJECTED))
		return 1;
	destroy();
	return 0;
}

static void be_client(const char *host, uint64_t rounds)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PAIR_QUALIFIER) };
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	inet_pton(AF_INET, host, &to.sin_addr);
	for (int i = 0; !connect_once(to, rounds > 0); i++) {
		need(i < TRIES, "a server");
		nanosleep(&pause, NULL);
	}
	for (uint64_t round = 1; round <= rounds; round++)
		ask(round);
	if (rounds > 0) {
		need(rdma_disconnect(id) == 0, "rdma_disconnect");
		await(RDMA_CM_EVENT_DISCONNECTED);
		await_timewait();
	}
	destroy();
	printf("%llu verbs answers\n", (unsigned long long)rounds);
}

/* ---- the server ---- */

static int is_connected(void)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 0;
}

static long answer_questions(void)
{
	struct ibv_wc wc;
	long answers = 0;

	while (is_connected()) {
		if (ibv_poll_cq(cq, 1, &wc) == 0 || wc.status != IBV_WC_SUCCESS ||
		    wc.opcode != IBV_WC_RECV)
			continue;
		pair_answer(&messages[ASKED], &messages[WRITTEN]);
		post_receive();
		post(IBV_WR_RDMA_WRITE, WRITTEN);
		answers++;
	}
	return answers;
}

static void be_server(int reject)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PAIR_QUALIFIER) };
	struct rdma_conn_param param;
	struct rdma_cm_id *listener;
	struct pair_target mine;

	need(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	need(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0, "rdma_bind_addr");
	need(rdma_listen(listener, 1) == 0, "rdma_listen");
	await(RDMA_CM_EVENT_CONNECT_REQUEST);
	if (reject) {
		need(rdma_reject(id, NULL, 0) == 0, "rdma_reject");
		rdma_destroy_id(id);
		puts("rejected");
	} else {
		make_qp();
		post_receive();
		mine = (struct pair_target){ mr->rkey, 0, (uintptr_t)&messages[WRITTEN] };
		param = param_with(&mine);
		need(rdma_accept(id, &param) == 0, "rdma_accept");
		await(RDMA_CM_EVENT_ESTABLISHED);
		printf("%ld answers by verbs\n", answer_questions());
		await(RDMA_CM_EVENT_DISCONNECTED);
		need(rdma_disconnect(id) == 0, "rdma_disconnect");
		await_timewait();
		destroy();
	}
	rdma_destroy_id(listener);
}

int main(int argc, char **argv)
{
	channel = rdma_create_event_channel();
	need(channel != NULL, "rdma_create_event_channel");
	if (argc == 4)
		be_client(argv[2], strtoul(argv[3], NULL, 10));
	else if (argc == 2)
		be_server(strcmp(argv[1], "reject") == 0);
	rdma_destroy_event_channel(channel);
	return 0;
}
