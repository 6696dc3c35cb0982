/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire.h - packets one by one, while single packets are observed by a hold, a rule, a retry
 * timer.
 *
 * Usually a request is one event, or two if it is longer than the MTU, and no packet is lost. While
 * fabric.observed is above 0, each event that stands for a packet first comes here. It is put into
 * its place in its sender's sequence, is held if a hold says so, and meets the rules; then it
 * arrives or is lost. In an in-order profile the packets of a QP form one train: each packet that
 * comes off the wire schedules the next.
 */
#ifndef EMU_WIRE_H
#define EMU_WIRE_H

#include "emu/fabric/fabric.h"

/* The packet that an event stands for. */
struct emu_packet {
	const char *op;
	enum nic_packet what;
	uint16_t from, to;              /* adapters */
	struct emu_qp *source, *target; /* NULL: none, or its connection is gone */
	struct emu_qp *requester;       /* the QP that waits for an answer; NULL: none */
	const struct emu_swqe *request; /* its work request; NULL: none, or acknowledged already */
	uint32_t index, packet;         /* of that request */
	bool first, last;
	bool unanswered; /* of a QP that expects no answer */
	bool unheard;    /* its target is gone, and its source does not know yet */
};

/* Fill in the packet of an event. False: it stands for none. */
bool emu_packet_of(struct emu_world *w, const struct emu_event *event, struct emu_packet *p);
#define EMU_PACKET_TEXT 192
/*
 * "op=SEND_ONLY from=emu0.ep1 to=emu1.ep1 message=3 packet=0 psn=16777215": the packet as text for
 * the trace.
 */
void emu_packet_text(struct emu_world *w, const struct emu_packet *p, char text[EMU_PACKET_TEXT]);

/* Was this packet delayed or retransmitted? Then it counts as a reason to observe packets. */
bool emu_wire_marked(const struct emu_event *event);
/*
 * Add to (or subtract from) fabric.observed, the number of reasons to observe single packets: links
 * that hold, QPs with holds, rules, retry timers, marked packets in flight, half-open QPs.
 */
void emu_observe(struct emu_world *w, int reasons);
/* That number, counted from flags, rules and packets; those in inboxes are not among them. */
uint32_t emu_wire_reasons(struct emu_world *w);
/*
 * A packet is about to arrive. True: it was held, lost or delayed. False: it arrives; *event may be
 * changed.
 */
bool emu_wire_takes(struct emu_world *w, struct emu_event *event);
/* Let a packet (or a copy of it) arrive at that time, without meeting the rules again. */
void emu_wire_delay(struct emu_world *w, const struct emu_event *event, uint64_t time);
/*
 * Retransmit a lost packet below the transport: it arrives at that time and meets the rules again.
 */
void emu_wire_retransmit(struct emu_world *w, const struct emu_event *event, uint64_t time);

/* Payload of a packet of this requester, or of a response to it; never more than the fabric's. */
static inline uint32_t emu_wire_mtu(const struct emu_world *w, const struct emu_qp *qp)
{
	uint32_t mtu = qp->mtu;

	return mtu >= EMU_MTU_LEAST && mtu <= w->config.mtu ? mtu : w->config.mtu;
}

/* All packets but the last are as long as the MTU, and none is longer, which both ends expect. */
static inline bool emu_wire_suits(const struct emu_world *w, const struct emu_qp *a,
				  const struct emu_qp *b, uint32_t length)
{
	return length <= emu_wire_mtu(w, a) && length <= emu_wire_mtu(w, b);
}

/* Number of packets of a request of this QP on the wire. */
uint32_t emu_wire_packets(const struct emu_world *w, const struct emu_qp *qp,
			  const struct emu_swqe *swqe);
/* Number of packets that so many bytes of this QP take. */
uint32_t emu_wire_packets_of(const struct emu_world *w, const struct emu_qp *qp, uint32_t length);

/*
 * Sequence numbers that a request takes; a READ takes those of its response. No MTU is below
 * EMU_MTU_LEAST, so a short request needs no look at it.
 */
static inline uint32_t emu_wire_span(const struct emu_world *w, const struct emu_qp *qp,
				     const struct emu_swqe *swqe)
{
	if (swqe->opcode == NIC_OP_BIND || swqe->length <= EMU_MTU_LEAST)
		return 1;
	return emu_wire_packets_of(w, qp, swqe->length);
}

/* Packets beyond one a request, of those from `index` on that emu_wire_count has counted. */
uint32_t emu_wire_counted_from(struct emu_world *w, const struct emu_qp *qp, uint32_t index);

#define EMU_PSN_MASK      0xffffffu
#define EMU_PSN_NEAR_WRAP 64u /* a first PSN is so close to its wrap that tests get past it */

/* The sequence number of the first packet of qp's connection. */
static inline uint32_t emu_wire_first_psn(const struct emu_qp *qp)
{
	return EMU_PSN_MASK - (qp->epoch * 7 + qp->name) % EMU_PSN_NEAR_WRAP;
}

/*
 * The sequence number of a packet of a request still on qp's send queue. It is counted from the
 * newest request back, so that posting one costs nothing.
 */
static inline uint32_t emu_wire_psn(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
				    uint32_t packet)
{
	uint32_t psn = emu_wire_first_psn(qp) + qp->psn_more + index + packet;

	if (__builtin_expect((int32_t)(qp->psn_counted - index) > 0, 0))
		psn -= emu_wire_counted_from(w, qp, index);
	return psn & EMU_PSN_MASK;
}

/* A request of several packets is transmitted or retransmitted: count its sequence numbers once. */
void emu_wire_count(struct emu_world *w, struct emu_qp *qp, uint32_t index);
/* qp retransmits from this packet on. */
void emu_wire_rewind(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet);
/* All requests before sq.get are acknowledged. */
void emu_wire_answered(struct emu_world *w, struct emu_qp *qp);

static inline bool emu_observed(const struct emu_world *w)
{
	return w->fab->observed > 0;
}

#endif /* EMU_WIRE_H */
