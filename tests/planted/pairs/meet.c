/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"

#define QUALIFIER 4100
#define SERVER    "198.18.0.1"

int meet_role(int argc, char **argv)
{
	if (argc != 2)
		fail("expected serve, or the number of a client");
	return strcmp(argv[1], "serve") == 0 ? -1 : atoi(argv[1]);
}

DAT_PSP_HANDLE meet_listen(struct end *end)
{
	DAT_PSP_HANDLE psp;

	check(dat_psp_create(end->ia, QUALIFIER, end->cr, DAT_PSP_CONSUMER_FLAG, &psp),
	      "dat_psp_create");
	return psp;
}

DAT_CR_HANDLE meet_client(struct end *end, int *number)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	wait_event(end->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	if (param.private_data_size < (DAT_COUNT)sizeof(*number))
		fail("a client does not give its number");
	memcpy(number, param.private_data, sizeof(*number));
	return cr;
}

void meet_accept(struct end *end, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	check(dat_cr_accept(cr, ep, 0, NULL), "dat_cr_accept");
	wait_event(end->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

void meet_ask(DAT_EP_HANDLE ep, int number)
{
	struct sockaddr_in server = { .sin_family = AF_INET };

	inet_pton(AF_INET, SERVER, &server.sin_addr);
	check(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&server, QUALIFIER, DAT_TIMEOUT_INFINITE,
			     sizeof(number), &number, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG),
	      "dat_ep_connect");
}

void meet_connect(struct end *end, DAT_EP_HANDLE ep, int number)
{
	DAT_EVENT event;

	meet_ask(ep, number);
	wait_event(end->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

void meet_leave(struct end *end, DAT_EP_HANDLE ep)
{
	check(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	meet_left(end);
	check(dat_ep_free(ep), "dat_ep_free");
}

void meet_left(struct end *end)
{
	DAT_EVENT event;

	wait_event(end->connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
}

/* The client may be gone meanwhile. */
static int echo_one(struct end *end, DAT_EP_HANDLE ep, size_t bytes)
{
	DAT_EVENT event;
	DAT_DTO_COMPLETION_EVENT_DATA *done = &event.event_data.dto_completion_event_data;
	DAT_LMR_TRIPLET iov = { .lmr_context = end->context, .segment_length = bytes };

	wait_event(end->recv, DAT_DTO_COMPLETION_EVENT, &event);
	iov.virtual_address = (DAT_VADDR)(uintptr_t)(end->memory + bytes * done->user_cookie.as_64);
	return done->status == DAT_DTO_SUCCESS &&
	       dat_ep_post_send(ep, 1, &iov, done->user_cookie, DAT_COMPLETION_DEFAULT_FLAG) ==
		       DAT_SUCCESS;
}

void meet_echo(int most, size_t bytes)
{
	static struct end end;
	DAT_EP_HANDLE ep;
	int number;

	end_open(&end, "emu0", bytes * ((size_t)most + 1));
	ep = end_ep(&end, most + 1, most);
	/* One more than there are messages: it is flushed when the client is gone. */
	for (int i = 0; i <= most; i++)
		post_recv(&end, ep, bytes * (size_t)i, bytes, (DAT_UINT64)i);
	meet_listen(&end);
	meet_accept(&end, meet_client(&end, &number), ep);
	while (echo_one(&end, ep, bytes))
		;
	check(dat_ia_close(end.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(end.memory);
}
