/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client says hello, stays for a while, and says goodbye. Both leave when the other one is gone.
 *
 * Planted: the server passes over a Receive that was flushed, and waits for the goodbye. If the
 * client is killed none comes: its connection ends, an event that the server looks at only after
 * the goodbye.
 */
#include <stdlib.h>

#include "meet.h"

#define WORDS   2
#define BYTES   64
#define STAY_US 20
#define WAIT_US 1000000

/* The other one is gone: this is no failure. */
static void leave(struct end *end)
{
	check(dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(end->memory);
	exit(0);
}

static void wait_or_leave(struct end *end, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
			  DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(evd, WAIT_US, 1, event, &more);

	if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
		check(ret, "dat_evd_wait");
	if (ret != DAT_SUCCESS || event->event_number != number)
		leave(end);
}

static void server_accept(struct end *end, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	wait_or_leave(end, end->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	if (dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL) !=
	    DAT_SUCCESS)
		leave(end);
	wait_or_leave(end, end->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static void server_word(struct end *end, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	for (;;) {
		wait_event(end->recv, DAT_DTO_COMPLETION_EVENT, &event);
		if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
			break;
		if (!BUG)
			leave(end);
	}
	post_recv(end, ep, 0, BYTES, 0);
}

static void serve(void)
{
	static struct end end;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	end_open(&end, "emu0", BYTES);
	ep = end_ep(&end, 1, 1);
	post_recv(&end, ep, 0, BYTES, 0);
	psp = meet_listen(&end);
	server_accept(&end, ep);
	for (int i = 0; i < WORDS; i++)
		server_word(&end, ep);
	wait_or_leave(&end, end.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	check(dat_ep_free(ep), "dat_ep_free");
	check(dat_psp_free(psp), "dat_psp_free");
	end_close(&end);
}

static void client_say(struct end *end, DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET word = { .lmr_context = end->context,
				 .virtual_address = (DAT_VADDR)(uintptr_t)end->memory,
				 .segment_length = BYTES };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_EVENT event;

	if (dat_ep_post_send(ep, 1, &word, cookie, DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
		leave(end);
	wait_or_leave(end, end->request, DAT_DTO_COMPLETION_EVENT, &event);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		leave(end);
}

static void ask(int number)
{
	static struct end end;
	DAT_COUNT more;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	end_open(&end, "emu0", BYTES);
	ep = end_ep(&end, 1, 1);
	meet_ask(ep, number);
	wait_or_leave(&end, end.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	client_say(&end, ep);
	if (dat_evd_wait(end.connect, STAY_US, 1, &event, &more) == DAT_SUCCESS)
		leave(&end);
	client_say(&end, ep);
	if (dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS)
		leave(&end);
	wait_or_leave(&end, end.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	check(dat_ep_free(ep), "dat_ep_free");
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
