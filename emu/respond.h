/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * respond.h - the responder, step by step: what happens to a packet of a request that arrives.
 *
 * Each step looks at one thing and names the next; their order is written nowhere else. rx.c takes all
 * of them at once where nothing is out of the ordinary.
 */
#ifndef EMU_RESPOND_H
#define EMU_RESPOND_H

#include "cause.h"
#include "fabric.h"

enum emu_step {
	EMU_STEP_CONNECTION, /* is there one, and the request still outstanding? */
	EMU_STEP_TURN,       /* is this the packet expected next? */
	EMU_STEP_OPCODE,     /* what is asked for */
	EMU_STEP_KEY,        /* does its key allow an RDMA to touch that? */
	EMU_STEP_BUFFER,     /* the first packet of a Send takes a receive */
	EMU_STEP_LIMIT,      /* not more of them than the QP may hold */
	EMU_STEP_PLACE,      /* the payload goes to memory */
	EMU_STEP_KEEP,       /* not complete, or not in its turn: remembered */
	EMU_STEP_ANSWER,     /* to a READ: the data begin to flow */
	EMU_STEP_FINISH,     /* complete */
	EMU_STEP_WAITING,    /* and those that waited for it */
	EMU_STEP_NOT_READY,  /* no receive */
	EMU_STEP_PARK,       /* before its turn: later */
	EMU_STEP_SEQUENCE,   /* a packet before it is missing */
	EMU_STEP_DUPLICATE,  /* done already: acknowledged again */
	EMU_STEP_INJECT,     /* a rule says how it is answered */
	EMU_STEP_REFUSE,     /* the request fails, and the connection with it */
	EMU_STEP_IGNORE,
	EMU_STEP_DONE,
	EMU_STEPS
};

/* One packet (or the rest of a message at once) on its way through the steps. */
struct emu_arrival {
	struct emu_qp *qp, *sender;
	const struct emu_swqe *swqe;
	const struct emu_rwqe *wqe; /* the receive it goes to; NULL: none */
	struct emu_rx *rx;          /* the message, if it was remembered; wqe is then its own */
	enum emu_cause cause;       /* why it is refused */
	const struct nic_packet_rule *rule; /* that answers it; NULL: none */
	uint32_t index;                     /* of swqe */
	uint32_t packet;                    /* first packet that came */
	uint32_t packets;                   /* of the whole message */
	uint64_t from, to;                  /* bytes of the message that came */
	enum emu_event_kind kind;
	enum emu_step at;
	bool last;
};

/* Steps that are in sequence.c. */
enum emu_step emu_step_connection(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_turn(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_park(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_sequence(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_duplicate(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_inject(struct emu_world *w, struct emu_arrival *a);
/* Which part of its message a packet is. */
void emu_measure(struct emu_world *w, struct emu_arrival *a);
/* Acknowledge all before rx_next. */
void emu_acknowledge(struct emu_world *w, struct emu_qp *qp);

/* DATA and DATA_REST to qp, of its present connection: the fields of the event, see fabric.h. */
EMU_COLD void emu_respond(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet,
			  enum emu_event_kind kind);
/* The same, answered as the rule says if its turn has come. */
void emu_respond_injected(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet,
			  const struct nic_packet_rule *rule);
/* ACK_DUE: what this instant completed is acknowledged at once. */
void emu_respond_ack_due(struct emu_world *w, const struct emu_event *event);
/* If an acknowledgement is due: now. */
void emu_respond_ack(struct emu_world *w, struct emu_qp *qp);
const char *emu_step_name(enum emu_step step);

#endif /* EMU_RESPOND_H */
