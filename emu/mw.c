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
	entry->qp = 0;
	entry->pd = EMU_INDEX(w, pd, pd);
	if (entry->serial++)
		entry->gen++; /* no key of an earlier window fits this one */
	EMU_LIVE(w->fab, mws, entry);
	w->mw[index] =
		(struct nic_mw){ .nic = pd->nic, .key = (EMU_MRS + index) << 8 | entry->gen };
	*mw = &w->mw[index];
	return 0;
}

static void mw_unbind(struct emu_world *w, struct emu_mw *mw)
{
	if (mw->mr)
		EMU_AT(w->fab->mr, mw->mr).windows--;
	mw->mr = 0;
	mw->tag = 0;
	mw->qp = 0;
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

	*bind = (struct emu_bind){ .length = wr->bind_length,
				   .access = wr->bind_access,
				   .lkey = wr->bind_length && wr->mr ? wr->mr->lkey : 0 };
	wqe->rkey = wr->rkey || !wr->mw ? wr->rkey : emu_mw_key(w, wr);
	wqe->remote_addr = wr->bind_addr;
	if (!wr->mw)
		bind->access = EMU_BIND_INVALIDATE;
	else
		wqe->step = w->fab->mw[EMU_INDEX(w, mw, wr->mw)].serial;
	if (wr->mw && wr->rkey)
		bind->access |= EMU_BIND_KEY_GIVEN;
}

/* The window of a key; entry 0 if there is none. */
static struct emu_mw *window_of(struct emu_world *w, uint32_t rkey)
{
	uint32_t index = (rkey >> 8) - EMU_MRS;

	return &w->fab->mw[index <= EMU_MWS ? index : 0];
}

/* What the region does not permit, a window does not either. */
static bool access_fits(const struct emu_qp *qp, const struct emu_mr *mr, uint32_t access)
{
	return !qp->numbered || (mr->access & NIC_ACCESS_LOCAL_WRITE) ||
	       !(access & (NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_ATOMIC));
}

static bool bind_window(struct emu_world *w, const struct emu_qp *qp, const struct emu_swqe *wqe)
{
	const struct emu_bind *bind = (const struct emu_bind *)wqe->sge;
	struct emu_mw *mw = &EMU_AT(w->fab->mw, (wqe->rkey >> 8) - EMU_MRS);
	struct emu_mr *mr = &EMU_AT(w->fab->mr, bind->lkey >> 8);
	bool given = bind->access & EMU_BIND_KEY_GIVEN;

	if (!mw->head.live || mw->serial != wqe->step || mw->pd != qp->pd || (given && mw->tag))
		return false;
	if (bind->length == 0) {
		mw_unbind(w, mw);
		return true;
	}
	if (mr->tag != ((uint64_t)qp->pd << 32 | bind->lkey) || bind->length > mr->length ||
	    wqe->remote_addr - mr->base > mr->length - bind->length ||
	    !access_fits(qp, mr, bind->access))
		return false;
	mw_unbind(w, mw);
	mw->mr = bind->lkey >> 8;
	mr->windows++;
	mw->addr = wqe->remote_addr - mr->base + mr->addr;
	mw->base = bind->access & NIC_ACCESS_ZERO_BASED ? 0 : wqe->remote_addr;
	mw->length = bind->length;
	mw->access = bind->access & ~(EMU_BIND_KEY_GIVEN | NIC_ACCESS_ZERO_BASED);
	mw->qp = given ? emu_qp_index(w, qp) : 0;
	if (given)
		mw->gen = (uint8_t)wqe->rkey; /* the next window here begins behind it */
	mw->tag = (uint64_t)qp->pd << 32 | wqe->rkey;
	return true;
}

enum emu_cause emu_mw_bind(struct emu_world *w, const struct emu_qp *qp, const struct emu_swqe *wqe)
{
	const struct emu_bind *bind = (const struct emu_bind *)wqe->sge;

	if (!(bind->access & EMU_BIND_INVALIDATE))
		return bind_window(w, qp, wqe) ? EMU_CAUSE_NONE : EMU_CAUSE_BIND;
	if (!emu_mw_may_invalidate(w, qp, wqe->rkey))
		return EMU_CAUSE_INVALIDATE;
	emu_mw_invalidate(w, wqe->rkey);
	return EMU_CAUSE_NONE;
}

bool emu_mw_may_invalidate(struct emu_world *w, const struct emu_qp *qp, uint32_t rkey)
{
	const struct emu_mw *mw = window_of(w, rkey);

	return mw->tag == ((uint64_t)qp->pd << 32 | rkey) && mw->qp == emu_qp_index(w, qp);
}

/* On a stream a Send is looked at when it arrives; it acts when those before it have arrived. */
void emu_mw_invalidate(struct emu_world *w, uint32_t rkey)
{
	struct emu_mw *mw = window_of(w, rkey);

	if ((uint32_t)mw->tag == rkey)
		mw_unbind(w, mw);
}

void emu_mw_forget_qp(struct emu_world *w, uint32_t qp)
{
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, mws, mw); i++)
		if (w->fab->mw[i].head.live && w->fab->mw[i].qp == qp)
			mw_unbind(w, &w->fab->mw[i]);
}
