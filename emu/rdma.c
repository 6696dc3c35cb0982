/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA: posting WRITE, READ and BIND; the order of requests with READs and fences; responses; and
 * the responder's checks.
 */
#include <errno.h>

#include "emu/number/atomic.h"
#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "emu/wire/link.h"
#include "mem.h"
#include "mw.h"
#include "qp.h"
#include "rdma.h"
#include "emu/fabric/trace.h"
#include "tx.h"
#include "emu/hostile/land.h"
#include "emu/hostile/posted.h"
#include "emu/hostile/sent.h"
#include "emu/number/unreliable.h"
#include "emu/wire/retry.h"
#include "emu/wire/wire.h"
#include "emu/fabric/adapter.h"

/* ---- the send queue ---- */

static bool is_constrained(uint8_t opcode, uint8_t flags)
{
	return emu_rdma_is_answered(opcode) || opcode == NIC_OP_BIND || (flags & NIC_WR_FENCE);
}

size_t emu_rdma_bytes(const struct emu_qp *qp)
{
	return ((size_t)qp->sq.mask + 1) * qp->max_rdma_sge * sizeof(struct nic_sge);
}

/*
 * The segments of a request: in its ring entry, or beside the ring if there are more than a Send
 * may have.
 */
struct nic_sge *emu_rdma_segments(struct emu_world *w, const struct emu_qp *qp,
				  struct emu_swqe *wqe, uint32_t index)
{
	struct nic_sge *beside;

	if (wqe->num_sge <= qp->max_send_sge || wqe->num_sge <= 1)
		return wqe->sge;
	beside = emu_at(w, qp->rdma_sge);
	return beside + (index & qp->sq.mask) * qp->max_rdma_sge;
}

/* The table beside the ring is allocated with the first longer list, and stays. */
static bool have_room_beside(struct emu_world *w, struct emu_qp *qp, uint32_t num_sge)
{
	if (num_sge <= qp->max_send_sge || num_sge <= 1 || qp->rdma_sge)
		return true;
	qp->rdma_sge = emu_pool_alloc(w, emu_rdma_bytes(qp));
	return qp->rdma_sge != 0;
}

void emu_rdma_forget_sge(struct emu_world *w, struct emu_qp *qp)
{
	emu_ref segments_beside = qp->rdma_sge;

	qp->rdma_sge = 0;
	emu_pool_free(w->fab, segments_beside, emu_rdma_bytes(qp));
}

void emu_rdma_reset(struct emu_qp *qp)
{
	qp->constrained = qp->sq_acked = qp->reads_out = qp->reads_in = 0;
	qp->nak.status = 0;
	qp->doubt = false;
}

static bool segments_fit(const struct emu_qp *qp, const struct nic_send_wr *wr)
{
	if (wr->opcode == NIC_OP_SEND)
		return wr->num_sge <= qp->max_send_sge;
	if (wr->opcode == NIC_OP_BIND)
		return wr->num_sge == 0;
	if (emu_rdma_is_atomic(wr->opcode))
		return emu_atomic_fits(qp, wr);
	return wr->num_sge <= qp->max_rdma_sge || wr->num_sge <= qp->max_send_sge;
}

void emu_rdma_fill(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
		   const struct nic_send_wr *wr)
{
	struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);

	wqe->wr_id = wr->wr_id;
	wqe->mem_epoch = w->fab->mem_epoch;
	wqe->message = index + 1;
	wqe->length = wr->length;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->flags;
	wqe->num_sge = wr->num_sge;
	wqe->step = 0;
	if (wr->opcode == NIC_OP_BIND) {
		emu_mw_post(w, wr, wqe);
		return;
	}
	if (wr->flags & (NIC_WR_IMM | NIC_WR_INVALIDATE)) {
		wqe->step = wr->imm;
		wqe->mem_epoch--; /* no fast path: none of them delivers it */
	}
	wqe->remote_addr = wr->remote_addr;
	wqe->rkey = wr->rkey;
	if (emu_rdma_is_atomic(wr->opcode)) {
		emu_atomic_post(wr, wqe);
		return;
	}
	emu_copy_sge(emu_rdma_segments(w, qp, wqe, index), wr->sge, wr->num_sge);
}

static int post_flushed(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr)
{
	/* The program still gets a key, which never becomes valid. */
	if (wr->opcode == NIC_OP_BIND && wr->mw && !wr->rkey && qp->sq.max > 0)
		emu_mw_key(w, wr);
	return emu_tx_post_flushed(w, qp, wr);
}

EMU_COLD int emu_rdma_post(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr)
{
	if (!segments_fit(qp, wr) || (emu_rdma_is_answered(wr->opcode) && qp->max_rd_out == 0))
		return -EINVAL;
	if (qp->state != EMU_QP_CONNECTED && qp->state != EMU_QP_PAUSED)
		return qp->state == EMU_QP_ERROR ? post_flushed(w, qp, wr)
						 : emu_unreliable.post(w, qp, wr);
	if (emu_sent_is_full(w, qp))
		return -EAGAIN;
	if (!emu_clock_has_room(w) || !have_room_beside(w, qp, wr->num_sge))
		return -ENOMEM;
	emu_rdma_fill(w, qp, qp->sq.put, wr);
	if (emu_posted_on(w))
		((struct emu_swqe *)emu_wqe(w, &qp->sq, qp->sq.put))->mem_epoch =
			emu_posted_request(w, qp, wr, qp->sq.put + 1);
	if (is_constrained(wr->opcode, wr->flags) && qp->constrained++ == 0) {
		qp->sq_acked = qp->sq.get;
		emu_qp_assess(qp);
	}
	qp->sq.put++;
	if (w->fab->trace_on)
		emu_trace_post(w, qp, wr, qp->sq.put);
	emu_tx_kick(w, qp);
	return 0;
}

bool emu_rdma_start(struct emu_world *w, struct emu_qp *qp)
{
	struct emu_swqe *wqe = emu_wqe(w, &qp->sq, qp->sq_next);

	/*
	 * Requests after a kept NAK are not transmitted; READs before it get their responses first.
	 */
	if ((qp->nak.status && (int32_t)(qp->sq_next - qp->nak.came) >= 0) ||
	    ((wqe->flags & NIC_WR_FENCE) && qp->reads_out > 0))
		return false;
	if (wqe->opcode == NIC_OP_BIND)
		return qp->sq.get == qp->sq_next;
	if (!emu_rdma_is_answered(wqe->opcode))
		return true;
	if (qp->reads_out >= qp->max_rd_out)
		return false;
	qp->reads_out++;
	return true;
}

void emu_rdma_bind(struct emu_world *w, struct emu_qp *qp)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, qp->sq_next);
	enum emu_cause cause = emu_mw_bind(w, qp, wqe);

	qp->sq_next++;
	if (cause != EMU_CAUSE_NONE)
		emu_trace_cause(w, qp, cause, wqe->message);
	emu_tx_retire(w, qp, emu_causes[cause].request);
	emu_wire_answered(w, qp); /* a BIND is not on the wire: the next request may follow */
	if (cause != EMU_CAUSE_NONE)
		emu_qp_break(w, qp);
}

void emu_rdma_retired(struct emu_qp *qp, const struct emu_swqe *wqe)
{
	if ((int32_t)(qp->sq.get - qp->sq_acked) > 0)
		qp->sq_acked = qp->sq.get;
	if (is_constrained(wqe->opcode, wqe->flags) && --qp->constrained == 0)
		emu_qp_assess(qp);
}

static bool is_unanswered(struct emu_world *w, const struct emu_qp *qp, uint32_t index)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);

	return emu_rdma_is_answered(wqe->opcode) && wqe->step != EMU_READ_DONE;
}

void emu_rdma_rewound(struct emu_world *w, struct emu_qp *qp)
{
	qp->reads_out = 0;
	for (uint32_t i = qp->sq.get, n = 0;
	     qp->constrained && i != qp->sq_next && n < EMU_MAX_QP_WR; i++, n++)
		qp->reads_out += is_unanswered(w, qp, i);
}

static bool any_unanswered(struct emu_world *w, const struct emu_qp *qp, uint32_t end)
{
	for (uint32_t i = qp->sq.get, n = 0; (int32_t)(end - i) > 0 && n < EMU_MAX_QP_WR; i++, n++)
		if (is_unanswered(w, qp, i))
			return true;
	return false;
}

void emu_rdma_delivered(struct emu_world *w, struct emu_qp *qp, uint32_t end)
{
	if ((int32_t)(end - qp->sq_acked) > 0)
		qp->sq_acked = end;
	for (uint32_t n = 0; qp->sq.get != qp->sq_acked && n < EMU_MAX_QP_WR; n++) {
		if (is_unanswered(w, qp, qp->sq.get))
			break;
		emu_tx_retire(w, qp, NIC_WC_SUCCESS);
	}
	if (qp->nak.status && !any_unanswered(w, qp, qp->nak.came))
		emu_tx_fail(w, qp, &qp->nak);
}

bool emu_rdma_postpone(struct emu_world *w, struct emu_qp *qp, const struct emu_failure *f)
{
	if (!any_unanswered(w, qp, f->came))
		return false;
	qp->nak = *f;
	return true;
}

/* ---- the response to a READ ---- */

struct response {
	struct emu_qp *qp;
	struct emu_swqe *wqe;
	uint32_t index, packet;
	uint32_t stages; /* of its landing, this one included; 0: it does not */
	uint64_t from, to;
};

static void trace_response(struct emu_world *w, const struct response *r)
{
	const struct emu_qp *peer = emu_qp_at(w, r->qp->peer);
	bool first = r->from == 0 || (r->wqe->flags & EMU_READ_RESUMED);
	bool last = r->to == r->wqe->length;
	const char *op = first && last ? "READ_RESPONSE_ONLY"
			 : first       ? "READ_RESPONSE_FIRST"
			 : last        ? "READ_RESPONSE_LAST"
				       : "READ_RESPONSE_MIDDLE";

	if (emu_rdma_is_atomic(r->wqe->opcode))
		op = "ATOMIC_RESPONSE";
	emu_trace_line(w,
		       EMU_QP " packet to=" EMU_QP " op=%s message=%u packet=%u bytes=%lu psn=%u",
		       emu_adapter_name(w, r->qp->peer_adapter), emu_trace_noun(peer->noun),
		       peer->name, EMU_QP_OF(w, r->qp), op, r->wqe->message, r->packet,
		       r->to - r->from, emu_wire_psn(w, r->qp, r->index, r->packet));
}

/* The memory is read now; the responder only checked the key. */
static enum emu_cause place_response(struct emu_world *w, const struct response *r)
{
	struct emu_swqe *wqe = r->wqe;
	struct emu_remote remote = { .addr = wqe->remote_addr,
				     .length = wqe->length,
				     .rkey = wqe->rkey,
				     .access = NIC_ACCESS_REMOTE_READ };
	struct nic_sge from = { .length = wqe->length };
	struct emu_sgl src = { .sge = &from,
			       .num_sge = 1,
			       .adapter = r->qp->peer_adapter,
			       .allowed = true };
	struct emu_sgl dst = { .sge = emu_rdma_segments(w, r->qp, wqe, r->index),
			       .num_sge = wqe->num_sge,
			       .adapter = r->qp->adapter,
			       .pd = r->qp->pd,
			       .posted = wqe->mem_epoch,
			       .access = NIC_ACCESS_LOCAL_WRITE };
	enum emu_copy copied;

	if (r->from == r->to)
		return EMU_CAUSE_NONE;
	if (emu_lands(w) && r->to < wqe->length && !r->stages)
		return EMU_CAUSE_NONE; /* it lands with the last packet */
	if (r->qp->odd_mtu && !emu_wire_suits(w, r->qp, emu_qp_at(w, r->qp->peer), wqe->length))
		return EMU_CAUSE_READ_MTU;
	if (emu_rdma_is_atomic(wqe->opcode))
		return emu_atomic_place(w, r->qp, wqe) ? EMU_CAUSE_NONE : EMU_CAUSE_READ_TARGET;
	if (!emu_remote_allows(w, 0, &remote))
		return EMU_CAUSE_READ_KEY;
	from.addr = remote.place;
	copied = r->stages ? emu_land_segments(w, r->stages - 1, wqe->length, &dst, &src)
			   : emu_copy(w, &dst, &src, r->from, r->to);
	switch (copied) {
	case EMU_COPY_OK:
		return EMU_CAUSE_NONE;
	case EMU_COPY_TOO_LONG:
		return EMU_CAUSE_READ_LENGTH;
	case EMU_COPY_BAD_SOURCE: /* the key is good, but its memory is gone */
		return EMU_CAUSE_READ_KEY;
	case EMU_COPY_BAD_TARGET:
		break;
	}
	return EMU_CAUSE_READ_TARGET;
}

static void expect_more(struct emu_world *w, const struct response *r)
{
	const struct emu_link *link = &EMU_AT(w->fab->link, EMU_AT(w->fab->link, r->qp->link).back);
	uint64_t mtu = emu_wire_mtu(w, r->qp), left = r->wqe->length - r->to;
	bool observed = emu_observed(w);
	uint64_t bytes = observed && left > mtu ? mtu : left;

	r->wqe->step = r->packet + 1;
	emu_schedule(w, w->fab->now + emu_link_serialise(link, bytes),
		     observed ? EMU_EV_RESPONSE : EMU_EV_RESPONSE_REST, emu_qp_index(w, r->qp),
		     r->qp->epoch, r->index, r->packet + 1);
}

/* The value of `step` with which the first packet of the response is due. */
static uint32_t first_step(const struct emu_swqe *wqe)
{
	return emu_rdma_is_atomic(wqe->opcode) ? EMU_ATOMIC_DECIDED : 0;
}

/* Place an early response, once those of all earlier READs have been. */
static void answer_early_one(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	struct emu_event event = { .order = EMU_EV_RESPONSE | EMU_EV_ARRIVED,
				   .qp = emu_qp_index(w, qp),
				   .epoch = qp->epoch };

	for (uint32_t i = index + 1, n = 0; i != qp->sq_next && n < EMU_MAX_QP_WR; i++, n++) {
		struct emu_swqe *wqe = emu_wqe(w, &qp->sq, i);

		if (!emu_rdma_is_answered(wqe->opcode))
			continue;
		if (wqe->step == EMU_READ_EARLY) {
			wqe->step = first_step(wqe);
			event.index = i;
			emu_reschedule(w, &event, w->fab->now);
		}
		return;
	}
}

static void read_done(struct emu_world *w, const struct response *r)
{
	struct emu_qp *qp = r->qp, *peer = emu_qp_at(w, qp->peer);

	r->wqe->step = EMU_READ_DONE;
	qp->reads_out--;
	if (peer->epoch == qp->peer_epoch && peer->reads_in > 0)
		peer->reads_in--;
	answer_early_one(w, qp, r->index);
	/* The responder executes in order, so all requests before this READ are delivered. */
	emu_tx_delivered(w, qp, r->index + 1);
	emu_tx_go_on(w, qp);
}

EMU_COLD bool emu_rdma_response(struct emu_world *w, const struct emu_event *event)
{
	struct response r = { .qp = emu_qp_at(w, event->qp),
			      .index = event->index,
			      .packet = event->packet };
	uint64_t mtu = emu_wire_mtu(w, r.qp);
	enum emu_cause cause;

	if (emu_qp_stale(r.qp, event) || event->index - r.qp->sq.get >= emu_wq_count(&r.qp->sq))
		return false;
	r.wqe = emu_wqe(w, &r.qp->sq, event->index);
	if (emu_event_kind(event) == EMU_EV_LAND_RESPONSE)
		r.stages = r.wqe->step - EMU_READ_LANDING + 1;
	else if (r.wqe->step != event->packet + first_step(r.wqe))
		return false; /* a duplicate */
	if (!emu_rdma_is_answered(r.wqe->opcode) || r.stages > EMU_LAND_STAGES)
		return false; /* garbage */
	if (!r.stages && event->packet == 0 && any_unanswered(w, r.qp, event->index)) {
		r.wqe->step = EMU_READ_EARLY;
		return false;
	}
	r.from = event->packet * mtu;
	r.to = r.from + mtu;
	if (r.stages || emu_event_kind(event) == EMU_EV_RESPONSE_REST || r.to > r.wqe->length)
		r.to = r.wqe->length;
	if (w->fab->trace_on && !r.stages)
		trace_response(w, &r);
	if (r.wqe->opcode == NIC_OP_READ)
		r.wqe->flags &= (uint8_t)~EMU_READ_RESUMED;
	if (!r.stages && emu_lands(w) && r.to == r.wqe->length && r.to > 0 &&
	    !emu_rdma_is_atomic(r.wqe->opcode))
		r.stages = 1;
	cause = place_response(w, &r);
	if (cause == EMU_CAUSE_READ_KEY && r.qp->numbered && emu_is_gone(w, r.qp->peer_adapter)) {
		emu_retry_on(w, r.qp);
		return false;
	}
	if (cause != EMU_CAUSE_NONE) {
		struct emu_failure f = { r.index, r.index, (uint8_t)emu_causes[cause].request,
					 EMU_EV_TERMINATE };

		emu_trace_cause(w, r.qp, cause, r.wqe->message);
		emu_tx_delivered(w, r.qp, r.index);
		emu_tx_fail(w, r.qp, &f);
	} else if (r.stages && r.stages < EMU_LAND_STAGES) {
		r.wqe->step = EMU_READ_LANDING + r.stages;
		emu_land_later(w, EMU_EV_LAND_RESPONSE, r.qp, r.index, r.packet);
	} else if (r.to < r.wqe->length) {
		expect_more(w, &r);
	} else {
		read_done(w, &r);
	}
	return true;
}

/* ---- responder ---- */

/* What the request does to the memory of its target. */
static uint32_t access_of(const struct emu_swqe *swqe)
{
	if (emu_rdma_is_atomic(swqe->opcode))
		return NIC_ACCESS_REMOTE_ATOMIC;
	return swqe->opcode == NIC_OP_READ ? NIC_ACCESS_REMOTE_READ : NIC_ACCESS_REMOTE_WRITE;
}

enum emu_cause emu_rdma_allowed(struct emu_world *w, struct emu_arrival *a)
{
	const struct emu_swqe *swqe = a->swqe;
	struct emu_remote remote = { .addr = swqe->remote_addr,
				     .length = swqe->length,
				     .rkey = swqe->rkey,
				     .access = access_of(swqe),
				     .qp = emu_qp_index(w, a->qp) };

	if (a->qp->numbered && !(w->fab->path[emu_qp_index(w, a->qp)].access & remote.access))
		return EMU_CAUSE_REMOTE_KEY;
	if (emu_rdma_is_answered(swqe->opcode) && a->qp->reads_in >= a->qp->max_rd_in)
		return EMU_CAUSE_TOO_MANY_READS;
	if (emu_rdma_is_atomic(swqe->opcode) && !emu_atomic_is_aligned(swqe))
		return EMU_CAUSE_UNALIGNED;
	/* A request of zero bytes needs no valid key. */
	if (swqe->length > 0 && !emu_remote_allows(w, a->qp->pd, &remote))
		return EMU_CAUSE_REMOTE_KEY;
	a->target = remote.place;
	return EMU_CAUSE_NONE;
}

enum emu_copy emu_rdma_write(struct emu_world *w, const struct emu_arrival *a)
{
	struct emu_swqe *swqe = emu_wqe(w, &a->sender->sq, a->index);
	struct nic_sge to = { .addr = a->target, .length = swqe->length };
	struct emu_sgl dst = { .sge = &to,
			       .num_sge = 1,
			       .adapter = a->qp->adapter,
			       .allowed = true };
	struct emu_sgl src = { .sge = emu_rdma_segments(w, a->sender, swqe, a->index),
			       .num_sge = swqe->num_sge,
			       .adapter = a->sender->adapter,
			       .pd = a->sender->pd,
			       .posted = swqe->mem_epoch,
			       .allowed = emu_posted_is_kept(w, swqe),
			       .access = NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE };

	return emu_copy(w, &dst, &src, a->from, a->to);
}

static void send_response(struct emu_world *w, const struct emu_arrival *a, uint32_t packet)
{
	struct emu_qp *qp = a->qp;
	uint64_t mtu = emu_wire_mtu(w, a->sender), length = a->swqe->length - packet * mtu, arrival;

	arrival = emu_link_transmit(w->fab, &EMU_AT(w->fab->link, qp->link), length,
				    length < mtu ? length : mtu);
	emu_schedule(w, arrival, EMU_EV_RESPONSE, qp->peer, qp->peer_epoch, a->index, packet);
}

void emu_rdma_answer(struct emu_world *w, const struct emu_arrival *a)
{
	a->qp->reads_in++;
	send_response(w, a, 0);
}

/* The response to a READ that came in part begins anew behind that, with a FIRST or an ONLY. */
void emu_rdma_answer_again(struct emu_world *w, const struct emu_arrival *a)
{
	struct emu_swqe *wqe = emu_wqe(w, &a->sender->sq, a->index);

	if (a->swqe->step >= EMU_READ_LANDING)
		return;
	if (wqe->opcode == NIC_OP_READ && wqe->step > 0)
		wqe->flags |= EMU_READ_RESUMED;
	send_response(w, a, a->swqe->step - first_step(a->swqe));
}
