/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client asks one question after another, and asks again if the answer is late. Each time it
 * allocates a record, whose address is the cookie of the Receive. The server answers each message.
 *
 * Planted, in client 0: it frees the record of a question whose answer is late, though the Receive
 * is still posted. When that completes the client reads the record. Client 1 frees a record when
 * its Receive has completed. Nothing but AddressSanitizer may notice: tests/datsim/explore-pairs.sh
 * builds this file with it.
 */
#include <stdlib.h>

#include "meet.h"

#define QUESTIONS 3
#define ASKS      3 /* in all, of one question */
#define BYTES     64
#define LATE_US   50
#define WAIT_US   1000000

struct record {
	int question;
};

struct client {
	struct end end;
	DAT_EP_HANDLE ep;
	DAT_UINT64 asked;
	int answered, frees_early;
};

static struct record *client_ask(struct client *c, int question)
{
	struct record *record = malloc(sizeof(*record));

	if (!record)
		fail("out of memory");
	record->question = question;
	c->asked++;
	post_recv(&c->end, c->ep, BYTES * c->asked, BYTES, (uintptr_t)record);
	post_send(&c->end, c->ep, 0, BYTES, 0);
	return record;
}

static void client_take(struct client *c, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *done = &event->event_data.dto_completion_event_data;
	struct record *record = done->user_cookie.as_ptr;

	if (record->question > c->answered && done->status == DAT_DTO_SUCCESS)
		c->answered = record->question;
	free(record);
}

/* Take answers until it is that to this question. False: it is late. */
static int client_await(struct client *c, int question, DAT_TIMEOUT us)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	while (c->answered < question) {
		ret = dat_evd_wait(c->end.recv, us, 1, &event, &more);
		if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
			return 0;
		check(ret, "dat_evd_wait");
		client_take(c, &event);
	}
	return 1;
}

static void client_question(struct client *c, int question)
{
	struct record *record;

	for (int i = 1; i < ASKS; i++) {
		record = client_ask(c, question);
		if (client_await(c, question, LATE_US))
			return;
		if (c->frees_early)
			free(record);
	}
	client_ask(c, question);
	if (!client_await(c, question, WAIT_US))
		fail("there is no answer");
}

static void ask(int number)
{
	static struct client c;
	DAT_EVENT event;

	c.frees_early = number == 0;
	end_open(&c.end, "emu0", BYTES * (1 + QUESTIONS * ASKS));
	c.ep = end_ep(&c.end, QUESTIONS * ASKS, QUESTIONS * ASKS);
	meet_connect(&c.end, c.ep, number);
	for (int question = 1; question <= QUESTIONS; question++)
		client_question(&c, question);
	check(dat_ep_disconnect(c.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	meet_left(&c.end);
	/* Completions of an EP that is freed are never dequeued. */
	while (next_event(c.end.recv, &event))
		client_take(&c, &event);
	check(dat_ep_free(c.ep), "dat_ep_free");
	end_close(&c.end);
}

int main(int argc, char **argv)
{
	int number = meet_role(argc, argv);

	if (number < 0)
		meet_echo(QUESTIONS * ASKS, BYTES);
	else
		ask(number);
	return 0;
}
