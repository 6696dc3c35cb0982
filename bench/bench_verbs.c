/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_verbs.c - the job of bench_message by bare verbs, one outstanding: what is below every layer.
 *
 *	bench_verbs ROUNDS	on the stub of tests/stubverbs; instructions-hw.sh counts each step
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/stubverbs/stub.h"

#define BYTES 64

static struct ibv_qp *from, *to;
static struct ibv_cq *send_cq, *recv_cq;
static struct ibv_mr *mr;
static unsigned char memory[2 * BYTES];

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_verbs: %s failed\n", what);
	exit(1);
}

static struct ibv_qp *make_qp(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	need(qp != NULL, "ibv_create_qp");
	return qp;
}

static void set_up(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);

	ibv_free_device_list(list);
	send_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	recv_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	need(send_cq && recv_cq && mr, "set-up");
	from = make_qp(pd);
	to = make_qp(pd);
	stub_connect((struct stub_qp *)from, (struct stub_qp *)to);
}

static inline void poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n;

	while ((n = ibv_poll_cq(cq, 1, wc)) == 0)
		;
	need(n == 1 && wc->status == IBV_WC_SUCCESS, "a completion");
}

/* ---- the steps of library.c ---- */

static __attribute__((noinline)) void step_post_recv(struct ibv_recv_wr *wr, uint64_t number)
{
	struct ibv_recv_wr *bad;

	wr->wr_id = number;
	need(ibv_post_recv(to, wr, &bad) == 0, "ibv_post_recv");
}

static __attribute__((noinline)) void step_post_send(struct ibv_send_wr *wr, uint64_t number)
{
	struct ibv_send_wr *bad;

	wr->wr_id = number;
	need(ibv_post_send(from, wr, &bad) == 0, "ibv_post_send");
}

static __attribute__((noinline)) void step_take_recv(struct ibv_wc *wc)
{
	poll_one(recv_cq, wc);
	need(wc->byte_len == BYTES, "a Receive");
}

static __attribute__((noinline)) void step_take_send(struct ibv_wc *wc)
{
	poll_one(send_cq, wc);
}

static __attribute__((noinline)) void run_steps(long rounds)
{
	struct ibv_sge source = { .addr = (uintptr_t)memory, .length = BYTES, .lkey = mr->lkey };
	struct ibv_sge target = { .addr = (uintptr_t)memory + BYTES,
				  .length = BYTES,
				  .lkey = mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &target, .num_sge = 1 };
	struct ibv_send_wr send = { .sg_list = &source,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	for (long n = 0; n < rounds; n++) {
		step_post_recv(&recv, (uint64_t)n);
		step_post_send(&send, (uint64_t)n);
		step_take_recv(&wc);
		step_take_send(&wc);
	}
}

int main(int argc, char **argv)
{
	set_up();
	run_steps(argc > 1 ? atol(argv[1]) : 1);
	return 0;
}
