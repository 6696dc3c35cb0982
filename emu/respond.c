/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of the responder that take a receive, copy the payload, complete or refuse the message;
 * respond.h has the order.
 */
#include "emu/number/atomic.h"
#include "emu/hostile/ends.h"
#include "emu/hostile/land.h"
#include "emu/number/pause.h"
#include "emu/fabric/clock.h"
#include "cm.h"
#include "emu/wire/link.h"
#include "mem.h"
#include "mw.h"
#include "partial.h"
#include "emu/wire/profile.h"
#include "qp.h"
#include "rdma.h"
#include "receive.h"
#include "respond.h"
#include "srq.h"
#include "emu/fabric/trace.h"
#include "upcall.h"
#include "emu/wire/retry.h"
#include "emu/wire/wire.h"
#include "emu/fabric/adapter.h"

void emu_measure(struct emu_world *w, struct emu_arrival *a)
{
	uint64_t mtu = emu_wire_mtu(w, a->sender), length = emu_rdma_request_bytes(a->swqe);

	a->packets = length > mtu ? (uint32_t)((length + mtu - 1) / mtu) : 1;
	a->from = a->packet * mtu;
	a->to = a->from + mtu;
	if (a->kind == EMU_EV_DATA_REST || a->kind == EMU_EV_LAND || a->to > length)
		a->to = length;
	a->last = a->to == length;
}

void emu_trace_packet(struct emu_world *w, const struct emu_arrival *a)
{
	static const uint8_t ops[] = { [NIC_OP_SEND] = EMU_PACKET_SEND,
				       [NIC_OP_WRITE] = EMU_PACKET_WRITE,
				       [NIC_OP_READ] = EMU_PACKET_READ,
				       [NIC_OP_SWAP] = EMU_PACKET_SWAP,
				       [NIC_OP_ADD] = EMU_PACKET_ADD };
	uint32_t place = a->packets == 1  ? EMU_PACKET_ONLY
			 : a->packet == 0 ? EMU_PACKET_FIRST
			 : a->last        ? EMU_PACKET_LAST
					  : EMU_PACKET_MIDDLE;
	uint8_t opcode = a->swqe->opcode;
	uint32_t packet = emu_rdma_asked(a->swqe) ?: a->packet;

	if (!emu_rdma_goes_over_wire(opcode))
		return; /* another process wrote it since it was checked */
	if (emu_rdma_is_answered(opcode))
		place = 0;
	emu_record_between(w, EMU_RECORD_PACKET, a->sender, a->qp, ops[opcode] + place,
			   a->swqe->message, packet, (uint32_t)(a->to - a->from),
			   emu_wire_psn(w, a->sender, a->index, packet));
}

/*
 * Is a local key of the sender bad? A QP that is connected by number learns that before its peer
 * can refuse the request, because a device reads the payload before it sends anything.
 */
static bool is_unreadable(struct emu_world *w, const struct emu_arrival *a)
{
	const struct emu_swqe *wqe = a->swqe;
	const struct emu_sgl own = { .sge = wqe->sge,
				     .num_sge = wqe->num_sge,
				     .pd = a->sender->pd,
				     .adapter = a->sender->adapter,
				     .access = NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE };

	if (!a->sender->numbered || a->rx || emu_rdma_is_answered(wqe->opcode) ||
	    emu_posted_is_kept(w, wqe))
		return false;
	for (uint32_t i = 0; i < own.num_sge; i++)
		if (own.sge[i].length > 0 && !emu_key_allows(w, &own, &own.sge[i]))
			return true;
	return false;
}

enum emu_step emu_step_opcode(struct emu_world *w, struct emu_arrival *a)
{
	emu_measure(w, a);
	if (w->fab->trace_on && a->kind != EMU_EV_LAND)
		emu_trace_packet(w, a);
	emu_pause_hear(w, a->qp);
	a->rx = emu_partial_find(w, a->qp, a->swqe->message);
	/* A duplicate: the first copy continues. */
	if (a->rx ? a->rx->whole || a->rx->next_packet != a->packet : a->packet != 0)
		return EMU_STEP_IGNORE;
	if ((a->rx && a->rx->landing) != (a->kind == EMU_EV_LAND))
		return EMU_STEP_IGNORE;
	if (a->rx && !a->rx->write)
		a->wqe = &a->rx->wqe;
	if (is_unreadable(w, a)) {
		a->cause = EMU_CAUSE_SOURCE;
		return EMU_STEP_REFUSE;
	}
	if (a->rule)
		return EMU_STEP_INJECT;
	if (a->qp->odd_mtu &&
	    !emu_wire_suits(w, a->sender, a->qp, emu_rdma_request_bytes(a->swqe))) {
		a->cause = EMU_CAUSE_MTU;
		return EMU_STEP_REFUSE;
	}
	if (a->swqe->opcode != NIC_OP_SEND)
		return EMU_STEP_KEY;
	return a->rx ? EMU_STEP_PLACE : EMU_STEP_BUFFER;
}

/* Request `index` is complete: expect the next one. */
static void expect_next_request(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	emu_recv_expect_after(qp, index);
	if (qp->parked)
		emu_unpark(w, qp, true);
}

/* ---- RDMA ---- */

enum emu_step emu_step_key(struct emu_world *w, struct emu_arrival *a)
{
	a->cause = emu_rdma_allowed(w, a);
	if (a->cause != EMU_CAUSE_NONE)
		return EMU_STEP_REFUSE;
	if (emu_rdma_is_answered(a->swqe->opcode))
		return EMU_STEP_ANSWER;
	return a->rx || !emu_recv_is_taken_by(a->swqe) ? EMU_STEP_PLACE : EMU_STEP_BUFFER;
}

enum emu_step emu_step_answer(struct emu_world *w, struct emu_arrival *a)
{
	if (emu_rdma_is_atomic(a->swqe->opcode) && !emu_atomic_is_mine(w, a))
		return EMU_STEP_DONE;
	if (emu_rdma_is_atomic(a->swqe->opcode) && !emu_atomic_execute(w, a)) {
		a->cause = EMU_CAUSE_REMOTE_KEY; /* the key is good, but its memory is gone */
		return EMU_STEP_REFUSE;
	}
	emu_rdma_answer(w, a);
	expect_next_request(w, a->qp, a->index);
	return EMU_STEP_WAITING;
}

/* ---- a buffer ---- */

static void trace_take(struct emu_world *w, const struct emu_qp *qp, uint32_t message)
{
	const struct emu_srq *srq = qp->srq ? &EMU_AT(w->fab->srq, qp->srq) : NULL;

	if (srq)
		emu_record_of(w, EMU_RECORD_TAKE_SRQ, qp, message, emu_wq_count(&srq->wq),
			      emu_unreaped(qp), srq->name);
	else
		emu_record_of(w, EMU_RECORD_TAKE, qp, message, emu_wq_count(&qp->rq),
			      emu_unreaped(qp));
}

static void below_srq_limit(struct emu_world *w, struct emu_qp *qp)
{
	EMU_AT(w->fab->srq, qp->srq).limit = 0;
	emu_up_srq_limit(w, qp->srq);
}

static void above_soft_limit(struct emu_world *w, struct emu_qp *qp)
{
	qp->soft = NIC_LIMIT_NONE;
	emu_qp_assess(qp);
	emu_up_soft_limit(w, qp);
}

/* The number of this request among the peer's Sends. All requests before rx_next are complete. */
static uint32_t send_number(struct emu_world *w, const struct emu_arrival *a)
{
	uint32_t number = a->qp->rx_completed + 1;

	for (uint32_t i = a->qp->rx_next, n = 0; i != a->index && n < EMU_MAX_QP_WR; i++, n++) {
		const struct emu_swqe *swqe = emu_wqe(w, &a->sender->sq, i);

		number += emu_recv_is_taken_by(swqe);
	}
	return number;
}

/* The number of earlier Sends that have not taken a receive yet. */
static uint32_t sends_ahead(struct emu_world *w, const struct emu_arrival *a, uint32_t number)
{
	uint32_t ahead = number - 1 - a->qp->rx_completed;

	emu_ref ref = a->qp->rx;

	while (ref && emu_go_on(w)) {
		const struct emu_rx *rx = emu_at(w, ref);

		ahead -= !rx->write && (int32_t)(a->swqe->message - rx->message) > 0;
		ref = rx->next;
	}
	return ahead;
}

/*
 * Receives have to complete in the order in which they were posted. A Send that overtook `ahead`
 * others therefore skips that many receives: the one after them moves to the front of the queue. If
 * there are too few, the last one does, and one of the earlier Sends will find none.
 */
static void leave_to_those_ahead(struct emu_world *w, struct emu_wq *wq, uint32_t ahead)
{
	uint8_t own[sizeof(struct emu_rwqe) + EMU_MAX_SGE * sizeof(struct nic_sge)];
	uint32_t i = ahead < emu_wq_count(wq) ? ahead : emu_wq_count(wq) - 1,
		 stride = wq->words * EMU_WORD;

	if (i == 0)
		return;
	EMU_SURE(w, stride <= sizeof(own));
	if (stride > sizeof(own))
		return;
	memcpy(own, emu_wqe(w, wq, wq->get + i), stride);
	for (; i > 0; i--)
		memcpy(emu_wqe(w, wq, wq->get + i), emu_wqe(w, wq, wq->get + i - 1), stride);
	memcpy(emu_wqe(w, wq, wq->get), own, stride);
}

/*
 * Take the oldest receive that is not left to an earlier Send. It is readable until the next post.
 */
enum emu_step emu_step_buffer(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp;
	struct emu_srq *srq = emu_recv_srq(w, qp);
	struct emu_wq *wq = emu_recv_queue(qp, srq);
	uint32_t number = send_number(w, a);

	if (emu_wq_count(wq) == 0)
		return EMU_STEP_NOT_READY;
	if (!srq && a->index != qp->rx_next)
		leave_to_those_ahead(w, wq, sends_ahead(w, a, number));
	a->wqe = emu_wqe(w, wq, wq->get);
	emu_recv_take(qp, wq);
	if ((int32_t)(number - qp->rx_taken) > 0)
		qp->rx_taken = number;
	if (w->fab->trace_on)
		trace_take(w, qp, a->swqe->message);
	if (srq && emu_wq_count(wq) < srq->limit)
		below_srq_limit(w, qp);
	if (qp->soft != NIC_LIMIT_NONE && emu_unreaped(qp) > (uint32_t)qp->soft)
		above_soft_limit(w, qp);
	return EMU_STEP_LIMIT;
}

enum emu_step emu_step_limit(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp;

	(void)w;
	if (qp->hard == NIC_LIMIT_NONE || emu_unreaped(qp) <= (uint32_t)qp->hard)
		return EMU_STEP_PLACE;
	qp->hard = NIC_LIMIT_NONE;
	emu_qp_assess(qp);
	a->cause = EMU_CAUSE_OVER_LIMIT;
	return EMU_STEP_REFUSE;
}

enum emu_step emu_step_not_ready(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp;

	if (!emu_profile(w)->rnr) {
		a->cause = EMU_CAUSE_NO_BUFFER;
		return EMU_STEP_REFUSE;
	}
	qp->rx_gap = true;
	emu_respond_ack(w, qp);
	emu_unpark(w, qp, false); /* they will be retransmitted */
	emu_qp_tell_peer(w, qp, EMU_EV_RNR, a->index, 0);
	return EMU_STEP_DONE;
}

/* ---- the payload ---- */

static const enum emu_cause copy_causes[] = {
	[EMU_COPY_BAD_SOURCE] = EMU_CAUSE_SOURCE,
	[EMU_COPY_BAD_TARGET] = EMU_CAUSE_TARGET,
	[EMU_COPY_TOO_LONG] = EMU_CAUSE_TOO_LONG,
};

static enum emu_copy copy_payload(struct emu_world *w, const struct emu_arrival *a)
{
	const struct emu_qp *qp = a->qp;
	struct emu_sgl src = { .sge = a->swqe->sge,
			       .num_sge = a->swqe->num_sge,
			       .pd = a->sender->pd,
			       .posted = a->swqe->mem_epoch,
			       .allowed = emu_posted_is_kept(w, a->swqe),
			       .adapter = a->sender->adapter,
			       .access = NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE };
	struct emu_sgl dst = { .sge = a->wqe->sge,
			       .num_sge = a->wqe->num_sge,
			       .posted = a->wqe->mem_epoch,
			       .pd = qp->srq ? EMU_AT(w->fab->srq, qp->srq).pd : qp->pd,
			       .adapter = qp->adapter,
			       .access = NIC_ACCESS_LOCAL_WRITE };

	return emu_copy(w, &dst, &src, a->from, a->to);
}

void emu_expect_next(struct emu_world *w, const struct emu_arrival *a)
{
	const struct emu_link *link = &EMU_AT(w->fab->link, a->sender->link);
	uint64_t left = a->swqe->length - a->to;

	/* While packets are observed, each one arrives by itself. */
	if (emu_observed(w))
		return;
	emu_schedule(w, w->fab->now + emu_link_serialise(link, left), EMU_EV_DATA_REST,
		     emu_qp_index(w, a->qp), a->qp->epoch, a->index, a->packet + 1);
}

enum emu_copy emu_place(struct emu_world *w, const struct emu_arrival *a)
{
	return a->swqe->opcode == NIC_OP_WRITE ? emu_rdma_write(w, a) : copy_payload(w, a);
}

enum emu_step emu_place_failed(struct emu_world *w, struct emu_arrival *a, enum emu_copy copied)
{
	bool write = a->swqe->opcode == NIC_OP_WRITE;

	if (copied == EMU_COPY_BAD_TARGET && a->qp->numbered && emu_is_gone(w, a->qp->adapter))
		return EMU_STEP_SILENT;
	/* The key of a Write is good. Its memory is gone, which is the same to the peer. */
	a->cause = write && copied == EMU_COPY_BAD_TARGET ? EMU_CAUSE_REMOTE_KEY
							  : copy_causes[copied];
	return EMU_STEP_REFUSE;
}

enum emu_step emu_step_place(struct emu_world *w, struct emu_arrival *a)
{
	enum emu_copy copied;

	if (emu_lands(w) && !emu_land_is_over(a))
		return EMU_STEP_LAND;
	if (a->last && (a->swqe->flags & NIC_WR_INVALIDATE) &&
	    !emu_mw_may_invalidate(w, a->qp, a->swqe->step)) {
		a->cause = EMU_CAUSE_INVALIDATE_KEY;
		return EMU_STEP_REFUSE;
	}
	copied = emu_place(w, a);
	if (copied != EMU_COPY_OK)
		return emu_place_failed(w, a, copied);
	if (!a->rx)
		return a->last && a->index == a->qp->rx_next ? EMU_STEP_FINISH : EMU_STEP_KEEP;
	a->rx->whole = a->last;
	a->rx->next_packet = a->packet + 1;
	if (a->last)
		return EMU_STEP_WAITING;
	emu_expect_next(w, a);
	return EMU_STEP_DONE;
}

enum emu_step emu_step_keep(struct emu_world *w, struct emu_arrival *a)
{
	static const struct emu_rwqe none; /* a WRITE takes no receive */
	struct emu_rx *rx = emu_partial_add(w, a->qp, a->swqe, a->index, a->wqe ? a->wqe : &none);

	if (!rx) {
		a->cause = EMU_CAUSE_NO_MEMORY;
		return EMU_STEP_REFUSE;
	}
	rx->whole = a->last;
	rx->next_packet = a->packet + 1;
	if (!rx->whole)
		emu_expect_next(w, a);
	return EMU_STEP_DONE;
}

/* ---- completion, in message order ---- */

/* wqe: the receive of a Send; NULL for an RDMA. */
static void complete_message(struct emu_world *w, struct emu_qp *qp, const struct emu_rwqe *wqe,
			     uint32_t index, const struct emu_told *told)
{
	emu_recv_expect_after(qp, index); /* before the completion: the trace numbers it so */
	if (told->flags & NIC_WR_INVALIDATE)
		emu_mw_invalidate(w, told->imm);
	if (wqe) {
		qp->rx_completed++;
		emu_complete_message(w, qp, wqe, told);
	}
	if (!emu_retry_is_spurious(w, qp))
		emu_acknowledge(w, qp);
	expect_next_request(w, qp, index);
}

enum emu_step emu_step_finish(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_told told = emu_recv_told(a->swqe);

	complete_message(w, a->qp, a->wqe, a->index, &told);
	return EMU_STEP_WAITING;
}

enum emu_step emu_step_waiting(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp;
	struct emu_told told;

	while (qp->rx && emu_go_on(w)) {
		struct emu_rx *rx = emu_at(w, qp->rx);

		if (!rx->whole || rx->index != qp->rx_next)
			break;
		told = emu_partial_told(rx);
		complete_message(w, qp, rx->write ? NULL : &rx->wqe, rx->index, &told);
		emu_partial_drop(w, qp, rx);
	}
	return EMU_STEP_DONE;
}

/* A request without a Receive leaves no completion here, so the front hears of it otherwise. */
static void tell_refused(struct emu_world *w, const struct emu_qp *qp, enum emu_cause cause)
{
	enum nic_wc_status status = emu_cause_request(qp, cause);

	if (status == NIC_WC_REMOTE_ACCESS)
		emu_up_qp_event(w, qp, NIC_QP_ACCESS);
	else if (status == NIC_WC_REMOTE_INVALID)
		emu_up_qp_event(w, qp, NIC_QP_REQUEST);
}

/*
 * Fail the request and its receive (if it took one), and break the connection, in message order.
 */
enum emu_step emu_step_refuse(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp;
	uint32_t missing = a->index - qp->rx_next;

	emu_trace_cause(w, qp, a->cause, a->swqe->message);
	if (qp->numbered && a->cause == EMU_CAUSE_SOURCE)
		return EMU_STEP_UNSENT;
	if (a->wqe) {
		emu_partial_flush(w, qp, a->swqe->message);
		emu_complete_recv(w, qp, a->wqe, emu_causes[a->cause].receive);
	}
	if (a->rx)
		emu_partial_drop(w, qp, a->rx);
	if (qp->numbered && !a->wqe)
		tell_refused(w, qp, a->cause);
	emu_respond_ack(w, qp);
	emu_qp_tell_peer(w, qp, EMU_EV_NAK, a->index,
			 missing << 8 | emu_cause_request(qp, a->cause));
	emu_qp_end(w, qp, emu_ends_told(w, NIC_END_BROKEN), EMU_EV_NONE);
	return EMU_STEP_DONE;
}

/*
 * The requester cannot read its own memory, so on a QP that is connected by number this packet was
 * never sent, and nothing happens here. Of a message whose earlier packets came, the Receive stays
 * taken.
 */
enum emu_step emu_step_unsent(struct emu_world *w, struct emu_arrival *a)
{
	struct emu_qp *qp = a->qp;
	uint32_t missing = a->index - qp->rx_next;

	if (a->wqe && !a->rx)
		emu_recv_put_back(qp, emu_recv_queue(qp, emu_recv_srq(w, qp)));
	emu_qp_tell_peer(w, qp, EMU_EV_NAK, a->index,
			 missing << 8 | emu_cause_request(qp, a->cause));
	return EMU_STEP_DONE;
}

/* The responder's process has ended, and its QP is still here: the requester has to find out. */
enum emu_step emu_step_silent(struct emu_world *w, struct emu_arrival *a)
{
	a->qp->rx_gap = true; /* nor do the packets behind it have one */
	emu_qp_assess(a->qp);
	emu_retry_on(w, a->sender);
	return EMU_STEP_DONE;
}
