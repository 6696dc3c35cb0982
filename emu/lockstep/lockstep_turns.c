/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: switches of the turn that DATSIM_TURNS asks for (turn_text.h). Each process keeps those
 * of its own threads, and looks at them at each call of such a thread: the turn may change hands
 * where the call waits, or where it ends.
 *
 * Calls are counted in each thread, so that a switch means the same moment whatever the other
 * threads do, and stays valid when other switches are left out. While time is held, because
 * programs are being started, none is counted: they start one after another.
 */
#include "lockstep.h"

#include <string.h>

#include "emu/fabric/trace.h"
#include "emu/shared/shared.h"

void emu_lockstep_begin(struct emu_world *w, uint64_t bound_ns, const char *turns)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;

	ls->on = true;
	ls->bound_ns = bound_ns;
	ls->random = w->config.seed;
	ls->in_order = turns && emu_turn_order(&turns);
}

void emu_lockstep_load_turns(struct emu_world *w, const char *text)
{
	struct emu_membership *m = w->membership;
	struct emu_turn turn;

	m->turns = 0;
	m->wanted = NULL;
	if (!text)
		return;
	emu_turn_order(&text);
	while (m->turns < EMU_TURNS && emu_turn_next(&text, &turn) > 0)
		if (strcmp(turn.from, m->node) == 0)
			m->turn[m->turns++] = turn;
}

/* The thread that a switch names, if it can run; 0: it cannot, or there is none. */
static uint32_t ready_target(struct emu_world *w, const struct emu_turn *turn)
{
	const struct emu_lockstep *ls = &w->fab->shared.lockstep;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++) {
		const struct emu_thread *t = &ls->thread[i];

		if (t->state == EMU_THREAD_READY && t->number == turn->to_thread &&
		    t->process >= 1 && t->process <= EMU_PROCESSES &&
		    strncmp(emu_process(w, t->process)->node, turn->to, sizeof(turn->to)) == 0)
			return i;
	}
	return 0;
}

/* Its first thread has no number before it gives the turn up for the first time. */
static bool is_thread(const struct emu_thread *t, uint32_t number)
{
	return t->number == number || (t->number == 0 && number == 1);
}

static void trace_switch(struct emu_world *w, struct emu_turn *turn)
{
	if (turn->pause_ns)
		emu_trace(w, "- note turn of line %u: thread %u of %s sleeps for %lu ns",
			  turn->line, turn->from_thread, turn->from, turn->pause_ns);
	else
		emu_trace(w, "- note turn of line %u: from thread %u of %s to thread %u of %s",
			  turn->line, turn->from_thread, turn->from, turn->to_thread, turn->to);
	turn->call = 0; /* no call has this number: it acts once */
}

uint64_t emu_lockstep_turn_pause(struct emu_world *w, const struct emu_thread *t)
{
	struct emu_membership *m = w->membership;

	for (uint32_t i = 0; i < m->turns; i++) {
		if (!m->turn[i].pause_ns || m->turn[i].call != t->calls + 1 ||
		    !is_thread(t, m->turn[i].from_thread))
			continue;
		trace_switch(w, &m->turn[i]);
		return m->turn[i].pause_ns;
	}
	return 0;
}

bool emu_lockstep_turn_due(struct emu_world *w, const struct emu_thread *t, bool waits)
{
	struct emu_membership *m = w->membership;

	for (uint32_t i = 0; i < m->turns; i++) {
		if (m->turn[i].pause_ns || m->turn[i].call != t->calls + 1 ||
		    !is_thread(t, m->turn[i].from_thread))
			continue;
		/* While the call waits, that thread may become ready. */
		if (!waits && !ready_target(w, &m->turn[i]))
			return false;
		m->wanted = &m->turn[i];
		return true;
	}
	return false;
}

uint32_t emu_lockstep_turn_wanted(struct emu_world *w)
{
	struct emu_membership *m = w->membership;
	struct emu_turn *turn = m->wanted;
	uint32_t i = turn ? ready_target(w, turn) : 0;

	m->wanted = NULL;
	if (!i)
		return 0;
	trace_switch(w, turn);
	return i;
}

void emu_lockstep_tell_calls(struct emu_world *w, uint32_t i)
{
	const struct emu_lockstep *ls = &w->fab->shared.lockstep;
	const struct emu_thread *t = &ls->thread[i];

	if (ls->in_order && t->state != EMU_THREAD_NONE && t->process == w->process && t->calls)
		emu_trace(w, "- note calls=%lu of thread %u of %s", t->calls,
			  t->number ? t->number : 1, w->membership->node);
}

void emu_lockstep_tell_all_calls(struct emu_world *w)
{
	for (uint32_t i = 1; i <= emu_thread_high(&w->fab->shared.lockstep); i++)
		emu_lockstep_tell_calls(w, i);
}
