/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep, the scheduler: it runs due events, chooses the next thread among those that are ready,
 * and advances virtual time when none is. It runs in the thread that gives up the turn.
 */
#include "emu/fabric/clock.h"
#include "emu/fabric/sharing.h"
#include "host/random.h"
#include "lockstep.h"
#include "emu/payload/handed.h"
#include "emu/shared/shared.h"
#include "emu/fabric/trace.h"

#define EVENTS_MOST 1000u    /* events of one instant before a ready thread gets the turn */
#define EVENTS_PASS 100000u  /* events of one pass, then the lock is released in between */
#define AHEAD_NS    1000000u /* virtual time may always run this far ahead of real time */

static struct emu_lockstep *lockstep_of(struct emu_world *w)
{
	return &w->fab->shared.lockstep;
}

/* ---- the next thread ---- */

/* Returns their number; *one: the only one, if there is one only. */
static uint32_t count_ready(const struct emu_lockstep *ls, uint32_t *one)
{
	uint32_t n = 0, high = emu_thread_high(ls);

	for (uint32_t i = 1; i <= high; i++) {
		if (ls->thread[i].state != EMU_THREAD_READY)
			continue;
		n++;
		*one = i;
	}
	return n;
}

/*
 * The order of threads. Their indices depend on when they registered, and would not be
 * reproducible.
 */
static uint64_t thread_rank(const struct emu_thread *t)
{
	return (uint64_t)t->process << 32 | t->number;
}

/* The thread in `state` with the lowest rank above `than`; 0: there is none. */
static uint32_t next_in_order(const struct emu_lockstep *ls, enum emu_thread_state state,
			      uint64_t than)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].state == state && thread_rank(&ls->thread[i]) > than &&
		    (!best || thread_rank(&ls->thread[i]) < thread_rank(&ls->thread[best])))
			best = i;
	return best;
}

/* The ready thread that follows the one with the last turn; 0: none is ready. */
static uint32_t choose_in_order(const struct emu_lockstep *ls)
{
	uint32_t i = next_in_order(ls, EMU_THREAD_READY, ls->last);

	return i ? i : next_in_order(ls, EMU_THREAD_READY, 0);
}

/* One of n ready threads, chosen by the seed. */
static uint32_t choose_by_seed(struct emu_lockstep *ls, uint32_t n)
{
	uint32_t left = (uint32_t)(random_next(&ls->random) % n), i, next;

	i = next_in_order(ls, EMU_THREAD_READY, 0);
	for (; left > 0 && i; left--) {
		next = next_in_order(ls, EMU_THREAD_READY, thread_rank(&ls->thread[i]));
		if (!next)
			break; /* two threads have the same rank: garbage in the arena */
		i = next;
	}
	return i;
}

/* 0: none is ready. */
static uint32_t choose_ready(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);
	uint32_t one = 0, n = count_ready(ls, &one);
	uint32_t i = n > 0 ? emu_lockstep_turn_wanted(w) : 0;

	if (i)
		return i;
	if (n <= 1)
		return one;
	return ls->in_order ? choose_in_order(ls) : choose_by_seed(ls, n);
}

static void give_turn(struct emu_world *w, uint32_t i)
{
	struct emu_lockstep *ls = lockstep_of(w);

	emu_handed_follow(w, ls->thread[i].process);
	ls->turn = i;
	ls->calls = 0;
	ls->last = thread_rank(&ls->thread[i]);
	/* If the thread is just about to sleep in FUTEX_WAIT, the changed value prevents it. */
	__atomic_fetch_add(&ls->thread[i].futex, 1, __ATOMIC_SEQ_CST);
	if (emu_lockstep_self(w) != i)
		w->membership->turn_given = i;
}

uint32_t emu_lockstep_given(struct emu_world *w)
{
	uint32_t i = w->membership->turn_given;

	w->membership->turn_given = 0;
	return i;
}

static uint32_t first_waiting(const struct emu_lockstep *ls, uint16_t process)
{
	uint32_t i = next_in_order(ls, EMU_THREAD_WAITING, (uint64_t)process << 32);

	return i && ls->thread[i].process == process ? i : 0;
}

bool emu_lockstep_has_thread(const struct emu_lockstep *ls, uint16_t process,
			     enum emu_thread_state state)
{
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].process == process && ls->thread[i].state == state)
			return true;
	return false;
}

/*
 * In each of the processes, a thread has to empty the inbox: if none is ready, a waiting one
 * becomes so. Returns the processes that have neither.
 */
static uint64_t ready_inbox_owners(struct emu_lockstep *ls, uint64_t processes)
{
	uint64_t none = 0;

	for (; processes; processes &= processes - 1) {
		uint16_t process = (uint16_t)__builtin_ctzl(processes) + 1;
		uint32_t i;

		if (emu_lockstep_has_thread(ls, process, EMU_THREAD_READY))
			continue;
		i = first_waiting(ls, process);
		if (i)
			ls->thread[i].state = EMU_THREAD_READY;
		else
			none |= 1ul << (process - 1);
	}
	return none;
}

uint64_t emu_lockstep_ready_owners(struct emu_world *w, uint64_t processes)
{
	struct emu_lockstep *ls = lockstep_of(w);
	uint32_t i;

	processes = ready_inbox_owners(ls, processes);
	if (ls->turn == 0 && !emu_lockstep_leaves(ls)) {
		i = choose_ready(w);
		if (i)
			give_turn(w, i);
	}
	return processes;
}

void emu_lockstep_wake(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].process == w->process &&
		    ls->thread[i].state == EMU_THREAD_WAITING)
			ls->thread[i].state = EMU_THREAD_READY;
}

/* An event has run: threads whose wait it ended become ready. */
static void ready_after_event(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);
	bool attention = false;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++) {
		struct emu_thread *t = &ls->thread[i];

		uint32_t cq = t->cq;

		if (t->state == EMU_THREAD_WAITING && cq && cq <= EMU_CQS &&
		    EMU_AT(w->fab->cq, cq).put != t->cq_put)
			t->state = EMU_THREAD_READY;
	}
	for (uint16_t i = 1; i <= w->nic_high; i++)
		attention |= w->nics[i].base.up && w->nics[i].base.attention;
	if (attention)
		emu_lockstep_wake(w);
	w->membership->to_wake = ready_inbox_owners(ls, w->membership->to_wake);
}

/* ---- time ---- */

/* Time of the next event or deadline; NIC_TIME_NEVER: there is neither. */
static uint64_t next_time(struct emu_world *w)
{
	const struct emu_lockstep *ls = lockstep_of(w);
	uint64_t next = w->fab->events > 0 ? w->fab->heap[0].time : NIC_TIME_NEVER;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].state == EMU_THREAD_WAITING && ls->thread[i].until < next &&
		    ls->thread[i].outside != EMU_OUTSIDE_SOFT)
			next = ls->thread[i].until;
	return next;
}

static void end_expired_waits(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].state == EMU_THREAD_WAITING && ls->thread[i].until <= w->fab->now)
			ls->thread[i].state = EMU_THREAD_READY;
}

/*
 * May virtual time not advance to `next` yet? A thread that is away is away in real time; if
 * virtual time ran ahead of it, its peers would time out sooner than on hardware.
 */
static bool is_too_soon(struct emu_world *w, uint64_t next)
{
	const struct emu_lockstep *ls = lockstep_of(w);
	struct nic *host = ls->away ? emu_clock_host(w, &w->nics[0].base) : NULL;
	struct emu_membership *m = w->membership;
	uint64_t mono, passed, left;

	if (!host || next <= ls->away_now)
		return false;
	mono = host->up->monotonic_ns(host->ctx);
	passed = mono - m->clock_offset - ls->away_mono;
	if (next - ls->away_now <= passed + AHEAD_NS)
		return false;
	left = next - ls->away_now - passed;
	if (m->soon != next) {
		m->soon = next;
		m->soon_since = mono;
	}
	/* The arena may hold garbage: measured by this process alone, enough time has passed. */
	if (next <= w->fab->now || mono - m->soon_since >= next - w->fab->now)
		return false;
	m->retry = left;
	return true;
}

/* ---- no event and no deadline is left ---- */

static bool can_go_on(const struct emu_thread *t)
{
	return t->state != EMU_THREAD_NONE &&
	       (t->state != EMU_THREAD_WAITING || t->until != NIC_TIME_NEVER);
}

static bool all_wait_forever(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);

	if (emu_lockstep_held(ls) || w->fab->events > 0)
		return false;
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (can_go_on(&ls->thread[i]))
			return false;
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		if (emu_process(w, i)->used &&
		    (ls->outside[i] || !emu_lockstep_has_thread(ls, i, EMU_THREAD_WAITING)))
			return false;
	return true;
}

/* The next waiting thread that does not know yet that its wait is hopeless; 0: all know. */
static uint32_t next_untold(const struct emu_lockstep *ls)
{
	uint32_t i = next_in_order(ls, EMU_THREAD_WAITING, 0);

	while (i && ls->thread[i].told != EMU_TOLD_NOT)
		i = next_in_order(ls, EMU_THREAD_WAITING, thread_rank(&ls->thread[i]));
	return i;
}

bool emu_lockstep_stuck(struct emu_world *w)
{
	return all_wait_forever(w) && next_untold(lockstep_of(w)) == 0;
}

static bool tell_next_hopeless(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);
	uint32_t i = all_wait_forever(w) ? next_untold(ls) : 0;

	if (!i)
		return false;
	emu_trace(w, "- note thread %u of %s waits for ever", ls->thread[i].number,
		  emu_process(w, ls->thread[i].process)->node);
	ls->thread[i].told = EMU_TOLD_NOW;
	ls->thread[i].state = EMU_THREAD_READY;
	give_turn(w, i);
	return true;
}

/* ---- one pass ---- */

/* Returns the number of events that ran. */
static unsigned int run_due(struct emu_world *w)
{
	const struct emu_fabric *fab = w->fab;
	unsigned int n = 0;
	uint32_t one;

	while (fab->events > 0 && fab->heap[0].time <= fab->now && n < EVENTS_PASS) {
		w->sharing->run_first(w);
		ready_after_event(w);
		if (++n >= EVENTS_MOST && count_ready(lockstep_of(w), &one) > 0)
			break;
	}
	return n;
}

bool emu_lockstep_pass(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);
	bool held = emu_lockstep_held(ls);
	unsigned int n = 0;
	uint64_t next;
	uint32_t i;

	ls->turn = 0;
	w->membership->retry = 0;
	if (emu_lockstep_leaves(ls))
		return true;
	/* Events may cause further events without end: after EVENTS_PASS the lock is released. */
	while (n < EVENTS_PASS) {
		w->membership->to_wake = ready_inbox_owners(ls, w->membership->to_wake);
		if (!held) {
			n += 1 + run_due(w);
			end_expired_waits(w);
		}
		i = choose_ready(w);
		if (i) {
			give_turn(w, i);
			return true;
		}
		next = held ? NIC_TIME_NEVER : next_time(w);
		if (next == NIC_TIME_NEVER && tell_next_hopeless(w))
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
	struct emu_lockstep *ls = lockstep_of(w);
	uint32_t i;

	if (ls->turn || emu_lockstep_leaves(ls))
		return;
	i = choose_ready(w);
	/* A waiting thread resumes its wait, and thereby runs the scheduler. */
	if (!i && !emu_lockstep_held(ls))
		i = next_in_order(ls, EMU_THREAD_WAITING, 0);
	if (i)
		give_turn(w, i);
}
