/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester: posting a Send, transmission, acknowledgements and NAKs, completion of requests.
 */
#include <errno.h>
#include <stdio.h>

#include "emu/wire/cause.h"
#include "emu/fabric/clock.h"
#include "emu/wire/link.h"
#include "emu/wire/profile.h"
#include "emu/hostile/posted.h"
#include "emu/hostile/sent.h"
#include "emu/number/number.h"
#include "emu/number/pause.h"
#include "mem.h"
#include "qp.h"
#include "rdma.h"
#include "emu/wire/retry.h"
#include "emu/fabric/trace.h"
#include "tx.h"
#include "emu/number/unreliable.h"
#include "emu/wire/wire.h"
#include "emu/fabric/adapter.h"

/*
 * Put a request on the wire from a packet on. Without `start`, the request before it schedules the
 * event.
 */
static void transmit_from(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet,
			  bool start)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	uint64_t mtu = emu_wire_mtu(w, qp), arrival;
	uint64_t bytes = emu_rdma_request_bytes(wqe) - packet * mtu;

	emu_wire_count(w, qp, index);
	arrival = emu_link_transmit(w->fab, &EMU_AT(w->fab->link, qp->link), bytes,
				    bytes < mtu ? bytes : mtu);
	if (qp->hostile)
		emu_sent_later(w, qp, index, arrival);
	if (start)
		emu_schedule(w, arrival, EMU_EV_DATA, qp->peer, qp->peer_epoch, index, packet);
	else
		qp->wire_again = index + 1;
}

static EMU_COLD void transmit_long(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	transmit_from(w, qp, index, 0, true);
}

/* Put a request on the wire: one event for its first (often only) packet. */
static inline void transmit_request(struct emu_world *w, struct emu_qp *qp, uint32_t index,
				    uint32_t length)
{
	uint64_t arrival;

	if (__builtin_expect(length > qp->mtu || qp->hostile, 0)) {
		transmit_long(w, qp, index);
		return;
	}
	arrival = emu_link_transmit(w->fab, EMU_KEEP(&EMU_AT(w->fab->link, qp->link)), length,
				    length);
	emu_schedule(w, arrival, EMU_EV_DATA, qp->peer, qp->peer_epoch, index, 0);
}

/* Transmit from sq_next on; with `train`, each request schedules the next (wire.h). */
static EMU_COLD void send_from_next(struct emu_world *w, struct emu_qp *qp, uint32_t packet,
				    bool train)
{
	uint32_t end = emu_pause_end(w, qp);
	bool start = true;

	for (uint32_t n = 0; !qp->rnr_wait && qp->sq_next != end && n < EMU_MAX_QP_WR; n++) {
		const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, qp->sq_next);

		if (emu_rdma_is_answered(wqe->opcode) && wqe->step == EMU_READ_DONE) {
			qp->sq_next++;
			continue;
		}
		if (qp->constrained && !emu_rdma_start(w, qp))
			return;
		if (wqe->opcode == NIC_OP_BIND) {
			emu_rdma_bind(w, qp);
			continue;
		}
		transmit_from(w, qp, qp->sq_next++, packet, start || !train);
		packet = 0;
		start = false;
	}
}

void emu_tx_kick(struct emu_world *w, struct emu_qp *qp)
{
	send_from_next(w, qp, 0, false);
}

void emu_tx_send_again(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet)
{
	bool train = emu_observed(w) && emu_profile(w)->in_order;

	if (train)
		emu_wire_rewind(w, qp, index, packet);
	qp->sq_next = index;
	emu_rdma_rewound(w, qp);
	send_from_next(w, qp, packet, train);
}

static inline void fill_swqe(struct emu_swqe *wqe, const struct nic_send_wr *wr, uint32_t message,
			     uint32_t mem_epoch)
{
	wqe->wr_id = wr->wr_id;
	wqe->mem_epoch = mem_epoch;
	EMU_ALONE(wqe->mem_epoch);
	wqe->message = message;
	wqe->length = wr->length;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->flags;
	wqe->num_sge = wr->num_sge;
	emu_copy_sge(wqe->sge, wr->sge, wr->num_sge);
}

EMU_COLD int emu_tx_post_flushed(struct emu_world *w, struct emu_qp *qp,
				 const struct nic_send_wr *wr)
{
	struct emu_swqe flushed = { .wr_id = wr->wr_id,
				    .length = wr->length,
				    .opcode = wr->opcode,
				    .flags = wr->flags };

	/* It completes at once, so only a queue without entries is ever full. */
	if (qp->sq.max == 0)
		return -EAGAIN;
	/* Lines of uDAPL have no message that is on no connection. */
	if (w->fab->trace_on && qp->noun != NIC_NOUN_EP)
		emu_trace_post(w, qp, wr, 0);
	emu_complete_send(w, qp, &flushed, NIC_WC_FLUSHED);
	return 0;
}

/* Of a QP that is not connected, or paused. */
static EMU_COLD int post_otherwise(struct emu_world *w, struct emu_qp *qp,
				   const struct nic_send_wr *wr)
{
	if (qp->state == EMU_QP_PAUSED)
		return emu_rdma_post(w, qp, wr);
	return qp->state == EMU_QP_ERROR ? emu_tx_post_flushed(w, qp, wr)
					 : emu_unreliable.post(w, qp, wr);
}

int emu_post_send(struct nic_qp *base, const struct nic_send_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;
	uint32_t put = qp->sq.put;

	if (wr->opcode != NIC_OP_SEND ||
	    (wr->flags & (NIC_WR_FENCE | NIC_WR_IMM | NIC_WR_INVALIDATE)))
		return emu_rdma_post(w, qp, wr);
	if (wr->num_sge > qp->max_send_sge)
		return -EINVAL;
	if (qp->state != EMU_QP_CONNECTED)
		return post_otherwise(w, qp, wr);
	if (emu_sent_is_full(w, qp))
		return -EAGAIN;
	if (!emu_clock_has_room(w))
		return -ENOMEM;
	fill_swqe(emu_wqe(w, &qp->sq, put), wr, put + 1, w->fab->mem_epoch);
	if (emu_posted_on(w))
		((struct emu_swqe *)emu_wqe(w, &qp->sq, put))->mem_epoch =
			emu_posted_request(w, qp, wr, put + 1);
	qp->sq.put = put + 1;
	if (__builtin_expect(w->fab->trace_on, 0))
		emu_trace_post(w, qp, wr, put + 1);
	/* If earlier requests wait (for the RNR timer or a READ), this one waits behind them. */
	if (qp->sq_next != put)
		return 0;
	qp->sq_next = put + 1;
	transmit_request(w, qp, put, wr->length);
	return 0;
}

/* ---- complete=sent: emu/hostile/sent.h ---- */

/* Can the adapter read all of it? If not, the request fails as it does without this mode. */
static bool is_readable(struct emu_world *w, const struct emu_qp *qp, const struct emu_swqe *wqe,
			const struct nic_sge *sge)
{
	const struct emu_sgl own = { .sge = sge,
				     .num_sge = wqe->num_sge,
				     .pd = qp->pd,
				     .adapter = qp->adapter,
				     .access = NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE };

	for (uint32_t i = 0; i < own.num_sge && i < EMU_MAX_SGE; i++)
		if (sge[i].length > 0 && !emu_key_allows(w, &own, &sge[i]))
			return false;
	return true;
}

void emu_sent_event(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	struct emu_swqe *wqe;

	if (emu_qp_stale(qp, event) || !emu_wq_has(&qp->sq, event->index))
		return;
	wqe = emu_wqe(w, &qp->sq, event->index);
	if (!is_readable(w, qp, wqe, emu_rdma_segments(w, qp, wqe, event->index)) ||
	    !emu_posted_keep(w, wqe->mem_epoch))
		return;
	wqe->flags |= EMU_SWQE_SENT;
	emu_sent_tell(w, qp);
}

void emu_sent_tell(struct emu_world *w, struct emu_qp *qp)
{
	uint32_t told = emu_sent_told(w, qp), room = qp->sq.mask + 1 - qp->sq.max;
	uint32_t count = emu_wq_count(&qp->sq);

	for (; emu_sends_early(w) && told < count && told < room; told++) {
		struct emu_swqe *wqe = emu_wqe(w, &qp->sq, qp->sq.get + told);

		if (emu_rdma_is_answered(wqe->opcode) || !(wqe->flags & EMU_SWQE_SENT))
			return;
		emu_complete_send(w, qp, wqe, NIC_WC_SUCCESS);
		wqe->flags |= EMU_SWQE_TOLD;
	}
}

/* ---- completion ---- */

void emu_tx_retire(struct emu_world *w, struct emu_qp *qp, enum nic_wc_status status)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, qp->sq.get);

	if (emu_posted_on(w))
		emu_posted_done(w, qp, wqe->mem_epoch, 0);
	if (!(wqe->flags & EMU_SWQE_TOLD))
		emu_complete_send(w, qp, wqe, status);
	qp->sq.get++;
	if (qp->constrained)
		emu_rdma_retired(qp, wqe);
	if (qp->hostile)
		emu_sent_tell(w, qp);
}

static void complete_until(struct emu_world *w, struct emu_qp *qp, uint32_t end,
			   enum nic_wc_status status)
{
	/* No queue is longer than EMU_MAX_QP_WR; another distance is garbage from the arena. */
	for (uint32_t n = end - qp->sq.get; n > 0 && n <= EMU_MAX_QP_WR; n--)
		emu_tx_retire(w, qp, status);
}

void emu_tx_delivered(struct emu_world *w, struct emu_qp *qp, uint32_t end)
{
	if (qp->constrained)
		emu_rdma_delivered(w, qp, end);
	else
		complete_until(w, qp, end, NIC_WC_SUCCESS);
}

void emu_tx_fail(struct emu_world *w, struct emu_qp *qp, const struct emu_failure *f)
{
	enum emu_event_kind tell = (enum emu_event_kind)f->tell;

	complete_until(w, qp, f->index, NIC_WC_FLUSHED);
	complete_until(w, qp, f->index + 1, (enum nic_wc_status)f->status);
	emu_qp_end(w, qp, NIC_END_BROKEN, tell);
}

/* A NAK; in some profiles it also acknowledges all requests before it. */
static void on_fail(struct emu_world *w, struct emu_qp *qp, const struct emu_failure *f)
{
	if (emu_profile(w)->nak_covers)
		emu_tx_delivered(w, qp, f->index);
	if (!qp->constrained || !emu_rdma_postpone(w, qp, f))
		emu_tx_fail(w, qp, f);
}

/* A READ before the request that got the RNR NAK may still miss its response: start the timer. */
static void end_doubt(struct emu_world *w, struct emu_qp *qp)
{
	if (qp->doubt)
		emu_retry_on(w, qp);
	qp->doubt = false;
}

void emu_tx_end_wait(struct emu_world *w, struct emu_qp *qp)
{
	qp->rnr_wait = false;
	if ((int32_t)(qp->sq_next - qp->sq.get) < 0)
		qp->sq_next = qp->sq.get;
	emu_tx_send_again(w, qp, qp->sq_next, 0);
	end_doubt(w, qp);
}

static void on_rnr(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	/* At least 1 ns, so that endless retries let time pass. */
	uint64_t pause = emu_number_rnr_pause(w, qp) ?: 1;
	uint32_t retries = emu_number_rnr_retry(w, qp), before = qp->sq.get;
	struct emu_failure starved = { .index = index,
				       .came = index,
				       .status = (uint8_t)emu_causes[EMU_CAUSE_RNR].request,
				       .tell = EMU_EV_TERMINATE };

	/* An RNR NAK to an earlier copy; the retransmission is scheduled already. */
	if (qp->rnr_wait)
		return;
	if (qp->retry_timer) {
		qp->doubt = true;
		emu_timer_stop(w, qp);
	}
	qp->retry_tries = 0;
	emu_tx_delivered(w, qp, index);
	if (qp->sq.get != before)
		qp->rnr_tries = 0; /* those were of a request that has arrived */
	if (retries != EMU_RNR_RETRY_FOREVER && qp->rnr_tries >= retries) {
		/*
		 * Retries are counted here, so the receiver has to be told that they are exhausted.
		 */
		emu_trace_cause(w, qp, EMU_CAUSE_RNR, index + 1);
		on_fail(w, qp, &starved);
		end_doubt(w, qp);
		return;
	}
	qp->rnr_tries++;
	qp->rnr_wait = true;
	qp->sq_next = index;
	emu_rdma_rewound(w, qp);
	emu_timer_start(w, qp, w->fab->now + pause, EMU_EV_RNR_TIMER);
}

static EMU_COLD void trace_answer(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
				  uint32_t packet, enum emu_event_kind kind)
{
	char code[40] = "";
	const struct emu_qp *peer = emu_qp_at(w, qp->peer);
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	static const char *const names[EMU_EV_COUNT] = {
		[EMU_EV_RNR] = "RNR_NAK",
		[EMU_EV_NAK] = "NAK",
		[EMU_EV_NAK_SEQUENCE] = "NAK_SEQUENCE",
	};

	if (kind == EMU_EV_NAK) {
		snprintf(code, sizeof(code), " code=%s",
			 emu_status_name((enum nic_wc_status)(packet & 0xff)));
		packet = 0;
	}
	emu_trace_line(w, EMU_QP " packet to=" EMU_QP " op=%s message=%u psn=%u%s",
		       emu_adapter_name(w, qp->peer_adapter), emu_trace_noun(peer->noun),
		       peer->name, EMU_QP_OF(w, qp), names[kind], wqe->message,
		       emu_wire_psn(w, qp, index, packet), code);
}

static void trace_ack(struct emu_world *w, const struct emu_qp *qp, uint32_t index)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	const struct emu_qp *peer = emu_qp_at(w, qp->peer); /* it may be gone: not its adapter */

	emu_record_put(w, EMU_RECORD_ACK, peer->noun | qp->noun << 4, qp->peer_adapter, qp->adapter,
		       peer->name, qp->name, wqe->message,
		       emu_wire_psn(w, qp, index, emu_wire_span(w, qp, wqe) - 1));
}

void emu_tx_go_on(struct emu_world *w, struct emu_qp *qp)
{
	if (qp->constrained)
		emu_tx_kick(w, qp);
	if (qp->state == EMU_QP_DRAINING && emu_wq_count(&qp->sq) == 0)
		emu_qp_drained(w, qp);
	emu_pause_retired(w, qp);
}

/* For several requests, the last one of a drain, a duplicate, or with a trace. */
void emu_tx_ack(struct emu_world *w, uint32_t qp_index, uint32_t epoch, uint32_t index)
{
	struct emu_qp *qp = emu_qp_at(w, qp_index);

	if (qp->epoch != epoch || !emu_wq_has(&qp->sq, index))
		return;
	if (w->fab->trace_on)
		trace_ack(w, qp, index);
	emu_tx_delivered(w, qp, index + 1);
	if (qp->rnr_tries) /* on a line that the peer reads */
		qp->rnr_tries = 0;
	emu_tx_go_on(w, qp);
}

/*
 * A sequence NAK is late if the packet that it names has arrived meanwhile. The receiver has
 * dropped the packet that it answered by the NAK. A sender retransmits that one after a timeout. A
 * stream retransmits only what was lost, so there the oldest request that is left fails, as if the
 * NAK had been in time.
 */
static bool is_fatal_though_late(struct emu_world *w, const struct emu_qp *qp,
				 enum emu_event_kind kind)
{
	return kind == EMU_EV_NAK_SEQUENCE && emu_profile(w)->stream && emu_wq_count(&qp->sq) > 0;
}

void emu_tx_answer(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	enum emu_event_kind kind = emu_event_kind(event);
	uint32_t index = event->index, packet = event->packet;
	struct emu_failure nak = { .index = event->index,
				   .came = event->index - (event->packet >> 8),
				   .status = event->packet & 0xff,
				   .tell = EMU_EV_NONE };

	if (emu_qp_stale(qp, event))
		return;
	if (kind == EMU_EV_RNR_TIMER) {
		qp->timer = false;
		emu_tx_end_wait(w, qp);
		return;
	}
	if (!emu_wq_has(&qp->sq, index)) {
		if (!is_fatal_though_late(w, qp, kind))
			return;
		index = qp->sq.get;
		packet = 0;
	}
	if (w->fab->trace_on)
		trace_answer(w, qp, index, packet, kind);
	if (kind == EMU_EV_RNR)
		on_rnr(w, qp, index);
	else if (kind == EMU_EV_NAK_SEQUENCE)
		emu_retry_sequence(w, qp, index, packet);
	else
		on_fail(w, qp, &nak);
}

void emu_tx_flush(struct emu_world *w, struct emu_qp *qp)
{
	complete_until(w, qp, qp->sq.put, NIC_WC_FLUSHED);
	qp->sq_next = qp->sq.put;
	qp->reads_out = qp->reads_in = 0;
	qp->nak.status = 0;
}
