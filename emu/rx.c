/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "link.h"
#include "mem.h"
#include "partial.h"
#include "qp.h"
#include "rx.h"
#include "srq.h"
#include "trace.h"
#include "world.h"

/* One packet (or the rest of a message at once) on its way through the responder. */
struct arrival {
	struct emu_qp *qp, *sender;
	const struct emu_swqe *swqe;
	uint32_t index;    /* of swqe */
	uint32_t packet;   /* first packet that came */
	uint32_t packets;  /* of the whole message */
	uint64_t from, to; /* bytes of the message that came */
	bool last;
};

/* A disconnected QP takes receives and ends them at once. */
static EMU_COLD int post_flushed(struct emu_world *w, struct emu_qp *qp,
				 const struct nic_recv_wr *wr)
{
	struct emu_rwqe flushed = { .wr_id = wr->wr_id, .flags = wr->flags };

	emu_complete_recv(w, qp, &flushed, NIC_WC_FLUSHED, 0, 0);
	return 0;
}

int emu_post_recv(struct nic_qp *base, const struct nic_recv_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;

	if (qp->srq || wr->num_sge > qp->max_recv_sge)
		return -EINVAL;
	if (qp->state == EMU_QP_ERROR)
		return post_flushed(w, qp, wr);
	if (emu_wq_count(&qp->rq) >= qp->rq.max)
		return -EAGAIN;
	emu_recv_put(w, &qp->rq, wr);
	return 0;
}

/* ---- step 1: a buffer ---- */

static EMU_COLD void trace_take(struct emu_world *w, const struct emu_qp *qp, uint32_t message)
{
	const struct emu_wq *wq = qp->srq ? &w->fab->srq[qp->srq].wq : &qp->rq;
	char from[EMU_NAME + 16] = "rq";

	if (qp->srq)
		snprintf(from, sizeof(from), "%s.srq%u", emu_adapter_name(w, qp->adapter),
			 w->fab->srq[qp->srq].name);
	emu_trace_line(w, "%s.ep%u take from=%s message=%u available=%u taken=%u",
		       emu_adapter_name(w, qp->adapter), qp->name, from, message, emu_wq_count(wq),
		       emu_unreaped(qp));
}

static EMU_COLD void below_srq_limit(struct emu_world *w, struct emu_qp *qp)
{
	struct nic_srq *base = &w->srq[qp->srq].base;

	w->fab->srq[qp->srq].limit = 0;
	base->nic->up->srq_limit(base->ctx);
}

static EMU_COLD void above_soft_limit(struct emu_world *w, struct emu_qp *qp)
{
	struct nic_qp *base = &w->qp[emu_qp_index(w, qp)].base;

	qp->soft = NIC_LIMIT_NONE;
	emu_qp_assess(qp);
	base->nic->up->qp_soft_limit(base->ctx);
}

/* The oldest receive for a message; NULL: there is none. It stays readable until the next post. */
static inline struct emu_rwqe *take(struct emu_world *w, struct emu_qp *qp, uint32_t message)
{
	struct emu_srq *srq = qp->srq ? &w->fab->srq[qp->srq] : NULL;
	struct emu_wq *wq = srq ? &srq->wq : &qp->rq;
	struct emu_rwqe *wqe;

	if (emu_wq_count(wq) == 0)
		return NULL;
	wqe = emu_wqe(w, wq, wq->get++);
	qp->taken++;
	if ((int32_t)(message - qp->rx_taken) > 0)
		qp->rx_taken = message;
	if (__builtin_expect(w->fab->trace_on, 0))
		trace_take(w, qp, message);
	if (srq && __builtin_expect(emu_wq_count(wq) < srq->limit, 0))
		below_srq_limit(w, qp);
	if (qp->soft != NIC_LIMIT_NONE && emu_unreaped(qp) > (uint32_t)qp->soft)
		above_soft_limit(w, qp);
	return wqe;
}

/* ---- refusals ---- */

/* Answer the message with an error and break the connection. */
static EMU_COLD void refuse(struct emu_world *w, struct emu_qp *qp, uint32_t index,
			    enum nic_wc_status sender_status)
{
	emu_qp_tell_peer(w, qp, EMU_EV_NAK, index, sender_status);
	emu_qp_end(w, qp, NIC_END_BROKEN);
}

static EMU_COLD void no_buffer(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	if (!w->fab->config.in_order) {
		refuse(w, qp, index, NIC_WC_RNR_EXCEEDED);
		return;
	}
	qp->rx_gap = true;
	emu_unpark(w, qp, false); /* they will be sent again */
	emu_qp_tell_peer(w, qp, EMU_EV_RNR, index, 0);
}

/* ---- step 2: the payload ---- */

/* How a receive ends, and how its send. */
struct verdict {
	enum nic_wc_status recv, send;
};

static const struct verdict verdicts[] = {
	[EMU_COPY_OK] = { NIC_WC_SUCCESS, NIC_WC_SUCCESS },
	[EMU_COPY_BAD_SOURCE] = { NIC_WC_FLUSHED, NIC_WC_LOCAL_PROTECTION },
	[EMU_COPY_BAD_TARGET] = { NIC_WC_LOCAL_PROTECTION, NIC_WC_REMOTE_OPERATION },
	[EMU_COPY_TOO_LONG] = { NIC_WC_LOCAL_LENGTH, NIC_WC_REMOTE_OPERATION },
};
static const struct verdict over_hard_limit = { NIC_WC_FLUSHED, NIC_WC_REMOTE_OPERATION };
static const struct verdict out_of_memory = { NIC_WC_LOCAL_QP, NIC_WC_REMOTE_OPERATION };

static inline enum emu_copy place(struct emu_world *w, const struct emu_qp *qp,
				  const struct emu_qp *sender, const struct emu_swqe *swqe,
				  const struct emu_rwqe *wqe, uint64_t from, uint64_t to)
{
	struct emu_sgl src = { .sge = swqe->sge,
			       .num_sge = swqe->num_sge,
			       .pd = sender->pd,
			       .access = NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE };
	struct emu_sgl dst = { .sge = wqe->sge,
			       .num_sge = wqe->num_sge,
			       .pd = qp->srq ? w->fab->srq[qp->srq].pd : qp->pd,
			       .access = NIC_ACCESS_LOCAL_WRITE };

	return emu_copy(w, &dst, &src, from, to);
}

/* ---- step 3: completion, in message order ---- */

static inline void finish(struct emu_world *w, struct emu_qp *qp, const struct emu_rwqe *wqe,
			  uint32_t index, uint32_t length, uint32_t solicited)
{
	qp->rx_completed++;
	qp->rx_next = index + 1;
	emu_complete_recv(w, qp, wqe, NIC_WC_SUCCESS, length, solicited);
	emu_qp_tell_peer(w, qp, EMU_EV_ACK, index, 0);
	if (qp->parked)
		emu_unpark(w, qp, true);
}

/* Messages that were whole and waited for the one just completed. */
static EMU_COLD void finish_waiting(struct emu_world *w, struct emu_qp *qp)
{
	while (qp->rx) {
		struct emu_rx *rx = emu_at(w, qp->rx);

		if (!rx->whole || rx->message != qp->rx_completed + 1)
			return;
		finish(w, qp, &rx->wqe, rx->index, rx->length, rx->solicited);
		emu_partial_drop(w, qp, rx);
	}
}

/* The receive and the send of a message end badly, and the connection with them; in message order. */
static EMU_COLD void fail(struct emu_world *w, struct emu_qp *qp, const struct emu_rwqe *wqe,
			  const struct emu_swqe *swqe, uint32_t index,
			  const struct verdict *verdict)
{
	emu_partial_flush(w, qp, swqe->message);
	emu_complete_recv(w, qp, wqe, verdict->recv, 0, 0);
	refuse(w, qp, index, verdict->send);
}

static inline bool over_hard(struct emu_qp *qp)
{
	if (qp->hard == NIC_LIMIT_NONE || emu_unreaped(qp) <= (uint32_t)qp->hard)
		return false;
	qp->hard = NIC_LIMIT_NONE;
	emu_qp_assess(qp);
	return true;
}

/* ---- a message of one packet, the usual case: all steps at once ---- */

static void receive_only(struct emu_world *w, struct emu_qp *qp, struct emu_qp *sender,
			 const struct emu_swqe *swqe, uint32_t index)
{
	struct emu_rwqe *wqe = take(w, qp, swqe->message);
	enum emu_copy copied;

	if (!wqe) {
		no_buffer(w, qp, index);
		return;
	}
	if (over_hard(qp)) {
		fail(w, qp, wqe, swqe, index, &over_hard_limit);
		return;
	}
	copied = place(w, qp, sender, swqe, wqe, 0, swqe->length);
	if (copied != EMU_COPY_OK) {
		fail(w, qp, wqe, swqe, index, &verdicts[copied]);
		return;
	}
	finish(w, qp, wqe, index, swqe->length, swqe->flags & NIC_WR_SOLICITED);
	finish_waiting(w, qp);
}

/*
 * The keys of both ends were good when they were posted (lib saw to that), and no key died since:
 * nothing to check but the length.
 */
static inline bool is_plain(const struct emu_fabric *fab, const struct emu_swqe *swqe,
			    const struct emu_rwqe *wqe)
{
	return swqe->mem_epoch == fab->mem_epoch && wqe->mem_epoch == fab->mem_epoch &&
	       swqe->num_sge == 1 && wqe->num_sge == 1 && swqe->length <= wqe->sge[0].length;
}

/* receive_only where nothing is out of the ordinary; false: something is, and nothing was done. */
static inline bool receive_plain(struct emu_world *w, struct emu_qp *qp, uint32_t qp_index,
				 const struct emu_swqe *swqe, uint32_t index)
{
	struct emu_fabric *fab = w->fab;
	struct emu_srq *srq = qp->srq ? &fab->srq[qp->srq] : NULL;
	struct emu_wq *wq = EMU_KEEP(srq ? &srq->wq : &qp->rq);
	const struct emu_rwqe *wqe;

	if (emu_wq_count(wq) == 0 || (srq && emu_wq_count(wq) <= srq->limit))
		return false;
	/* No bytes at all are not plain either: 0 - 1 is more than any MTU. */
	if (swqe->length - 1 >= fab->config.mtu || fab->trace_on)
		return false;
	wqe = emu_wqe(w, wq, wq->get);
	if (!is_plain(fab, swqe, wqe))
		return false;
	wq->get++;
	qp->taken++;
	qp->rx_taken = ++qp->rx_completed;
	qp->rx_next = index + 1;
	memmove(emu_memory(wqe->sge[0].addr), emu_memory(swqe->sge[0].addr), swqe->length);
	emu_cq_push(w, qp->recv_cq, qp_index, wqe->wr_id, swqe->length, NIC_OP_RECV, NIC_WC_SUCCESS,
		    (wqe->flags & NIC_WR_QUIET) | (swqe->flags & NIC_WR_SOLICITED));
	emu_qp_tell_peer(w, qp, EMU_EV_ACK, index, 0);
	return true;
}

/* ---- a message of several packets, or one that came before its turn ---- */

static void expect_next(struct emu_world *w, const struct arrival *a)
{
	struct emu_link *link = &w->fab->links[emu_link_at(a->sender->adapter, a->qp->adapter)];
	uint64_t mtu = w->fab->config.mtu, left = a->swqe->length - a->to;
	bool observed = emu_link_observed(w, a->sender);
	uint64_t bytes = observed && left > mtu ? mtu : left;

	emu_schedule(w, w->fab->now + emu_link_serialise(link, bytes),
		     observed ? EMU_EV_DATA : EMU_EV_DATA_REST, emu_qp_index(w, a->qp),
		     a->qp->epoch, a->index, a->packet + 1);
}

static void receive_first(struct emu_world *w, const struct arrival *a)
{
	struct emu_qp *qp = a->qp;
	struct emu_rwqe *wqe = take(w, qp, a->swqe->message);
	enum emu_copy copied;
	struct emu_rx *rx;

	if (!wqe) {
		no_buffer(w, qp, a->index);
		return;
	}
	if (over_hard(qp)) {
		fail(w, qp, wqe, a->swqe, a->index, &over_hard_limit);
		return;
	}
	copied = place(w, qp, a->sender, a->swqe, wqe, a->from, a->to);
	if (copied != EMU_COPY_OK) {
		fail(w, qp, wqe, a->swqe, a->index, &verdicts[copied]);
		return;
	}
	rx = emu_partial_add(w, qp, a->swqe, a->index, wqe);
	if (!rx) {
		fail(w, qp, wqe, a->swqe, a->index, &out_of_memory);
		return;
	}
	rx->whole = a->last;
	rx->next_packet = a->packet + 1;
	if (!rx->whole)
		expect_next(w, a);
}

static void receive_next(struct emu_world *w, const struct arrival *a)
{
	struct emu_rx *rx = emu_partial_find(w, a->qp, a->swqe->message);
	enum emu_copy copied;

	if (!rx || rx->whole || rx->next_packet != a->packet)
		return; /* a repetition */
	copied = place(w, a->qp, a->sender, a->swqe, &rx->wqe, a->from, a->to);
	if (copied != EMU_COPY_OK) {
		emu_partial_flush(w, a->qp, rx->message);
		emu_complete_recv(w, a->qp, &rx->wqe, verdicts[copied].recv, 0, 0);
		emu_partial_drop(w, a->qp, rx);
		refuse(w, a->qp, a->index, verdicts[copied].send);
		return;
	}
	if (!a->last) {
		rx->next_packet++;
		expect_next(w, a);
		return;
	}
	rx->whole = true;
	finish_waiting(w, a->qp);
}

static void trace_data(struct emu_world *w, const struct arrival *a)
{
	const char *op = a->packets == 1  ? "SEND_ONLY"
			 : a->packet == 0 ? "SEND_FIRST"
			 : a->last        ? "SEND_LAST"
					  : "SEND_MIDDLE";

	emu_trace_line(w, "%s.ep%u packet to=%s.ep%u op=%s message=%u packet=%u bytes=%lu",
		       emu_adapter_name(w, a->sender->adapter), a->sender->name,
		       emu_adapter_name(w, a->qp->adapter), a->qp->name, op, a->swqe->message,
		       a->packet, a->to - a->from);
}

/*
 * Profile ib, and not the message expected next. Behind an RNR it is dropped, for it will be sent again.
 * Otherwise a message before it is not complete: it waits for its turn.
 */
static EMU_COLD void out_of_turn(struct emu_world *w, struct emu_qp *qp, uint32_t index,
				 uint32_t packet, enum emu_event_kind kind)
{
	struct emu_event event = { .order = kind | EMU_EV_ARRIVED,
				   .qp = emu_qp_index(w, qp),
				   .epoch = qp->epoch,
				   .index = index,
				   .packet = packet };

	if (!qp->rx_gap && (int32_t)(index - qp->rx_next) > 0)
		emu_park(w, qp, &event);
}

static EMU_COLD void receive_piece(struct emu_world *w, struct emu_qp *qp, struct emu_qp *sender,
				   const struct emu_swqe *swqe, uint32_t index, uint32_t packet,
				   enum emu_event_kind kind)
{
	uint64_t mtu = w->fab->config.mtu, from = packet * mtu;
	struct arrival a = {
		.qp = qp,
		.sender = sender,
		.swqe = swqe,
		.index = index,
		.packet = packet,
		.packets = swqe->length > mtu ? (uint32_t)((swqe->length + mtu - 1) / mtu) : 1,
		.from = from,
		.to = from + mtu,
	};

	if (kind == EMU_EV_DATA_REST || a.to > swqe->length)
		a.to = swqe->length;
	a.last = a.to == swqe->length;
	if (w->fab->trace_on)
		trace_data(w, &a);
	/* A second copy of a message that is coming in already: the first one goes on. */
	if (a.packet == 0 && emu_partial_find(w, qp, swqe->message))
		return;
	if (a.packet > 0)
		receive_next(w, &a);
	else if (a.last && swqe->message == qp->rx_completed + 1)
		receive_only(w, qp, sender, swqe, a.index);
	else
		receive_first(w, &a);
}

static EMU_COLD void receive_any(struct emu_world *w, struct emu_qp *qp, uint32_t index,
				 uint32_t packet, enum emu_event_kind kind)
{
	struct emu_qp *sender = emu_qp_at(w, qp->peer);

	if (!emu_qp_running(qp) || sender->epoch != qp->peer_epoch ||
	    index - sender->sq.get >= emu_wq_count(&sender->sq))
		return;
	if (index == qp->rx_next) {
		qp->rx_gap = false;
		emu_qp_assess(qp);
	} else if (w->fab->config.in_order) {
		out_of_turn(w, qp, index, packet, kind);
		return;
	}
	receive_piece(w, qp, sender, emu_wqe(w, &sender->sq, index), index, packet, kind);
}

void emu_rx_data(struct emu_world *w, uint32_t qp_index, uint32_t epoch, uint32_t index,
		 uint32_t packet, enum emu_event_kind kind)
{
	struct emu_qp *qp = emu_qp_at(w, qp_index);
	const struct emu_qp *sender;

	if (qp->epoch != epoch)
		return;
	sender = emu_qp_at(w, qp->peer);
	/* What is expected next and never came cannot have left the sender's queue. */
	if (packet == 0 && index == qp->rx_next && qp->plain && sender->epoch == qp->peer_epoch &&
	    receive_plain(w, qp, qp_index, emu_wqe(w, &sender->sq, index), index))
		return;
	receive_any(w, qp, index, packet, kind);
}

/* ---- the end of a connection ---- */

void emu_rx_flush(struct emu_world *w, struct emu_qp *qp)
{
	emu_unpark(w, qp, false);
	emu_partial_flush(w, qp, UINT32_MAX);
	while (emu_wq_count(&qp->rq) > 0) {
		emu_complete_recv(w, qp, emu_wqe(w, &qp->rq, qp->rq.get), NIC_WC_FLUSHED, 0, 0);
		qp->rq.get++;
	}
}

uint32_t emu_rx_forget(struct emu_world *w, struct emu_qp *qp)
{
	uint32_t from_srq = qp->srq ? qp->rx_count : 0;

	emu_unpark(w, qp, false);
	while (qp->rx)
		emu_partial_drop(w, qp, emu_at(w, qp->rx));
	return from_srq;
}
