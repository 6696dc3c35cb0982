/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes that ask and answer while a script disturbs the wire between them; each scenario
 * runs only by its name. Every message is answered before the next, because iWARP has no RNR: a
 * Send that finds no Receive ends the connection.
 *
 * The script says by signals what it waits for. They stay pending: they would interrupt a wait for
 * an event.
 *	SIGTERM		to the asking side: ask MORE times, and disconnect
 *	SIGUSR1		to both: a side that waits for a message sends one. Without a packet in
 *			flight it may learn of an end whose packets were lost only when it sends.
 */
#include <signal.h>
#include <unistd.h>

#include "parity.h"

enum {
	MORE = 100,
	LOOK_US = 100000 /* how often a signal is looked for */
};

static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool has_come(int signal)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

static bool is_success(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

static bool send_one(struct side *side)
{
	DAT_EVENT event;

	return post_send(side, 0, 64, 0) == DAT_SUCCESS && take(side->request, WAIT_US, &event) &&
	       is_success(&event);
}

/* The next message; false: the connection has ended. */
static bool hear_one(struct side *side)
{
	bool has_probed = false;
	DAT_EVENT event;

	while (!take(side->recv, LOOK_US, &event)) {
		if (has_probed || !has_come(SIGUSR1))
			continue;
		has_probed = true;
		if (!send_one(side))
			return false;
	}
	return is_success(&event) &&
	       post_recv(side, (int)event.event_data.dto_completion_event_data.user_cookie.as_64) ==
		       DAT_SUCCESS;
}

static void begin(struct side *side)
{
	DAT_EP_ATTR attr = attributes();

	hold_signals();
	fact("pid", "%d", (int)getpid());
	make_eps(&attr, &attr);
	for (int i = 1; i < SLOTS; i++)
		must(post_recv(side, i));
}

static void ask(void)
{
	int more = 0;

	begin(&a);
	must(dat_ep_connect(a.ep, address_of(&b), 9999, WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	fact_event("connection", a.connect, WAIT_US);
	while (more < MORE && send_one(&a) && hear_one(&a))
		more += has_come(SIGTERM);
	fact("asked", "%s", more == MORE ? "all" : "some");
	if (more == MORE)
		must(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	fact_event("end", a.connect, WAIT_US);
}

static void answer(void)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	begin(&b);
	must(dat_psp_create(b.ia, 9999, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	fact("ready", "yes");
	if (!take(b.cr, DAT_TIMEOUT_INFINITE, &event))
		return;
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b.ep, 0, NULL));
	fact_event("connection", b.connect, WAIT_US);
	while (hear_one(&b) && send_one(&b))
		;
	fact_event("end", b.connect, WAIT_US);
}

const struct scenario wire_scenarios[] = { { "ask", ask }, { "answer", answer }, { NULL, NULL } };
