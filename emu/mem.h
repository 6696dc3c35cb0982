/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h - protection domains, memory regions and their keys, and moving payload between them.
 */
#ifndef EMU_MEM_H
#define EMU_MEM_H

#include <string.h>

#include "fabric.h"
#include "reach.h"

int emu_pd_alloc(struct nic *nic, struct nic_pd **pd);
void emu_pd_free(struct nic_pd *pd);
int emu_mr_reg(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
	       struct nic_mr **mr);
void emu_mr_dereg(struct nic_mr *mr);
uint32_t emu_mr_windows(struct nic_mr *mr);
/* Is that inside a region of this process, whatever the arena says? */
bool emu_mr_covers(const struct emu_world *w, uint32_t lkey, uint64_t addr, uint64_t length);

/* One side of a copy: the segments of a work request and what must be true of their keys. */
struct emu_sgl {
	const struct nic_sge *sge;
	uint32_t num_sge;
	uint32_t pd;
	uint32_t access;  /* any of these bits suffices */
	uint16_t adapter; /* in the memory of whose process they are */
	bool allowed;     /* the keys have been looked at already */
};

/* What a peer wants to touch, and with what. */
struct emu_remote {
	uint64_t addr, length;
	uint32_t rkey;
	uint32_t access; /* NIC_ACCESS_REMOTE_READ or _WRITE */
};

/* Does the key, of an MR or of a window, allow it to requests on a QP of pd? 0: of any. */
bool emu_remote_allows(struct emu_world *w, uint32_t pd, const struct emu_remote *remote);

/* Is all of that within regions that this process has registered? So it says itself, not the arena. */
bool emu_mr_is_here(struct emu_world *w, uint64_t addr, uint64_t length);

enum emu_copy {
	EMU_COPY_OK,
	EMU_COPY_BAD_SOURCE,
	EMU_COPY_BAD_TARGET,
	EMU_COPY_TOO_LONG
};

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

/* Move bytes between the ends' memories. False: one of them is out of reach. */
static inline bool emu_move(struct emu_world *w, const struct emu_sgl *dst, uint64_t to,
			    const struct emu_sgl *src, uint64_t from, uint64_t length)
{
	if (__builtin_expect(w->process, 0)) {
		struct emu_place target = { w->fab->adapters[dst->adapter].process, to };
		struct emu_place source = { w->fab->adapters[src->adapter].process, from };

		return emu_reach_copy(w, &target, &source, length);
	}
	memmove(emu_memory(to), emu_memory(from), length);
	return true;
}

/* The general case of emu_copy. */
enum emu_copy emu_copy_segments(struct emu_world *w, const struct emu_sgl *dst,
				const struct emu_sgl *src, uint64_t from, uint64_t to);

/* Copy bytes [from, to) of the message that src gathers to where dst scatters them. */
static inline enum emu_copy emu_copy(struct emu_world *w, const struct emu_sgl *dst,
				     const struct emu_sgl *src, uint64_t from, uint64_t to)
{
	/* Nearly every message: one segment each, all of it. */
	if (dst->num_sge != 1 || src->num_sge != 1 || from != 0 || to == 0)
		return emu_copy_segments(w, dst, src, from, to);
	if (to > src->sge->length || !emu_key_allows(w, src, src->sge))
		return EMU_COPY_BAD_SOURCE;
	if (to > dst->sge->length)
		return EMU_COPY_TOO_LONG;
	if (!emu_key_allows(w, dst, dst->sge))
		return EMU_COPY_BAD_TARGET;
	return emu_move(w, dst, dst->sge->addr, src, src->sge->addr, to) ? EMU_COPY_OK
									 : EMU_COPY_BAD_TARGET;
}

#endif /* EMU_MEM_H */
