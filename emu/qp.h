/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qp.h - queue pairs: their life, their end, their limits. Transmitting is tx.h, receiving rx.h,
 * finding a peer cm.h.
 */
#ifndef EMU_QP_H
#define EMU_QP_H

#include "clock.h"
#include "cq.h"
#include "fabric.h"
#include "link.h"

int emu_qp_create(struct nic *nic, const struct nic_qp_init *init, void *ctx, struct nic_qp **qp);
int emu_qp_modify(struct nic_qp *qp, const struct nic_qp_init *init);
uint32_t emu_qp_reset(struct nic_qp *qp);
void emu_qp_destroy(struct nic_qp *qp);
/* The two, for a QP whose owner is gone; `tell`: what its peer is told. */
uint32_t emu_qp_clear(struct emu_world *w, struct emu_qp *qp, enum emu_event_kind tell);
void emu_qp_free(struct emu_world *w, struct emu_qp *qp);
void emu_qp_query(struct nic_qp *qp, struct nic_qp_counts *counts);
void emu_qp_taken_limit(struct nic_qp *qp, int32_t soft, int32_t hard);
void emu_qp_ask_break(struct nic_qp *qp);
void emu_qp_disconnect(struct nic_qp *qp, bool abrupt);

/* A connection of which both ends may move data. */
static inline bool emu_qp_running(const struct emu_qp *qp)
{
	return qp->state == EMU_QP_CONNECTED || qp->state == EMU_QP_DRAINING;
}

/* An event of an earlier life of this QP. */
static inline bool emu_qp_stale(const struct emu_qp *qp, const struct emu_event *event)
{
	return qp->epoch != event->epoch; /* it grows before a QP is destroyed, too */
}

/*
 * To be called whenever one of these changes: the short way through the responder (rx.c) is for a QP
 * that is connected, has no limit armed, no message half way or early, and none refused; the one through
 * the requester (tx.c) is for a send queue with nothing special on it (rdma.h).
 */
static inline void emu_qp_assess(struct emu_qp *qp)
{
	qp->plain = qp->state == EMU_QP_CONNECTED && qp->soft == NIC_LIMIT_NONE &&
		    qp->hard == NIC_LIMIT_NONE && !qp->rx && !qp->rx_gap && !qp->parked;
	qp->tx_plain = qp->state == EMU_QP_CONNECTED && qp->specials == 0;
}

/*
 * The connection is over: flush everything, tell the peer by such a packet (EMU_EV_NONE: it knows), in
 * the profile's order, then tell lib why.
 */
void emu_qp_end(struct emu_world *w, struct emu_qp *qp, enum nic_conn_end why,
		enum emu_event_kind tell);
/* Break it from this side: the peer learns by TERMINATE. */
void emu_qp_break(struct emu_world *w, struct emu_qp *qp);
/* Not at once: for who is deep inside this QP's business. */
void emu_qp_break_soon(struct emu_world *w, struct emu_qp *qp);
/* TERMINATE, BREAK and DISCONNECT. */
void emu_qp_end_event(struct emu_world *w, const struct emu_event *event);
/* The last request of a draining QP was acknowledged. */
void emu_qp_drained(struct emu_world *w, struct emu_qp *qp);
void emu_trace_completion(struct emu_world *w, const struct emu_qp *qp, enum nic_opcode opcode,
			  enum nic_wc_status status, uint32_t length, uint32_t message);

/* One packet without payload to the peer; it does not wait for the wire. */
static inline void emu_qp_tell_peer(struct emu_world *w, struct emu_qp *qp,
				    enum emu_event_kind kind, uint32_t index, uint32_t packet)
{
	emu_schedule(w, emu_link_answer(w->fab, qp->link), kind, qp->peer, qp->peer_epoch, index,
		     packet);
}

/* Queue the completion of a send work request, unless it is suppressed. */
static inline void emu_complete_send(struct emu_world *w, struct emu_qp *qp,
				     const struct emu_swqe *wqe, enum nic_wc_status status)
{
	bool counts = status == NIC_WC_SUCCESS || wqe->opcode == NIC_OP_BIND;
	uint32_t length = counts ? wqe->length : 0;

	if (__builtin_expect(w->fab->trace_on, 0))
		emu_trace_completion(w, qp, wqe->opcode, status, length, wqe->message);
	if (status == NIC_WC_SUCCESS && (wqe->flags & NIC_WR_SUPPRESS))
		return;
	emu_cq_push(w, qp->send_cq, emu_qp_index(w, qp), wqe->wr_id, length, wqe->opcode, status,
		    wqe->flags & NIC_WR_QUIET);
}

/* Queue the completion of a receive. */
static inline void emu_complete_recv(struct emu_world *w, struct emu_qp *qp,
				     const struct emu_rwqe *wqe, enum nic_wc_status status,
				     uint32_t length, uint32_t solicited)
{
	if (__builtin_expect(w->fab->trace_on, 0))
		emu_trace_completion(w, qp, NIC_OP_RECV, status, length, qp->rx_next);
	emu_cq_push(w, qp->recv_cq, emu_qp_index(w, qp), wqe->wr_id, length, NIC_OP_RECV, status,
		    (wqe->flags & NIC_WR_QUIET) | solicited);
}

const char *emu_status_name(enum nic_wc_status status);

#endif /* EMU_QP_H */
