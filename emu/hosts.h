/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts.h - which adapter of a shared fabric an address of this machine means.
 *
 * A client resolves its server's host name and connects to what comes out: 127.0.0.1, ::1, or an address of one
 * of the machine's interfaces. All processes of a fabric are on that machine, so such an address is any
 * adapter's; the one meant is the one where somebody listens at the port.
 */
#ifndef EMU_HOSTS_H
#define EMU_HOSTS_H

#include <sys/socket.h>

#include "fabric.h"

/* Is this an address of this machine? */
bool emu_hosts_is_here(const struct sockaddr *addr);
/* The adapter where the port is listened at: `from`, else another; where there is none, `from`. */
uint16_t emu_hosts_listener(struct emu_world *w, uint64_t port, uint16_t from);

#endif /* EMU_HOSTS_H */
