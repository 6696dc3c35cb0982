/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma.h - RDMA Write, RDMA Read and binds, both ends of them.
 *
 * A WRITE travels and is acknowledged as a Send is, but takes no buffer: the responder looks at the key.
 * A READ is a request of one packet, executed in its turn, that is answered by response packets; the
 * payload is copied as those arrive. At most max_rd_out of them are under way, the others wait on the
 * send queue, and all behind them: sq_next stands still. A BIND waits until it is the oldest request.
 *
 * `specials` counts what makes a send queue more than a plain row of messages: READs, BINDs, and
 * requests with a fence. While there are some, acknowledgements are noted in sq_acked and requests
 * complete as far as no READ among them is unanswered; a refusal that overtook the answers waits
 * (emu_qp.nak).
 */
#ifndef EMU_RDMA_H
#define EMU_RDMA_H

#include "fabric.h"
#include "mem.h"
#include "respond.h"

/* ---- requester ---- */

/* emu_post_send for all but plain Sends. */
int emu_rdma_post(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr);
/* May the request at sq_next start now? A READ is counted then. */
bool emu_rdma_start(struct emu_world *w, struct emu_qp *qp);
/* The BIND at sq_next is the oldest request: do it, and complete it. */
void emu_rdma_bind(struct emu_world *w, struct emu_qp *qp);
/* emu_tx_delivered where there are specials. */
void emu_rdma_delivered(struct emu_world *w, struct emu_qp *qp, uint32_t end);
/* A refusal that overtook answers to READs; false: it did not. */
bool emu_rdma_postpone(struct emu_world *w, struct emu_qp *qp, const struct emu_failure *f);
/* wqe left the queue. */
void emu_rdma_retired(struct emu_qp *qp, const struct emu_swqe *wqe);
/* sq_next was set back: what is behind it will be sent again. */
void emu_rdma_rewound(struct emu_world *w, struct emu_qp *qp);
/* The queue was emptied without completions. */
void emu_rdma_reset(struct emu_qp *qp);
/* Of the segments beside the ring. */
size_t emu_rdma_bytes(const struct emu_qp *qp);
void emu_rdma_forget_sge(struct emu_world *w, struct emu_qp *qp);
/* RESPONSE, RESPONSE_REST; false: a repetition, or of something past. */
bool emu_rdma_response(struct emu_world *w, const struct emu_event *event);

/* Payload on the way to the peer. */
static inline uint32_t emu_rdma_request_bytes(const struct emu_swqe *wqe)
{
	return wqe->opcode == NIC_OP_READ ? 0 : wqe->length;
}

/* ---- responder: steps of respond.h ---- */

/* May a WRITE or READ do what it asks for? Else why not. */
enum emu_cause emu_rdma_allowed(struct emu_world *w, const struct emu_arrival *a);
/* A packet of a WRITE that may. */
enum emu_copy emu_rdma_write(struct emu_world *w, const struct emu_arrival *a);
/* The first packet of the answer to a READ is on its way. */
void emu_rdma_answer(struct emu_world *w, const struct emu_arrival *a);
/* A READ that was executed is asked for again: the answer goes on where it was lost. */
void emu_rdma_answer_again(struct emu_world *w, const struct emu_arrival *a);

#endif /* EMU_RDMA_H */
