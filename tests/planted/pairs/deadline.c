/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client asks one question after another, and each has a deadline. If the answer is late the
 * client gives up: it counts the question as failed, ends the connection, and takes its Receive
 * back. The server answers each message.
 *
 * Planted: that Receive need not be flushed. If the answer comes when the wait has timed out, and
 * before the connection ends, the question is counted twice. This takes a packet that is sent
 * again: without one no answer is late, however long the programs lose their processors. And the
 * client has to lose its processor between the two calls, because no time passes there otherwise.
 */
#include <stdio.h>
#include <stdlib.h>

#include "meet.h"

#define QUESTIONS   2
#define BYTES       64
#define DEADLINE_US 998 /* less than until a retransmission, more than four pauses of a schedule */

struct client {
	struct end end;
	DAT_EP_HANDLE ep;
	int asked, answered, failed;
};

static void client_count(struct client *c, const DAT_EVENT *event)
{
	if (event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
		c->answered++;
	else if (!BUG)
		c->failed++;
}

/* False: the answer is late. */
static int client_ask(struct client *c)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	post_recv(&c->end, c->ep, 0, BYTES, 0);
	post_send(&c->end, c->ep, BYTES, BYTES, 0);
	c->asked++;
	ret = dat_evd_wait(c->end.recv, DEADLINE_US, 1, &event, &more);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		return 0;
	check(ret, "dat_evd_wait");
	client_count(c, &event);
	return 1;
}

/* Say what is known about a connection that is slow. */
static void client_tell(struct client *c)
{
	DAT_EP_STATE state;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_PARAM ep;
	DAT_EVD_PARAM evd;

	check(dat_ep_query(c->ep, DAT_EP_FIELD_ALL, &ep), "dat_ep_query");
	check(dat_ep_get_status(c->ep, &state, &recv_idle, &request_idle), "dat_ep_get_status");
	check(dat_evd_query(c->end.recv, DAT_EVD_FIELD_ALL, &evd), "dat_evd_query");
	printf("question %d of EP %p is late, %s; its EVD has %d places\n", c->asked, (void *)c->ep,
	       request_idle ? "it has arrived" : "it is on its way", evd.evd_qlen);
}

static void client_give_up(struct client *c)
{
	DAT_EVENT event;

	client_tell(c);
	if (BUG)
		c->failed++;
	check(dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
	wait_event(c->end.recv, DAT_DTO_COMPLETION_EVENT, &event);
	client_count(c, &event);
}

static void ask(int number)
{
	static struct client c;
	int in_time = 1;

	end_open(&c.end, "emu0", 2 * BYTES);
	c.ep = end_ep(&c.end, 1, QUESTIONS);
	meet_connect(&c.end, c.ep, number);
	while (in_time && c.asked < QUESTIONS)
		in_time = client_ask(&c);
	if (in_time)
		check(dat_ep_disconnect(c.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	else
		client_give_up(&c);
	meet_left(&c.end);
	if (c.answered + c.failed != c.asked)
		fail("a question has ended twice");
	check(dat_ia_close(c.end.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(c.end.memory);
}

int main(int argc, char **argv)
{
	int number = meet_role(argc, argv);

	if (number < 0)
		meet_echo(QUESTIONS, BYTES);
	else
		ask(number);
	return 0;
}
