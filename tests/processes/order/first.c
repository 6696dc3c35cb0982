/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * first plain|srq - the first messages of a connection come after the event that it is established,
 * in order, on one EVD for both, however late the accepting process hears of anything.
 *
 * The test forces the order of events: the client is stopped until the server has accepted, and the
 * server until the client has sent. So the server finds the word that it is connected and the
 * completions at once.
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
};

static void put(int pipe)
{
	if (write(pipe, "", 1) != 1)
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

static DAT_EP_HANDLE make_receiver(const struct pair_node *node, DAT_EVD_HANDLE evd, bool with_srq)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = MESSAGES,
				  .max_recv_iov = 1,
				  .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_EP_PARAM defaults;
	DAT_EP_HANDLE ep = make_ep(node, evd);

	if (with_srq) {
		pair_check(dat_srq_create(node->ia, node->pz, &srq_attr, &srq), "dat_srq_create");
		pair_check(dat_ep_query(ep, DAT_EP_FIELD_ALL, &defaults), "dat_ep_query");
		pair_check(dat_ep_free(ep), "dat_ep_free");
		pair_check(dat_ep_create_with_srq(node->ia, node->pz, evd, evd, evd, srq,
						  &defaults.ep_attr, &ep),
			   "dat_ep_create_with_srq");
	}
	post(node, ep, srq);
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

static void serve_one(const struct program *self)
{
	struct pair_node node;
	DAT_EVD_HANDLE evd = open_node(&node);
	DAT_EP_HANDLE ep = make_receiver(&node, evd, self->srq);
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	pair_check(dat_psp_create(node.ia, QUALIFIER, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
	put(self->reports[1]);
	event = expect_event(evd, DAT_CONNECTION_REQUEST_EVENT);
	put(self->reports[1]);
	get(self->orders[0]);
	pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
		   "dat_cr_accept");
	put(self->reports[1]);
	get(self->orders[0]);
	expect_event(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (DAT_UINT64 i = 0; i < MESSAGES; i++) {
		expect_dto(evd, i);
		if (node.messages[i].round != i)
			pair_fail("a Receive holds another message");
	}
	put(self->reports[1]);
	get(self->orders[0]);
	pair_check(dat_ia_close(node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

static void ask_one(const struct program *self)
{
	struct sockaddr_in host = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pair_node node;
	DAT_EVD_HANDLE evd = open_node(&node);
	DAT_EP_HANDLE ep = make_ep(&node, evd);

	pair_check(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&host, QUALIFIER, DAT_TIMEOUT_INFINITE, 0,
				  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	put(self->reports[1]);
	expect_event(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (DAT_UINT64 i = 0; i < MESSAGES; i++) {
		DAT_LMR_TRIPLET segment = pair_segment(&node, (int)i);
		DAT_DTO_COOKIE cookie = { .as_64 = i };

		node.messages[i].round = i;
		pair_check(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
	}
	put(self->reports[1]);
	for (DAT_UINT64 i = 0; i < MESSAGES; i++)
		expect_dto(evd, i);
	put(self->reports[1]);
	get(self->orders[0]);
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

	give_order(program);
	if (waitpid(program->pid, &status, 0) != program->pid || status)
		pair_fail("a process does not end well");
}

int main(int argc, char **argv)
{
	struct program server = { 0 }, client = { 0 };

	if (argc != 2 || (strcmp(argv[1], "plain") && strcmp(argv[1], "srq"))) {
		fputs("usage: first plain|srq\n", stderr);
		return 2;
	}
	hang_begin("the first messages of a connection");
	server.srq = strcmp(argv[1], "srq") == 0;
	start(&server, serve_one);
	await_report(&server);
	start(&client, ask_one);
	await_report(&client);
	await_report(&server);
	ends_look(stop, &client);
	give_order(&server);
	await_report(&server);
	ends_look(stop, &server);
	kill(client.pid, SIGCONT);
	await_report(&client);
	kill(server.pid, SIGCONT);
	give_order(&server);
	await_report(&server);
	await_report(&client);
	finish(&server);
	finish(&client);
	return 0;
}
