/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srq_server - a server that receives from all its clients through one Shared Receive Queue.
 *
 * The server has BUFFERS Receive buffers for all clients. It answers a request in the buffer in
 * which it arrived; the buffer is free again when the reply's Send completes. Free buffers are not
 * posted one by one: at the SRQ's low watermark event the server posts all of them and sets the
 * watermark again. Each client keeps up to IN_FLIGHT requests in flight and compares every reply.
 *
 * The program uses uDAPL 1.2 only. Server and clients share the fabric and, here, also the process
 * and its one thread, which runs a step of each in a loop.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>

#define CLIENTS      4
#define REQUESTS     100 /* of each client */
#define IN_FLIGHT    4   /* requests that a client has in flight */
#define BUFFER_SIZE  64  /* bytes */
#define QUALIFIER    5000
#define QUEUE_LENGTH 128

/*
 * At the low watermark event, the queue must still have a buffer for every request in flight: on a
 * transport without RNR NAKs (iWARP), a message without a buffer breaks its connection. Twice as
 * many buffers may be in replies or free.
 */
#define LOW_WATERMARK (CLIENTS * IN_FLIGHT)
#define BUFFERS       (3 * LOW_WATERMARK)

/* One end: an adapter, registered buffers, EVDs. */
struct node {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, connect;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	char (*buffers)[BUFFER_SIZE];
};

struct server {
	struct node node;
	DAT_EVD_HANDLE requests; /* connection requests */
	DAT_PSP_HANDLE psp;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE eps[CLIENTS];
	int accepted, gone;
	int free[BUFFERS], free_count; /* buffers neither posted nor in a reply */
	int served, refills;
};

struct client {
	struct node node;
	DAT_EP_HANDLE ep;
	int number, sent, verified;
	int acknowledged; /* completed requests */
	int connected, gone;
};

static void check_call(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "srq_server: %s: %s %s\n", call, major, minor);
	exit(1);
}

static void fail_with(const char *what)
{
	fprintf(stderr, "srq_server: %s\n", what);
	exit(1);
}

static void node_open(struct node *node, const char *adapter, int count)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr;
	DAT_VLEN size;
	DAT_VADDR address;

	node->async = DAT_HANDLE_NULL;
	check_call(dat_ia_open((DAT_NAME_PTR)adapter, QUEUE_LENGTH, &node->async, &node->ia),
		   "dat_ia_open");
	check_call(dat_pz_create(node->ia, &node->pz), "dat_pz_create");
	check_call(dat_evd_create(node->ia, QUEUE_LENGTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &node->dto),
		   "dat_evd_create");
	check_call(dat_evd_create(node->ia, QUEUE_LENGTH, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
				  &node->connect),
		   "dat_evd_create");
	node->buffers = calloc((size_t)count, BUFFER_SIZE);
	if (!node->buffers)
		fail_with("out of memory");
	region.for_va = node->buffers;
	check_call(dat_lmr_create(node->ia, DAT_MEM_TYPE_VIRTUAL, region,
				  (DAT_VLEN)count * BUFFER_SIZE, node->pz,
				  DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				  &node->lmr, &node->context, &rmr, &size, &address),
		   "dat_lmr_create");
}

static void node_close(struct node *node)
{
	check_call(dat_lmr_free(node->lmr), "dat_lmr_free");
	check_call(dat_evd_free(node->dto), "dat_evd_free");
	check_call(dat_evd_free(node->connect), "dat_evd_free");
	check_call(dat_pz_free(node->pz), "dat_pz_free");
	check_call(dat_ia_close(node->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	free(node->buffers);
}

static DAT_LMR_TRIPLET node_segment(const struct node *node, int buffer, size_t length)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = node->context,
		.virtual_address = (DAT_VADDR)(uintptr_t)node->buffers[buffer],
		.segment_length = length,
	};
}

/* Get the next event of an EVD. 0: there is none. */
static int next_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret = dat_evd_dequeue(evd, event);

	if (ret == DAT_QUEUE_EMPTY)
		return 0;
	check_call(ret, "dat_evd_dequeue");
	return 1;
}

/* ---- the server ---- */

/* Post every free buffer, then arm the low watermark again. */
static void server_refill(struct server *server)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_LMR_TRIPLET iov;

	while (server->free_count > 0) {
		cookie.as_64 = (DAT_UINT64)server->free[--server->free_count];
		iov = node_segment(&server->node, (int)cookie.as_64, BUFFER_SIZE);
		check_call(dat_srq_post_recv(server->srq, 1, &iov, cookie), "dat_srq_post_recv");
	}
	check_call(dat_srq_set_lw(server->srq, LOW_WATERMARK), "dat_srq_set_lw");
}

static void server_open(struct server *server, const char *adapter)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = BUFFERS, .max_recv_iov = 1 };
	/*
	 * A client may send its next request before the completion of its reply reaches the server.
	 */
	DAT_EP_ATTR ep_attr = { .max_recv_dtos = IN_FLIGHT,
				.max_request_dtos = BUFFERS,
				.max_recv_iov = 1,
				.max_request_iov = 1 };
	struct node *node = &server->node;
	int i;

	node_open(node, adapter, BUFFERS);
	check_call(dat_evd_create(node->ia, CLIENTS, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				  &server->requests),
		   "dat_evd_create");
	check_call(dat_srq_create(node->ia, node->pz, &attr, &server->srq), "dat_srq_create");
	for (i = 0; i < BUFFERS; i++)
		server->free[server->free_count++] = i;
	server_refill(server);
	for (i = 0; i < CLIENTS; i++)
		check_call(dat_ep_create_with_srq(node->ia, node->pz, node->dto, node->dto,
						  node->connect, server->srq, &ep_attr,
						  &server->eps[i]),
			   "dat_ep_create_with_srq");
	check_call(dat_psp_create(node->ia, QUALIFIER, server->requests, DAT_PSP_CONSUMER_FLAG,
				  &server->psp),
		   "dat_psp_create");
}

/* Refill the shared queue before another answer lets a client send its next request. */
static void server_watermark(struct server *server)
{
	DAT_EVENT event;

	if (!next_event(server->node.async, &event))
		return;
	if (event.event_number != DAT_ASYNC_SRQ_LOW_WATERMARK)
		fail_with("the adapter reports an error");
	server->refills++;
	server_refill(server);
}

/* Answer a request in its own buffer; when a reply completes, its buffer is free. */
static void server_dto(struct server *server, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	int buffer = (int)(dto->user_cookie.as_64 % BUFFERS);
	DAT_DTO_COOKIE reply = { .as_64 = (DAT_UINT64)(BUFFERS + buffer) };
	char *text = server->node.buffers[buffer];
	DAT_LMR_TRIPLET iov;
	DAT_VLEN i;

	/*
	 * A client may disconnect before the completion of its last reply, which is flushed then.
	 */
	if (dto->status == DAT_DTO_ERR_FLUSHED || dto->user_cookie.as_64 >= BUFFERS) {
		server->free[server->free_count++] = buffer;
		return;
	}
	if (dto->status != DAT_DTO_SUCCESS)
		fail_with("a request was lost");
	for (i = 0; i < dto->transfered_length; i++)
		text[i] = (char)toupper((unsigned char)text[i]);
	iov = node_segment(&server->node, buffer, (size_t)dto->transfered_length);
	check_call(dat_ep_post_send(dto->ep_handle, 1, &iov, reply, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
	server->served++;
}

static void server_step(struct server *server)
{
	DAT_EVENT event;

	if (next_event(server->requests, &event)) {
		if (server->accepted == CLIENTS)
			fail_with("more clients than Endpoints");
		check_call(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
					 server->eps[server->accepted++], 0, NULL),
			   "dat_cr_accept");
	}
	while (next_event(server->node.dto, &event)) {
		server_watermark(server);
		server_dto(server, &event.event_data.dto_completion_event_data);
	}
	while (next_event(server->node.connect, &event)) {
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
			server->gone++;
		else if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			fail_with("a connection broke");
	}
}

static void server_close(struct server *server)
{
	int i;

	check_call(dat_psp_free(server->psp), "dat_psp_free");
	for (i = 0; i < CLIENTS; i++)
		check_call(dat_ep_free(server->eps[i]), "dat_ep_free");
	check_call(dat_srq_free(server->srq), "dat_srq_free");
	check_call(dat_evd_free(server->requests), "dat_evd_free");
	node_close(&server->node);
}

/* ---- a client ---- */

/* Buffers 0 .. IN_FLIGHT - 1 hold requests, the others receive their replies. */
static void client_ask(struct client *client)
{
	int buffer = client->sent % IN_FLIGHT;
	DAT_DTO_COOKIE reply = { .as_64 = (DAT_UINT64)(IN_FLIGHT + buffer) };
	DAT_DTO_COOKIE request = { .as_64 = (DAT_UINT64)buffer };
	DAT_LMR_TRIPLET iov = node_segment(&client->node, IN_FLIGHT + buffer, BUFFER_SIZE);
	int n;

	check_call(dat_ep_post_recv(client->ep, 1, &iov, reply, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
	n = snprintf(client->node.buffers[buffer], BUFFER_SIZE, "request %d of client %d",
		     client->sent, client->number);
	iov = node_segment(&client->node, buffer, (size_t)n + 1);
	check_call(dat_ep_post_send(client->ep, 1, &iov, request, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
	client->sent++;
}

/* A reply, or a completed request; a request may complete after its reply has come. */
static void client_dto(struct client *client, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	char wanted[BUFFER_SIZE];

	if (dto->status != DAT_DTO_SUCCESS)
		fail_with("a request or a reply was lost");
	if (dto->user_cookie.as_64 < IN_FLIGHT) {
		client->acknowledged++;
		return;
	}
	snprintf(wanted, sizeof(wanted), "REQUEST %d OF CLIENT %d", client->verified,
		 client->number);
	if (strcmp(client->node.buffers[dto->user_cookie.as_64], wanted) != 0)
		fail_with("a reply differs from the expected one");
	client->verified++;
}

static void client_open(struct client *client, const char *adapter, int number,
			DAT_IA_ADDRESS_PTR server)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = IN_FLIGHT,
			     .max_request_dtos = IN_FLIGHT,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };
	struct node *node = &client->node;

	node_open(node, adapter, 2 * IN_FLIGHT);
	client->number = number;
	check_call(dat_ep_create(node->ia, node->pz, node->dto, node->dto, node->connect, &attr,
				 &client->ep),
		   "dat_ep_create");
	check_call(dat_ep_connect(client->ep, server, QUALIFIER, DAT_TIMEOUT_INFINITE, 0, NULL,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
}

static void client_step(struct client *client)
{
	DAT_EVENT event;

	while (next_event(client->node.connect, &event)) {
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			client->connected = 1;
		else if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
			client->gone = 1;
		else
			fail_with("no connection");
	}
	while (next_event(client->node.dto, &event))
		client_dto(client, &event.event_data.dto_completion_event_data);
	while (client->connected && client->sent < REQUESTS &&
	       client->sent < client->verified + IN_FLIGHT &&
	       client->sent < client->acknowledged + IN_FLIGHT)
		client_ask(client);
	if (client->connected && client->verified == REQUESTS && client->acknowledged == REQUESTS) {
		check_call(dat_ep_disconnect(client->ep, DAT_CLOSE_GRACEFUL_FLAG),
			   "dat_ep_disconnect");
		client->connected = 0;
	}
}

static void client_close(struct client *client)
{
	check_call(dat_ep_free(client->ep), "dat_ep_free");
	node_close(&client->node);
}

/* ---- both ---- */

static int all_gone(const struct server *server, const struct client *clients)
{
	int i;

	for (i = 0; i < CLIENTS; i++) {
		if (!clients[i].gone)
			return 0;
	}
	return server->gone == CLIENTS;
}

int main(void)
{
	static struct client clients[CLIENTS];
	static struct server server;
	DAT_IA_ATTR attr;
	int i, verified = 0;

	server_open(&server, "emu0");
	check_call(dat_ia_query(server.node.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
				DAT_PROVIDER_FIELD_NONE, NULL),
		   "dat_ia_query");
	for (i = 0; i < CLIENTS; i++)
		client_open(&clients[i], "emu1", i + 1, attr.ia_address_ptr);
	while (!all_gone(&server, clients)) {
		server_step(&server);
		for (i = 0; i < CLIENTS; i++)
			client_step(&clients[i]);
	}
	for (i = 0; i < CLIENTS; i++) {
		verified += clients[i].verified;
		client_close(&clients[i]);
	}
	server_close(&server);

	printf("%d clients sent %d requests each, up to %d at a "
	       "time\n",
	       CLIENTS, REQUESTS, IN_FLIGHT);
	printf("the server answered %d with %d buffers in one shared receive queue\n",
	       server.served, BUFFERS);
	printf("and refilled it %d times, each time told by the low watermark %d\n", server.refills,
	       LOW_WATERMARK);
	printf("%d replies verified\n", verified);
	return verified == CLIENTS * REQUESTS ? 0 : 1;
}
