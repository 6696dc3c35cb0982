/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tx.h - the requester: send work requests go out in order, stay on the queue until acknowledged, and
 * are sent again when the receiver was not ready.
 *
 * sq.get .. sq_next are on the wire, sq_next .. sq.put wait to be sent. Requests complete in order.
 */
#ifndef EMU_TX_H
#define EMU_TX_H

#include "fabric.h"

int emu_post_send(struct nic_qp *qp, const struct nic_send_wr *wr);
/* ACK: the fields of the event. */
void emu_tx_ack(struct emu_world *w, uint32_t qp, uint32_t epoch, uint32_t index);
/* RNR, the NAKs (NAK: packet is status | undelivered requests before it << 8) and the RNR timer. */
void emu_tx_answer(struct emu_world *w, const struct emu_event *event);
/* Send what waits, as far as it may start. */
void emu_tx_kick(struct emu_world *w, struct emu_qp *qp);
/* Send a request again from a packet on, and all behind it. */
void emu_tx_send_again(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet);
/* The pause after a refusal is over: send what waits again, from the oldest request that has no answer. */
void emu_tx_end_wait(struct emu_world *w, struct emu_qp *qp);
/* The peer has all before `end`: what has no other answer to wait for completes. */
void emu_tx_delivered(struct emu_world *w, struct emu_qp *qp, uint32_t end);
/* Something completed: what waited for it starts, or the last of a drain is over. */
void emu_tx_go_on(struct emu_world *w, struct emu_qp *qp);
/* End the oldest request. */
void emu_tx_retire(struct emu_world *w, struct emu_qp *qp, enum nic_wc_status status);
/* End that request so, and the connection with it; what is left before it is flushed. */
void emu_tx_fail(struct emu_world *w, struct emu_qp *qp, const struct emu_failure *f);
/* A disconnected QP takes requests and ends them at once. */
int emu_tx_post_flushed(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr);
/* The connection is over: every request ends FLUSHED, in order. */
void emu_tx_flush(struct emu_world *w, struct emu_qp *qp);

#endif /* EMU_TX_H */
