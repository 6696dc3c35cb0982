/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rsockets, used as a program uses sockets: connections, streams, their ends, waiting, refusals.
 * The server is at emu1, the client at emu0, both in this process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/support.h"

#define THERE "198.18.0.2"
#define PORT  7471
#define LARGE (1 << 20)
#define SOON  10000 /* ms: as long as a test may take, and longer than any wait here */

static int listener, client, server;
static uint8_t out[LARGE], in[LARGE];

static struct sockaddr_in in_address(const char *ip, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, ip, &addr.sin_addr), 1);
	return addr;
}

#define REFUSED(call, why)                      \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq(call, -1);     \
		ck_assert_int_eq(errno, (why)); \
	} while (0)

static void unblock(int fd)
{
	ck_assert_int_eq(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static void block(int fd)
{
	ck_assert_int_eq(rfcntl(fd, F_SETFL, 0), 0);
}

/* Wait for these events; what comes. */
static int events_of(int fd, short events, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int n = rpoll(&pfd, 1, ms);

	ck_assert_int_eq(n, pfd.revents != 0);
	return pfd.revents;
}

static void begin(void)
{
	struct sockaddr_in addr = in_address(THERE, PORT);

	for (int i = 0; i < LARGE; i++)
		out[i] = (uint8_t)(i * 7 + i / 251);
	memset(in, 0, sizeof(in));
	server = -1;
	listener = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(rbind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(rlisten(listener, 2), 0);
	client = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(client, 0);
	unblock(client);
}

static void ask(void)
{
	struct sockaddr_in addr = in_address(THERE, PORT);

	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
}

/* The listener blocks; the client does not until it is connected. */
static void connect_both(void)
{
	int err = -1;
	socklen_t size = sizeof(err);

	ask();
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	ck_assert_int_eq(err, 0);
	block(client);
	ck_assert_int_eq(events_of(server, POLLOUT, SOON), POLLOUT);
}

static void end(void)
{
	if (client >= 0)
		ck_assert_int_eq(rclose(client), 0);
	if (server >= 0)
		ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(listener), 0);
}

static void send_text(int fd, const char *text)
{
	ck_assert_int_eq(rsend(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void expect_text(int fd, const char *text)
{
	char got[64] = "";

	ck_assert_int_eq(rrecv(fd, got, strlen(text), MSG_WAITALL), (ssize_t)strlen(text));
	ck_assert_str_eq(got, text);
}

/* ---- connections ---- */

START_TEST(bytes_go_both_ways)
{
	begin();
	connect_both();
	send_text(client, "question");
	expect_text(server, "question");
	send_text(server, "answer");
	expect_text(client, "answer");
	end();
}
END_TEST

START_TEST(both_ends_know_their_addresses)
{
	struct sockaddr_in own, peer, far;
	socklen_t size = sizeof(own);

	begin();
	ask();
	server = raccept(listener, (struct sockaddr *)&far, &size);
	ck_assert_int_ge(server, 0);
	ck_assert_uint_eq(size, sizeof(far));
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	ck_assert_int_eq(rgetsockname(client, (struct sockaddr *)&own, &size), 0);
	ck_assert_uint_eq(own.sin_port, far.sin_port);
	ck_assert_uint_eq(own.sin_addr.s_addr, far.sin_addr.s_addr);
	ck_assert_int_eq(rgetpeername(client, (struct sockaddr *)&peer, &size), 0);
	ck_assert_uint_eq(peer.sin_port, htons(PORT));
	ck_assert_int_eq(rgetsockname(server, (struct sockaddr *)&own, &size), 0);
	ck_assert_uint_eq(own.sin_addr.s_addr, peer.sin_addr.s_addr);
	size = 2;
	ck_assert_int_eq(rgetpeername(server, (struct sockaddr *)&peer, &size), 0);
	ck_assert_uint_eq(size, sizeof(peer));
	/* librspreload.so asks so for the family. */
	size = 0;
	ck_assert_int_eq(rgetsockname(server, NULL, &size), 0);
	ck_assert_uint_eq(size, sizeof(peer));
	size = 0;
	ck_assert_int_eq(rgetpeername(client, NULL, &size), 0);
	ck_assert_uint_eq(size, sizeof(peer));
	end();
}
END_TEST

START_TEST(a_port_without_a_listener_refuses_and_another_connect_may_follow)
{
	struct sockaddr_in addr = in_address(THERE, PORT + 1);
	int err = 0;
	socklen_t size = sizeof(err);

	begin();
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	ck_assert_int_eq(events_of(client, POLLIN | POLLOUT, SOON),
			 POLLIN | POLLOUT | POLLERR | POLLHUP);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	ck_assert_int_eq(err, ECONNREFUSED);
	REFUSED(rsend(client, "x", 1, 0), ENOTCONN);
	block(client);
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), ECONNREFUSED);
	unblock(client);
	connect_both();
	send_text(client, "at last");
	expect_text(server, "at last");
	end();
}
END_TEST

START_TEST(a_peer_that_is_no_rsocket_is_rejected)
{
	struct sockaddr_in addr = in_address(THERE, PORT);
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .private_data = "stranger", .private_data_len = 8 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	begin();
	unblock(listener);
	ck_assert_int_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
		ck_assert_int_eq(rdma_ack_cm_event(event), 0);
		if (i == 0)
			ck_assert_int_eq(rdma_resolve_route(id, 1000), 0);
	}
	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	ck_assert_int_eq(rdma_connect(id, &param), 0);
	ck_assert_int_eq(events_of(listener, POLLIN, SOON), 0);
	REFUSED(raccept(listener, NULL, NULL), EAGAIN);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq((int)event->event, (int)RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	rdma_destroy_qp(id);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	end();
}
END_TEST

/* ---- the stream ---- */

/* Both ends in one thread: what one can send the other takes. */
static void stream(int from, int to, size_t size, size_t piece, size_t taken)
{
	size_t sent = 0, got = 0;
	ssize_t n;

	while (got < size) {
		n = rsend(from, out + sent, size - sent < piece ? size - sent : piece,
			  MSG_DONTWAIT);
		if (n < 0)
			ck_assert_int_eq(errno, EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		n = rrecv(to, in + got, size - got < taken ? size - got : taken, MSG_DONTWAIT);
		if (n < 0)
			ck_assert_int_eq(errno, EAGAIN);
		got += n > 0 ? (size_t)n : 0;
	}
	ck_assert_int_eq(memcmp(in, out, size), 0);
	memset(in, 0, size);
}

START_TEST(data_arrives_in_order_whatever_the_sizes)
{
	begin();
	connect_both();
	stream(client, server, LARGE / 4, LARGE, LARGE);
	stream(server, client, 10000, 1, 4096);
	stream(client, server, 10000, 4096, 1);
	stream(client, server, 100000, 3001, 777);
	end();
}
END_TEST

START_TEST(the_smallest_queues_and_buffers_are_enough)
{
	const int least = 1, flags[] = { SO_SNDBUF, SO_RCVBUF };
	int value;
	socklen_t size = sizeof(value);

	begin();
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rsetsockopt(client, SOL_SOCKET, flags[i], &least, sizeof(int)), 0);
		ck_assert_int_eq(rsetsockopt(listener, SOL_SOCKET, flags[i], &least, sizeof(int)),
				 0);
		ck_assert_int_eq(rsetsockopt(client, SOL_RDMA, i ? RDMA_SQSIZE : RDMA_RQSIZE,
					     &least, sizeof(int)),
				 0);
		ck_assert_int_eq(rsetsockopt(listener, SOL_RDMA, i ? RDMA_SQSIZE : RDMA_RQSIZE,
					     &least, sizeof(int)),
				 0);
	}
	ck_assert_int_eq(rgetsockopt(client, SOL_RDMA, RDMA_RQSIZE, &value, &size), 0);
	ck_assert_int_eq(value, 4);
	connect_both();
	REFUSED(rsetsockopt(client, SOL_RDMA, RDMA_RQSIZE, &value, sizeof(value)), EINVAL);
	stream(client, server, 200000, 5000, 5000);
	stream(server, client, 20000, 1, 5000);
	end();
}
END_TEST

/* Each side has sent all that the other's slots take; then both go on. */
START_TEST(two_sides_that_are_full_go_on_when_one_reads)
{
	size_t sent[2] = { 0 }, got[2] = { 0 };
	int fd[2];
	ssize_t n;

	begin();
	connect_both();
	fd[0] = client;
	fd[1] = server;
	for (int i = 0; i < 2; i++) {
		while ((n = rsend(fd[i], out + sent[i], 1000, MSG_DONTWAIT)) > 0)
			sent[i] += (size_t)n;
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert_int_eq(events_of(fd[i], POLLOUT, 0), 0);
	}
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 2; i++) {
			while (got[i] < sent[!i]) {
				n = rrecv(fd[i], in, sent[!i] - got[i], 0);
				ck_assert_int_gt(n, 0);
				ck_assert_int_eq(memcmp(in, out + got[i], (size_t)n), 0);
				got[i] += (size_t)n;
			}
			ck_assert_int_eq(events_of(fd[!i], POLLOUT, SOON), POLLOUT);
			n = rsend(fd[!i], out + sent[!i], 1000, 0);
			ck_assert_int_eq(n, 1000);
			sent[!i] += 1000;
		}
	}
	end();
}
END_TEST

START_TEST(what_is_peeked_at_stays)
{
	char got[16] = "";

	begin();
	connect_both();
	send_text(client, "one");
	send_text(client, "two");
	ck_assert_int_eq(rrecv(server, got, 2, MSG_WAITALL), 2);
	while (rrecv(server, got, sizeof(got), MSG_PEEK) != 4)
		;
	ck_assert_int_eq(memcmp(got, "etwo", 4), 0);
	expect_text(server, "etwo");
	REFUSED(rrecv(server, got, 1, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
	end();
}
END_TEST

START_TEST(buffers_are_gathered_and_scattered)
{
	char a[3], b[4], abc[] = "abc", defg[] = "defg";
	struct iovec from[] = { { abc, 3 }, { NULL, 0 }, { defg, 4 } };
	struct iovec to[] = { { a, sizeof(a) }, { b, sizeof(b) } };
	struct msghdr message = { .msg_iov = to, .msg_iovlen = 2 };

	begin();
	connect_both();
	ck_assert_int_eq(rwritev(client, from, 3), 7);
	ck_assert_int_eq(rrecvmsg(server, &message, MSG_WAITALL), 7);
	ck_assert_int_eq(memcmp(a, "abc", 3), 0);
	ck_assert_int_eq(memcmp(b, "defg", 4), 0);
	message.msg_iov = from;
	message.msg_iovlen = 3;
	ck_assert_int_eq(rsendmsg(server, &message, 0), 7);
	ck_assert_int_eq(rreadv(client, to, 2), 7);
	ck_assert_int_eq(memcmp(b, "defg", 4), 0);
	end();
}
END_TEST

/* ---- the end ---- */

START_TEST(a_shut_stream_ends_and_the_other_one_goes_on)
{
	begin();
	connect_both();
	send_text(client, "last");
	ck_assert_int_eq(rshutdown(client, SHUT_WR), 0);
	REFUSED(rsend(client, "x", 1, 0), EPIPE);
	expect_text(server, "last");
	ck_assert_int_eq(rrecv(server, in, 1, 0), 0);
	ck_assert_int_eq(events_of(server, POLLIN | POLLRDHUP, SOON), POLLIN | POLLRDHUP);
	stream(server, client, 300000, 7000, 7000);
	end();
}
END_TEST

START_TEST(what_was_sent_before_a_close_is_read_after_it)
{
	begin();
	connect_both();
	ck_assert_int_eq(rsend(client, out, 50000, 0), 50000);
	ck_assert_int_eq(rclose(client), 0);
	client = -1;
	ck_assert_int_eq(rrecv(server, in, 50000, MSG_WAITALL), 50000);
	ck_assert_int_eq(memcmp(in, out, 50000), 0);
	ck_assert_int_eq(rrecv(server, in, 1, 0), 0);
	while (events_of(server, POLLIN, 0) != (POLLIN | POLLHUP))
		;
	REFUSED(rsend(server, "x", 1, 0), EPIPE);
	end();
}
END_TEST

START_TEST(a_close_without_lingering_resets)
{
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };
	struct linger linger;
	socklen_t size = sizeof(linger);

	begin();
	connect_both();
	ck_assert_int_eq(rsetsockopt(client, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_LINGER, &linger, &size), 0);
	ck_assert_int_eq(linger.l_onoff, 1);
	ck_assert_int_eq(rclose(client), 0);
	client = -1;
	REFUSED(rrecv(server, in, 1, 0), ECONNRESET);
	ck_assert_int_eq(events_of(server, POLLIN, SOON), POLLIN | POLLERR | POLLHUP);
	REFUSED(rsend(server, "x", 1, 0), ECONNRESET);
	end();
}
END_TEST

/* ---- waiting ---- */

static void *send_later(void *text)
{
	/* By now the other thread waits, or will find the data: both are fine. */
	send_text(client, text);
	return NULL;
}

START_TEST(a_blocked_reader_and_a_writer_share_an_rsocket)
{
	pthread_t reader;
	char text[] = "from a thread";

	begin();
	connect_both();
	ck_assert_int_eq(pthread_create(&reader, NULL, send_later, text), 0);
	expect_text(server, text);
	ck_assert_int_eq(pthread_join(reader, NULL), 0);
	end();
}
END_TEST

#define ROUNDS 300

static void *echo_back(void *fd)
{
	char got;

	for (int i = 0; i < ROUNDS; i++) {
		if (rrecv(*(int *)fd, &got, 1, 0) != 1 || rsend(*(int *)fd, &got, 1, 0) != 1)
			return NULL;
	}
	return fd;
}

/* One thread sleeps until data comes, and another one handles the completion that it waits for. */
START_TEST(a_reader_is_woken_when_another_thread_handles_its_data)
{
	pthread_t reader;
	void *ended;
	int fd;

	begin();
	connect_both();
	fd = server;
	ck_assert_int_eq(pthread_create(&reader, NULL, echo_back, &fd), 0);
	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(rsend(client, &out[i], 1, 0), 1);
		while (rrecv(client, in, 1, MSG_DONTWAIT) != 1) {
			ck_assert_int_eq(errno, EAGAIN);
			events_of(server, POLLIN, 0);
		}
		ck_assert_uint_eq(in[0], out[i]);
	}
	ck_assert_int_eq(pthread_join(reader, &ended), 0);
	ck_assert_ptr_eq(ended, &fd);
	end();
}
END_TEST

struct reading {
	int fd;
	ssize_t result;
};

static void *read_blocked(void *arg)
{
	struct reading *r = arg;
	char got;

	if (rrecv(r->fd, &got, 1, 0) == 1 && rsend(r->fd, &got, 1, 0) == 1)
		r->result = rrecv(r->fd, &got, 1, 0);
	return NULL;
}

START_TEST(a_reader_is_woken_when_its_rsocket_is_closed)
{
	struct reading reading = { .result = 1 };
	pthread_t reader;

	begin();
	connect_both();
	reading.fd = server;
	ck_assert_int_eq(pthread_create(&reader, NULL, read_blocked, &reading), 0);
	send_text(client, "x");
	expect_text(client, "x");
	ck_assert_int_eq(rclose(server), 0);
	server = -1;
	ck_assert_int_eq(pthread_join(reader, NULL), 0);
	ck_assert_int_eq(reading.result, -1);
	end();
}
END_TEST

#define THREAD_PATH 48 /* 4194304/task/4194304 */

/* A thread that polls the server */
struct polling {
	bool selects;
	sem_t begun;
	char thread[THREAD_PATH];
	int result, events;
};

/* Below /proc. Ids that a program sees in lockstep are not the kernel's. */
static void path_of_this_thread(char path[THREAD_PATH])
{
	ssize_t n = readlink("/proc/thread-self", path, THREAD_PATH - 1);

	path[n > 0 ? n : 0] = '\0';
}

static void *poll_blocked(void *arg)
{
	struct polling *p = arg;
	struct pollfd pfd = { .fd = server, .events = POLLIN };
	fd_set readers;

	FD_ZERO(&readers);
	FD_SET(server, &readers);
	path_of_this_thread(p->thread);
	sem_post(&p->begun);
	p->result = p->selects ? rselect(pfd.fd + 1, &readers, NULL, NULL, NULL)
			       : rpoll(&pfd, 1, -1);
	p->events = p->result < 0 ? errno : pfd.revents;
	return NULL;
}

static bool is_asleep(const char *thread)
{
	char path[THREAD_PATH + 16], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", thread);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

/* In lockstep the calls of rpoll let it go on. */
static void await_sleep(struct polling *p)
{
	while (sem_wait(&p->begun) != 0)
		;
	do
		events_of(client, POLLIN, 0);
	while (!is_asleep(p->thread));
}

START_TEST(a_poll_is_woken_when_its_rsocket_is_closed)
{
	struct polling polling = { .selects = _i > 0 };
	pthread_t poller;

	begin();
	connect_both();
	ck_assert_int_eq(sem_init(&polling.begun, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&poller, NULL, poll_blocked, &polling), 0);
	await_sleep(&polling);
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(pthread_join(poller, NULL), 0);
	server = -1;
	ck_assert_int_eq(polling.result, _i ? -1 : 1);
	ck_assert_int_eq(polling.events, _i ? EBADF : POLLNVAL);
	end();
}
END_TEST

START_TEST(rpoll_takes_other_descriptors_too)
{
	struct pollfd fds[3];
	int pipes[2];

	begin();
	connect_both();
	ck_assert_int_eq(pipe(pipes), 0);
	fds[0] = (struct pollfd){ .fd = server, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = -1, .events = POLLIN };
	ck_assert_int_eq(rpoll(fds, 3, 0), 0);
	ck_assert_int_eq(rpoll(fds, 3, 1), 0);
	ck_assert_int_eq(write(pipes[1], "x", 1), 1);
	ck_assert_int_eq(rpoll(fds, 3, -1), 1);
	ck_assert_int_eq(fds[0].revents, 0);
	ck_assert_int_eq(fds[1].revents, POLLIN);
	ck_assert_int_eq(read(pipes[0], in, 1), 1);
	send_text(client, "x");
	ck_assert_int_eq(rpoll(fds, 3, -1), 1);
	ck_assert_int_eq(fds[0].revents, POLLIN);
	ck_assert_int_eq(write(pipes[1], "x", 1), 1);
	ck_assert_int_eq(rpoll(fds, 3, -1), 2);
	close(pipes[0]);
	close(pipes[1]);
	ck_assert_int_eq(rpoll(fds, 2, -1), 2);
	ck_assert_int_eq(fds[1].revents, POLLNVAL);
	end();
}
END_TEST

/* A process outside the fabric writes while this thread sleeps: it wakes no thread in lockstep. */
START_TEST(a_poll_is_woken_by_what_another_process_writes)
{
	char poller[THREAD_PATH];
	struct pollfd fds[2];
	int pipes[2];

	begin();
	connect_both();
	ck_assert_int_eq(pipe(pipes), 0);
	fds[0] = (struct pollfd){ .fd = server, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	signal(SIGCHLD, SIG_IGN);
	path_of_this_thread(poller);
	if (fork() == 0) {
		while (!is_asleep(poller))
			sched_yield();
		_exit(syscall(SYS_write, pipes[1], "x", 1) != 1);
	}
	ck_assert_int_eq(rpoll(fds, 2, -1), 1);
	ck_assert_int_eq(fds[1].revents, POLLIN);
	signal(SIGCHLD, SIG_DFL);
	close(pipes[0]);
	close(pipes[1]);
	end();
}
END_TEST

START_TEST(rselect_does_what_rpoll_does)
{
	struct timeval none = { 0 };
	fd_set readers, writers;

	begin();
	connect_both();
	FD_ZERO(&readers);
	FD_ZERO(&writers);
	FD_SET(server, &readers);
	FD_SET(server, &writers);
	ck_assert_int_eq(rselect(server + 1, &readers, &writers, NULL, &none), 1);
	ck_assert(!FD_ISSET(server, &readers));
	ck_assert(FD_ISSET(server, &writers));
	send_text(client, "x");
	FD_SET(server, &readers);
	FD_CLR(server, &writers);
	ck_assert_int_eq(rselect(server + 1, &readers, &writers, NULL, NULL), 1);
	ck_assert(FD_ISSET(server, &readers));
	REFUSED(rselect(-1, NULL, NULL, NULL, NULL), EINVAL);
	REFUSED(rselect(FD_SETSIZE + 1, NULL, NULL, NULL, NULL), EINVAL);
	end();
}
END_TEST

/* A program that is told at once that it may write still gets to hear of what it may read. */
START_TEST(what_may_be_read_is_told_beside_what_may_be_written)
{
	begin();
	connect_both();
	send_text(client, "x");
	while (events_of(server, POLLIN | POLLOUT, SOON) != (POLLIN | POLLOUT))
		;
	expect_text(server, "x");
	ck_assert_int_eq(rclose(client), 0);
	client = -1;
	while (events_of(server, POLLIN | POLLOUT, SOON) != (POLLIN | POLLOUT | POLLHUP))
		;
	end();
}
END_TEST

START_TEST(a_forked_child_has_no_rsockets)
{
	int status;
	pid_t child;

	begin();
	connect_both();
	child = fork();
	if (child == 0) {
		/* At an exit, valgrind would look for what the parent still has. */
		if (rsend(server, "x", 1, 0) == -1 && errno == EBADF && rclose(client) == -1)
			raise(SIGKILL);
		_exit(1);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, SIGKILL);
	send_text(server, "parent");
	expect_text(client, "parent");
	end();
}
END_TEST

/* ---- riomap ---- */

static void allow_maps(int fd, int n)
{
	ck_assert_int_eq(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &n, sizeof(n)), 0);
}

START_TEST(riowrite_places_data_before_the_next_message)
{
	static uint8_t room[300000];

	begin();
	connect_both();
	REFUSED(riomap(server, room, sizeof(room), PROT_WRITE, 0, 0), ENOBUFS);
	allow_maps(server, 2);
	ck_assert_int_eq(riomap(server, room, sizeof(room), PROT_WRITE, 0, 4096), 4096);
	REFUSED(riomap(server, room, 1, PROT_WRITE, 0, 5000), EINVAL);
	send_text(server, "mapped");
	expect_text(client, "mapped");
	REFUSED((ssize_t)riowrite(client, out, 1, 0, 0), EFAULT);
	ck_assert_int_eq((ssize_t)riowrite(client, out, sizeof(room), 4096, 0), sizeof(room));
	send_text(client, "written");
	expect_text(server, "written");
	ck_assert_int_eq(memcmp(room, out, sizeof(room)), 0);
	/* It ends with the region. */
	ck_assert_int_eq((ssize_t)riowrite(client, out, 100, 4096 + sizeof(room) - 10, 0), 10);
	send_text(client, "the end");
	expect_text(server, "the end");
	ck_assert_int_eq(riounmap(server, room, sizeof(room)), 0);
	REFUSED(riounmap(server, room, sizeof(room)), EINVAL);
	send_text(server, "unmapped");
	expect_text(client, "unmapped");
	REFUSED((ssize_t)riowrite(client, out, 1, 4096, 0), EFAULT);
	end();
}
END_TEST

START_TEST(offsets_are_chosen_one_behind_the_other)
{
	static uint8_t room[2][100];

	begin();
	connect_both();
	allow_maps(client, 3);
	ck_assert_int_eq(riomap(client, room[0], 100, PROT_WRITE, 0, -1), 0);
	ck_assert_int_eq(riomap(client, room[1], 100, PROT_WRITE, 0, -1), 100);
	ck_assert_int_eq(riomap(client, in, 100, PROT_NONE, 0, -1), 200);
	REFUSED(riomap(client, in, 100, PROT_WRITE, 0, -1), ENOBUFS);
	send_text(client, "x");
	expect_text(server, "x");
	ck_assert_int_eq((ssize_t)riowrite(server, "abcd", 4, 98, 0), 4);
	REFUSED((ssize_t)riowrite(server, "abcd", 4, 200, 0), EFAULT);
	send_text(server, "x");
	expect_text(client, "x");
	ck_assert_int_eq(memcmp(room[0] + 98, "ab", 2), 0);
	ck_assert_int_eq(memcmp(room[1], "cd", 2), 0);
	end();
}
END_TEST

/* ---- refusals ---- */

START_TEST(only_streams_of_ip_are_made)
{
	int fd = rsocket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
	REFUSED(rfcntl(fd, F_DUPFD, 0), EOPNOTSUPP);
	ck_assert_int_eq(rclose(fd), 0);
	REFUSED(rclose(fd), EBADF);
	REFUSED(rsocket(AF_UNIX, SOCK_STREAM, 0), EAFNOSUPPORT);
	REFUSED(rsocket(AF_INET, SOCK_DGRAM, 0), ESOCKTNOSUPPORT);
	REFUSED(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
}
END_TEST

static void refuse_number(int fd)
{
	struct sockaddr_in addr = in_address(THERE, PORT);
	struct sockaddr *sa = (struct sockaddr *)&addr;
	socklen_t size = sizeof(addr);
	struct msghdr message = { .msg_iovlen = 0 };
	int value = 0;

	REFUSED(rbind(fd, sa, size), EBADF);
	REFUSED(rlisten(fd, 1), EBADF);
	REFUSED(raccept(fd, NULL, NULL), EBADF);
	REFUSED(rconnect(fd, sa, size), EBADF);
	REFUSED(rshutdown(fd, SHUT_RD), EBADF);
	REFUSED(rclose(fd), EBADF);
	REFUSED(rrecv(fd, in, 1, 0), EBADF);
	REFUSED(rrecvfrom(fd, in, 1, 0, sa, &size), EBADF);
	REFUSED(rrecvmsg(fd, &message, 0), EBADF);
	REFUSED(rread(fd, in, 1), EBADF);
	REFUSED(rreadv(fd, NULL, 0), EBADF);
	REFUSED(rsend(fd, out, 1, 0), EBADF);
	REFUSED(rsendto(fd, out, 1, 0, NULL, 0), EBADF);
	REFUSED(rsendmsg(fd, &message, 0), EBADF);
	REFUSED(rwrite(fd, out, 1), EBADF);
	REFUSED(rwritev(fd, NULL, 0), EBADF);
	REFUSED(rgetpeername(fd, sa, &size), EBADF);
	REFUSED(rgetsockname(fd, sa, &size), EBADF);
	REFUSED(rsetsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value)), EBADF);
	REFUSED(rgetsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size), EBADF);
	REFUSED(rfcntl(fd, F_GETFL), EBADF);
	REFUSED(riomap(fd, in, 1, PROT_WRITE, 0, 0), EBADF);
	REFUSED(riounmap(fd, in, 1), EBADF);
	REFUSED((ssize_t)riowrite(fd, out, 1, 0, 0), EBADF);
}

START_TEST(numbers_of_no_rsocket_are_refused)
{
	int closed = rsocket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(rclose(closed), 0);
	refuse_number(closed);
	refuse_number(-1);
	refuse_number(0);
	refuse_number(INT32_MAX);
}
END_TEST

START_TEST(wrong_states_are_refused)
{
	struct sockaddr_in addr = in_address(THERE, PORT);
	struct sockaddr *sa = (struct sockaddr *)&addr;
	socklen_t size = sizeof(addr);

	begin();
	REFUSED(rsend(client, out, 1, 0), ENOTCONN);
	REFUSED(rrecv(client, in, 1, 0), ENOTCONN);
	REFUSED(rshutdown(client, SHUT_WR), ENOTCONN);
	REFUSED(rgetpeername(client, sa, &size), ENOTCONN);
	REFUSED(riomap(client, in, 1, PROT_WRITE, 0, 0), ENOTCONN);
	REFUSED((ssize_t)riowrite(client, out, 1, 0, 0), ENOTCONN);
	REFUSED(raccept(client, NULL, NULL), EINVAL);
	REFUSED(rsend(listener, out, 1, 0), ENOTCONN);
	REFUSED(rbind(listener, sa, size), EINVAL);
	REFUSED(rconnect(listener, sa, size), EINVAL);
	ck_assert_int_eq(rlisten(listener, 1), 0);
	unblock(listener);
	REFUSED(raccept(listener, NULL, NULL), EAGAIN);
	block(listener);
	ask();
	REFUSED(rconnect(client, sa, size), EALREADY);
	REFUSED(rrecv(client, in, 1, 0), EAGAIN);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	REFUSED(rconnect(client, sa, size), EISCONN);
	REFUSED(rlisten(client, 1), EINVAL);
	REFUSED(rsendto(client, out, 1, 0, sa, size), EISCONN);
	end();
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	struct sockaddr_in addr = in_address(THERE, PORT);
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr *sa = (struct sockaddr *)&addr;
	struct iovec null = { .iov_len = 1 };
	struct iovec huge[2] = { { in, SSIZE_MAX }, { in, 1 } };
	struct msghdr control = { .msg_control = in, .msg_controllen = 8 };
	int value = 1;
	socklen_t size = sizeof(value), bad = (socklen_t)-1;

	begin();
	REFUSED(rconnect(client, NULL, sizeof(addr)), EFAULT);
	REFUSED(rconnect(client, sa, sizeof(addr) - 1), EINVAL);
	REFUSED(rconnect(client, sa, 1), EINVAL);
	REFUSED(rconnect(client, (struct sockaddr *)&six, sizeof(six)), EAFNOSUPPORT);
	REFUSED(rbind(client, NULL, 0), EFAULT);
	REFUSED(raccept(listener, sa, NULL), EFAULT);
	connect_both();
	REFUSED(rrecv(server, NULL, 1, 0), EFAULT);
	REFUSED(rsend(server, NULL, 1, 0), EFAULT);
	REFUSED(rsendmsg(server, NULL, 0), EFAULT);
	REFUSED(rrecvmsg(server, NULL, 0), EFAULT);
	REFUSED(rsendmsg(server, &control, 0), EOPNOTSUPP);
	REFUSED(rwritev(server, &null, 1), EFAULT);
	REFUSED(rwritev(server, NULL, 1), EFAULT);
	REFUSED(rreadv(server, huge, 2), EINVAL);
	REFUSED(rreadv(server, huge, -1), EINVAL);
	REFUSED(rsend(server, out, 1, MSG_OOB), EOPNOTSUPP);
	REFUSED(rrecv(server, in, 1, MSG_OOB), EOPNOTSUPP);
	REFUSED(rrecvfrom(server, in, 1, 0, sa, NULL), EFAULT);
	REFUSED(rshutdown(server, 3), EINVAL);
	REFUSED(rgetsockname(server, NULL, &size), EFAULT);
	REFUSED(rgetsockname(server, NULL, NULL), EFAULT);
	REFUSED(rgetpeername(server, NULL, &size), EFAULT);
	REFUSED(rgetsockname(server, sa, &bad), EINVAL);
	REFUSED(rsetsockopt(server, SOL_SOCKET, SO_KEEPALIVE, NULL, size), EFAULT);
	REFUSED(rsetsockopt(server, SOL_SOCKET, SO_KEEPALIVE, &value, 1), EINVAL);
	REFUSED(rsetsockopt(server, SOL_SOCKET, SO_BROADCAST, &value, size), ENOTSUP);
	REFUSED(rsetsockopt(server, SOL_RDMA, RDMA_ROUTE, &value, size), EINVAL);
	REFUSED(rgetsockopt(server, SOL_RDMA, 99, &value, &size), ENOTSUP);
	REFUSED(rgetsockopt(server, SOL_SOCKET, SO_TYPE, &value, NULL), EFAULT);
	allow_maps(server, 1);
	REFUSED(riomap(server, NULL, 1, PROT_WRITE, 0, 0), EFAULT);
	REFUSED(riomap(server, in, 1, PROT_EXEC, 0, 0), EINVAL);
	REFUSED(riomap(server, in, 1, PROT_WRITE, 1, 0), EINVAL);
	REFUSED(riomap(server, in, 0, PROT_WRITE, 0, 0), EINVAL);
	REFUSED(riomap(server, in, 1, PROT_WRITE, 0, -2), EINVAL);
	REFUSED((ssize_t)riowrite(server, NULL, 1, 0, 0), EFAULT);
	REFUSED((ssize_t)riowrite(server, out, 1, -1, 0), EINVAL);
	REFUSED(rpoll(NULL, 1, 0), EFAULT);
	end();
}
END_TEST

static int int_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	ck_assert_int_eq(rgetsockopt(fd, level, name, &value, &size), 0);
	ck_assert_uint_eq(size, sizeof(value));
	return value;
}

START_TEST(options_are_as_they_were_set)
{
	const int three = 3, none = 0, negative = -1;

	begin();
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_DOMAIN), AF_INET);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_ACCEPTCONN), 0);
	ck_assert_int_eq(int_option(listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
	ck_assert_int_eq(int_option(client, IPPROTO_TCP, TCP_NODELAY), 0);
	ck_assert_int_eq(rsetsockopt(client, IPPROTO_TCP, TCP_NODELAY, &three, sizeof(three)), 0);
	ck_assert_int_eq(int_option(client, IPPROTO_TCP, TCP_NODELAY), 1);
	ck_assert_int_eq(rsetsockopt(client, IPPROTO_TCP, TCP_KEEPIDLE, &three, sizeof(three)), 0);
	ck_assert_int_eq(int_option(client, IPPROTO_TCP, TCP_KEEPIDLE), 3);
	ck_assert_int_eq(rsetsockopt(listener, SOL_RDMA, RDMA_IOMAPSIZE, &three, sizeof(three)), 0);
	ck_assert_int_eq(rsetsockopt(client, SOL_RDMA, RDMA_INLINE, &none, sizeof(none)), 0);
	ck_assert_int_eq(int_option(client, SOL_RDMA, RDMA_INLINE), 0);
	REFUSED(rsetsockopt(client, SOL_RDMA, RDMA_INLINE, &negative, sizeof(negative)), EINVAL);
	connect_both();
	ck_assert_int_eq(int_option(server, SOL_RDMA, RDMA_IOMAPSIZE), 3);
	ck_assert_int_ge(int_option(server, IPPROTO_TCP, TCP_MAXSEG), 1024);
	end();
}
END_TEST

/* A client of HTTP sets all of these, and a server of Python closes what it cannot flag. */
START_TEST(what_a_program_sets_without_effect_is_kept)
{
	const int three = 3, most = 127;
	int fd = rsocket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(rfcntl(fd, F_SETFD, 0), 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFD), 0);
	ck_assert_int_eq(rfcntl(fd, F_SETFD, FD_CLOEXEC), 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(rfcntl(fd, F_GETFL), O_RDWR);
	ck_assert_int_eq(rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &three, sizeof(three)), 0);
	ck_assert_int_eq(int_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 3);
	ck_assert_int_eq(rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof(most)), 0);
	ck_assert_int_eq(int_option(fd, IPPROTO_TCP, TCP_KEEPCNT), 127);
	ck_assert_int_eq(rsetsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &most, sizeof(most)), 0);
	REFUSED(rsetsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &most, 1), EINVAL);
	ck_assert_int_eq(rclose(fd), 0);
}
END_TEST

/* Programs of sockets ask for these: iperf for the congestion control and the window. */
START_TEST(options_of_tcp_answer_as_the_real_library_does)
{
	const uint8_t tos = 0x28;
	const int wide = tos;
	struct tcp_info info;
	socklen_t size = sizeof(info);
	int name = 0;

	begin();
	REFUSED(rsetsockopt(client, IPPROTO_IP, IP_TOS, &wide, sizeof(wide)), EINVAL);
	ck_assert_int_eq(rsetsockopt(client, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
	ck_assert_int_eq(int_option(client, IPPROTO_IP, IP_TOS), 0x28);
	ck_assert_int_eq(rsetsockopt(client, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5), 0);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_BROADCAST), 0);
	ck_assert_int_eq(rgetsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
	ck_assert_uint_eq(info.tcpi_state, TCP_CLOSE);
	connect_both();
	ck_assert_int_eq(rgetsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
	ck_assert_uint_eq(size, sizeof(info));
	ck_assert_uint_eq(info.tcpi_state, TCP_ESTABLISHED);
	ck_assert_uint_eq(info.tcpi_snd_cwnd, 64);
	size = 16;
	ck_assert_int_eq(rgetsockopt(client, IPPROTO_TCP, TCP_CONGESTION, &name, &size), 0);
	ck_assert_int_eq(name, 1);
	ck_assert_uint_eq(size, 16);
	end();
}
END_TEST

START_TEST(many_rsockets_come_and_go)
{
	int fds[200];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++) {
			fds[i] = rsocket(AF_INET, SOCK_STREAM, 0);
			ck_assert_int_ge(fds[i], 0);
		}
		for (int i = 0; i < 200; i++)
			ck_assert_int_eq(rclose(fds[i]), 0);
	}
	/* A number that the program closed by itself is that of another rsocket. */
	fds[0] = rsocket(AF_INET, SOCK_STREAM, 0);
	close(fds[0]);
	fds[1] = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(fds[0], fds[1]);
	ck_assert_int_eq(rclose(fds[1]), 0);
	REFUSED(rclose(fds[1]), EBADF);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, bytes_go_both_ways, 1, NULL);
	unit_add(suite, both_ends_know_their_addresses, 1, NULL);
	unit_add(suite, a_port_without_a_listener_refuses_and_another_connect_may_follow, 1, NULL);
	unit_add(suite, a_peer_that_is_no_rsocket_is_rejected, 1, NULL);
	unit_add(suite, data_arrives_in_order_whatever_the_sizes, 1, NULL);
	unit_add(suite, the_smallest_queues_and_buffers_are_enough, 1, NULL);
	unit_add(suite, two_sides_that_are_full_go_on_when_one_reads, 1, NULL);
	unit_add(suite, what_is_peeked_at_stays, 1, NULL);
	unit_add(suite, buffers_are_gathered_and_scattered, 1, NULL);
	unit_add(suite, a_shut_stream_ends_and_the_other_one_goes_on, 1, NULL);
	unit_add(suite, what_was_sent_before_a_close_is_read_after_it, 1, NULL);
	unit_add(suite, a_close_without_lingering_resets, 1, NULL);
	unit_add(suite, a_blocked_reader_and_a_writer_share_an_rsocket, 1, NULL);
	unit_add(suite, a_reader_is_woken_when_another_thread_handles_its_data, 1, NULL);
	unit_add(suite, a_reader_is_woken_when_its_rsocket_is_closed, 1, NULL);
	unit_add(suite, a_poll_is_woken_when_its_rsocket_is_closed, 2, NULL);
	unit_add(suite, rpoll_takes_other_descriptors_too, 1, NULL);
	unit_add(suite, a_poll_is_woken_by_what_another_process_writes, 1, NULL);
	unit_add(suite, rselect_does_what_rpoll_does, 1, NULL);
	unit_add(suite, what_may_be_read_is_told_beside_what_may_be_written, 1, NULL);
	unit_add(suite, a_forked_child_has_no_rsockets, 1, NULL);
	unit_add(suite, riowrite_places_data_before_the_next_message, 1, NULL);
	unit_add(suite, offsets_are_chosen_one_behind_the_other, 1, NULL);
	unit_add(suite, only_streams_of_ip_are_made, 1, NULL);
	unit_add(suite, numbers_of_no_rsocket_are_refused, 1, NULL);
	unit_add(suite, wrong_states_are_refused, 1, NULL);
	unit_add(suite, bad_arguments_are_refused, 1, NULL);
	unit_add(suite, options_are_as_they_were_set, 1, NULL);
	unit_add(suite, what_a_program_sets_without_effect_is_kept, 1, NULL);
	unit_add(suite, options_of_tcp_answer_as_the_real_library_does, 1, NULL);
	unit_add(suite, many_rsockets_come_and_go, 1, NULL);
}

UNIT_SUITE("rsocket")
