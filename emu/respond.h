/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * respond.h - the responder, step by step: what happens to a packet of a request that arrives.
 *
 * Each step looks at one thing and names the next; their order is written nowhere else. rx.c takes all
 * of them at once where nothing is out of the ordinary.
 */
#ifndef EMU_RESPOND_H
#define EMU_RESPOND_H

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
	EMU_STEP_REFUSE,     /* the request fails, and the connection with it */
	EMU_STEP_IGNORE,
	EMU_STEP_DONE,
	EMU_STEPS
};

/* How a receive ends, and how its send. */
struct emu_verdict {
	enum nic_wc_status recv, send;
};

/* One packet (or the rest of a message at once) on its way through the steps. */
struct emu_arrival {
	struct emu_qp *qp, *sender;
	const struct emu_swqe *swqe;
	const struct emu_rwqe *wqe; /* the receive it goes to; NULL: none */
	struct emu_rx *rx;          /* the message, if it was remembered; wqe is then its own */
	struct emu_verdict verdict;
	uint32_t index;    /* of swqe */
	uint32_t packet;   /* first packet that came */
	uint32_t packets;  /* of the whole message */
	uint64_t from, to; /* bytes of the message that came */
	enum emu_event_kind kind;
	enum emu_step at;
	bool last;
};

/* DATA and DATA_REST to qp, of its present connection: the fields of the event, see fabric.h. */
EMU_COLD void emu_respond(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet,
			  enum emu_event_kind kind);
const char *emu_step_name(enum emu_step step);

#endif /* EMU_RESPOND_H */
