/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick_message.h - an ordinary message arrives, or is acknowledged: quick.c says what that is.
 *
 * The functions are inlined into their callers: the events, the polls that run an event themselves
 * (both quick.c), and those polls while the fabric is traced (quick_trace.c).
 */
#ifndef EMU_QUICK_MESSAGE_H
#define EMU_QUICK_MESSAGE_H

#include "cq.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/queue.h"
#include "emu/wire/link.h"
#include "emu/wire/wire.h"
#include "mem.h"
#include "nic_model.h"
#include "qp.h"
#include "quick.h"
#include "receive.h"

/* ---- a message arrives ---- */

/* A completion that is handed to the poll which ran its event. */
struct emu_quick_done {
	struct emu_local_qp *qp;
	uint64_t wr_id;
	uint32_t length;
	uint8_t opcode, flags;
};

/* All QPs and CQs of a private fabric are this process's, entry 0 included, which means none. */
static inline struct emu_local_qp *emu_quick_qp(struct emu_world *w, uint32_t index)
{
	assert(index <= EMU_QPS);
	return EMU_KEEP(&w->qp[index]);
}

/* gcc would add the place of the table before the shift, by another instruction. */
static EMU_HOT const struct emu_local_cq *emu_quick_cq(const struct emu_world *w, uint32_t index)
{
	uint64_t at = (uint64_t)index * sizeof(w->cq[0]);

	return (const void *)((const char *)w->cq + EMU_KEEP(at));
}

/*
 * Is CQ `index` the polled one, and may its next completion go to the poll without being queued? An
 * armed CQ has to notify. The polled one has room: it is empty, its limit not 0 (host/nic.h).
 */
static EMU_HOT bool emu_quick_goes_to(const struct emu_world *w, const struct emu_local_cq *polled,
				      uint32_t index)
{
	return emu_quick_cq(w, index) == polled && !polled->entry->armed;
}

/* Time moves on to that event, the first of the FIFO, which leaves the queue. */
static EMU_HOT void emu_quick_take(struct emu_world *w, const struct emu_event *e)
{
	w->fab->now = e->time;
	w->fifo.first++;
}

/* Add the completion of a successful request to the CQ. */
static EMU_HOT void emu_quick_complete(struct emu_world *w, uint32_t cq, uint32_t qp,
				       uint64_t wr_id, uint32_t length, enum nic_opcode opcode,
				       uint32_t flags)
{
	const struct emu_local_cq *local = emu_quick_cq(w, cq);

	emu_cq_push_in(w, local->entry, local->ring, qp, wr_id, length, opcode, NIC_WC_SUCCESS,
		       flags);
}

/*
 * The keys of both ends were valid at the post, and no key has become invalid since. Only lengths
 * are left to check.
 */
static inline bool emu_quick_keys_hold(const struct emu_fabric *fab, const struct emu_swqe *swqe,
				       const struct emu_rwqe *wqe)
{
	return swqe->opcode == NIC_OP_SEND && swqe->mem_epoch == fab->mem_epoch &&
	       swqe->num_sge == 1 && emu_recv_needs_no_check(fab, wqe, swqe->length);
}

_Static_assert(offsetof(struct emu_event, packet) == offsetof(struct emu_event, index) + 4 &&
		       offsetof(struct emu_qp, rx_packet) == offsetof(struct emu_qp, rx_next) + 4,
	       "emu_quick_is_expected compares index and packet at once");

/* Is it the packet that comes next? On a connection rx_packet is 0. */
static inline bool emu_quick_is_expected(const struct emu_qp *qp, const struct emu_event *e)
{
	return memcmp((const char *)e + offsetof(struct emu_event, index),
		      (const char *)qp + offsetof(struct emu_qp, rx_next), 8) == 0;
}

/*
 * The whole responder for an ordinary message, whose event is DATA. polled: the event is still the
 * first of the FIFO, and its completion is not queued but goes to *done. False: it is no ordinary
 * message or, with `polled`, its completion is not for that CQ, and nothing has changed but, if the
 * copy failed, a part of the Receive's buffer.
 */
static EMU_HOT bool emu_quick_receive(struct emu_world *w, const struct emu_event *e,
				      const struct emu_local_cq *polled,
				      struct emu_quick_done *done, bool traced)
{
	struct emu_local_qp *local = emu_quick_qp(w, e->qp), *peer;
	struct emu_qp *qp = local->entry;
	const struct emu_swqe *swqe;
	const struct emu_rwqe *wqe;
	struct emu_srq *srq;
	struct emu_wq *wq;
	uint32_t index;

	if (qp->epoch != e->epoch || !emu_quick_is_expected(qp, e) || !qp->rx_fast)
		return false;
	if (polled && !emu_quick_goes_to(w, polled, qp->recv_cq))
		return false;
	peer = emu_quick_qp(w, qp->peer);
	if (peer->entry->epoch != qp->peer_epoch)
		return false;
	/* The expected request has not been executed, so it is still on the sender's queue. */
	swqe = emu_wqe_in(peer->sq, &peer->entry->sq, e->index);
	srq = emu_recv_srq(w, qp);
	wq = EMU_KEEP(emu_recv_queue(qp, srq));
	if (EMU_RECV_IS_LOW(srq, emu_wq_count(wq)))
		return false;
	/*
	 * An empty message does not qualify either: 0 - 1 is more than any MTU. That of the sender
	 * is the same (emu_qp_assess).
	 */
	if (swqe->length - 1 >= qp->mtu)
		return false;
	wqe = srq ? emu_wqe(w, wq, wq->get) : emu_wqe_in(local->rq, wq, wq->get);
	/* If the program has unmapped a buffer, the step that copies it again finds out which. */
	if (!emu_quick_keys_hold(w->fab, swqe, wqe) ||
	    __builtin_expect(emu_guard_copy(emu_memory(wqe->sge[0].addr),
					    emu_memory(swqe->sge[0].addr), swqe->length),
			     0))
		return false;
	if (polled)
		emu_quick_take(w, e);
	emu_recv_take_whole(qp, wq, e->index);
	if (traced)
		emu_trace_arrival(w, qp, peer->entry, e->index, swqe->length);
	index = e->index; /* if the CQ overflows, another event may take the place of this one */
	if (!polled)
		emu_quick_complete(w, qp->recv_cq, e->qp, wqe->wr_id, swqe->length, NIC_OP_RECV,
				   emu_recv_flags(wqe, swqe->flags));
	emu_qp_tell_peer(w, qp, EMU_EV_ACK, index, 0);
	if (polled)
		*done = (struct emu_quick_done){ local, wqe->wr_id, swqe->length, NIC_OP_RECV,
						 (uint8_t)emu_recv_flags(wqe, swqe->flags) };
	return true;
}

/* ---- its acknowledgement arrives ---- */

/*
 * The acknowledgement of the oldest request, event ACK; `polled` and the result as above. In the
 * ordinary case it calls no function, so that a poll has no register to save.
 */
static EMU_HOT bool emu_quick_acknowledge(struct emu_world *w, const struct emu_event *e,
					  const struct emu_local_cq *polled,
					  struct emu_quick_done *done, bool traced)
{
	struct emu_local_qp *local = emu_quick_qp(w, e->qp);
	struct emu_qp *qp = local->entry;
	const struct emu_swqe *wqe;

	/* It is of the oldest request, which is there. */
	if (qp->epoch != e->epoch || e->index != qp->sq.get || e->index == qp->sq.put ||
	    !qp->tx_fast)
		return false;
	wqe = emu_wqe_in(local->sq, &qp->sq, e->index);
	if (polled &&
	    ((wqe->flags & NIC_WR_SUPPRESS) || !emu_quick_goes_to(w, polled, qp->send_cq)))
		return false;
	if (polled)
		emu_quick_take(w, e);
	if (traced)
		emu_trace_acked(w, qp, e->index,
				emu_wire_psn(w, qp, e->index, emu_wire_span(w, qp, wqe) - 1),
				wqe->length, wqe->opcode);
	qp->sq.get = e->index + 1;
	if (__builtin_expect(qp->rnr_tries, 0)) /* no store to its line: layout.h */
		qp->rnr_tries = 0;
	if (polled)
		*done = (struct emu_quick_done){ local, wqe->wr_id, wqe->length, wqe->opcode,
						 wqe->flags & NIC_WR_QUIET };
	else if (!(wqe->flags & NIC_WR_SUPPRESS))
		emu_quick_complete(w, qp->send_cq, e->qp, wqe->wr_id, wqe->length, wqe->opcode,
				   wqe->flags & NIC_WR_QUIET);
	return true;
}

/* Is the first event of the FIFO the next one of all, and is it due between now and `deadline`? */
static EMU_HOT bool emu_quick_is_due(const struct emu_world *w, const struct emu_event *e,
				     uint64_t deadline)
{
	return e != w->fifo.end && !w->fab->events && e->time <= deadline && e->time >= w->fab->now;
}

/* The time at which a poll of that CQ ends if it finds no completion. */
static EMU_HOT uint64_t emu_quick_deadline(const struct emu_world *w, const struct nic_cq *base)
{
	return w->fab->now + base->nic->poll_quantum_ns;
}

#endif /* EMU_QUICK_MESSAGE_H */
