/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "die.h"

#define PAUSE_NS 10000000
#define CLIENTS  "2000000000" /* more than ever come, so the server stays */

DAT_TIMEOUT peer_patience_us = DAT_TIMEOUT_INFINITE;
int peer_tries = INT_MAX;

enum {
	ASKED,
	WRITTEN,
	FETCHED,
	MESSAGES
};

DAT_EVENT expect_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_COUNT more;
	DAT_EVENT event;

	pair_check(dat_evd_wait(evd, peer_patience_us, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != number) {
		fprintf(stderr, "pair: event %#x, expected %#x\n", event.event_number, number);
		pair_fail("another event");
	}
	return event;
}

void expect_dto(DAT_EVD_HANDLE evd, DAT_UINT64 cookie)
{
	const DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (dto->status == DAT_DTO_SUCCESS && dto->user_cookie.as_64 == cookie)
		return;
	fprintf(stderr, "pair: DTO %llu, expected %llu: status %d\n",
		(unsigned long long)dto->user_cookie.as_64, (unsigned long long)cookie,
		dto->status);
	pair_fail("a transfer failed");
}

void ask_ep(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier)
{
	struct sockaddr_in host = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	pair_check(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&host, qualifier, DAT_TIMEOUT_INFINITE, 0,
				  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
}

void connect_ep(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier, DAT_EVD_HANDLE connect)
{
	ask_ep(ep, qualifier);
	expect_event(connect, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void peer_open(struct peer *peer)
{
	pair_open(&peer->node, "emu0", MESSAGES);
	pair_check(dat_evd_create(peer->node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &peer->dto),
		   "dat_evd_create");
	pair_check(dat_evd_create(peer->node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_CONNECTION_FLAG, &peer->connect),
		   "dat_evd_create");
	pair_check(dat_ep_create(peer->node.ia, peer->node.pz, peer->dto, peer->dto, peer->connect,
				 NULL, &peer->ep),
		   "dat_ep_create");
}

static bool try_connect(struct peer *peer, DAT_EVENT *event)
{
	struct sockaddr_in host = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pair_target mine = pair_target(&peer->node, WRITTEN);
	DAT_COUNT more;

	pair_check(dat_ep_connect(peer->ep, (DAT_IA_ADDRESS_PTR)&host, PAIR_QUALIFIER,
				  peer_patience_us, sizeof(mine), &mine, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	pair_check(dat_evd_wait(peer->connect, peer_patience_us, 1, event, &more), "dat_evd_wait");
	return event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

void peer_connect(struct peer *peer)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	DAT_EVENT event;

	/* The server may not listen yet. */
	for (int i = 0; !try_connect(peer, &event); i++) {
		if (i == peer_tries)
			pair_fail("no connection");
		pair_check(dat_ep_reset(peer->ep), "dat_ep_reset");
		nanosleep(&pause, NULL);
	}
	if (event.event_data.connect_event_data.private_data_size < (DAT_COUNT)sizeof(peer->board))
		pair_fail("the server does not say where it answers");
	memcpy(&peer->board, event.event_data.connect_event_data.private_data, sizeof(peer->board));
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

void peer_ask(struct peer *peer)
{
	struct pair_message *messages = peer->node.messages, wanted;
	DAT_LMR_TRIPLET segment = pair_segment(&peer->node, ASKED);
	DAT_RMR_TRIPLET board = pair_remote(&peer->board);
	DAT_UINT64 round = ++peer->round;
	DAT_DTO_COOKIE cookie = { .as_64 = round };
	uint64_t begun = now_us();
	bool turns = getenv("DATSIM_LOCKSTEP") != NULL;
	DAT_EVENT event;

	pair_ask(&messages[ASKED], round, (DAT_UINT64)getpid());
	pair_answer(&messages[ASKED], &wanted);
	pair_check(dat_ep_post_send(peer->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
	expect_dto(peer->dto, round);
	while (!pair_is_whole(&messages[WRITTEN], round)) {
		/* In lockstep, a poll that finds nothing ends the turn. */
		if (!turns || dat_evd_dequeue(peer->connect, &event) != DAT_SUCCESS)
			sched_yield();
		if (peer_patience_us != DAT_TIMEOUT_INFINITE && now_us() - begun > peer_patience_us)
			pair_fail("no answer");
	}
	if (memcmp(messages[WRITTEN].word, wanted.word, sizeof(wanted.word)) != 0)
		pair_fail("the answer written here is wrong");
	segment = pair_segment(&peer->node, FETCHED);
	pair_check(dat_ep_post_rdma_read(peer->ep, 1, &segment, cookie, &board,
					 DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_rdma_read");
	expect_dto(peer->dto, round);
	if (memcmp((const void *)&messages[FETCHED], (const void *)&wanted, sizeof(wanted)) != 0)
		pair_fail("the answer fetched is wrong");
}

/* ---- roles of die.h ---- */

static struct peer own;

void serve(const char *server)
{
	setenv("DATSIM_NODE", "server", 1);
	execl(server, server, CLIENTS, (char *)NULL);
	perror(server);
	_exit(127);
}

void witness_open(void)
{
	peer_open(&own);
	peer_connect(&own);
}

void witness_ask(void)
{
	peer_ask(&own);
}

void witness_close(void)
{
	pair_check(dat_ep_disconnect(own.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	expect_event(own.connect, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_check(dat_ia_close(own.node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}
