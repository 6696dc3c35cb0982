/* SPDX-License-Identifier: BSD-3-Clause */
/* cq.h - completion queues: a ring of completions with an exact limit. */
#ifndef EMU_CQ_H
#define EMU_CQ_H

#include <string.h>

#include "emu/fabric/fabric.h"

/* The values of emu_cq.armed. */
enum emu_armed {
	EMU_ARMED_NOT,
	EMU_ARMED_ANY,
	EMU_ARMED_PATIENT, /* as ANY; the owner need not be woken for it: nic_cq.patient */
	EMU_ARMED_SOLICITED
};

int emu_cq_create(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **cq);
int emu_cq_resize(struct nic_cq *cq, uint32_t depth);
void emu_cq_destroy(struct nic_cq *cq);
/* Size of a ring. */
size_t emu_cq_bytes(uint32_t mask);
void emu_cq_free(struct emu_world *w, uint32_t index);
int emu_cq_poll(struct nic_cq *cq, struct nic_wc *wc, int n);
uint32_t emu_cq_count(struct nic_cq *cq);
void emu_cq_limit(struct nic_cq *cq, uint32_t n);
void emu_cq_arm(struct nic_cq *cq);
void emu_cq_arm_solicited(struct nic_cq *cq);

/* The CQ is full, or there is none (0): the completion is lost, and lib is told. */
void emu_cq_lost(struct emu_world *w, uint32_t cq, uint32_t qp, enum nic_opcode opcode);
/* The CQ is armed (one shot): notify lib of this completion. */
void emu_cq_notify(struct emu_world *w, uint32_t cq);

static inline uint32_t emu_cq_number(const struct emu_world *w, const struct emu_cq *cq)
{
	return (uint32_t)(cq - w->fab->cq);
}

/* emu_cq_push in a private fabric, for the CQ with this entry and ring. */
static EMU_HOT void emu_cq_push_in(struct emu_world *w, struct emu_cq *cq, struct emu_cqe *ring,
				   uint32_t qp, uint64_t wr_id, uint32_t length,
				   enum nic_opcode opcode, enum nic_wc_status status,
				   uint32_t flags)
{
	uint32_t put = cq->put;
	struct emu_cqe *cqe;

	if (__builtin_expect(put - cq->get >= cq->limit, 0)) {
		/* Entry 0 of the table stands for "no CQ"; it never has room. */
		emu_cq_lost(w, emu_cq_number(w, cq), qp, opcode);
		return;
	}
	cqe = &ring[put & cq->mask];
	/* The owner may look at put; it takes nothing before the event has ended: direct.h. */
	__atomic_store_n(&cq->put, put + 1, __ATOMIC_RELAXED);
	cqe->wr_id = wr_id;
	cqe->qp = qp;
	EMU_ALONE(cqe->qp);
	cqe->length = length;
	cqe->opcode = (uint8_t)opcode;
	cqe->status = (uint8_t)status;
	cqe->flags = (uint8_t)flags;
	if (__builtin_expect(cq->armed, 0))
		emu_cq_notify(w, emu_cq_number(w, cq));
}

/* Add a completion of qp to a CQ (index 0: the QP has none). An overflow breaks the QP. */
static EMU_HOT void emu_cq_push(struct emu_world *w, uint32_t index, uint32_t qp, uint64_t wr_id,
				uint32_t length, enum nic_opcode opcode, enum nic_wc_status status,
				uint32_t flags)
{
	struct emu_cq *cq = EMU_KEEP(&EMU_AT(w->fab->cq, index));

	/* It may be beyond the last completion, never behind it: emu/shared/direct_owner.c. */
	__atomic_store_n(&cq->ring_end, cq->put + 1, __ATOMIC_RELAXED);
	emu_cq_push_in(w, cq, emu_at(w, cq->ring), qp, wr_id, length, opcode, status, flags);
}

/* `length` and what follows it: copied at once, which takes fewer instructions than one by one. */
#define EMU_CQE_REST (sizeof(struct emu_cqe) - offsetof(struct emu_cqe, length))
_Static_assert(offsetof(struct nic_wc, src_sl) - offsetof(struct nic_wc, length) ==
		       offsetof(struct emu_cqe, src_sl) - offsetof(struct emu_cqe, length),
	       "the order is that of struct nic_wc");

/* Dequeue the oldest completion of the CQ, which has this ring; it must not be empty. */
static inline const struct emu_cqe *emu_cq_take(struct emu_cq *cq, const struct emu_cqe *ring)
{
	return &ring[cq->get++ & cq->mask];
}

static inline struct nic_qp *emu_cqe_qp(struct emu_world *w, const struct emu_cqe *cqe)
{
	return &w->qp[cqe->qp].base;
}

/* Dequeue the oldest completion as emu_cq_take does, and copy it to *wc. */
static inline void emu_cq_get(struct emu_world *w, struct emu_cq *cq, const struct emu_cqe *ring,
			      struct nic_wc *wc)
{
	const struct emu_cqe *cqe = emu_cq_take(cq, ring);

	wc->wr_id = cqe->wr_id;
	wc->qp = emu_cqe_qp(w, cqe);
	memcpy(&wc->length, &cqe->length, EMU_CQE_REST);
}

#endif /* EMU_CQ_H */
