/* SPDX-License-Identifier: BSD-3-Clause */
/* Lockstep: who is next. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "lockstep.h"
#include "shared.h"
#include "trace.h"

#define EVENTS_MOST 1000u    /* of one instant, where a thread is ready */
#define EVENTS_PASS 100000u  /* of one pass */
#define AHEAD_NS    1000000u /* so far time may run ahead of the monotonic clock at any time */

static struct emu_lockstep *turns(struct emu_world *w)
{
	return &w->fab->shared.lockstep;
}

/* ---- who is next ---- */

static uint64_t next_random(struct emu_lockstep *ls)
{
	uint64_t z = (ls->random += 0x9e3779b97f4a7c15ul);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
	return z ^ (z >> 31);
}

static uint32_t count_ready(const struct emu_lockstep *ls)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		n += ls->thread[i].state == EMU_THREAD_READY;
	return n;
}

/* Where a thread has its entry is chance. */
static uint64_t rank(const struct emu_thread *t)
{
	return (uint64_t)t->process << 32 | t->number;
}

/* Of those in that state the one that follows, in their order, on the one of that rank; 0: none does. */
static uint32_t follower(const struct emu_lockstep *ls, enum emu_thread_state state, uint64_t than)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].state == state && rank(&ls->thread[i]) > than &&
		    (!best || rank(&ls->thread[i]) < rank(&ls->thread[best])))
			best = i;
	return best;
}

/* One of those that are ready; 0: none is. */
static uint32_t choose(struct emu_lockstep *ls)
{
	uint32_t n = count_ready(ls), left, i, next;

	if (n == 0)
		return 0;
	left = n > 1 ? (uint32_t)(next_random(ls) % n) : 0;
	i = follower(ls, EMU_THREAD_READY, 0);
	for (; left > 0 && i; left--) {
		next = follower(ls, EMU_THREAD_READY, rank(&ls->thread[i]));
		if (!next)
			break; /* two of the same rank: nonsense */
		i = next;
	}
	return i;
}

static void give(struct emu_world *w, uint32_t i)
{
	struct emu_lockstep *ls = turns(w);

	ls->turn = i;
	ls->calls = 0;
	/* One that is about to sleep for it does not, then. */
	__atomic_fetch_add(&ls->thread[i].bell, 1, __ATOMIC_SEQ_CST);
	if (emu_lockstep_self(w) != i)
		w->membership->turn_given = i;
}

void emu_lockstep_tell(struct emu_world *w)
{
	uint32_t i = w->membership->turn_given;

	w->membership->turn_given = 0;
	if (i)
		syscall(SYS_futex, &turns(w)->thread[i].bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static uint32_t waiting_of(const struct emu_lockstep *ls, uint16_t process)
{
	uint32_t i = follower(ls, EMU_THREAD_WAITING, (uint64_t)process << 32);

	return i && ls->thread[i].process == process ? i : 0;
}

bool emu_lockstep_any(const struct emu_lockstep *ls, uint16_t process, enum emu_thread_state state)
{
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].process == process && ls->thread[i].state == state)
			return true;
	return false;
}

/* A thread of each looks into its inbox. Which have none is returned. */
static uint64_t see_to_inboxes(struct emu_lockstep *ls, uint64_t ring)
{
	uint64_t none = 0;

	for (; ring; ring &= ring - 1) {
		uint16_t process = (uint16_t)__builtin_ctzl(ring) + 1;
		uint32_t i;

		if (emu_lockstep_any(ls, process, EMU_THREAD_READY))
			continue;
		i = waiting_of(ls, process);
		if (i)
			ls->thread[i].state = EMU_THREAD_READY;
		else
			none |= 1ul << (process - 1);
	}
	return none;
}

uint64_t emu_lockstep_rung(struct emu_world *w, uint64_t ring)
{
	struct emu_lockstep *ls = turns(w);
	uint32_t i;

	ring = see_to_inboxes(ls, ring);
	if (ls->turn == 0) {
		i = choose(ls);
		if (i)
			give(w, i);
	}
	return ring;
}

void emu_lockstep_wake(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].process == w->process &&
		    ls->thread[i].state == EMU_THREAD_WAITING)
			ls->thread[i].state = EMU_THREAD_READY;
}

/* An event ran: whose wait is over? */
static void look_around(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	bool attention = false;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++) {
		struct emu_thread *t = &ls->thread[i];

		uint32_t cq = t->cq;

		if (t->state == EMU_THREAD_WAITING && cq && cq <= EMU_CQS &&
		    w->fab->cq[cq].put != t->cq_put)
			t->state = EMU_THREAD_READY;
	}
	for (uint16_t i = 1; i <= EMU_ADAPTERS; i++)
		attention |= w->fab->adapters[i].open && emu_mine(w, i) &&
			     w->nics[i].base.attention;
	if (attention)
		emu_lockstep_wake(w);
	w->membership->ring = see_to_inboxes(ls, w->membership->ring);
}

/* ---- time ---- */

/* The next event or deadline; NIC_TIME_NEVER: nothing is to come. */
static uint64_t next_time(struct emu_world *w)
{
	const struct emu_lockstep *ls = turns(w);
	uint64_t next = w->fab->events > 0 ? w->fab->heap[0].time : NIC_TIME_NEVER;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].state == EMU_THREAD_WAITING && ls->thread[i].until < next)
			next = ls->thread[i].until;
	return next;
}

static void end_waits(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].state == EMU_THREAD_WAITING && ls->thread[i].until <= w->fab->now)
			ls->thread[i].state = EMU_THREAD_READY;
}

/* Whoever is away is away in real time: others do not give up on it sooner than on hardware. */
static bool is_too_soon(struct emu_world *w, uint64_t next)
{
	const struct emu_lockstep *ls = turns(w);
	struct nic *host = ls->away ? emu_clock_host(w, &w->nics[0].base) : NULL;
	struct emu_membership *m = w->membership;
	uint64_t mono, passed, left;

	if (!host || next <= ls->away_now)
		return false;
	mono = host->up->monotonic_ns(host->ctx);
	passed = mono - ls->away_mono;
	if (next - ls->away_now <= passed + AHEAD_NS)
		return false;
	left = next - ls->away_now - passed;
	if (m->soon != next) {
		m->soon = next;
		m->soon_since = mono;
	}
	/* By this process's own books it cannot be so any more. */
	if (next <= w->fab->now || mono - m->soon_since >= next - w->fab->now)
		return false;
	m->retry = left;
	return true;
}

/* ---- nothing is to come ---- */

static bool can_go_on(const struct emu_thread *t)
{
	return t->state != EMU_THREAD_NONE &&
	       (t->state != EMU_THREAD_WAITING || t->until != NIC_TIME_NEVER);
}

static bool waits_for_ever(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);

	if (emu_lockstep_held(ls) || w->fab->events > 0)
		return false;
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (can_go_on(&ls->thread[i]))
			return false;
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		if (emu_process(w, i)->used &&
		    (ls->outside[i] || !emu_lockstep_any(ls, i, EMU_THREAD_WAITING)))
			return false;
	return true;
}

/* Who is to be told next that it does, 0: nobody. */
static uint32_t untold(const struct emu_lockstep *ls)
{
	uint32_t i = follower(ls, EMU_THREAD_WAITING, 0);

	while (i && ls->thread[i].told != EMU_TOLD_NOT)
		i = follower(ls, EMU_THREAD_WAITING, rank(&ls->thread[i]));
	return i;
}

bool emu_lockstep_stuck(struct emu_world *w)
{
	return waits_for_ever(w) && untold(turns(w)) == 0;
}

static bool tell_one(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	uint32_t i = waits_for_ever(w) ? untold(ls) : 0;

	if (!i)
		return false;
	emu_trace(w, "- note thread %u of %s waits for ever", ls->thread[i].number,
		  emu_process(w, ls->thread[i].process)->node);
	ls->thread[i].told = EMU_TOLD_NOW;
	ls->thread[i].state = EMU_THREAD_READY;
	give(w, i);
	return true;
}

/* ---- all of it ---- */

/* How many. */
static unsigned int run_due(struct emu_world *w)
{
	const struct emu_fabric *fab = w->fab;
	unsigned int n = 0;

	while (fab->events > 0 && fab->heap[0].time <= fab->now && n < EVENTS_PASS) {
		emu_clock_run_first(w);
		look_around(w);
		if (++n >= EVENTS_MOST && count_ready(turns(w)) > 0)
			break;
	}
	return n;
}

bool emu_lockstep_pass(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	bool held = emu_lockstep_held(ls);
	unsigned int n = 0;
	uint64_t next;
	uint32_t i;

	ls->turn = 0;
	w->membership->retry = 0;
	/* Events may lead to others for ever: the lock is let go of in between. */
	while (n < EVENTS_PASS) {
		w->membership->ring = see_to_inboxes(ls, w->membership->ring);
		if (!held) {
			n += 1 + run_due(w);
			end_waits(w);
		}
		i = choose(ls);
		if (i) {
			give(w, i);
			return true;
		}
		next = held ? NIC_TIME_NEVER : next_time(w);
		if (next == NIC_TIME_NEVER && tell_one(w))
			return true;
		if (next == NIC_TIME_NEVER || is_too_soon(w, next))
			return true;
		if (next > w->fab->now)
			w->fab->now = next;
	}
	ls->turn = emu_lockstep_self(w);
	return ls->turn == 0;
}

void emu_lockstep_kick(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	uint32_t i;

	if (ls->turn)
		return;
	i = choose(ls);
	/* That one goes on waiting, and sees to what is next. */
	if (!i && !emu_lockstep_held(ls))
		i = follower(ls, EMU_THREAD_WAITING, 0);
	if (i)
		give(w, i);
}
