/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h - a private fabric as a backend of lib: creating it, opening adapters on it. Shared
 * fabrics, and the backend's table, are in emu/shared/backend.c.
 */
#ifndef EMU_FABRIC_WORLD_H
#define EMU_FABRIC_WORLD_H

#include "fabric.h"

/* Entries of struct nic_backend; the first and the second for a private fabric. */
int emu_world_create(const struct nic_config *config, struct nic_world **world);
void emu_world_destroy(struct emu_world *w);
bool emu_adapter_listed(unsigned int i, char *name, size_t size);
int emu_adapter_open(struct nic_world *world, const char *name, const struct nic_upcalls *up,
		     void *ctx, struct nic **nic);
/* Entries of struct nic_ops. */
void emu_adapter_close(struct nic *nic);
void emu_adapter_query(struct nic *nic, struct nic_attr *attr);

/* Make the nic object of an adapter (0: the control nic, which has no upcalls). */
void emu_nic_init(struct emu_world *w, uint16_t adapter, const struct nic_upcalls *up, void *ctx);

/* The table behind the door: emu/nic_model.c. */
extern const struct nic_ops emu_ops;

#endif /* EMU_FABRIC_WORLD_H */
