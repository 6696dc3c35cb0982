/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies payload between processes: straight (peer.h) where the kernel permits it, else through the
 * receiver's inbox.
 */
#include "reach.h"

#include "emu/shared/inbox.h"
#include "emu/hostile/posted.h"
#include "emu/mem.h"
#include "handed.h"
#include "emu/pages.h"
#include "peer.h"
#include "emu/shared/shared.h"

static enum emu_copy place_here(struct emu_world *w, const struct emu_place *to, const void *from,
				uint64_t length)
{
	enum emu_copy placed;

	emu_posted_look(w, to->posted, to->addr, length);
	placed = emu_reach_place(to->addr, from, length);
	emu_posted_wrote(w, to->addr, length);
	return placed;
}

static enum emu_copy copy_from_process(struct emu_world *w, const struct emu_place *to,
				       const struct emu_place *from, uint64_t length)
{
	if (!emu_peer_reach(w, from->process))
		return EMU_COPY_BAD_TARGET;
	if (emu_peer_read(w, from->process, from->addr, emu_memory(to->addr), length))
		return EMU_COPY_OK;
	/* The kernel does not say which end it was. */
	return emu_pages_allow(to->addr, length, true) ? EMU_COPY_BAD_SOURCE : EMU_COPY_BAD_TARGET;
}

static enum emu_copy copy_to_process(struct emu_world *w, const struct emu_place *to,
				     const struct emu_place *from, uint64_t length)
{
	if (!emu_peer_reach(w, to->process))
		return emu_inbox_copy(w, to, from->addr, length);
	if (emu_handed_put(w, to, from->addr, length))
		return EMU_COPY_OK;
	if (emu_peer_write(w, to->process, to->addr, emu_memory(from->addr), length))
		return EMU_COPY_OK;
	return emu_pages_allow(from->addr, length, false) ? EMU_COPY_BAD_TARGET
							  : EMU_COPY_BAD_SOURCE;
}

enum emu_copy emu_reach_copy(struct emu_world *w, const struct emu_place *to,
			     const struct emu_place *from, uint64_t length)
{
	bool to_here = to->process == w->process, from_here = from->process == w->process;
	const void *kept;

	emu_handed_settle(w);
	if (!to->process || !from->process || to->process > EMU_PROCESSES)
		return EMU_COPY_BAD_TARGET; /* the process is gone; or another one wrote garbage */
	/* Addresses in this process are checked against its own list of regions. */
	if (to_here && !emu_mr_is_here(w, to->addr, length))
		return EMU_COPY_BAD_TARGET;
	kept = from_here ? emu_posted_kept(w, from->posted, from->addr) : NULL;
	if (from_here && !kept && !emu_mr_is_here(w, from->addr, length))
		return EMU_COPY_BAD_SOURCE;
	if (from_here)
		emu_posted_look(w, from->posted, from->addr, length);
	if (to_here && from_here)
		return place_here(w, to, kept ? kept : emu_memory(from->addr), length);
	if (kept)
		return emu_inbox_copy(w, to, (uintptr_t)kept, length);
	if (to_here)
		return copy_from_process(w, to, from, length);
	if (from_here)
		return copy_to_process(w, to, from, length);
	return EMU_COPY_BAD_TARGET; /* does not happen: runner.c chose a process at one end */
}

/* ---- single words ---- */

bool emu_reach_has(struct emu_world *w, uint16_t process)
{
	return process == w->process || (process && emu_peer_reach(w, process));
}

bool emu_reach_load(struct emu_world *w, void *to, const struct emu_place *from, uint64_t length)
{
	emu_handed_settle(w);
	if (from->process != w->process)
		return emu_reach_has(w, from->process) &&
		       emu_peer_read(w, from->process, from->addr, to, length);
	return emu_mr_is_here(w, from->addr, length) &&
	       !emu_guard_copy(to, emu_memory(from->addr), length);
}

bool emu_reach_store(struct emu_world *w, const struct emu_place *to, const void *from,
		     uint64_t length)
{
	emu_handed_settle(w);
	if (!to->process || to->process > EMU_PROCESSES)
		return false;
	if (to->process == w->process)
		return emu_mr_is_here(w, to->addr, length) &&
		       place_here(w, to, from, length) == EMU_COPY_OK;
	if (emu_peer_reach(w, to->process))
		return emu_peer_write(w, to->process, to->addr, from, length);
	return emu_inbox_copy(w, to, (uintptr_t)from, length) == EMU_COPY_OK;
}
