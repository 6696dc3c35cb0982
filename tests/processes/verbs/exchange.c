/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH   32
#define RETRIES 7
#define TIMEOUT 14 /* of the retry timer, 67 ms */

#define REMOTE (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* ---- what both have ---- */

static void never_block(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void make_objects(struct exchange *x)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = EXCHANGE_MESSAGES, .max_sge = 1 } };
	struct ibv_context *verbs = x->id->verbs;
	struct ibv_port_attr port;

	exchange_need(!ibv_query_port(verbs, 1, &port), "ibv_query_port");
	x->lid = port.lid;
	x->pd = ibv_alloc_pd(verbs);
	exchange_need(x->pd, "ibv_alloc_pd");
	x->mr = ibv_reg_mr(x->pd, x->memory, sizeof(*x->memory),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | REMOTE);
	exchange_need(x->mr, "ibv_reg_mr");
	x->completions = ibv_create_comp_channel(verbs);
	exchange_need(x->completions, "ibv_create_comp_channel");
	never_block(x->completions->fd);
	x->cq = ibv_create_cq(verbs, 4 * DEPTH, NULL, x->completions, 0);
	exchange_need(x->cq, "ibv_create_cq");
	x->srq = ibv_create_srq(x->pd, &srq);
	exchange_need(x->srq, "ibv_create_srq");
	x->ud = exchange_make_qp(x, IBV_QPT_UD);
	exchange_need(x->ud, "a QP for datagrams");
}

void exchange_begin(struct exchange *x, struct exchange_memory *memory, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	*x = (struct exchange){ .memory = memory, .turns = getenv("DATSIM_LOCKSTEP") != NULL };
	x->channel = rdma_create_event_channel();
	exchange_need(x->channel, "rdma_create_event_channel");
	never_block(x->channel->fd);
	exchange_need(!rdma_create_id(x->channel, &x->id, NULL, RDMA_PS_TCP), "rdma_create_id");
	exchange_need(!rdma_bind_addr(x->id, (struct sockaddr *)&at), "rdma_bind_addr");
	make_objects(x);
}

/* In order, and only what there is. */
void exchange_free(struct exchange *x)
{
	if (x->group)
		ibv_destroy_ah(x->group);
	if (x->window)
		ibv_dealloc_mw(x->window);
	if (x->id && x->id->qp)
		rdma_destroy_qp(x->id);
	if (x->qp)
		ibv_destroy_qp(x->qp);
	if (x->ud)
		ibv_destroy_qp(x->ud);
	if (x->srq)
		ibv_destroy_srq(x->srq);
	if (x->cq)
		ibv_destroy_cq(x->cq);
	if (x->completions)
		ibv_destroy_comp_channel(x->completions);
	if (x->mr)
		ibv_dereg_mr(x->mr);
	if (x->pd)
		ibv_dealloc_pd(x->pd);
	if (x->id)
		rdma_destroy_id(x->id);
	if (x->channel)
		rdma_destroy_event_channel(x->channel);
	*x = (struct exchange){ 0 };
}

/* ---- QPs ---- */

static bool make_ready_for_datagrams(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = EXCHANGE_QKEY };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	return !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

struct ibv_qp *exchange_make_qp(struct exchange *x, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .send_cq = x->cq,
					 .recv_cq = x->cq,
					 .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 2,
						  .max_recv_sge = 2 },
					 .qp_type = type };
	struct ibv_qp *qp = ibv_create_qp(x->pd, &init);

	if (!qp || type != IBV_QPT_UD || make_ready_for_datagrams(qp))
		return qp;
	ibv_destroy_qp(qp);
	return NULL;
}

/* Packets are numbered from the number of the QP that sends them. */
bool exchange_connect_qp(struct ibv_qp *qp, const struct exchange_target *to)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .qp_access_flags = REMOTE,
				    .port_num = 1,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = to->number,
				    .rq_psn = to->number,
				    .sq_psn = qp->qp_num,
				    .ah_attr = { .dlid = to->lid, .port_num = 1 },
				    .max_rd_atomic = 4,
				    .max_dest_rd_atomic = 4,
				    .min_rnr_timer = 1,
				    .timeout = TIMEOUT,
				    .retry_cnt = RETRIES,
				    .rnr_retry = RETRIES };

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	return !ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

union ibv_gid exchange_gid(const uint8_t end[14])
{
	union ibv_gid gid = { .raw = { 0xff, 0x12 } };

	memcpy(gid.raw + 2, end, 14);
	return gid;
}

struct rdma_conn_param exchange_param(const struct exchange_target *mine)
{
	return (struct rdma_conn_param){ .private_data = mine,
					 .private_data_len = sizeof(*mine),
					 .responder_resources = 4,
					 .initiator_depth = 4,
					 .retry_count = RETRIES,
					 .rnr_retry_count = RETRIES };
}

/* ---- requests ---- */

struct ibv_sge exchange_segment(const struct exchange *x, const volatile void *at, size_t length)
{
	return (struct ibv_sge){ (uintptr_t)at, (uint32_t)length, x->mr->lkey };
}

int exchange_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	if (!wr->wr_id)
		wr->wr_id = EXCHANGE_SENT | wr->opcode;
	wr->send_flags |= IBV_SEND_SIGNALED;
	return ibv_post_send(qp, wr, &bad);
}

int exchange_receive(struct ibv_qp *qp, uint64_t id, struct ibv_sge segment)
{
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &segment, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* The next completion makes the channel readable; one that came before it may not. */
void exchange_wait(struct exchange *x, int patience_ms)
{
	struct pollfd fds[] = { { .fd = x->channel->fd, .events = POLLIN },
				{ .fd = x->completions ? x->completions->fd : -1,
				  .events = POLLIN } };
	struct ibv_cq *cq;
	void *context;

	if (x->turns || poll(fds, 2, patience_ms) <= 0 || !fds[1].revents)
		return;
	if (ibv_get_cq_event(x->completions, &cq, &context) == 0)
		ibv_ack_cq_events(cq, 1);
}
