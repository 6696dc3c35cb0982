/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows: allocation, the keys they get, binding to a region.
 */
#include <errno.h>

#include "emu/fabric/arena.h"
#include "mw.h"

int emu_mw_alloc(struct nic_pd *pd, struct nic_mw **mw)
{
	struct emu_world *w = emu_world_of(pd->nic);
	struct emu_adapter *adapter = &w->fab->adapters[emu_nic(pd->nic)->adapter];
	struct emu_mw *entry;
	uint32_t index;

	if (adapter->mws >= EMU_MAX_MW)
		return -ENOMEM;
	index = EMU_TAKE(w, mws, mw, EMU_MWS);
	if (!index)
		return -ENOMEM;
	adapter->mws++;
	entry = &w->fab->mw[index];
	entry->tag = 0;
	entry->mr = 0;
	entry->pd = EMU_INDEX(w, pd, pd);
	entry->serial++;
	EMU_LIVE(w->fab, mws, entry);
	w->mw[index] = (struct nic_mw){ .nic = pd->nic };
	*mw = &w->mw[index];
	return 0;
}

static void mw_unbind(struct emu_world *w, struct emu_mw *mw)
{
	if (mw->mr)
		EMU_AT(w->fab->mr, mw->mr).windows--;
	mw->mr = 0;
	mw->tag = 0;
}

void emu_mw_free(struct nic_mw *base)
{
	struct emu_world *w = emu_world_of(base->nic);
	uint32_t index = EMU_INDEX(w, mw, base);

	mw_unbind(w, &w->fab->mw[index]);
	w->fab->adapters[emu_nic(base->nic)->adapter].mws--;
	EMU_FREE(w->fab, mws, mw, index);
}

void emu_mw_query(struct nic_mw *base, struct nic_mw_state *state)
{
	struct emu_world *w = emu_world_of(base->nic);
	const struct emu_mw *mw = &w->fab->mw[EMU_INDEX(w, mw, base)];

	uint32_t mr = mw->mr;

	*state = (struct nic_mw_state){ 0 };
	/* Only of a region that is this process's own, whatever the arena says. */
	if (mr && mr <= EMU_MRS && w->range[mr].lkey)
		*state = (struct nic_mw_state){ .mr = &w->mr[mr],
						.addr = mw->addr,
						.length = mw->length,
						.access = mw->access,
						.rkey = (uint32_t)mw->tag };
}

uint32_t emu_mw_key(struct emu_world *w, const struct nic_send_wr *wr)
{
	uint32_t index = EMU_INDEX(w, mw, wr->mw);
	uint32_t key = (EMU_MRS + index) << 8 | ++w->fab->mw[index].gen;

	wr->mw->rkey = wr->bind_length ? key : 0;
	return key;
}

void emu_mw_post(struct emu_world *w, const struct nic_send_wr *wr, struct emu_swqe *wqe)
{
	struct emu_bind *bind = (struct emu_bind *)wqe->sge;

	wqe->rkey = emu_mw_key(w, wr);
	wqe->remote_addr = wr->bind_addr;
	wqe->step = w->fab->mw[EMU_INDEX(w, mw, wr->mw)].serial;
	bind->length = wr->bind_length;
	bind->access = wr->bind_access;
	bind->lkey = wr->bind_length ? wr->mr->lkey : 0;
}

bool emu_mw_bind(struct emu_world *w, uint32_t pd, const struct emu_swqe *wqe)
{
	const struct emu_bind *bind = (const struct emu_bind *)wqe->sge;
	struct emu_mw *mw = &EMU_AT(w->fab->mw, (wqe->rkey >> 8) - EMU_MRS);
	struct emu_mr *mr = &EMU_AT(w->fab->mr, bind->lkey >> 8);

	if (!mw->head.live || mw->serial != wqe->step || mw->pd != pd)
		return false;
	if (bind->length == 0) {
		mw_unbind(w, mw);
		return true;
	}
	if (mr->tag != ((uint64_t)pd << 32 | bind->lkey) || bind->length > mr->length ||
	    wqe->remote_addr - mr->addr > mr->length - bind->length)
		return false;
	mw_unbind(w, mw);
	mw->mr = bind->lkey >> 8;
	mr->windows++;
	mw->addr = wqe->remote_addr;
	mw->length = bind->length;
	mw->access = bind->access;
	mw->tag = (uint64_t)pd << 32 | wqe->rkey;
	return true;
}
