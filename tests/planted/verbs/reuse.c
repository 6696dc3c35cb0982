/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message every few microseconds, from two buffers in turn.
 *
 * Planted: a buffer is filled again when the next but one message is due, and not when its Send
 * completes. Without faults that has happened long before.
 */
#include <string.h>

#include "ends.h"

#define MESSAGES 30
#define BYTES    512
#define WINDOW   4
#define PAUSE    10 /* polls between two messages */

static struct end from, to;
static struct ibv_qp *a, *b;
static int got, done;

/* Each message is there as it was filled in. */
static void look(void)
{
	const char *at;
	struct ibv_wc wc;

	if (next_wc(to.recv_cq, &wc)) {
		need(wc.status == IBV_WC_SUCCESS, "a message did not arrive");
		at = to.memory + wc.wr_id * BYTES;
		got++;
		need(at[0] == got && at[BYTES - 1] == got, "a message is another one");
		post_recv(&to, b, (int)wc.wr_id * BYTES, BYTES, wc.wr_id);
	}
	if (next_wc(from.send_cq, &wc)) {
		need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
		done++;
	}
}

int main(void)
{
	end_open(&from, 0);
	end_open(&to, 1);
	a = end_qp(&from);
	b = end_qp(&to);
	connect_qps(&from, a, &to, b, 7);
	for (int i = 0; i < WINDOW; i++)
		post_recv(&to, b, i * BYTES, BYTES, (uint64_t)i);
	for (int sent = 1; sent <= MESSAGES; sent++) {
		while (!BUG && done < sent - 2)
			look();
		memset(from.memory + sent % 2 * BYTES, sent, BYTES);
		post_send(&from, a, sent % 2 * BYTES, BYTES, 0);
		for (int i = 0; i < PAUSE; i++)
			look();
	}
	while (got < MESSAGES || done < MESSAGES)
		look();
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	end_close(&from);
	end_close(&to);
	return 0;
}
