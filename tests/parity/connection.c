/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: how they are established, and how they end. */
#include <string.h>

#include "parity.h"

static DAT_RETURN connect_to(DAT_CONN_QUAL to, DAT_COUNT size, void *data)
{
	return dat_ep_connect(a.ep, address_of(&b), to, WAIT_US, size, data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_CR_HANDLE request(void)
{
	DAT_EVENT event;

	return take(b.cr, WAIT_US, &event) ? event.event_data.cr_arrival_event_data.cr_handle
					   : DAT_HANDLE_NULL;
}

static void private_data(void)
{
	unsigned char sent[20] = "nineteen characters", back[30] = "twenty-nine of them, to be so";
	DAT_EP_ATTR attr = attributes();
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	make_eps(&attr, &attr);
	must(dat_psp_create(b.ia, ++qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	must(connect_to(qual, sizeof(sent), sent));
	cr = request();
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	fact("size", "%d", param.private_data_size);
	fact("same", "%s", memcmp(param.private_data, sent, sizeof(sent)) == 0 ? "yes" : "no");
	must(dat_cr_accept(cr, b.ep, sizeof(back), back));
	if (take(a.connect, WAIT_US, &event)) {
		const DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

		fact("answer", "%s",
		     event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED ? "ESTABLISHED" : "?");
		fact("answer_size", "%d", data->private_data_size);
		fact("answer_same", "%s",
		     data->private_data && memcmp(data->private_data, back, sizeof(back)) == 0
			     ? "yes"
			     : "no");
	}
	fact_event("passive", b.connect, WAIT_US);
	fact("a", "%s", state_name(a.ep));
	fact("b", "%s", state_name(b.ep));
}

static void refused(void)
{
	DAT_EP_ATTR attr = attributes();
	DAT_PSP_HANDLE psp;

	make_eps(&attr, &attr);
	must(connect_to(++qual, 0, NULL));
	fact_event("no_listener", a.connect, WAIT_US);
	must(dat_ep_reset(a.ep));
	must(dat_psp_create(b.ia, ++qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	must(connect_to(qual, 0, NULL));
	must(dat_cr_reject(request()));
	fact_event("rejected", a.connect, WAIT_US);
	fact("state", "%s", state_name(a.ep));
	must(dat_ep_reset(a.ep));
	must(post_recv(&a, 0));
	must(connect_to(qual, 0, NULL));
	must(dat_cr_reject(request()));
	fact_completions("receive", a.recv, 1);
	fact_event("rejected_again", a.connect, WAIT_US);
}

static void graceful(void)
{
	plain_pair();
	for (int i = 0; i < 4; i++)
		must(post_recv(&b, i));
	for (int i = 0; i < 2; i++)
		must(post_send(&a, i, 64, 0));
	fact_ret("call", dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	fact_completions("sends", a.request, 2);
	fact_event("a", a.connect, WAIT_US);
	fact_event("b", b.connect, WAIT_US);
	fact_completions("receives", b.recv, 4);
	fact("a_state", "%s", state_name(a.ep));
	fact("b_state", "%s", state_name(b.ep));
	fact_ret("late_send", post_send(&a, 0, 64, 0));
	fact_completions("late", a.request, 1);
	fact_ret("late_recv", post_recv(&b, 0));
	fact_completions("late_receive", b.recv, 1);
}

static void abrupt(void)
{
	plain_pair();
	for (int i = 0; i < 3; i++) {
		must(post_recv(&a, i));
		must(post_recv(&b, i));
	}
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	fact_event("b", b.connect, WAIT_US);
	fact_completions("b_receives", b.recv, 3);
	fact_event("a", a.connect, WAIT_US);
	fact_completions("a_receives", a.recv, 3);
	fact_event("a_again", a.connect, QUIET_US);
}

/* The same two Endpoints, again and again. */
static void again(void)
{
	int good = 0;

	plain_pair();
	for (int i = 0; i < 5; i++) {
		DAT_EVENT event;

		must(post_recv(&b, i));
		must(post_send(&a, i, 100, 0));
		if (take(b.recv, WAIT_US, &event) && take(a.request, WAIT_US, &event))
			good++;
		must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
		if (!take(a.connect, WAIT_US, &event) || !take(b.connect, WAIT_US, &event))
			break;
		must(dat_ep_reset(a.ep));
		must(dat_ep_reset(b.ep));
		connect_eps();
	}
	fact("rounds", "%d", good);
}

static void handoff(void)
{
	DAT_EP_ATTR attr = attributes();
	DAT_PSP_HANDLE first, second;

	make_eps(&attr, &attr);
	must(dat_psp_create(b.ia, qual + 1, b.cr, DAT_PSP_CONSUMER_FLAG, &first));
	must(dat_psp_create(b.ia, qual + 2, b.cr, DAT_PSP_CONSUMER_FLAG, &second));
	must(connect_to(qual + 1, 0, NULL));
	fact_ret("no_request", dat_cr_handoff(DAT_HANDLE_NULL, qual + 2));
	fact_ret("call", dat_cr_handoff(request(), qual + 2));
	must(dat_cr_accept(request(), b.ep, 0, NULL));
	fact_event("a", a.connect, WAIT_US);
	fact_event("b", b.connect, WAIT_US);
	must(dat_psp_free(first));
	must(dat_psp_free(second));
}

static void reserved(void)
{
	DAT_EP_ATTR attr = attributes();
	DAT_RSP_HANDLE rsp;

	make_eps(&attr, &attr);
	must(dat_rsp_create(b.ia, ++qual, b.ep, b.cr, &rsp));
	fact("state", "%s", state_name(b.ep));
	must(connect_to(qual, 0, NULL));
	must(dat_cr_accept(request(), DAT_HANDLE_NULL, 0, NULL));
	fact_event("a", a.connect, WAIT_US);
	fact_event("b", b.connect, WAIT_US);
	fact_ret("free", dat_rsp_free(rsp));
}

static void timeout(void)
{
	DAT_EP_ATTR attr = attributes();
	DAT_PSP_HANDLE psp;

	make_eps(&attr, &attr);
	must(dat_psp_create(b.ia, ++qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	must(dat_ep_connect(a.ep, address_of(&b), qual, QUIET_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	fact_event("a", a.connect, WAIT_US);
	must(dat_cr_accept(request(), b.ep, 0, NULL));
	fact_event("b", b.connect, WAIT_US);
}

const struct scenario connection_scenarios[] = {
	{ "private_data", private_data },
	{ "refused", refused },
	{ "graceful", graceful },
	{ "abrupt", abrupt },
	{ "again", again },
	{ "handoff", handoff },
	{ "reserved", reserved },
	{ "timeout", timeout },
	{ NULL, NULL },
};
