/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of requests that arrive at a listening rsocket while the program is not in raccept.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/asleep.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

#define THERE "198.18.0.1"
#define PORT  7471
#define MANY  12
#define MOST  128 /* that a listener accepts by itself */

static pid_t sleeper;
static const char early[] = "early", late[] = "late";

static const struct sockaddr *at(uint16_t port)
{
	static struct sockaddr_in addr;

	addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	ck_assert_int_eq(inet_pton(AF_INET, THERE, &addr.sin_addr), 1);
	return (const struct sockaddr *)&addr;
}

static int listener_at(uint16_t port, int backlog)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rbind(fd, at(port), sizeof(struct sockaddr_in)), 0);
	ck_assert_int_eq(rlisten(fd, backlog), 0);
	return fd;
}

static int client_of(uint16_t port)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rconnect(fd, at(port), sizeof(struct sockaddr_in)), 0);
	return fd;
}

static short ready_for(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	ck_assert_int_ge(rpoll(&pfd, 1, 0), 0);
	return pfd.revents;
}

static void expect(int fd, const char *text, size_t size)
{
	char got[16];

	ck_assert_int_eq(rrecv(fd, got, size, MSG_WAITALL), (ssize_t)size);
	ck_assert_mem_eq(got, text, size);
}

START_TEST(a_connection_is_made_before_the_listener_takes_it)
{
	int listener = listener_at(PORT, 2), client = client_of(PORT), server;

	ck_assert_int_eq(rsend(client, early, sizeof(early), 0), sizeof(early));
	ck_assert_int_eq(ready_for(listener, POLLIN), POLLIN);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(ready_for(listener, POLLIN), 0);
	expect(server, early, sizeof(early));
	ck_assert_int_eq(rsend(server, late, sizeof(late), 0), sizeof(late));
	expect(client, late, sizeof(late));
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

START_TEST(connections_are_taken_in_the_order_of_their_requests)
{
	int listener = listener_at(PORT, 2), clients[MANY], server;
	struct sockaddr_in own, far;
	socklen_t size = sizeof(own);

	for (int i = 0; i < MANY; i++)
		clients[i] = client_of(PORT);
	for (int i = 0; i < MANY; i++) {
		server = raccept(listener, (struct sockaddr *)&far, &size);
		ck_assert_int_ge(server, 0);
		ck_assert_int_eq(rgetsockname(clients[i], (struct sockaddr *)&own, &size), 0);
		ck_assert_uint_eq(own.sin_port, far.sin_port);
		ck_assert_int_eq(rclose(server), 0);
		ck_assert_int_eq(rclose(clients[i]), 0);
	}
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

/* Beyond what it accepts by itself, requests wait as many as the backlog has room for. */
START_TEST(a_listener_accepts_128_connections_by_itself)
{
	int listener = listener_at(PORT, 1), clients[MOST], waits, server;

	for (int i = 0; i < MOST; i++)
		clients[i] = client_of(PORT);
	waits = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(rconnect(waits, at(PORT), sizeof(struct sockaddr_in)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(ready_for(waits, POLLOUT), 0);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	while (!ready_for(waits, POLLOUT))
		;
	ck_assert_int_eq(ready_for(waits, POLLOUT), POLLOUT);
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(listener), 0);
	ck_assert_int_eq(rclose(waits), 0);
	for (int i = 0; i < MOST; i++)
		ck_assert_int_eq(rclose(clients[i]), 0);
}
END_TEST

enum {
	TAKEN = 6 /* numbers of descriptors: of the test's own and of the fabric, which stay open */
};

/* A client that does not block connects, and from now on the process has no more descriptors. */
static int connect_without_more(const struct rlimit *limit)
{
	int client = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	ck_assert_int_eq(rconnect(client, at(PORT), sizeof(struct sockaddr_in)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ TAKEN, limit->rlim_max }), 0);
	return client;
}

/*
 * Of descriptors there are none for what is accepted: the program is told, as by accept. The client
 * may want one before its request is sent; then it fails, and another one tries.
 */
START_TEST(a_listener_tells_once_that_it_could_not_accept)
{
	int listener = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), client;
	struct rlimit limit;

	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(rbind(listener, at(PORT), sizeof(struct sockaddr_in)), 0);
	ck_assert_int_eq(rlisten(listener, 2), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	client = connect_without_more(&limit);
	while (!ready_for(listener, POLLIN)) {
		if (!ready_for(client, POLLOUT) || ready_for(listener, POLLIN))
			continue;
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		ck_assert_int_eq(rclose(client), 0);
		client = connect_without_more(&limit);
	}
	ck_assert_int_eq(raccept(listener, NULL, NULL), -1);
	ck_assert_int_eq(errno, EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(ready_for(listener, POLLIN), 0);
	ck_assert_int_eq(raccept(listener, NULL, NULL), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(rclose(client), 0);
	client = client_of(PORT);
	ck_assert_int_ge(raccept(listener, NULL, NULL), 0);
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

START_TEST(a_listener_that_closes_ends_the_connections_that_it_did_not_take)
{
	int listener = listener_at(PORT, 2), client = client_of(PORT);
	char byte;

	ck_assert_int_eq(rclose(listener), 0);
	ck_assert_int_eq(rrecv(client, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	ck_assert_int_eq(rclose(client), 0);
	listener = listener_at(PORT, 2); /* the port is free */
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

static void *accept_blocked(void *listener)
{
	static int err;

	__atomic_store_n(&sleeper, gettid(), __ATOMIC_RELEASE);
	err = raccept(*(int *)listener, NULL, NULL) < 0 ? errno : 0;
	return &err;
}

START_TEST(raccept_ends_when_its_listener_is_closed)
{
	int listener = listener_at(PORT, 2);
	pthread_t thread;
	void *err;

	ck_assert_int_eq(pthread_create(&thread, NULL, accept_blocked, &listener), 0);
	until_thread_asleep(&sleeper);
	ck_assert_int_eq(rclose(listener), 0);
	ck_assert_int_eq(pthread_join(thread, &err), 0);
	ck_assert_int_eq(*(int *)err, EBADF);
}
END_TEST

/* ---- steps that fail ---- */

START_TEST(an_accept_that_fails_is_told_and_leaves_nothing)
{
	int listener, client = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), next, err = 0;
	socklen_t size = sizeof(err);

	setenv("DATSIM_FAULTS", "line=1 spoil=fail api=verbs call=rdma_accept error=12 nth=1;", 1);
	listener = listener_at(PORT, 2);
	ck_assert_int_eq(rconnect(client, at(PORT), sizeof(struct sockaddr_in)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	next = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(rclose(next), 0);
	ck_assert_int_eq(raccept(listener, NULL, NULL), -1);
	ck_assert_int_eq(errno, ECONNABORTED);
	ck_assert_int_eq(rsocket(AF_INET, SOCK_STREAM, 0), next);
	ck_assert_int_eq(rclose(next), 0);
	while (!ready_for(client, POLLOUT))
		;
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	ck_assert_int_eq(err, ECONNREFUSED);
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

static const struct {
	const char *faults;
	int err;
} steps[] = {
	{ "line=1 spoil=fail api=verbs call=rdma_resolve_addr error=12 nth=1;", ENOMEM },
	{ "line=1 spoil=fail api=verbs call=rdma_resolve_route error=12 nth=1;", ENOMEM },
	{ "line=1 spoil=fail api=verbs call=rdma_create_qp error=12 nth=1;", ENOMEM },
	{ "line=1 spoil=fail api=verbs call=rdma_connect error=12 nth=1;", ENOMEM },
};

START_TEST(a_connect_fails_by_the_step_that_fails_and_may_be_repeated)
{
	int listener, client = rsocket(AF_INET, SOCK_STREAM, 0);

	setenv("DATSIM_FAULTS", steps[_i].faults, 1);
	listener = listener_at(PORT, 2);
	ck_assert_int_eq(rconnect(client, at(PORT), sizeof(struct sockaddr_in)), -1);
	ck_assert_int_eq(errno, steps[_i].err);
	ck_assert_int_eq(rconnect(client, at(PORT), sizeof(struct sockaddr_in)), 0);
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

/* Against the rules, the program has closed the descriptor itself. */
START_TEST(a_listener_whose_number_another_rsocket_has_is_gone)
{
	int listener = listener_at(PORT, 2), other, client, server;

	ck_assert_int_eq(close(listener), 0);
	other = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(other, listener);
	listener = listener_at(PORT, 2); /* the port is free */
	client = client_of(PORT);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(rclose(client), 0);
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(listener), 0);
	ck_assert_int_eq(rclose(other), 0);
}
END_TEST

/* The first descriptor is made by then. */
START_TEST(an_rsocket_that_fails_leaves_no_descriptor)
{
	int first = rsocket(AF_INET, SOCK_STREAM, 0), next;
	struct rlimit limit;

	ck_assert_int_ge(first, 0);
	ck_assert_int_eq(rclose(first), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (rlim_t most = (rlim_t)first; most < (rlim_t)first + 2; most++) {
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ most, limit.rlim_max }),
				 0);
		ck_assert_int_eq(rsocket(AF_INET, SOCK_STREAM, 0), -1);
		ck_assert_int_eq(errno, EMFILE);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	next = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(next, first);
	ck_assert_int_eq(rclose(next), 0);
}
END_TEST

/* ---- between processes ---- */

static void setup_shared(void)
{
	runtime_begin("listen");
	setenv("DATSIM_FABRIC", "listen", 1);
}

/* A process that connects, writes a byte there, and stays until the peer ends the stream. */
static pid_t connect_from_another(uint16_t port, int told)
{
	pid_t child = fork();
	char byte;
	int fd;

	ck_assert_int_ge(child, 0);
	if (child > 0)
		return child;
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || rconnect(fd, at(port), sizeof(struct sockaddr_in)))
		_exit(1);
	if (write(told, "c", 1) != 1)
		_exit(2);
	if (rsend(fd, early, sizeof(early), 0) != sizeof(early) || rrecv(fd, &byte, 1, 0))
		_exit(3);
	_exit(rclose(fd) ? 4 : 0);
}

static void expect_well(pid_t child)
{
	int status;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

static void *receive(void *fd)
{
	char byte;

	expect(*(int *)fd, early, sizeof(early));
	__atomic_store_n(&sleeper, gettid(), __ATOMIC_RELEASE);
	ck_assert_int_eq(rrecv(*(int *)fd, &byte, 1, 0), 0);
	return NULL;
}

/*
 * A thread sleeps for one rsocket while another one begins to listen. No thread is in raccept, and
 * yet a client is connected: the one that sleeps has accepted it.
 */
START_TEST(whoever_sleeps_for_an_rsocket_accepts_for_the_others)
{
	int first = listener_at(PORT, 2), second, server, other, ends[2];
	pthread_t thread;
	pid_t near, far;
	char byte;

	ck_assert_int_eq(pipe(ends), 0);
	near = connect_from_another(PORT, ends[1]);
	server = raccept(first, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, receive, &server), 0);
	until_thread_asleep(&sleeper);
	second = listener_at(PORT + 1, 2);
	far = connect_from_another(PORT + 1, ends[1]);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	other = raccept(second, NULL, NULL);
	ck_assert_int_ge(other, 0);
	expect(other, early, sizeof(early));
	ck_assert_int_eq(rclose(other), 0);
	expect_well(far);
	ck_assert_int_eq(rshutdown(server, SHUT_WR), 0);
	expect_well(near);
	pthread_join(thread, NULL);
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(first), 0);
	ck_assert_int_eq(rclose(second), 0);
	close(ends[0]);
	close(ends[1]);
	runtime_end_any();
}
END_TEST

static void *receive_end(void *fd)
{
	char byte;

	__atomic_store_n(&sleeper, gettid(), __ATOMIC_RELEASE);
	ck_assert_int_eq(rrecv(*(int *)fd, &byte, 1, 0), 0);
	return NULL;
}

/* The thread that sleeps, for another rsocket, has a reference to the listener. */
START_TEST(a_listener_that_closes_ends_them_though_a_thread_sleeps_for_its_requests)
{
	int listener = listener_at(PORT, 2), first = client_of(PORT), second, server;
	pthread_t thread;
	char byte;

	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, receive_end, &server), 0);
	until_thread_asleep(&sleeper);
	second = client_of(PORT);
	ck_assert_int_eq(rclose(listener), 0);
	listener = listener_at(PORT, 2); /* the port is free */
	ck_assert_int_eq(rclose(listener), 0);
	ck_assert_int_eq(rrecv(second, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	ck_assert_int_eq(rshutdown(first, SHUT_WR), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(rclose(second), 0);
	ck_assert_int_eq(rclose(first), 0);
	ck_assert_int_eq(rclose(server), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_connection_is_made_before_the_listener_takes_it, 1, NULL);
	unit_add(suite, connections_are_taken_in_the_order_of_their_requests, 1, NULL);
	unit_add(suite, a_listener_accepts_128_connections_by_itself, 1, NULL);
	unit_add(suite, a_listener_tells_once_that_it_could_not_accept, 1, NULL);
	unit_add(suite, a_listener_that_closes_ends_the_connections_that_it_did_not_take, 1, NULL);
	unit_add(suite, a_listener_that_closes_ends_them_though_a_thread_sleeps_for_its_requests, 1,
		 NULL);
	unit_add(suite, raccept_ends_when_its_listener_is_closed, 1, NULL);
	unit_add(suite, an_accept_that_fails_is_told_and_leaves_nothing, 1, NULL);
	unit_add(suite, a_connect_fails_by_the_step_that_fails_and_may_be_repeated, 4, NULL);
	unit_add(suite, a_listener_whose_number_another_rsocket_has_is_gone, 1, NULL);
	unit_add(suite, an_rsocket_that_fails_leaves_no_descriptor, 1, NULL);
	unit_add(suite, whoever_sleeps_for_an_rsocket_accepts_for_the_others, 1, setup_shared);
}

UNIT_SUITE_OF_PROCESSES("rsocket_listen")
