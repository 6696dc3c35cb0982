/* SPDX-License-Identifier: BSD-3-Clause */
/* Work queues: their rings, and the move to a ring of another size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wq.h"

/* Positions count bytes, and the difference of two has to have a sign. */
#define WQ_MOST (INT32_MAX / HW_WQ_STEP)

static int wq_init(struct hw_wq *s, struct nic_qp *qp, uint32_t n, uint32_t width)
{
	uint32_t ring = 1;

	if (n > WQ_MOST)
		return -ENOMEM;
	*s = (struct hw_wq){ .most = n * HW_WQ_STEP, .end = n * HW_WQ_STEP, .width = width };
	while (ring < n)
		ring <<= 1;
	s->mask = ring * HW_WQ_STEP - 1;
	s->wqe = aligned_alloc(sizeof(*s->wqe), ring * sizeof(*s->wqe));
	s->sge = width ? calloc((size_t)ring * width, sizeof(*s->sge)) : NULL;
	if (!s->wqe || (width && !s->sge)) {
		free(s->wqe);
		free(s->sge);
		return -ENOMEM;
	}
	memset(s->wqe, 0, ring * sizeof(*s->wqe));
	for (uint32_t i = 0; i < ring; i++)
		s->wqe[i].qp = qp;
	return 0;
}

void hw_wq_fini(struct hw_wq *s)
{
	free(s->wqe);
	free(s->sge);
}

int hw_wq_init_both(struct nic_qp *qp, const struct nic_qp_cap *cap, bool with_srq,
		    struct hw_wq *sq, struct hw_wq *rq)
{
	int err = wq_init(sq, qp, cap->max_send_wr, 0);

	if (err)
		return err;
	err = wq_init(rq, qp, with_srq ? 0 : cap->max_recv_wr,
		      with_srq ? 0 : (cap->max_recv_sge ? cap->max_recv_sge : 1));
	if (err) {
		hw_wq_fini(sq);
		return err;
	}
	for (uint32_t i = 0; i < hw_wq_entries(rq); i++)
		rq->wqe[i].opcode = NIC_OP_RECV;
	return 0;
}

uint32_t hw_wq_widest(const struct hw_wq *s)
{
	uint32_t widest = 0;

	for (uint32_t at = hw_wq_get(s); at != s->put; at += HW_WQ_STEP)
		if (hw_wq_at(s, at)->num_sge > widest)
			widest = hw_wq_at(s, at)->num_sge;
	return widest;
}

void hw_wq_move(struct hw_wq *to, const struct hw_wq *from)
{
	for (uint32_t at = hw_wq_get(from); at != from->put; at += HW_WQ_STEP) {
		const struct hw_wqe *old = hw_wq_at(from, at);
		struct hw_wqe *wqe = hw_wq_next(to);

		wqe->wr_id = old->wr_id;
		wqe->flags = old->flags;
		wqe->kind = HW_WQE_GENERAL;
		wqe->num_sge = old->num_sge;
		memcpy(hw_wq_sge(to, to->put), hw_wq_sge(from, at),
		       wqe->num_sge * sizeof(struct ibv_sge));
		to->put += HW_WQ_STEP;
	}
}

void hw_wq_keep_label(struct hw_wq *to, const struct hw_wq *from)
{
	for (uint32_t i = 0; i < hw_wq_entries(to); i++)
		memcpy(to->wqe[i].label, from->wqe[0].label, sizeof(to->wqe[i].label));
}
