/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sent.h - complete=sent: on iWARP a Send or Write completes when TCP has its bytes.
 *
 * Otherwise the model completes a request when its acknowledgement has come, as InfiniBand does.
 * With this mode, event SENT runs when the last byte of a Send or Write is on the wire: its bytes
 * are copied, and it completes with success, unless an earlier request has not. It stays on the
 * send queue, for the message still has to arrive, and then retires without another completion,
 * whatever became of it: of a failure the program hears by the end of the connection alone.
 *
 * The send queue has twice as many entries as were asked for, so that it has room for a program
 * that counts completions. While more requests than that are in flight, they complete by
 * acknowledgement again, as they do when the socket's buffer is full.
 *
 * A profile without a stream (ib) is not affected.
 */
#ifndef EMU_HOSTILE_SENT_H
#define EMU_HOSTILE_SENT_H

#include "emu/fabric/fabric.h"

/* In emu_swqe.flags; NIC_WR_xxx of completions only. */
#define EMU_SWQE_SENT NIC_WR_WRITTEN /* its bytes are with TCP */
#define EMU_SWQE_TOLD NIC_WR_GLOBAL  /* it has completed */

bool emu_sends_early(const struct emu_world *w);
/* Entries of the ring of a send queue for which so many were asked. */
uint32_t emu_sent_room(const struct emu_world *w, uint32_t max);
/* Requests on the send queue that have completed. */
uint32_t emu_sent_told(struct emu_world *w, const struct emu_qp *qp);
/* A request is put on the wire, and arrives at that time. */
EMU_COLD void emu_sent_later(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
			     uint64_t arrival);
/* Event SENT: emu/tx.c. */
void emu_sent_event(struct emu_world *w, const struct emu_event *event);
/* Requests that were sent may complete now, since one before them has. */
EMU_COLD void emu_sent_tell(struct emu_world *w, struct emu_qp *qp);

/* May the send queue take no more? */
static inline bool emu_sent_is_full(struct emu_world *w, const struct emu_qp *qp)
{
	uint32_t count = emu_wq_count(&qp->sq);

	return count >= qp->sq.max &&
	       (!qp->hostile || count > qp->sq.mask || count - emu_sent_told(w, qp) >= qp->sq.max);
}

#endif /* EMU_HOSTILE_SENT_H */
