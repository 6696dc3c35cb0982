/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c - see atomic.h. */
#include "atomic.h"

#include "emu/fabric/clock.h"
#include "emu/fabric/sharing.h"
#include "emu/hostile/posted.h"
#include "emu/mem.h"

static struct emu_atomic *atomic_of(struct emu_swqe *wqe)
{
	return (struct emu_atomic *)wqe->sge;
}

void emu_atomic_post(const struct nic_send_wr *wr, struct emu_swqe *wqe)
{
	*atomic_of(wqe) = (struct emu_atomic){ .to = wr->sge[0],
					       .compare = wr->compare,
					       .operand = wr->operand };
}

/* ---- words in the memory of an adapter's process ---- */

static struct emu_place place_at(struct emu_world *w, uint16_t adapter, uint64_t addr)
{
	return (struct emu_place){ EMU_AT(w->fab->adapters, adapter).process, addr, 0 };
}

static bool load_word(struct emu_world *w, uint16_t adapter, uint64_t addr, uint64_t *value)
{
	struct emu_place from = place_at(w, adapter, addr);

	return emu_is_shared(w) ? w->sharing->load(w, value, &from, sizeof(*value))
				: !emu_guard_copy(value, emu_memory(addr), sizeof(*value));
}

static bool store_word(struct emu_world *w, uint16_t adapter, uint64_t addr, uint64_t value)
{
	struct emu_place to = place_at(w, adapter, addr);

	bool stored;

	if (emu_is_shared(w))
		return w->sharing->store(w, &to, &value, sizeof(value));
	stored = !emu_guard_copy(emu_memory(addr), &value, sizeof(value));
	emu_posted_wrote(w, addr, sizeof(value));
	return stored;
}

/* ---- responder ---- */

bool emu_atomic_is_mine(struct emu_world *w, const struct emu_arrival *a)
{
	struct emu_event event = { .time = w->fab->now,
				   .order = a->kind | EMU_EV_ARRIVED,
				   .qp = emu_qp_index(w, a->qp),
				   .epoch = a->qp->epoch,
				   .index = a->index,
				   .packet = a->packet };
	uint16_t owner = EMU_AT(w->fab->adapters, a->qp->adapter).process;

	if (!emu_is_shared(w) || w->sharing->reaches(w, owner))
		return true;
	a->qp->left_here = true; /* the next packets wait behind this one */
	w->sharing->pass_on(w, owner, &event);
	return false;
}

static uint64_t value_after(const struct emu_swqe *wqe, const struct emu_atomic *atomic,
			    uint64_t before)
{
	if (wqe->opcode == NIC_OP_ADD)
		return before + atomic->operand;
	return before == atomic->compare ? atomic->operand : before;
}

bool emu_atomic_execute(struct emu_world *w, const struct emu_arrival *a)
{
	struct emu_swqe *wqe = emu_wqe(w, &a->sender->sq, a->index);
	struct emu_atomic *atomic = atomic_of(wqe);

	if (wqe->step != EMU_ATOMIC_DECIDED) {
		uint64_t before;

		if (!load_word(w, a->qp->adapter, a->target, &before))
			return false;
		atomic->before = before;
		atomic->after = value_after(wqe, atomic, before);
		__atomic_store_n(&wqe->step, EMU_ATOMIC_DECIDED, __ATOMIC_RELEASE);
	}
	return atomic->after == atomic->before ||
	       store_word(w, a->qp->adapter, a->target, atomic->after);
}

/* ---- requester ---- */

bool emu_atomic_place(struct emu_world *w, const struct emu_qp *qp, const struct emu_swqe *wqe)
{
	const struct emu_atomic *atomic = (const struct emu_atomic *)wqe->sge;
	struct emu_sgl to = { .sge = &atomic->to,
			      .num_sge = 1,
			      .pd = qp->pd,
			      .adapter = qp->adapter,
			      .access = NIC_ACCESS_LOCAL_WRITE };

	return emu_key_allows(w, &to, &atomic->to) &&
	       store_word(w, qp->adapter, atomic->to.addr, atomic->before);
}
