/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unreliable.h - queue pairs whose packets are never answered: kinds UNRELIABLE (connected) and
 * DATAGRAM (each request names its receivers).
 *
 * Such a QP is in EMU_QP_UNANSWERED once it is ready, and takes no part in what number.h says of
 * pairs. A request stays on the send queue until each of its packets has arrived, was dropped or is
 * lost; it then succeeds in every case. Each packet is an event of the sender's QP. A request of a
 * connected QP has one packet on the wire at a time, and waits for the requests before it.
 *
 * A datagram to a multicast group has a packet for each QP that is in the group when it is sent.
 * One that has left the group when its packet arrives drops it.
 *
 * The payload of a datagram is copied to its ring entry at the post, so that any process can
 * deliver it. Any other payload is copied from the sender's memory to the receiver's when its
 * packet arrives.
 *
 * Other files reach unreliable.c by a table, for it calls most of them.
 */
#ifndef EMU_UNRELIABLE_H
#define EMU_UNRELIABLE_H

#include "emu/fabric/fabric.h"
#include "emu/wire/wire.h"

/*
 * In place of the segments of a request of such a QP. Behind it are those segments, or the message
 * itself if the kind is DATAGRAM: GRH and payload.
 */
struct emu_letter {
	uint64_t arrival; /* of its first packet, at the earliest */
	uint32_t to;      /* number of the receiver's QP */
	uint32_t qkey;
	uint32_t left;    /* packets that have neither arrived nor been lost; 0: complete */
	uint32_t packet;  /* the next one to come off the wire */
	uint16_t adapter; /* number of the receiver's */
	uint8_t status;   /* enum nic_wc_status */
	uint8_t sl;
	emu_flag global; /* it has a GRH */
	emu_flag group;  /* its receivers are those of a multicast group */
};

static inline struct emu_letter *emu_letter(struct emu_swqe *wqe)
{
	return (struct emu_letter *)wqe->sge;
}

/* The group that a datagram is for, which is at the end of its GRH. */
static inline const uint8_t *emu_letter_group(const struct emu_letter *letter)
{
	return (const uint8_t *)(letter + 1) + NIC_GRH - NIC_GID;
}

/* Bytes that a ring entry of a QP of this kind has beyond those of a RELIABLE one. */
static inline uint32_t emu_unreliable_room(const struct emu_world *w, enum nic_qp_kind kind)
{
	if (kind == NIC_QP_RELIABLE)
		return 0;
	return (uint32_t)sizeof(struct emu_letter) +
	       (kind == NIC_QP_DATAGRAM ? NIC_GRH + w->config.mtu : 0);
}

/* The QP has a path: it is ready. */
static inline void emu_unreliable_begin(struct emu_qp *qp)
{
	if (qp->state != EMU_QP_IDLE)
		return;
	qp->numbered = true;
	qp->state = EMU_QP_UNANSWERED;
	qp->epoch++;
}

/* ---- unreliable.c: the requester ---- */

struct emu_unreliable {
	/* -EINVAL: the QP is not ready, or its kind has no such request. */
	int (*post)(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr);
	/* The QP is paused no more: pause.h. */
	void (*resume)(struct emu_world *w, struct emu_qp *qp);
	/* As emu_packet_of. */
	bool (*packet)(struct emu_world *w, const struct emu_event *event, struct emu_packet *p);
	/* The packet comes off the wire: schedule the next one of its QP, unless that is done. */
	void (*go_on)(struct emu_world *w, const struct emu_event *event);
	/* Event UNANSWERED. */
	void (*arrives)(struct emu_world *w, const struct emu_event *event);
	void (*lost)(struct emu_world *w, const struct emu_event *event);
};

extern const struct emu_unreliable emu_unreliable;

/* The receiver's QP; 0: none. */
uint32_t emu_unreliable_to(struct emu_world *w, const struct emu_event *event);

/* ---- unreliable_rx.c: the responder ---- */

/* A packet that arrives. */
struct emu_unanswered {
	struct emu_qp *sender, *qp; /* qp NULL: there is no such QP */
	struct emu_swqe *swqe;
	uint32_t index, packet, packets;
};

/* The sender cannot read its own memory: the status of its request; else SUCCESS. */
enum nic_wc_status emu_unreliable_deliver(struct emu_world *w, const struct emu_unanswered *u);

#endif /* EMU_UNRELIABLE_H */
