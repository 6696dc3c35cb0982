/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_kit.c - see verbs_kit.h. */
#include "verbs_kit.h"

#include <fcntl.h>
#include <string.h>

#include "tests/support/asserts.h"

#define ACCESS                                                                       \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_MW_BIND)
#define DEPTH 4

struct fuzz_kit fuzz_kit;

void fuzz_kit_begin(void)
{
	fuzz_connect_pair();
	/* A call that would wait for an event returns instead. */
	ck_assert_int_eq(fcntl(fuzz_a.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(fcntl(fuzz_b.context->async_fd, F_SETFL, O_NONBLOCK), 0);
}

void fuzz_kit_end(void)
{
	verbs_end_all(&fuzz_a, &fuzz_b);
}

struct ibv_qp_attr fuzz_kit_attr(const struct ibv_qp *qp, enum ibv_qp_state state, int *mask)
{
	struct ibv_ah_attr way;

	*mask = verbs_mask_of(qp->qp_type, state);
	fuzz_way(&fuzz_a, &way);
	return (struct ibv_qp_attr){ .qp_state = state,
				     .cur_qp_state = qp->state,
				     .path_mtu = IBV_MTU_1024,
				     .qkey = VERBS_QKEY,
				     .rq_psn = 7,
				     .sq_psn = 7,
				     .dest_qp_num = qp->qp_num,
				     .qp_access_flags = IBV_ACCESS_REMOTE_READ |
							IBV_ACCESS_REMOTE_WRITE,
				     .ah_attr = way,
				     .max_rd_atomic = 1,
				     .max_dest_rd_atomic = 1,
				     .min_rnr_timer = 1,
				     .port_num = 1,
				     .timeout = 1,
				     .retry_cnt = 1,
				     .rnr_retry = 1 };
}

static void move_to(struct ibv_qp *qp, enum ibv_qp_state last)
{
	struct ibv_qp_attr attr;
	int mask;

	for (int state = IBV_QPS_INIT; state <= (int)last; state++) {
		attr = fuzz_kit_attr(qp, (enum ibv_qp_state)state, &mask);
		ck_assert_int_eq(ibv_modify_qp(qp, &attr, mask), 0);
	}
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex init = { .send_cq = fuzz_kit.busy.cq,
					    .recv_cq = fuzz_kit.busy.cq,
					    .srq = srq,
					    .cap = { DEPTH, DEPTH, 1, 1, 32 },
					    .qp_type = type,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .pd = pd,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct ibv_qp *qp = ibv_create_qp_ex(pd->context, &init);

	ck_assert_ptr_nonnull(qp);
	return qp;
}

static struct ibv_srq *make_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);

	ck_assert_ptr_nonnull(srq);
	return srq;
}

static struct ibv_comp_channel *make_channel(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(fuzz_a.context);

	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	return channel;
}

static void make_busy(void)
{
	struct ibv_cq_init_attr_ex ex = { .cqe = DEPTH };

	fuzz_kit.busy.pd = ibv_alloc_pd(fuzz_a.context);
	ck_assert_ptr_nonnull(fuzz_kit.busy.pd);
	fuzz_kit.busy.mr = ibv_reg_mr(fuzz_kit.busy.pd, fuzz_kit.memory, 4096, ACCESS);
	ck_assert_ptr_nonnull(fuzz_kit.busy.mr);
	fuzz_kit.busy.channel = make_channel();
	fuzz_kit.busy.cq = ibv_create_cq(fuzz_a.context, 4 * DEPTH, NULL, fuzz_kit.busy.channel, 0);
	ck_assert_ptr_nonnull(fuzz_kit.busy.cq);
	fuzz_kit.busy.cq_ex = ibv_create_cq_ex(fuzz_a.context, &ex);
	ck_assert_ptr_nonnull(fuzz_kit.busy.cq_ex);
	fuzz_kit.busy.srq = make_srq(fuzz_kit.busy.pd);
	fuzz_kit.busy.qp = make_qp(fuzz_kit.busy.pd, IBV_QPT_RC, NULL);
	move_to(fuzz_kit.busy.qp, IBV_QPS_RTS);
	fuzz_kit.busy.srqp = make_qp(fuzz_kit.busy.pd, IBV_QPT_RC, fuzz_kit.busy.srq);
	move_to(fuzz_kit.busy.srqp, IBV_QPS_INIT);
	fuzz_kit.busy.ud = make_qp(fuzz_kit.busy.pd, IBV_QPT_UD, NULL);
	move_to(fuzz_kit.busy.ud, IBV_QPS_RTS);
}

static void make_lone(void)
{
	struct ibv_ah_attr to;

	fuzz_way(&fuzz_b, &to);
	fuzz_kit.lone.list = ibv_get_device_list(NULL);
	ck_assert_ptr_nonnull(fuzz_kit.lone.list);
	fuzz_kit.lone.context = ibv_open_device(fuzz_kit.lone.list[1]);
	ck_assert_ptr_nonnull(fuzz_kit.lone.context);
	fuzz_kit.lone.pd = ibv_alloc_pd(fuzz_a.context);
	ck_assert_ptr_nonnull(fuzz_kit.lone.pd);
	fuzz_kit.lone.mr =
		ibv_reg_mr(fuzz_kit.busy.pd, fuzz_kit.memory + 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
	ck_assert_ptr_nonnull(fuzz_kit.lone.mr);
	fuzz_kit.lone.channel = make_channel();
	fuzz_kit.lone.cq = ibv_create_cq(fuzz_a.context, DEPTH, NULL, NULL, 0);
	ck_assert_ptr_nonnull(fuzz_kit.lone.cq);
	fuzz_kit.lone.srq = make_srq(fuzz_kit.busy.pd);
	fuzz_kit.lone.qp = make_qp(fuzz_kit.busy.pd, IBV_QPT_RC, NULL);
	fuzz_kit.lone.ah = ibv_create_ah(fuzz_kit.busy.pd, &to);
	ck_assert_ptr_nonnull(fuzz_kit.lone.ah);
	fuzz_kit.lone.mw = ibv_alloc_mw(fuzz_kit.busy.pd, IBV_MW_TYPE_1);
	ck_assert_ptr_nonnull(fuzz_kit.lone.mw);
	fuzz_kit.busy.mw = ibv_alloc_mw(fuzz_kit.busy.pd, IBV_MW_TYPE_2);
	ck_assert_ptr_nonnull(fuzz_kit.busy.mw);
}

void fuzz_kit_make(void)
{
	make_busy();
	make_lone();
}

/* What a call has destroyed is NULL. */
#define DESTROY(call, object)                              \
	do {                                               \
		if (object)                                \
			ck_assert_int_eq(call(object), 0); \
		(object) = NULL;                           \
	} while (0)

void fuzz_kit_free(void)
{
	DESTROY(ibv_dealloc_mw, fuzz_kit.lone.mw);
	DESTROY(ibv_dealloc_mw, fuzz_kit.busy.mw);
	DESTROY(ibv_destroy_ah, fuzz_kit.lone.ah);
	DESTROY(ibv_destroy_qp, fuzz_kit.lone.qp);
	DESTROY(ibv_destroy_qp, fuzz_kit.busy.qp);
	DESTROY(ibv_destroy_qp, fuzz_kit.busy.srqp);
	DESTROY(ibv_destroy_qp, fuzz_kit.busy.ud);
	DESTROY(ibv_destroy_srq, fuzz_kit.lone.srq);
	DESTROY(ibv_destroy_srq, fuzz_kit.busy.srq);
	ck_assert_int_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(fuzz_kit.busy.cq_ex)), 0);
	DESTROY(ibv_destroy_cq, fuzz_kit.lone.cq);
	DESTROY(ibv_destroy_cq, fuzz_kit.busy.cq);
	DESTROY(ibv_destroy_comp_channel, fuzz_kit.lone.channel);
	DESTROY(ibv_destroy_comp_channel, fuzz_kit.busy.channel);
	DESTROY(ibv_dereg_mr, fuzz_kit.lone.mr);
	DESTROY(ibv_dereg_mr, fuzz_kit.busy.mr);
	DESTROY(ibv_dealloc_pd, fuzz_kit.lone.pd);
	DESTROY(ibv_dealloc_pd, fuzz_kit.busy.pd);
	DESTROY(ibv_close_device, fuzz_kit.lone.context);
	if (fuzz_kit.lone.list)
		ibv_free_device_list(fuzz_kit.lone.list);
	fuzz_kit.lone.list = NULL;
}

static uint64_t sum_qp(uint64_t sum, struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(ibv_query_qp(qp, &attr, 0, &init), 0);
	sum = fuzz_sum(sum, &attr, sizeof(attr));
	return fuzz_sum(sum, &init, sizeof(init));
}

uint64_t fuzz_kit_sum(void)
{
	struct ibv_srq_attr attr;
	uint64_t sum = 0;

	sum = sum_qp(sum, fuzz_kit.lone.qp);
	sum = sum_qp(sum, fuzz_kit.busy.qp);
	sum = sum_qp(sum, fuzz_kit.busy.srqp);
	sum = sum_qp(sum, fuzz_kit.busy.ud);
	ck_assert_int_eq(ibv_query_srq(fuzz_kit.busy.srq, &attr), 0);
	sum = fuzz_sum(sum, &attr, sizeof(attr));
	sum = fuzz_sum(sum, fuzz_kit.busy.mr, sizeof(*fuzz_kit.busy.mr));
	sum = fuzz_sum(sum, fuzz_kit.lone.mr, sizeof(*fuzz_kit.lone.mr));
	return fuzz_sum(sum, &fuzz_kit.busy.cq->cqe, sizeof(int));
}
