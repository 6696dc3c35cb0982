/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How connections end. The verbs QP goes into error, the device flushes what was posted, and when all of
 * it has completed lib hears of the end; so no end overtakes a completion. The loop looks after the QPs
 * that are on their way there. A device that does not flush is not waited for: then we do.
 */
#include <errno.h>

#include "cm.h"

#define TICK_NS    1000000ul
#define TICKS_OPEN 50u  /* for the cause of a flush to be told */
#define TICKS_SRQ  5u   /* for the device to say that it took the last receive of an SRQ */
#define TICKS_ERR  3u   /* for an iWARP connection to close in order */
#define TICKS_MAX  200u /* for the flush */

static bool is_connected(const struct hw_qp *qp)
{
	return qp->state == HW_QP_CONNECTED || qp->state == HW_QP_DRAINING;
}

static void to_error(struct hw_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (qp->verbs)
		ibv_modify_qp(qp->verbs, &attr, IBV_QP_STATE);
}

static void look_after(struct hw_qp *qp)
{
	struct nic_world *w = hw_nic(qp->base.nic)->world;

	if (TAILQ_EMPTY(&w->ending) || !ev_is_active(&w->ending_timer))
		hw_timer(&w->ending_timer, 0, TICK_NS);
	TAILQ_INSERT_TAIL(&w->ending, qp, in_ending);
}

/* Tell the peer, and stop. An iWARP stream that ends in order delivers what is on its way. */
static void hang_up(struct hw_qp *qp, enum nic_conn_end why)
{
	bool in_order = hw_nic(qp->base.nic)->iwarp && why == NIC_END_DISCONNECTED;

	if (!is_connected(qp) && !qp->passive)
		in_order = false;
	if (!in_order)
		to_error(qp);
	if (qp->cm.id && (is_connected(qp) || qp->passive))
		rdma_disconnect(qp->cm.id);
}

void hw_end(struct hw_qp *qp, enum nic_conn_end why)
{
	bool listed = qp->state == HW_QP_DRAINING;

	if (qp->state == HW_QP_IDLE || qp->state == HW_QP_ENDED)
		return;
	if (qp->state == HW_QP_ENDING) {
		if (qp->why_open)
			qp->why = why;
		qp->why_open = false;
		return;
	}
	hw_timer_stop(&qp->deadline);
	hang_up(qp, why);
	hw_qp_set_state(qp, HW_QP_ENDING);
	qp->why = why;
	qp->ticks = 0;
	qp->quick.sq.posted = qp->quick.sq.put;
	qp->quick.rq.posted = qp->verbs ? qp->quick.rq.put : hw_slots_get(&qp->quick.rq);
	if (!listed)
		look_after(qp);
}

void hw_end_open(struct hw_qp *qp)
{
	if (!is_connected(qp))
		return;
	hw_end(qp, NIC_END_BROKEN);
	qp->why_open = true;
}

void hw_end_forget(struct hw_qp *qp)
{
	hw_timer_stop(&qp->deadline);
	if (qp->state == HW_QP_DRAINING || qp->state == HW_QP_ENDING)
		TAILQ_REMOVE(&hw_nic(qp->base.nic)->world->ending, qp, in_ending);
}

/* ---- on the way ---- */

static bool has_posted(const struct nic_slots *s)
{
	return (int32_t)(s->posted - hw_slots_get(s)) > 0;
}

static bool flushed(const struct hw_qp *qp)
{
	if (has_posted(&qp->quick.sq) || has_posted(&qp->quick.rq))
		return false;
	return !qp->init.srq || qp->last_wqe || qp->ticks >= TICKS_SRQ;
}

static void finish(struct hw_qp *qp)
{
	struct nic *nic = qp->base.nic;

	TAILQ_REMOVE(&hw_nic(nic)->world->ending, qp, in_ending);
	if (!flushed(qp) && !qp->init.srq)
		hw_qp_drop_verbs(qp);
	hw_qp_set_state(qp, HW_QP_ENDED);
	hw_flush_rest(qp);
	hw_cm_drop_qp(qp);
	nic->up->conn_end(qp->base.ctx, qp->why);
}

/* True: it is finished. */
static bool tick(struct hw_qp *qp)
{
	hw_qp_look(qp);
	if (qp->state == HW_QP_DRAINING) {
		if (hw_slots_used(&qp->quick.sq) == 0)
			hw_end(qp, NIC_END_DISCONNECTED);
		return false;
	}
	qp->ticks++;
	if (qp->ticks == TICKS_ERR)
		to_error(qp);
	if (qp->why_open && qp->ticks < TICKS_OPEN)
		return false;
	if (!flushed(qp) && qp->ticks < TICKS_MAX)
		return false;
	finish(qp);
	return true;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct nic_world *w = nic_container_of(timer, struct nic_world, ending_timer);
	struct hw_qp *qp, *next;

	(void)loop;
	(void)events;
	for (qp = TAILQ_FIRST(&w->ending); qp; qp = next) {
		next = TAILQ_NEXT(qp, in_ending);
		tick(qp);
	}
	if (TAILQ_EMPTY(&w->ending))
		hw_timer_stop(timer);
}

void hw_end_start(struct nic_world *w)
{
	ev_timer_init(&w->ending_timer, on_timer, 0, 0);
}

/* ---- asked for ---- */

void hw_disconnect(struct nic_qp *base, bool abrupt)
{
	struct hw_qp *qp = hw_qp(base);

	if (qp->state == HW_QP_CONNECTED && !abrupt) {
		hw_qp_look(qp);
		if (qp->state == HW_QP_CONNECTED && hw_slots_used(&qp->quick.sq) > 0) {
			hw_qp_set_state(qp, HW_QP_DRAINING);
			look_after(qp);
			return;
		}
	}
	hw_end(qp, NIC_END_DISCONNECTED);
}

void hw_qp_break(struct nic_qp *qp)
{
	hw_end(hw_qp(qp), NIC_END_BROKEN);
}
