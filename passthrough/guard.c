/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard of CQs on which more may complete than lib has room for: usual for a server of many
 * Endpoints whose EVD is shorter than the sum of their queues. An overflow has to be found although
 * no thread polls (ruling E9), and an event of the device for each completion would cost an
 * interrupt each, and two threads a wakeup.
 *
 * So the device raises one event for the first completion, and the CQ is then busy: the event
 * thread looks at it at intervals, and the device is not asked for events. A look that finds
 * nothing new ends that, and the CQ is armed again. An idle CQ wakes no thread; for all busy ones
 * there is one timer.
 *
 * A thread that polls the CQ meanwhile counts what is there. What completes and is dequeued between
 * two looks, without ever being more than one at a poll, needs no count.
 */
#include "guard.h"

#define LOOK_NS 10000000ul

static void guard_forget(struct hw_cq *cq)
{
	if (cq->busy)
		LIST_REMOVE(cq, in_busy);
	cq->busy = false;
}

void hw_guard_start(struct hw_cq *cq)
{
	cq->overcommitted = true;
	hw_cq_keep_armed(cq);
}

void hw_guard_stop(struct hw_cq *cq)
{
	cq->overcommitted = false;
	guard_forget(cq);
}

void hw_guard_busy(struct hw_cq *cq)
{
	struct nic_world *w = hw_nic(cq->base.nic)->world;

	if (cq->busy)
		return;
	cq->busy = true;
	if (LIST_EMPTY(&w->busy_cqs))
		hw_timer(&w->guard_timer, LOOK_NS, LOOK_NS);
	LIST_INSERT_HEAD(&w->busy_cqs, cq, in_busy);
}

static void guard_look(struct hw_cq *cq)
{
	bool polled = cq->polled;

	hw_cq_fill(cq);
	cq->polled = false;
	if (!polled && cq->put == cq->looked_at) {
		guard_forget(cq);
		hw_cq_keep_armed(cq);
	}
	cq->looked_at = cq->put;
}

static void guard_on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct nic_world *w = nic_container_of(timer, struct nic_world, guard_timer);
	struct hw_cq *cq, *next;

	(void)loop;
	(void)events;
	for (cq = LIST_FIRST(&w->busy_cqs); cq; cq = next) {
		next = LIST_NEXT(cq, in_busy);
		guard_look(cq);
	}
	if (LIST_EMPTY(&w->busy_cqs))
		hw_timer_stop(timer);
}

void hw_guard_init(struct nic_world *w)
{
	ev_timer_init(&w->guard_timer, guard_on_timer, 0, 0);
}
