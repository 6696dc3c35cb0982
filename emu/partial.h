/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * partial.h - what a responder remembers between packets: messages that took their buffer and are not
 * complete (struct emu_rx, by message number), and packets that came before their turn.
 */
#ifndef EMU_PARTIAL_H
#define EMU_PARTIAL_H

#include "fabric.h"

/* Of the struct emu_rx that has a copy of wqe. */
uint32_t emu_partial_bytes(const struct emu_rwqe *wqe);
struct emu_rx *emu_partial_find(struct emu_world *w, const struct emu_qp *qp, uint32_t message);
/* A message of swqe took wqe, which is copied. NULL: no memory. */
struct emu_rx *emu_partial_add(struct emu_world *w, struct emu_qp *qp, const struct emu_swqe *swqe,
			       uint32_t index, const struct emu_rwqe *wqe);
void emu_partial_drop(struct emu_world *w, struct emu_qp *qp, struct emu_rx *rx);
/*
 * The connection is ending: messages before `end` complete, in order, the whole ones with success, the
 * others FLUSHED.
 */
void emu_partial_flush(struct emu_world *w, struct emu_qp *qp, uint32_t end);

/* Profile ib: keep a packet until the message before it is complete. It is not seen as pending. */
void emu_park(struct emu_world *w, struct emu_qp *qp, const struct emu_event *event);
/* Let the parked packets arrive again, now; or forget them, for they will be sent again. */
void emu_unpark(struct emu_world *w, struct emu_qp *qp, bool deliver);

#endif /* EMU_PARTIAL_H */
