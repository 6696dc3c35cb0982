/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer_connection.c - the adapter, the TCP exchange by which dtest's programs find each other, and
 * the connection. See peer.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/hwlab/peer.h"

#define TCP_PORT  15828
#define TCP_BYTES 128

void peer_check(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "peer: %s: %s %s\n", call, major, minor);
	exit(1);
}

void peer_need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "peer: %s is wrong\n", what);
	exit(1);
}

static void pause_a_little(void)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	nanosleep(&pause, NULL);
}

/* ---- outside DAT ---- */

/*
 * LID, QPN and scope are for other kinds of fabrics; the address is a number in memory order.
 */
void peer_tell(struct in_addr address, const char *provider)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(TCP_PORT) };
	int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0), client;
	char text[TCP_BYTES] = "";

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	peer_need(bind(listener, (struct sockaddr *)&here, sizeof(here)) == 0 &&
			  listen(listener, 1) == 0,
		  "the TCP port");
	puts("listening");
	client = accept(listener, NULL, NULL);
	snprintf(text, sizeof(text), "%04x:%08x:%08x:%08x:%s", 0, 0, 0, address.s_addr, provider);
	peer_need(write(client, text, sizeof(text)) == sizeof(text), "TCP");
	close(client);
	close(listener);
}

struct in_addr peer_ask(struct in_addr address)
{
	struct sockaddr_in there = { .sin_family = AF_INET,
				     .sin_port = htons(TCP_PORT),
				     .sin_addr = address };
	char text[TCP_BYTES + 1] = "";
	struct in_addr told;
	int server;

	for (;;) {
		server = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(server, (struct sockaddr *)&there, sizeof(there)) == 0)
			break;
		peer_need(errno == ECONNREFUSED, "TCP");
		close(server);
		pause_a_little();
	}
	peer_need(recv(server, text, TCP_BYTES, MSG_WAITALL) == TCP_BYTES, "TCP");
	peer_need(sscanf(text, "%*x:%*x:%*x:%x:", &told.s_addr) == 1, "what TCP brought");
	close(server);
	return told;
}

static int count(const char *log, const char *what)
{
	FILE *file = fopen(log, "r");
	char line[512];
	int n = 0;

	peer_need(file != NULL, log);
	while (fgets(line, sizeof(line), file))
		n += strchr(line, '\n') && strstr(line, what) != NULL;
	fclose(file);
	return n;
}

void peer_hear(const char *log, const char *what, int often)
{
	while (count(log, what) < often)
		pause_a_little();
}

/* ---- an adapter ---- */

DAT_EVENT peer_next(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT event;

	peer_check(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	return event;
}

static DAT_EVD_HANDLE make_evd(struct peer *peer, DAT_COUNT length, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	peer_check(dat_evd_create(peer->ia, length, DAT_HANDLE_NULL, flags, &evd),
		   "dat_evd_create");
	return evd;
}

static void register_memory(struct peer *peer)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN length;

	peer->memory = calloc(1, sizeof(*peer->memory));
	peer_need(peer->memory != NULL, "memory");
	region.for_va = peer->memory;
	peer_check(dat_lmr_create(peer->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(*peer->memory),
				  peer->pz, DAT_MEM_PRIV_ALL_FLAG, &peer->lmr, &peer->local,
				  &peer->key, &length, &address),
		   "dat_lmr_create");
}

void peer_open(struct peer *peer, const char *adapter)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_mtu_size = PEER_BYTES,
		.max_rdma_size = PEER_BYTES,
		.max_recv_dtos = PEER_NOTES + PEER_PINGS,
		.max_request_dtos = 16,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};

	peer->async = DAT_HANDLE_NULL;
	peer_check(dat_ia_open((DAT_NAME_PTR)adapter, 8, &peer->async, &peer->ia), "dat_ia_open");
	peer_check(dat_pz_create(peer->ia, &peer->pz), "dat_pz_create");
	register_memory(peer);
	peer->receives = make_evd(peer, PEER_NOTES + PEER_PINGS, DAT_EVD_DTO_FLAG);
	peer->requests = make_evd(peer, 16, DAT_EVD_DTO_FLAG);
	peer->connection = make_evd(peer, 8, DAT_EVD_CONNECTION_FLAG);
	peer->arrivals = make_evd(peer, 8, DAT_EVD_CR_FLAG);
	peer_check(dat_ep_create(peer->ia, peer->pz, peer->receives, peer->requests,
				 peer->connection, &attr, &peer->ep),
		   "dat_ep_create");
}

void peer_close(struct peer *peer)
{
	peer_check(dat_ep_free(peer->ep), "dat_ep_free");
	peer_check(dat_evd_free(peer->receives), "dat_evd_free");
	peer_check(dat_evd_free(peer->requests), "dat_evd_free");
	peer_check(dat_evd_free(peer->connection), "dat_evd_free");
	peer_check(dat_evd_free(peer->arrivals), "dat_evd_free");
	peer_check(dat_lmr_free(peer->lmr), "dat_lmr_free");
	peer_check(dat_pz_free(peer->pz), "dat_pz_free");
	peer_check(dat_ia_close(peer->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	free(peer->memory);
}

/* ---- the connection ---- */

/* Private data are bytes n, n + 1, ...; some transports append zeros. */
static void greet(unsigned char *data, int n)
{
	for (int i = 0; i < PEER_GREETED; i++)
		data[i] = (unsigned char)(i + n);
}

static void expect_greeting(const void *data, DAT_COUNT size, int n)
{
	unsigned char wanted[PEER_GREETED];

	greet(wanted, n);
	peer_need(size >= PEER_GREETED && memcmp(data, wanted, PEER_GREETED) == 0,
		  "the private data");
}

static void accept_one(struct peer *peer, struct in_addr address, const char *provider)
{
	unsigned char data[PEER_GREETED];
	DAT_CR_PARAM request;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	peer_check(dat_psp_create(peer->ia, PEER_PORT, peer->arrivals, DAT_PSP_CONSUMER_FLAG,
				  &peer->psp),
		   "dat_psp_create");
	peer_tell(address, provider);
	event = peer_next(peer->arrivals);
	peer_need(event.event_number == DAT_CONNECTION_REQUEST_EVENT, "the request");
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	peer_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), "dat_cr_query");
	expect_greeting(request.private_data, request.private_data_size, 1);
	greet(data, 2);
	peer_check(dat_cr_accept(cr, peer->ep, PEER_GREETED, data), "dat_cr_accept");
}

/* dtest sends its address over TCP before it listens. */
static void ask_to_connect(struct peer *peer, struct in_addr address)
{
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_addr = peer_ask(address) };
	unsigned char data[PEER_GREETED];

	peer_hear(peer->log, "dat_psp_created", 1);
	greet(data, 1);
	peer_check(dat_ep_connect(peer->ep, (DAT_IA_ADDRESS_PTR)&there, PEER_PORT,
				  DAT_TIMEOUT_INFINITE, PEER_GREETED, data, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
}

void peer_connect(struct peer *peer, struct in_addr address, const char *provider)
{
	const DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	if (peer->serves)
		accept_one(peer, address, provider);
	else
		ask_to_connect(peer, address);
	event = peer_next(peer->connection);
	peer_need(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "the connection");
	data = &event.event_data.connect_event_data;
	if (!peer->serves)
		expect_greeting(data->private_data, data->private_data_size, 2);
	puts("connected");
}

void peer_disconnect(struct peer *peer)
{
	if (!peer->serves)
		peer_check(dat_ep_disconnect(peer->ep, DAT_CLOSE_GRACEFUL_FLAG),
			   "dat_ep_disconnect");
	peer_need(peer_next(peer->connection).event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
		  "the end of the connection");
	if (peer->serves)
		peer_check(dat_psp_free(peer->psp), "dat_psp_free");
}
