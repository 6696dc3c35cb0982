/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evd_async.c - asynchronous events: those that wait for room in the async EVD (ruling W2), and the
 * overflow of an EVD (E9).
 */
#include "lib/ep/ep.h"
#include "evd.h"
#include "lib/ia.h"

struct evd *ia_async_evd(struct ia *ia)
{
	struct ia *other;

	if (ia->async || ia->closing)
		return ia->async;
	TAILQ_FOREACH(other, &ia->adapter->ias, link)
		if (other->async)
			return other->async;
	return NULL;
}

COLD void evd_queue_waiting_notes(struct evd *evd)
{
	struct async_note *note;

	while ((note = TAILQ_FIRST(&evd->notes)) != NULL && evd_post(evd, &note->event)) {
		TAILQ_REMOVE(&evd->notes, note, link);
		note->waits_for = NULL;
	}
}

void async_drop(struct async_note *note)
{
	if (note->waits_for)
		TAILQ_REMOVE(&note->waits_for->notes, note, link);
	note->waits_for = NULL;
}

void async_send(struct ia *ia, struct async_note *note, struct obj *owner, DAT_EVENT_NUMBER number,
		DAT_COUNT reason)
{
	struct evd *evd = ia_async_evd(ia);
	DAT_ASYNCH_ERROR_EVENT_DATA *data = &note->event.event_data.asynch_error_event_data;

	async_drop(note);
	if (!evd)
		return;
	note->event = (DAT_EVENT){ .event_number = number };
	data->dat_handle = owner->handle;
	data->reason = reason;
	if (TAILQ_EMPTY(&evd->notes) && evd_post(evd, &note->event))
		return;
	note->waits_for = evd;
	TAILQ_INSERT_TAIL(&evd->notes, note, link);
}

/* The owner's async EVD may be another one by now; if it is this one, the event is dropped. */
void evd_pass_on_notes(struct evd *evd)
{
	struct async_note *note;

	while ((note = TAILQ_FIRST(&evd->notes)) != NULL) {
		DAT_ASYNCH_ERROR_EVENT_DATA data = note->event.event_data.asynch_error_event_data;
		struct handle_slot *slot = data.dat_handle;

		async_drop(note);
		if (slot->object && ia_async_evd(slot->object->ia) != evd)
			async_send(slot->object->ia, note, slot->object, note->event.event_number,
				   data.reason);
	}
}

/* ---- overflow ---- */

static void evd_overflow(struct evd *evd)
{
	/* One event for each overflow, not for each event lost: a dequeue clears the flag. */
	if (evd->overflowed)
		return;
	evd->overflowed = true;
	evd_update_quick(evd);
	obj_trace(evd, "overflow");
	async_send(evd->obj.ia, &evd->overflow, &evd->obj, DAT_ASYNC_ERROR_EVD_OVERFLOW,
		   DAT_EVD_OVERFLOW_ERROR);
	ep_break_feeding(evd);
}

void evd_on_lost(void *cq_ctx, void *qp_ctx, enum nic_opcode lost)
{
	if (lost == NIC_OP_RECV)
		ep_reaped(((struct ep *)qp_ctx)->nic);
	if (!cq_ctx)
		return;
	evd_overflow(cq_ctx);
	/* The overflow broke the EPs that were connected then; this one may have come later. */
	if (qp_ctx)
		ep_break(qp_ctx);
}

void evd_post_connection(struct evd *evd, DAT_EVENT *event, const struct ep *established)
{
	if (!evd_post_before(evd, event, established))
		evd_overflow(evd);
}

/* Several IAs may share one async EVD; it gets one event, from the first of them. */
static bool ia_is_first_of_async_evd(const struct ia *ia)
{
	const struct ia *other;

	TAILQ_FOREACH(other, &ia->adapter->ias, link)
		if (other->async == ia->async)
			return other == ia;
	return false;
}

/* Ruling W2: an event of the adapter goes to each of its async EVDs. */
void async_send_catastrophe(struct dat_adapter *adapter)
{
	struct ia *ia;

	TAILQ_FOREACH(ia, &adapter->ias, link)
		if (ia->async && ia_is_first_of_async_evd(ia))
			async_send(ia, &ia->catastrophe, &ia->obj, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
				   DAT_IA_CATASTROPHIC_ERROR);
}
