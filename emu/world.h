/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h - a fabric as a backend of lib: creating it, opening adapters on it.
 */
#ifndef EMU_WORLD_H
#define EMU_WORLD_H

#include "fabric.h"

/* Index of an open adapter; 0: none of that name. */
uint16_t emu_adapter_find(struct emu_world *w, const char *name);
/*
 * Index of the open adapter with that address; 0: none. *err: -EAFNOSUPPORT, -EADDRNOTAVAIL. In a shared
 * fabric addresses of this host are those of any adapter where `port` is listened at, `from` first.
 */
uint16_t emu_adapter_by_address(struct emu_world *w, const struct sockaddr *addr, uint64_t port,
				uint16_t from, int *err);
/* Whether an adapter may have that name, open or not. */
bool emu_adapter_possible(const char *name);
const char *emu_adapter_name(struct emu_world *w, uint16_t adapter);
void emu_adapter_address(struct emu_world *w, uint16_t adapter, struct sockaddr_storage *addr);

/* What the fabric is to be, before anything happens in it. */
void emu_configure(struct emu_fabric *fab, const struct nic_config *config);

/* The fabric's generator (xoshiro256**), the only source of chance. */
uint64_t emu_random(struct emu_world *w);

/* The table behind the door; in ops.c. */
extern const struct nic_ops emu_ops, emu_shared_ops;
#define EMU_CAPS                                                                                \
	(NIC_CAP_SRQ | NIC_CAP_SRQ_RESIZE | NIC_CAP_SRQ_LIMIT | NIC_CAP_SRQ_COUNT |             \
	 NIC_CAP_TAKEN_LIMIT | NIC_CAP_MW | NIC_CAP_CQ_RESIZE | NIC_CAP_HANDOFF | NIC_CAP_SIM | \
	 NIC_CAP_PACKET_RULES | NIC_CAP_SRQ_ANY_PD)

#endif /* EMU_WORLD_H */
