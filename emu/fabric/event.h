/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event.h - an entry of the event queue: a packet that is about to arrive, a timer, or deferred
 * work.
 */
#ifndef EMU_FABRIC_EVENT_H
#define EMU_FABRIC_EVENT_H

#include <stdint.h>

enum emu_event_kind {
	EMU_EV_NONE,
	EMU_EV_DATA,      /* one packet of the peer's work request `index` */
	EMU_EV_ACK,       /* all requests up to and including `index` */
	EMU_EV_DATA_REST, /* that packet and the rest of the request */
	EMU_EV_RNR,       /* receiver not ready for `index` */
	EMU_EV_NAK, /* `index` failed; `packet`: status | requests before it not executed << 8 */
	EMU_EV_NAK_SEQUENCE,  /* packet `packet` of `index` is missing */
	EMU_EV_TERMINATE,     /* the peer broke the connection */
	EMU_EV_RNR_TIMER,     /* retry from sq.get */
	EMU_EV_RETRY_TIMER,   /* the retry timeout */
	EMU_EV_ACK_DUE,       /* send one ACK for all requests completed at this time */
	EMU_EV_RESPONSE,      /* one packet of the response to the READ `index` */
	EMU_EV_RESPONSE_REST, /* that packet and the rest of the response */
	EMU_EV_BREAK,         /* break this QP: deferred by emu_qp_break_soon */
	EMU_EV_CM_REQUEST,    /* index: conn */
	EMU_EV_CM_REPLY,      /* to the active side; index: conn; packet: 0, or nic_conn_end + 1 */
	EMU_EV_CM_READY,      /* to the passive side */
	EMU_EV_CM_GONE,       /* to the passive side: the active side is gone */
	EMU_EV_CM_TIMEOUT,    /* index: conn */
	EMU_EV_DISCONNECT,    /* the peer disconnected */
	/*
	 * A packet that is never answered: unreliable.h. The event's QP is the sender's; `packet`:
	 * of request `index`, or the receiver's QP if it is a datagram.
	 */
	EMU_EV_UNANSWERED,
	EMU_EV_ALARM, /* nic_ops.qp_alarm */
	/* In a hostile fabric: emu/hostile/. */
	EMU_EV_LAND,          /* as DATA: more of the message's bytes land */
	EMU_EV_LAND_RESPONSE, /* as RESPONSE: the same */
	EMU_EV_SENT,          /* TCP has the bytes of `index` */
	EMU_EV_RETRY_EARLY,   /* the acknowledgement of `index` is late: retry it */
	EMU_EV_COUNT
};

/* A flag beside the kind: the packet was parked, and has passed the holds of its link already. */
#define EMU_EV_ARRIVED 0x80
/* Or: it has met the rules already, and was delayed or duplicated by one. */
#define EMU_EV_JUDGED 0x40
/* The high byte of `packet` counts retransmissions below the transport. */
#define EMU_EV_TRIES 24

/* Ordered by (time, order); order = sequence number << 8 | kind, so there are no ties. */
struct emu_event {
	uint64_t time;
	uint64_t order;
	uint32_t qp; /* destination */
	uint32_t epoch;
	uint32_t index;
	uint32_t packet;
};

#endif /* EMU_FABRIC_EVENT_H */
