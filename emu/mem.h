/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h - protection domains, memory regions, their keys, and copying payload between them.
 */
#ifndef EMU_MEM_H
#define EMU_MEM_H

#include <string.h>

#include "emu/fabric/fabric.h"
#include "emu/fabric/sharing.h"
#include "guard.h"

int emu_pd_alloc(struct nic *nic, struct nic_pd **pd);
void emu_pd_free(struct nic_pd *pd);
int emu_mr_reg(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
	       struct nic_mr **mr);
void emu_mr_dereg(struct nic_mr *mr);
void emu_mr_base(struct nic_mr *mr, uint64_t base);
int emu_mr_change(struct nic_mr *mr, struct nic_pd *pd, uint32_t access);
uint32_t emu_mr_windows(struct nic_mr *mr);
/* Is the range inside the region of that key? By this process's own list, not the arena's. */
bool emu_mr_covers(const struct emu_world *w, uint32_t lkey, uint64_t addr, uint64_t length);

/* One end of a copy: the segments of a work request, and what their keys must allow. */
struct emu_sgl {
	const struct nic_sge *sge;
	uint32_t num_sge;
	uint32_t pd;
	uint32_t access;  /* any of these bits suffices */
	uint32_t posted;  /* record of the buffer: emu/hostile/posted.h; 0: none */
	uint16_t adapter; /* its process owns the memory */
	bool allowed;     /* the keys have been checked already */
};

/* Remote memory that a request accesses, and the key it uses. */
struct emu_remote {
	uint64_t addr, length;
	uint32_t rkey;
	uint32_t access; /* NIC_ACCESS_REMOTE_xxx */
	uint32_t qp;     /* that is asked; 0: any */
	uint64_t place;  /* where that is, if it is allowed */
};

/* Does the key (of an MR or MW) allow this access on a QP of pd? pd 0: on any QP. */
bool emu_remote_allows(struct emu_world *w, uint32_t pd, struct emu_remote *remote);

/* Is the range within one region of this process? By its own list, not the arena's. */
bool emu_mr_is_here(struct emu_world *w, uint64_t addr, uint64_t length);

static inline void *emu_memory(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static inline bool emu_key_allows(struct emu_world *w, const struct emu_sgl *sgl,
				  const struct nic_sge *sge)
{
	uint32_t index = sge->lkey >> 8;
	const struct emu_mr *mr = &w->fab->mr[index <= EMU_MRS ? index : 0];

	return sgl->allowed ||
	       (mr->tag == ((uint64_t)sgl->pd << 32 | sge->lkey) && (mr->access & sgl->access) &&
		sge->length <= mr->length && sge->addr - mr->addr <= mr->length - sge->length);
}

/* The same in a hostile fabric, for which the buffers that are posted are watched. */
EMU_COLD enum emu_copy emu_hostile_move(struct emu_world *w, const struct emu_sgl *dst, uint64_t to,
					const struct emu_sgl *src, uint64_t from, uint64_t length);

/* Copy bytes between the memories of the two ends. */
static inline enum emu_copy emu_move(struct emu_world *w, const struct emu_sgl *dst, uint64_t to,
				     const struct emu_sgl *src, uint64_t from, uint64_t length)
{
	uint64_t fault;

	if (__builtin_expect(w->config.hostile, 0))
		return emu_hostile_move(w, dst, to, src, from, length);
	if (emu_is_shared(w)) {
		struct emu_place target = { EMU_AT(w->fab->adapters, dst->adapter).process, to, 0 };
		struct emu_place source = { EMU_AT(w->fab->adapters, src->adapter).process, from,
					    0 };

		return w->sharing->copy(w, &target, &source, length);
	}
	fault = emu_guard_copy(emu_memory(to), emu_memory(from), length);
	if (__builtin_expect(fault != 0, 0))
		return emu_guard_is_in(fault, emu_memory(from), length) ? EMU_COPY_BAD_SOURCE
									: EMU_COPY_BAD_TARGET;
	return EMU_COPY_OK;
}

/* The general case of emu_copy. */
enum emu_copy emu_copy_segments(struct emu_world *w, const struct emu_sgl *dst,
				const struct emu_sgl *src, uint64_t from, uint64_t to);

/* Copy bytes [from, to) of a message that src gathers and dst scatters. */
static inline enum emu_copy emu_copy(struct emu_world *w, const struct emu_sgl *dst,
				     const struct emu_sgl *src, uint64_t from, uint64_t to)
{
	/* Nearly every message has one segment at each end and is copied whole. */
	if (dst->num_sge != 1 || src->num_sge != 1 || from != 0 || to == 0)
		return emu_copy_segments(w, dst, src, from, to);
	if (to > src->sge->length || !emu_key_allows(w, src, src->sge))
		return EMU_COPY_BAD_SOURCE;
	if (to > dst->sge->length)
		return EMU_COPY_TOO_LONG;
	if (!emu_key_allows(w, dst, dst->sge))
		return EMU_COPY_BAD_TARGET;
	return emu_move(w, dst, dst->sge->addr, src, src->sge->addr, to);
}

#endif /* EMU_MEM_H */
