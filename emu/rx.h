/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rx.h - the responder: packets of the peer's messages arrive, take a receive buffer at the first one,
 * fill it, complete it at the last one, and are answered.
 *
 * Profile ib: messages arrive in order; one that finds no buffer is answered RNR and all that follow
 * are dropped until it is sent again. Profile iwarp: a message takes its buffer when its first packet
 * comes, whatever is still missing before it; completion is in message order all the same; no buffer
 * breaks the connection.
 */
#ifndef EMU_RX_H
#define EMU_RX_H

#include "fabric.h"

int emu_post_recv(struct nic_qp *qp, const struct nic_recv_wr *wr);
/* DATA and DATA_REST: the fields of the event, see fabric.h. */
void emu_rx_data(struct emu_world *w, uint32_t qp, uint32_t epoch, uint32_t index, uint32_t packet,
		 enum emu_event_kind kind);
/*
 * The connection is over: a whole message that waited for an earlier one completes with success, a
 * partial one FLUSHED, then the QP's own posted receives FLUSHED. What is on the SRQ stays there.
 */
void emu_rx_flush(struct emu_world *w, struct emu_qp *qp);
/* Drop partial messages without completion; how many buffers came from the SRQ. */
uint32_t emu_rx_forget(struct emu_world *w, struct emu_qp *qp);

#endif /* EMU_RX_H */
