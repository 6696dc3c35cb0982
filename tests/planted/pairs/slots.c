/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server tells two clients to begin, the newest first. Each asks a question, which is the letter
 * of the client, and gets it back.
 *
 * Planted: the server expects the questions in that order. No fault is needed to show that it is
 * wrong: both are told at the same time, so that it is a matter of whose turn it is.
 */
#include "meet.h"

#define CLIENTS 2
#define BYTES   64

static size_t slot(DAT_UINT64 client)
{
	return BYTES * (1 + (size_t)client);
}

static void serve(void)
{
	static struct end end;
	DAT_EP_HANDLE eps[CLIENTS];
	DAT_PSP_HANDLE psp;
	int number;

	end_open(&end, "emu0", (1 + CLIENTS) * BYTES);
	psp = meet_listen(&end);
	for (DAT_UINT64 i = 0; i < CLIENTS; i++) {
		eps[i] = end_ep(&end, 1, 1);
		post_recv(&end, eps[i], slot(i), BYTES, i);
		meet_accept(&end, meet_client(&end, &number), eps[i]);
	}
	for (DAT_UINT64 i = CLIENTS; i-- > 0;)
		post_send(&end, eps[i], 0, BYTES, i);
	for (DAT_UINT64 i = 0; i < CLIENTS; i++)
		wait_dto(end.request);
	for (DAT_UINT64 i = 0; i < CLIENTS; i++) {
		DAT_UINT64 from = wait_dto(end.recv);

		post_send(&end, eps[BUG ? CLIENTS - 1 - i : from], slot(from), BYTES, i);
	}
	for (int i = 0; i < CLIENTS; i++)
		meet_left(&end);
	for (int i = 0; i < CLIENTS; i++)
		check(dat_ep_free(eps[i]), "dat_ep_free");
	check(dat_psp_free(psp), "dat_psp_free");
	end_close(&end);
}

static void ask(int number)
{
	static struct end end;
	DAT_EP_HANDLE ep;

	end_open(&end, "emu0", 2 * BYTES);
	ep = end_ep(&end, 2, 1);
	end.memory[0] = (char)('a' + number);
	post_recv(&end, ep, BYTES, BYTES, 0);
	post_recv(&end, ep, BYTES, BYTES, 1);
	meet_connect(&end, ep, number);
	wait_dto(end.recv);
	post_send(&end, ep, 0, BYTES, 0);
	wait_dto(end.request);
	wait_dto(end.recv);
	if (end.memory[BYTES] != end.memory[0])
		fail("this is the answer to another client");
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
