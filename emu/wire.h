/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire.h - packets one by one, where somebody looks at them: a hold, a rule, a retry timer.
 *
 * Nobody looking, a request is one event, or two where it is longer than the MTU, and packets are never
 * lost. While fabric.observed is above 0, every event that is a packet comes here before it arrives:
 * it is put into its place in what its sender sent (in order, a QP has one train of packets: each starts the
 * next), held if it is to be, shown to the rules, and then it arrives or does not.
 */
#ifndef EMU_WIRE_H
#define EMU_WIRE_H

#include "fabric.h"

/* What an event is, as a packet. */
struct emu_packet {
	const char *op;
	enum nic_packet what;
	uint16_t from, to;              /* adapters */
	struct emu_qp *source, *target; /* NULL: no such end, or one that is gone */
	struct emu_qp *requester;       /* who waits for an answer; NULL: nobody */
	const struct emu_swqe *request; /* that it belongs to; NULL: none, or answered already */
	uint32_t index, packet;         /* of that request */
	bool first, last;
	bool unheard; /* its target is gone, its source does not know */
};

/* What an event is; false: no packet. */
bool emu_packet_of(struct emu_world *w, const struct emu_event *event, struct emu_packet *p);
#define EMU_PACKET_TEXT 192
/* "op=SEND_ONLY from=emu0.ep1 to=emu1.ep1 message=3 packet=0 psn=16777215": what a trace says of it. */
void emu_packet_text(struct emu_world *w, const struct emu_packet *p, char text[EMU_PACKET_TEXT]);

/* It was put off or lost before, and is counted as a reason to look at packets. */
bool emu_wire_marked(const struct emu_event *event);
/* One more or less reason to look at packets. */
void emu_observe(struct emu_world *w, int reasons);
/* The event was taken over: it was held, lost or put off. It may be changed otherwise. */
bool emu_wire_takes(struct emu_world *w, struct emu_event *event);
/* Let a packet come at that time without meeting the rules again; it may be a copy. */
void emu_wire_put_off(struct emu_world *w, const struct emu_event *event, uint64_t time);
/* A packet that was lost is brought again, once more, and meets the rules again. */
void emu_wire_bring_again(struct emu_world *w, const struct emu_event *event, uint64_t time);

/* Packets of a request on the wire. */
uint32_t emu_wire_packets(const struct emu_world *w, const struct emu_swqe *swqe);
/* Sequence numbers it takes: a READ those of its answer. */
uint32_t emu_wire_span(const struct emu_world *w, const struct emu_swqe *swqe);
/* That of the first packet of qp's connection. */
uint32_t emu_wire_first_psn(const struct emu_qp *qp);
/* The sequence number of a packet of a request still on qp's send queue. */
uint32_t emu_wire_psn(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
		      uint32_t packet);
/* A request of several packets goes out (perhaps again). */
void emu_wire_count(struct emu_world *w, struct emu_qp *qp, uint32_t index);
/* From here on qp sends again. */
void emu_wire_rewind(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet);
/* All before sq.get is answered. */
void emu_wire_answered(struct emu_world *w, struct emu_qp *qp);

static inline bool emu_observed(const struct emu_world *w)
{
	return w->fab->observed > 0;
}

#endif /* EMU_WIRE_H */
