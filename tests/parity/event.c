/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispatchers: waiting, thresholds, CNOs, overflow, sizes. */
#include <pthread.h>

#include "parity.h"

static DAT_EVD_HANDLE small_evd(DAT_COUNT length, DAT_CNO_HANDLE cno, int flags)
{
	DAT_EVD_HANDLE evd;

	must(dat_evd_create(b.ia, length, cno, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

static void send_n(int n)
{
	for (int i = 0; i < n; i++)
		must(post_send(&a, i, 64, 0));
}

static void waiting(void)
{
	DAT_COUNT nmore = -1;
	DAT_EVENT event;
	DAT_RETURN ret;

	plain_pair();
	for (int i = 0; i < 8; i++)
		must(post_recv(&b, i));
	ret = dat_evd_wait(b.recv, QUIET_US, 1, &event, &nmore);
	fact_ret("nothing", ret);
	fact("nothing_more", "%d", nmore);
	send_n(3);
	ret = dat_evd_wait(b.recv, WAIT_US, 3, &event, &nmore);
	fact_ret("three", ret);
	fact("three_more", "%d", nmore);
	ret = dat_evd_wait(b.recv, QUIET_US, 3, &event, &nmore);
	fact_ret("two_of_three", ret);
	fact("two_more", "%d", nmore);
	fact_ret("dequeue", dat_evd_dequeue(b.recv, &event));
	fact_ret("dequeue_again", dat_evd_dequeue(b.recv, &event));
	fact_ret("dequeue_empty", dat_evd_dequeue(b.recv, &event));
}

static void notification(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = { NULL, NULL };
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	DAT_EVENT event;

	must(dat_cno_create(b.ia, none, &cno));
	b.recv = small_evd(16, cno, DAT_EVD_DTO_FLAG);
	plain_pair();
	for (int i = 0; i < 8; i++)
		must(post_recv(&b, i));
	fact_ret("quiet", dat_cno_wait(cno, QUIET_US, &evd));
	send_n(2);
	fact_ret("wait", dat_cno_wait(cno, WAIT_US, &evd));
	fact("evd", "%s", evd == b.recv ? "the right one" : "another");
	fact_completions("receives", b.recv, 2);
	send_n(1);
	fact_ret("wait_again", dat_cno_wait(cno, WAIT_US, &evd));
	fact_ret("dequeue", dat_evd_dequeue(b.recv, &event));
	fact_ret("quiet_again", dat_cno_wait(cno, QUIET_US, &evd));
}

static void overflow(void)
{
	DAT_EVENT event;

	b.recv = small_evd(4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	plain_pair();
	for (int i = 0; i < 8; i++)
		must(post_recv(&b, i));
	send_n(6);
	for (int i = 0; i < 6; i++)
		take(a.request, WAIT_US, &event);
	/* A backend may notice the overflow only when the program looks at the EVD. */
	dat_evd_wait(b.recv, QUIET_US, 4, &event, NULL);
	fact_event("async", b.async, WAIT_US);
	fact_event("b", b.connect, WAIT_US);
	fact_event("a", a.connect, WAIT_US);
}

static void resize(void)
{
	DAT_EVENT event;

	b.recv = small_evd(8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	plain_pair();
	for (int i = 0; i < 12; i++)
		must(post_recv(&b, i));
	send_n(6);
	for (int i = 0; i < 6; i++)
		take(a.request, WAIT_US, &event);
	fact_ret("too_small", dat_evd_resize(b.recv, 5));
	fact_ret("exact", dat_evd_resize(b.recv, 6));
	fact_ret("larger", dat_evd_resize(b.recv, 200));
	send_n(6);
	fact_completions("receives", b.recv, 12);
}

/* A completion comes before the disconnect of its connection, with one dispatcher for both. */
static void one_for_all(void)
{
	b.recv = b.connect =
		small_evd(32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	plain_pair();
	for (int i = 0; i < 3; i++)
		must(post_recv(&b, i));
	send_n(1);
	fact_completions("send", a.request, 1);
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	fact_event("first", b.recv, WAIT_US);
	fact_event("second", b.recv, WAIT_US);
	fact_event("third", b.recv, WAIT_US);
	fact_event("last", b.recv, WAIT_US);
}

static void software(void)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE evd = small_evd(2, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);

	must(dat_evd_post_se(evd, &event));
	must(dat_evd_post_se(evd, &event));
	fact_ret("full", dat_evd_post_se(evd, &event));
	fact_event("event", evd, WAIT_US);
}

#define ECHOES 300

/* Echoes messages until there were enough. */
static void *echo(void *arg)
{
	int *done = arg;
	DAT_EVENT event;

	for (*done = 0; *done < ECHOES; ++*done) {
		int slot;

		if (!take(b.recv, WAIT_US, &event))
			break;
		slot = (int)event.event_data.dto_completion_event_data.user_cookie.as_64;
		if (post_recv(&b, slot) != DAT_SUCCESS ||
		    post_send(&b, slot, 64, 0) != DAT_SUCCESS || !take(b.request, WAIT_US, &event))
			break;
	}
	return NULL;
}

/* A second thread starts late in the process, then both work, each at its own Endpoint. */
static void threads(void)
{
	int done = 0, there = 0;
	pthread_t thread;
	DAT_EVENT event;

	plain_pair();
	for (int i = 0; i < 8; i++) {
		must(post_recv(&a, i));
		must(post_recv(&b, i));
	}
	for (int i = 0; i < 4; i++) {
		must(post_send(&b, i, 64, 0));
		take(a.recv, WAIT_US, &event);
		take(b.request, WAIT_US, &event);
		must(post_recv(&a, i));
	}
	if (pthread_create(&thread, NULL, echo, &done))
		return;
	for (; there < ECHOES; there++) {
		int slot;

		must(post_send(&a, there % 8, 64, 0));
		if (!take(a.request, WAIT_US, &event) || !take(a.recv, WAIT_US, &event))
			break;
		slot = (int)event.event_data.dto_completion_event_data.user_cookie.as_64;
		must(post_recv(&a, slot));
	}
	pthread_join(thread, NULL);
	fact("there", "%d", there);
	fact("back", "%d", done);
}

const struct scenario event_scenarios[] = {
	{ "waiting", waiting },         { "notification", notification },
	{ "overflow", overflow },       { "resize", resize },
	{ "one_for_all", one_for_all }, { "software", software },
	{ "threads", threads },         { NULL, NULL },
};
