/* SPDX-License-Identifier: BSD-3-Clause */
/* qp.c - the program's queue pair, shared receive queue and completion queues of an id. */
#include <string.h>

#include "cm.h"
#include "verbs/trace.h"

#define TIMEOUT_CODE 17 /* of an acknowledgement: half a second */

/* ---- attributes and states ---- */

static uint8_t least_of(int a, int b)
{
	return (uint8_t)(a < b ? a : b);
}

static unsigned int access_of(const struct cm_id *id)
{
	/* Nothing is agreed yet. */
	if (id->state <= CM_LISTENING)
		return 0;
	return (unsigned int)IBV_ACCESS_REMOTE_WRITE |
	       (id->responder_resources ? (unsigned int)IBV_ACCESS_REMOTE_READ |
						  (unsigned int)IBV_ACCESS_REMOTE_ATOMIC
					: 0);
}

/* The peer's QP is known from its request or its answer until the connection ends. */
static bool knows_peer(const struct cm_id *id)
{
	return id->far.qp != 0 && id->state >= CM_ANSWERED && id->state <= CM_CONNECTED;
}

static int fill_rtr(struct cm_id *id, struct ibv_qp_attr *attr)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;

	if (!knows_peer(id))
		return -EINVAL;
	vb_device_attr(id->base.verbs, &device);
	vb_port(id->base.verbs, &port);
	attr->path_mtu = port.active_mtu;
	attr->dest_qp_num = id->far.qp;
	attr->rq_psn = id->far.psn & 0xffffff;
	vb_address_of(id->base.verbs, id->far.adapter, &attr->ah_attr);
	attr->max_dest_rd_atomic = least_of(id->responder_resources, device.max_qp_rd_atom);
	attr->min_rnr_timer = 0;
	return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

static int fill_rts(struct cm_id *id, struct ibv_qp_attr *attr)
{
	struct ibv_device_attr device;

	if (!knows_peer(id))
		return -EINVAL;
	vb_device_attr(id->base.verbs, &device);
	attr->sq_psn = id->near.psn & 0xffffff;
	attr->timeout = id->ack_timeout ? id->ack_timeout : TIMEOUT_CODE;
	/* Each side is told how often the other's program wants it to try. */
	attr->retry_cnt = least_of(id->passive ? id->far.retry : id->near.retry, 7);
	attr->rnr_retry = least_of(id->far.rnr_retry, 7);
	attr->max_rd_atomic = least_of(id->initiator_depth, device.max_qp_init_rd_atom);
	return IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	       IBV_QP_MAX_QP_RD_ATOMIC;
}

/* The mask without IBV_QP_STATE, or a negative errno. */
static int fill_attr(struct cm_id *id, struct ibv_qp_attr *attr)
{
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->port_num = VB_PORT;
		attr->pkey_index = 0;
		attr->qp_access_flags = access_of(id);
		return IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		return fill_rtr(id, attr);
	case IBV_QPS_RTS:
		return fill_rts(id, attr);
	default:
		return -EINVAL;
	}
}

/* By the name of the call, which writes a line, or NULL for the library's own use. */
static int init_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *mask, const char *call)
{
	struct ibv_qp_attr next = *attr;
	int bits = -EINVAL;

	cm_enter();
	if (id->device)
		bits = cm_is_datagram(id) ? cm_datagram_attr(id, &next) : fill_attr(id, &next);
	if (call && bits < 0)
		cm_trace_refusal(id, call, bits);
	else if (call)
		cm_trace(id, "%s state=%s", call, vb_state_word(attr->qp_state));
	cm_leave();
	if (bits < 0)
		return bits;
	*attr = next;
	*mask = bits | IBV_QP_STATE;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *base, struct ibv_qp_attr *attr, int *mask)
{
	return cm_result(init_attr(cm_id_of(base), attr, mask, "rdma_init_qp_attr"));
}

static int move_to(struct cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask, err = init_attr(id, &attr, &mask, NULL);

	return err ? err : -ibv_modify_qp(qp, &attr, mask);
}

static int move_all_the_way(struct cm_id *id, struct ibv_qp *qp)
{
	int err = move_to(id, qp, IBV_QPS_INIT);

	if (!err)
		err = move_to(id, qp, IBV_QPS_RTR);
	return err ? err : move_to(id, qp, IBV_QPS_RTS);
}

int cm_qp_ready(struct cm_id *id)
{
	return move_all_the_way(id, id->base.qp);
}

void cm_qp_error(struct cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (id->base.qp)
		ibv_modify_qp(id->base.qp, &attr, IBV_QP_STATE);
}

/* ---- completion queues, for a program that brings none ---- */

static int make_cq(struct rdma_cm_id *id, uint32_t size, struct ibv_comp_channel **channel,
		   struct ibv_cq **cq)
{
	if (size == 0)
		return 0;
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return -errno;
	*cq = ibv_create_cq(id->verbs, (int)size, id, *channel, 0);
	return *cq ? 0 : -errno;
}

static void free_cq(struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (*cq)
		ibv_destroy_cq(*cq);
	if (*channel)
		ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

void cm_free_cqs(struct cm_id *id)
{
	free_cq(&id->base.recv_cq_channel, &id->base.recv_cq);
	free_cq(&id->base.send_cq_channel, &id->base.send_cq);
}

static int make_cqs(struct rdma_cm_id *id, const struct ibv_qp_init_attr_ex *attr)
{
	int err = 0;

	if (!attr->recv_cq && !id->recv_cq)
		err = make_cq(id, attr->cap.max_recv_wr, &id->recv_cq_channel, &id->recv_cq);
	if (!err && !attr->send_cq && !id->send_cq)
		err = make_cq(id, attr->cap.max_send_wr, &id->send_cq_channel, &id->send_cq);
	if (err)
		cm_free_cqs(cm_id_of(id));
	return err;
}

/* ---- queue pairs ---- */

static int choose_pd(struct cm_id *id, struct ibv_pd **pd)
{
	if (!*pd)
		*pd = id->base.pd;
	return (*pd)->context == id->base.verbs ? 0 : -EINVAL;
}

static int make_qp(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp;
	int err;

	if (attr->qp_type != id->base.qp_type)
		return -EINVAL;
	if (attr->qp_type != IBV_QPT_RC && !cm_is_datagram(id))
		return -EOPNOTSUPP;
	if (!attr->send_cq)
		attr->send_cq = id->base.send_cq ? id->base.send_cq : id->base.recv_cq;
	if (!attr->recv_cq)
		attr->recv_cq = id->base.recv_cq ? id->base.recv_cq : id->base.send_cq;
	if (id->base.srq && !attr->srq)
		attr->srq = id->base.srq;
	qp = ibv_create_qp_ex(id->base.verbs, attr);
	if (!qp)
		return -errno;
	err = cm_is_datagram(id) ? move_all_the_way(id, qp) : move_to(id, qp, IBV_QPS_INIT);
	if (err) {
		ibv_destroy_qp(qp);
		return err;
	}
	id->base.pd = qp->pd;
	id->base.qp = qp;
	return 0;
}

/* The line of a call about the QP, with its name in the trace. */
static void note_qp(const struct cm_id *id, const char *call)
{
	const struct vb_qp *qp = VB_OF(id->base.qp, qp);

	cm_note(id, "%s object=%s.qp%u qpn=%u", call, qp->obj.host.nic->label, qp->obj.id,
		qp->ibv.qp_num);
}

static int create_qp(struct cm_id *id, struct ibv_qp_init_attr_ex *attr, const char *call)
{
	struct rdma_cm_id *base = &id->base;
	struct ibv_qp_init_attr_ex own = *attr;
	int err;

	if (!(own.comp_mask & IBV_QP_INIT_ATTR_PD))
		own.pd = NULL;
	cm_enter();
	err = id->device && !base->qp ? cm_fault(id, VB_CALL_CM_CREATE_QP) : -EINVAL;
	cm_leave();
	if (!err)
		err = choose_pd(id, &own.pd);
	own.comp_mask |= IBV_QP_INIT_ATTR_PD;
	if (!err && ((base->recv_cq && own.recv_cq && base->recv_cq != own.recv_cq) ||
		     (base->send_cq && own.send_cq && base->send_cq != own.send_cq)))
		err = -EINVAL;
	if (!err)
		err = make_cqs(base, &own);
	if (err)
		return cm_told(id, call, err);
	err = make_qp(id, &own);
	if (err) {
		cm_free_cqs(id);
		return cm_told(id, call, err);
	}
	note_qp(id, call);
	*attr = own;
	return 0;
}

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	return create_qp(cm_id_of(id), attr, "rdma_create_qp_ex");
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = { .comp_mask = 0 };

	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = pd ? IBV_QP_INIT_ATTR_PD : 0;
	ex.pd = pd;
	if (create_qp(cm_id_of(id), &ex, "rdma_create_qp"))
		return -1;
	memcpy(attr, &ex, sizeof(*attr));
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (!id->qp)
		return;
	note_qp(cm_id_of(id), "rdma_destroy_qp");
	ibv_destroy_qp(id->qp);
	cm_free_cqs(cm_id_of(id));
	id->qp = NULL;
}

/* ---- shared receive queues ---- */

static void note_srq(const struct cm_id *id, const char *call)
{
	const struct vb_srq *srq = VB_OF(id->base.srq, srq);

	cm_note(id, "%s object=%s.srq%u", call, srq->obj.host.nic->label, srq->obj.id);
}

/* The id keeps its protection domain, whichever the queue has. */
static int create_srq(struct cm_id *id, struct ibv_srq_init_attr_ex *attr, const char *call)
{
	struct ibv_srq_init_attr_ex own = *attr;
	int err = -EINVAL;

	if (!(own.comp_mask & IBV_SRQ_INIT_ATTR_PD))
		own.pd = NULL;
	if (id->device && !id->base.srq && (own.comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		err = choose_pd(id, &own.pd);
	if (err)
		return cm_told(id, call, err);
	own.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	id->base.srq = ibv_create_srq_ex(id->base.verbs, &own);
	if (!id->base.srq)
		return cm_told(id, call, -errno);
	note_srq(id, call);
	*attr = own;
	return 0;
}

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = { .comp_mask = 0 };

	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = IBV_SRQT_BASIC;
	ex.pd = pd;
	if (create_srq(cm_id_of(id), &ex, "rdma_create_srq"))
		return -1;
	memcpy(attr, &ex, sizeof(*attr));
	return 0;
}

int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	return create_srq(cm_id_of(id), attr, "rdma_create_srq_ex");
}

void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (!id->srq)
		return;
	note_srq(cm_id_of(id), "rdma_destroy_srq");
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
}
