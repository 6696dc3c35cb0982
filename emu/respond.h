/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * respond.h - the responder, step by step: what an arriving packet of a request goes through.
 *
 * Each step checks one thing and names the next; nic_model.c has the
 * table of steps, their order for a Send, and a fast path that takes all of them at once.
 */
#ifndef EMU_RESPOND_H
#define EMU_RESPOND_H

#include "emu/wire/cause.h"
#include "emu/fabric/sharing.h"

enum emu_step {
	EMU_STEP_CONNECTION, /* is the QP connected, the request still outstanding? */
	EMU_STEP_TURN,       /* is this the packet expected next? */
	EMU_STEP_OPCODE,     /* branch on the opcode */
	EMU_STEP_KEY,        /* does the key allow this RDMA? */
	EMU_STEP_BUFFER,     /* the first packet of a Send takes a receive */
	EMU_STEP_LIMIT,      /* not more receives than the QP may hold */
	EMU_STEP_PLACE,      /* copy the payload to memory */
	EMU_STEP_LAND,       /* in a hostile fabric: copy parts of it first */
	EMU_STEP_KEEP,       /* incomplete, or early: keep the message */
	EMU_STEP_ANSWER,     /* begin the response to a READ */
	EMU_STEP_FINISH,     /* complete */
	EMU_STEP_WAITING,    /* complete messages that waited for this one */
	EMU_STEP_NOT_READY,  /* no receive */
	EMU_STEP_PARK,       /* too early: park the packet */
	EMU_STEP_SEQUENCE,   /* a packet before it is missing */
	EMU_STEP_DUPLICATE,  /* executed already: acknowledge again */
	EMU_STEP_INJECT,     /* answer as a rule says */
	EMU_STEP_REFUSE,     /* the request fails, and the connection with it */
	EMU_STEP_UNSENT,     /* the request fails at the requester alone */
	EMU_STEP_SILENT,     /* there is no answer */
	EMU_STEP_IGNORE,
	EMU_STEP_DONE,
	EMU_STEPS
};

/* One packet (or the rest of a message at once) on its way through the steps. */
struct emu_arrival {
	struct emu_qp *qp, *sender;
	const struct emu_swqe *swqe;
	const struct emu_rwqe *wqe;         /* its receive; NULL: none */
	struct emu_rx *rx;                  /* the kept message, with a copy of wqe; NULL: none */
	enum emu_cause cause;               /* why the request fails */
	const struct nic_packet_rule *rule; /* the rule that injects an answer; NULL: none */
	uint32_t index;                     /* of swqe */
	uint32_t packet;                    /* first packet that arrived */
	uint32_t packets;                   /* of the whole message */
	uint64_t from, to;                  /* bytes of the message that arrived */
	uint64_t target;                    /* address of its first byte, if it names one */
	enum emu_event_kind kind;
	enum emu_step at;
	bool last;
};

/* The steps: emu/wire/sequence.c. */
enum emu_step emu_step_connection(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_turn(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_park(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_sequence(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_duplicate(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_inject(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_ignore(struct emu_world *w, struct emu_arrival *a);
/* respond.c */
enum emu_step emu_step_opcode(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_key(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_buffer(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_limit(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_place(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_keep(struct emu_world *w, struct emu_arrival *a);
/* partial.c */
enum emu_step emu_step_land(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_answer(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_finish(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_waiting(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_not_ready(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_refuse(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_unsent(struct emu_world *w, struct emu_arrival *a);
enum emu_step emu_step_silent(struct emu_world *w, struct emu_arrival *a);
/* Compute the part of its message that a packet carries. */
void emu_measure(struct emu_world *w, struct emu_arrival *a);
/* The line PACKET. */
void emu_trace_packet(struct emu_world *w, const struct emu_arrival *a);
/* Copy bytes [from, to) of the message to where they belong. */
enum emu_copy emu_place(struct emu_world *w, const struct emu_arrival *a);
/* The step after a copy that failed. */
enum emu_step emu_place_failed(struct emu_world *w, struct emu_arrival *a, enum emu_copy copied);
/* The rest of the message arrives later. */
void emu_expect_next(struct emu_world *w, const struct emu_arrival *a);
/* Acknowledge all requests before rx_next. */
void emu_acknowledge(struct emu_world *w, struct emu_qp *qp);

/* Events DATA and DATA_REST of the present connection: their fields. */
EMU_COLD void emu_respond(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet,
			  enum emu_event_kind kind);
/* The same with an answer injected by a rule, if the packet is expected next. */
void emu_respond_injected(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet,
			  const struct nic_packet_rule *rule);
/* Event ACK_DUE: acknowledge all requests completed at this time. */
void emu_respond_ack_due(struct emu_world *w, const struct emu_event *event);
/* Send the ACK now, if one is due. */
void emu_respond_ack(struct emu_world *w, struct emu_qp *qp);
const char *emu_step_name(enum emu_step step);

#endif /* EMU_RESPOND_H */
