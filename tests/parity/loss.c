/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses that another process must cause during the run; each scenario runs only by its name. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"

/* Sends one message after the other until one fails; then returns false. */
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

/* The device is removed under load. */
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

/* The peer is killed during the transfer: this is the passive side of two processes. */
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

static int use_parents_handle(void)
{
	DAT_PZ_HANDLE pz;

	return DAT_GET_TYPE(dat_pz_create(a.ia, &pz)) == DAT_INVALID_HANDLE ? 0 : 1;
}

static char adapter[DAT_NAME_MAX_LENGTH];

static int open_anew(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (dat_ia_open(adapter, 8, &async, &ia) != DAT_SUCCESS)
		return 1;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS ? 0 : 2;
}

static void in_child(const char *name, int (*call)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(call());
	if (waitpid(child, &status, 0) != child || WIFSIGNALED(status))
		fact(name, "signal %d", WTERMSIG(status));
	else
		fact(name, "%d", WEXITSTATUS(status));
}

/* A child has none of its parent's objects, and the parent loses none. */
static void forked(void)
{
	DAT_IA_ATTR attr;
	DAT_EVENT event;

	plain_pair();
	must(dat_ia_query(a.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL));
	snprintf(adapter, sizeof(adapter), "%s", attr.adapter_name);
	must(post_recv(&b, 0));
	in_child("handle", use_parents_handle);
	in_child("anew", open_anew);
	must(post_send(&a, 0, 64, 0));
	fact("message", "%s", take(b.recv, WAIT_US, &event) ? "comes" : "is lost");
}

const struct scenario named_scenarios[] = {
	{ "unplug", unplug }, { "forked", forked }, { "survivor", survivor },
	{ "victim", victim }, { NULL, NULL },
};
