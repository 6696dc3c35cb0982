/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts.h - which adapter of a shared fabric an address of this machine means.
 *
 * A client resolves its server's host name and connects to the result: 127.0.0.1, ::1, or an
 * address of one of the machine's interfaces. All processes of a fabric run on that machine, so the
 * address alone does not tell the adapters apart; the port does: the adapter is one with a listener
 * at that port.
 */
#ifndef EMU_SHARED_HOSTS_H
#define EMU_SHARED_HOSTS_H

#include <sys/socket.h>

#include "emu/fabric/fabric.h"

/* Is this an address of this machine? */
bool emu_hosts_is_here(const struct sockaddr *addr);
/* An adapter with a listener at the port, `from` first; if there is none, `from`. */
uint16_t emu_hosts_listener(struct emu_world *w, uint64_t port, uint16_t from);

#endif /* EMU_SHARED_HOSTS_H */
