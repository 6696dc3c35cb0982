/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of connections. The verbs QP is moved to the error state, the device flushes the posted
 * work, and lib hears of the end when all of it has completed, so that no end overtakes a
 * completion. A timer checks the QPs whose end is in progress. If the device does not flush in
 * time, the rest is flushed here.
 */
#include <errno.h>

#include "cm.h"

#define TICK_NS    1000000ul
#define TICKS_OPEN 50u  /* for the event that tells the cause of a flush */
#define TICKS_SRQ  5u   /* for the LAST_WQE_REACHED event of a QP with an SRQ */
#define TICKS_ERR  3u   /* for an iWARP device to flush by itself */
#define TICKS_MAX  200u /* for the flush */
/*
 * For an iWARP stream that the program ends gracefully to close in order. It may have to be sent
 * again: TCP does so after 0.2 s, 0.4 s and 0.8 s.
 */
#define TICKS_CLOSE 2000u

static bool end_is_connected(const struct hw_qp *qp)
{
	return qp->state == HW_QP_CONNECTED || qp->state == HW_QP_DRAINING;
}

static void end_watch(struct hw_qp *qp)
{
	struct nic_world *w = hw_nic(qp->base.nic)->world;

	if (TAILQ_EMPTY(&w->ending))
		hw_timer(&w->ending_timer, 0, TICK_NS);
	TAILQ_INSERT_TAIL(&w->ending, qp, in_ending);
}

/* The kernel returns 0 also while it has nothing to send, because it waits for the last message. */
void hw_hang_up(struct hw_qp *qp)
{
	if (qp->cm.id && rdma_disconnect(qp->cm.id) == 0)
		qp->hung_up = !qp->parted;
}

/*
 * Tell the peer, and stop sending. An iWARP stream closed in order still delivers the data in
 * flight.
 */
static void end_hang_up(struct hw_qp *qp, enum nic_conn_end why)
{
	bool in_order = hw_nic(qp->base.nic)->iwarp && why == NIC_END_DISCONNECTED;

	if (!end_is_connected(qp) && !qp->passive)
		in_order = false;
	if (!in_order)
		hw_qp_to_error(qp);
	if (end_is_connected(qp) || qp->replied)
		hw_hang_up(qp);
}

void hw_end(struct hw_qp *qp, enum nic_conn_end why)
{
	bool listed = qp->state == HW_QP_DRAINING;

	if (qp->state == HW_QP_IDLE || qp->state == HW_QP_ENDED)
		return;
	if (qp->state == HW_QP_ENDING) {
		if (qp->why_unknown)
			qp->why = why;
		qp->why_unknown = false;
		return;
	}
	hw_timer_stop(&qp->deadline);
	end_hang_up(qp, why);
	hw_qp_set_state(qp, HW_QP_ENDING);
	hw_complete_early(qp);
	qp->why = why;
	qp->ticks = qp->close_ticks = 0;
	qp->sq.posted = qp->sq.put;
	qp->rq.posted = qp->verbs ? qp->rq.put : hw_wq_get(&qp->rq);
	if (!listed)
		end_watch(qp);
}

void hw_end_unexplained(struct hw_qp *qp)
{
	if (!end_is_connected(qp))
		return;
	hw_end(qp, NIC_END_BROKEN);
	qp->why_unknown = true;
}

void hw_end_forget(struct hw_qp *qp)
{
	hw_timer_stop(&qp->deadline);
	if (qp->state == HW_QP_DRAINING || qp->state == HW_QP_ENDING)
		TAILQ_REMOVE(&hw_nic(qp->base.nic)->world->ending, qp, in_ending);
}

/* ---- ends in progress ---- */

static bool end_has_posted(const struct hw_wq *s)
{
	return (int32_t)(s->posted - hw_wq_get(s)) > 0;
}

static bool end_has_flushed(const struct hw_qp *qp)
{
	return !end_has_posted(&qp->sq) && !end_has_posted(&qp->rq);
}

/* The Receives that it took from an SRQ have no place in its own queues. */
static bool end_has_given_back(const struct hw_qp *qp)
{
	return !qp->init.srq || !qp->fed || qp->last_wqe || qp->ticks >= TICKS_SRQ;
}

/*
 * A Send may have completed as soon as TCP had it. If the QP goes to the error state or is
 * destroyed, irdma resets the stream, and what has not arrived is lost. librdmacm tells when the
 * peer has closed the stream, too.
 */
static bool end_is_closing(const struct hw_qp *qp)
{
	return hw_nic(qp->base.nic)->iwarp && qp->graceful && qp->hung_up &&
	       qp->why == NIC_END_DISCONNECTED && qp->close_ticks < TICKS_CLOSE;
}

static void end_finish(struct hw_qp *qp)
{
	struct nic *nic = qp->base.nic;

	TAILQ_REMOVE(&hw_nic(nic)->world->ending, qp, in_ending);
	/* A flush that came after hw_flush_rest would be counted a second time. */
	if (!end_has_flushed(qp))
		hw_qp_drop_verbs(qp);
	hw_qp_set_state(qp, HW_QP_ENDED);
	hw_flush_rest(qp);
	hw_cm_drop_qp(qp);
	nic->up->conn_end(qp->base.ctx, qp->why);
}

static void end_tick(struct hw_qp *qp)
{
	hw_qp_drain(qp);
	if (qp->state == HW_QP_DRAINING) {
		if (hw_wq_used(&qp->sq) == 0)
			hw_end(qp, NIC_END_DISCONNECTED);
		return;
	}
	if (end_is_closing(qp)) {
		qp->close_ticks++;
		return;
	}
	qp->ticks++;
	if (qp->ticks == TICKS_ERR)
		hw_qp_to_error(qp);
	if (qp->why_unknown && qp->ticks < TICKS_OPEN)
		return;
	if (!(end_has_flushed(qp) && end_has_given_back(qp)) && qp->ticks < TICKS_MAX)
		return;
	end_finish(qp);
}

static void end_on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct nic_world *w = nic_container_of(timer, struct nic_world, ending_timer);
	struct hw_qp *qp, *next;

	(void)loop;
	(void)events;
	for (qp = TAILQ_FIRST(&w->ending); qp; qp = next) {
		next = TAILQ_NEXT(qp, in_ending);
		end_tick(qp);
	}
	if (TAILQ_EMPTY(&w->ending))
		hw_timer_stop(timer);
}

void hw_end_start(struct nic_world *w)
{
	ev_timer_init(&w->ending_timer, end_on_timer, 0, 0);
}

/* ---- nic_ops ---- */

void hw_disconnect(struct nic_qp *base, bool abrupt)
{
	struct hw_qp *qp = hw_qp(base);

	qp->graceful = !abrupt;
	if (qp->state == HW_QP_CONNECTED && !abrupt) {
		hw_qp_drain(qp);
		if (qp->state == HW_QP_CONNECTED && hw_wq_used(&qp->sq) > 0) {
			hw_qp_set_state(qp, HW_QP_DRAINING);
			end_watch(qp);
			return;
		}
	}
	hw_end(qp, NIC_END_DISCONNECTED);
}

void hw_qp_break(struct nic_qp *qp)
{
	hw_end(hw_qp(qp), NIC_END_BROKEN);
}
