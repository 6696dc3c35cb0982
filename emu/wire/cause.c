/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of causes, and the trace line for one.
 */
#include "cause.h"
#include "emu/fabric/trace.h"
#include "emu/fabric/adapter.h"

const struct emu_cause_row emu_causes[EMU_CAUSES] = {
#define ROW(cause, request, receive) \
	[EMU_CAUSE_##cause] = { #cause, NIC_WC_##request, NIC_WC_##receive, false }
#define INVALID(cause, request, receive) \
	[EMU_CAUSE_##cause] = { #cause, NIC_WC_##request, NIC_WC_##receive, true }
	ROW(NONE, SUCCESS, SUCCESS),
	ROW(NO_BUFFER, RNR_EXCEEDED, FLUSHED),
	ROW(OVER_LIMIT, REMOTE_OPERATION, FLUSHED),
	ROW(SOURCE, LOCAL_PROTECTION, FLUSHED),
	ROW(TARGET, REMOTE_OPERATION, LOCAL_PROTECTION),
	INVALID(TOO_LONG, REMOTE_OPERATION, LOCAL_LENGTH),
	ROW(NO_MEMORY, REMOTE_OPERATION, LOCAL_QP),
	ROW(REMOTE_KEY, REMOTE_ACCESS, FLUSHED),
	INVALID(TOO_MANY_READS, REMOTE_OPERATION, FLUSHED),
	INVALID(UNALIGNED, REMOTE_OPERATION, FLUSHED),
	INVALID(MTU, REMOTE_OPERATION, FLUSHED),
	ROW(INVALIDATE_KEY, REMOTE_ACCESS, REMOTE_INVALID),
	INVALID(NAK_INVALID, REMOTE_OPERATION, FLUSHED),
	ROW(NAK_ACCESS, REMOTE_ACCESS, FLUSHED),
	ROW(NAK_OPERATION, REMOTE_OPERATION, FLUSHED),
	ROW(NAK_RESERVED, BAD_RESPONSE, FLUSHED),
	ROW(RNR, RNR_EXCEEDED, FLUSHED),
	ROW(RETRY, RETRY_EXCEEDED, FLUSHED),
	ROW(READ_KEY, REMOTE_ACCESS, FLUSHED),
	ROW(READ_TARGET, LOCAL_PROTECTION, FLUSHED),
	ROW(READ_MTU, BAD_RESPONSE, FLUSHED),
	ROW(READ_LENGTH, LOCAL_LENGTH, FLUSHED),
	ROW(BIND, BIND_FAILED, FLUSHED),
	ROW(INVALIDATE, LOCAL_QP, FLUSHED),
};

void emu_trace_cause(struct emu_world *w, const struct emu_qp *qp, enum emu_cause cause,
		     uint32_t message)
{
	emu_trace(w, EMU_QP " fail cause=%s message=%u", EMU_QP_OF(w, qp), emu_causes[cause].name,
		  message);
}
