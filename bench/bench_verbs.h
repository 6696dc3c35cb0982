/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_verbs.h - the job of bench_message over bare verbs: its objects, and one message. */
#ifndef BENCH_BENCH_VERBS_H
#define BENCH_BENCH_VERBS_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#include "bench.h"

#define BYTES BENCH_BYTES

static struct ibv_qp *from, *to;
static struct ibv_cq *send_cq, *recv_cq;
static struct ibv_mr *mr;
static unsigned char memory[2 * BYTES];

static inline void must_be(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_verbs: %s failed\n", what);
	exit(1);
}

static inline struct ibv_qp_init_attr qp_init(void)
{
	return (struct ibv_qp_init_attr){
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
}

static inline void make_objects(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);

	must_be(pd != NULL, "ibv_alloc_pd");
	send_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	recv_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	must_be(send_cq && recv_cq && mr, "set-up");
}

/* ---- connected by number ---- */

static inline void move_qp(struct ibv_qp *qp, uint32_t to_number, uint16_t lid)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	must_be(ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS) == 0,
		"INIT");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = to_number,
				     .max_dest_rd_atomic = 1,
				     .min_rnr_timer = 12,
				     .ah_attr = { .dlid = lid, .port_num = 1 } };
	must_be(ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER) == 0,
		"RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	must_be(ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
		"RTS");
}

/* `from` and `to`, on the device of the objects. */
static inline void connect_by_number(void)
{
	struct ibv_port_attr port;

	must_be(ibv_query_port(mr->context, 1, &port) == 0, "ibv_query_port");
	move_qp(from, to->qp_num, port.lid);
	move_qp(to, from->qp_num, port.lid);
}

static inline void open_first_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

	must_be(context != NULL, "the first device");
	make_objects(context);
	ibv_free_device_list(list);
}

/* ---- the job ---- */

static inline void poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n;

	while ((n = ibv_poll_cq(cq, 1, wc)) == 0)
		sched_yield();
	must_be(n == 1 && wc->status == IBV_WC_SUCCESS, "a completion");
}

struct job {
	struct ibv_sge source, target;
	struct ibv_recv_wr recv;
	struct ibv_send_wr send;
};

static inline void prepare_job(struct job *job)
{
	*job = (struct job){
		.source = { .addr = (uintptr_t)memory, .length = BYTES, .lkey = mr->lkey },
		.target = { .addr = (uintptr_t)memory + BYTES, .length = BYTES, .lkey = mr->lkey },
		.recv = { .sg_list = &job->target, .num_sge = 1 },
		.send = { .sg_list = &job->source,
			  .num_sge = 1,
			  .opcode = IBV_WR_SEND,
			  .send_flags = IBV_SEND_SIGNALED },
	};
}

static inline void post_recv(struct ibv_recv_wr *wr, uint64_t number)
{
	struct ibv_recv_wr *bad;

	wr->wr_id = number;
	must_be(ibv_post_recv(to, wr, &bad) == 0, "ibv_post_recv");
}

static inline void take_recv(struct ibv_wc *wc)
{
	poll_one(recv_cq, wc);
	must_be(wc->byte_len == BYTES, "a Receive");
}

#endif /* BENCH_BENCH_VERBS_H */
