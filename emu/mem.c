/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains and memory regions, the checks of keys and ranges, and the copy of a payload
 * between two lists of segments.
 */
#include <errno.h>
#include <string.h>

#include "emu/fabric/arena.h"
#include "guard.h"
#include "mem.h"
#include "pages.h"

#define WRITES (NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE)

int emu_pd_alloc(struct nic *nic, struct nic_pd **pd)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_adapter *adapter = &w->fab->adapters[emu_nic(nic)->adapter];
	uint32_t index;

	if (adapter->pds >= EMU_MAX_PD)
		return -ENOMEM;
	index = EMU_TAKE(w, pds, pd, EMU_PDS);
	if (!index)
		return -ENOMEM;
	adapter->pds++;
	w->fab->pd[index].adapter = emu_nic(nic)->adapter;
	EMU_LIVE(w->fab, pds, &w->fab->pd[index]);
	w->pd[index].nic = nic;
	*pd = &w->pd[index];
	return 0;
}

void emu_pd_free(struct nic_pd *pd)
{
	struct emu_world *w = emu_world_of(pd->nic);
	uint32_t index = EMU_INDEX(w, pd, pd);

	EMU_AT(w->fab->adapters, w->fab->pd[index].adapter).pds--;
	EMU_FREE(w->fab, pds, pd, index);
}

/* The number of regions of that kind that the adapter has. */
static int *mr_count(struct emu_adapter *adapter, uint32_t access)
{
	return access & NIC_ACCESS_OF_FRONT ? &adapter->front_mrs : &adapter->mrs;
}

static int mr_most(const struct emu_world *w, uint32_t access)
{
	return access & NIC_ACCESS_OF_FRONT ? (int)emu_qps_most(w) : EMU_MAX_MR;
}

int emu_mr_reg(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
	       struct nic_mr **mr)
{
	struct emu_world *w = emu_world_of(pd->nic);
	struct emu_adapter *adapter = &w->fab->adapters[emu_nic(pd->nic)->adapter];
	int *count = mr_count(adapter, access);
	struct emu_mr *entry;
	uint32_t index;

	if (length > EMU_MAX_MR_SIZE || addr + length < addr)
		return -EINVAL;
	if (!emu_pages_allow(addr, length, access & WRITES))
		return -EFAULT;
	if (*count >= mr_most(w, access))
		return -ENOMEM;
	index = EMU_TAKE(w, mrs, mr, EMU_MRS);
	if (!index)
		return -ENOMEM;
	++*count;
	if (!w->guarded)
		emu_guard_begin();
	w->guarded = true;
	entry = &w->fab->mr[index];
	entry->addr = entry->base = addr;
	entry->length = length;
	entry->access = access;
	entry->windows = 0;
	entry->gen++;
	entry->tag = (uint64_t)EMU_INDEX(w, pd, pd) << 32 | index << 8 | entry->gen;
	EMU_LIVE(w->fab, mrs, entry);
	w->mr[index].nic = pd->nic;
	w->mr[index].lkey = w->mr[index].rkey = index << 8 | entry->gen;
	w->range[index] = (struct emu_range){ addr, length, w->mr[index].lkey };
	if (index > w->range_high)
		w->range_high = index;
	*mr = &w->mr[index];
	return 0;
}

void emu_mr_dereg(struct nic_mr *mr)
{
	struct emu_world *w = emu_world_of(mr->nic);
	struct emu_adapter *adapter = &w->fab->adapters[emu_nic(mr->nic)->adapter];

	EMU_SURE(w, w->fab->mr[EMU_INDEX(w, mr, mr)].windows == 0);
	emu_place_payloads(w);
	w->range[EMU_INDEX(w, mr, mr)].lkey = 0;
	--*mr_count(adapter, w->fab->mr[EMU_INDEX(w, mr, mr)].access);
	w->fab->mr[EMU_INDEX(w, mr, mr)].tag = 0;
	w->fab->mem_epoch++;
	EMU_FREE(w->fab, mrs, mr, EMU_INDEX(w, mr, mr));
}

bool emu_mr_covers(const struct emu_world *w, uint32_t lkey, uint64_t addr, uint64_t length)
{
	const struct emu_range *range = &w->range[lkey >> 8 <= EMU_MRS ? lkey >> 8 : 0];

	return lkey && range->lkey == lkey && length <= range->length &&
	       addr - range->addr <= range->length - length;
}

static bool is_in(const struct emu_range *range, uint64_t addr, uint64_t length)
{
	return range->lkey && length <= range->length &&
	       addr - range->addr <= range->length - length;
}

bool emu_mr_is_here(struct emu_world *w, uint64_t addr, uint64_t length)
{
	/* Usually the region of the last lookup. */
	if (is_in(&w->range[w->range_last], addr, length))
		return true;
	for (uint32_t i = 1; i <= w->range_high; i++) {
		if (!is_in(&w->range[i], addr, length))
			continue;
		w->range_last = i;
		return true;
	}
	return false;
}

uint32_t emu_mr_windows(struct nic_mr *mr)
{
	struct emu_world *w = emu_world_of(mr->nic);

	return w->fab->mr[EMU_INDEX(w, mr, mr)].windows;
}

void emu_mr_base(struct nic_mr *mr, uint64_t base)
{
	struct emu_world *w = emu_world_of(mr->nic);

	w->fab->mr[EMU_INDEX(w, mr, mr)].base = base;
}

int emu_mr_change(struct nic_mr *mr, struct nic_pd *pd, uint32_t access)
{
	struct emu_world *w = emu_world_of(mr->nic);
	struct emu_mr *entry = &w->fab->mr[EMU_INDEX(w, mr, mr)];

	if (!emu_pages_allow(entry->addr, entry->length, access & WRITES))
		return -EFAULT;
	emu_place_payloads(w);
	entry->access = access;
	entry->tag = (uint64_t)EMU_INDEX(w, pd, pd) << 32 | (uint32_t)entry->tag;
	w->fab->mem_epoch++;
	return 0;
}

static bool range_within(uint64_t base, uint64_t length, const struct emu_remote *remote)
{
	return remote->length <= length && remote->addr - base <= length - remote->length;
}

static bool tag_fits(uint64_t tag, uint32_t pd, uint32_t key)
{
	return tag != 0 && (uint32_t)tag == key && (pd == 0 || (uint32_t)(tag >> 32) == pd);
}

bool emu_remote_allows(struct emu_world *w, uint32_t pd, struct emu_remote *remote)
{
	uint32_t index = remote->rkey >> 8;
	const struct emu_mr *mr;
	const struct emu_mw *mw;

	if (index > EMU_MRS + EMU_MWS)
		return false;
	if (index > EMU_MRS) {
		mw = &EMU_AT(w->fab->mw, index - EMU_MRS);
		remote->place = remote->addr - mw->base + mw->addr;
		return tag_fits(mw->tag, pd, remote->rkey) && (mw->access & remote->access) &&
		       (!mw->qp || !remote->qp || mw->qp == remote->qp) &&
		       range_within(mw->base, mw->length, remote);
	}
	mr = &EMU_AT(w->fab->mr, index);
	remote->place = remote->addr - mr->base + mr->addr;
	return tag_fits(mr->tag, pd, remote->rkey) && (mr->access & remote->access) &&
	       range_within(mr->base, mr->length, remote);
}

/* A position in a list of segments. */
struct cursor {
	const struct emu_sgl *sgl;
	uint32_t sge;
	uint64_t offset; /* within the segment */
};

/* Advance to the segment that holds the byte. False: the list is shorter. */
static bool cursor_seek(struct cursor *c, uint64_t forward)
{
	c->offset += forward;
	while (c->sge < c->sgl->num_sge && c->offset >= c->sgl->sge[c->sge].length)
		c->offset -= c->sgl->sge[c->sge++].length;
	return c->sge < c->sgl->num_sge;
}

enum emu_copy emu_copy_segments(struct emu_world *w, const struct emu_sgl *dst,
				const struct emu_sgl *src, uint64_t from, uint64_t to)
{
	struct cursor d = { .sgl = dst }, s = { .sgl = src };
	uint64_t left = to - from, n = from;
	enum emu_copy moved;

	while (left > 0) {
		const struct nic_sge *dsge, *ssge;

		if (!cursor_seek(&s, n))
			return EMU_COPY_BAD_SOURCE;
		if (!cursor_seek(&d, n))
			return EMU_COPY_TOO_LONG;
		ssge = &src->sge[s.sge];
		dsge = &dst->sge[d.sge];
		if (!emu_key_allows(w, src, ssge))
			return EMU_COPY_BAD_SOURCE;
		if (!emu_key_allows(w, dst, dsge))
			return EMU_COPY_BAD_TARGET;
		n = left;
		if (n > ssge->length - s.offset)
			n = ssge->length - s.offset;
		if (n > dsge->length - d.offset)
			n = dsge->length - d.offset;
		moved = emu_move(w, dst, dsge->addr + d.offset, src, ssge->addr + s.offset, n);
		if (moved != EMU_COPY_OK)
			return moved;
		left -= n;
	}
	return EMU_COPY_OK;
}
