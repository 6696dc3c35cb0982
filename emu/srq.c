/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues: creation, resizing, posting, the low limit.
 */
#include <errno.h>
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/hostile/posted.h"
#include "qp.h"
#include "srq.h"

static struct emu_srq *srq_of(struct nic_srq *base)
{
	return emu_local_srq(base)->entry;
}

/* A post on a disconnected QP: the receive completes as FLUSHED at once. */
static EMU_COLD int recv_flushed(struct emu_world *w, struct emu_qp *qp,
				 const struct nic_recv_wr *wr)
{
	struct emu_rwqe flushed = { .wr_id = wr->wr_id, .flags = wr->flags };

	emu_complete_recv(w, qp, &flushed, NIC_WC_FLUSHED);
	return 0;
}

/* On the queue of an SRQ, or of a QP. */
static void put_recv(struct emu_world *w, struct emu_qp *qp, struct emu_srq *srq,
		     const struct nic_recv_wr *wr)
{
	struct emu_wq *wq = srq ? &srq->wq : &qp->rq;

	emu_recv_put(w, wq, wr);
	if (emu_posted_on(w))
		((struct emu_rwqe *)emu_wqe(w, wq, wq->put - 1))->mem_epoch =
			emu_posted_receive(w, qp, srq, wr);
}

int emu_post_recv(struct nic_qp *base, const struct nic_recv_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;

	if (qp->srq || wr->num_sge > qp->max_recv_sge)
		return -EINVAL;
	if (qp->state == EMU_QP_ERROR)
		return recv_flushed(w, qp, wr);
	if (emu_wq_count(&qp->rq) >= qp->rq.max)
		return -EAGAIN;
	put_recv(w, qp, NULL, wr);
	return 0;
}

int emu_srq_create(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name, void *ctx,
		   struct nic_srq **srq)
{
	struct emu_world *w = emu_world_of(pd->nic);
	uint16_t adapter = emu_nic(pd->nic)->adapter;
	struct emu_srq *entry;
	uint32_t index;
	struct emu_wq wq;
	int err;

	if (max_wr == 0 || max_wr > EMU_MAX_SRQ_WR || max_sge > EMU_MAX_SGE)
		return -EINVAL;
	if (EMU_AT(w->fab->adapters, adapter).srqs >= EMU_MAX_SRQ)
		return -ENOMEM;
	err = emu_wq_init(w, &wq, max_wr, emu_recv_stride(max_sge));
	if (err)
		return err;
	wq.get = wq.put = EMU_FIRST;
	index = EMU_TAKE(w, srqs, srq, EMU_SRQS);
	if (!index) {
		emu_wq_fini(w, &wq);
		return -ENOMEM;
	}
	EMU_AT(w->fab->adapters, adapter).srqs++;
	entry = &w->fab->srq[index];
	entry->wq = wq;
	entry->pd = EMU_INDEX(w, pd, pd);
	entry->limit = 0;
	entry->name = name;
	entry->max_sge = max_sge;
	entry->users = 0;
	entry->adapter = adapter;
	EMU_LIVE(w->fab, srqs, entry);
	w->srq[index] = (struct emu_local_srq){ .base = { .nic = pd->nic, .ctx = ctx },
						.entry = entry,
						.world = w };
	*srq = &w->srq[index].base;
	return 0;
}

int emu_srq_resize(struct nic_srq *base, uint32_t max_wr)
{
	struct emu_srq *srq = srq_of(base);

	if (max_wr == 0 || max_wr > EMU_MAX_SRQ_WR || max_wr < emu_wq_count(&srq->wq))
		return -EINVAL;
	return emu_wq_resize(emu_world_of(base->nic), &srq->wq, max_wr, srq->wq.words * EMU_WORD);
}

void emu_srq_destroy(struct nic_srq *base)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_srq *srq = srq_of(base);

	EMU_SURE(w, srq->users == 0);
	EMU_AT(w->fab->adapters, srq->adapter).srqs--;
	emu_posted_forget(w, NULL, srq);
	emu_wq_fini(w, &srq->wq);
	EMU_FREE(w->fab, srqs, srq, emu_srq_index(w, base));
	base->nic = NULL;
	base->ctx = NULL;
}

int emu_srq_post(struct nic_srq *base, const struct nic_recv_wr *wr)
{
	struct emu_srq *srq = srq_of(base);

	if (wr->num_sge > srq->max_sge)
		return -EINVAL;
	if (emu_wq_count(&srq->wq) >= srq->wq.max)
		return -EAGAIN;
	put_recv(emu_world_of(base->nic), NULL, srq, wr);
	return 0;
}

int emu_srq_limit(struct nic_srq *base, uint32_t limit)
{
	struct emu_srq *srq = srq_of(base);

	if (limit > srq->wq.max)
		return -EINVAL;
	srq->limit = limit;
	return 0;
}

uint32_t emu_srq_count(struct nic_srq *base)
{
	return emu_wq_count(&srq_of(base)->wq);
}
