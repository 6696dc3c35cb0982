/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data by RDMA Write, and a message that announces it.
 *
 * Planted: data and message use two QPs, and only the order of posting suggests that the data
 * arrives first.
 */
#include <string.h>

#include "ends.h"

#define ROUNDS 10
#define BYTES  1024

int main(void)
{
	static struct end from, to;
	struct ibv_qp *data[2], *messages[2];

	end_open(&from, 0);
	end_open(&to, 1);
	for (int i = 0; i < 2; i++) {
		data[i] = end_qp(i ? &to : &from);
		messages[i] = end_qp(i ? &to : &from);
	}
	connect_qps(&from, data[0], &to, data[1], 7);
	connect_qps(&from, messages[0], &to, messages[1], 7);
	for (int round = 1; round <= ROUNDS; round++) {
		post_recv(&to, BUG ? messages[1] : data[1], BYTES, 1, 0);
		memset(from.memory, round, BYTES);
		post_write(&from, data[0], BYTES, &to);
		post_send(&from, BUG ? messages[0] : data[0], 0, 1, 0);
		wait_wc(to.recv_cq);
		need(to.memory[0] == round && to.memory[BYTES - 1] == round,
		     "the message is there, and the data is not");
		wait_wc(from.send_cq);
		wait_wc(from.send_cq);
	}
	for (int i = 0; i < 2; i++) {
		ibv_destroy_qp(data[i]);
		ibv_destroy_qp(messages[i]);
	}
	end_close(&from);
	end_close(&to);
	return 0;
}
