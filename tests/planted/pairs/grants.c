/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client sends messages under credits, and waits for a grant when it has none left. The server
 * has BUFFERS Receives posted. When it has posted GRANT of them again it sends a grant, if the last
 * one has completed: there is one buffer for grants.
 *
 * Planted: when the last grant has not completed yet, the server looks again at the next message.
 * There is none if the client has no credits left: then both wait forever. The grant completes
 * before the messages that it allows, unless its acknowledgement is lost.
 */
#include "meet.h"

#define MESSAGES 12
#define BUFFERS  4
#define GRANT    2
#define BYTES    64

struct server {
	struct end end;
	DAT_EP_HANDLE ep;
	DAT_UINT64 used[MESSAGES]; /* buffers to be posted again */
	int used_count;
	int granting; /* the last grant is still being sent */
	int granted;  /* credits, with those that the client begins with */
};

static void server_grant(struct server *s)
{
	for (int i = 0; i < GRANT; i++) {
		DAT_UINT64 buffer = s->used[--s->used_count];

		post_recv(&s->end, s->ep, BYTES * (1 + buffer), BYTES, buffer);
	}
	post_send(&s->end, s->ep, 0, BYTES, 0);
	s->granting = 1;
	s->granted += GRANT;
}

static void server_message(struct server *s)
{
	DAT_EVENT event;

	s->used[s->used_count++] = wait_dto(s->end.recv);
	if (s->granting && next_event(s->end.request, &event))
		s->granting = 0;
	if (s->used_count < GRANT || s->granted == MESSAGES)
		return;
	if (s->granting && BUG)
		return;
	if (s->granting)
		wait_dto(s->end.request);
	server_grant(s);
}

static void serve(void)
{
	static struct server s;
	DAT_PSP_HANDLE psp;
	int number;

	end_open(&s.end, "emu0", (1 + BUFFERS) * BYTES);
	s.ep = end_ep(&s.end, BUFFERS, 1);
	s.granted = BUFFERS;
	for (DAT_UINT64 i = 0; i < BUFFERS; i++)
		post_recv(&s.end, s.ep, BYTES * (1 + i), BYTES, i);
	psp = meet_listen(&s.end);
	meet_accept(&s.end, meet_client(&s.end, &number), s.ep);
	for (int i = 0; i < MESSAGES; i++)
		server_message(&s);
	meet_left(&s.end);
	check(dat_ep_free(s.ep), "dat_ep_free");
	check(dat_psp_free(psp), "dat_psp_free");
	end_close(&s.end);
}

static void ask(int number)
{
	static struct end end;
	int credits = BUFFERS;
	DAT_EP_HANDLE ep;

	end_open(&end, "emu0", (1 + BUFFERS) * BYTES);
	ep = end_ep(&end, BUFFERS, 1);
	for (DAT_UINT64 i = 0; i < BUFFERS; i++)
		post_recv(&end, ep, BYTES * (1 + i), BYTES, i);
	meet_connect(&end, ep, number);
	for (int i = 0; i < MESSAGES; i++, credits--) {
		if (credits == 0) {
			DAT_UINT64 buffer = wait_dto(end.recv);

			post_recv(&end, ep, BYTES * (1 + buffer), BYTES, buffer);
			credits = GRANT;
		}
		post_send(&end, ep, 0, BYTES, 0);
		wait_dto(end.request);
	}
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
