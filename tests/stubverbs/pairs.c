/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues, queue pairs */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

static struct stub_qp *qps[STUB_QP];

bool stub_is_used(const void *cq, const void *srq, const void *pd)
{
	bool used = false;

	stub_lock();
	for (uint32_t i = 0; i < STUB_QP; i++)
		used |= qps[i] && ((cq && (qps[i]->v.send_cq == cq || qps[i]->v.recv_cq == cq)) ||
				   (srq && qps[i]->v.srq == srq) || (pd && qps[i]->v.pd == pd));
	stub_unlock();
	return used;
}

static void make_ring(struct stub_ring *ring, uint32_t n)
{
	uint32_t size = stub_ring_size(n);

	ring->mask = size - 1;
	ring->at = calloc(size, sizeof(*ring->at));
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct stub_srq *srq = stub_refuses("ibv_create_srq") ? NULL : calloc(1, sizeof(*srq));

	if (!srq)
		return NULL;
	if (init->attr.max_wr > STUB_SRQ_WR ||
	    init->attr.max_sge >
		    (uint32_t)(stub_config.max_srq_sge ? stub_config.max_srq_sge : STUB_SGE)) {
		free(srq);
		errno = EINVAL;
		return NULL;
	}
	if (stub_config.srq_memory && init->attr.max_wr > stub_config.srq_memory) {
		free(srq);
		errno = ENOMEM;
		return NULL;
	}
	srq->v = (struct ibv_srq){ .context = pd->context,
				   .srq_context = init->srq_context,
				   .pd = pd };
	srq->max_wr = init->attr.max_wr;
	make_ring(&srq->ring, srq->max_wr);
	stub_count(1);
	return &srq->v;
}

static void resize(struct stub_srq *srq, uint32_t max_wr)
{
	struct stub_ring ring = { 0 };

	make_ring(&ring, max_wr);
	while (srq->ring.get != srq->ring.put)
		ring.at[ring.put++] = srq->ring.at[srq->ring.get++ & srq->ring.mask];
	free(srq->ring.at);
	srq->ring = ring;
	srq->max_wr = max_wr;
}

void (*stub_before_limit)(struct stub_srq *srq);

int ibv_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct stub_srq *srq = (struct stub_srq *)base;
	int error =
		stub_refuses(mask & IBV_SRQ_MAX_WR ? "ibv_modify_srq max_wr" : "ibv_modify_srq");

	if (error)
		return error;
	if ((mask & IBV_SRQ_MAX_WR) && stub_config.srq_memory &&
	    attr->max_wr > stub_config.srq_memory)
		return ENOMEM;
	if ((mask & IBV_SRQ_LIMIT) && attr->srq_limit > srq->max_wr)
		return EINVAL;
	if ((mask & IBV_SRQ_MAX_WR) && attr->max_wr < srq->ring.put - srq->ring.get)
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		resize(srq, attr->max_wr);
	if ((mask & IBV_SRQ_LIMIT) && attr->srq_limit && stub_before_limit)
		stub_before_limit(srq);
	if (mask & IBV_SRQ_LIMIT)
		srq->limit = attr->srq_limit;
	return 0;
}

int ibv_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
	struct stub_srq *srq = (struct stub_srq *)base;

	*attr = (struct ibv_srq_attr){ .max_wr = srq->max_wr,
				       .max_sge = STUB_SGE,
				       .srq_limit = srq->limit };
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *base)
{
	struct stub_srq *srq = (struct stub_srq *)base;

	if (stub_is_used(NULL, srq, NULL))
		return EBUSY;
	stub_forget_events(srq);
	free(srq->ring.at);
	free(srq);
	stub_count(-1);
	return 0;
}

struct stub_qp *stub_qp_by_number(uint32_t number)
{
	return number < STUB_QP ? qps[number] : NULL;
}

static bool number_qp(struct stub_qp *qp)
{
	uint32_t i, most = stub_config.max_qp ? (uint32_t)stub_config.max_qp : STUB_QP - 1;

	stub_lock();
	for (i = 1; i <= most && qps[i]; i++)
		;
	if (i <= most) {
		qps[i] = qp;
		qp->v.qp_num = i;
		stub_count(1);
	}
	stub_unlock();
	return i <= most;
}

/*
 * As libmlx5 counts for a reliable connection: a request has 192 bytes of segments for control,
 * address and atomics, and 16 for each piece of its data, or its data itself behind 4 bytes of
 * length, rounded up to 16. It takes whole blocks of 64 bytes, and the queue a power of two of
 * them.
 */
static uint32_t send_blocks(const struct ibv_qp_cap *cap)
{
	uint32_t overhead = 192, segments = cap->max_send_sge * 16u;
	uint32_t inline_data = cap->max_inline_data ? (4 + cap->max_inline_data + 15) / 16 * 16 : 0;
	uint32_t most = segments > inline_data ? segments : inline_data;

	return stub_ring_size(cap->max_send_wr * ((overhead + most + 63) / 64));
}

static bool is_within_limits(const struct ibv_qp_init_attr *init)
{
	const struct ibv_qp_cap *cap = &init->cap;
	uint32_t recv = stub_config.max_recv_wr ? (uint32_t)stub_config.max_recv_wr
						: stub_max_qp_wr();

	return !(stub_config.no_inline && cap->max_inline_data > 0) &&
	       cap->max_send_wr <= stub_max_qp_wr() && cap->max_recv_wr <= recv &&
	       cap->max_send_sge <= STUB_SGE && cap->max_recv_sge <= STUB_SGE &&
	       !(stub_config.blocks && send_blocks(cap) > stub_max_qp_wr());
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct stub_qp *qp = stub_refuses("ibv_create_qp") ? NULL : calloc(1, sizeof(*qp));

	if (qp && !is_within_limits(init)) {
		free(qp);
		errno = EINVAL;
		return NULL;
	}
	if (qp && !number_qp(qp)) {
		free(qp);
		errno = ENOMEM;
		return NULL;
	}
	if (!qp)
		return NULL;
	stub_lock();
	stub_cq_exists(init->send_cq);
	stub_cq_exists(init->recv_cq);
	stub_unlock();
	qp->v.context = pd->context;
	qp->v.qp_context = init->qp_context;
	qp->v.pd = pd;
	qp->v.send_cq = init->send_cq;
	qp->v.recv_cq = init->recv_cq;
	qp->v.srq = init->srq;
	qp->v.qp_type = init->qp_type;
	qp->all_signalled = init->sq_sig_all;
	qp->ece_own = qp->ece_options = stub_config.ece_options;
	qp->ack_timeout = -1;
	qp->max_send = init->cap.max_send_wr;
	qp->max_recv = init->cap.max_recv_wr;
	make_ring(&qp->own, qp->max_recv);
	qp->recv = init->srq ? &((struct stub_srq *)init->srq)->ring : &qp->own;
	qp->mask = stub_ring_size(qp->max_send) - 1;
	qp->waiting = calloc(qp->mask + 1, sizeof(*qp->waiting));
	return &qp->v;
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	struct stub_qp *qp = (struct stub_qp *)base;
	int error = stub_refuses("ibv_modify_qp");

	if (error || !(mask & IBV_QP_STATE))
		return error;
	if (base->state == IBV_QPS_ERR && attr->qp_state != IBV_QPS_RESET)
		return attr->qp_state == IBV_QPS_ERR ? 0 : EINVAL;
	if (mask & IBV_QP_TIMEOUT)
		qp->ack_timeout = attr->timeout;
	if (attr->qp_state == IBV_QPS_INIT)
		qp->access = (unsigned int)attr->qp_access_flags;
	if (attr->qp_state == IBV_QPS_RTR)
		qp->reads_in = attr->max_dest_rd_atomic;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		qp->rnr_timer = attr->min_rnr_timer;
	else if (attr->qp_state == IBV_QPS_RTS)
		qp->reads_out = attr->max_rd_atomic;
	if (attr->qp_state == IBV_QPS_ERR) {
		stub_to_error(qp);
	} else if (attr->qp_state == IBV_QPS_RESET) {
		stub_flush_forget(qp);
		qp->own.get = qp->own.put;
		qp->get = qp->put;
		qp->v.state = IBV_QPS_RESET;
	} else if (qp->peer || attr->qp_state != IBV_QPS_RTS) {
		qp->v.state = attr->qp_state;
	}
	return 0;
}

int ibv_query_ece(struct ibv_qp *base, struct ibv_ece *ece)
{
	int error = stub_refuses("ibv_query_ece");

	if (error || !stub_config.ece_vendor)
		return error ? error : EOPNOTSUPP;
	ece->vendor_id = stub_config.ece_vendor;
	ece->options = ((struct stub_qp *)base)->ece_options;
	return 0;
}

/* Like mlx5, it takes effect when the QP is moved to RTR. */
int ibv_set_ece(struct ibv_qp *base, struct ibv_ece *ece)
{
	struct stub_qp *qp = (struct stub_qp *)base;
	int error = stub_refuses("ibv_set_ece");

	if (error || !stub_config.ece_vendor || !ece->vendor_id)
		return error ? error : EOPNOTSUPP;
	if (ece->comp_mask || ece->vendor_id != stub_config.ece_vendor ||
	    base->state >= IBV_QPS_RTR)
		return EINVAL;
	qp->ece_options = ece->options & qp->ece_own;
	qp->ece_sets++;
	return 0;
}

int ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)mask;
	memset(init, 0, sizeof(*init));
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = base->state;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *base)
{
	struct stub_qp *qp = (struct stub_qp *)base;

	stub_held_up(&qp->asked);
	stub_forget_events(qp);
	stub_lock();
	stub_flush_destroyed(qp);
	if (qp->peer)
		qp->peer->peer = NULL;
	qps[qp->v.qp_num] = NULL;
	stub_forget_number(qp);
	stub_unlock();
	free(qp->own.at);
	free(qp->waiting);
	free(qp->late);
	free(qp);
	stub_count(-1);
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	(void)pd;
	(void)attr;
	errno = EOPNOTSUPP;
	return NULL;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	(void)ah;
	return EOPNOTSUPP;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return status ? "error" : "success";
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
	(void)event;
	return "event";
}
