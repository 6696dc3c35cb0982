/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client writes into the memory of a server, and tells it so by a message, in ROUNDS rounds. The
 * server gives the key of its memory when it accepts. If the connection breaks, because the server
 * has ended and starts again, the client connects again and goes on where it was.
 *
 * Planted: the client keeps the key of its first connection. The memory of the new server has
 * another one.
 */
#include <stdlib.h>
#include <string.h>

#include "meet.h"

#define ROUNDS   6
#define BYTES    64
#define TRIES    100
#define PAUSE_US 50
#define WAIT_US  100000

struct key {
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
};

/* The other one is gone, or all is done. */
static void leave(struct end *end)
{
	check(dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(end->memory);
	exit(0);
}

static int wait_for(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(evd, WAIT_US, 1, event, &more);

	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		return 0;
	check(ret, "dat_evd_wait");
	return 1;
}

/* ---- the server ---- */

static int server_accept(struct end *end, DAT_EP_HANDLE ep)
{
	struct key key = { end->rmr, (DAT_VADDR)(uintptr_t)end->memory };
	DAT_EVENT event;

	if (!wait_for(end->cr, &event))
		leave(end);
	return dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, sizeof(key),
			     &key) == DAT_SUCCESS &&
	       wait_for(end->connect, &event) &&
	       event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

/* False: the client is gone. */
static int server_rounds(struct end *end, DAT_EP_HANDLE ep)
{
	DAT_DTO_COMPLETION_EVENT_DATA *done;
	DAT_EVENT event;

	while (end->memory[0] != ROUNDS) {
		if (!wait_for(end->recv, &event))
			return 0;
		done = &event.event_data.dto_completion_event_data;
		if (done->status != DAT_DTO_SUCCESS)
			return 0;
		if (end->memory[BYTES] > end->memory[0])
			fail("the message has come before what was written");
		post_recv(end, ep, BYTES, BYTES, 0);
	}
	return 1;
}

/* A new connection needs a new endpoint, and none of the old one's completions. */
static DAT_EP_HANDLE end_fresh(struct end *end)
{
	DAT_EP_HANDLE ep = end_ep(end, 1, 2);

	post_recv(end, ep, BYTES, BYTES, 0);
	return ep;
}

static void end_stale(struct end *end, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	check(dat_ep_free(ep), "dat_ep_free");
	while (next_event(end->recv, &event) || next_event(end->request, &event) ||
	       next_event(end->connect, &event))
		;
}

static void serve(void)
{
	static struct end end;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	end_open(&end, "emu0", 2 * BYTES);
	meet_listen(&end);
	for (;;) {
		ep = end_fresh(&end);
		if (server_accept(&end, ep) && server_rounds(&end, ep))
			break;
		end_stale(&end, ep);
	}
	wait_for(end.connect, &event);
	leave(&end);
}

/* ---- the client ---- */

static int client_connect(struct end *end, DAT_EP_HANDLE ep, struct key *key)
{
	DAT_EVENT event;
	DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

	meet_ask(ep, 0);
	if (!wait_for(end->connect, &event) ||
	    event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return 0;
	if (data->private_data_size < (DAT_COUNT)sizeof(*key))
		fail("the server gives no key");
	memcpy(key, data->private_data, sizeof(*key));
	return 1;
}

/* False: the connection is broken. */
static int completes(struct end *end)
{
	DAT_EVENT event;
	DAT_DTO_COMPLETION_STATUS status;

	if (!wait_for(end->request, &event))
		fail("a transfer never ends");
	status = event.event_data.dto_completion_event_data.status;
	if (status == DAT_DTO_ERR_REMOTE_ACCESS)
		fail("the server does not know the key");
	return status == DAT_DTO_SUCCESS;
}

static int client_round(struct end *end, DAT_EP_HANDLE ep, const struct key *key, int round)
{
	DAT_LMR_TRIPLET from = { .lmr_context = end->context,
				 .virtual_address = (DAT_VADDR)(uintptr_t)end->memory,
				 .segment_length = BYTES };
	DAT_RMR_TRIPLET to = { .rmr_context = key->context,
			       .target_address = key->address,
			       .segment_length = BYTES };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	end->memory[0] = (char)round;
	return dat_ep_post_rdma_write(ep, 1, &from, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG) ==
		       DAT_SUCCESS &&
	       dat_ep_post_send(ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS &&
	       completes(end) && completes(end);
}

static void ask(void)
{
	static struct end end;
	struct key key, first = { .context = 0 };
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	DAT_COUNT more;
	int round = 1;

	end_open(&end, "emu0", 2 * BYTES);
	for (int i = 0; i < TRIES && round <= ROUNDS; i++) {
		ep = end_fresh(&end);
		if (client_connect(&end, ep, &key)) {
			if (!first.address)
				first = key;
			while (round <= ROUNDS &&
			       client_round(&end, ep, BUG ? &first : &key, round))
				round++;
		}
		if (round > ROUNDS)
			break;
		end_stale(&end, ep);
		dat_evd_wait(end.cr, PAUSE_US, 1, &event, &more);
	}
	leave(&end);
}

int main(int argc, char **argv)
{
	if (meet_role(argc, argv) < 0)
		serve();
	else
		ask();
	return 0;
}
