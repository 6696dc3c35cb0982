/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receive.h - how a message takes a Receive: from which queue, and what is counted.
 *
 * A message arrives in one of three ways: at once (quick.c), step by step (respond.c), or
 * between processes without an event (emu/shared/direct.c). What they have in common is written
 * here, once.
 */
#ifndef EMU_RECEIVE_H
#define EMU_RECEIVE_H

#include "emu/fabric/fabric.h"

/* The SRQ that the QP takes Receives from; NULL: it has its own queue. */
static inline struct emu_srq *emu_recv_srq(struct emu_world *w, const struct emu_qp *qp)
{
	return qp->srq ? &EMU_AT(w->fab->srq, qp->srq) : NULL;
}

static inline struct emu_wq *emu_recv_queue(struct emu_qp *qp, struct emu_srq *srq)
{
	return srq ? &srq->wq : &qp->rq;
}

/*
 * With `count` Receives queued: is there none to take, or would taking one fire the SRQ's limit? A
 * macro: as an inline function it costs an instruction a message.
 */
#define EMU_RECV_IS_LOW(srq, count) ((count) == 0 || ((srq) && (count) <= (srq)->limit))

/*
 * The Receive needs no check of its key (lib checked it at the post, and no key has become invalid
 * since), and its one segment has room for the message.
 */
static inline bool emu_recv_needs_no_check(const struct emu_fabric *fab, const struct emu_rwqe *wqe,
					   uint32_t length)
{
	return wqe->num_sge == 1 && wqe->mem_epoch == fab->mem_epoch &&
	       length <= wqe->sge[0].length;
}

/*
 * Take the oldest Receive of the queue. Its owner may read `get` without the lock (direct.h). An
 * increment is one instruction, and x86 keeps it behind earlier loads; ThreadSanitizer is told.
 */
static inline void emu_recv_take(struct emu_qp *qp, struct emu_wq *wq)
{
#ifdef __SANITIZE_THREAD__
	__atomic_store_n(&wq->get, wq->get + 1, __ATOMIC_RELEASE);
#else
	wq->get++;
#endif
	qp->taken++;
}

/* The newest Receive taken is free again. */
static inline void emu_recv_put_back(struct emu_qp *qp, struct emu_wq *wq)
{
	wq->get--;
	qp->taken--;
	qp->rx_taken = qp->rx_completed;
}

/* The peer's request `index` is complete: the next one is expected. */
static inline void emu_recv_expect_after(struct emu_qp *qp, uint32_t index)
{
	qp->rx_next = index + 1;
}

/* A Send that is expected next takes the oldest Receive and is complete at once. */
static inline __attribute__((always_inline)) void
emu_recv_take_whole(struct emu_qp *qp, struct emu_wq *wq, uint32_t index)
{
	emu_recv_take(qp, wq);
	EMU_ALONE(qp->taken);
	qp->rx_completed++;
	EMU_ALONE(qp->rx_completed);
	qp->rx_taken = qp->rx_completed;
	EMU_ALONE(qp->rx_taken);
	emu_recv_expect_after(qp, index);
}

/* Does the peer's request take a Receive? */
static inline bool emu_recv_is_taken_by(const struct emu_swqe *swqe)
{
	return swqe->opcode == NIC_OP_SEND ||
	       (swqe->opcode == NIC_OP_WRITE && (swqe->flags & NIC_WR_IMM));
}

/* What the completion of the Receive tells of the request that took it. */
struct emu_told {
	uint32_t length, imm;
	uint8_t flags; /* NIC_WR_SOLICITED, _IMM, _WRITTEN, _INVALIDATE, _GLOBAL */
};

static inline struct emu_told emu_recv_told(const struct emu_swqe *swqe)
{
	uint32_t told = swqe->flags & (NIC_WR_SOLICITED | NIC_WR_IMM | NIC_WR_INVALIDATE);

	if (swqe->opcode == NIC_OP_WRITE)
		told |= NIC_WR_WRITTEN;
	return (struct emu_told){ .length = swqe->length,
				  .imm = told & ~(uint32_t)NIC_WR_SOLICITED ? swqe->step : 0,
				  .flags = (uint8_t)told };
}

/* Flags of the completion: of the Receive's own, and of the Send's. */
static inline uint32_t emu_recv_flags(const struct emu_rwqe *wqe, uint32_t send_flags)
{
	return (wqe->flags & NIC_WR_QUIET) | (send_flags & NIC_WR_SOLICITED);
}

#endif /* EMU_RECEIVE_H */
