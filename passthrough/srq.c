/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues. Available Receives are those posted and not completed: hardware does not
 * tell that a message has taken a buffer and is still filling it. The device watches the limit
 * (srq_limit), and complete.c checks it at each completion; the first to find it crossed tells lib,
 * once.
 */
#include <errno.h>
#include <stdlib.h>

#include "cm.h"

/* If the device cannot resize an SRQ, it is created larger by this, and lib enforces the size. */
#define ROOM_TIMES 4u
#define ROOM_LEAST 1024u

static bool add_wqes(struct hw_srq *srq, uint32_t n)
{
	struct hw_srq_chunk *chunk = calloc(1, sizeof(*chunk) + n * sizeof(chunk->wqes[0]));

	if (!chunk)
		return false;
	for (uint32_t i = n; i-- > 0;) {
		chunk->wqes[i].own = srq;
		chunk->wqes[i].opcode = NIC_OP_RECV;
		chunk->wqes[i].kind = HW_WQE_SRQ;
		chunk->wqes[i].next = srq->free;
		srq->free = &chunk->wqes[i];
	}
	LIST_INSERT_HEAD(&srq->chunks, chunk, link);
	srq->capacity += n;
	return true;
}

static void free_wqes(struct hw_srq *srq)
{
	struct hw_srq_chunk *chunk;

	while ((chunk = LIST_FIRST(&srq->chunks)) != NULL) {
		LIST_REMOVE(chunk, link);
		free(chunk);
	}
}

static uint32_t capacity_for(const struct hw_nic *n, uint32_t max_wr)
{
	uint32_t most = (uint32_t)n->attr.max_srq_wr, room = max_wr * ROOM_TIMES;

	if (n->dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE)
		return max_wr;
	if (room < ROOM_LEAST)
		room = ROOM_LEAST;
	return room < most ? room : most;
}

/* ---- posting ---- */

static inline int srq_post_one(struct hw_srq *srq, uint64_t wr_id, uint8_t flags,
			       struct ibv_recv_wr *wr)
{
	struct hw_wqe *wqe = srq->free;
	int err;

	if (HW_UNLIKELY(!wqe))
		return -EAGAIN;
	wqe->wr_id = wr_id;
	wqe->flags = flags;
	wr->wr_id = (uintptr_t)wqe;
	err = ibv_post_srq_recv(srq->verbs, wr, &srq->bad);
	if (HW_UNLIKELY(err))
		return hw_error(err) == -ENOMEM ? -EAGAIN : hw_error(err);
	srq->free = wqe->next;
	srq->posted++;
	return 0;
}

int hw_srq_post(struct nic_srq *base, const struct nic_recv_wr *wr)
{
	struct ibv_sge sge[HW_SEGMENTS];
	struct ibv_recv_wr verbs = { .sg_list = sge };

	/* Empty ones are left out: mlx5 takes the length 0 for 2 GiB. */
	for (uint16_t i = 0; i < wr->num_sge; i++)
		if (wr->sge[i].length > 0)
			sge[verbs.num_sge++] = (struct ibv_sge){ .addr = wr->sge[i].addr,
								 .length = wr->sge[i].length,
								 .lkey = wr->sge[i].lkey };
	return srq_post_one(hw_srq(base), wr->wr_id, (uint8_t)wr->flags, &verbs);
}

static int srq_quick_recv(struct nic_srq *base, uint64_t addr, uint32_t length, uint64_t wr_id,
			  uint32_t lkey)
{
	struct hw_srq *srq = hw_srq(base);

	srq->sge = (struct ibv_sge){ .addr = addr, .length = length, .lkey = lkey };
	return srq_post_one(srq, wr_id, 0, &srq->wr);
}

/* ---- creating, resizing ---- */

/* With room to grow, or at least as large as wanted. */
static int srq_create_verbs(struct hw_srq *srq, struct nic_pd *pd, uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = { .srq_context = srq,
					  .attr = { .max_wr = srq->device, .max_sge = max_sge } };

	errno = 0;
	srq->verbs = ibv_create_srq(hw_pd(pd)->verbs, &attr);
	if (!srq->verbs && srq->device > srq->max_wr) {
		srq->device = srq->max_wr;
		attr.attr.max_wr = srq->max_wr;
		attr.attr.max_sge = max_sge;
		errno = 0;
		srq->verbs = ibv_create_srq(hw_pd(pd)->verbs, &attr);
	}
	return srq->verbs ? 0 : hw_explain_no_memory(hw_errno());
}

int hw_srq_create(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name, void *ctx,
		  struct nic_srq **out)
{
	struct hw_nic *n = hw_nic(pd->nic);
	struct hw_srq *srq;
	int err;

	(void)name;
	if (n->srqs >= n->attr.max_srq)
		return -ENOMEM;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->base = (struct nic_srq){ .nic = pd->nic, .ctx = ctx };
	srq->max_wr = max_wr;
	srq->device = capacity_for(n, max_wr);
	srq->quick.recv = srq_quick_recv;
	srq->wr = (struct ibv_recv_wr){ .sg_list = &srq->sge, .num_sge = 1 };
	LIST_INIT(&srq->chunks);
	LIST_INIT(&srq->qps);
	err = srq_create_verbs(srq, pd, max_sge);
	if (err)
		goto free_srq;
	if (!add_wqes(srq, srq->device)) {
		ibv_destroy_srq(srq->verbs);
		err = -ENOMEM;
		goto free_srq;
	}
	LIST_INSERT_HEAD(&n->all_srqs, srq, in_nic);
	n->srqs++;
	*out = &srq->base;
	return 0;

free_srq:
	free(srq);
	return err;
}

static void srq_destroy_verbs(struct hw_deferred *deferred)
{
	ibv_destroy_srq(nic_container_of(deferred, struct hw_srq, deferred)->verbs);
}

static void srq_release(struct hw_deferred *deferred)
{
	struct hw_srq *srq = nic_container_of(deferred, struct hw_srq, deferred);

	free_wqes(srq);
	free(srq);
}

void hw_srq_destroy(struct nic_srq *base)
{
	struct hw_srq *srq = hw_srq(base);

	LIST_REMOVE(srq, in_nic);
	hw_nic(base->nic)->srqs--;
	srq->limit = 0;
	srq->deferred =
		(struct hw_deferred){ .destroy = srq_destroy_verbs, .release = srq_release };
	hw_destroy_after(&srq->deferred);
}

/* If the device cannot, it has to be large enough already. */
static int srq_resize_verbs(struct hw_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };
	uint32_t before = srq->capacity;
	struct hw_srq_chunk *chunk;

	if (max_wr > before && !add_wqes(srq, max_wr - before))
		return -ENOMEM;
	if (ibv_modify_srq(srq->verbs, &attr, IBV_SRQ_MAX_WR) == 0) {
		srq->device = max_wr;
		return 0;
	}
	if (max_wr <= srq->device)
		return 0;
	if (max_wr <= before)
		return -ENOMEM;
	/* The new entries are the first of the free list: take them off. */
	chunk = LIST_FIRST(&srq->chunks);
	srq->free = chunk->wqes[max_wr - before - 1].next;
	LIST_REMOVE(chunk, link);
	free(chunk);
	srq->capacity = before;
	return -ENOMEM;
}

static void srq_set_size(struct hw_srq *srq, uint32_t max_wr)
{
	struct hw_qp *qp;

	srq->max_wr = max_wr;
	LIST_FOREACH(qp, &srq->qps, in_srq)
	if (qp->srq_room) {
		hw_cq_attach(hw_cq_of(qp, qp->init.recv_cq), (int)max_wr - (int)qp->srq_room);
		qp->srq_room = max_wr;
	}
}

int hw_srq_resize(struct nic_srq *base, uint32_t max_wr)
{
	struct hw_srq *srq = hw_srq(base);
	bool resizes = hw_nic(base->nic)->dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE;
	int err = 0;

	if (hw_srq_count(base) > max_wr)
		return -EINVAL;
	if (resizes || max_wr > srq->device)
		err = srq_resize_verbs(srq, max_wr);
	if (!err)
		srq_set_size(srq, max_wr);
	return err;
}

/* ---- the limit ---- */

static int srq_set_limit(struct hw_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };
	int err = ibv_modify_srq(srq->verbs, &attr, IBV_SRQ_LIMIT);

	if (!err)
		srq->limit = limit;
	return err;
}

int hw_srq_limit(struct nic_srq *base, uint32_t limit)
{
	struct hw_srq *srq = hw_srq(base);
	uint32_t before = srq->limit;
	int err;

	/*
	 * The device may reach the previous limit until that limit is disarmed, and its event may
	 * still be unread. Drop that event, or it would pass for one of the next limit.
	 */
	if (before && (err = srq_set_limit(srq, 0)))
		return hw_error(err);
	hw_async_drain(hw_nic(base->nic));
	err = srq_set_limit(srq, limit);
	if (err && before)
		srq_set_limit(srq, before);
	/* The device checks the limit only at the next taking. Check it now. */
	if (srq->limit)
		hw_srq_count(base);
	return err ? hw_error(err) : 0;
}

uint32_t hw_srq_count(struct nic_srq *base)
{
	struct hw_srq *srq = hw_srq(base);
	struct hw_qp *qp;

	LIST_FOREACH(qp, &srq->qps, in_srq)
	hw_qp_drain(qp);
	return srq->posted;
}
