/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thousands of connections on one SRQ, one after the other. A script compares what the kernel has
 * at the end with what it had after "ready", while the process is still there.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "parity.h"

enum {
	CONNECTIONS = 10000,
	KEPT = 8, /* Receives that stay in the SRQ */
	LIMIT_S = 3000
};

static void expect_end(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (take(evd, WAIT_US, &event) && event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
		return;
	fact("stopped", "no DISCONNECTED");
	exit(1);
}

static void expect_message(DAT_EVD_HANDLE evd, DAT_COUNT *slot)
{
	DAT_EVENT event;

	if (take(evd, WAIT_US, &event) &&
	    event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS) {
		*slot = (DAT_COUNT)event.event_data.dto_completion_event_data.user_cookie.as_64;
		return;
	}
	fact("stopped", "no completion");
	exit(1);
}

/* A connection, a message, and the end, asked for by either side in turn. */
static void connect_once(int n)
{
	DAT_EP_ATTR attr = attributes(), with_srq = attributes();
	DAT_COUNT slot;

	with_srq.max_recv_dtos = DAT_HW_DEFAULT;
	make_eps(&attr, &with_srq);
	connect_eps();
	must(post_send(&a, SLOTS - 1, 64, 0));
	expect_message(a.request, &slot);
	expect_message(b.recv, &slot);
	must(post_srq(slot));
	must(dat_ep_disconnect(n % 2 ? a.ep : b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_end(a.connect);
	expect_end(b.connect);
	must(dat_ep_free(a.ep));
	must(dat_ep_free(b.ep));
}

/* SIGUSR1: the script has counted, and this may go on. */
static void await_script(const sigset_t *set)
{
	int signal;

	sigwait(set, &signal);
}

static void churn(void)
{
	DAT_SRQ_ATTR size = { .max_recv_dtos = SLOTS, .max_recv_iov = 1 };
	const char *count = getenv("CONNECTIONS");
	DAT_SRQ_PARAM srq;
	sigset_t usr1;

	alarm(LIMIT_S);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	fact("pid", "%d", (int)getpid());
	must(dat_srq_create(b.ia, b.pz, &size, &b.srq));
	for (int i = 0; i < KEPT; i++)
		must(post_srq(i));
	connect_once(0);
	fact("ready", "yes");
	await_script(&usr1);
	for (int n = 0; n < (count ? atoi(count) : CONNECTIONS); n++)
		connect_once(n);
	must(dat_srq_query(b.srq, DAT_SRQ_FIELD_ALL, &srq));
	fact("received", "%d of %d are in the SRQ", (int)srq.available_dto_count, KEPT);
	fact("over", "yes");
	await_script(&usr1);
}

const struct scenario churn_scenarios[] = { { "churn", churn }, { NULL, NULL } };
