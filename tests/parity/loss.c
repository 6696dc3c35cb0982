/* SPDX-License-Identifier: BSD-3-Clause */
/* What another must bring about while it runs; each is run only by its name. */
#include <signal.h>
#include <unistd.h>

#include "parity.h"

/* One message after the other, for ever: false when that is over. */
static bool stream(void)
{
	DAT_EVENT event;

	for (int n = 0;; n++) {
		if (post_recv(&b, n % SLOTS) != DAT_SUCCESS ||
		    post_send(&a, n % SLOTS, 64, 0) != DAT_SUCCESS)
			return false;
		if (!take(b.recv, WAIT_US, &event) ||
		    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			return false;
		if (!take(a.request, WAIT_US, &event) ||
		    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			return false;
	}
}

/* The device goes away under load. */
static void unplug(void)
{
	plain_pair();
	fact("ready", "yes");
	stream();
	fact_event("a", a.connect, WAIT_US);
	fact_event("b", b.connect, WAIT_US);
	fact_event("async", a.async, WAIT_US);
	fact("a_state", "%s", state_name(a.ep));
	fact("b_state", "%s", state_name(b.ep));
	must(dat_ep_free(a.ep));
	must(dat_ep_free(b.ep));
}

/* The peer is killed in the middle: here the passive side of two processes. */
static void survivor(void)
{
	DAT_EP_ATTR attr = attributes();
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	int n = 0;

	make_eps(&attr, &attr);
	must(dat_psp_create(b.ia, 9999, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < SLOTS; i++)
		must(post_recv(&b, i));
	fact("ready", "yes");
	if (!take(b.cr, DAT_TIMEOUT_INFINITE, &event))
		return;
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b.ep, 0, NULL));
	fact_event("connection", b.connect, WAIT_US);
	while (take(b.recv, WAIT_US, &event) &&
	       event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS) {
		n++;
		if (post_recv(&b,
			      (int)event.event_data.dto_completion_event_data.user_cookie.as_64) !=
		    DAT_SUCCESS)
			break;
	}
	fact("received", "%s", n > 0 ? "some" : "none");
	fact_event("end", b.connect, WAIT_US);
	fact("state", "%s", state_name(b.ep));
	must(dat_ep_reset(b.ep));
	must(dat_psp_free(psp));
}

static void victim(void)
{
	DAT_EP_ATTR attr = attributes();

	make_eps(&attr, &attr);
	must(dat_ep_connect(a.ep, address_of(&b), 9999, WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	fact_event("connection", a.connect, WAIT_US);
	for (int n = 0;; n++) {
		DAT_EVENT event;

		if (n == 100)
			kill(getpid(), SIGKILL);
		if (post_send(&a, n % SLOTS, 64, 0) != DAT_SUCCESS)
			take(a.request, WAIT_US, &event);
	}
}

const struct scenario named_scenarios[] = {
	{ "unplug", unplug },
	{ "survivor", survivor },
	{ "victim", victim },
	{ NULL, NULL },
};
