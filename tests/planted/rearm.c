/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server with a Shared Receive Queue that it refills at the low watermark event. It answers each
 * request in the buffer that the request came in, and frees the buffer when the answer was sent.
 *
 * Planted: at the event it sets the watermark again only if it had a buffer to post. If all buffers
 * are still used by answers, no event ever comes again.
 *
 * With -DROUND, another bug: it sets the watermark in a loop while there are events. If too few
 * buffers are free, the next event comes at once, and the loop never ends.
 */
#include "pair.h"

#ifdef ROUND
#define ROUNDS 1
#else
#define ROUNDS 0
#endif

#define CALLS   60
#define WINDOW  4
#define BUFFERS 12
#define LOW     6
#define BYTES   64

struct server {
	struct end end;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	int free[BUFFERS], free_count;
};

struct client {
	struct end end;
	DAT_EP_HANDLE ep;
	int called, left, answered;
};

static int refill(struct server *s)
{
	DAT_DTO_COOKIE cookie;
	DAT_LMR_TRIPLET iov = { .lmr_context = s->end.context, .segment_length = BYTES };
	int posted = 0;

	for (; s->free_count > 0; posted++) {
		cookie.as_64 = (DAT_UINT64)s->free[--s->free_count];
		iov.virtual_address = (DAT_VADDR)(s->end.memory + cookie.as_64 * BYTES);
		check(dat_srq_post_recv(s->srq, 1, &iov, cookie), "dat_srq_post_recv");
	}
	return posted;
}

static int server_step(struct server *s)
{
	DAT_EVENT event;
	DAT_UINT64 buffer;
	int progress = 0;

	while (next_event(s->end.request, &event)) {
		buffer = event.event_data.dto_completion_event_data.user_cookie.as_64;
		s->free[s->free_count++] = (int)buffer;
		progress = 1;
	}
	while (next_event(s->end.async, &event)) {
		if (event.event_number != DAT_ASYNC_SRQ_LOW_WATERMARK)
			fail("the adapter reports an error");
		if (refill(s) || !BUG)
			check(dat_srq_set_lw(s->srq, LOW), "dat_srq_set_lw");
		progress = 1;
		if (!ROUNDS)
			break;
	}
	while (next_event(s->end.recv, &event)) {
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			return progress;
		buffer = event.event_data.dto_completion_event_data.user_cookie.as_64;
		post_send(&s->end, s->ep, buffer * BYTES, BYTES, buffer);
		progress = 1;
	}
	return progress;
}

static int client_step(struct client *c)
{
	DAT_EVENT event;
	int progress = 0;

	if (next_event(c->end.connect, &event))
		fail("the server hung up");
	while (next_event(c->end.request, &event)) {
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			fail("a request was lost");
		c->left++;
		progress = 1;
	}
	while (next_event(c->end.recv, &event)) {
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			fail("an answer was lost");
		c->answered++;
		progress = 1;
	}
	for (;
	     c->called < CALLS && c->called < c->answered + WINDOW && c->called < c->left + WINDOW;
	     c->called++) {
		post_recv(&c->end, c->ep, BYTES, BYTES, 0);
		post_send(&c->end, c->ep, 0, BYTES, 0);
		progress = 1;
	}
	return progress;
}

int main(void)
{
	static struct server s;
	static struct client c;
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = BUFFERS, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = { .max_recv_dtos = BUFFERS,
			     .max_request_dtos = BUFFERS,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };
	int i;

	end_open(&s.end, "emu0", BUFFERS * BYTES);
	end_open(&c.end, "emu1", 2 * BYTES);
	check(dat_srq_create(s.end.ia, s.end.pz, &srq_attr, &s.srq), "dat_srq_create");
	for (i = 0; i < BUFFERS; i++)
		s.free[s.free_count++] = i;
	refill(&s);
	check(dat_srq_set_lw(s.srq, LOW), "dat_srq_set_lw");
	check(dat_ep_create_with_srq(s.end.ia, s.end.pz, s.end.recv, s.end.request, s.end.connect,
				     s.srq, &attr, &s.ep),
	      "dat_ep_create_with_srq");
	c.ep = end_ep(&c.end, WINDOW, WINDOW);
	connect_pair(&c.end, c.ep, &s.end, s.ep);
	while (c.answered < CALLS || c.left < CALLS)
		idle(c.end.recv, server_step(&s) + client_step(&c));
	check(dat_ep_free(c.ep), "dat_ep_free");
	check(dat_ep_free(s.ep), "dat_ep_free");
	check(dat_srq_free(s.srq), "dat_srq_free");
	end_close(&c.end);
	end_close(&s.end);
	return 0;
}
