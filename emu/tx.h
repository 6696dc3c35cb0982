/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tx.h - the requester: send work requests are transmitted in order, stay on the send queue until
 * they are acknowledged, and are retransmitted if the receiver was not ready.
 *
 * Requests sq.get .. sq_next are in flight, sq_next .. sq.put wait to be transmitted. Requests
 * complete in order.
 *
 * As long as the connection lasts, something brings the oldest request on: a packet of it or of its
 * answer is in flight (on the event queue, in an inbox, or held), or the timer of the QP is armed.
 * Where a packet is dropped, one of these remains:
 *
 * - The responder drops packets behind one that got a NAK (rx_gap). The NAK is in flight, and the
 *   requester goes back to the request that got it, at once or when the RNR timer fires. For that
 *   no packet may be dropped that the requester sent after it had gone back, so packets of a QP
 *   stay in order, also between processes (emu/shared/runner.c).
 * - A rule that loses a packet starts the retry timer (emu/wire/retry.c).
 * - Recovery, after a process died with the fabric's lock, drops the events of the event that it
 *   rolls back and runs again, and those of the dead process's connections (emu/shared/recover.c).
 *   If a request has nothing left, it starts the retry timer (emu/shared/stalled.h).
 */
#ifndef EMU_TX_H
#define EMU_TX_H

#include "emu/fabric/fabric.h"

int emu_post_send(struct nic_qp *qp, const struct nic_send_wr *wr);
/* Event ACK: its fields. */
void emu_tx_ack(struct emu_world *w, uint32_t qp, uint32_t epoch, uint32_t index);
/* Events RNR, NAK (packet: status | undelivered requests before it << 8) and RNR_TIMER. */
void emu_tx_answer(struct emu_world *w, const struct emu_event *event);
/* Transmit waiting requests, as far as they may start. */
void emu_tx_kick(struct emu_world *w, struct emu_qp *qp);
/* Retransmit a request from a packet on, and all requests after it. */
void emu_tx_send_again(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet);
/* The pause after an RNR NAK is over: retransmit from the oldest unacknowledged request on. */
void emu_tx_end_wait(struct emu_world *w, struct emu_qp *qp);
/*
 * The peer has received all requests before `end`: complete them, except READs without a response.
 */
void emu_tx_delivered(struct emu_world *w, struct emu_qp *qp, uint32_t end);
/* A request completed: start requests that waited for it, or end the drain. */
void emu_tx_go_on(struct emu_world *w, struct emu_qp *qp);
/* Complete the oldest request. */
void emu_tx_retire(struct emu_world *w, struct emu_qp *qp, enum nic_wc_status status);
/* A request fails: flush those before it, complete it with its status, break the connection. */
void emu_tx_fail(struct emu_world *w, struct emu_qp *qp, const struct emu_failure *f);
/* A post on a disconnected QP: the request completes as FLUSHED at once. */
int emu_tx_post_flushed(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr);
/* The connection is over: complete every request as FLUSHED, in order. */
void emu_tx_flush(struct emu_world *w, struct emu_qp *qp);

#endif /* EMU_TX_H */
