/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h - protection domains, memory regions and their keys, and moving payload between them.
 */
#ifndef EMU_MEM_H
#define EMU_MEM_H

#include "fabric.h"

int emu_pd_alloc(struct nic *nic, struct nic_pd **pd);
void emu_pd_free(struct nic_pd *pd);
int emu_mr_reg(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
	       struct nic_mr **mr);
void emu_mr_dereg(struct nic_mr *mr);

/* One side of a copy: the segments of a work request and what must be true of their keys. */
struct emu_sgl {
	const struct nic_sge *sge;
	uint32_t num_sge;
	uint32_t pd;
	uint32_t access; /* any of these bits suffices */
};

enum emu_copy {
	EMU_COPY_OK,
	EMU_COPY_BAD_SOURCE,
	EMU_COPY_BAD_TARGET,
	EMU_COPY_TOO_LONG
};

/* Copy bytes [from, to) of the message that src gathers to where dst scatters them. */
enum emu_copy emu_copy(struct emu_world *w, const struct emu_sgl *dst, const struct emu_sgl *src,
		       uint64_t from, uint64_t to);

#endif /* EMU_MEM_H */
