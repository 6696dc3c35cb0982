/* SPDX-License-Identifier: BSD-3-Clause */
/* A short payload that goes to its receiver together with the turn: handed.h. */
#include "handed.h"

#include "emu/lockstep/lockstep.h"
#include "emu/mem.h"
#include "emu/shared/inbox.h"
#include "emu/shared/shared.h"
#include "peer.h"
#include "reach.h"

static struct emu_handed *handed_of(struct emu_world *w)
{
	return &w->fab->shared.lockstep.handed;
}

/* Has the process threads that take turns, and no other that could look at its memory? */
static bool all_take_turns(const struct emu_world *w, uint16_t process)
{
	const struct emu_lockstep *ls = &w->fab->shared.lockstep;

	return ls->away == 0 && ls->outside[process] == 0 &&
	       (emu_lockstep_has_thread(ls, process, EMU_THREAD_WAITING) ||
		emu_lockstep_has_thread(ls, process, EMU_THREAD_READY));
}

/* Is it the Receive of a Send? Its completion can still be made to fail, by its own process. */
static bool can_fail_late(struct emu_world *w, const struct emu_lost *lost, uint16_t process)
{
	return lost->opcode == NIC_OP_SEND && lost->qp &&
	       emu_process_of(w, emu_qp_at(w, lost->qp)->adapter) == process;
}

bool emu_handed_put(struct emu_world *w, const struct emu_place *to, uint64_t from, uint64_t length)
{
	struct emu_handed *handed = handed_of(w);
	struct emu_lost lost;

	if (!emu_lockstep(w) || length > EMU_HANDED_BYTES || length == 0 || to->posted ||
	    emu_process(w, to->process)->inbox || !all_take_turns(w, to->process))
		return false;
	lost = emu_inbox_completion(w);
	if (!can_fail_late(w, &lost, to->process) ||
	    !emu_reach_to_arena(handed->data, from, length))
		return false;
	handed->addr = to->addr;
	handed->process = to->process;
	handed->lost = lost;
	__asm__ volatile("" ::: "memory");
	handed->length = (uint32_t)length;
	return true;
}

/* A copy, which no other process changes; false: it is garbage. */
static bool look_at(struct emu_world *w, struct emu_handed *handed)
{
	*handed = *handed_of(w);
	return handed->length > 0 && handed->length <= EMU_HANDED_BYTES && handed->process > 0 &&
	       handed->process <= EMU_PROCESSES && emu_lockstep(w);
}

static void place_here(struct emu_world *w, const struct emu_handed *handed)
{
	if (emu_mr_is_here(w, handed->addr, handed->length) &&
	    !emu_reach_place_from_arena(handed->addr, handed->data, handed->length))
		emu_inbox_lose(w, &handed->lost);
}

/* Where this process has no access, or the memory is gone, the payload goes to the inbox. */
static void place_there(struct emu_world *w, const struct emu_handed *handed)
{
	const struct emu_place to = { .process = handed->process, .addr = handed->addr };

	/* A guest (`datsim fabric`) is no process of the fabric, and opens no memory of one. */
	if (w->process && emu_peer_reach(w, to.process) &&
	    emu_peer_write(w, to.process, to.addr, handed->data, handed->length))
		return;
	if (emu_inbox_copy_late(w, &to, (uintptr_t)handed->data, handed->length, &handed->lost) !=
	    EMU_COPY_OK)
		emu_process(w, to.process)->overrun = true;
}

void emu_handed_place(struct emu_world *w)
{
	struct emu_handed handed;
	bool good = look_at(w, &handed);

	if (good && handed.process == w->process)
		place_here(w, &handed);
	else if (good)
		place_there(w, &handed);
	/* Cleared last: if this process dies before, another one places the payload again. */
	handed_of(w)->length = 0;
}

void emu_handed_take(struct emu_world *w)
{
	if (handed_of(w)->process == w->process)
		emu_handed_place(w);
}

void emu_handed_drop(struct emu_world *w, uint16_t process)
{
	if (handed_of(w)->process == process)
		handed_of(w)->length = 0;
}
