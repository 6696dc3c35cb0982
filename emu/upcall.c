/* SPDX-License-Identifier: BSD-3-Clause */
#include "upcall.h"

#include "inbox.h"
#include "shared.h"

/* lib's object of that index; NULL: it has none, and whoever says so wrote nonsense into the arena. */
static struct nic_qp *own_qp(struct emu_world *w, const struct emu_qp *qp)
{
	uint32_t index = emu_qp_index(w, qp);

	return index <= EMU_QPS && w->qp[index].base.nic ? &w->qp[index].base : NULL;
}

static struct nic_cq *own_cq(struct emu_world *w, uint32_t index)
{
	return index <= EMU_CQS && w->cq[index].base.nic ? &w->cq[index].base : NULL;
}

static struct nic_srq *own_srq(struct emu_world *w, uint32_t index)
{
	return index <= EMU_SRQS && w->srq[index].base.nic ? &w->srq[index].base : NULL;
}

static void tell_owner(struct emu_world *w, const struct emu_qp *qp, enum emu_message_kind kind,
		       uint32_t index, uint32_t what)
{
	emu_inbox_tell(w, emu_process_of(w, qp->adapter), kind, index, emu_qp_index(w, qp), what);
}

void emu_up_cq_notify(struct emu_world *w, uint32_t cq)
{
	uint16_t adapter = w->fab->cq[cq].adapter;
	struct nic_cq *base = own_cq(w, cq);

	if (!emu_mine(w, adapter))
		emu_inbox_tell(w, emu_process_of(w, adapter), EMU_MESSAGE_CQ_NOTIFY, cq, 0, 0);
	else if (base)
		base->nic->up->cq_notify(base->ctx);
}

void emu_up_cq_lost(struct emu_world *w, uint32_t cq, uint32_t qp, enum nic_opcode opcode)
{
	const struct emu_qp *entry = emu_qp_at(w, qp);
	struct nic_qp *base = own_qp(w, entry);

	if (!emu_mine(w, entry->adapter))
		tell_owner(w, entry, EMU_MESSAGE_CQ_LOST, cq, opcode);
	else if (base && opcode < NIC_OP_COUNT && (!cq || own_cq(w, cq)))
		base->nic->up->cq_lost(w->cq[cq].base.ctx, base->ctx, opcode);
}

void emu_up_srq_limit(struct emu_world *w, uint32_t srq)
{
	uint16_t adapter = w->fab->srq[srq].adapter;
	struct nic_srq *base = own_srq(w, srq);

	if (!emu_mine(w, adapter))
		emu_inbox_tell(w, emu_process_of(w, adapter), EMU_MESSAGE_SRQ_LIMIT, srq, 0, 0);
	else if (base)
		base->nic->up->srq_limit(base->ctx);
}

void emu_up_soft_limit(struct emu_world *w, const struct emu_qp *qp)
{
	struct nic_qp *base = own_qp(w, qp);

	if (!emu_mine(w, qp->adapter))
		tell_owner(w, qp, EMU_MESSAGE_SOFT_LIMIT, 0, 0);
	else if (base)
		base->nic->up->qp_soft_limit(base->ctx);
}

void emu_up_established(struct emu_world *w, const struct emu_qp *qp)
{
	struct nic_qp *base = own_qp(w, qp);

	if (!emu_mine(w, qp->adapter))
		tell_owner(w, qp, EMU_MESSAGE_ESTABLISHED, 0, 0);
	else if (base)
		base->nic->up->established(base->ctx, NULL);
}

void emu_up_conn_end(struct emu_world *w, const struct emu_qp *qp, enum nic_conn_end why)
{
	struct nic_qp *base = own_qp(w, qp);

	if (!emu_mine(w, qp->adapter))
		tell_owner(w, qp, EMU_MESSAGE_CONN_END, 0, why);
	else if (base && why < NIC_END_COUNT)
		base->nic->up->conn_end(base->ctx, why);
}
