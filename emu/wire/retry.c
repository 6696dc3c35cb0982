/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The retry timer, retransmission, and what happens when the retries are exhausted.
 */
#include "cause.h"
#include "emu/fabric/clock.h"
#include "emu/cm.h"
#include "emu/number/number.h"
#include "emu/number/pause.h"
#include "profile.h"
#include "emu/qp.h"
#include "emu/rdma.h"
#include "retry.h"
#include "emu/fabric/trace.h"
#include "emu/tx.h"
#include "emu/number/unreliable.h"
#include "emu/fabric/adapter.h"

/* ---- the retry timer ---- */

#define PUT_OFF_MOST 4 /* in a row */

static void start_timer(struct emu_world *w, struct emu_qp *qp, uint64_t from)
{
	uint64_t after = emu_number_retry_timer(w, qp), now;

	if (!after)
		return;
	/* Posting does not look at the clock: a process that was idle is behind. */
	now = emu_clock_real(w);
	if (from < now)
		from = now;
	emu_timer_start(w, qp, from + after, EMU_EV_RETRY_TIMER);
	qp->retry_timer = 1;
	emu_observe(w, 1);
}

/* A request has begun and is not answered. What is posted to a paused QP has not begun. */
static bool is_unanswered(struct emu_world *w, const struct emu_qp *qp)
{
	return emu_wq_count(&qp->sq) > 0 && qp->sq.get != emu_pause_end(w, qp);
}

void emu_retry_on(struct emu_world *w, struct emu_qp *qp)
{
	if (!qp || !emu_qp_running(qp) || !is_unanswered(w, qp))
		return;
	/*
	 * A QP has one timer: if it waits after an RNR NAK, the doubt is examined when that is
	 * over.
	 */
	if (qp->timer)
		qp->doubt |= qp->rnr_wait;
	else
		start_timer(w, qp, w->fab->now);
}

static void retry_off(struct emu_world *w, struct emu_qp *qp)
{
	if (!qp->retry_timer)
		return;
	qp->retry_timer = 0;
	emu_observe(w, -1);
}

void emu_timer_stop(struct emu_world *w, struct emu_qp *qp)
{
	if (!qp->timer)
		return;
	qp->timer = false;
	retry_off(w, qp);
	emu_timer_remove(w, qp);
}

/* ---- retransmission ---- */

static void fail_exhausted(struct emu_world *w, struct emu_qp *qp)
{
	struct emu_failure f = { .index = qp->sq.get,
				 .came = qp->sq.get,
				 .status = (uint8_t)emu_causes[EMU_CAUSE_RETRY].request,
				 .tell = EMU_EV_TERMINATE };
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, qp->sq.get);

	emu_trace_cause(w, qp, EMU_CAUSE_RETRY, wqe->message);
	emu_tx_fail(w, qp, &f);
}

static void try_again(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);

	if (qp->retry_tries >= emu_number_retry(w, qp) || emu_profile(w)->stream) {
		fail_exhausted(w, qp);
		return;
	}
	qp->retry_tries++;
	emu_trace(w, EMU_QP " retry try=%u message=%u packet=%u", EMU_QP_OF(w, qp), qp->retry_tries,
		  wqe->message, emu_rdma_asked(wqe) ?: packet);
	if (!qp->timer)
		start_timer(w, qp, w->fab->now);
	emu_tx_send_again(w, qp, index, packet);
}

/* When every packet in flight between the two ends will have arrived. */
static uint64_t last_arrival(struct emu_world *w, const struct emu_qp *qp)
{
	const struct emu_link *forth = &EMU_AT(w->fab->link, qp->link);
	const struct emu_link *back = &EMU_AT(w->fab->link, forth->back);
	uint64_t a = forth->busy_until + forth->latency_ns, b = back->busy_until + back->latency_ns;

	return a > b ? a : b;
}

/*
 * The request or its answer may still be in flight. But other QPs send over the link too, and may
 * do so without an end, so the timer is put off a few times only.
 */
static bool put_off(struct emu_world *w, struct emu_qp *qp, uint8_t fired)
{
	uint64_t sent = last_arrival(w, qp);

	if (sent <= w->fab->now || fired > PUT_OFF_MOST)
		return false;
	start_timer(w, qp, sent);
	if (qp->retry_timer)
		qp->retry_timer = fired + 1;
	return true;
}

void emu_retry_timer(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint8_t fired = qp->retry_timer;

	if (emu_qp_stale(qp, event))
		return;
	qp->timer = false;
	qp->retry_timer = 0;
	if (is_unanswered(w, qp) && !put_off(w, qp, fired))
		try_again(w, qp, qp->sq.get, 0);
	emu_observe(w, -1); /* for the timer that ran */
}

/*
 * A responder tells of a gap once, and the next one is behind it: what is before that has arrived.
 * But a rule may answer a packet with a NAK again and again, which is no progress. A packet has
 * one mark of five bits; different ones seldom have the same, and the count goes on then.
 */
static uint32_t mark_of(uint32_t index, uint32_t packet)
{
	return (index * 0x9e3779b1u + packet) * 0x85ebca6bu >> 27;
}

void emu_retry_sequence(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet)
{
	uint32_t before = qp->sq.get;
	uint32_t mark = mark_of(index, packet);

	if (qp->rnr_wait)
		return;
	emu_tx_delivered(w, qp, index);
	emu_retry_progress(w, qp, before);
	if ((index != before || packet > 0) && mark != qp->retry_mark)
		qp->retry_tries = 0;
	qp->retry_mark = mark & 31u;
	if (qp->retry_timer)
		emu_timer_stop(w, qp);
	if (emu_qp_running(qp))
		try_again(w, qp, index, packet);
}

void emu_retry_progress(struct emu_world *w, struct emu_qp *qp, uint32_t before)
{
	if (qp->sq.get == before || !emu_qp_running(qp))
		return;
	qp->retry_tries = 0;
	if (qp->rnr_tries) /* on a line that the peer reads */
		qp->rnr_tries = 0;
	/*
	 * If the QP waits to retransmit after an RNR NAK to an earlier copy, and the requests in
	 * question were acknowledged meanwhile, that wait is over; its timer must not shorten the
	 * wait of a later request.
	 */
	if (qp->rnr_wait && (int32_t)(qp->sq_next - qp->sq.get) < 0) {
		emu_timer_stop(w, qp);
		emu_tx_end_wait(w, qp);
	}
	emu_wire_answered(w, qp);
	if (!qp->retry_timer)
		return;
	emu_timer_stop(w, qp);
	emu_retry_on(w, qp);
}

void emu_retry_ack(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint32_t before = qp->sq.get;

	emu_tx_ack(w, event->qp, event->epoch, event->index);
	if (!emu_qp_stale(qp, event))
		emu_retry_progress(w, qp, before);
}

void emu_retry_response(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint32_t before = qp->sq.get;
	bool came = emu_rdma_response(w, event);

	if (emu_qp_stale(qp, event))
		return;
	emu_retry_progress(w, qp, before);
	if (!came)
		return;
	qp->retry_tries = 0;
	if (qp->retry_timer) {
		emu_timer_stop(w, qp);
		emu_retry_on(w, qp);
	}
}

/* ---- packets that are lost for good ---- */

void emu_retry_half_open(struct emu_world *w, struct emu_qp *qp)
{
	if (qp->half_open || !emu_qp_running(qp))
		return;
	qp->half_open = true;
	emu_observe(w, 1);
	emu_retry_on(w, qp);
}

/* One that does not know of the connection yet ends; an active side has no peer yet. */
static void lost_end(struct emu_world *w, struct emu_qp *qp)
{
	if (qp && qp->state == EMU_QP_CONNECTING)
		emu_qp_end(w, qp, qp->peer ? NIC_END_ACCEPT_FAILED : NIC_END_DISCONNECTED,
			   EMU_EV_NONE);
	else if (qp)
		emu_retry_half_open(w, qp);
}

static void give_up_packet(struct emu_world *w, const struct emu_event *event,
			   const struct emu_packet *p)
{
	if (p->what == NIC_PACKET_CM)
		emu_cm_lost(w, event);
	else if (p->what == NIC_PACKET_DISCONNECT)
		lost_end(w, p->target);
	else if (p->requester && emu_qp_running(p->requester) &&
		 emu_wq_count(&p->requester->sq) > 0)
		fail_exhausted(w, p->requester);
}

void emu_retry_lost(struct emu_world *w, const struct emu_event *event, const struct emu_packet *p)
{
	uint32_t tries = event->packet >> EMU_EV_TRIES;

	if (p->unanswered)
		emu_unreliable.lost(w, event);
	else if (!emu_profile(w)->stream && !(p->what & (NIC_PACKET_CM | NIC_PACKET_DISCONNECT)))
		emu_retry_on(w, p->requester);
	else if (tries < w->config.retry)
		emu_wire_retransmit(w, event, w->fab->now + w->config.retry_timer_ns);
	else
		give_up_packet(w, event, p);
}
