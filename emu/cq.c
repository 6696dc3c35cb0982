/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues: creation, resizing, arming, overflow.
 */
#include <errno.h>

#include "emu/fabric/arena.h"
#include "cq.h"
#include "qp.h"
#include "emu/fabric/sharing.h"
#include "emu/fabric/trace.h"
#include "upcall.h"

static struct emu_cq *cq_of(struct nic_cq *base)
{
	return emu_local_cq(base)->entry;
}

static struct emu_cqe *cq_ring(struct emu_world *w, const struct emu_cq *cq)
{
	return emu_at(w, cq->ring);
}

size_t emu_cq_bytes(uint32_t mask)
{
	return ((size_t)mask + 1) * sizeof(struct emu_cqe);
}

static uint32_t cq_mask(uint32_t depth)
{
	uint32_t entries = 1;

	while (entries < depth)
		entries <<= 1;
	return entries - 1;
}

int emu_cq_create(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **cq)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_adapter *adapter = &w->fab->adapters[emu_nic(nic)->adapter];
	struct emu_cq *entry;
	uint32_t index;
	emu_ref ring;

	if (depth == 0 || depth > EMU_MAX_CQE)
		return -EINVAL;
	if (adapter->cqs >= EMU_MAX_CQ)
		return -ENOMEM;
	ring = emu_pool_alloc(w, emu_cq_bytes(cq_mask(depth)));
	if (!ring)
		return -ENOMEM;
	index = EMU_TAKE(w, cqs, cq, EMU_CQS);
	if (!index) {
		emu_pool_free(w->fab, ring, emu_cq_bytes(cq_mask(depth)));
		return -ENOMEM;
	}
	entry = &EMU_AT(w->fab->cq, index);
	entry->ring = ring;
	entry->mask = cq_mask(depth);
	entry->put = entry->get = entry->cached_get = entry->ring_end = EMU_FIRST;
	entry->depth = entry->limit = depth;
	entry->adapter = emu_nic(nic)->adapter;
	entry->armed = EMU_ARMED_NOT;
	if (emu_cq_init_payloads(w, entry))
		goto free_entry;
	adapter->cqs++;
	EMU_LIVE(w->fab, cqs, entry);
	w->cq[index] = (struct emu_local_cq){ .base = { .nic = nic, .ctx = ctx },
					      .entry = entry,
					      .world = w,
					      .ring = emu_at(w, ring) };
	*cq = &w->cq[index].base;
	return 0;

free_entry:
	entry->ring = 0;
	EMU_LIVE(w->fab, cqs, entry);
	EMU_FREE(w->fab, cqs, cq, index);
	emu_pool_free(w->fab, ring, emu_cq_bytes(cq_mask(depth)));
	return -ENOMEM;
}

int emu_cq_resize(struct nic_cq *base, uint32_t depth)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_cq *cq = cq_of(base);
	uint32_t count = cq->put - cq->get, mask = cq_mask(depth);

	if (depth == 0 || depth > EMU_MAX_CQE || depth < count)
		return -EINVAL;
	if (mask != cq->mask) {
		emu_ref ring = emu_pool_alloc(w, emu_cq_bytes(mask));
		struct emu_cqe *to;
		uint32_t old_mask;
		emu_ref old;

		if (!ring)
			return -ENOMEM;
		to = emu_at(w, ring);
		for (uint32_t i = cq->get, n = 0; i != cq->put && n < EMU_MAX_CQE; i++, n++)
			to[i & mask] = cq_ring(w, cq)[i & cq->mask];
		old = cq->ring;
		old_mask = cq->mask;
		cq->ring = ring;
		cq->mask = mask;
		emu_local_cq(base)->ring = to;
		emu_pool_free(w->fab, old, emu_cq_bytes(old_mask));
	}
	cq->depth = cq->limit = depth;
	return 0;
}

void emu_cq_destroy(struct nic_cq *base)
{
	struct emu_world *w = emu_world_of(base->nic);

	emu_cq_free(w, emu_cq_index(w, base));
	base->nic = NULL;
	base->ctx = NULL;
}

void emu_cq_free(struct emu_world *w, uint32_t index)
{
	struct emu_cq *cq = &EMU_AT(w->fab->cq, index);
	emu_ref ring = cq->ring;

	EMU_AT(w->fab->adapters, cq->adapter).cqs--;
	cq->ring = 0;
	emu_cq_fini_payloads(w, cq);
	emu_pool_free(w->fab, ring, emu_cq_bytes(cq->mask));
	EMU_FREE(w->fab, cqs, cq, index);
}

int emu_cq_poll(struct nic_cq *base, struct nic_wc *wc, int n)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_cq *cq = cq_of(base);
	int got = 0;

	while (got < n && cq->get != cq->put)
		emu_cq_get(w, cq, emu_local_cq(base)->ring, &wc[got++]);
	return got;
}

uint32_t emu_cq_count(struct nic_cq *base)
{
	struct emu_cq *cq = cq_of(base);

	return cq->put - cq->get;
}

void emu_cq_limit(struct nic_cq *base, uint32_t n)
{
	struct emu_cq *cq = cq_of(base);

	cq->limit = n < cq->depth ? n : cq->depth;
}

void emu_cq_arm(struct nic_cq *base)
{
	cq_of(base)->armed = base->patient ? EMU_ARMED_PATIENT : EMU_ARMED_ANY;
}

void emu_cq_arm_solicited(struct nic_cq *base)
{
	if (cq_of(base)->armed != EMU_ARMED_ANY)
		cq_of(base)->armed = EMU_ARMED_SOLICITED;
}

void emu_cq_lost(struct emu_world *w, uint32_t index, uint32_t qp, enum nic_opcode opcode)
{
	if (index)
		emu_qp_break_soon(w, emu_qp_at(w, qp));
	emu_up_cq_lost(w, index, qp, opcode);
}

/* The completion was just added. */
void emu_cq_notify(struct emu_world *w, uint32_t index)
{
	struct emu_cq *cq = &EMU_AT(w->fab->cq, index);
	const struct emu_cqe *cqe = cq_ring(w, cq) + ((cq->put - 1) & cq->mask);
	bool patient = cq->armed == EMU_ARMED_PATIENT;

	if (cq->armed == EMU_ARMED_SOLICITED && cqe->status == NIC_WC_SUCCESS &&
	    !(cqe->flags & NIC_WR_SOLICITED))
		return;
	cq->armed = EMU_ARMED_NOT;
	emu_up_cq_notify(w, index, patient);
}
