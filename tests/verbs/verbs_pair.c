/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_pair.c - see verbs_pair.h. */
#include "verbs_pair.h"

#include <string.h>

#include "tests/support/asserts.h"

#define POLLS 500000 /* of 2 us each */
#define DEPTH 16

void verbs_open(struct verbs_end *end, int device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	memset(end, 0, sizeof(*end));
	ck_assert_ptr_nonnull(list);
	end->context = ibv_open_device(list[device]);
	ck_assert_ptr_nonnull(end->context);
	ibv_free_device_list(list);
	ck_assert_int_eq(ibv_query_port(end->context, 1, &end->port), 0);
	end->pd = ibv_alloc_pd(end->context);
	ck_assert_ptr_nonnull(end->pd);
	end->mr = ibv_reg_mr(end->pd, end->buffer, BUFFER,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	ck_assert_ptr_nonnull(end->mr);
	end->cq = ibv_create_cq(end->context, 2 * DEPTH, NULL, NULL, 0);
	ck_assert_ptr_nonnull(end->cq);
}

void verbs_make_qp(struct verbs_end *end)
{
	struct ibv_qp_init_attr init = { .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .srq = end->srq,
					 .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 2,
						  .max_recv_sge = 2,
						  .max_inline_data = 64 },
					 .qp_type = end->type ? end->type : IBV_QPT_RC };

	end->qp = ibv_create_qp(end->pd, &init);
	ck_assert_ptr_nonnull(end->qp);
}

void verbs_close(struct verbs_end *end)
{
	if (end->qp)
		ck_assert_int_eq(ibv_destroy_qp(end->qp), 0);
	if (end->srq)
		ck_assert_int_eq(ibv_destroy_srq(end->srq), 0);
	ck_assert_int_eq(ibv_destroy_cq(end->cq), 0);
	ck_assert_int_eq(ibv_dereg_mr(end->mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(end->pd), 0);
	ck_assert_int_eq(ibv_close_device(end->context), 0);
}

struct ibv_qp_attr verbs_attr(const struct verbs_end *end, const struct verbs_end *peer)
{
	return (struct ibv_qp_attr){
		.cur_qp_state = end->qp->state,
		.path_mtu = IBV_MTU_1024,
		.qkey = VERBS_QKEY,
		.rq_psn = peer->qp->qp_num,
		.sq_psn = end->qp->qp_num,
		.dest_qp_num = peer->qp->qp_num,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_ATOMIC,
		.ah_attr = { .dlid = peer->port.lid, .port_num = 1 },
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.port_num = 1,
		.timeout = 1,
		.retry_cnt = 3,
		.rnr_retry = 3,
	};
}

int verbs_mask(enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPS_RTS:
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	default:
		return IBV_QP_STATE;
	}
}

int verbs_mask_of(enum ibv_qp_type type, enum ibv_qp_state to)
{
	if (type == IBV_QPT_UC && to == IBV_QPS_RTR)
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (type == IBV_QPT_UC && to == IBV_QPS_RTS)
		return IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (type != IBV_QPT_UD)
		return verbs_mask(to);
	switch (to) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	case IBV_QPS_RTS:
		return IBV_QP_STATE | IBV_QP_SQ_PSN;
	default:
		return IBV_QP_STATE;
	}
}

int verbs_modify(struct verbs_end *end, const struct verbs_end *peer, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = verbs_attr(end, peer);

	attr.qp_state = to;
	return ibv_modify_qp(end->qp, &attr, verbs_mask_of(end->qp->qp_type, to));
}

void verbs_connect(struct verbs_end *a, struct verbs_end *b)
{
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		ck_assert_int_eq(verbs_modify(a, b, (enum ibv_qp_state)state), 0);
		ck_assert_int_eq(verbs_modify(b, a, (enum ibv_qp_state)state), 0);
	}
}

void verbs_begin_of(struct verbs_end *a, struct verbs_end *b, enum ibv_qp_type type)
{
	verbs_open(a, 0);
	verbs_open(b, 1);
	a->type = b->type = type;
	verbs_make_qp(a);
	verbs_make_qp(b);
	verbs_connect(a, b);
}

void verbs_begin(struct verbs_end *a, struct verbs_end *b)
{
	verbs_begin_of(a, b, IBV_QPT_RC);
}

void verbs_end_all(struct verbs_end *a, struct verbs_end *b)
{
	verbs_close(a);
	verbs_close(b);
}

int verbs_recv(struct verbs_end *end, uint64_t id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)end->buffer + offset, length, end->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return end->srq ? ibv_post_srq_recv(end->srq, &wr, &bad)
			: ibv_post_recv(end->qp, &wr, &bad);
}

struct ibv_send_wr verbs_wr(const struct verbs_end *peer, enum ibv_wr_opcode opcode,
			    struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED };

	wr.imm_data = 0x12345678;
	wr.wr.rdma.remote_addr = (uintptr_t)peer->buffer;
	wr.wr.rdma.rkey = peer->mr->rkey;
	return wr;
}

int verbs_send(struct verbs_end *end, const struct verbs_end *peer, enum ibv_wr_opcode opcode,
	       uint32_t length, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)end->buffer, length, end->mr->lkey };
	struct ibv_send_wr wr = verbs_wr(peer, opcode, &sge), *bad;

	wr.send_flags |= flags;
	return ibv_post_send(end->qp, &wr, &bad);
}

bool verbs_poll(struct verbs_end *end, struct ibv_wc *wc)
{
	for (int i = 0; i < POLLS; i++)
		if (ibv_poll_cq(end->cq, 1, wc) == 1)
			return true;
	return false;
}

void verbs_exchange(struct verbs_end *from, struct verbs_end *to)
{
	struct ibv_wc wc;

	ck_assert_int_eq(verbs_recv(to, 7, 1024, 64), 0);
	ck_assert_int_eq(verbs_send(from, to, IBV_WR_SEND, 64, 0), 0);
	ck_assert(verbs_poll(to, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert(verbs_poll(from, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
}
