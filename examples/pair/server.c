/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server [CLIENTS [ADAPTER]] - answers questions of all clients, waiting on one CNO, until CLIENTS
 * of them have disconnected gracefully.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define CLIENTS_MAX 64 /* at a time */

/* A client; a free seat has ep DAT_HANDLE_NULL. */
struct seat {
	DAT_EP_HANDLE ep;
	struct pair_target target;
};

struct server {
	struct pair_node node;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE requests, connect, dto;
	DAT_PSP_HANDLE psp;
	struct seat seats[CLIENTS_MAX];
	long answers, gone, broken;
};

/* The number of a seat's question buffer; its answer buffer is the next one. */
static int question_buffer(const struct server *server, const struct seat *seat)
{
	return (int)(seat - server->seats) * 2;
}

static struct seat *find_seat(struct server *server, DAT_EP_HANDLE ep)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (server->seats[i].ep == ep)
			return &server->seats[i];
	return NULL;
}

static void post_receive(struct server *server, struct seat *seat)
{
	DAT_LMR_TRIPLET segment = pair_segment(&server->node, question_buffer(server, seat));
	DAT_DTO_COOKIE cookie = { .as_ptr = seat };

	pair_check(dat_ep_post_recv(seat->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
}

static void server_accept(struct server *server, const DAT_EVENT *event)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	struct seat *seat = find_seat(server, DAT_HANDLE_NULL);
	struct pair_target mine;
	DAT_CR_PARAM request;

	pair_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), "dat_cr_query");
	if (!seat || request.private_data_size < (DAT_COUNT)sizeof(seat->target)) {
		pair_check(dat_cr_reject(cr), "dat_cr_reject");
		return;
	}
	memcpy(&seat->target, request.private_data, sizeof(seat->target));
	pair_check(dat_ep_create(server->node.ia, server->node.pz, server->dto, server->dto,
				 server->connect, NULL, &seat->ep),
		   "dat_ep_create");
	post_receive(server, seat);
	mine = pair_target(&server->node, question_buffer(server, seat) + 1);
	pair_check(dat_cr_accept(cr, seat->ep, sizeof(mine), &mine), "dat_cr_accept");
}

static void server_answer(struct server *server, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct seat *seat = dto->user_cookie.as_ptr;
	DAT_DTO_COOKIE none = { .as_ptr = NULL };
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET target;
	int in;

	/* A completed answer, or a DTO flushed by the end of a connection. */
	if (!seat || dto->status != DAT_DTO_SUCCESS)
		return;
	in = question_buffer(server, seat);
	pair_answer(&server->node.messages[in], &server->node.messages[in + 1]);
	post_receive(server, seat);
	segment = pair_segment(&server->node, in + 1);
	target = pair_remote(&seat->target);
	/* The post fails if the connection has ended meanwhile. */
	if (dat_ep_post_rdma_write(seat->ep, 1, &segment, none, &target,
				   DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS)
		server->answers++;
}

static void server_connection(struct server *server, const DAT_EVENT *event)
{
	struct seat *seat = find_seat(server, event->event_data.connect_event_data.ep_handle);

	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED || !seat)
		return;
	if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
		server->gone++;
	else
		server->broken++;
	pair_check(dat_ep_free(seat->ep), "dat_ep_free");
	seat->ep = DAT_HANDLE_NULL;
}

static void server_event(struct server *server, const DAT_EVENT *event)
{
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
		server_accept(server, event);
	else if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		server_answer(server, event);
	else
		server_connection(server, event);
}

static void server_start(struct server *server, const char *adapter)
{
	pair_open(&server->node, adapter, CLIENTS_MAX * 2);
	pair_check(dat_cno_create(server->node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &server->cno),
		   "dat_cno_create");
	pair_check(dat_evd_create(server->node.ia, PAIR_QUEUE_LENGTH, server->cno, DAT_EVD_CR_FLAG,
				  &server->requests),
		   "dat_evd_create");
	pair_check(dat_evd_create(server->node.ia, PAIR_QUEUE_LENGTH, server->cno,
				  DAT_EVD_CONNECTION_FLAG, &server->connect),
		   "dat_evd_create");
	pair_check(dat_evd_create(server->node.ia, PAIR_QUEUE_LENGTH, server->cno, DAT_EVD_DTO_FLAG,
				  &server->dto),
		   "dat_evd_create");
	pair_check(dat_psp_create(server->node.ia, PAIR_QUALIFIER, server->requests,
				  DAT_PSP_CONSUMER_FLAG, &server->psp),
		   "dat_psp_create");
}

static void server_step(struct server *server)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	pair_check(dat_cno_wait(server->cno, DAT_TIMEOUT_INFINITE, &evd), "dat_cno_wait");
	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		server_event(server, &event);
}

static void server_stop(struct server *server)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (server->seats[i].ep != DAT_HANDLE_NULL)
			pair_check(dat_ep_free(server->seats[i].ep), "dat_ep_free");
	pair_check(dat_psp_free(server->psp), "dat_psp_free");
	pair_check(dat_evd_free(server->requests), "dat_evd_free");
	pair_check(dat_evd_free(server->connect), "dat_evd_free");
	pair_check(dat_evd_free(server->dto), "dat_evd_free");
	pair_check(dat_cno_free(server->cno), "dat_cno_free");
	pair_close(&server->node);
}

int main(int argc, char **argv)
{
	long clients = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	static struct server server;

	if (argc > 3 || clients < 1) {
		fputs("usage: server [CLIENTS [ADAPTER]]\n", stderr);
		return 2;
	}
	server_start(&server, argc > 2 ? argv[2] : "emu0");
	while (server.gone < clients)
		server_step(&server);
	server_stop(&server);
	printf("%ld answers, %ld clients, %ld more were broken off\n", server.answers, server.gone,
	       server.broken);
	return 0;
}
