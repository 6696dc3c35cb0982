/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.h - the wire between two adapters, one direction: when a packet arrives, and whether a test
 * holds it back.
 */
#ifndef EMU_LINK_H
#define EMU_LINK_H

#include "fabric.h"

/* Nanoseconds that `bytes` occupy the wire. */
uint64_t emu_link_serialise(const struct emu_link *link, uint64_t bytes);
/*
 * Put `bytes` on the wire now, of which the first `head` make the first packet: when that packet has
 * arrived. The wire stays busy for all of them.
 */
uint64_t emu_link_transmit(struct emu_world *w, uint16_t from, uint16_t to, uint64_t bytes,
			   uint64_t head);
/* When a packet without payload sent now arrives; it does not wait for the wire. */
uint64_t emu_link_answer(struct emu_world *w, uint16_t from, uint16_t to);

/* A hold keeps this packet back: it was taken over. A lump may be cut to its first packet instead. */
bool emu_link_holds(struct emu_world *w, struct emu_event *event);
/* Packet by packet arrival matters on the way to qp: a hold counts packets. */
bool emu_link_observed(struct emu_world *w, const struct emu_qp *sender);

int emu_hold_link(struct nic *nic, const char *from, const char *to, uint32_t packets);
int emu_release_link(struct nic *nic, const char *from, const char *to);
int emu_set_link(struct nic *nic, const char *from, const char *to, uint64_t latency_ns,
		 uint64_t bandwidth_bps);
int emu_hold_message(struct nic_qp *qp, uint64_t message, uint32_t packets);
int emu_release_message(struct nic_qp *qp, uint64_t message);
/* Drop the packets held for a QP whose connection ended, and on reset its rules too. */
void emu_hold_forget(struct emu_world *w, struct emu_qp *qp, bool rules);

#endif /* EMU_LINK_H */
