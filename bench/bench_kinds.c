/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_kinds ROUNDS KIND - the job of bench_verbs, of which instructions.sh counts the
 * instructions, with Sends that are posted in another way.
 */
#include <string.h>

#include "bench_verbs.h"

#define LIST 8 /* requests of a list */

/* As the ordinary one, but for what is said. */
static const struct kind {
	const char *name;
	unsigned int flags; /* beside IBV_SEND_SIGNALED, or IBV_SEND_SIGNALED for none */
	int segments, list;
	int batch; /* by ibv_wr_start and ibv_wr_complete */
} kinds[] = {
	{ "ordinary", 0, 1, 1, 0 },
	{ "unsignaled", IBV_SEND_SIGNALED, 1, 1, 0 },
	{ "inline", IBV_SEND_INLINE, 1, 1, 0 },
	{ "solicited", IBV_SEND_SOLICITED, 1, 1, 0 },
	{ "segments", 0, 2, 1, 0 },
	{ "list", 0, 1, LIST, 0 },
	{ "batch", 0, 1, 1, 1 },
	{ "inline-batch", IBV_SEND_INLINE, 1, 1, 1 },
};

static struct ibv_qp *make_qp_of_kind(struct ibv_context *context, const struct kind *kind)
{
	struct ibv_qp_init_attr init = qp_init();
	struct ibv_qp_init_attr_ex ex = { .send_cq = send_cq,
					  .recv_cq = recv_cq,
					  .cap = init.cap,
					  .qp_type = IBV_QPT_RC,
					  .comp_mask = IBV_QP_INIT_ATTR_PD,
					  .pd = mr->pd };

	ex.cap.max_send_sge = (uint32_t)kind->segments;
	if (kind->flags & IBV_SEND_INLINE)
		ex.cap.max_inline_data = BYTES;
	if (kind->batch) {
		ex.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		ex.send_ops_flags = IBV_QP_EX_WITH_SEND;
	}
	return ibv_create_qp_ex(context, &ex);
}

static void post_batch(unsigned int flags)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(from);

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	if (flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(ex, memory, BYTES);
	else
		ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)memory, BYTES);
	must_be(ibv_wr_complete(ex) == 0, "ibv_wr_complete");
}

static void post_list(const struct kind *kind)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)memory, BYTES / (uint32_t)kind->segments, mr->lkey },
		{ (uintptr_t)memory + BYTES / 2, BYTES / 2, mr->lkey },
	};
	struct ibv_send_wr wr[LIST], *bad;

	for (int i = 0; i < kind->list; i++)
		wr[i] = (struct ibv_send_wr){ .wr_id = 1,
					      .next = i + 1 < kind->list ? &wr[i + 1] : NULL,
					      .sg_list = sge,
					      .num_sge = kind->segments,
					      .opcode = IBV_WR_SEND,
					      .send_flags = kind->flags ^ IBV_SEND_SIGNALED };
	must_be(ibv_post_send(from, wr, &bad) == 0, "ibv_post_send");
}

static __attribute__((noinline)) void run_kind(const struct kind *kind, long rounds)
{
	int signaled = !(kind->flags & IBV_SEND_SIGNALED);
	struct job job;
	struct ibv_wc wc;

	prepare_job(&job);
	for (long n = 0; n < rounds; n++) {
		for (int i = 0; i < kind->list; i++)
			post_recv(&job.recv, 1);
		if (kind->batch)
			post_batch(kind->flags);
		else
			post_list(kind);
		for (int i = 0; i < kind->list; i++)
			take_recv(&wc);
		for (int i = 0; signaled && i < kind->list; i++)
			poll_one(send_cq, &wc);
	}
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[2], kinds[i].name) != 0)
			continue;
		open_first_device();
		from = make_qp_of_kind(mr->context, &kinds[i]);
		to = make_qp_of_kind(mr->context, &kinds[i]);
		must_be(from && to, "ibv_create_qp_ex");
		connect_by_number();
		run_kind(&kinds[i], atol(argv[1]));
		return 0;
	}
	fputs("usage: bench_kinds ROUNDS KIND, a name of `kinds` in bench_kinds.c\n", stderr);
	return 2;
}
