/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ends of a connection, which do as the main process tells them: ends.h. */
#include "ends.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/fabric/queue.h"
#include "emu/fabric/spare.h"

#define QUALIFIER 7980

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

static void give_order(const struct end *end, enum order what)
{
	put(end->orders[1], what);
}

static void await_report(const struct end *end)
{
	get(end->reports[0]);
}

static void order_and_await(const struct end *end, enum order what)
{
	give_order(end, what);
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
	if (copy)
		setenv("DATSIM_COPY", copy, 1);
	run(end);
}

/* ---- the fabric, as the main process sees it ---- */

int ends_look(int (*what)(struct emu_world *w, void *arg), void *arg)
{
	struct nic_config config = { .fabric = getenv("DATSIM_FABRIC") };
	struct emu_world *w = emu_world_map_bare();
	int found;

	if (!w)
		pair_fail("out of memory");
	found = emu_shared_look(w, &config, true, what, arg);
	if (found < 0)
		pair_fail("the fabric cannot be looked at");
	emu_world_unmap_bare(w);
	return found;
}

static int is_timer_alone(struct emu_world *w, void *arg)
{
	(void)arg;
	return emu_events(w->fab) == 1 && emu_event_kind(&w->fab->heap[0]) == EMU_EV_RNR_TIMER;
}

static void stop(pid_t pid)
{
	int status;

	if (kill(pid, SIGSTOP) || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		pair_fail("a process cannot be stopped");
}

/* With the lock held, so neither end has it. */
static int stop_both(struct emu_world *w, void *arg)
{
	const struct ends *ends = arg;

	if (!is_timer_alone(w, NULL))
		pair_fail("the RNR timer has run");
	stop(ends->sender.pid);
	stop(ends->receiver.pid);
	return 0;
}

int ends_make_due(struct emu_world *w, void *arg)
{
	if (is_timer_alone(w, arg))
		w->fab->heap[0].time = 0;
	return 0;
}

void ends_wait_and_stop(struct ends *ends)
{
	order_and_await(&ends->sender, FIRST);
	while (!ends_look(is_timer_alone, NULL))
		;
	order_and_await(&ends->receiver, FIRST);
	ends_look(stop_both, ends);
}

void ends_go_on(struct ends *ends)
{
	kill(ends->sender.pid, SIGCONT);
	order_and_await(&ends->sender, SECOND);
	kill(ends->receiver.pid, SIGCONT);
	give_order(&ends->receiver, SECOND);
	await_report(&ends->sender);
	await_report(&ends->receiver);
}

void ends_start(struct ends *ends, const char *sender_copy, const char *receiver_copy)
{
	start_end(&ends->receiver, receiver_copy, run_receiver);
	await_report(&ends->receiver);
	start_end(&ends->sender, sender_copy, run_sender);
	await_report(&ends->sender);
	await_report(&ends->receiver);
}

static void finish(const struct end *end)
{
	int status;

	give_order(end, LAST);
	if (waitpid(end->pid, &status, 0) != end->pid || status)
		pair_fail("a process does not end well");
}

void ends_finish(struct ends *ends)
{
	finish(&ends->sender);
	finish(&ends->receiver);
}
