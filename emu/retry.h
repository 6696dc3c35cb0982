/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * retry.h - what the ends do about packets that do not arrive.
 *
 * A requester without an answer sends again, so often and after so long (nic_config.retry). Its timer
 * runs from the moment at which something was lost or late, which is all that can be told from outside; so
 * nothing is timed where nothing is amiss. On a stream, and for packets of connection management, who sent
 * the packet brings it again by itself.
 */
#ifndef EMU_RETRY_H
#define EMU_RETRY_H

#include "wire.h"

/* A packet is gone. */
void emu_retry_lost(struct emu_world *w, const struct emu_event *event, const struct emu_packet *p);
/* The peer is gone, qp knows nothing of it, and stays until it wants something. */
void emu_retry_half_open(struct emu_world *w, struct emu_qp *qp);
/* An answer to qp (NULL: nobody) is in doubt: the timer runs, if it does not already. */
void emu_retry_on(struct emu_world *w, struct emu_qp *qp);
/* The timer of qp was stopped, whichever it was. */
void emu_retry_off(struct emu_world *w, struct emu_qp *qp);
/* RETRY_TIMER */
void emu_retry_timer(struct emu_world *w, const struct emu_event *event);
/* ACK, any way it comes. */
void emu_retry_ack(struct emu_world *w, const struct emu_event *event);
/* RESPONSE, RESPONSE_REST */
void emu_retry_response(struct emu_world *w, const struct emu_event *event);
/* The responder misses a packet: it is sent again, and all behind it. */
void emu_retry_sequence(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet);
/* Requests before sq.get were answered since it was `before`. */
void emu_retry_progress(struct emu_world *w, struct emu_qp *qp, uint32_t before);

#endif /* EMU_RETRY_H */
