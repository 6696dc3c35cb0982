/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream of messages under credits. The receiver has BUFFERS Receives posted. Each time it has
 * posted GRANT of them again it sends a message that grants as many credits.
 *
 * Planted: the sender begins with one credit too many. A message without a buffer is retransmitted
 * after a pause (RNR), which hides the bug if the receiver posts again soon.
 */
#include "pair.h"

#define MESSAGES 40
#define BUFFERS  4
#define GRANT    2
#define BYTES    64

struct sender {
	struct end end;
	DAT_EP_HANDLE ep;
	int credits, sent, done;
};

struct receiver {
	struct end end;
	DAT_EP_HANDLE ep;
	int got, used[BUFFERS], used_count; /* buffers to be posted again */
	int granting;                       /* the last grant is still being sent */
};

/* A broken connection ends the program. */
static void look_at_connection(struct end *end)
{
	DAT_EVENT event;

	if (next_event(end->connect, &event) &&
	    event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		fail("the connection broke");
}

static int sender_step(struct sender *s)
{
	DAT_EVENT event;
	int progress = 0;

	look_at_connection(&s->end);
	while (next_event(s->end.recv, &event)) {
		DAT_UINT64 buffer = event.event_data.dto_completion_event_data.user_cookie.as_64;

		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			fail("no more grants");
		s->credits += GRANT;
		post_recv(&s->end, s->ep, BYTES * (1 + buffer), BYTES, buffer);
		progress = 1;
	}
	while (next_event(s->end.request, &event)) {
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			fail("a message was lost");
		s->done++;
		progress = 1;
	}
	for (; s->credits > 0 && s->sent < MESSAGES && s->sent < s->done + 2 * BUFFERS; s->sent++) {
		post_send(&s->end, s->ep, 0, BYTES, (DAT_UINT64)s->sent);
		s->credits--;
		progress = 1;
	}
	return progress;
}

static int receiver_step(struct receiver *r)
{
	DAT_EVENT event;
	int progress = 0, i;

	while (next_event(r->end.request, &event)) {
		r->granting = 0;
		progress = 1;
	}
	while (next_event(r->end.recv, &event)) {
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			fail("a message did not arrive");
		r->used[r->used_count++] =
			(int)event.event_data.dto_completion_event_data.user_cookie.as_64;
		r->got++;
		progress = 1;
	}
	/* There is one buffer for grants: fill it again only after the last grant was sent. */
	if (r->used_count < GRANT || r->granting)
		return progress;
	for (i = 0; i < GRANT; i++) {
		r->used_count--;
		post_recv(&r->end, r->ep, BYTES * (1 + (size_t)r->used[r->used_count]), BYTES,
			  (DAT_UINT64)r->used[r->used_count]);
	}
	post_send(&r->end, r->ep, 0, BYTES, 0);
	r->granting = 1;
	return 1;
}

int main(void)
{
	static struct sender s;
	static struct receiver r;
	int i;

	end_open(&s.end, "emu0", (BUFFERS + 1) * BYTES);
	end_open(&r.end, "emu1", (BUFFERS + 1) * BYTES);
	s.ep = end_ep(&s.end, BUFFERS, 2 * BUFFERS);
	r.ep = end_ep(&r.end, BUFFERS, 1);
	for (i = 0; i < BUFFERS; i++) {
		post_recv(&r.end, r.ep, BYTES * (1 + (size_t)i), BYTES, (DAT_UINT64)i);
		post_recv(&s.end, s.ep, BYTES * (1 + (size_t)i), BYTES, (DAT_UINT64)i);
	}
	connect_pair(&s.end, s.ep, &r.end, r.ep);
	s.credits = BUFFERS + BUG;
	while (r.got < MESSAGES || s.done < MESSAGES)
		idle(s.end.recv, sender_step(&s) + receiver_step(&r));
	check(dat_ep_free(s.ep), "dat_ep_free");
	check(dat_ep_free(r.ep), "dat_ep_free");
	end_close(&s.end);
	end_close(&r.end);
	return 0;
}
