/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client asks one question after another, each a number, and asks again when the answer is late.
 * The server answers every message with the number in it.
 *
 * Planted: the client takes the next answer that comes as that to the present question. If it has
 * asked twice there are two answers, and the second one meets the next question.
 */
#include <stdlib.h>

#include "meet.h"

#define QUESTIONS 4
#define ASKS      4 /* in all, of one question */
#define SLOTS     (QUESTIONS * ASKS)
#define BYTES     64
#define LATE_US   50
#define WAIT_US   1000000

static size_t slot(int i)
{
	return BYTES * (size_t)i;
}

/* Post from memory that no other message uses, however late the transfer is. */
static int answer(struct end *end, DAT_EP_HANDLE ep, DAT_UINT64 i)
{
	DAT_LMR_TRIPLET iov = { .lmr_context = end->context,
				.virtual_address =
					(DAT_VADDR)(uintptr_t)(end->memory + slot((int)i)),
				.segment_length = BYTES };
	DAT_DTO_COOKIE cookie = { .as_64 = i };

	return dat_ep_post_send(ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS;
}

static void serve(void)
{
	static struct end end;
	DAT_EVENT event;
	DAT_DTO_COMPLETION_EVENT_DATA *done = &event.event_data.dto_completion_event_data;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	int number;

	end_open(&end, "emu0", slot(SLOTS + 1));
	ep = end_ep(&end, SLOTS + 1, SLOTS);
	/* One more than there are messages: it is flushed when the client is gone. */
	for (int i = 0; i <= SLOTS; i++)
		post_recv(&end, ep, slot(i), BYTES, (DAT_UINT64)i);
	psp = meet_listen(&end);
	meet_accept(&end, meet_client(&end, &number), ep);
	do
		wait_event(end.recv, DAT_DTO_COMPLETION_EVENT, &event);
	while (done->status == DAT_DTO_SUCCESS && answer(&end, ep, done->user_cookie.as_64));
	meet_left(&end);
	check(dat_ep_free(ep), "dat_ep_free");
	check(dat_psp_free(psp), "dat_psp_free");
	end_close(&end);
}

/* The next answer, or 0 if it is late. */
static int next_answer(struct end *end, DAT_TIMEOUT us, int *question)
{
	DAT_EVENT event;
	DAT_DTO_COMPLETION_EVENT_DATA *done = &event.event_data.dto_completion_event_data;
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(end->recv, us, 1, &event, &more);

	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		return 0;
	check(ret, "dat_evd_wait");
	if (done->status != DAT_DTO_SUCCESS)
		fail("an answer got lost");
	*question = end->memory[slot(SLOTS + (int)done->user_cookie.as_64)];
	return 1;
}

static void ask_one(struct end *end, DAT_EP_HANDLE ep, int question)
{
	int answered = 0, about;

	for (int i = 0; i < ASKS && !answered; i++) {
		int at = (question - 1) * ASKS + i;

		end->memory[slot(at)] = (char)question;
		post_send(end, ep, slot(at), BYTES, 0);
		answered = next_answer(end, LATE_US, &about);
		while (answered && !BUG && about < question)
			answered = next_answer(end, LATE_US, &about);
	}
	while (!answered || (!BUG && about < question))
		answered = next_answer(end, WAIT_US, &about);
	if (about != question)
		fail("this is the answer to another question");
}

static void ask(int number)
{
	static struct end end;
	DAT_EP_HANDLE ep;

	end_open(&end, "emu0", slot(2 * SLOTS));
	ep = end_ep(&end, SLOTS, SLOTS);
	for (int i = 0; i < SLOTS; i++)
		post_recv(&end, ep, slot(SLOTS + i), BYTES, (DAT_UINT64)i);
	meet_connect(&end, ep, number);
	for (int question = 1; question <= QUESTIONS; question++)
		ask_one(&end, ep, question);
	meet_leave(&end, ep);
	end_close(&end);
}

int main(int argc, char **argv)
{
	int number = meet_role(argc, argv);

	if (number < 0)
		serve();
	else
		ask(number);
	return 0;
}
