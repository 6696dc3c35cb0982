/* SPDX-License-Identifier: BSD-3-Clause */
/* sent.c - see sent.h. */
#include "sent.h"

#include "emu/fabric/clock.h"
#include "emu/wire/link.h"
#include "emu/wire/profile.h"

bool emu_sends_early(const struct emu_world *w)
{
	return (w->config.hostile & NIC_HOSTILE_SENT) && emu_profile(w)->stream;
}

uint32_t emu_sent_room(const struct emu_world *w, uint32_t max)
{
	if (!emu_sends_early(w))
		return max;
	return 2 * max < EMU_MAX_QP_WR ? 2 * max : EMU_MAX_QP_WR;
}

uint32_t emu_sent_told(struct emu_world *w, const struct emu_qp *qp)
{
	uint32_t told = 0, count = emu_wq_count(&qp->sq);

	while (emu_sends_early(w) && told < count && told < EMU_MAX_QP_WR &&
	       (((const struct emu_swqe *)emu_wqe(w, &qp->sq, qp->sq.get + told))->flags &
		EMU_SWQE_TOLD))
		told++;
	return told;
}

void emu_sent_later(struct emu_world *w, const struct emu_qp *qp, uint32_t index, uint64_t arrival)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	uint64_t latency = EMU_AT(w->fab->link, qp->link).latency_ns;

	if (!emu_sends_early(w) || (wqe->opcode != NIC_OP_SEND && wqe->opcode != NIC_OP_WRITE))
		return;
	emu_schedule(w, arrival > latency ? arrival - latency : 0, EMU_EV_SENT, emu_qp_index(w, qp),
		     qp->epoch, index, 0);
}
