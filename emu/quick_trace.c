/* SPDX-License-Identifier: BSD-3-Clause */
/* quick_trace.c - the records of an ordinary message in the trace: quick.c says what that is. */
#include "emu/fabric/record.h"
#include "emu/wire/wire.h"
#include "nic_model.h"
#include "qp.h"
#include "quick.h"
#include "receive.h"

void emu_trace_arrival(struct emu_world *w, const struct emu_qp *qp, const struct emu_qp *sender,
		       uint32_t index, uint32_t length)
{
	const struct emu_srq *srq = emu_recv_srq(w, qp);
	uint32_t psn = emu_wire_psn(w, sender, index, 0);

	if (srq)
		emu_record_between(w, EMU_RECORD_ARRIVE_SRQ, sender, qp, index + 1, length, psn,
				   emu_wq_count(&srq->wq), emu_unreaped(qp), qp->rx_next,
				   srq->name);
	else
		emu_record_between(w, EMU_RECORD_ARRIVE, sender, qp, index + 1, length, psn,
				   emu_wq_count(&qp->rq), emu_unreaped(qp), qp->rx_next);
}

void emu_trace_acked(struct emu_world *w, const struct emu_qp *qp, uint32_t index, uint32_t psn,
		     uint32_t length, enum nic_opcode opcode)
{
	const struct emu_qp *peer = emu_qp_at(w, qp->peer);

	emu_record_put(w, EMU_RECORD_ACKED, peer->noun | qp->noun << 4, qp->peer_adapter,
		       qp->adapter, peer->name, qp->name, index + 1, psn, length, (uint32_t)opcode);
}
