/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tx.h - the requester: send work requests go out in order, stay on the queue until acknowledged, and
 * are sent again when the receiver was not ready.
 *
 * sq.get .. sq_next are on the wire, sq_next .. sq.put wait to be sent.
 */
#ifndef EMU_TX_H
#define EMU_TX_H

#include "fabric.h"

int emu_post_send(struct nic_qp *qp, const struct nic_send_wr *wr);
/* ACK: the fields of the event. */
void emu_tx_ack(struct emu_world *w, uint32_t qp, uint32_t epoch, uint32_t index);
/* RNR, NAK and the retry timer. */
void emu_tx_answer(struct emu_world *w, const struct emu_event *event);
/* The connection is over: every request ends FLUSHED, in order. */
void emu_tx_flush(struct emu_world *w, struct emu_qp *qp);

#endif /* EMU_TX_H */
