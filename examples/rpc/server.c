/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server. It answers a request in the buffer in which it arrived; the buffer is free again when
 * the reply's Send completes. Free buffers are not posted one by one, but all together when the
 * SRQ's low watermark event arrives.
 *
 * Completions and connection events come on one EVD, on which all completions of an Endpoint come
 * before the end of its connection. So the Endpoint can be freed at that event, and no buffer is
 * lost.
 */
#include <arpa/inet.h>
#include <string.h>

#include "rpc.h"

/* Post every free buffer, then arm the low watermark again. */
static void server_refill(struct server *server)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_LMR_TRIPLET iov;

	while (server->free_count > 0) {
		cookie.as_64 = (DAT_UINT64)server->free[--server->free_count];
		iov = node_segment(&server->node, (int)cookie.as_64, RPC_BYTES);
		rpc_check(dat_srq_post_recv(server->srq, 1, &iov, cookie), "dat_srq_post_recv");
	}
	rpc_check(dat_srq_set_lw(server->srq, SERVER_LOW), "dat_srq_set_lw");
}

void server_open(struct server *server, const char *adapter)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SERVER_BUFFERS, .max_recv_iov = 1 };
	struct node *node = &server->node;
	int i;

	memset(server, 0, sizeof(*server));
	node_open(node, adapter, SERVER_BUFFERS);
	rpc_check(dat_srq_create(node->ia, node->pz, &attr, &server->srq), "dat_srq_create");
	for (i = 0; i < SERVER_BUFFERS; i++)
		server->free[server->free_count++] = i;
	server_refill(server);
	rpc_check(dat_psp_create(node->ia, RPC_QUALIFIER, node->evd, DAT_PSP_CONSUMER_FLAG,
				 &server->psp),
		  "dat_psp_create");
}

static void server_watermark(struct server *server)
{
	DAT_EVENT event;

	if (!node_event(server->node.async, 0, &event))
		return;
	if (event.event_number != DAT_ASYNC_SRQ_LOW_WATERMARK)
		rpc_fail("the adapter reports an error");
	server->refills++;
	server_refill(server);
}

/* ---- connections ---- */

static int is_welcome(DAT_CR_HANDLE cr)
{
	struct rpc_hello hello;
	DAT_CR_PARAM param;

	rpc_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	if (param.private_data_size != sizeof(hello))
		return 0;
	memcpy(&hello, param.private_data, sizeof(hello));
	return ntohl(hello.version) == RPC_VERSION;
}

static void server_accept(struct server *server, DAT_CR_HANDLE cr)
{
	/* A client may send its next call before the completion of its reply reaches this side. */
	DAT_EP_ATTR attr = { .max_recv_dtos = RPC_CREDITS,
			     .max_request_dtos = SERVER_BUFFERS,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };
	struct rpc_hello hello = { htonl(RPC_VERSION), htonl(RPC_CREDITS) };
	struct node *node = &server->node;
	DAT_EP_HANDLE ep;

	if (server->clients == SERVER_CLIENTS || !is_welcome(cr)) {
		rpc_check(dat_cr_reject(cr), "dat_cr_reject");
		server->refused++;
		return;
	}
	rpc_check(dat_ep_create_with_srq(node->ia, node->pz, node->evd, node->evd, node->evd,
					 server->srq, &attr, &ep),
		  "dat_ep_create_with_srq");
	rpc_check(dat_cr_accept(cr, ep, sizeof(hello), &hello), "dat_cr_accept");
	server->clients++;
}

static void server_connection(struct server *server, const DAT_EVENT *event)
{
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:                  /* a client can die at any time */
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR: /* even before it is connected */
		rpc_check(dat_ep_free(ep), "dat_ep_free");
		server->clients--;
		server->gone++;
		return;
	default:
		rpc_fail("an unexpected connection event");
	}
}

/* ---- calls ---- */

/* A request has arrived, or a reply has completed: its cookie is SERVER_BUFFERS or more. */
static void server_answer(struct server *server, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	int buffer = (int)(dto->user_cookie.as_64 % SERVER_BUFFERS);
	char *message = server->node.buffers[buffer];
	DAT_DTO_COOKIE reply = { .as_64 = (DAT_UINT64)(SERVER_BUFFERS + buffer) };
	struct rpc_header header;
	DAT_LMR_TRIPLET iov;
	size_t length;

	/* A completed reply, or a DTO flushed by the end of a connection: the buffer is free. */
	if (dto->user_cookie.as_64 >= SERVER_BUFFERS || dto->status != DAT_DTO_SUCCESS)
		goto out;
	memcpy(&header, message, sizeof(header));
	length = ntohs(header.length);
	if (dto->transfered_length < sizeof(header) ||
	    length != dto->transfered_length - sizeof(header) ||
	    !rpc_do(ntohs(header.call), message + sizeof(header), length))
		goto hang_up; /* a malformed request ends the connection */
	iov = node_segment(&server->node, buffer, sizeof(header) + length);
	/* If the connection has ended meanwhile, the Send completes as flushed. */
	if (dat_ep_post_send(dto->ep_handle, 1, &iov, reply, DAT_COMPLETION_DEFAULT_FLAG) ==
	    DAT_SUCCESS) {
		server->served++;
		return;
	}
hang_up:
	rpc_check(dat_ep_disconnect(dto->ep_handle, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
out:
	server->free[server->free_count++] = buffer;
}

int server_step(struct server *server, DAT_TIMEOUT timeout)
{
	DAT_EVENT event;
	int events = 0;

	for (; node_event(server->node.evd, events ? 0 : timeout, &event); events++) {
		server_watermark(server);
		switch (event.event_number) {
		case DAT_CONNECTION_REQUEST_EVENT:
			server_accept(server, event.event_data.cr_arrival_event_data.cr_handle);
			break;
		case DAT_DTO_COMPLETION_EVENT:
			server_answer(server, &event.event_data.dto_completion_event_data);
			break;
		default:
			server_connection(server, &event);
		}
	}
	return events;
}

void server_close(struct server *server)
{
	rpc_check(dat_psp_free(server->psp), "dat_psp_free");
	rpc_check(dat_srq_free(server->srq), "dat_srq_free");
	node_close(&server->node);
}
