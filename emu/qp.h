/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qp.h - queue pairs: creation, states, limits, and the end of a connection. tx.h has the
 * requester, cm.h the connection set-up.
 */
#ifndef EMU_QP_H
#define EMU_QP_H

#include "emu/fabric/clock.h"
#include "cq.h"
#include "emu/fabric/fabric.h"
#include "emu/hostile/posted.h"
#include "emu/wire/link.h"
#include "receive.h"

int emu_qp_create(struct nic *nic, const struct nic_qp_init *init, void *ctx, struct nic_qp **qp);
int emu_qp_modify(struct nic_qp *qp, const struct nic_qp_init *init);
uint32_t emu_qp_reset(struct nic_qp *qp);
void emu_qp_destroy(struct nic_qp *qp);
/* Reset and destroy for a QP whose process died; `tell`: the packet that its peer gets. */
uint32_t emu_qp_clear(struct emu_world *w, struct emu_qp *qp, enum emu_event_kind tell);
void emu_qp_free(struct emu_world *w, struct emu_qp *qp);
void emu_qp_query(struct nic_qp *qp, struct nic_qp_counts *counts);
void emu_qp_taken_limit(struct nic_qp *qp, int32_t soft, int32_t hard);
void emu_qp_ask_break(struct nic_qp *qp);
void emu_qp_disconnect(struct nic_qp *qp, bool abrupt);
void emu_qp_fail(struct nic_qp *qp);
int emu_qp_alarm(struct nic_qp *qp, uint64_t after_ns);

/* Is the QP connected, so that data may be in flight? */
static inline bool emu_qp_running(const struct emu_qp *qp)
{
	return qp->state >= EMU_QP_CONNECTED && qp->state <= EMU_QP_DRAINING;
}

/* Is the event one of an earlier connection of this QP? */
static inline bool emu_qp_stale(const struct emu_qp *qp, const struct emu_event *event)
{
	return qp->epoch != event->epoch; /* a destroy increments it, too */
}

/*
 * To be called whenever one of these fields changes. The fast path of the responder (quick.c)
 * is for a connected QP with no limit armed, no partial or parked message, and no gap after a NAK,
 * and no flag that asks for a look at each packet; that of the requester for a connected QP whose
 * send queue holds no request that restricts the order (rdma.h). A Receive is posted fast on a QP
 * with a queue of its own, whose connection has not ended. Requests have a segment in any case. In
 * a hostile fabric (emu/hostile/) there is no fast path.
 */
static inline void emu_qp_assess(struct emu_qp *qp)
{
	qp->rx_fast = qp->state == EMU_QP_CONNECTED && qp->soft == NIC_LIMIT_NONE &&
		      qp->hard == NIC_LIMIT_NONE && !qp->rx && !qp->rx_gap && !qp->parked &&
		      !qp->unheard && !qp->odd_mtu && !qp->hostile;
	qp->tx_fast = qp->state == EMU_QP_CONNECTED && qp->constrained == 0 && qp->max_send_sge &&
		      !qp->hostile;
	qp->rq_fast = qp->state != EMU_QP_ERROR && !qp->srq && qp->max_recv_sge && !qp->hostile;
}

/*
 * End the connection: flush both queues and send the peer a packet `tell` (EMU_EV_NONE: it knows),
 * in the profile's order; then tell lib why.
 */
void emu_qp_end(struct emu_world *w, struct emu_qp *qp, enum nic_conn_end why,
		enum emu_event_kind tell);
/* Break the connection from this side: the peer gets a TERMINATE. */
void emu_qp_break(struct emu_world *w, struct emu_qp *qp);
/* The same as an event, for a caller that still uses the QP. */
void emu_qp_break_soon(struct emu_world *w, struct emu_qp *qp);
/* Events TERMINATE, BREAK and DISCONNECT. */
void emu_qp_end_event(struct emu_world *w, const struct emu_event *event);
/* Event ALARM. */
void emu_qp_alarm_event(struct emu_world *w, const struct emu_event *event);
/* The last request of a draining QP was acknowledged. */
void emu_qp_drained(struct emu_world *w, struct emu_qp *qp);
void emu_trace_completion(struct emu_world *w, const struct emu_qp *qp, enum nic_opcode opcode,
			  enum nic_wc_status status, uint32_t length, uint32_t message);

/* Send the peer a packet without payload; it does not wait for the wire. */
static inline __attribute__((always_inline)) void emu_qp_tell_peer(struct emu_world *w,
								   struct emu_qp *qp,
								   enum emu_event_kind kind,
								   uint32_t index, uint32_t packet)
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

/* Queue the completion of a receive that no message completed. */
static inline void emu_complete_recv(struct emu_world *w, struct emu_qp *qp,
				     const struct emu_rwqe *wqe, enum nic_wc_status status)
{
	if (emu_posted_on(w))
		emu_posted_done(w, qp, wqe->mem_epoch, EMU_POSTED_FAILED);
	if (__builtin_expect(w->fab->trace_on, 0))
		emu_trace_completion(w, qp, NIC_OP_RECV, status, 0, qp->rx_next);
	emu_cq_push(w, qp->recv_cq, emu_qp_index(w, qp), wqe->wr_id, 0, NIC_OP_RECV, status,
		    emu_recv_flags(wqe, 0));
}
/* Queue the completion of a receive by a message that has come whole. */
void emu_complete_message(struct emu_world *w, struct emu_qp *qp, const struct emu_rwqe *wqe,
			  const struct emu_told *told);

/* Call it only while tracing. */
void emu_trace_post(struct emu_world *w, const struct emu_qp *qp, const struct nic_send_wr *wr,
		    uint32_t message);
/* All lines of a Send that is delivered at its post, one packet, as request `index`. */
void emu_trace_delivered(struct emu_world *w, const struct emu_qp *from, const struct emu_qp *to,
			 const struct nic_send_wr *wr, uint32_t index);
/* The same of the Send of one segment that was posted last. Returns 0. */
int emu_trace_send_one(struct nic_qp *base);

#endif /* EMU_QP_H */
