/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, completion queues, receive queues, queue pairs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "stub.h"

/* verbs.h has a macro of this name, which hides the function defined here. */
#undef ibv_reg_mr

static struct stub_qp *qps[STUB_QP];
static struct stub_mr *mrs[STUB_MR];
static struct stub_cq *cqs;

/* A QP's CQs, SRQ and PD cannot be destroyed before it, as with a kernel. */
static bool is_used(const void *cq, const void *srq, const void *pd)
{
	bool used = false;

	stub_lock();
	for (uint32_t i = 0; i < STUB_QP; i++)
		used |= qps[i] && ((cq && (qps[i]->v.send_cq == cq || qps[i]->v.recv_cq == cq)) ||
				   (srq && qps[i]->v.srq == srq) || (pd && qps[i]->v.pd == pd));
	stub_unlock();
	return used;
}

/* ---- PDs, MRs, windows ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = stub_refuses("ibv_alloc_pd") ? NULL : calloc(1, sizeof(*pd));

	if (pd) {
		pd->context = context;
		stub_count(1);
	}
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	if (is_used(NULL, NULL, pd))
		return EBUSY;
	free(pd);
	stub_count(-1);
	return 0;
}

static struct stub_mr *new_mr(void)
{
	struct stub_mr *mr = calloc(1, sizeof(*mr));
	uint32_t i;

	stub_lock();
	for (i = 1; i < STUB_MR && mrs[i]; i++)
		;
	if (i < STUB_MR && mr) {
		mrs[i] = mr;
		mr->v.lkey = mr->v.rkey = i;
		stub_count(1);
	}
	stub_unlock();
	return mr;
}

static void drop_mr(struct stub_mr *mr)
{
	stub_lock();
	mrs[mr->v.rkey % STUB_MR] = NULL;
	stub_count(-1);
	stub_unlock();
	free(mr);
}

struct stub_mr *stub_mr_by_key(uint32_t key)
{
	struct stub_mr *mr = mrs[key % STUB_MR];

	return mr && mr->v.rkey == key ? mr : NULL;
}

/* The first page decides. */
static bool is_read_only(const void *addr)
{
	uintptr_t at = (uintptr_t)addr, from, to;
	FILE *maps = fopen("/proc/self/maps", "r");
	bool read_only = false;
	char line[512], mode[8];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, mode) == 3 &&
		    from <= at && at < to)
			read_only = mode[1] != 'w';
	if (maps)
		fclose(maps);
	return read_only;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	const unsigned int writes = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_MW_BIND;
	struct stub_mr *mr = stub_refuses("ibv_reg_mr") ? NULL : new_mr();

	(void)iova;
	if (mr && (access & writes) && is_read_only(addr)) {
		drop_mr(mr);
		errno = EFAULT;
		return NULL;
	}
	if (!mr)
		return NULL;
	mr->v.context = pd->context;
	mr->v.pd = pd;
	mr->v.addr = addr;
	mr->v.length = length;
	mr->access = (int)access;
	return &mr->v;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (((struct stub_mr *)mr)->windows > 0)
		return EBUSY;
	drop_mr((struct stub_mr *)mr);
	return 0;
}

void stub_window_to(struct stub_mr *window, struct stub_mr *region)
{
	if (window->bound)
		window->bound->windows--;
	window->bound = region;
	if (region)
		region->windows++;
}

/* A window is an entry of the table like a region: its key is that of its last bind. */
struct ibv_mw *stub_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = stub_refuses("ibv_alloc_mw") ? NULL : calloc(1, sizeof(*mw));
	struct stub_mr *mr = mw ? new_mr() : NULL;

	if (!mr)
		return NULL;
	mr->v.pd = pd;
	*mw = (struct ibv_mw){ .context = pd->context, .pd = pd, .rkey = mr->v.rkey, .type = type };
	return mw;
}

int stub_dealloc_mw(struct ibv_mw *mw)
{
	stub_window_to(mrs[mw->rkey % STUB_MR], NULL);
	drop_mr(mrs[mw->rkey % STUB_MR]);
	free(mw);
	return 0;
}

/* ---- completion queues ---- */

static uint32_t ring_size(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct stub_channel *channel;

	if (stub_refuses("ibv_create_comp_channel"))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	channel->v.context = context;
	channel->v.fd = eventfd(0, EFD_SEMAPHORE);
	stub_count(1);
	return &channel->v;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	stub_count(-1);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct stub_cq *cq = stub_refuses("ibv_create_cq") ? NULL : calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	if (cqe < 1 || cqe > STUB_CQE || vector < 0 || vector >= context->num_comp_vectors) {
		free(cq);
		errno = EINVAL;
		return NULL;
	}
	cq->v = (struct ibv_cq){ .context = context, .channel = channel, .cq_context = cq_context };
	cq->depth = ring_size((uint32_t)cqe);
	cq->mask = cq->depth - 1;
	cq->v.cqe = (int)cq->depth;
	cq->at = calloc(cq->depth, sizeof(*cq->at));
	cq->vector = vector;
	stub_lock();
	cq->next_of_all = cqs;
	cqs = cq;
	stub_unlock();
	stub_count(1);
	return &cq->v;
}

int stub_cqs_of(int vector)
{
	struct stub_cq *cq;
	int n = 0;

	stub_lock();
	for (cq = cqs; cq; cq = cq->next_of_all)
		n += cq->vector == vector;
	stub_unlock();
	return n;
}

int ibv_resize_cq(struct ibv_cq *base, int cqe)
{
	struct stub_cq *cq = (struct stub_cq *)base;
	uint32_t depth = ring_size((uint32_t)cqe), n = 0;
	int error = stub_refuses("ibv_resize_cq");
	struct ibv_wc *at;

	if (error)
		return error;
	if (cqe > STUB_CQE || cq->put - cq->get > depth)
		return EINVAL;
	at = calloc(depth, sizeof(*at));
	while (cq->get != cq->put)
		at[n++] = cq->at[cq->get++ & cq->mask];
	free(cq->at);
	cq->at = at;
	cq->get = 0;
	cq->put = cq->seen = n;
	cq->depth = depth;
	cq->mask = depth - 1;
	cq->v.cqe = (int)depth;
	return 0;
}

static void leave_channel(struct stub_cq *cq)
{
	struct stub_channel *channel = (struct stub_channel *)cq->v.channel;
	struct stub_cq **at;

	if (!cq->waiting)
		return;
	for (at = &channel->first; *at != cq; at = &(*at)->next)
		;
	*at = cq->next;
	stub_unsignal(channel->v.fd);
}

int ibv_destroy_cq(struct ibv_cq *base)
{
	struct stub_cq *cq = (struct stub_cq *)base, **at;

	if (is_used(cq, NULL, NULL))
		return EBUSY;
	stub_lock();
	leave_channel(cq);
	for (at = &cqs; *at != cq; at = &(*at)->next_of_all)
		;
	*at = cq->next_of_all;
	stub_unlock();
	stub_forget_events(cq);
	free(cq->at);
	free(cq);
	stub_count(-1);
	return 0;
}

static int reads_of_broken;

void stub_break_channels(void)
{
	struct stub_cq *cq;

	stub_lock();
	for (cq = cqs; cq; cq = cq->next_of_all) {
		if (!cq->v.channel)
			continue;
		((struct stub_channel *)cq->v.channel)->broken = true;
		stub_signal(cq->v.channel->fd);
	}
	stub_unlock();
}

int stub_reads_of_broken(void)
{
	int n;

	stub_lock();
	n = reads_of_broken;
	stub_unlock();
	return n;
}

void stub_await_read_of_broken(void)
{
	stub_lock();
	while (reads_of_broken == 0)
		stub_wait();
	stub_unlock();
}

static bool is_broken(const struct stub_channel *channel)
{
	bool broken;

	stub_lock();
	broken = channel->broken;
	reads_of_broken += broken;
	stub_changed();
	stub_unlock();
	return broken;
}

int ibv_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **cq, void **cq_context)
{
	struct stub_channel *channel = (struct stub_channel *)base;
	struct stub_cq *first;
	uint64_t value;

	if (is_broken(channel)) {
		errno = EIO;
		return -1;
	}
	if (read(base->fd, &value, sizeof(value)) < 0)
		return -1;
	stub_lock();
	first = channel->first;
	if (first) {
		channel->first = first->next;
		first->waiting = false;
		stub_changed();
		*cq = &first->v;
		*cq_context = first->v.cq_context;
	}
	stub_unlock();
	if (!first)
		errno = EAGAIN;
	return first ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	(void)cq;
	(void)n;
}

/* ---- receive queues, queue pairs ---- */

static void make_ring(struct stub_ring *ring, uint32_t n)
{
	uint32_t size = ring_size(n);

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

	if (is_used(NULL, srq, NULL))
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

	return ring_size(cap->max_send_wr * ((overhead + most + 63) / 64));
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

/* A library reads what it is given: a CQ that is gone would be memory of something else. */
static void must_exist(const struct ibv_cq *base)
{
	const struct stub_cq *cq = cqs;

	while (cq && &cq->v != base)
		cq = cq->next_of_all;
	if (!cq)
		abort();
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
	must_exist(init->send_cq);
	must_exist(init->recv_cq);
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
	qp->mask = ring_size(qp->max_send) - 1;
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
	if (attr->qp_state == IBV_QPS_RTR)
		qp->reads_in = attr->max_dest_rd_atomic;
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
