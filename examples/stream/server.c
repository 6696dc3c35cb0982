/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server of stream.h: receives through one SRQ and sends every message back, each byte
 * inverted.
 */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>

#define RECVS 512 /* Receives on the SRQ; a message is sent back from its own buffer */

struct server {
	struct stream_node node;
	DAT_SRQ_HANDLE srq;
	DAT_PSP_HANDLE psp;
	int made, ended; /* connections */
	unsigned long echoes;
};

static void post_buffer(struct server *server, int buffer)
{
	DAT_LMR_TRIPLET segment = stream_segment(&server->node, buffer, STREAM_LARGEST);
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)buffer };

	stream_check(dat_srq_post_recv(server->srq, 1, &segment, cookie), "dat_srq_post_recv");
}

static void server_accept(struct server *server, const DAT_EVENT *event)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	struct stream_node *node = &server->node;
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = STREAM_LARGEST,
			     .max_request_dtos = 64,
			     .max_recv_dtos = 64,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };
	DAT_EP_HANDLE ep;

	stream_check(dat_ep_create_with_srq(node->ia, node->pz, node->evd[STREAM_RECVS],
					    node->evd[STREAM_SENDS], node->evd[STREAM_CONNECTIONS],
					    server->srq, &attr, &ep),
		     "dat_ep_create_with_srq");
	stream_check(dat_cr_accept(cr, ep, 0, NULL), "dat_cr_accept");
	server->made++;
}

/*
 * Reap the completions of Sends before dat_ep_free, which discards them: each returns its buffer to
 * the SRQ.
 */
static void reap_sends(struct server *server)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(server->node.evd[STREAM_SENDS], &event) == DAT_SUCCESS)
		post_buffer(server, (int)stream_done(&event)->user_cookie.as_64);
}

static void on_connection(struct server *server, const DAT_EVENT *event)
{
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;

	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return;
	if (event->event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		stream_fail("expected a graceful end of a connection");
	reap_sends(server);
	stream_check(dat_ep_free(ep), "dat_ep_free");
	server->ended++;
}

static void server_echo(struct server *server, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = stream_done(event);
	unsigned int length = (unsigned int)dto->transfered_length;
	int buffer = (int)dto->user_cookie.as_64;
	DAT_LMR_TRIPLET segment = stream_segment(&server->node, buffer, length);
	unsigned char *byte = stream_buffer(&server->node, buffer);

	for (unsigned int i = 0; i < length; i++)
		byte[i] = (unsigned char)~byte[i];
	stream_check(dat_ep_post_send(dto->ep_handle, 1, &segment, dto->user_cookie,
				      DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ep_post_send");
	server->echoes++;
}

static void handle_event(struct server *server)
{
	enum stream_queue queue;
	DAT_EVENT event = stream_next(&server->node, &queue);

	switch (queue) {
	case STREAM_REQUESTS:
		server_accept(server, &event);
		break;
	case STREAM_CONNECTIONS:
		on_connection(server, &event);
		break;
	case STREAM_RECVS:
		server_echo(server, &event);
		break;
	default:
		post_buffer(server, (int)stream_done(&event)->user_cookie.as_64);
	}
}

int stream_server(enum stream_way way, int connections)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECVS, .max_recv_iov = 1 };
	struct server server = { .made = 0 };

	stream_open(&server.node, way, RECVS);
	stream_check(dat_srq_create(server.node.ia, server.node.pz, &attr, &server.srq),
		     "dat_srq_create");
	for (int i = 0; i < RECVS; i++)
		post_buffer(&server, i);
	stream_check(dat_psp_create(server.node.ia, STREAM_QUALIFIER,
				    server.node.evd[STREAM_REQUESTS], DAT_PSP_CONSUMER_FLAG,
				    &server.psp),
		     "dat_psp_create");
	while (server.ended < connections)
		handle_event(&server);
	stream_check(dat_psp_free(server.psp), "dat_psp_free");
	stream_check(dat_srq_free(server.srq), "dat_srq_free");
	stream_close(&server.node);
	printf("%lu sent back, %d connections\n", server.echoes, server.made);
	return 0;
}
