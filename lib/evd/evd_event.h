/* SPDX-License-Identifier: BSD-3-Clause */
/* evd_event.h - convert a completion of the NIC to a DAT event. */
#ifndef LIB_EVD_EVD_EVENT_H
#define LIB_EVD_EVD_EVENT_H

#include "lib/cause.h"
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

#endif /* LIB_EVD_EVD_EVENT_H */
