/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of events in the trace: queued, given to the Consumer. */
#include "evd.h"
#include "lib/ep/dto.h"
#include "lib/ep/srq.h"

static COLD void evd_trace_reap_text(const struct evd *evd, const struct ep *ep,
				     enum evd_origin origin, const DAT_EVENT *event)
{
	static const char *const words[] = { "?", "RECV", "REQUEST", "BIND" };
	char evd_text[64], srq_text[128] = "";

	obj_name(&evd->obj, evd_text, sizeof(evd_text));
	if (origin == EVD_RECV && ep->srq)
		srq_trace_counts(ep->srq, srq_text, sizeof(srq_text));
	obj_trace_line(&ep->obj, "reap op=%s status=%s evd=%s%s", words[origin],
		       dto_status_name(event->event_data.dto_completion_event_data.status),
		       evd_text, srq_text);
}

/*
 * Any reap but the ordinary ones. A Receive that succeeded comes here only if its Endpoint has an
 * SRQ, and its line has both counts of the SRQ. The function is out of line, so that the ordinary
 * reap saves no registers.
 */
static __attribute__((noinline)) void evd_trace_reap_other(const struct evd *evd,
							   const struct ep *ep,
							   enum evd_origin origin,
							   const DAT_EVENT *event)
{
	const struct srq *srq = ep->srq;
	struct nic *nic = ep->obj.nic;

	if (event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS &&
	    origin == EVD_RECV && evd->obj.id <= NIC_TRACE_TWO_MOST &&
	    srq->obj.id <= NIC_TRACE_TWO_MOST)
		nic->ops->trace_event(nic, NIC_TRACE_EP_REAP_SRQ, ep->obj.id,
				      NIC_TRACE_TWO(evd->obj.id, srq->obj.id),
				      (uint32_t)srq_available(srq), (uint32_t)srq->outstanding);
	else
		evd_trace_reap_text(evd, ep, origin, event);
}

void evd_trace_reap(const struct evd *evd, const struct ep *ep, enum evd_origin origin,
		    const DAT_EVENT *event)
{
	struct nic *nic = ep->obj.nic;
	bool received = origin == EVD_RECV;

	if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS ||
	    (received ? ep->srq != NULL : origin != EVD_REQUEST)) {
		evd_trace_reap_other(evd, ep, origin, event);
		return;
	}
	nic->ops->trace_event(nic, received ? NIC_TRACE_EP_REAP_RECV : NIC_TRACE_EP_REAP_REQUEST,
			      ep->obj.id, evd->obj.id, 0, 0);
}

void evd_trace_event(const struct evd *evd, const char *verb, const DAT_EVENT *event)
{
	char object[64] = "";
	DAT_HANDLE handle = DAT_HANDLE_NULL;
	struct handle_slot *slot;

	if (event->event_number & 0x4000u)
		handle = event->event_data.connect_event_data.ep_handle;
	else if (event->event_number & 0x8000u)
		handle = event->event_data.asynch_error_event_data.dat_handle;
	else if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
		handle = event->event_data.cr_arrival_event_data.cr_handle;
	slot = handle_slot(handle);
	if (slot && slot->object)
		obj_name(slot->object, object, sizeof(object));
	obj_trace_line(&evd->obj, "%s number=%s%s%s", verb, event_name(event->event_number),
		       object[0] ? " object=" : "", object);
}
