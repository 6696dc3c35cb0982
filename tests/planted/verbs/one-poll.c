/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A receiver that sleeps until its completion channel has an event.
 *
 * Planted: it takes one completion for each event. Two messages that arrive close together make one
 * event, so the last message is never taken, and the receiver sleeps forever.
 */
#include <poll.h>

#include "ends.h"

#define MESSAGES 20
#define BYTES    64
#define PAUSE    20 /* polls between two messages */

static struct end from, to;

static int has_event(void)
{
	struct pollfd pfd = { .fd = to.channel->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* The number of messages taken. */
static int take_event(void)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int n = 0;

	need(ibv_get_cq_event(to.channel, &cq, &context) == 0, "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	need(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
	while ((!BUG || n < 1) && next_wc(cq, &wc)) {
		need(wc.status == IBV_WC_SUCCESS, "a message did not arrive");
		n++;
	}
	return n;
}

int main(void)
{
	struct ibv_qp *a, *b;
	int got = 0, done = 0;
	struct ibv_wc wc;

	end_open(&from, 0);
	end_open(&to, 1);
	a = end_qp(&from);
	b = end_qp(&to);
	connect_qps(&from, a, &to, b, 7);
	need(ibv_req_notify_cq(to.recv_cq, 0) == 0, "ibv_req_notify_cq");
	for (int i = 0; i < MESSAGES; i++)
		post_recv(&to, b, 0, BYTES, 0);
	for (int i = 0; i < MESSAGES; i++) {
		post_send(&from, a, 0, BYTES, 0);
		for (int j = 0; j < PAUSE; j++) {
			done += next_wc(from.send_cq, &wc);
			got += has_event() ? take_event() : 0;
		}
	}
	while (got < MESSAGES)
		got += take_event();
	for (; done < MESSAGES; done++)
		wait_wc(from.send_cq);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	end_close(&from);
	end_close(&to);
	return 0;
}
