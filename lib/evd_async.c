/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous events: those that wait for room (ruling W2), and what overflows (E9). */
#include "ep.h"
#include "evd.h"
#include "ia.h"

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
	evd_update_quick(evd);
}

/* Events that waited for room here go where their owners' events go now, if that is elsewhere. */
void evd_pass_on_notes(struct evd *evd)
{
	struct async_note *note;

	while ((note = TAILQ_FIRST(&evd->notes)) != NULL) {
		DAT_ASYNCH_ERROR_EVENT_DATA data = note->event.event_data.asynch_error_event_data;
		struct slot *slot = data.dat_handle;

		async_drop(note);
		if (slot->object && ia_async_evd(slot->object->ia) != evd)
			async_send(slot->object->ia, note, slot->object, note->event.event_number,
				   data.reason);
	}
}

/* ---- overflow ---- */

static void overflow(struct evd *evd)
{
	/* Once per overflow, not per event lost: the flag falls when something is taken. */
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
	if (cq_ctx)
		overflow(cq_ctx);
}

void evd_post_or_overflow(struct evd *evd, DAT_EVENT *event)
{
	if (!evd_post(evd, event))
		overflow(evd);
}

/* Several instances may send their events to one EVD: it hears of it once, from the first of them. */
static bool is_first_with_its_evd(const struct ia *ia)
{
	const struct ia *other;

	TAILQ_FOREACH(other, &ia->adapter->ias, link)
		if (other->async == ia->async)
			return other == ia;
	return false;
}

/* Ruling W2: what concerns the adapter goes to every async EVD of it. */
void async_send_catastrophe(struct adapter *adapter)
{
	struct ia *ia;

	TAILQ_FOREACH(ia, &adapter->ias, link)
		if (ia->async && is_first_with_its_evd(ia))
			async_send(ia, &ia->catastrophe, &ia->obj, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
				   DAT_IA_CATASTROPHIC_ERROR);
}
