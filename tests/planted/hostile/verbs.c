/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs CASE [fixed]: as udapl.c, with programs of libibverbs. */
#include <string.h>

#include "tests/planted/verbs/ends.h"

#define BYTES  256
#define ROUNDS 20

static struct end from, to;
static struct ibv_qp *a, *b;
static struct ibv_srq *srq;
static int fixed;

static void poll_once(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	need(!next_wc(cq, &wc), "a completion came too early");
}

/* watch=posted: the last byte of a message notes that it is sent. */
static void overwrite(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		from.memory[BYTES - 1] = 0;
		post_recv(&to, b, 0, BYTES, 0);
		post_send(&from, a, 0, BYTES, 42);
		if (!fixed)
			from.memory[BYTES - 1] = 1;
		wait_wc(from.send_cq);
		wait_wc(to.recv_cq);
		from.memory[BYTES - 1] = 1;
	}
}

/* watch=posted: Receives of a shared queue are marked as free after their posts. */
static void shared(void)
{
	struct ibv_sge sge = { (uintptr_t)to.memory, BYTES, to.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;

	for (int i = 0; i < ROUNDS; i++) {
		if (fixed)
			to.memory[0] = 'f';
		need(ibv_post_srq_recv(srq, &wr, &bad) == 0, "ibv_post_srq_recv");
		if (!fixed)
			to.memory[0] = 'f';
		post_send(&from, a, 0, BYTES, 0);
		wait_wc(from.send_cq);
		wait_wc(to.recv_cq);
	}
}

/* watch=posted: the last byte of an RDMA Write notes that it is posted. */
static void source(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		from.memory[BYTES - 1] = 0;
		post_write(&from, a, BYTES, &to);
		if (!fixed)
			from.memory[BYTES - 1] = 1;
		wait_wc(from.send_cq);
		from.memory[BYTES - 1] = 1;
	}
}

/* watch=posted: the buffer of an RDMA Read is cleared after it was posted. */
static void sink(void)
{
	for (int i = 1; i <= ROUNDS; i++) {
		memset(to.memory, i, BYTES);
		if (fixed)
			memset(from.memory, 0, BYTES);
		post_read(&from, a, BYTES, &to);
		if (!fixed)
			memset(from.memory, 0, BYTES);
		wait_wc(from.send_cq);
		need(from.memory[0] == i, "the Read got other bytes");
	}
}

/* poison=on: what changes in the buffer of a Receive is the message. */
static void peek(void)
{
	memset(from.memory, 'm', BYTES);
	post_recv(&to, b, 0, BYTES, 0);
	need(fixed || to.memory[0] == 0, "a message is there before it is sent");
	post_send(&from, a, 0, BYTES, 0);
	while (!fixed && to.memory[0] != 'm')
		poll_once(to.send_cq);
	if (fixed)
		wait_wc(to.recv_cq);
	need(to.memory[0] == 'm', "the message is another one");
	if (!fixed)
		wait_wc(to.recv_cq);
	wait_wc(from.send_cq);
}

/* placement=tail, placement=random: a Write is there once its last byte is. */
static void last_byte(void)
{
	for (int i = 1; i <= ROUNDS; i++) {
		memset(from.memory, i, BYTES);
		post_write(&from, a, BYTES, &to);
		while (!fixed && to.memory[BYTES - 1] != i)
			poll_once(to.recv_cq);
		if (fixed)
			wait_wc(from.send_cq);
		for (int j = 0; j < BYTES; j++)
			need(to.memory[j] == i, "only a part of the Write is there");
		if (!fixed)
			wait_wc(from.send_cq);
	}
}

/* retry=spurious: a Send completes before the answer to it arrives. */
static void reply_first(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < ROUNDS; i++) {
		post_recv(&to, b, 0, 8, 0);
		post_recv(&from, a, BYTES, 8, 0);
		post_send(&from, a, 0, 8, 0);
		wait_wc(to.recv_cq);
		post_send(&to, b, 0, 8, 0);
		wait_wc(from.recv_cq);
		need(fixed || next_wc(from.send_cq, &wc),
		     "the answer overtook the completion of the request");
		if (fixed)
			wait_wc(from.send_cq);
		wait_wc(to.send_cq);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "overwrite", overwrite },
	{ "shared", shared },
	{ "source", source },
	{ "sink", sink },
	{ "peek", peek },
	{ "last_byte", last_byte },
	{ "reply_first", reply_first },
};

static struct ibv_qp *shared_qp(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = END_DEPTH, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .send_cq = to.send_cq,
					 .recv_cq = to.recv_cq,
					 .cap = { END_DEPTH, 0, 1, 0, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };
	struct ibv_qp *qp;

	srq = ibv_create_srq(to.pd, &attr);
	need(srq != NULL, "ibv_create_srq");
	init.srq = srq;
	qp = ibv_create_qp(to.pd, &init);
	need(qp != NULL, "ibv_create_qp");
	return qp;
}

int main(int argc, char **argv)
{
	size_t i = 0, n = sizeof(cases) / sizeof(cases[0]);

	while (i < n && (argc < 2 || strcmp(argv[1], cases[i].name) != 0))
		i++;
	need(i < n, "no such case");
	fixed = argc > 2;
	ends_poll_only = 1;
	end_open(&from, 0);
	end_open(&to, 1);
	a = end_qp(&from);
	b = cases[i].run == shared ? shared_qp() : end_qp(&to);
	connect_qps(&from, a, &to, b, 7);
	cases[i].run();
	need(ibv_destroy_qp(a) == 0 && ibv_destroy_qp(b) == 0, "ibv_destroy_qp");
	need(!srq || ibv_destroy_srq(srq) == 0, "ibv_destroy_srq");
	end_close(&from);
	end_close(&to);
	return 0;
}
