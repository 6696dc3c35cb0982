/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * adapter.h - names, numbers and addresses of the adapters of a fabric.
 *
 * The number of an adapter is its index in the table. In a private fabric emu0 has number 1, in a
 * shared one each adapter gets the lowest free number. Number n has address config.address + n.
 */
#ifndef EMU_FABRIC_ADAPTER_H
#define EMU_FABRIC_ADAPTER_H

#include "fabric.h"

/* Index of the open adapter with that name; 0: there is none. */
uint16_t emu_adapter_find(struct emu_world *w, const char *name);
/*
 * Index of the open adapter with that address; 0: none. *err: -EAFNOSUPPORT, -EADDRNOTAVAIL. In a
 * shared fabric, an address of this host means any adapter with a listener at `port`, `from` first.
 */
uint16_t emu_adapter_by_address(struct emu_world *w, const struct sockaddr *addr, uint64_t port,
				uint16_t from, int *err);
/* Is it a valid adapter name? The adapter need not be open. */
bool emu_adapter_possible(const char *name);
/*
 * The number, and so the address, of an adapter about to be opened: its name's in a private fabric,
 * the lowest free one in a shared fabric. -ENODEV: there is no adapter of that name. -ENOMEM: no
 * number is free.
 */
int emu_adapter_number(struct emu_world *w, const char *name, uint16_t *number);
const char *emu_adapter_name(struct emu_world *w, uint16_t adapter);
void emu_adapter_address(struct emu_world *w, uint16_t adapter, struct sockaddr_storage *addr);

/* The open adapter with that number; 0: there is none. */
uint16_t emu_adapter_by_number(struct emu_world *w, uint32_t number);

#endif /* EMU_FABRIC_ADAPTER_H */
