/* SPDX-License-Identifier: BSD-3-Clause */
/* The word for a DTO status, as traces print it. */
#include "ep.h"

const char *dto_status_name(DAT_DTO_COMPLETION_STATUS status)
{
	switch (status) {
	case DAT_DTO_SUCCESS:
		return "SUCCESS";
	case DAT_DTO_ERR_FLUSHED:
		return "FLUSHED";
	case DAT_DTO_ERR_LOCAL_LENGTH:
		return "LOCAL_LENGTH";
	case DAT_DTO_ERR_LOCAL_EP:
		return "LOCAL_EP";
	case DAT_DTO_ERR_LOCAL_PROTECTION:
		return "LOCAL_PROTECTION";
	case DAT_DTO_ERR_BAD_RESPONSE:
		return "BAD_RESPONSE";
	case DAT_DTO_ERR_REMOTE_ACCESS:
		return "REMOTE_ACCESS";
	case DAT_DTO_ERR_REMOTE_RESPONDER:
		return "REMOTE_RESPONDER";
	case DAT_DTO_ERR_TRANSPORT:
		return "TRANSPORT";
	case DAT_DTO_ERR_RECEIVER_NOT_READY:
		return "RECEIVER_NOT_READY";
	case DAT_DTO_ERR_PARTIAL_PACKET:
		return "PARTIAL_PACKET";
	case DAT_RMR_OPERATION_FAILED:
		return "RMR_OPERATION_FAILED";
	}
	return "?";
}
