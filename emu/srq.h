/* SPDX-License-Identifier: BSD-3-Clause */
/* srq.h - receive queues: shared ones, and posting to a QP's own. */
#ifndef EMU_SRQ_H
#define EMU_SRQ_H

#include "emu/fabric/fabric.h"

int emu_post_recv(struct nic_qp *qp, const struct nic_recv_wr *wr);

int emu_srq_create(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name, void *ctx,
		   struct nic_srq **srq);
int emu_srq_resize(struct nic_srq *srq, uint32_t max_wr);
void emu_srq_destroy(struct nic_srq *srq);
int emu_srq_post(struct nic_srq *srq, const struct nic_recv_wr *wr);
int emu_srq_limit(struct nic_srq *srq, uint32_t limit);
uint32_t emu_srq_count(struct nic_srq *srq);

/* Bytes of a ring entry for a receive with up to max_sge segments. */
static inline uint32_t emu_recv_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct emu_rwqe) + max_sge * sizeof(struct nic_sge));
}

/* Copy a receive work request into its ring entry. */
static inline void emu_recv_fill(const struct emu_world *w, struct emu_rwqe *wqe,
				 const struct nic_recv_wr *wr)
{
	wqe->wr_id = wr->wr_id;
	wqe->mem_epoch = w->fab->mem_epoch;
	wqe->num_sge = wr->num_sge;
	wqe->flags = wr->flags;
	emu_copy_sge(wqe->sge, wr->sge, wr->num_sge);
}

static inline void emu_recv_put(struct emu_world *w, struct emu_wq *wq,
				const struct nic_recv_wr *wr)
{
	emu_recv_fill(w, emu_wqe(w, wq, wq->put++), wr);
}

#endif /* EMU_SRQ_H */
