/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_kit.c - see cm_kit.h. */
#include "cm_kit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/verbs/cm/cm_pair.h"

#define RS_PORT 7472
#define SOON    10000 /* ms */

/* cm_pair.c has the ids of a connection and their channel; here are others. */
static struct rdma_cm_id *other, *asked; /* asked: the argument */
static struct rdma_event_channel *spare;
static int listener, client, server, file;
static bool paired;

/* ---- the pair of RNICs, which librdmacm alone connects ---- */

static struct rdma_cm_id *pair_client, *pair_server;
static struct rdma_event_channel *pair_channel;

bool fuzz_kit_iwarp(void)
{
	const char *profile = getenv("DATSIM_PROFILE");

	return profile && strcmp(profile, "iwarp") == 0;
}

static void take_end(struct verbs_end *end, struct rdma_cm_id *id, struct ibv_cq *cq)
{
	end->context = id->verbs;
	end->pd = id->pd;
	end->qp = id->qp;
	end->cq = cq;
	ck_assert_int_eq(ibv_query_port(id->verbs, 1, &end->port), 0);
	end->mr = ibv_reg_mr(id->pd, end->buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE);
	ck_assert_ptr_nonnull(end->mr);
}

static void connect_rnics(void)
{
	cm_begin();
	cm_connect();
	cm_destroy(&cm_listener);
	pair_client = cm_client;
	pair_server = cm_server;
	pair_channel = cm_channel;
	take_end(&fuzz_a, pair_client, pair_client->send_cq);
	take_end(&fuzz_b, pair_server, pair_server->recv_cq);
}

static void end_rnics(void)
{
	ck_assert_int_eq(ibv_dereg_mr(fuzz_a.mr), 0);
	ck_assert_int_eq(ibv_dereg_mr(fuzz_b.mr), 0);
	cm_destroy(&pair_client);
	cm_destroy(&pair_server);
	rdma_destroy_event_channel(pair_channel);
}

/* ---- ids ---- */

static struct rdma_cm_id *make_other(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	ck_assert_int_eq(rdma_create_id(channel, &other, NULL, ps), 0);
	return other;
}

static void make_datagram(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD
	};
	struct sockaddr_in in = cm_address(CM_THERE, CM_PORT + 1);

	make_other(cm_channel, RDMA_PS_UDP);
	ck_assert_int_eq(rdma_resolve_addr(other, NULL, (struct sockaddr *)&in, CM_TIMEOUT), 0);
	cm_take(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (fuzz_kit_iwarp())
		return; /* there are no such queue pairs */
	ck_assert_int_eq(rdma_create_qp(other, NULL, &init), 0);
}

static void make_sync(bool listens)
{
	struct sockaddr_in in = cm_address(CM_THERE, CM_PORT + 1);

	make_other(NULL, RDMA_PS_TCP);
	ck_assert_int_eq(fcntl(other->channel->fd, F_SETFL, O_NONBLOCK), 0);
	if (!listens)
		return;
	ck_assert_int_eq(rdma_bind_addr(other, (struct sockaddr *)&in), 0);
	ck_assert_int_eq(rdma_listen(other, 1), 0);
}

static void make_over(void)
{
	cm_connect();
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
}

/* From idle to where a connection request is the next step. */
static void bring_on(enum fuzz_id which)
{
	struct sockaddr_in in = cm_address("0.0.0.0", 0), to = cm_address(CM_THERE, CM_PORT);

	if (which == ID_BOUND)
		ck_assert_int_eq(rdma_bind_addr(cm_client, (struct sockaddr *)&in), 0);
	if (which == ID_ADDRESS) {
		ck_assert_int_eq(
			rdma_resolve_addr(cm_client, NULL, (struct sockaddr *)&to, CM_TIMEOUT), 0);
		cm_take(RDMA_CM_EVENT_ADDR_RESOLVED);
	}
	if (which == ID_ROUTE || which == ID_QP)
		cm_resolve(cm_client, CM_THERE, CM_PORT);
	if (which == ID_QP)
		cm_make_qp(cm_client);
}

static struct rdma_cm_id *make_id(enum fuzz_id which)
{
	switch (which) {
	case ID_LISTENING:
		return cm_listener;
	case ID_ASKING:
		cm_ask();
		return cm_client;
	case ID_ASKED:
		cm_ask();
		cm_make_qp(cm_server);
		return cm_server;
	case ID_ACTIVE:
		cm_connect();
		return cm_client;
	case ID_PASSIVE:
		cm_connect();
		return cm_server;
	case ID_OVER:
		make_over();
		return cm_client;
	case ID_DATAGRAM:
		make_datagram();
		return other;
	case ID_SYNC:
	case ID_SYNC_LISTENING:
		make_sync(which == ID_SYNC_LISTENING);
		return other;
	default:
		bring_on(which);
		return cm_client;
	}
}

static void begin_pair(void)
{
	if (!paired)
		cm_begin();
	paired = true;
}

struct rdma_cm_id *fuzz_kit_id(enum fuzz_id which)
{
	struct rdma_cm_id *id;

	begin_pair();
	id = make_id(which);
	/* A call that would wait for an event returns instead. */
	ck_assert_int_eq(fcntl(cm_channel->fd, F_SETFL, O_NONBLOCK), 0);
	asked = id;
	return id;
}

struct rdma_event_channel *fuzz_kit_channel(void)
{
	spare = rdma_create_event_channel();
	ck_assert_ptr_nonnull(spare);
	ck_assert_int_eq(fcntl(spare->fd, F_SETFL, O_NONBLOCK), 0);
	return spare;
}

void fuzz_kit_id_gone(const struct rdma_cm_id *id)
{
	struct rdma_cm_id **all[] = { &cm_client, &cm_server, &cm_listener, &other };

	for (size_t i = 0; i < COUNT(all); i++)
		if (*all[i] == id)
			*all[i] = NULL;
}

void fuzz_kit_channel_gone(const struct rdma_event_channel *channel)
{
	if (spare == channel)
		spare = NULL;
}

/* ---- rsockets ---- */

static struct sockaddr_in rs_address(void)
{
	return cm_address(CM_THERE, RS_PORT);
}

static int make_rsocket(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static int bound_rsocket(void)
{
	struct sockaddr_in in = rs_address();

	client = make_rsocket();
	ck_assert_int_eq(rbind(client, (struct sockaddr *)&in, sizeof(in)), 0);
	return client;
}

static void listen_rsocket(void)
{
	listener = bound_rsocket();
	client = -1;
	ck_assert_int_eq(rlisten(listener, 2), 0);
}

static void await(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	ck_assert_int_eq(rpoll(&pfd, 1, SOON), 1);
}

static void connect_rsockets(void)
{
	struct sockaddr_in in = rs_address();
	int size = 4096, maps = 4;

	listen_rsocket();
	client = make_rsocket();
	ck_assert_int_eq(rsetsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	ck_assert_int_eq(rsetsockopt(client, SOL_RDMA, RDMA_IOMAPSIZE, &maps, sizeof(maps)), 0);
	ck_assert_int_eq(rconnect(client, (struct sockaddr *)&in, sizeof(in)), -1);
	await(listener, POLLIN);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(rfcntl(server, F_SETFL, O_NONBLOCK), 0);
	await(client, POLLOUT);
	await(server, POLLOUT);
	ck_assert_int_eq(rsend(server, "text", 4, 0), 4);
	await(client, POLLIN);
}

int fuzz_kit_fd(enum fuzz_fd which)
{
	switch (which) {
	case FD_LARGE:
		return INT_MAX;
	case FD_FILE:
		file = open("/dev/null", O_RDWR | O_CLOEXEC);
		return file;
	case FD_CLOSED:
		client = make_rsocket();
		ck_assert_int_eq(rclose(client), 0);
		file = open("/dev/null", O_RDWR | O_CLOEXEC); /* not one of Check's */
		client = -1;
		return file + 1;
	case FD_OPEN:
		client = make_rsocket();
		return client;
	case FD_BOUND:
		return bound_rsocket();
	case FD_LISTENING:
		listen_rsocket();
		return listener;
	case FD_ACTIVE:
		connect_rsockets();
		return client;
	case FD_PASSIVE:
		connect_rsockets();
		return server;
	case FD_LEFT:
		connect_rsockets();
		ck_assert_int_eq(rclose(server), 0);
		server = -1;
		return client;
	default:
		return -1;
	}
}

void fuzz_kit_fd_gone(int fd)
{
	int *all[] = { &listener, &client, &server };

	for (size_t i = 0; i < COUNT(all); i++)
		if (*all[i] == fd)
			*all[i] = -1;
}

/* ---- the kit ---- */

void fuzz_kit_begin(void)
{
	struct ibv_context **list;

	if (fuzz_kit_iwarp())
		connect_rnics();
	else
		fuzz_connect_pair();
	/* It keeps the devices open, which would look like a leak after a call. */
	list = rdma_get_devices(NULL);
	ck_assert_ptr_nonnull(list);
	rdma_free_devices(list);
	paired = false;
}

void fuzz_kit_end(void)
{
	if (fuzz_kit_iwarp())
		end_rnics();
	else
		verbs_end_all(&fuzz_a, &fuzz_b);
}

void fuzz_kit_make(void)
{
	other = asked = NULL;
	spare = NULL;
	listener = client = server = file = -1;
}

static void free_id(struct rdma_cm_id **id)
{
	if (*id && (*id)->srq && (*id)->qp)
		rdma_destroy_qp(*id);
	if (*id && (*id)->srq)
		rdma_destroy_srq(*id);
	cm_destroy(id);
}

static void free_fd(int fd)
{
	if (fd >= 0)
		ck_assert_int_eq(rclose(fd), 0);
}

void fuzz_kit_free(void)
{
	free_id(&other);
	if (paired) {
		free_id(&cm_client);
		free_id(&cm_server);
		free_id(&cm_listener);
		rdma_destroy_event_channel(cm_channel);
	}
	paired = false;
	if (spare)
		rdma_destroy_event_channel(spare);
	free_fd(client);
	free_fd(server);
	free_fd(listener);
	if (file >= 0)
		close(file);
}

/* What a program sees of the id. */
uint64_t fuzz_kit_sum(void)
{
	uint64_t sum;

	if (!asked)
		return 0;
	sum = fuzz_sum(0, asked, offsetof(struct rdma_cm_id, route));
	sum = fuzz_sum(sum, &asked->route.addr, sizeof(asked->route.addr));
	return fuzz_sum(sum, &asked->event, sizeof(*asked) - offsetof(struct rdma_cm_id, event));
}
