/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes each upcall in this process, or sends it to the process that owns the object.
 */
#include "upcall.h"

#include "emu/hostile/posted.h"

/* lib's object for a QP; NULL: there is none, another process wrote garbage into the arena. */
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

void emu_up_cq_notify(struct emu_world *w, uint32_t cq, bool patient)
{
	struct emu_upcall up = { EMU_UPCALL_CQ_NOTIFY, .index = cq, .what = patient };
	uint16_t adapter = EMU_AT(w->fab->cq, cq).adapter;
	struct nic_cq *base = own_cq(w, cq);

	if (!emu_mine(w, adapter))
		emu_post_upcall(w, adapter, &up);
	else if (base)
		base->nic->up->cq_notify(base->ctx);
}

void emu_up_cq_lost(struct emu_world *w, uint32_t cq, uint32_t qp, enum nic_opcode opcode)
{
	struct emu_upcall up = { EMU_UPCALL_CQ_LOST, .index = cq, .qp = qp, .what = opcode };
	const struct emu_qp *entry = emu_qp_at(w, qp);
	struct nic_qp *base = own_qp(w, entry);

	if (!emu_mine(w, entry->adapter))
		emu_post_upcall(w, entry->adapter, &up);
	else if (base && opcode < NIC_OP_COUNT && (!cq || own_cq(w, cq)))
		base->nic->up->cq_lost(w->cq[cq].base.ctx, base->ctx, opcode);
}

void emu_up_srq_limit(struct emu_world *w, uint32_t srq)
{
	struct emu_upcall up = { .kind = EMU_UPCALL_SRQ_LIMIT, .index = srq };
	uint16_t adapter = EMU_AT(w->fab->srq, srq).adapter;
	struct nic_srq *base = own_srq(w, srq);

	if (!emu_mine(w, adapter))
		emu_post_upcall(w, adapter, &up);
	else if (base)
		base->nic->up->srq_limit(base->ctx);
}

void emu_up_soft_limit(struct emu_world *w, const struct emu_qp *qp)
{
	struct emu_upcall up = { .kind = EMU_UPCALL_SOFT_LIMIT, .qp = emu_qp_index(w, qp) };
	struct nic_qp *base = own_qp(w, qp);

	if (!emu_mine(w, qp->adapter))
		emu_post_upcall(w, qp->adapter, &up);
	else if (base)
		base->nic->up->qp_soft_limit(base->ctx);
}

void emu_up_established(struct emu_world *w, const struct emu_qp *qp)
{
	struct emu_upcall up = { .kind = EMU_UPCALL_ESTABLISHED, .qp = emu_qp_index(w, qp) };
	struct nic_qp *base = own_qp(w, qp);

	if (!emu_mine(w, qp->adapter))
		emu_post_upcall(w, qp->adapter, &up);
	else if (base)
		base->nic->up->established(base->ctx, NULL);
}

void emu_up_conn_end(struct emu_world *w, const struct emu_qp *qp, enum nic_conn_end why)
{
	struct emu_upcall up = { EMU_UPCALL_CONN_END, .qp = emu_qp_index(w, qp), .what = why };
	struct nic_qp *base = own_qp(w, qp);

	if (!emu_mine(w, qp->adapter))
		emu_post_upcall(w, qp->adapter, &up);
	else if (base && why < NIC_END_COUNT)
		base->nic->up->conn_end(base->ctx, why);
}

void emu_up_qp_event(struct emu_world *w, const struct emu_qp *qp, enum nic_qp_event what)
{
	struct emu_upcall up = { EMU_UPCALL_QP_EVENT, .qp = emu_qp_index(w, qp), .what = what };
	struct nic_qp *base = own_qp(w, qp);

	if (!emu_mine(w, qp->adapter))
		emu_post_upcall(w, qp->adapter, &up);
	else if (base && what < NIC_QP_EVENTS)
		base->nic->up->qp_event(base->ctx, what);
}

void emu_upcall(struct emu_world *w, const struct emu_upcall *up)
{
	switch ((enum emu_upcall_kind)up->kind) {
	case EMU_UPCALL_CQ_NOTIFY:
		emu_up_cq_notify(w, up->index, up->what);
		break;
	case EMU_UPCALL_CQ_LOST:
		emu_up_cq_lost(w, up->index, up->qp, (enum nic_opcode)up->what);
		break;
	case EMU_UPCALL_SRQ_LIMIT:
		emu_up_srq_limit(w, up->index);
		break;
	case EMU_UPCALL_SOFT_LIMIT:
		emu_up_soft_limit(w, emu_qp_at(w, up->qp));
		break;
	case EMU_UPCALL_ESTABLISHED:
		emu_up_established(w, emu_qp_at(w, up->qp));
		break;
	case EMU_UPCALL_CONN_END:
		emu_up_conn_end(w, emu_qp_at(w, up->qp), (enum nic_conn_end)up->what);
		break;
	case EMU_UPCALL_QP_EVENT:
		emu_up_qp_event(w, emu_qp_at(w, up->qp), (enum nic_qp_event)up->what);
		break;
	case EMU_UPCALL_POSTED_DONE:
		emu_posted_done_here(w, up->qp, up->index, up->what);
		break;
	}
}
