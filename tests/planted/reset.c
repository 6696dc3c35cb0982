/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A remote call over a new connection, again and again, between the same two Endpoints.
 *
 * Planted: completions that come after the reply are reaped only after the Endpoint was reset. The
 * reset discards them, so the buffer of that request is lost.
 */
#include "pair.h"

#define ROUNDS  8
#define BUFFERS 2
#define BYTES   64

struct client {
	struct end end;
	DAT_EP_HANDLE ep;
	int free[BUFFERS], free_count;
};

/* Requests whose Sends completed, with or without an error: their buffers are free. */
static void reap(struct client *c)
{
	DAT_EVENT event;

	while (next_event(c->end.request, &event))
		c->free[c->free_count++] =
			(int)event.event_data.dto_completion_event_data.user_cookie.as_64;
}

static int take_buffer(struct client *c)
{
	DAT_EVENT event;

	if (!c->free_count) {
		wait_event(c->end.request, DAT_DTO_COMPLETION_EVENT, &event);
		c->free[c->free_count++] =
			(int)event.event_data.dto_completion_event_data.user_cookie.as_64;
	}
	return c->free[--c->free_count];
}

static void call(struct client *c, struct end *server, DAT_EP_HANDLE server_ep)
{
	int buffer = take_buffer(c);
	DAT_EVENT event;

	post_recv(server, server_ep, 0, BYTES, 0);
	post_recv(&c->end, c->ep, BUFFERS * BYTES, BYTES, 0);
	connect_pair(&c->end, c->ep, server, server_ep);
	post_send(&c->end, c->ep, (size_t)buffer * BYTES, BYTES, (DAT_UINT64)buffer);
	wait_dto(server->recv);
	post_send(server, server_ep, 0, BYTES, 0);
	wait_dto(c->end.recv);
	reap(c);
	check(dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
	wait_event(c->end.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	wait_event(server->connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	if (!BUG)
		reap(c);
	check(dat_ep_reset(c->ep), "dat_ep_reset");
	while (next_event(server->request, &event))
		;
	check(dat_ep_reset(server_ep), "dat_ep_reset");
}

int main(void)
{
	static struct client c;
	static struct end server;
	DAT_EP_HANDLE server_ep;
	int i;

	end_open(&c.end, "emu0", (BUFFERS + 1) * BYTES);
	end_open(&server, "emu1", BYTES);
	c.ep = end_ep(&c.end, 2, 2);
	server_ep = end_ep(&server, 2, 2);
	for (i = 0; i < BUFFERS; i++)
		c.free[c.free_count++] = i;
	for (i = 0; i < ROUNDS; i++)
		call(&c, &server, server_ep);
	check(dat_ep_free(c.ep), "dat_ep_free");
	check(dat_ep_free(server_ep), "dat_ep_free");
	end_close(&c.end);
	end_close(&server);
	return 0;
}
