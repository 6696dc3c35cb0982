/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client HOST [ROUNDS [ADAPTER]] - sends ROUNDS questions to the server on HOST, a name or an
 * address, and compares the answers. If the server does not listen yet, the client retries for some
 * seconds.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

#define TIMEOUT_US 100000000 /* far longer than any wait here takes */
#define TRIES      3000      /* a minute, for a server that starts on a busy machine */
#define PAUSE_NS   20000000
#define LOOKS      1000    /* polls of memory between two polls of the connection's EVD */
#define LOOKS_MORE 1000000 /* at an answer that has come in parts */
#define ASKED      0       /* message buffers: the question, */
#define WRITTEN    1       /* the answer that the server writes here, */
#define FETCHED    2       /* the same answer, fetched by an RDMA Read */
#define MESSAGES   3

struct client {
	struct pair_node node;
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep;
	struct pair_target board; /* the answer in the server's memory */
};

/* Host names are resolved to IPv4; a numeric address may be IPv4 or IPv6. */
static struct sockaddr_storage resolve_host(const char *host)
{
	struct addrinfo hints = { .ai_family = strchr(host, ':') ? AF_INET6 : AF_INET }, *found;
	struct sockaddr_storage address = { 0 };

	if (getaddrinfo(host, NULL, &hints, &found))
		pair_fail("expected a host name or an address: the name is not known");
	memcpy(&address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return address;
}

static DAT_EVENT next_event(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT event;

	pair_check(dat_evd_wait(evd, TIMEOUT_US, 1, &event, &more), "dat_evd_wait");
	return event;
}

static DAT_EVENT_NUMBER try_connect(struct client *client, struct sockaddr_storage *address)
{
	struct pair_target mine = pair_target(&client->node, WRITTEN);
	DAT_EVENT event;

	pair_check(dat_ep_connect(client->ep, (DAT_IA_ADDRESS_PTR)address, PAIR_QUALIFIER,
				  TIMEOUT_US, sizeof(mine), &mine, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	event = next_event(client->connect);
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (event.event_data.connect_event_data.private_data_size <
		    (DAT_COUNT)sizeof(client->board))
			pair_fail("expected the address of the answer in the server's private "
				  "data");
		memcpy(&client->board, event.event_data.connect_event_data.private_data,
		       sizeof(client->board));
	}
	return event.event_number;
}

static void connect_to(struct client *client, const char *host)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct sockaddr_storage address = resolve_host(host);
	DAT_EVENT_NUMBER what = DAT_SOFTWARE_EVENT;

	for (int i = 0; i < TRIES; i++) {
		what = try_connect(client, &address);
		if (what != DAT_CONNECTION_EVENT_NON_PEER_REJECTED &&
		    what != DAT_CONNECTION_EVENT_UNREACHABLE)
			break;
		pair_check(dat_ep_reset(client->ep), "dat_ep_reset");
		nanosleep(&pause, NULL);
	}
	if (what != DAT_CONNECTION_EVENT_ESTABLISHED)
		pair_fail("no connection: is the server running?");
}

static void expect_dto(struct client *client, DAT_UINT64 cookie)
{
	const DAT_EVENT event = next_event(client->dto);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (event.event_number == DAT_DTO_COMPLETION_EVENT && dto->status == DAT_DTO_SUCCESS &&
	    dto->user_cookie.as_64 == cookie)
		return;
	fprintf(stderr, "pair: round %llu: status %d\n", (unsigned long long)cookie, dto->status);
	pair_fail("a transfer failed");
}

/*
 * The server's RDMA Write changes memory without an event: poll it, and the connection now and
 * then.
 */
static void poll_answer(struct client *client, DAT_UINT64 round)
{
	const struct pair_message *answer = &client->node.messages[WRITTEN];
	long parts = 0;
	DAT_EVENT event;

	for (long looks = 1; !pair_is_whole(answer, round); looks++) {
		if (answer->round == round && ++parts > LOOKS_MORE)
			pair_fail("the answer written here is wrong");
		sched_yield();
		if (looks % LOOKS == 0 && dat_evd_dequeue(client->connect, &event) == DAT_SUCCESS)
			pair_fail("the connection ended");
	}
}

static void ask_server(struct client *client, DAT_UINT64 round)
{
	struct pair_message *messages = client->node.messages, wanted;
	DAT_LMR_TRIPLET segment = pair_segment(&client->node, ASKED);
	DAT_DTO_COOKIE cookie = { .as_64 = round };
	DAT_RMR_TRIPLET board = pair_remote(&client->board);

	pair_ask(&messages[ASKED], round, (DAT_UINT64)getpid());
	pair_answer(&messages[ASKED], &wanted);
	pair_check(dat_ep_post_send(client->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
	expect_dto(client, round);
	poll_answer(client, round);
	if (memcmp(messages[WRITTEN].word, wanted.word, sizeof(wanted.word)) != 0)
		pair_fail("the answer written here is wrong");
	segment = pair_segment(&client->node, FETCHED);
	pair_check(dat_ep_post_rdma_read(client->ep, 1, &segment, cookie, &board,
					 DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_rdma_read");
	expect_dto(client, round);
	if (memcmp((const void *)&messages[FETCHED], (const void *)&wanted, sizeof(wanted)) != 0)
		pair_fail("the answer fetched is wrong");
}

int main(int argc, char **argv)
{
	DAT_UINT64 rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
	struct client client;

	if (argc < 2 || argc > 4 || !rounds) {
		fputs("usage: client HOST [ROUNDS [ADAPTER]]\n", stderr);
		return 2;
	}
	pair_open(&client.node, argc > 3 ? argv[3] : "emu0", MESSAGES);
	pair_check(dat_evd_create(client.node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &client.dto),
		   "dat_evd_create");
	pair_check(dat_evd_create(client.node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_CONNECTION_FLAG, &client.connect),
		   "dat_evd_create");
	pair_check(dat_ep_create(client.node.ia, client.node.pz, client.dto, client.dto,
				 client.connect, NULL, &client.ep),
		   "dat_ep_create");
	connect_to(&client, argv[1]);
	puts("connected");
	fflush(stdout);
	for (DAT_UINT64 round = 1; round <= rounds; round++)
		ask_server(&client, round);
	pair_check(dat_ep_disconnect(client.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	if (next_event(client.connect).event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		pair_fail("expected a graceful end of the connection");
	pair_check(dat_ep_free(client.ep), "dat_ep_free");
	pair_check(dat_evd_free(client.dto), "dat_evd_free");
	pair_check(dat_evd_free(client.connect), "dat_evd_free");
	pair_close(&client.node);
	printf("%llu answers\n", (unsigned long long)rounds);
	return 0;
}
