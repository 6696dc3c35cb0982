/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server with memory for each connection. The client sends one request and disconnects.
 *
 * Planted: the server frees the memory when a Send fails, and also when the connection ends. If the
 * client disconnects before its answer is acknowledged, both happen.
 */
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define ROUNDS 8
#define BYTES  64

struct session {
	DAT_EP_HANDLE ep;
	char name[BYTES];
	int over;
};

struct server {
	struct end end;
	int gone;
};

static void end_session(struct server *server, struct session *session)
{
	server->gone++;
	session->over = 1;
	free(session);
}

static int server_step(struct server *server, struct session *session)
{
	DAT_EVENT event;
	int progress = 0;

	while (next_event(server->end.recv, &event)) {
		if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
			post_send(&server->end, session->ep, 0, BYTES, 0);
		progress = 1;
	}
	while (next_event(server->end.request, &event)) {
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS && BUG)
			end_session(server, session);
		progress = 1;
	}
	while (next_event(server->end.connect, &event)) {
		if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			end_session(server, session);
		progress = 1;
	}
	return progress;
}

int main(void)
{
	static struct server server;
	static struct end client;
	struct session *session;
	DAT_EP_HANDLE ep, server_ep;
	DAT_EVENT event;
	int i, over;

	end_open(&server.end, "emu0", BYTES);
	end_open(&client, "emu1", 2 * BYTES);
	for (i = 0; i < ROUNDS; i++) {
		ep = end_ep(&client, 1, 1);
		server_ep = end_ep(&server.end, 1, 1);
		session = calloc(1, sizeof(*session));
		if (!session)
			fail("out of memory");
		session->ep = server_ep;
		strcpy(session->name, "a client");
		post_recv(&server.end, server_ep, 0, BYTES, 0);
		post_recv(&client, ep, BYTES, BYTES, 0);
		connect_pair(&client, ep, &server.end, server_ep);
		post_send(&client, ep, 0, BYTES, 0);
		for (over = 0; !over || server.gone <= i;) {
			int progress = server_step(&server, session);

			if (next_event(client.recv, &event)) {
				check(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG),
				      "dat_ep_disconnect");
				progress = 1;
			}
			if (next_event(client.connect, &event))
				over = progress = 1;
			idle(client.recv, progress);
		}
		while (next_event(client.request, &event))
			;
		check(dat_ep_free(ep), "dat_ep_free");
		check(dat_ep_free(server_ep), "dat_ep_free");
	}
	end_close(&client);
	end_close(&server.end);
	return 0;
}
