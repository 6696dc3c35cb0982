/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data by RDMA Write, and a message that announces it.
 *
 * Planted: data and message use two connections, and only the order of posting suggests that the
 * data arrives first.
 */
#include <string.h>

#include "pair.h"

#define ROUNDS 10
#define BYTES  1024

static void write_data(struct end *from, DAT_EP_HANDLE ep, const struct end *to)
{
	DAT_LMR_TRIPLET local = { .lmr_context = from->context,
				  .virtual_address = (DAT_VADDR)from->memory,
				  .segment_length = BYTES };
	DAT_RMR_TRIPLET remote = { .rmr_context = to->rmr,
				   .target_address = (DAT_VADDR)to->memory,
				   .segment_length = BYTES };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	check(dat_ep_post_rdma_write(ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG),
	      "dat_ep_post_rdma_write");
}

int main(void)
{
	static struct end from, to;
	DAT_EP_HANDLE data[2], messages[2];
	int round;

	end_open(&from, "emu0", BYTES);
	end_open(&to, "emu1", BYTES);
	data[0] = end_ep(&from, 2, 4);
	data[1] = end_ep(&to, 2, 4);
	messages[0] = end_ep(&from, 2, 4);
	messages[1] = end_ep(&to, 2, 4);
	connect_pair(&from, data[0], &to, data[1]);
	connect_pair(&from, messages[0], &to, messages[1]);
	for (round = 1; round <= ROUNDS; round++) {
		post_recv(&to, BUG ? messages[1] : data[1], 0, 0, 0);
		memset(from.memory, round, BYTES);
		write_data(&from, data[0], &to);
		post_send(&from, BUG ? messages[0] : data[0], 0, 0, 2);
		wait_dto(to.recv);
		if (to.memory[0] != round || to.memory[BYTES - 1] != round)
			fail("the message is there, and the data is not");
		wait_dto(from.request);
		wait_dto(from.request);
	}
	check(dat_ep_free(data[0]), "dat_ep_free");
	check(dat_ep_free(data[1]), "dat_ep_free");
	check(dat_ep_free(messages[0]), "dat_ep_free");
	check(dat_ep_free(messages[1]), "dat_ep_free");
	end_close(&from);
	end_close(&to);
	return 0;
}
