/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sender that expects its QP to fail, and then accepts that part of the messages is lost. For
 * `--faults all,break`. It sleeps until a request completes.
 *
 * Planted: a flushed request is not counted as done, so after an error the sender waits forever.
 */
#include "ends.h"

#define MESSAGES 20
#define WINDOW   4
#define BYTES    64

int main(void)
{
	int posted = 0, done = 0, failed = 0;
	static struct end from, to;
	struct ibv_qp *a, *b;
	struct ibv_wc wc;

	end_open(&from, 0);
	end_open(&to, 1);
	a = end_qp(&from);
	b = end_qp(&to);
	connect_qps(&from, a, &to, b, 7);
	for (int i = 0; i < MESSAGES; i++)
		post_recv(&to, b, 0, BYTES, (uint64_t)i);
	while (failed ? done < posted : done < MESSAGES) {
		while (!failed && posted < MESSAGES && posted < done + WINDOW)
			post_send(&from, a, 0, BYTES, (uint64_t)posted++);
		sleep_wc(&from, &wc);
		if (wc.status != IBV_WC_WR_FLUSH_ERR || !BUG)
			done++;
		failed |= wc.status != IBV_WC_SUCCESS;
	}
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	end_close(&from);
	end_close(&to);
	return 0;
}
