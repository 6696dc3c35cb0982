/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sender that expects its connection to break, and then accepts that part of the messages is
 * lost. For `--faults ...,break`.
 *
 * Planted: a flushed message is not counted as done, so after a break the sender waits forever for
 * its completions.
 */
#include "pair.h"

#define MESSAGES 20
#define WINDOW   4
#define BYTES    64
#define PATIENCE 50000 /* us to wait for a message */

struct sender {
	struct end end;
	DAT_EP_HANDLE ep;
	int posted, done, broken;
};

static void sent(struct sender *s, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (dto->status == DAT_DTO_SUCCESS || !BUG)
		s->done++;
	if (dto->status != DAT_DTO_SUCCESS)
		s->broken = 1;
}

static void send_all(struct sender *s, struct end *to, DAT_EP_HANDLE to_ep)
{
	DAT_EVENT event;

	while (s->done < MESSAGES && !s->broken) {
		while (s->posted < MESSAGES && s->posted < s->done + WINDOW) {
			post_recv(to, to_ep, 0, BYTES, 0);
			post_send(&s->end, s->ep, 0, BYTES, (DAT_UINT64)s->posted++);
		}
		wait_event(s->end.request, DAT_DTO_COMPLETION_EVENT, &event);
		sent(s, &event);
	}
	/* Buffers may be reused once their Sends have completed. */
	while (s->done < s->posted) {
		wait_event(s->end.request, DAT_DTO_COMPLETION_EVENT, &event);
		sent(s, &event);
	}
}

/* A receiver is not told that the other side is dead, so it waits only for a limited time. */
static void hang_up(struct end *end, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;
	DAT_COUNT more;

	while (dat_evd_wait(end->recv, PATIENCE, 1, &event, &more) == DAT_SUCCESS)
		;
	dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
	check(dat_ep_free(ep), "dat_ep_free");
}

int main(void)
{
	static struct sender s;
	static struct end to;
	DAT_EP_HANDLE to_ep;

	end_open(&s.end, "emu0", BYTES);
	end_open(&to, "emu1", BYTES);
	s.ep = end_ep(&s.end, 1, WINDOW);
	to_ep = end_ep(&to, MESSAGES, 1);
	connect_pair(&s.end, s.ep, &to, to_ep);
	send_all(&s, &to, to_ep);
	dat_ep_disconnect(s.ep, DAT_CLOSE_ABRUPT_FLAG);
	check(dat_ep_free(s.ep), "dat_ep_free");
	hang_up(&to, to_ep);
	end_close(&s.end);
	end_close(&to);
	return 0;
}
