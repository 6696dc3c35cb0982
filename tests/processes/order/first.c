/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * first plain|srq [CONNECTIONS] - the first messages of a connection come after the event that it
 * is established, in order, on one EVD for both, however late the accepting process hears of
 * anything.
 *
 * Without CONNECTIONS the test forces the order of events: the client is stopped until the server
 * has accepted, and the server until the client has sent. So the server finds the word that it is
 * connected and the completions at once. With them the two processes make so many connections, one
 * after the other, and no process is stopped: the load of the machine decides which is late.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/processes/ends.h"

enum {
	QUALIFIER = 7981,
	MESSAGES = 3,
};

struct program {
	pid_t pid;
	int orders[2], reports[2];
	bool srq;
	int connections; /* 0: one, in steps */
	int ready[2];    /* pipe from server to client: connect now */
};

/* pipe: -1 if no process waits for it */
static void put(int pipe)
{
	if (pipe >= 0 && write(pipe, "", 1) != 1)
		pair_fail("a process is gone");
}

static void get(int pipe)
{
	char what;

	if (read(pipe, &what, 1) != 1)
		pair_fail("a process is gone");
}

/* ---- the two programs ---- */

static void post(const struct pair_node *node, DAT_EP_HANDLE ep, DAT_SRQ_HANDLE srq)
{
	for (DAT_UINT64 i = 0; i < MESSAGES; i++) {
		DAT_LMR_TRIPLET segment = pair_segment(node, (int)i);
		DAT_DTO_COOKIE cookie = { .as_64 = i };

		if (srq)
			pair_check(dat_srq_post_recv(srq, 1, &segment, cookie),
				   "dat_srq_post_recv");
		else
			pair_check(dat_ep_post_recv(ep, 1, &segment, cookie,
						    DAT_COMPLETION_DEFAULT_FLAG),
				   "dat_ep_post_recv");
	}
}

static DAT_EP_HANDLE make_ep(const struct pair_node *node, DAT_EVD_HANDLE evd)
{
	DAT_EP_HANDLE ep;

	pair_check(dat_ep_create(node->ia, node->pz, evd, evd, evd, NULL, &ep), "dat_ep_create");
	return ep;
}

/* srq: NULL for an Endpoint with Receives of its own */
static DAT_EP_HANDLE make_receiver(const struct pair_node *node, DAT_EVD_HANDLE evd,
				   DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = MESSAGES,
				  .max_recv_iov = 1,
				  .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_PARAM defaults;
	DAT_EP_HANDLE ep = make_ep(node, evd);

	if (srq) {
		pair_check(dat_srq_create(node->ia, node->pz, &srq_attr, srq), "dat_srq_create");
		pair_check(dat_ep_query(ep, DAT_EP_FIELD_ALL, &defaults), "dat_ep_query");
		pair_check(dat_ep_free(ep), "dat_ep_free");
		pair_check(dat_ep_create_with_srq(node->ia, node->pz, evd, evd, evd, *srq,
						  &defaults.ep_attr, &ep),
			   "dat_ep_create_with_srq");
	}
	post(node, ep, srq ? *srq : DAT_HANDLE_NULL);
	return ep;
}

static DAT_EVD_HANDLE open_node(struct pair_node *node)
{
	DAT_EVD_HANDLE evd;

	pair_open(node, "emu0", MESSAGES);
	pair_check(dat_evd_create(node->ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
				  &evd),
		   "dat_evd_create");
	return evd;
}

static void listen_with(const struct pair_node *node, DAT_EVD_HANDLE evd)
{
	DAT_PSP_HANDLE psp;

	pair_check(dat_psp_create(node->ia, QUALIFIER, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
}

static void expect_first(const struct pair_node *node, DAT_EVD_HANDLE evd)
{
	expect_event(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (DAT_UINT64 i = 0; i < MESSAGES; i++) {
		expect_dto(evd, i);
		if (node->messages[i].round != i)
			pair_fail("a Receive holds another message");
	}
}

static void connect_and_send(const struct pair_node *node, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep,
			     int report)
{
	struct sockaddr_in host = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	pair_check(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&host, QUALIFIER, DAT_TIMEOUT_INFINITE, 0,
				  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	put(report);
	expect_event(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (DAT_UINT64 i = 0; i < MESSAGES; i++) {
		DAT_LMR_TRIPLET segment = pair_segment(node, (int)i);
		DAT_DTO_COOKIE cookie = { .as_64 = i };

		node->messages[i].round = i;
		pair_check(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
	}
	put(report);
	for (DAT_UINT64 i = 0; i < MESSAGES; i++)
		expect_dto(evd, i);
}

/* ---- one connection, in steps ---- */

static void serve_one(const struct program *self)
{
	struct pair_node node;
	DAT_EVD_HANDLE evd = open_node(&node);
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep = make_receiver(&node, evd, self->srq ? &srq : NULL);
	DAT_EVENT event;

	listen_with(&node, evd);
	put(self->reports[1]);
	event = expect_event(evd, DAT_CONNECTION_REQUEST_EVENT);
	put(self->reports[1]);
	get(self->orders[0]);
	pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
		   "dat_cr_accept");
	put(self->reports[1]);
	get(self->orders[0]);
	expect_first(&node, evd);
	put(self->reports[1]);
	get(self->orders[0]);
	pair_check(dat_ia_close(node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

static void ask_one(const struct program *self)
{
	struct pair_node node;
	DAT_EVD_HANDLE evd = open_node(&node);
	DAT_EP_HANDLE ep = make_ep(&node, evd);

	connect_and_send(&node, evd, ep, self->reports[1]);
	put(self->reports[1]);
	get(self->orders[0]);
	pair_check(dat_ia_close(node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

/* ---- many connections, without a stop ---- */

static void serve_many(const struct program *self)
{
	struct pair_node node;
	DAT_EVD_HANDLE evd = open_node(&node);

	listen_with(&node, evd);
	for (int i = 0; i < self->connections; i++) {
		DAT_SRQ_HANDLE srq;
		DAT_EP_HANDLE ep = make_receiver(&node, evd, self->srq ? &srq : NULL);
		DAT_EVENT event;

		for (int message = 0; message < MESSAGES; message++)
			node.messages[message].round = MESSAGES;
		put(self->ready[1]);
		event = expect_event(evd, DAT_CONNECTION_REQUEST_EVENT);
		pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0,
					 NULL),
			   "dat_cr_accept");
		expect_first(&node, evd);
		expect_event(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		pair_check(dat_ep_free(ep), "dat_ep_free");
		if (self->srq)
			pair_check(dat_srq_free(srq), "dat_srq_free");
	}
	pair_check(dat_ia_close(node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

static void ask_many(const struct program *self)
{
	struct pair_node node;
	DAT_EVD_HANDLE evd = open_node(&node);

	for (int i = 0; i < self->connections; i++) {
		DAT_EP_HANDLE ep = make_ep(&node, evd);

		get(self->ready[0]);
		connect_and_send(&node, evd, ep, -1);
		pair_check(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
		expect_event(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		pair_check(dat_ep_free(ep), "dat_ep_free");
	}
	pair_check(dat_ia_close(node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

/* ---- the main process ---- */

static void start(struct program *program, void (*run)(const struct program *self))
{
	if (pipe(program->orders) || pipe(program->reports))
		pair_fail("no pipe");
	program->pid = fork();
	if (program->pid < 0)
		pair_fail("no process");
	if (program->pid > 0) {
		close(program->orders[0]);
		close(program->reports[1]);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run(program);
	_exit(0);
}

/* With the lock held, so the process does not have it. */
static int stop(struct emu_world *w, void *arg)
{
	const struct program *program = arg;
	int status;

	(void)w;
	if (kill(program->pid, SIGSTOP) ||
	    waitpid(program->pid, &status, WUNTRACED) != program->pid || !WIFSTOPPED(status))
		pair_fail("a process cannot be stopped");
	return 0;
}

static void await_report(const struct program *program)
{
	get(program->reports[0]);
}

static void give_order(const struct program *program)
{
	put(program->orders[1]);
}

static void finish(const struct program *program)
{
	int status;

	if (waitpid(program->pid, &status, 0) != program->pid || status)
		pair_fail("a process does not end well");
}

static void run_in_steps(struct program *server, struct program *client)
{
	start(server, serve_one);
	await_report(server);
	start(client, ask_one);
	await_report(client);
	await_report(server);
	ends_look(stop, client);
	give_order(server);
	await_report(server);
	ends_look(stop, server);
	kill(client->pid, SIGCONT);
	await_report(client);
	kill(server->pid, SIGCONT);
	give_order(server);
	await_report(server);
	await_report(client);
	give_order(server);
	finish(server);
	give_order(client);
	finish(client);
}

static void run_at_once(struct program *server, struct program *client)
{
	int ready[2];

	if (pipe(ready))
		pair_fail("no pipe");
	memcpy(server->ready, ready, sizeof(ready));
	memcpy(client->ready, ready, sizeof(ready));
	start(server, serve_many);
	close(ready[1]);
	start(client, ask_many);
	close(ready[0]);
	finish(server);
	finish(client);
}

int main(int argc, char **argv)
{
	struct program server = { 0 }, client = { 0 };
	int connections = argc == 3 ? atoi(argv[2]) : 0;

	if (argc < 2 || argc > 3 || (strcmp(argv[1], "plain") && strcmp(argv[1], "srq")) ||
	    (argc == 3 && connections <= 0)) {
		fputs("usage: first plain|srq [CONNECTIONS]\n", stderr);
		return 2;
	}
	hang_begin("the first messages of a connection");
	server.srq = strcmp(argv[1], "srq") == 0;
	server.connections = client.connections = connections;
	if (connections)
		run_at_once(&server, &client);
	else
		run_in_steps(&server, &client);
	return 0;
}
