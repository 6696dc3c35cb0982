/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evd_shared.c - dat_evd_dequeue in a shared fabric. It holds the biased lock (host/bias.h), or the
 * backend's lock once several threads of the program call, and not the fabric's lock.
 */
#include "lib/api.h"
#include "evd_event.h"
#include "lib/ia.h"

static DAT_RETURN dequeue_nothing(struct backend *b)
{
	obj_unpeek(b);
	backend_count_empty_poll(b);
	return DAT_QUEUE_EMPTY;
}

static DAT_RETURN dequeue_done(struct backend *b)
{
	__atomic_store_n(&b->empty_polls, 0, __ATOMIC_RELAXED); /* quick.c counts */
	obj_unpeek(b);
	return DAT_SUCCESS;
}

static COLD DAT_RETURN dequeue_careful(struct backend *b, DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	backend_leave_biased(b);
	return dat__evd_dequeue_careful(handle, event);
}

/* True if a dequeue on the general path would find nothing either. */
static bool evd_has_nothing(const struct backend *b, const struct evd *evd)
{
	return (!evd->cq || evd->obj.nic->ops->cq_count(evd->cq) == 0) && b->kind->quiet(b->shared);
}

/* The EVD does not allow the fast dequeue, or there is no `event` to fill in. */
static COLD DAT_RETURN dequeue_other(struct backend *b, struct evd *evd, DAT_EVENT *event)
{
	if (event && evd_queued(evd) == 0 && !evd_has_waiter(evd) && TAILQ_EMPTY(&evd->notes) &&
	    evd_has_nothing(b, evd))
		return dequeue_nothing(b);
	return dequeue_careful(b, evd->obj.handle, event);
}

/* In a traced world: the line of a completion is written with the world's lock. */
static __attribute__((noinline)) DAT_RETURN dequeue_noted(struct backend *b, struct evd *evd,
							  DAT_EVENT *event)
{
	enum nic_line line = b->kind->line_begin(b->shared, evd->cq);
	bool taken;

	if (line == NIC_LINE_EMPTY)
		return dequeue_nothing(b);
	if (line == NIC_LINE_DUE)
		return dequeue_careful(b, evd->obj.handle, event);
	taken = evd_spin(evd, event);
	b->kind->line_end(b->shared);
	return taken ? dequeue_done(b) : dequeue_careful(b, evd->obj.handle, event);
}

/*
 * OBJ_QUICK_DEQUEUE: the queue of the EVD is empty, only completions can arrive, no thread waits
 * for it, and it has not overflowed. Such a dequeue ends no overflow, and no event waits for the
 * room that it makes.
 */
DAT_RETURN dat__evd_dequeue_biased(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct backend *b;
	struct evd *evd = obj_as(struct evd, obj_peek_biased(handle, DAT_HANDLE_TYPE_EVD, &b));

	if (!evd)
		return dat__evd_dequeue_careful(handle, event);
	if (!event || !(evd->obj.quick & OBJ_QUICK_DEQUEUE))
		return dequeue_other(b, evd, event);
	if (__builtin_expect(evd->obj.nic->tracing, 0))
		return dequeue_noted(b, evd, event);
	if (evd_spin(evd, event))
		return dequeue_done(b);
	if (b->kind->quiet(b->shared))
		return dequeue_nothing(b);
	return dequeue_careful(b, handle, event);
}
