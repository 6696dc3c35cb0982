/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * direct.h - the short way between the processes of a shared fabric.
 *
 * A usual Send that finds its receiver ready is delivered and acknowledged at the post: no event, and one
 * lock, the fabric's. Polling a CQ and posting a Receive take none: those queues have one writer at either
 * end, of which the owner is one. What is not usual says -EAGAIN or false, and changed nothing: lib goes the
 * general way then, with the fabric's lock.
 *
 * The payload waits beside the CQ's ring (slot.h); the receiver puts it in place when it takes the completion, and
 * before the region it goes to is gone. Where there is no room to wait it is there before the completion is (reach.h).
 *
 * While an event changes a CQ that it may have to give back as it was (recover.h), the CQ is `unsettled`:
 * its owner sees nothing of it without the lock.
 */
#ifndef EMU_DIRECT_H
#define EMU_DIRECT_H

#include "fabric.h"

/* The door's entries of a shared fabric. Those of lib's calls that hold its lock take the general way. */
int emu_direct_send(struct nic_qp *qp, const struct nic_send_wr *wr);
int emu_direct_recv(struct nic_qp *qp, const struct nic_recv_wr *wr);
int emu_direct_poll(struct nic_cq *cq, struct nic_wc *wc, int n);
bool emu_direct_spin(struct nic_cq *cq, struct nic_wc *wc);

/* lib may call them without: time follows the monotonic clock. */
bool emu_direct_quick(struct nic_world *world);
/* Nothing waits for this process, and no event is due: without the fabric's lock. */
bool emu_direct_quiet(struct nic_world *world);

/* A process died with the lock: what it was about to deliver is not delivered, or is. */
void emu_direct_undo(struct emu_world *w);

static inline void emu_cq_unsettle(struct emu_cq *cq)
{
	__atomic_store_n(&cq->unsettled, true, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void emu_cq_settle(struct emu_cq *cq)
{
	__atomic_store_n(&cq->unsettled, false, __ATOMIC_RELEASE);
}

#endif /* EMU_DIRECT_H */
