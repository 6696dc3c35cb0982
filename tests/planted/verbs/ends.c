/* SPDX-License-Identifier: BSD-3-Clause */
/* ends.c - see ends.h. */
#include "ends.h"

#include <stdio.h>
#include <stdlib.h>

#define PATIENCE 2000000 /* polls that find nothing */

int ends_poll_only;

void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

void end_open(struct end *end, int device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need(list && list[0] && list[device], "no device");
	end->context = ibv_open_device(list[device]);
	need(end->context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	need(ibv_query_port(end->context, 1, &end->port) == 0, "ibv_query_port");
	end->pd = ibv_alloc_pd(end->context);
	need(end->pd != NULL, "ibv_alloc_pd");
	end->mr = ibv_reg_mr(end->pd, end->memory, END_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ);
	need(end->mr != NULL, "ibv_reg_mr");
	if (!ends_poll_only)
		end->channel = ibv_create_comp_channel(end->context);
	need(end->channel || ends_poll_only, "ibv_create_comp_channel");
	end->send_cq = ibv_create_cq(end->context, 2 * END_DEPTH, NULL, end->channel, 0);
	end->recv_cq = ibv_create_cq(end->context, 2 * END_DEPTH, NULL, end->channel, 0);
	need(end->send_cq && end->recv_cq, "ibv_create_cq");
}

void end_close(struct end *end)
{
	need(ibv_destroy_cq(end->send_cq) == 0, "ibv_destroy_cq");
	need(ibv_destroy_cq(end->recv_cq) == 0, "ibv_destroy_cq");
	need(!end->channel || ibv_destroy_comp_channel(end->channel) == 0,
	     "ibv_destroy_comp_channel");
	need(ibv_dereg_mr(end->mr) == 0, "ibv_dereg_mr");
	need(ibv_dealloc_pd(end->pd) == 0, "ibv_dealloc_pd");
	need(ibv_close_device(end->context) == 0, "ibv_close_device");
}

struct ibv_qp *end_qp(struct end *end)
{
	struct ibv_qp_init_attr init = { .send_cq = end->send_cq,
					 .recv_cq = end->recv_cq,
					 .cap = { END_DEPTH, END_DEPTH, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };
	struct ibv_qp *qp = ibv_create_qp(end->pd, &init);

	need(qp != NULL, "ibv_create_qp");
	return qp;
}

static void move_qp(struct ibv_qp *qp, const struct ibv_qp *peer, int lid, int rnr_retry)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer->qp_num,
				    .rq_psn = 1000,
				    .sq_psn = 1000,
				    .max_rd_atomic = 1,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 1,
				    .timeout = 11,
				    .retry_cnt = 7,
				    .rnr_retry = (uint8_t)rnr_retry };

	attr.ah_attr = (struct ibv_ah_attr){ .dlid = (uint16_t)lid, .port_num = 1 };
	need(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
		     0,
	     "ibv_modify_qp to INIT");
	attr.qp_state = IBV_QPS_RTR;
	need(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0,
	     "ibv_modify_qp to RTR");
	attr.qp_state = IBV_QPS_RTS;
	need(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	     "ibv_modify_qp to RTS");
}

void connect_qps(struct end *a, struct ibv_qp *qa, struct end *b, struct ibv_qp *qb, int rnr_retry)
{
	move_qp(qa, qb, b->port.lid, rnr_retry);
	move_qp(qb, qa, a->port.lid, rnr_retry);
}

void post_recv(struct end *end, struct ibv_qp *qp, int offset, int length, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)end->memory + (size_t)offset, (uint32_t)length,
			       end->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	need(ibv_post_recv(qp, &wr, &bad) == 0, "ibv_post_recv");
}

void post_send(struct end *end, struct ibv_qp *qp, int offset, int length, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)end->memory + (size_t)offset, (uint32_t)length,
			       end->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = IBV_WR_SEND;
	need(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
}

static void post_rdma(struct end *end, struct ibv_qp *qp, enum ibv_wr_opcode opcode, int length,
		      const struct end *to)
{
	struct ibv_sge sge = { (uintptr_t)end->memory, (uint32_t)length, end->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)to->memory;
	wr.wr.rdma.rkey = to->mr->rkey;
	need(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
}

void post_write(struct end *end, struct ibv_qp *qp, int length, const struct end *to)
{
	post_rdma(end, qp, IBV_WR_RDMA_WRITE, length, to);
}

void post_read(struct end *end, struct ibv_qp *qp, int length, const struct end *to)
{
	post_rdma(end, qp, IBV_WR_RDMA_READ, length, to);
}

int next_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(cq, 1, wc);

	need(n >= 0, "ibv_poll_cq");
	return n;
}

uint64_t wait_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < PATIENCE; i++) {
		if (!next_wc(cq, &wc))
			continue;
		need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
		return wc.wr_id;
	}
	need(0, "a completion never comes");
	return 0;
}

void sleep_wc(struct end *end, struct ibv_wc *wc)
{
	struct ibv_cq *cq;
	void *context;

	for (;;) {
		if (next_wc(end->send_cq, wc))
			return;
		need(ibv_req_notify_cq(end->send_cq, 0) == 0, "ibv_req_notify_cq");
		if (next_wc(end->send_cq, wc))
			return;
		need(ibv_get_cq_event(end->channel, &cq, &context) == 0, "ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
}
