/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * partial.h - what a responder keeps between packets: messages that have taken a receive and are
 * not complete (struct emu_rx, ordered by message number), and parked packets, which wait for an
 * earlier one.
 */
#ifndef EMU_PARTIAL_H
#define EMU_PARTIAL_H

#include "emu/fabric/fabric.h"
#include "receive.h"

/* Size of a struct emu_rx with a copy of wqe. */
uint32_t emu_partial_bytes(const struct emu_rwqe *wqe);
struct emu_rx *emu_partial_find(struct emu_world *w, const struct emu_qp *qp, uint32_t message);
/* Add the message of swqe, which has taken the receive wqe; that is copied. NULL: no memory. */
struct emu_rx *emu_partial_add(struct emu_world *w, struct emu_qp *qp, const struct emu_swqe *swqe,
			       uint32_t index, const struct emu_rwqe *wqe);
void emu_partial_drop(struct emu_world *w, struct emu_qp *qp, struct emu_rx *rx);
/*
 * The connection ends: complete the messages before `end` in order, those that arrived whole with
 * SUCCESS, the others with FLUSHED.
 */
void emu_partial_flush(struct emu_world *w, struct emu_qp *qp, uint32_t end);

/* Park a packet (profile ib) until the message before it is complete. */
void emu_park(struct emu_world *w, struct emu_qp *qp, const struct emu_event *event);
/* Let the parked packets arrive now, or drop them because they will be retransmitted. */
void emu_unpark(struct emu_world *w, struct emu_qp *qp, bool deliver);

/*
 * The connection is over: messages that arrived whole complete with SUCCESS, partial ones with
 * FLUSHED, then the QP's own posted receives with FLUSHED. Receives on an SRQ stay there.
 */
void emu_rx_flush(struct emu_world *w, struct emu_qp *qp);
/*
 * Drop partial messages without completion. Returns how many receives they had taken from the SRQ.
 */
uint32_t emu_rx_forget(struct emu_world *w, struct emu_qp *qp);

/* What its completion tells. */
static inline struct emu_told emu_partial_told(const struct emu_rx *rx)
{
	return (struct emu_told){ .length = rx->length, .imm = rx->imm, .flags = rx->flags };
}

#endif /* EMU_PARTIAL_H */
