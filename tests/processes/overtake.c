/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overtake [SENDER RECEIVER THIRD] - ruling Q6 on a fabric of three processes: a Send that waits
 * behind one in RNR wait completes. Each argument is a value of DATSIM_COPY, for that process.
 *
 * The test forces the order of events in which the second Send used to overtake the first one and
 * was lost. The main process is the third one: it owns no end of the connection and only polls.
 *
 *   sender     posts Send 1; the receiver has no Receive, and the RNR timer runs
 *   receiver   posts two Receives
 *   third      takes the fabric's lock, stops both by SIGSTOP, releases the lock
 *   third      polls until the RNR timer is due: it runs the timer, and leaves the packet of Send 1
 *              to one of the two
 *   sender     goes on, and posts Send 2
 *   receiver   goes on; both Sends must arrive, in order
 *
 * The fabric's state says when a step is over. If the timer was due before both ends were stopped,
 * the Sends complete without the race, and the round is repeated.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "die.h"
#include "emu/fabric/queue.h"
#include "emu/fabric/spare.h"
#include "emu/shared/shared.h"

#define QUALIFIER  7980
#define ROUNDS     100
#define HANG_S     60
#define PATIENCE_S 20 /* with a completion; then the Send is lost */

struct end {
	struct pair_node node;
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep;
	pid_t pid;
	int orders[2], reports[2]; /* pipes from and to the third process */
};

enum order {
	FIRST,
	SECOND,
	LAST,
};

/* ---- pipes ---- */

static void put(int pipe, int order)
{
	char what = (char)order;

	if (write(pipe, &what, 1) != 1)
		pair_fail("a process is gone");
}

static int get(int pipe)
{
	char what;

	if (read(pipe, &what, 1) != 1)
		pair_fail("a process is gone");
	return what;
}

static void order(const struct end *end, enum order what)
{
	put(end->orders[1], what);
}

static void await_report(const struct end *end)
{
	get(end->reports[0]);
}

static void order_and_await(const struct end *end, enum order what)
{
	order(end, what);
	await_report(end);
}

/* ---- the two ends ---- */

static void open_end(struct end *end)
{
	pair_open(&end->node, "emu0", 2);
	pair_check(dat_evd_create(end->node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &end->dto),
		   "dat_evd_create");
	pair_check(dat_evd_create(end->node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &end->connect),
		   "dat_evd_create");
	pair_check(dat_ep_create(end->node.ia, end->node.pz, end->dto, end->dto, end->connect, NULL,
				 &end->ep),
		   "dat_ep_create");
}

static void post(const struct end *end, bool send, int message)
{
	DAT_LMR_TRIPLET segment = pair_segment(&end->node, message);
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)message };

	if (send)
		pair_check(dat_ep_post_send(end->ep, 1, &segment, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
	else
		pair_check(dat_ep_post_recv(end->ep, 1, &segment, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_recv");
}

static void finish_end(const struct end *end)
{
	pair_check(dat_ia_close(end->node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	_exit(0);
}

static void run_sender(struct end *end)
{
	struct sockaddr_in host = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_UINT64 round = 0;
	int what;

	open_end(end);
	pair_check(dat_ep_connect(end->ep, (DAT_IA_ADDRESS_PTR)&host, QUALIFIER,
				  DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	expect_event(end->connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	put(end->reports[1], 0);
	while ((what = get(end->orders[0])) != LAST) {
		end->node.messages[what].round = 2 * round + (DAT_UINT64)what;
		post(end, true, what);
		put(end->reports[1], 0);
		if (what == SECOND) {
			expect_dto(end->dto, FIRST);
			expect_dto(end->dto, SECOND);
			put(end->reports[1], 0);
			round++;
		}
	}
	finish_end(end);
}

static void expect_message(const struct end *end, int message, DAT_UINT64 round)
{
	expect_dto(end->dto, (DAT_UINT64)message);
	if (end->node.messages[message].round != 2 * round + (DAT_UINT64)message)
		pair_fail("a Receive holds another message");
}

static void run_receiver(struct end *end)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	open_end(end);
	pair_check(dat_psp_create(end->node.ia, QUALIFIER, end->connect, DAT_PSP_CONSUMER_FLAG,
				  &psp),
		   "dat_psp_create");
	put(end->reports[1], 0);
	event = expect_event(end->connect, DAT_CONNECTION_REQUEST_EVENT);
	pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, end->ep, 0,
				 NULL),
		   "dat_cr_accept");
	expect_event(end->connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	put(end->reports[1], 0);
	for (DAT_UINT64 round = 0; get(end->orders[0]) != LAST; round++) {
		post(end, false, FIRST);
		post(end, false, SECOND);
		put(end->reports[1], 0);
		get(end->orders[0]);
		expect_message(end, FIRST, round);
		expect_message(end, SECOND, round);
		put(end->reports[1], 0);
	}
	finish_end(end);
}

static void start_end(struct end *end, const char *copy, void (*run)(struct end *end))
{
	if (pipe(end->orders) || pipe(end->reports))
		pair_fail("no pipe");
	end->pid = fork();
	if (end->pid < 0)
		pair_fail("no process");
	if (end->pid > 0) {
		close(end->orders[0]);
		close(end->reports[1]);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(end->orders[1]);
	close(end->reports[0]);
	alarm(HANG_S);
	if (copy)
		setenv("DATSIM_COPY", copy, 1);
	run(end);
}

/* ---- the third process ---- */

static int look(int (*what)(struct emu_world *w, void *arg), void *arg)
{
	struct nic_config config = { .fabric = getenv("DATSIM_FABRIC") };
	struct emu_world *w = emu_world_map_bare();
	int found;

	if (!w)
		pair_fail("out of memory");
	found = emu_shared_look(w, &config, what, arg);
	if (found < 0)
		pair_fail("the fabric cannot be looked at");
	emu_world_unmap_bare(w);
	return found;
}

static bool has_event(struct emu_world *w, enum emu_event_kind kind)
{
	for (uint32_t i = 0; i < emu_events(w->fab); i++)
		if (emu_event_kind(&w->fab->heap[i]) == kind)
			return true;
	return false;
}

static int is_timer_running(struct emu_world *w, void *arg)
{
	(void)arg;
	return has_event(w, EMU_EV_RNR_TIMER);
}

static void stop(pid_t pid)
{
	int status;

	if (kill(pid, SIGSTOP) || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		pair_fail("a process cannot be stopped");
}

/* With the lock held, so neither end has it. 0: the timer has run. */
static int stop_both(struct emu_world *w, void *arg)
{
	const struct end *ends = arg;

	if (!has_event(w, EMU_EV_RNR_TIMER))
		return 0;
	stop(ends[0].pid);
	stop(ends[1].pid);
	return 1;
}

/* Polls find nothing, and run the timer when it is due. */
static void fire_timer(DAT_EVD_HANDLE empty)
{
	DAT_EVENT event;

	while (look(is_timer_running, NULL))
		if (DAT_GET_TYPE(dat_evd_dequeue(empty, &event)) != DAT_QUEUE_EMPTY)
			pair_fail("an empty EVD has an event");
}

/* False: the timer ran before both ends were stopped. */
static bool run_round(struct end ends[2], DAT_EVD_HANDLE empty)
{
	struct end *sender = &ends[0], *receiver = &ends[1];
	bool forced;

	order_and_await(sender, FIRST);
	while (!look(is_timer_running, NULL))
		;
	order_and_await(receiver, FIRST);
	forced = look(stop_both, ends);
	if (forced) {
		fire_timer(empty);
		kill(sender->pid, SIGCONT);
	}
	order_and_await(sender, SECOND);
	if (forced)
		kill(receiver->pid, SIGCONT);
	order(receiver, SECOND);
	await_report(sender);
	await_report(receiver);
	return forced;
}

static void wait_for(const struct end *end)
{
	int status;

	order(end, LAST);
	if (waitpid(end->pid, &status, 0) != end->pid || status)
		pair_fail("a process does not end well");
}

int main(int argc, char **argv)
{
	struct end ends[2] = { 0 };
	struct pair_node node;
	DAT_EVD_HANDLE empty;
	bool forced = false;

	if (argc != 1 && argc != 4) {
		fputs("usage: overtake [SENDER RECEIVER THIRD]\n", stderr);
		return 2;
	}
	alarm(HANG_S);
	peer_patience_us = PATIENCE_S * 1000000;
	start_end(&ends[1], argc > 1 ? argv[2] : NULL, run_receiver);
	await_report(&ends[1]);
	start_end(&ends[0], argc > 1 ? argv[1] : NULL, run_sender);
	await_report(&ends[0]);
	await_report(&ends[1]);
	if (argc > 1)
		setenv("DATSIM_COPY", argv[3], 1);
	pair_open(&node, "emu0", 1);
	pair_check(dat_evd_create(node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &empty),
		   "dat_evd_create");
	for (int i = 0; i < ROUNDS && !forced; i++)
		forced = run_round(ends, empty);
	wait_for(&ends[0]);
	wait_for(&ends[1]);
	pair_check(dat_evd_free(empty), "dat_evd_free");
	pair_close(&node);
	if (!forced)
		pair_fail("the timer always ran too early");
	return 0;
}
