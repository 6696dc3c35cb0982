/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues. What is available is what was posted and not completed: that a message has taken
 * a buffer and not yet filled it, hardware does not tell. The device watches the limit (srq_limit), and so
 * do we as receives complete: whoever sees it first tells lib, once.
 */
#include <errno.h>
#include <stdlib.h>

#include "cm.h"

/* Where the device cannot resize one, it is made so much larger, and lib keeps to its size. */
#define ROOM_TIMES 4u
#define ROOM_LEAST 1024u

static bool add_slots(struct hw_srq *srq, uint32_t n)
{
	struct hw_srq_chunk *chunk = calloc(1, sizeof(*chunk) + n * sizeof(chunk->slots[0]));

	if (!chunk)
		return false;
	for (uint32_t i = n; i-- > 0;) {
		chunk->slots[i].own = srq;
		chunk->slots[i].opcode = NIC_OP_RECV;
		chunk->slots[i].kind = NIC_SLOT_SRQ;
		chunk->slots[i].next = srq->free;
		srq->free = &chunk->slots[i];
	}
	LIST_INSERT_HEAD(&srq->chunks, chunk, link);
	srq->capacity += n;
	return true;
}

static void free_slots(struct hw_srq *srq)
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

static inline int post(struct hw_srq *srq, uint64_t wr_id, uint8_t flags, struct ibv_recv_wr *wr)
{
	struct nic_slot *slot = srq->free;
	int err;

	if (HW_UNLIKELY(!slot))
		return -EAGAIN;
	slot->wr_id = wr_id;
	slot->flags = flags;
	wr->wr_id = (uintptr_t)slot;
	err = ibv_post_srq_recv(srq->verbs, wr, &srq->bad);
	if (HW_UNLIKELY(err))
		return hw_error(err) == -ENOMEM ? -EAGAIN : hw_error(err);
	srq->free = slot->next;
	srq->posted++;
	return 0;
}

int hw_srq_post(struct nic_srq *base, const struct nic_recv_wr *wr)
{
	struct ibv_recv_wr verbs = { .sg_list = (struct ibv_sge *)(uintptr_t)wr->sge,
				     .num_sge = wr->num_sge };

	return post(hw_srq(base), wr->wr_id, (uint8_t)wr->flags, &verbs);
}

static int recv_one(struct nic_srq *base, uint32_t length, uint64_t addr, uint64_t wr_id,
		    uint32_t lkey)
{
	struct hw_srq *srq = hw_srq(base);

	srq->sge = (struct ibv_sge){ .addr = addr, .length = length, .lkey = lkey };
	return post(srq, wr_id, 0, &srq->wr);
}

/* ---- creating, resizing ---- */

int hw_srq_create(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name, void *ctx,
		  struct nic_srq **out)
{
	struct hw_nic *n = hw_nic(pd->nic);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = capacity_for(n, max_wr),
						    .max_sge = max_sge } };
	struct hw_srq *srq;
	int err = -ENOMEM;

	(void)name;
	if (n->srqs >= n->attr.max_srq)
		return -ENOMEM;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->base = (struct nic_srq){ .nic = pd->nic, .ctx = ctx };
	srq->max_wr = max_wr;
	srq->quick.recv_one = recv_one;
	srq->wr = (struct ibv_recv_wr){ .sg_list = &srq->sge, .num_sge = 1 };
	LIST_INIT(&srq->chunks);
	LIST_INIT(&srq->qps);
	if (!add_slots(srq, attr.attr.max_wr))
		goto free_srq;
	attr.srq_context = srq;
	errno = 0;
	srq->verbs = ibv_create_srq(hw_pd(pd)->verbs, &attr);
	if (!srq->verbs) {
		err = hw_no_memory(hw_errno());
		goto free_chunks;
	}
	n->srqs++;
	*out = &srq->base;
	return 0;

free_chunks:
	free_slots(srq);
free_srq:
	free(srq);
	return err;
}

static void destroy_verbs(struct hw_grave *grave)
{
	ibv_destroy_srq(nic_container_of(grave, struct hw_srq, grave)->verbs);
}

static void release(struct hw_grave *grave)
{
	struct hw_srq *srq = nic_container_of(grave, struct hw_srq, grave);

	free_slots(srq);
	free(srq);
}

void hw_srq_destroy(struct nic_srq *base)
{
	struct hw_srq *srq = hw_srq(base);

	hw_nic(base->nic)->srqs--;
	srq->limit = 0;
	srq->grave = (struct hw_grave){ .destroy = destroy_verbs, .release = release };
	hw_bury_after(&srq->grave);
}

/* Within what it was made with nothing need be done; else the device has to. */
static int resize_verbs(struct hw_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };
	uint32_t before = srq->capacity;
	struct hw_srq_chunk *chunk;

	if (max_wr > before && !add_slots(srq, max_wr - before))
		return -ENOMEM;
	if (ibv_modify_srq(srq->verbs, &attr, IBV_SRQ_MAX_WR) == 0)
		return 0;
	if (max_wr <= before)
		return 0;
	/* The new slots are the first of the free list. */
	chunk = LIST_FIRST(&srq->chunks);
	srq->free = chunk->slots[max_wr - before - 1].next;
	LIST_REMOVE(chunk, link);
	free(chunk);
	srq->capacity = before;
	return -ENOMEM;
}

static void set_size(struct hw_srq *srq, uint32_t max_wr)
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
	if (resizes || max_wr > srq->capacity)
		err = resize_verbs(srq, max_wr);
	if (!err)
		set_size(srq, max_wr);
	return err;
}

/* ---- its limit ---- */

void hw_srq_look(struct hw_srq *srq)
{
	if (srq->posted >= srq->limit)
		return;
	srq->limit = 0;
	srq->base.nic->up->srq_limit(srq->base.ctx);
}

int hw_srq_limit(struct nic_srq *base, uint32_t limit)
{
	struct hw_srq *srq = hw_srq(base);
	struct ibv_srq_attr attr = { .srq_limit = limit };
	int err;

	/* An event of the arming before may wait to be read: it means nothing now. */
	srq->limit = 0;
	hw_async_look(hw_nic(base->nic));
	err = ibv_modify_srq(srq->verbs, &attr, IBV_SRQ_LIMIT);
	if (err)
		return hw_error(err);
	srq->limit = limit;
	/* Taken before, completed since: the device does not look back. */
	if (limit)
		hw_srq_count(base);
	return 0;
}

uint32_t hw_srq_count(struct nic_srq *base)
{
	struct hw_srq *srq = hw_srq(base);
	struct hw_qp *qp;

	LIST_FOREACH(qp, &srq->qps, in_srq)
	hw_qp_look(qp);
	return srq->posted;
}
