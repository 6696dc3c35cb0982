/* SPDX-License-Identifier: BSD-3-Clause */
/* evd_event.h - convert a completion of the NIC to a DAT event, and hand it out. */
#ifndef LIB_EVD_EVD_EVENT_H
#define LIB_EVD_EVD_EVENT_H

#include "lib/cause.h"
#include "evd.h"
#include "lib/ep/ep.h"

/*
 * A bind completion is stored as a DTO completion until it is handed out: its ep_handle is the
 * Endpoint, its length the number of the RMR's handle. The two kinds share cookie and status. This
 * converts one to DAT_RMR_BIND_COMPLETION_EVENT.
 */
COLD void evd_become_bind(DAT_EVENT *event);

static inline void evd_fill_completion(DAT_EVENT *event, DAT_EVD_HANDLE evd, const struct ep *ep,
				       uint64_t cookie, uint32_t length, uint8_t status)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = ep->obj.handle;
	dto->user_cookie.as_64 = cookie;
	dto->status = cause_dto_status(status);
	dto->transfered_length = length;
}

static inline void evd_completion(DAT_EVD_HANDLE evd, const struct nic_wc *wc, DAT_EVENT *event)
{
	evd_fill_completion(event, evd, wc->qp->ctx, wc->wr_id, wc->length, wc->status);
}

static inline uint32_t evd_queued(const struct evd *evd)
{
	return evd->queue.count;
}

static inline enum evd_origin evd_origin_of(uint8_t opcode)
{
	if (opcode == NIC_OP_RECV)
		return EVD_RECV;
	return __builtin_expect(opcode == NIC_OP_BIND, 0) ? EVD_BIND : EVD_REQUEST;
}

/*
 * Account for a reaped completion. On the path of every message: a request costs one comparison
 * more than a Receive.
 */
static inline void evd_reap(struct evd *evd, struct ep *ep, enum evd_origin origin,
			    DAT_EVENT *event)
{
	bool tracing = obj_nic(&evd->obj)->tracing;

	if (origin == EVD_RECV) {
		ep_reaped(ep->nic);
		if (__builtin_expect(tracing, 0))
			evd_trace_reap(evd, ep, EVD_RECV, event);
		return;
	}
	if (__builtin_expect(tracing, 0))
		evd_trace_reap(evd, ep, origin, event);
	if (__builtin_expect(origin == EVD_BIND, 0))
		evd_become_bind(event);
}

/* Hand out a completion straight from the CQ. */
static inline void evd_hand_over(struct evd *evd, const struct nic_wc *wc, DAT_EVENT *event)
{
	evd_completion(evd->obj.handle, wc, event);
	evd_reap(evd, wc->qp->ctx, evd_origin_of(wc->opcode), event);
	backend_busy(evd->obj.nic);
}

/* Poll the CQ and hand out what it has. The queue of the EVD is empty. */
static HOT bool evd_spin(struct evd *evd, DAT_EVENT *event)
{
	struct nic_wc wc;

	if (!evd->obj.nic->ops->cq_spin(evd->cq, &wc))
		return false;
	evd_hand_over(evd, &wc, event);
	return true;
}

#endif /* LIB_EVD_EVD_EVENT_H */
