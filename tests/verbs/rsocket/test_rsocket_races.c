/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What another thread does to an rsocket between two steps of a call. It happens in the thread of
 * the call itself, where that has no lock and calls something that the test stands in for: the poll
 * of another rsocket's CQ, or poll(2). So it happens at the same place in each run.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/support/support.h"

#define THERE "198.18.0.2"
#define PORT  7471
#define SOON  10000

static int listener, client, server;

/* ---- where it happens ---- */

static struct {
	int (*real)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
	struct ibv_cq *last, *at; /* the CQ polled last; the one whose next poll it is */
	void (*act)(void);
} in_poll_cq;

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	in_poll_cq.last = cq;
	if (cq == in_poll_cq.at) {
		in_poll_cq.at = NULL;
		in_poll_cq.act();
	}
	return in_poll_cq.real(cq, n, wc);
}

static void stand_in_for_poll_cq(void)
{
	struct ibv_context **all;
	int n;

	all = rdma_get_devices(&n);
	ck_assert_ptr_nonnull(all);
	if (!in_poll_cq.real)
		in_poll_cq.real = all[0]->ops.poll_cq;
	for (int i = 0; i < n; i++)
		all[i]->ops.poll_cq = poll_cq;
	rdma_free_devices(all);
}

static void (*in_poll)(void);
static bool has_to_stay_awake, is_interrupted;

/* The libraries call this one. */
int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	void (*act)(void) = in_poll;

	ck_assert(!has_to_stay_awake || ms == 0);
	if (act && ms != 0) {
		in_poll = NULL;
		act();
	}
	if (is_interrupted) {
		is_interrupted = false;
		errno = EINTR;
		return -1;
	}
	return ppoll(fds, n, ms < 0 ? NULL : &ts, NULL);
}

/* ---- rsockets ---- */

static struct sockaddr_in in_address(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, THERE, &addr.sin_addr), 1);
	return addr;
}

static short events_of(int fd, short events, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int n = rpoll(&pfd, 1, ms);

	ck_assert_int_eq(n, pfd.revents != 0);
	return pfd.revents;
}

static void begin(void)
{
	struct sockaddr_in addr = in_address(PORT);

	listener = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(rbind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(rlisten(listener, 2), 0);
}

static void connect_both(void)
{
	struct sockaddr_in addr = in_address(PORT);

	client = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(client, 0);
	ck_assert_int_eq(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	ck_assert_int_eq(events_of(server, POLLOUT, SOON), POLLOUT);
}

/* ---- between the test for events and the sleep ---- */

static void data_is_handled(void)
{
	ck_assert_int_eq(rsend(client, "x", 1, 0), 1);
	ck_assert_int_eq(events_of(server, POLLOUT, 0), POLLOUT);
}

static void stream_is_shut(void)
{
	ck_assert_int_eq(rshutdown(server, SHUT_RD), 0);
}

static void server_is_closed(void)
{
	ck_assert_int_eq(rclose(server), 0);
	server = -1;
}

static const struct {
	void (*act)(void);
	short events;
} before_sleep[] = {
	{ data_is_handled, POLLIN },
	{ stream_is_shut, POLLIN },
	{ server_is_closed, POLLNVAL },
};

/* rpoll tests the server first, and would later sleep without end. */
START_TEST(what_happens_before_a_poll_sleeps_is_not_missed)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int other_client, other;

	begin();
	stand_in_for_poll_cq();
	connect_both();
	other_client = client;
	other = server;
	connect_both();
	fds[0].fd = server;
	fds[1].fd = other;
	ck_assert_int_eq(events_of(other, POLLIN, 0), 0);
	in_poll_cq.act = before_sleep[_i].act;
	in_poll_cq.at = in_poll_cq.last;
	has_to_stay_awake = true;
	ck_assert_int_eq(rpoll(fds, 2, -1), 1);
	has_to_stay_awake = false;
	ck_assert_ptr_null(in_poll_cq.at);
	ck_assert_int_eq(fds[0].revents, before_sleep[_i].events);
	ck_assert_int_eq(fds[1].revents, 0);
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rclose(other_client), 0);
	ck_assert_int_eq(rclose(other), 0);
	if (server >= 0)
		ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

/* ---- while rconnect sleeps ---- */

static struct rdma_event_channel *channel;
static int taken;

static void refuse_request(void)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(rdma_reject(id, NULL, 0), 0);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
}

static void refusal_is_taken(void)
{
	socklen_t size = sizeof(taken);

	refuse_request();
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT | POLLERR | POLLHUP);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &taken, &size), 0);
}

/* The listener is no rsocket, so that it refuses when the test wants it. */
START_TEST(a_refused_connect_fails_though_another_thread_takes_the_error)
{
	struct sockaddr_in addr = in_address(PORT);
	struct rdma_cm_id *id;

	channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), 0);
	ck_assert_int_eq(rdma_listen(id, 1), 0);
	client = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(client, 0);
	in_poll = refusal_is_taken;
	ck_assert_int_eq(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert_ptr_null(in_poll);
	ck_assert_int_eq(taken, ECONNREFUSED);
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* ---- while raccept sleeps ---- */

/* The sleep for the client accepts for the listener, too, whose channel is empty again. */
static void another_accepts(void)
{
	struct sockaddr_in addr = in_address(PORT);

	ck_assert_int_eq(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
}

START_TEST(raccept_wakes_up_for_what_another_sleeper_has_accepted)
{
	begin();
	client = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(client, 0);
	in_poll = another_accepts;
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_ptr_null(in_poll);
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

/* ---- while rclose lingers ---- */

static void client_is_connected(void)
{
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
}

START_TEST(a_client_that_is_accepted_and_left_at_once_finds_the_end_of_the_stream)
{
	struct sockaddr_in addr = in_address(PORT);
	char byte;

	begin();
	client = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(client, 0);
	ck_assert_int_eq(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), -1);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	in_poll = client_is_connected;
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_ptr_null(in_poll);
	ck_assert_int_eq(rfcntl(client, F_SETFL, 0), 0);
	ck_assert_int_eq(rrecv(client, &byte, 1, 0), 0);
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

/* A handler with SA_RESTART has run. */
static void handler_has_run(void)
{
	is_interrupted = true;
}

/* A message is on the wire for so long that rclose has to wait for it. */
START_TEST(a_signal_does_not_end_the_time_of_SO_LINGER)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = SOON };
	char byte = 0;

	begin();
	connect_both();
	ck_assert_int_eq(rsetsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	ck_assert_int_eq(rsend(client, "x", 1, 0), 1);
	in_poll = handler_has_run;
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_ptr_null(in_poll);
	ck_assert_int_eq(rfcntl(server, F_SETFL, 0), 0);
	ck_assert_int_eq(rrecv(server, &byte, 1, 0), 1);
	ck_assert_int_eq(byte, 'x');
	ck_assert_int_eq(rrecv(server, &byte, 1, 0), 0);
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

/* The test library has handlers without SA_RESTART. */
static void setup_distance(void)
{
	setenv("DATSIM_LATENCY_NS", "20000000", 1);
	signal(SIGALRM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

static void fill(Suite *suite)
{
	unit_add(suite, what_happens_before_a_poll_sleeps_is_not_missed, 3, NULL);
	unit_add(suite, a_refused_connect_fails_though_another_thread_takes_the_error, 1, NULL);
	unit_add(suite, raccept_wakes_up_for_what_another_sleeper_has_accepted, 1, NULL);
	unit_add(suite, a_client_that_is_accepted_and_left_at_once_finds_the_end_of_the_stream, 1,
		 NULL);
	unit_add(suite, a_signal_does_not_end_the_time_of_SO_LINGER, 1, setup_distance);
}

/* Not all are on the same fabric. */
UNIT_SUITE_OF_PROCESSES("rsocket_races")
