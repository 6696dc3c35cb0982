/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evd.c - the queue of an EVD: queue and dequeue events, drain the CQ, make and destroy the EVD.
 * The API calls are in evd_api.c, except dat_evd_dequeue, which is on the path of every message:
 * here in a private fabric, in evd_shared.c in a shared one.
 */
#include "lib/api.h"
#include "cno.h"
#include "lib/connect/cr.h"
#include "lib/ep/ep.h"
#include "evd_event.h"
#include "lib/ia.h"
#include "lib/path/quick_hw.h"
#include "lib/ep/srq.h"
#include "lib/slab.h"

void evd_update_path(struct evd *evd)
{
	evd->direct = !evd->waiting && !evd->cno && !(evd->flags & ~EVD_STREAM_CQ);
	evd_update_quick(evd);
	/* Without an agent to call, a trigger is for threads that wait. */
	if (evd->cq)
		evd->cq->patient = evd->cno && !evd->cno->agent.proxy_agent_func;
	/*
	 * The CQ of an enabled EVD with a CNO is always armed, so that completions trigger the CNO.
	 */
	if (evd->cno && evd->enabled && evd->cq)
		obj_nic(&evd->obj)->ops->cq_arm(evd->cq);
}

/* True if completions can bypass the queue: it is empty, and only completions can arrive. */
static inline bool evd_is_direct(const struct evd *evd)
{
	return evd->direct && evd_queued(evd) == 0;
}

static void evd_set_quick(struct evd *evd, bool quick)
{
	evd->obj.quick = quick ? OBJ_QUICK_DEQUEUE : 0;
	quick_hw_choose_evd(evd, quick);
}

void evd_update_quick(struct evd *evd)
{
	evd_set_quick(evd, evd_is_direct(evd) && !evd->overflowed);
}

void evd_set_waiting(struct evd *evd, bool waiting)
{
	evd->waiting = waiting;
	if (evd->cq)
		evd->cq->waited = waiting;
	evd_update_path(evd);
}

static struct slab evd_slab = SLAB_OF(struct evd, "evd");

DAT_RETURN evd_make(struct ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct evd **out)
{
	struct nic *nic = ia->adapter->base.nic;
	struct evd *evd = slab_alloc(&evd_slab, nic);
	DAT_RETURN ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	int err = 0;

	if (!evd)
		goto fail;
	evd->flags = flags;
	evd->qlen = qlen;
	evd->enabled = evd->waitable = true;
	TAILQ_INIT(&evd->notes);
	evd_update_path(evd);
	if (!evd_queue_init(&evd->queue, nic, qlen))
		goto free_evd;
	ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (ia->adapter->evds >= ia->adapter->base.attr.max_cq)
		goto fini_queue;
	if (flags & EVD_STREAM_CQ)
		err = nic->ops->cq_create(nic, (uint32_t)qlen, evd, &evd->cq);
	ret = nic_refusal(err, ret);
	if (err)
		goto fini_queue;
	ret = obj_init(&evd->obj, ia, DAT_HANDLE_TYPE_EVD);
	if (ret != DAT_SUCCESS)
		goto destroy_cq;
	ia->adapter->evds++;
	evd_update_quick(evd);
	if (evd->cq)
		quick_hw_calls(&evd->obj);
	*out = evd;
	return DAT_SUCCESS;

destroy_cq:
	if (evd->cq)
		nic->ops->cq_destroy(evd->cq);
fini_queue:
	evd_queue_fini(&evd->queue);
free_evd:
	slab_free(&evd_slab, evd);
fail:
	return ret;
}

/*
 * The CQ comes first: a device looks for completions then, and the first one of a connection
 * queues ESTABLISHED, which may be in this EVD.
 */
uint32_t evd_count(struct evd *evd)
{
	uint32_t n = evd->cq ? obj_nic(&evd->obj)->ops->cq_count(evd->cq) : 0;

	return n + evd_queued(evd);
}

void evd_update_limit(struct evd *evd)
{
	if (evd->cq)
		obj_nic(&evd->obj)->ops->cq_limit(evd->cq, (uint32_t)evd->qlen - evd_queued(evd));
}

static void evd_push(struct evd *evd, const DAT_EVENT *event, enum evd_origin origin, struct ep *ep)
{
	evd_queue_append(&evd->queue, event, origin, ep);
	evd_set_quick(evd, false);
}

/* ---- completions ---- */

COLD void evd_become_bind(DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	event->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
	event->event_data.rmr_completion_event_data.rmr_handle =
		handle_of_number((uint32_t)dto->transfered_length);
	dto->transfered_length = 0;
}

/* Ruling A2a: whether this completion wakes a blocked waiter. Errors always do. */
static bool wc_is_notification(const struct nic_wc *wc)
{
	const struct ep *ep = wc->qp->ctx;

	if (wc->status != NIC_WC_SUCCESS)
		return true;
	if (wc->flags & NIC_WR_QUIET)
		return false;
	if (wc->opcode == NIC_OP_RECV &&
	    (ep->attr.recv_completion_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return wc->flags & NIC_WR_SOLICITED;
	return true;
}

void evd_drain(struct evd *evd)
{
	struct nic_wc wc;
	DAT_EVENT event;

	if (!evd->cq)
		return;
	/*
	 * Hardware may have more completions than the EVD has room for; the rest stays in the CQ.
	 */
	while (evd_queued(evd) < (uint32_t)evd->qlen &&
	       obj_nic(&evd->obj)->ops->cq_poll(evd->cq, &wc, 1) == 1) {
		evd_completion(evd->obj.handle, &wc, &event);
		evd_push(evd, &event, evd_origin_of(wc.opcode), wc.qp->ctx);
		if (wc_is_notification(&wc))
			evd->notified = true;
	}
	evd_update_limit(evd);
}

/* ---- the queue ---- */

/* A device may have more completions each time it is asked, so draining comes first. */
bool evd_has_room(struct evd *evd)
{
	evd_drain(evd);
	return evd_queued(evd) < (uint32_t)evd->qlen;
}

void evd_put(struct evd *evd, DAT_EVENT *event, const struct ep *ep)
{
	event->evd_handle = evd->obj.handle;
	evd_queue_insert(&evd->queue, event, ep);
	evd_set_quick(evd, false);
	evd_update_limit(evd);
	evd->notified = true;
	evd->obj.nic->attention = true;
	backend_busy(evd->obj.nic);
	if (__builtin_expect(obj_nic(&evd->obj)->tracing, 0))
		evd_trace_event(evd, "event", event);
	cno_notify(evd);
	evd_wake(evd);
}

bool evd_post_before(struct evd *evd, DAT_EVENT *event, const struct ep *ep)
{
	if (!evd_has_room(evd))
		return false;
	evd_put(evd, event, ep);
	return true;
}

bool evd_post(struct evd *evd, DAT_EVENT *event)
{
	return evd_post_before(evd, event, NULL);
}

/* An event was dequeued, so there is room: end an overflow, queue events that wait. */
static void evd_made_room(struct evd *evd)
{
	evd->overflowed = false;
	evd_update_quick(evd);
	if (!TAILQ_EMPTY(&evd->notes))
		evd_queue_waiting_notes(evd);
}

static bool evd_take_queued(struct evd *evd, DAT_EVENT *event)
{
	struct evd_entry *entry;

	if (evd_queued(evd) == 0)
		evd_drain(evd);
	entry = TAILQ_FIRST(&evd->queue.queued);
	if (!entry)
		return false;
	*event = entry->event;
	evd_queue_remove(&evd->queue, entry);
	evd_update_limit(evd);
	if (entry->ep)
		evd_reap(evd, entry->ep, (enum evd_origin)entry->origin, event);
	else if (__builtin_expect(obj_nic(&evd->obj)->tracing, 0))
		evd_trace_event(evd, "dequeue", event);
	return true;
}

static bool evd_take_next(struct evd *evd, DAT_EVENT *event)
{
	struct nic_wc wc;

	if (evd_queued(evd) == 0 && !(evd->flags & ~EVD_STREAM_CQ)) {
		if (evd->obj.nic->ops->cq_poll(evd->cq, &wc, 1) != 1)
			return false;
		evd_hand_over(evd, &wc, event);
	} else {
		if (!evd_take_queued(evd, event))
			return false;
		backend_busy(evd->obj.nic);
	}
	evd_made_room(evd);
	return true;
}

bool evd_take(struct evd *evd, DAT_EVENT *event)
{
	if (!evd_take_next(evd, event))
		return false;
	if (evd->latched && evd_count(evd) == 0)
		cno_unlatch(evd);
	return true;
}

/* Of an EVD that is direct; a poll may let time pass. */
static HOT bool evd_take_direct(struct evd *evd, DAT_EVENT *event)
{
	if (!evd_spin(evd, event))
		return false;
	evd_made_room(evd);
	return true;
}

static DAT_RETURN evd_dequeue_locked(struct evd *evd, DAT_EVENT *event)
{
	if (!event)
		return BAD_ARG(2);
	if (evd_has_waiter(evd))
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	if (!evd_is_direct(evd))
		return evd_take(evd, event) || evd_poll(evd, event) ? DAT_SUCCESS : DAT_QUEUE_EMPTY;
	return evd_take_direct(evd, event) ? DAT_SUCCESS : DAT_QUEUE_EMPTY; /* bare: ruling G1 */
}

COLD DAT_RETURN dat__evd_dequeue_careful(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	return obj_leave(b, obj, "dat_evd_dequeue",
			 evd_dequeue_locked(obj_as(struct evd, obj), event));
}

static COLD int evd_complete_bind(DAT_EVENT *event)
{
	evd_become_bind(event);
	return DAT_SUCCESS;
}

/* As evd_hand_over does it, without a trace. */
int evd_on_completed(void *event, void *cq_ctx, struct nic_qp *qp, uint64_t cookie, uint32_t length,
		     uint32_t what)
{
	const struct evd *evd = cq_ctx;

	backend_busy(qp->nic);
	evd_fill_completion(event, evd->obj.handle, qp->ctx, cookie, length, nic_what_status(what));
	if (nic_what_opcode(what) == NIC_OP_RECV)
		ep_reaped(qp);
	else if (__builtin_expect(nic_what_opcode(what) == NIC_OP_BIND, 0))
		return evd_complete_bind(event);
	return DAT_SUCCESS;
}

/* The same with the completion's line in the trace. */
int evd_on_completed_traced(void *event, void *cq_ctx, struct nic_qp *qp, uint64_t cookie,
			    uint32_t length, uint32_t what)
{
	struct evd *evd = cq_ctx;
	uint8_t opcode = nic_what_opcode(what);

	backend_busy(qp->nic);
	evd_fill_completion(event, evd->obj.handle, qp->ctx, cookie, length, nic_what_status(what));
	evd_reap(evd, qp->ctx, evd_origin_of(opcode), event);
	return DAT_SUCCESS;
}

int evd_on_no_completion(void *event)
{
	(void)event;
	return DAT_QUEUE_EMPTY;
}

/*
 * The fast dequeue, without a lock (obj_peek): the EVD has completions only, they come straight
 * from the CQ, and nothing is traced. Every other case takes the general path. The NIC is called
 * last, and calls evd_on_completed last, so no register has to be saved.
 */
DAT_RETURN dat__evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct evd *evd = obj_as(struct evd, obj_peek(handle, OBJ_QUICK_DEQUEUE));

	if (!evd || !event)
		return dat__evd_dequeue_careful(handle, event);
	return (DAT_RETURN)evd->cq->nic->ops->spin_one(evd->cq, event);
}

/* The same while the world is traced. */
DAT_RETURN dat__evd_dequeue_traced(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct evd *evd = obj_as(struct evd, obj_peek(handle, OBJ_QUICK_DEQUEUE));

	if (!evd || !event)
		return dat__evd_dequeue_careful(handle, event);
	return (DAT_RETURN)evd->cq->nic->ops->spin_one_traced(evd->cq, event);
}

static void evd_discard(struct evd *evd, struct evd_entry *entry)
{
	evd_queue_remove(&evd->queue, entry);
	evd_reap(evd, entry->ep, (enum evd_origin)entry->origin, &entry->event);
}

/*
 * What this costs grows with the completions of ep, not with all that are queued. Only a completion
 * that is still in the CQ is moved to the queue first, each of them once.
 */
void evd_purge(struct evd *evd, struct ep *ep)
{
	struct evd_entry *entry, *next;

	if (!evd)
		return;
	evd_drain(evd);
	for (entry = TAILQ_FIRST(&ep->queued); entry; entry = next) {
		next = TAILQ_NEXT(entry, in_ep);
		if (entry->event.evd_handle != evd->obj.handle)
			continue;
		evd_discard(evd, entry);
		evd->overflowed = false;
	}
	evd_update_quick(evd);
	evd_update_limit(evd);
	if (evd_count(evd) == 0)
		cno_unlatch(evd);
	if (!TAILQ_EMPTY(&evd->notes))
		evd_queue_waiting_notes(evd);
}

/*
 * Reject the connection requests whose events are still queued: the Consumer will never see them.
 */
static void evd_reject_requests(struct evd *evd)
{
	const struct evd_entry *entry;
	struct handle_slot *slot;

	TAILQ_FOREACH(entry, &evd->queue.queued, in_evd) {
		if (entry->event.event_number != DAT_CONNECTION_REQUEST_EVENT)
			continue;
		slot = entry->event.event_data.cr_arrival_event_data.cr_handle;
		if (slot->object)
			cr_destroy(obj_as(struct cr, slot->object), false);
	}
}

void evd_destroy(struct evd *evd)
{
	struct dat_adapter *adapter = evd->obj.ia->adapter;

	/* No completion is left: its Endpoint was reset or freed before, and took it along. */
	evd_reject_requests(evd);
	evd_pass_on_notes(evd);
	async_drop(&evd->overflow);
	cno_forget(evd);
	if (evd->cq)
		adapter->base.nic->ops->cq_destroy(evd->cq);
	adapter->evds--;
	obj_trace(evd, "free");
	obj_fini(&evd->obj);
	evd_queue_fini(&evd->queue);
	slab_free(&evd_slab, evd);
}
