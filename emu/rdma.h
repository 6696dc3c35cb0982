/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma.h - RDMA Write, RDMA Read, atomics and BIND, the requester's and the responder's part.
 *
 * A WRITE is transmitted and acknowledged like a Send, but takes no receive; the responder checks
 * the key. A READ is a request of one packet, which the responder executes in order and answers
 * with response packets; the payload is copied as they arrive. At most max_rd_out READs are in
 * flight. Further ones wait on the send queue, and all requests behind them: sq_next does not
 * advance. A BIND waits until it is the oldest request. An atomic is a READ of 8 bytes whose
 * responder also changes them (atomic.h); what is said of READs here goes for atomics.
 *
 * emu_qp.constrained counts the requests on the send queue that restrict the order: READs, BINDs,
 * and requests with a fence. While it is not 0, an ACK only advances sq_acked, and requests
 * complete up to the first READ without a response. A NAK that overtook a response is kept in
 * emu_qp.nak.
 */
#ifndef EMU_RDMA_H
#define EMU_RDMA_H

#include "emu/fabric/fabric.h"
#include "mem.h"
#include "respond.h"

/* ---- requester ---- */

/* emu_post_send for WRITE, READ, BIND, and a Send with a fence. */
int emu_rdma_post(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr);
/* Fill in the ring entry of request `index`. */
void emu_rdma_fill(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
		   const struct nic_send_wr *wr);
/* May the request at sq_next be transmitted now? If so, a READ is counted. */
bool emu_rdma_start(struct emu_world *w, struct emu_qp *qp);
/* The BIND at sq_next is the oldest request: execute and complete it. */
void emu_rdma_bind(struct emu_world *w, struct emu_qp *qp);
/* emu_tx_delivered while constrained is not 0. */
void emu_rdma_delivered(struct emu_world *w, struct emu_qp *qp, uint32_t end);
/* Keep a NAK that overtook responses to READs. False: it overtook none. */
bool emu_rdma_postpone(struct emu_world *w, struct emu_qp *qp, const struct emu_failure *f);
/* A request has left the queue: count it out. */
void emu_rdma_retired(struct emu_qp *qp, const struct emu_swqe *wqe);
/* sq_next was set back, for a retransmission. */
void emu_rdma_rewound(struct emu_world *w, struct emu_qp *qp);
/* The send queue was emptied without completions. */
void emu_rdma_reset(struct emu_qp *qp);
/* Size of the table of segments beside the ring. */
/* The segments of request `index`, which wqe is. */
struct nic_sge *emu_rdma_segments(struct emu_world *w, const struct emu_qp *qp,
				  struct emu_swqe *wqe, uint32_t index);
size_t emu_rdma_bytes(const struct emu_qp *qp);
void emu_rdma_forget_sge(struct emu_world *w, struct emu_qp *qp);
/* Events RESPONSE and RESPONSE_REST. False: a duplicate, or stale. */
bool emu_rdma_response(struct emu_world *w, const struct emu_event *event);

#define EMU_ATOMICS (1u << NIC_OP_SWAP | 1u << NIC_OP_ADD)

static inline bool emu_rdma_is_atomic(uint8_t opcode)
{
	return opcode < NIC_OP_COUNT && (1u << opcode & EMU_ATOMICS);
}

/* Is the request answered with data? */
static inline bool emu_rdma_is_answered(uint8_t opcode)
{
	return opcode < NIC_OP_COUNT && (1u << opcode & (EMU_ATOMICS | 1u << NIC_OP_READ));
}

/* No other request goes over the wire. */
static inline bool emu_rdma_goes_over_wire(uint8_t opcode)
{
	return opcode <= NIC_OP_READ || emu_rdma_is_atomic(opcode);
}

/* Bytes of payload that the request carries to the peer. */
static inline uint32_t emu_rdma_request_bytes(const struct emu_swqe *wqe)
{
	return emu_rdma_is_answered(wqe->opcode) ? 0 : wqe->length;
}

/* ---- responder: steps of respond.h ---- */

/* Check the key of a WRITE, READ or atomic, and set `target`. EMU_CAUSE_NONE: allowed. */
enum emu_cause emu_rdma_allowed(struct emu_world *w, struct emu_arrival *a);
/* Copy the payload of a packet of a WRITE. */
enum emu_copy emu_rdma_write(struct emu_world *w, const struct emu_arrival *a);
/* Send the first packet of the response to a READ, or that to an atomic. */
void emu_rdma_answer(struct emu_world *w, const struct emu_arrival *a);
/* A duplicate READ request: resume its response where packets were lost. */
void emu_rdma_answer_again(struct emu_world *w, const struct emu_arrival *a);
/*
 * In `flags` of a READ: it was asked for again from packet `step` on, and the response has not
 * gone on yet. No request has this flag, which is one of completions.
 */
#define EMU_READ_RESUMED NIC_WR_WRITTEN

/* `step` of a READ whose response lands, less the number of stages: emu/hostile/land.h. */
#define EMU_READ_LANDING (UINT32_MAX - 9)

/*
 * The packet of its response from which on a READ asks now: not 0 once a part of it has come. 0 for
 * every other request. For traces and rules, which number packets as InfiniBand does.
 */
static inline uint32_t emu_rdma_asked(const struct emu_swqe *wqe)
{
	return wqe->opcode == NIC_OP_READ && wqe->step < EMU_READ_LANDING ? wqe->step : 0;
}

#endif /* EMU_RDMA_H */
