/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client asks, and a server, another process, answers.
 *
 * Planted, and shown by watch=posted: the server clears its buffer after it has posted it.
 */
#include <string.h>

#include "tests/planted/pairs/meet.h"

#define BYTES  256
#define ROUNDS 10

/* Clears each Receive after its post. */
static void serve(void)
{
	static struct end end;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	int number;

	end_open(&end, "emu0", 2 * BYTES);
	psp = meet_listen(&end);
	ep = end_ep(&end, 2, 2);
	post_recv(&end, ep, 0, BYTES, 7);
	meet_accept(&end, meet_client(&end, &number), ep);
	for (int i = 0; i < ROUNDS; i++) {
		wait_dto(end.recv);
		if (!BUG)
			end.memory[0] = 0;
		post_recv(&end, ep, 0, BYTES, 7);
		if (BUG)
			end.memory[0] = 0;
		post_send(&end, ep, BYTES, BYTES, 0);
		wait_dto(end.request);
	}
	meet_left(&end);
	check(dat_ep_free(ep), "dat_ep_free");
	check(dat_psp_free(psp), "dat_psp_free");
	end_close(&end);
}

static void ask(int number)
{
	static struct end end;
	DAT_EP_HANDLE ep;

	end_open(&end, "emu0", 2 * BYTES);
	ep = end_ep(&end, 2, 2);
	meet_connect(&end, ep, number);
	for (int i = 0; i < ROUNDS; i++) {
		memset(end.memory, 'q', BYTES);
		post_recv(&end, ep, BYTES, BYTES, 0);
		post_send(&end, ep, 0, BYTES, 0);
		wait_dto(end.request);
		wait_dto(end.recv);
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
