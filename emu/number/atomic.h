/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic.h - compare and swap, fetch and add: what a responder does to its memory, once.
 *
 * A responder has to remember the results of atomics, because a duplicate of the request must not
 * act again. They are kept in the request itself (struct emu_atomic), which stays on the send queue
 * until its response has come, and no longer than that is a result needed.
 *
 * The result is noted before the memory changes, and `step` is set between the two. An event that
 * is run again, because its process died while it ran it, then stores the same value.
 *
 * An atomic is atomic with respect to all others of the fabric: its lock is held. The program's own
 * processors do not take part, as on most adapters (IBV_ATOMIC_HCA).
 */
#ifndef EMU_ATOMIC_H
#define EMU_ATOMIC_H

#include "emu/respond.h"

#define EMU_ATOMIC_BYTES   8u
#define EMU_ATOMIC_DECIDED 1u /* emu_swqe.step */

/* In place of the segments of an atomic. */
struct emu_atomic {
	struct nic_sge to; /* gets `before` */
	uint64_t compare, operand;
	uint64_t before, after; /* of the target, once it is decided: atomic.h */
};

#define EMU_ATOMIC_SGE (sizeof(struct emu_atomic) / sizeof(struct nic_sge))

/* Can this QP hold the request? */
static inline bool emu_atomic_fits(const struct emu_qp *qp, const struct nic_send_wr *wr)
{
	return qp->numbered && qp->max_send_sge >= EMU_ATOMIC_SGE && wr->num_sge == 1 &&
	       wr->length == EMU_ATOMIC_BYTES && wr->sge[0].length == EMU_ATOMIC_BYTES;
}

static inline bool emu_atomic_is_aligned(const struct emu_swqe *swqe)
{
	return swqe->remote_addr % EMU_ATOMIC_BYTES == 0;
}

/* Store the segment and the operands in the work request. */
void emu_atomic_post(const struct nic_send_wr *wr, struct emu_swqe *wqe);
/* False: this process cannot access the target, and has passed the event on to its owner. */
bool emu_atomic_is_mine(struct emu_world *w, const struct emu_arrival *a);
/* Change the target, unless that has been done. False: there is no such memory. */
bool emu_atomic_execute(struct emu_world *w, const struct emu_arrival *a);
/* Requester: store the former value. False: the key does not permit it, or the memory is gone. */
bool emu_atomic_place(struct emu_world *w, const struct emu_qp *qp, const struct emu_swqe *wqe);

#endif /* EMU_ATOMIC_H */
