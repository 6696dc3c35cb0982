/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of rsockets that wait, and what ends the wait; a process that forks. */
#include "rsocket_pair.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The attempt of another one lets time pass, in which the client's request arrives. */
static void let_request_arrive(void)
{
	struct sockaddr_in nowhere = in_address(THERE, PORT + 1);
	int other = rsocket(AF_INET, SOCK_STREAM, 0);

	unblock(other);
	REFUSED(rconnect(other, (struct sockaddr *)&nowhere, sizeof(nowhere)), EINPROGRESS);
	ck_assert_int_eq(rclose(other), 0);
}

/* The word of that comes after the answer. */
START_TEST(a_client_that_has_gone_as_it_is_accepted_ends_a_wait)
{
	begin();
	ask();
	let_request_arrive();
	ck_assert_int_eq(rclose(client), 0);
	client = -1;
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	REFUSED(rrecv(server, in, 1, 0), ECONNRESET);
	ck_assert_int_eq(events_of(server, POLLIN, SOON), POLLIN | POLLERR | POLLHUP);
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

static void *write_blocked(void *arg)
{
	struct polling *p = arg;

	path_of_this_thread(p->thread);
	sem_post(&p->begun);
	p->result = (int)rsend(client, out, LARGE, 0);
	return NULL;
}

/* More than there are buffers for: the thread sleeps before the peer reads. */
START_TEST(a_writer_waits_until_all_is_sent)
{
	struct polling writing = { .result = 0 };
	pthread_t writer;

	begin();
	connect_both();
	ck_assert_int_eq(sem_init(&writing.begun, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_blocked, &writing), 0);
	while (sem_wait(&writing.begun) != 0)
		;
	do
		events_of(server, POLLOUT, 0);
	while (!is_asleep(writing.thread));
	ck_assert_int_eq(rrecv(server, in, LARGE, MSG_WAITALL), LARGE);
	ck_assert_int_eq(pthread_join(writer, NULL), 0);
	ck_assert_int_eq(writing.result, LARGE);
	ck_assert_int_eq(memcmp(in, out, LARGE), 0);
	end();
}
END_TEST

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

/* rpoll still reports POLLIN where it returns at once for POLLOUT. */
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

START_TEST(an_address_that_nobody_has_times_out)
{
	struct sockaddr_in addr = in_address("198.18.0.99", PORT);

	begin();
	block(client);
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), ETIMEDOUT);
	end();
}
END_TEST

/* The wait for an answer was one for completions of other queues. */
START_TEST(a_reader_is_woken_on_a_second_connection)
{
	struct sockaddr_in addr = in_address(THERE, PORT + 1);

	begin();
	block(client);
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), ECONNREFUSED);
	unblock(client);
	connect_both();
	send_text(server, "answer");
	expect_text(client, "answer");
	end();
}
END_TEST

/* It finds the answer and the end together: what comes from there later has come, too. */
START_TEST(a_client_that_is_left_without_lingering_is_reset)
{
	struct sockaddr_in addr = in_address(THERE, PORT + 1);
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };
	int other = rsocket(AF_INET, SOCK_STREAM, 0), err = 0;
	socklen_t size = sizeof(err);

	begin();
	ck_assert_int_eq(rsetsockopt(listener, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	ask();
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(rclose(server), 0);
	server = -1;
	REFUSED(rconnect(other, (struct sockaddr *)&addr, sizeof(addr)), ECONNREFUSED);
	ck_assert_int_eq(rclose(other), 0);
	ck_assert_int_ne(events_of(client, POLLOUT, SOON) & POLLERR, 0);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	ck_assert_int_eq(err, ECONNRESET);
	ask(); /* it was never connected, and may try again */
	end();
}
END_TEST

/* More completions are there than are handled at a time. */
START_TEST(what_arrives_behind_many_completions_is_told_at_once)
{
	begin();
	connect_both();
	for (int i = 0; i < 40; i++)
		send_text(client, "x");
	for (int i = 0; i < 40; i++)
		expect_text(server, "x");
	send_text(server, "y");
	for (int i = 0; i < 1000; i++) /* let it arrive */
		ck_assert_int_eq(events_of(server, POLLIN, 0), 0);
	ck_assert_int_eq(events_of(client, POLLIN, 0), POLLIN);
	expect_text(client, "y");
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

static void fill(Suite *suite)
{
	unit_add(suite, a_blocked_reader_and_a_writer_share_an_rsocket, 1, NULL);
	unit_add(suite, a_client_that_has_gone_as_it_is_accepted_ends_a_wait, 1, NULL);
	unit_add(suite, a_writer_waits_until_all_is_sent, 1, NULL);
	unit_add(suite, a_reader_is_woken_when_another_thread_handles_its_data, 1, NULL);
	unit_add(suite, a_reader_is_woken_when_its_rsocket_is_closed, 1, NULL);
	unit_add(suite, a_poll_is_woken_when_its_rsocket_is_closed, 2, NULL);
	unit_add(suite, rpoll_takes_other_descriptors_too, 1, NULL);
	unit_add(suite, a_poll_is_woken_by_what_another_process_writes, 1, NULL);
	unit_add(suite, rselect_does_what_rpoll_does, 1, NULL);
	unit_add(suite, what_may_be_read_is_told_beside_what_may_be_written, 1, NULL);
	unit_add(suite, an_address_that_nobody_has_times_out, 1, NULL);
	unit_add(suite, a_reader_is_woken_on_a_second_connection, 1, NULL);
	unit_add(suite, a_client_that_is_left_without_lingering_is_reset, 1, NULL);
	unit_add(suite, what_arrives_behind_many_completions_is_told_at_once, 1, NULL);
	unit_add(suite, a_forked_child_has_no_rsockets, 1, NULL);
}

UNIT_SUITE("rsocket_waits")
