/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client of stream.h: keeps DEPTH messages in flight on each connection and checks what comes
 * back.
 */
#include "stream.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_US 100000000
#define TRIES      6000
#define DEPTH      4 /* messages in flight on a connection; the server's SRQ has room for all */

struct client {
	struct stream_node node;
	struct sockaddr_in address;
	int connections, tries;
	int established, ended;
	DAT_EP_HANDLE ep[STREAM_MOST];
	unsigned int sent[STREAM_MOST], back[STREAM_MOST];
	unsigned int rounds;
	unsigned long compared, sends;
};

/* The buffers of message n of a connection: the one it is sent from, the one it comes back to. */
static int out_buffer(int connection, unsigned int n)
{
	return connection * 2 * DEPTH + (int)(n % DEPTH);
}

static int in_buffer(int connection, unsigned int n)
{
	return out_buffer(connection, n) + DEPTH;
}

/* Lengths of messages: most are small, every eighth is up to STREAM_LARGEST bytes. */
static unsigned int length_of(int connection, unsigned int n)
{
	unsigned int x = n * 37 + (unsigned int)connection * 11;

	return n % 8 == 7 ? x * 53 % STREAM_LARGEST + 1 : x % 400 + 1;
}

static void fill_message(unsigned char *bytes, int connection, unsigned int n, unsigned int length)
{
	for (unsigned int i = 0; i < length; i++)
		bytes[i] = (unsigned char)(i * 7 + n * 3 + (unsigned int)connection);
}

static void post_recv(struct client *client, int c, unsigned int n)
{
	DAT_LMR_TRIPLET segment = stream_segment(&client->node, in_buffer(c, n), STREAM_LARGEST);
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)c };

	stream_check(dat_ep_post_recv(client->ep[c], 1, &segment, cookie,
				      DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ep_post_recv");
}

static void post_send(struct client *client, int c)
{
	unsigned int n = client->sent[c]++, length = length_of(c, n);
	DAT_LMR_TRIPLET segment = stream_segment(&client->node, out_buffer(c, n), length);
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)c };

	fill_message(stream_buffer(&client->node, out_buffer(c, n)), c, n, length);
	stream_check(dat_ep_post_send(client->ep[c], 1, &segment, cookie,
				      DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ep_post_send");
}

static void client_begin(struct client *client, int c)
{
	client->established++;
	for (unsigned int n = 0; n < DEPTH; n++)
		post_recv(client, c, n);
	while (client->sent[c] < DEPTH && client->sent[c] < client->rounds)
		post_send(client, c);
}

/* Replies and completions of Sends come in any order relative to each other: both are counted. */
static void on_reply(struct client *client, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	int c = (int)dto->user_cookie.as_64;
	unsigned int n = client->back[c]++, length = length_of(c, n);
	const unsigned char *bytes = stream_buffer(&client->node, in_buffer(c, n));

	if (dto->transfered_length != length)
		stream_fail("a message came back with another length");
	for (unsigned int i = 0; i < length; i++)
		if (bytes[i] != (unsigned char)~(i * 7 + n * 3 + (unsigned int)c))
			stream_fail("a message came back with wrong bytes");
	client->compared++;
	memset(stream_buffer(&client->node, in_buffer(c, n)), 0, STREAM_LARGEST);
	post_recv(client, c, n + DEPTH);
	if (client->sent[c] < client->rounds)
		post_send(client, c);
	else if (client->back[c] == client->rounds)
		stream_check(dat_ep_disconnect(client->ep[c], DAT_CLOSE_GRACEFUL_FLAG),
			     "dat_ep_disconnect");
}

static void try_connect(struct client *client, DAT_EP_HANDLE ep)
{
	stream_check(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&client->address, STREAM_QUALIFIER,
				    TIMEOUT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG),
		     "dat_ep_connect");
}

static int number_of(const struct client *client, DAT_EP_HANDLE ep)
{
	int c = 0;

	while (c < client->connections && client->ep[c] != ep)
		c++;
	return c;
}

static void on_connection(struct client *client, const DAT_EVENT *event)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;

	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		client_begin(client, number_of(client, ep));
	} else if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED) {
		client->ended++;
	} else if (client->tries++ < TRIES) {
		/* The server may not have started yet. */
		nanosleep(&pause, NULL);
		stream_check(dat_ep_reset(ep), "dat_ep_reset");
		try_connect(client, ep);
	} else {
		stream_fail("no connection: is the server running?");
	}
}

static void handle_event(struct client *client)
{
	enum stream_queue queue;
	DAT_EVENT event = stream_next(&client->node, &queue);

	if (queue == STREAM_CONNECTIONS) {
		on_connection(client, &event);
	} else if (queue == STREAM_SENDS) {
		stream_done(&event);
		client->sends++;
	} else if (event.event_data.dto_completion_event_data.status != DAT_DTO_ERR_FLUSHED) {
		on_reply(client, stream_done(&event));
	}
}

static void resolve_host(struct client *client, const char *host)
{
	struct addrinfo hints = { .ai_family = AF_INET }, *found;

	if (getaddrinfo(host, NULL, &hints, &found))
		stream_fail("expected a host name or an address: the name is not known");
	memcpy(&client->address, found->ai_addr, sizeof(client->address));
	freeaddrinfo(found);
}

static void make_ep(struct client *client, int c)
{
	struct stream_node *node = &client->node;
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = STREAM_LARGEST,
			     .max_request_dtos = 4 * DEPTH,
			     .max_recv_dtos = 4 * DEPTH,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };

	stream_check(dat_ep_create(node->ia, node->pz, node->evd[STREAM_RECVS],
				   node->evd[STREAM_SENDS], node->evd[STREAM_CONNECTIONS], &attr,
				   &client->ep[c]),
		     "dat_ep_create");
}

int stream_client(const char *host, enum stream_way way, int connections, int rounds)
{
	static struct client client;

	client.connections = connections;
	client.rounds = (unsigned int)rounds;
	stream_open(&client.node, way, connections * 2 * DEPTH);
	resolve_host(&client, host);
	for (int c = 0; c < connections; c++) {
		make_ep(&client, c);
		try_connect(&client, client.ep[c]);
	}
	while (client.ended < connections)
		handle_event(&client);
	for (int c = 0; c < connections; c++)
		stream_check(dat_ep_free(client.ep[c]), "dat_ep_free");
	stream_close(&client.node);
	printf("%lu came back right, %d connections\n", client.compared, client.established);
	return 0;
}
