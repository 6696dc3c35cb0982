/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client: sends calls, at most as many at a time as the server allows, and verifies the
 * replies.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "rpc.h"

/* The text and the call of request n; rpc_do gives the expected reply. */
static uint16_t client_compose(const struct client *client, int n, char *text, size_t room,
			       size_t *length)
{
	*length = (size_t)snprintf(text, room, "call %d of client %d", n, client->number);
	return n % 2 ? RPC_REVERSE : RPC_UPPER;
}

static void client_call(struct client *client)
{
	int buffer = client->sent % RPC_CREDITS;
	DAT_DTO_COOKIE reply = { .as_64 = (DAT_UINT64)(RPC_CREDITS + buffer) };
	DAT_DTO_COOKIE request = { .as_64 = (DAT_UINT64)buffer };
	DAT_LMR_TRIPLET iov = node_segment(&client->node, RPC_CREDITS + buffer, RPC_BYTES);
	char *message = client->node.buffers[buffer];
	struct rpc_header header;
	size_t length;

	rpc_check(dat_ep_post_recv(client->ep, 1, &iov, reply, DAT_COMPLETION_DEFAULT_FLAG),
		  "dat_ep_post_recv");
	header.call = htons(client_compose(client, client->sent, message + sizeof(header),
					   RPC_BYTES - sizeof(header), &length));
	header.id = htonl((uint32_t)client->sent);
	header.length = htons((uint16_t)length);
	memcpy(message, &header, sizeof(header));
	iov = node_segment(&client->node, buffer, sizeof(header) + length);
	rpc_check(dat_ep_post_send(client->ep, 1, &iov, request, DAT_COMPLETION_DEFAULT_FLAG),
		  "dat_ep_post_send");
	client->sent++;
}

/* The completion of a request's Send, or of a reply's Receive. */
static void client_completion(struct client *client, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	const char *message = client->node.buffers[dto->user_cookie.as_64];
	char wanted[RPC_BYTES];
	struct rpc_header header;
	size_t length;
	uint16_t what;

	if (dto->status == DAT_DTO_ERR_FLUSHED)
		return; /* the connection event that follows tells the reason */
	if (dto->status != DAT_DTO_SUCCESS)
		rpc_fail("a request or a reply was lost");
	if (dto->user_cookie.as_64 < RPC_CREDITS) {
		client->acknowledged++;
		return;
	}
	memcpy(&header, message, sizeof(header));
	what = client_compose(client, client->answered, wanted, sizeof(wanted), &length);
	rpc_do(what, wanted, length);
	if (ntohl(header.id) != (uint32_t)client->answered || ntohs(header.length) != length ||
	    memcmp(message + sizeof(header), wanted, length) != 0)
		rpc_fail("a reply differs from the expected one");
	client->answered++;
}

static void client_connection(struct client *client, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	struct rpc_hello hello;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		if (data->private_data_size != sizeof(hello))
			rpc_fail("expected a hello from the server: its private data has another "
				 "size");
		memcpy(&hello, data->private_data, sizeof(hello));
		client->credits = (int)ntohl(hello.credits);
		if (client->credits > RPC_CREDITS)
			client->credits = RPC_CREDITS;
		return;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		client->refused = client->over = 1;
		return;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		if (client->answered < client->calls)
			rpc_fail("the server disconnected before all calls were answered");
		client->over = 1;
		return;
	default:
		rpc_fail("the connection failed: is the server running?");
	}
}

void client_open(struct client *client, const char *adapter, DAT_IA_ADDRESS_PTR server)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = RPC_CREDITS,
			     .max_request_dtos = RPC_CREDITS,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };
	struct rpc_hello hello = { htonl(client->version), 0 };
	struct node *node = &client->node;

	node_open(node, adapter, 2 * RPC_CREDITS);
	rpc_check(dat_ep_create(node->ia, node->pz, node->evd, node->evd, node->evd, &attr,
				&client->ep),
		  "dat_ep_create");
	rpc_check(dat_ep_connect(client->ep, server, RPC_QUALIFIER, DAT_TIMEOUT_INFINITE,
				 sizeof(hello), &hello, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG),
		  "dat_ep_connect");
}

int client_step(struct client *client, DAT_TIMEOUT timeout)
{
	DAT_EVENT event;
	int events = 0;

	for (; !client->over && node_event(client->node.evd, events ? 0 : timeout, &event);
	     events++) {
		if (event.event_number == DAT_DTO_COMPLETION_EVENT)
			client_completion(client, &event.event_data.dto_completion_event_data);
		else
			client_connection(client, &event);
	}
	while (client->sent < client->calls && client->sent < client->answered + client->credits &&
	       client->sent < client->acknowledged + client->credits)
		client_call(client);
	if (client->credits && client->answered == client->calls &&
	    client->acknowledged == client->calls) {
		client->credits = 0;
		rpc_check(dat_ep_disconnect(client->ep, DAT_CLOSE_GRACEFUL_FLAG),
			  "dat_ep_disconnect");
	}
	return events;
}

void client_close(struct client *client)
{
	rpc_check(dat_ep_free(client->ep), "dat_ep_free");
	node_close(&client->node);
}
