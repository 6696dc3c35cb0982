/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.h - a link, the wire from one adapter to another: when a packet arrives, and whether a test
 * holds it back.
 */
#ifndef EMU_WIRE_LINK_H
#define EMU_WIRE_LINK_H

#include "emu/fabric/fabric.h"

/* Nanoseconds that `bytes` occupy the wire. */
static inline uint64_t emu_link_serialise(const struct emu_link *link, uint64_t bytes)
{
	return (uint64_t)((unsigned __int128)bytes * link->ns_per_byte >> 32);
}

/* Packets of a link never overtake each other, even if its latency is lowered. */
static inline uint64_t emu_link_in_order(const struct emu_link *link, uint64_t arrival)
{
	return arrival > link->not_before ? arrival : link->not_before;
}

/*
 * Put `bytes` on the wire now; the first `head` of them are the first packet. Returns when that
 * packet arrives. The wire is busy for all bytes.
 */
static inline uint64_t emu_link_transmit(struct emu_fabric *fab, struct emu_link *link,
					 uint64_t bytes, uint64_t head)
{
	uint64_t start = fab->now > link->busy_until ? fab->now : link->busy_until;
	uint64_t first = start + emu_link_serialise(link, head);

	link->busy_until = __builtin_expect(head == bytes, 1)
				   ? first
				   : start + emu_link_serialise(link, bytes);
	return emu_link_in_order(link, first + link->latency_ns);
}

/* Arrival time of a packet without payload that is sent now; it does not wait for the wire. */
static inline uint64_t emu_link_answer(const struct emu_fabric *fab, uint32_t link)
{
	const struct emu_link *l = EMU_KEEP(&EMU_AT(fab->link, link));

	return emu_link_in_order(l, fab->now + l->latency_ns);
}

struct emu_packet;
/* Does a hold keep this packet back? Then the event now belongs to the hold. */
bool emu_link_holds(struct emu_world *w, const struct emu_event *event, const struct emu_packet *p);

int emu_hold_link(struct nic *nic, const char *from, const char *to, uint32_t packets);
int emu_release_link(struct nic *nic, const char *from, const char *to);
int emu_set_link(struct nic *nic, const char *from, const char *to, uint64_t latency_ns,
		 uint64_t bandwidth_bps);
int emu_hold_message(struct nic_qp *qp, uint64_t message, uint32_t packets);
int emu_release_message(struct nic_qp *qp, uint64_t message);
/* Drop the packets held for a QP whose connection ended, and on reset its rules too. */
void emu_hold_forget(struct emu_world *w, struct emu_qp *qp, bool rules);

/* An adapter closes: end the holds on its links; held packets arrive (and find no QP). */
void emu_link_forget(struct emu_world *w, uint16_t adapter);

/* Append to a list of packets taken off the wire. False: no memory, the caller keeps the packet. */
bool emu_held_append(struct emu_world *w, emu_ref *head, emu_ref *tail, uint32_t message,
		     const struct emu_event *event);
/* Empty a list, oldest first; with `deliver` its packets go back on the wire, to arrive now. */
void emu_held_drain(struct emu_world *w, emu_ref *head, emu_ref *tail, bool deliver);

#endif /* EMU_WIRE_LINK_H */
