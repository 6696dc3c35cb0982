/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: creation, modification, reset, destruction; how a connection ends and what is
 * flushed.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "cq.h"
#include "emu/wire/link.h"
#include "emu/fabric/group.h"
#include "emu/hostile/ends.h"
#include "emu/hostile/sent.h"
#include "mw.h"
#include "emu/number/number.h"
#include "emu/wire/profile.h"
#include "partial.h"
#include "qp.h"
#include "rdma.h"
#include "respond.h"
#include "srq.h"
#include "emu/fabric/trace.h"
#include "tx.h"
#include "emu/number/unreliable.h"
#include "upcall.h"
#include "emu/wire/retry.h"
#include "emu/wire/wire.h"
#include "emu/fabric/adapter.h"

static struct emu_qp *qp_of(struct nic_qp *base)
{
	return emu_local_qp(base)->entry;
}

/* Always room for one segment: a BIND keeps its range there. */
static uint32_t send_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct emu_swqe) +
			  (max_sge ? max_sge : 1) * sizeof(struct nic_sge));
}

static uint32_t stride_of(const struct emu_world *w, const struct nic_qp_init *init)
{
	return send_stride(init->cap.max_send_sge) + emu_unreliable_room(w, init->kind);
}

static bool caps_fit(const struct nic_qp_cap *cap)
{
	return cap->max_send_wr <= EMU_MAX_QP_WR && cap->max_recv_wr <= EMU_MAX_QP_WR &&
	       cap->max_send_sge <= EMU_MAX_SGE && cap->max_recv_sge <= EMU_MAX_SGE &&
	       cap->max_rdma_sge <= EMU_MAX_SGE && cap->max_rd_in <= EMU_MAX_RD &&
	       cap->max_rd_out <= EMU_MAX_RD;
}

/* The attributes that create and modify both set; not the rings. */
static void apply_init(struct emu_world *w, struct emu_qp *qp, const struct nic_qp_init *init)
{
	qp->pd = init->pd ? EMU_INDEX(w, pd, init->pd) : 0;
	qp->send_cq = emu_cq_index(w, init->send_cq);
	qp->recv_cq = emu_cq_index(w, init->recv_cq);
	qp->max_send_sge = (uint8_t)init->cap.max_send_sge;
	qp->max_recv_sge = (uint8_t)init->cap.max_recv_sge;
	qp->max_rdma_sge = (uint8_t)init->cap.max_rdma_sge;
	qp->max_rd_in = qp->cap_rd_in = (uint8_t)init->cap.max_rd_in;
	qp->max_rd_out = qp->cap_rd_out = (uint8_t)init->cap.max_rd_out;
}

/*
 * Zero all but the head, and count the epoch up. A process that is killed in here must not take the
 * epoch back: events of an earlier connection would belong to the next one.
 */
static void begin_entry(struct emu_qp *qp)
{
	size_t begin = sizeof(qp->head), epoch = offsetof(struct emu_qp, epoch);
	size_t behind = epoch + sizeof(qp->epoch);
	uint32_t next = qp->epoch + 1;

	memset((uint8_t *)qp + begin, 0, epoch - begin);
	memset((uint8_t *)qp + behind, 0, sizeof(*qp) - behind);
	__atomic_store_n(&qp->epoch, next == 1 ? next + EMU_FIRST : next, __ATOMIC_RELAXED);
}

static uint32_t take_entry(struct emu_world *w)
{
	uint32_t index = EMU_TAKE(w, qps, qp, EMU_QPS), *timer = &w->fab->timer_at[index];

	if (!index || emu_back(w, timer, sizeof(*timer)))
		return index;
	EMU_LIVE(w->fab, qps, emu_qp_at(w, index));
	EMU_FREE(w->fab, qps, qp, index);
	return 0;
}

/* Its receive queue is new. */
static void see_queue(struct emu_world *w, const struct emu_qp *qp)
{
	const struct emu_wq *rq = &qp->rq;

	if (emu_is_shared(w))
		w->seen[emu_qp_index(w, qp)] = (struct emu_seen){ .mask = rq->mask,
								  .words = rq->words,
								  .max = rq->max,
								  .get = rq->get };
}

int emu_qp_create(struct nic *nic, const struct nic_qp_init *init, void *ctx, struct nic_qp **qp)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_adapter *adapter = &w->fab->adapters[emu_nic(nic)->adapter];
	uint32_t recv_wr = init->srq ? 0 : init->cap.max_recv_wr;
	struct emu_qp *entry;
	struct emu_wq sq, rq;
	uint32_t index;

	if (!caps_fit(&init->cap) || init->kind >= NIC_QP_KINDS)
		return -EINVAL;
	if (init->kind != NIC_QP_RELIABLE && emu_profile(w)->stream)
		return -EOPNOTSUPP;
	if ((uint32_t)adapter->qps >= emu_qps_most(w))
		goto no_room;
	if (emu_wq_init(w, &sq, emu_sent_room(w, init->cap.max_send_wr), stride_of(w, init)))
		goto no_room;
	sq.max = init->cap.max_send_wr;
	if (emu_wq_init(w, &rq, recv_wr, emu_recv_stride(init->cap.max_recv_sge)))
		goto free_sq;
	index = take_entry(w);
	if (!index)
		goto free_rq;
	adapter->qps++;
	entry = emu_qp_at(w, index);
	begin_entry(entry);
	emu_number_begin(w, index);
	entry->sq = sq;
	entry->rq = rq;
	entry->rq.get = entry->rq.put = EMU_FIRST;
	entry->name = init->name;
	entry->noun = init->noun & 3;
	entry->mtu = w->config.mtu;
	entry->hostile = w->config.hostile != 0;
	entry->kind = (uint8_t)init->kind;
	entry->adapter = emu_nic(nic)->adapter;
	entry->soft = entry->hard = NIC_LIMIT_NONE;
	apply_init(w, entry, init);
	if (init->srq) {
		entry->srq = emu_srq_index(w, init->srq);
		EMU_AT(w->fab->srq, entry->srq).users++;
	}
	emu_qp_assess(entry);
	EMU_LIVE(w->fab, qps, entry);
	w->qp[index] = (struct emu_local_qp){
		.base = { .nic = nic,
			  .ctx = ctx,
			  .reaped = &entry->reaped,
			  .number = emu_number_of(w, index),
			  .index = index },
		.entry = entry,
		.world = w,
		.sq = emu_at(w, sq.ring),
		.rq = emu_at(w, rq.ring),
	};
	see_queue(w, entry);
	*qp = &w->qp[index].base;
	return 0;

free_rq:
	emu_wq_fini(w, &rq);
free_sq:
	emu_wq_fini(w, &sq);
no_room:
	return -ENOMEM;
}

int emu_qp_modify(struct nic_qp *base, const struct nic_qp_init *init)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_qp *qp = qp_of(base);
	struct emu_wq sq = { 0 };
	int err;

	if (qp->state != EMU_QP_IDLE || !caps_fit(&init->cap) || init->kind != qp->kind)
		return -EINVAL;
	if (!qp->srq && init->cap.max_recv_wr < emu_wq_count(&qp->rq))
		return -EINVAL;
	/* The send queue of an unconnected QP is empty; the receive queue may not be. */
	err = emu_wq_init(w, &sq, emu_sent_room(w, init->cap.max_send_wr), stride_of(w, init));
	if (err)
		return err;
	sq.max = init->cap.max_send_wr;
	if (!qp->srq) {
		uint32_t stride = emu_recv_stride(init->cap.max_recv_sge);

		/* Receives already posted keep all their segments. */
		if (emu_wq_count(&qp->rq) > 0 && stride < qp->rq.words * EMU_WORD)
			stride = qp->rq.words * EMU_WORD;
		err = emu_wq_resize(w, &qp->rq, init->cap.max_recv_wr, stride);
		if (err) {
			emu_wq_fini(w, &sq);
			return err;
		}
	}
	emu_rdma_forget_sge(w, qp);
	emu_wq_fini(w, &qp->sq);
	qp->sq = sq;
	qp->sq_next = 0;
	emu_local_qp(base)->sq = emu_at(w, qp->sq.ring);
	emu_local_qp(base)->rq = emu_at(w, qp->rq.ring);
	see_queue(w, qp);
	apply_init(w, qp, init);
	emu_qp_assess(qp);
	w->fab->mem_epoch++;
	return 0;
}

/* Reset the state of retries and observed packets. */
static void forget_wire(struct emu_world *w, struct emu_qp *qp)
{
	emu_timer_stop(w, qp);
	qp->retry_tries = 0;
	qp->retry_mark = 0;
	qp->ack_due = false;
	if (qp->half_open)
		emu_observe(w, -1);
	qp->half_open = false;
}

/* Reset a QP: drop everything of its last connection except completions. */
uint32_t emu_qp_clear(struct emu_world *w, struct emu_qp *qp, enum emu_event_kind tell)
{
	uint32_t from_srq;

	if (qp->numbered)
		emu_number_end(w, qp);
	else if (emu_qp_running(qp) || (qp->state == EMU_QP_CONNECTING && qp->peer))
		emu_qp_tell_peer(w, qp, tell, 0, 0);
	emu_respond_ack(w, qp);
	from_srq = emu_rx_forget(w, qp);
	emu_posted_forget(w, qp, NULL);
	forget_wire(w, qp);
	emu_hold_forget(w, qp, true);
	qp->epoch++;
	qp->state = EMU_QP_IDLE;
	qp->mtu = w->config.mtu;
	qp->odd_mtu = false;
	qp->numbered = qp->unheard = qp->paused = qp->undrained = false;
	qp->peer = qp->conn = 0;
	/* A new connection counts requests from 0 at both ends: rx_next. */
	qp->sq.get = qp->sq.put = qp->sq_next = 0;
	emu_rdma_reset(qp);
	qp->rq.get = qp->rq.put = EMU_FIRST;
	qp->rx_next = qp->rx_packet = 0;
	qp->rx_taken = qp->rx_completed = 0;
	qp->taken = qp->reaped = 0;
	qp->rnr_tries = 0;
	qp->rnr_wait = qp->rx_gap = false;
	qp->max_rd_in = qp->cap_rd_in;
	qp->max_rd_out = qp->cap_rd_out;
	qp->wire_index = qp->wire_packet = qp->wire_again = 0;
	qp->psn_more = qp->psn_counted = 0;
	emu_qp_assess(qp);
	return from_srq;
}

uint32_t emu_qp_reset(struct nic_qp *base)
{
	emu_sent(emu_world_of(base->nic), base->nic);
	struct emu_world *w = emu_world_of(base->nic);
	uint32_t from_srq = emu_qp_clear(w, qp_of(base), EMU_EV_DISCONNECT);

	see_queue(w, qp_of(base));
	return from_srq;
}

void emu_qp_destroy(struct nic_qp *base)
{
	emu_qp_free(emu_world_of(base->nic), qp_of(base));
	base->nic = NULL;
	base->ctx = NULL;
}

void emu_qp_free(struct emu_world *w, struct emu_qp *qp)
{
	EMU_SURE(w, qp->state == EMU_QP_IDLE && emu_wq_count(&qp->rq) == 0);
	if (qp->srq)
		EMU_AT(w->fab->srq, qp->srq).users--;
	if (qp->kind == NIC_QP_DATAGRAM)
		emu_group_forget(w, emu_qp_index(w, qp));
	emu_hold_forget(w, qp, true);
	emu_mw_forget_qp(w, emu_qp_index(w, qp));
	emu_rdma_forget_sge(w, qp);
	emu_wq_fini(w, &qp->sq);
	emu_wq_fini(w, &qp->rq);
	EMU_AT(w->fab->adapters, qp->adapter).qps--;
	EMU_FREE(w->fab, qps, qp, emu_qp_index(w, qp));
}

void emu_qp_query(struct nic_qp *base, struct nic_qp_counts *counts)
{
	const struct emu_qp *qp = qp_of(base);

	*counts = (struct nic_qp_counts){
		.send_posted = emu_wq_count(&qp->sq) - emu_sent_told(emu_local_qp(base)->world, qp),
		.recv_posted = emu_wq_count(&qp->rq),
		.recv_taken = qp->rx_count,
		.unreaped = emu_unreaped(qp),
		.last_taken = qp->rx_taken,
		.last_completed = qp->rx_completed,
	};
}

void emu_qp_taken_limit(struct nic_qp *base, int32_t soft, int32_t hard)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_qp *qp = qp_of(base);

	qp->soft = soft;
	qp->hard = hard;
	emu_qp_assess(qp);
	if (soft != NIC_LIMIT_NONE && emu_unreaped(qp) > (uint32_t)soft) {
		qp->soft = NIC_LIMIT_NONE;
		emu_qp_assess(qp);
		base->nic->up->qp_soft_limit(base->ctx);
	}
	if (hard != NIC_LIMIT_NONE && emu_unreaped(qp) > (uint32_t)hard && emu_qp_running(qp)) {
		qp->hard = NIC_LIMIT_NONE;
		emu_qp_assess(qp);
		emu_qp_break(w, qp);
	}
}

static void tear_down(struct emu_world *w, struct emu_qp *qp, enum emu_teardown step,
		      enum emu_event_kind tell)
{
	switch (step) {
	case EMU_TEAR_TELL:
		if (tell != EMU_EV_NONE)
			emu_qp_tell_peer(w, qp, tell, 0, 0);
		break;
	case EMU_TEAR_SENDS:
		emu_tx_flush(w, qp);
		break;
	case EMU_TEAR_RECEIVES:
		emu_rx_flush(w, qp);
		break;
	case EMU_TEAR_STEPS:
		break;
	}
}

static void end_quietly(struct emu_world *w, struct emu_qp *qp, enum emu_event_kind tell)
{
	emu_respond_ack(w, qp);
	if (qp->numbered) {
		emu_number_end(w, qp);
		tell = EMU_EV_NONE;
	}
	forget_wire(w, qp);
	qp->state = EMU_QP_ERROR;
	qp->unheard = qp->paused = qp->undrained = false;
	emu_qp_assess(qp);
	qp->epoch++;
	qp->rnr_wait = false;
	emu_hold_forget(w, qp, false);
	for (int i = 0; i < EMU_TEAR_STEPS; i++)
		tear_down(w, qp, emu_profile(w)->teardown[i], tell);
}

void emu_qp_end(struct emu_world *w, struct emu_qp *qp, enum nic_conn_end why,
		enum emu_event_kind tell)
{
	end_quietly(w, qp, tell);
	emu_up_conn_end(w, qp, why);
}

void emu_qp_fail(struct nic_qp *base)
{
	struct emu_qp *qp = qp_of(base);

	emu_sent(emu_world_of(base->nic), base->nic);
	if (qp->state != EMU_QP_ERROR)
		end_quietly(emu_world_of(base->nic), qp, EMU_EV_NONE);
}

int emu_qp_alarm(struct nic_qp *base, uint64_t after_ns)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_qp *qp = qp_of(base);

	if ((qp->state != EMU_QP_IDLE && qp->state != EMU_QP_ERROR) || qp->timer ||
	    after_ns > NIC_TIME_NEVER / 4)
		return -EINVAL;
	if (!emu_clock_has_room(w))
		return -ENOMEM;
	if (qp->state == EMU_QP_IDLE)
		end_quietly(w, qp, EMU_EV_NONE);
	emu_timer_start(w, qp, emu_clock_real(w) + after_ns, EMU_EV_ALARM);
	emu_sent(w, base->nic);
	return 0;
}

void emu_qp_alarm_event(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (emu_qp_stale(qp, event))
		return;
	qp->timer = false;
	emu_up_qp_event(w, qp, NIC_QP_ALARM);
}

void emu_qp_break(struct emu_world *w, struct emu_qp *qp)
{
	emu_qp_end(w, qp, NIC_END_BROKEN, EMU_EV_TERMINATE);
}

/* A passive side that was not told of the connection yet sees a failed accept. */
static enum nic_conn_end end_told(struct emu_world *w, const struct emu_qp *qp,
				  enum emu_event_kind kind)
{
	if (qp->state == EMU_QP_CONNECTING && qp->peer)
		return NIC_END_ACCEPT_FAILED;
	return kind == EMU_EV_TERMINATE ? emu_ends_told(w, NIC_END_BROKEN) : NIC_END_DISCONNECTED;
}

/*
 * The peer's program ends the connection. A passive side that has accepted hears of a rejection
 * without private data.
 */
static void end_by_peer(struct emu_world *w, struct emu_qp *qp, enum nic_conn_end why)
{
	static const struct nic_conn_param given_up;
	struct nic *nic = w->qp[emu_qp_index(w, qp)].base.nic;

	if (nic && why == NIC_END_ACCEPT_FAILED)
		nic->refusal = &given_up;
	emu_qp_end(w, qp, why, EMU_EV_NONE);
	if (nic)
		nic->refusal = NULL;
}

void emu_qp_end_event(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	enum emu_event_kind kind = emu_event_kind(event);

	if (emu_qp_stale(qp, event) || emu_ends_loses(w, event))
		return;
	if (kind != EMU_EV_BREAK)
		emu_trace(w, "%s packet to=" EMU_QP " op=%s", emu_adapter_name(w, qp->peer_adapter),
			  EMU_QP_OF(w, qp), kind == EMU_EV_TERMINATE ? "TERMINATE" : "CM_DREQ");
	if (kind == EMU_EV_BREAK)
		emu_qp_break(w, qp);
	else
		end_by_peer(w, qp, end_told(w, qp, kind));
}

void emu_qp_drained(struct emu_world *w, struct emu_qp *qp)
{
	emu_qp_end(w, qp, NIC_END_DISCONNECTED, EMU_EV_DISCONNECT);
}

void emu_qp_break_soon(struct emu_world *w, struct emu_qp *qp)
{
	if (emu_qp_running(qp) || qp->state == EMU_QP_UNANSWERED)
		emu_schedule(w, w->fab->now, EMU_EV_BREAK, emu_qp_index(w, qp), qp->epoch, 0, 0);
}

void emu_qp_ask_break(struct nic_qp *base)
{
	emu_qp_break_soon(emu_world_of(base->nic), qp_of(base));
}

void emu_qp_disconnect(struct nic_qp *base, bool abrupt)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_qp *qp = qp_of(base);

	if (qp->state == EMU_QP_CONNECTING) {
		/*
		 * The active side's request stays in flight; when it arrives, its epoch is stale.
		 */
		emu_sent(w, base->nic);
		emu_qp_end(w, qp, NIC_END_DISCONNECTED, qp->peer ? EMU_EV_DISCONNECT : EMU_EV_NONE);
		return;
	}
	if (!emu_qp_running(qp))
		return;
	emu_sent(w, base->nic);
	if (!abrupt && emu_wq_count(&qp->sq) > 0) {
		qp->state = EMU_QP_DRAINING;
		emu_qp_assess(qp);
		return;
	}
	emu_qp_drained(w, qp);
}
