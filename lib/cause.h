/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cause.h - translate the door's results (host/nic.h) to DAT: each status of a work request to one
 * DTO status, each end of a connection to one connection event. No two of the door's values become
 * the same DAT value.
 */
#ifndef LIB_CAUSE_H
#define LIB_CAUSE_H

#include "lib/ep/ep_state.h"
#include "host/nic.h"

#define SAME_STATUS(nic, dat) \
	_Static_assert((int)NIC_WC_##nic == (int)DAT_##dat, "nic.h numbers statuses as DAT does")

SAME_STATUS(SUCCESS, DTO_SUCCESS);
SAME_STATUS(FLUSHED, DTO_ERR_FLUSHED);
SAME_STATUS(LOCAL_LENGTH, DTO_ERR_LOCAL_LENGTH);
SAME_STATUS(LOCAL_QP, DTO_ERR_LOCAL_EP);
SAME_STATUS(LOCAL_PROTECTION, DTO_ERR_LOCAL_PROTECTION);
SAME_STATUS(BAD_RESPONSE, DTO_ERR_BAD_RESPONSE);
SAME_STATUS(REMOTE_ACCESS, DTO_ERR_REMOTE_ACCESS);
SAME_STATUS(REMOTE_OPERATION, DTO_ERR_REMOTE_RESPONDER);
SAME_STATUS(RETRY_EXCEEDED, DTO_ERR_TRANSPORT);
SAME_STATUS(RNR_EXCEEDED, DTO_ERR_RECEIVER_NOT_READY);
SAME_STATUS(PARTIAL, DTO_ERR_PARTIAL_PACKET);
SAME_STATUS(BIND_FAILED, RMR_OPERATION_FAILED);
_Static_assert(NIC_WC_DAT_COUNT == DAT_RMR_OPERATION_FAILED + 1, "every status has a row above");
#undef SAME_STATUS

static inline DAT_DTO_COMPLETION_STATUS cause_dto_status(uint8_t status)
{
	return (DAT_DTO_COMPLETION_STATUS)status;
}

struct cause_end {
	DAT_EVENT_NUMBER event;
	enum ep_cause state; /* the cause of the Endpoint's change of state */
};

extern const struct cause_end cause_ends[NIC_END_COUNT];

#endif /* LIB_CAUSE_H */
