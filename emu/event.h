/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event.h - what an entry of the event queue is: a packet about to arrive, a timer, something put off.
 */
#ifndef EMU_EVENT_H
#define EMU_EVENT_H

#include <stdint.h>

enum emu_event_kind {
	EMU_EV_NONE,
	EMU_EV_DATA,      /* packet `packet` alone of the peer's work request `index` */
	EMU_EV_ACK,       /* all up to and with `index` */
	EMU_EV_DATA_REST, /* that packet and all that follow */
	EMU_EV_RNR,       /* receiver not ready for `index` */
	EMU_EV_NAK, /* `index` failed; `packet`: status | requests before it that never came << 8 */
	EMU_EV_NAK_SEQUENCE,  /* packet `packet` of `index` is missing */
	EMU_EV_TERMINATE,     /* the peer broke off */
	EMU_EV_RNR_TIMER,     /* retry from sq.get */
	EMU_EV_RETRY_TIMER,   /* no answer for so long */
	EMU_EV_ACK_DUE,       /* acknowledge what this instant completed */
	EMU_EV_RESPONSE,      /* packet `packet` alone of the answer to the READ `index` */
	EMU_EV_RESPONSE_REST, /* that packet and all that follow */
	EMU_EV_BREAK,         /* break this QP now: deferred from where it cannot be done */
	EMU_EV_CM_REQUEST,    /* index: conn */
	EMU_EV_CM_REPLY, /* to the active side; index: conn, packet: 0 accepted, else nic_conn_end + 1 */
	EMU_EV_CM_READY,   /* to the passive side */
	EMU_EV_CM_GONE,    /* to the passive side: the active side is gone */
	EMU_EV_CM_TIMEOUT, /* index: conn */
	EMU_EV_DISCONNECT, /* the peer disconnected */
	EMU_EV_COUNT
};

/* Beside the kind: the packet came before its turn and has passed the holds of its link already. */
#define EMU_EV_ARRIVED 0x80
/* Or: it has met the rules already, and is late or a copy. */
#define EMU_EV_JUDGED 0x40
/* In the high byte of `packet`: so often it was lost and brought again. */
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

#endif /* EMU_EVENT_H */
