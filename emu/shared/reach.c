/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies payload between processes: straight (peer.h) where the kernel permits it, else through the
 * receiver's inbox.
 */
#include "reach.h"

#include <string.h>

#include "inbox.h"
#include "emu/mem.h"
#include "peer.h"
#include "shared.h"

#define LAST_BYTES 8u

void emu_reach_place(uint64_t to, const void *from, uint64_t length)
{
	uint64_t first = length > LAST_BYTES ? length - LAST_BYTES : 0;

	/*
	 * Programs poll the last word, as they do on hardware; all other bytes are visible before
	 * it.
	 */
	memmove(emu_memory(to), from, first);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memmove(emu_memory(to + first), (const uint8_t *)from + first, length - first);
}

bool emu_reach_copy(struct emu_world *w, const struct emu_place *to, const struct emu_place *from,
		    uint64_t length)
{
	void *target = emu_memory(to->addr), *source = emu_memory(from->addr);

	if (!to->process || !from->process || to->process > EMU_PROCESSES)
		return false; /* the process is gone; or another one wrote garbage */
	/* Addresses in this process are checked against its own list of regions. */
	if ((to->process == w->process && !emu_mr_is_here(w, to->addr, length)) ||
	    (from->process == w->process && !emu_mr_is_here(w, from->addr, length)))
		return false;
	if (to->process == w->process && from->process == w->process) {
		emu_reach_place(to->addr, source, length);
		return true;
	}
	if (to->process == w->process)
		return emu_peer_reach(w, from->process) &&
		       emu_peer_read(w, from->process, from->addr, target, length);
	if (from->process != w->process)
		return false; /* does not happen: runner.c chose a process at one end */
	if (emu_peer_reach(w, to->process))
		return emu_peer_write(w, to->process, to->addr, source, length);
	return emu_inbox_copy(w, to->process, to->addr, source, length);
}
