/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiver's side of a long payload that both ends copy: split.h. */
#include "split.h"

#include "peer.h"
#include "emu/shared/shared.h"

/*
 * Another process may have written garbage into the offer: addresses in this process are checked
 * against its own regions. The fields are of one offer if a claim of it succeeds afterwards.
 */
static bool may_help(struct emu_world *w, const struct emu_split *offered)
{
	return offered->from != w->process &&
	       emu_process(w, offered->from)->generation == offered->generation &&
	       emu_mr_covers(w, offered->to_lkey, offered->to_addr, offered->length) &&
	       emu_peer_reach(w, offered->from) && !w->membership->peer[offered->from].fails;
}

/* False: some of the memory is gone. */
static bool read_pieces(struct emu_world *w, struct emu_split *s, const struct emu_split *offered)
{
	uint32_t offer = (uint32_t)(offered->claims >> 32), at;

	while ((at = emu_split_claim(s, offer, offered->length)) != EMU_SPLIT_NONE)
		if (!emu_peer_read_piece(w, offered->from, offered->from_addr + at,
					 emu_memory(offered->to_addr + at),
					 emu_split_piece(offered->length, at)))
			return false;
	return emu_peer_is_there(w, offered->from);
}

static struct emu_split read_offer(const struct emu_split *s)
{
	uint64_t claims = __atomic_load_n(&s->claims, __ATOMIC_ACQUIRE);
	const struct emu_split offered = {
		.claims = claims,
		.from_addr = __atomic_load_n(&s->from_addr, __ATOMIC_RELAXED),
		.to_addr = __atomic_load_n(&s->to_addr, __ATOMIC_RELAXED),
		.to_lkey = __atomic_load_n(&s->to_lkey, __ATOMIC_RELAXED),
		.length = __atomic_load_n(&s->length, __ATOMIC_RELAXED),
		.generation = __atomic_load_n(&s->generation, __ATOMIC_RELAXED),
		.from = __atomic_load_n(&s->from, __ATOMIC_RELAXED),
	};

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return offered;
}

bool emu_split_help(struct emu_world *w)
{
	struct emu_split *s = &w->fab->shared.split;
	struct emu_process *own = emu_process(w, w->process);
	struct emu_split offered;

	/* At its exit this process takes the fabric's lock without the library's. */
	if (__atomic_load_n(&s->to, __ATOMIC_RELAXED) != w->process ||
	    __atomic_load_n(&own->exits, __ATOMIC_RELAXED))
		return false;
	offered = read_offer(s);
	if ((uint32_t)offered.claims >= offered.length || !may_help(w, &offered))
		return false;
	__atomic_store_n(&own->helps, true, __ATOMIC_RELAXED);
	if (!read_pieces(w, s, &offered))
		__atomic_store_n(&own->help_failed, (uint32_t)(offered.claims >> 32),
				 __ATOMIC_RELAXED);
	__atomic_store_n(&own->helps, false, __ATOMIC_RELEASE);
	return true;
}
