/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * retry.h - what the ends of a connection do about packets that do not arrive.
 *
 * A requester that gets no answer retransmits after the retry timeout, up to a number of times
 * (nic_config.retry). The timer is started only when a packet is lost or late, from that moment on;
 * from outside no difference can be seen, and no timer runs in a fabric without faults. On a
 * stream, and for packets of connection management, the sender's lower layer retransmits the packet
 * itself.
 */
#ifndef EMU_WIRE_RETRY_H
#define EMU_WIRE_RETRY_H

#include "wire.h"

/* A packet is lost. */
void emu_retry_lost(struct emu_world *w, const struct emu_event *event, const struct emu_packet *p);
/* The peer is gone and the packet that said so was lost: qp stays until it sends. */
void emu_retry_half_open(struct emu_world *w, struct emu_qp *qp);
/* An answer to qp may be missing: start the timer, unless it runs. qp may be NULL. */
void emu_retry_on(struct emu_world *w, struct emu_qp *qp);
/* Stop the timer of qp, if one runs: the one for a connection, for RNR or for an answer. */
void emu_timer_stop(struct emu_world *w, struct emu_qp *qp);
/* Event RETRY_TIMER. */
void emu_retry_timer(struct emu_world *w, const struct emu_event *event);
/* Event ACK. */
void emu_retry_ack(struct emu_world *w, const struct emu_event *event);
/* Events RESPONSE and RESPONSE_REST. */
void emu_retry_response(struct emu_world *w, const struct emu_event *event);
/* The responder misses a packet (NAK, sequence error): retransmit from there on. */
void emu_retry_sequence(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet);
/* sq.get has advanced from `before`: requests were acknowledged. */
void emu_retry_progress(struct emu_world *w, struct emu_qp *qp, uint32_t before);

#endif /* EMU_WIRE_RETRY_H */
