/* SPDX-License-Identifier: BSD-3-Clause */
#include "upcall.h"

#include "inbox.h"

static struct nic_qp *own_qp(struct emu_world *w, const struct emu_qp *qp)
{
	return &w->qp[emu_qp_index(w, qp)].base;
}

static void tell_owner(struct emu_world *w, const struct emu_qp *qp, enum emu_message_kind kind,
		       uint32_t index, uint32_t what)
{
	emu_inbox_tell(w, w->fab->adapters[qp->adapter].process, kind, index, emu_qp_index(w, qp),
		       what);
}

void emu_up_cq_notify(struct emu_world *w, uint32_t cq)
{
	uint16_t adapter = w->fab->cq[cq].adapter;
	struct nic_cq *base = &w->cq[cq].base;

	if (emu_mine(w, adapter))
		base->nic->up->cq_notify(base->ctx);
	else
		emu_inbox_tell(w, w->fab->adapters[adapter].process, EMU_MESSAGE_CQ_NOTIFY, cq, 0,
			       0);
}

void emu_up_cq_lost(struct emu_world *w, uint32_t cq, uint32_t qp, enum nic_opcode opcode)
{
	const struct emu_qp *entry = emu_qp_at(w, qp);
	struct nic_qp *base = own_qp(w, entry);

	if (emu_mine(w, entry->adapter))
		base->nic->up->cq_lost(w->cq[cq].base.ctx, base->ctx, opcode);
	else
		tell_owner(w, entry, EMU_MESSAGE_CQ_LOST, cq, opcode);
}

void emu_up_srq_limit(struct emu_world *w, uint32_t srq)
{
	uint16_t adapter = w->fab->srq[srq].adapter;
	struct nic_srq *base = &w->srq[srq].base;

	if (emu_mine(w, adapter))
		base->nic->up->srq_limit(base->ctx);
	else
		emu_inbox_tell(w, w->fab->adapters[adapter].process, EMU_MESSAGE_SRQ_LIMIT, srq, 0,
			       0);
}

void emu_up_soft_limit(struct emu_world *w, const struct emu_qp *qp)
{
	struct nic_qp *base = own_qp(w, qp);

	if (emu_mine(w, qp->adapter))
		base->nic->up->qp_soft_limit(base->ctx);
	else
		tell_owner(w, qp, EMU_MESSAGE_SOFT_LIMIT, 0, 0);
}

void emu_up_established(struct emu_world *w, const struct emu_qp *qp)
{
	struct nic_qp *base = own_qp(w, qp);

	if (emu_mine(w, qp->adapter))
		base->nic->up->established(base->ctx, NULL);
	else
		tell_owner(w, qp, EMU_MESSAGE_ESTABLISHED, 0, 0);
}

void emu_up_conn_end(struct emu_world *w, const struct emu_qp *qp, enum nic_conn_end why)
{
	struct nic_qp *base = own_qp(w, qp);

	if (emu_mine(w, qp->adapter))
		base->nic->up->conn_end(base->ctx, why);
	else
		tell_owner(w, qp, EMU_MESSAGE_CONN_END, 0, why);
}
