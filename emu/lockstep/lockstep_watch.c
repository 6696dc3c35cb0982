/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep, the watchdog: it takes the turn from a thread that stays in the program for too long,
 * removes the threads of processes that died, and repairs what garbage in the arena has broken.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>

#include "lockstep.h"
#include "emu/fabric/clock.h"
#include "emu/payload/handed.h"
#include "emu/shared/shared.h"
#include "emu/fabric/trace.h"
#include "host/nic_process.h"

/* After so many bounds a thread is away whatever it does; and after so many if it is ending. */
#define STARVED_TIMES 400u
#define ENDING_TIMES  20u
#define ROUSE_ALL     1024u /* each so many wakes of this process's threads are for all threads */

/* ---- threads that stay away ---- */

void emu_lockstep_send_away(struct emu_world *w, struct emu_thread *t, uint64_t now)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;
	const struct emu_process *p = emu_process(w, t->process);

	if (ls->away++ == 0) {
		ls->away_mono = now - w->membership->clock_offset;
		ls->away_now = w->fab->now;
	}
	t->state = EMU_THREAD_AWAY;
	if (p->inbox)
		w->membership->to_wake |= 1ul << (t->process - 1);
	ls->turn = 0;
}

/* An entry in use. */
static bool is_valid_thread(struct emu_world *w, const struct emu_thread *t)
{
	const struct emu_process *p = emu_process(w, t->process);

	return t->state <= EMU_THREAD_AWAY && t->process >= 1 && t->process <= EMU_PROCESSES &&
	       p->used && (t->state != EMU_THREAD_AWAY || emu_lockstep_task_state(p->pid, t->tid));
}

/*
 * Repair the table after garbage was written to it: free entries that stand for no living thread,
 * count the others again, and take the turn and the hold on time from threads and processes that
 * are gone.
 */
static void repair_threads(struct emu_world *w)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;
	int32_t holder = (int32_t)(uint32_t)ls->held;
	uint32_t away = 0, high = emu_thread_high(ls);

	for (uint32_t i = 1; i <= high; i++) {
		if (ls->thread[i].state != EMU_THREAD_NONE && !is_valid_thread(w, &ls->thread[i]))
			ls->thread[i].state = EMU_THREAD_NONE;
		away += ls->thread[i].state == EMU_THREAD_AWAY;
	}
	ls->high = high;
	ls->away = away;
	if (ls->turn > high || ls->thread[ls->turn].state == EMU_THREAD_NONE)
		ls->turn = 0;
	if (ls->held && (!emu_lockstep_held(ls) || (kill(holder, 0) && errno == ESRCH)))
		ls->held = 0;
}

static void preempt_holder(struct emu_world *w, uint64_t now)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;
	struct emu_thread *t = &ls->thread[ls->turn];
	const struct emu_process *p = emu_process(w, t->process);
	char place[EMU_PLACE];

	emu_trace(w, "- note preempted: thread %u of %s stays away%s", t->number, p->node,
		  emu_lockstep_place(p->pid, t->tid, place, sizeof(place)));
	emu_lockstep_send_away(w, t, now);
	emu_lockstep_kick(w);
}

/*
 * The thread or another one of its process sleeps for the lock, perhaps: the lock's holder has had
 * no processor.
 */
static bool awaits_lock(struct emu_world *w, const struct emu_thread *t)
{
	return __atomic_load_n(&emu_process(w, t->process)->lockers, __ATOMIC_SEQ_CST) > 0;
}

/* The thread has had the turn, and made no call, since `since`: has it stayed away for too long? */
static bool is_away(struct emu_world *w, struct emu_thread *t, uint64_t now, uint64_t elapsed)
{
	const struct emu_process *p = emu_process(w, t->process);
	const struct emu_membership *m = w->membership;
	struct emu_watch *watch = &w->membership->watch;
	uint64_t outside = emu_lockstep_outside_ns(watch, p->pid, t->tid, elapsed);

	/* An ending thread is left to its process's helper. */
	if (t->state == EMU_THREAD_ENDING)
		return now - watch->since >= ENDING_TIMES * m->bound_ns;
	/* It still sleeps if the thread that gave it the turn has had no processor to wake it. */
	if (!emu_lockstep_wake_thread(t) && !awaits_lock(w, t))
		watch->away += outside;
	return watch->away >= m->bound_ns || now - watch->since >= STARVED_TIMES * m->bound_ns;
}

void emu_lockstep_watch(struct emu_world *w, uint64_t now)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;
	struct emu_watch *watch = &w->membership->watch;
	uint64_t elapsed = now - watch->at;
	struct emu_thread *t;

	watch->at = now;
	emu_lockstep_stir(w, now);
	repair_threads(w);
	if (emu_lockstep_leaves(ls) && !emu_lockstep_look_at_leaver(w))
		return;
	/* No thread can do anything: what they wait for may come from outside the fabric. */
	if (!ls->turn && !emu_lockstep_held(ls))
		emu_lockstep_ready_outside(w);
	if (!ls->turn)
		emu_lockstep_kick(w);
	if (!ls->turn && !emu_lockstep_held(ls))
		emu_lockstep_pass(w); /* no thread is left that would run the scheduler */
	if (!ls->turn)
		return;
	t = &ls->thread[ls->turn];
	if (watch->turn != ls->turn || watch->activity != ls->activity) {
		watch->turn = ls->turn;
		watch->activity = ls->activity;
		watch->since = now;
		watch->away = 0;
		emu_lockstep_outside_ns(watch, emu_process(w, t->process)->pid, t->tid, 0);
		return;
	}
	if (is_away(w, t, now, elapsed))
		preempt_holder(w, now);
}

/* ---- processes that join, leave or die ---- */

static void drop_threads(struct emu_lockstep *ls, uint16_t process)
{
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++) {
		struct emu_thread *t = &ls->thread[i];

		if (t->process != process || t->state == EMU_THREAD_NONE)
			continue;
		if (t->state == EMU_THREAD_AWAY)
			ls->away--;
		t->state = EMU_THREAD_NONE;
		t->number = 0;
		if (ls->turn == i)
			ls->turn = 0;
	}
}

void emu_lockstep_drop_process(struct emu_world *w, uint16_t process)
{
	emu_handed_drop(w, process);
	drop_threads(&w->fab->shared.lockstep, process);
	emu_lockstep_kick(w);
}

static void wake_thread(struct emu_thread *t)
{
	__atomic_fetch_add(&t->futex, 1, __ATOMIC_SEQ_CST);
	emu_lockstep_wake_thread(t);
}

void emu_lockstep_rouse(struct emu_world *w, bool all)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;

	for (uint32_t i = 1; i <= w->membership->thread_high; i++)
		if (all || ls->thread[i].process == w->process)
			wake_thread(&ls->thread[i]);
}

/* If none of them has gone on after a while, the arena may hold garbage in the process's place. */
void emu_lockstep_leave(struct emu_world *w)
{
	uint32_t n = 0;

	while (__atomic_load_n(&w->membership->awaiting, __ATOMIC_SEQ_CST) > 0) {
		emu_lockstep_rouse(w, ++n % ROUSE_ALL == 0);
		sched_yield();
	}
}

void emu_lockstep_recover(struct emu_world *w)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;

	if (ls->high > EMU_THREADS)
		ls->high = EMU_THREADS;
	ls->away = 0;
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		ls->away += ls->thread[i].state == EMU_THREAD_AWAY;
	if (ls->turn > ls->high || ls->thread[emu_lockstep_turn(ls)].state == EMU_THREAD_NONE)
		ls->turn = 0;
	/* The dead process may have given the turn to a thread and not woken it. */
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		wake_thread(&ls->thread[i]);
	emu_lockstep_kick(w);
}

void emu_lockstep_hold(struct emu_world *w, bool held)
{
	if (held)
		w->fab->shared.lockstep.starter = w->membership->pid;
	w->fab->shared.lockstep.held = held ? emu_lockstep_held_by(w->membership->pid) : 0;
	emu_lockstep_kick(w);
}

/* Two halves that agree: garbage in the word does not stop time. */
uint64_t emu_lockstep_held_by(int32_t pid)
{
	return (uint64_t) ~(uint32_t)pid << 32 | (uint32_t)pid;
}

bool emu_lockstep_held(const struct emu_lockstep *ls)
{
	return (int32_t)(uint32_t)ls->held > 0 &&
	       ls->held == emu_lockstep_held_by((int32_t)(uint32_t)ls->held);
}

void emu_lockstep_join(struct emu_world *w)
{
	const struct emu_lockstep *ls = &w->fab->shared.lockstep;
	struct emu_membership *m = w->membership;

	m->bound_ns = ls->bound_ns && ls->bound_ns <= EMU_BOUND_MOST ? ls->bound_ns
								     : EMU_BOUND_USUAL;
	m->now = w->fab->now < EMU_TIME_MOST ? w->fab->now : 0;
	if (!emu_lockstep_held(ls) && w->fab->shared.processes > 0 && !emu_lockstep_is_comer(w))
		emu_trace(w, "- note preempted: %s comes late", emu_process(w, w->process)->node);
}

/*
 * datsim run asks for one process after the other. While it has stopped time, the answer is about
 * all of them: a thread that can go on may end, and thereby end the wait of one of a process that
 * was asked for before.
 */
bool emu_lockstep_waits(const struct emu_world *w, uint16_t process)
{
	const struct emu_lockstep *ls = &w->fab->shared.lockstep;
	bool any = false, all = emu_lockstep_held(ls);

	/* It may be one that is about to join. */
	if (emu_lockstep_leaves(ls) || ls->parent || (all && ls->turn))
		return false;
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++) {
		bool own = ls->thread[i].process == process;

		if ((!own && !all) || ls->thread[i].state == EMU_THREAD_NONE)
			continue;
		if (ls->thread[i].state == EMU_THREAD_READY ||
		    ls->thread[i].state == EMU_THREAD_ENDING)
			return false;
		any |= own;
	}
	return any;
}

/* ---- threads that wait for something outside the library: host/outside/outside.h ---- */

/*
 * It cannot be known which program is at the other end of a descriptor, so a thread that waits for
 * one tests it again whenever any program has written to one; once in a while of virtual time, if
 * other things make that pass; and, if no thread can do anything, at each look of the watchdog.
 */
void emu_lockstep_ready_outside(struct emu_world *w)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].state == EMU_THREAD_WAITING && ls->thread[i].outside)
			ls->thread[i].state = EMU_THREAD_READY;
}

/* Without one, its process is about to leave the fabric, or has not begun. */
static bool has_adapter(const struct emu_world *w)
{
	for (uint16_t i = 1; i <= emu_adapter_high(w->fab); i++)
		if (w->fab->adapters[i].open && emu_mine(w, i))
			return true;
	return false;
}

static void leave_turn(struct emu_world *w)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;
	struct nic *host = emu_clock_host(w, &w->nics[0].base);
	uint32_t self = emu_lockstep_self(w);
	struct emu_thread *t = &ls->thread[self];

	if (!self || ls->turn != self)
		return;
	if (has_adapter(w))
		emu_trace(w, "- note preempted: thread %u of %s waits outside", t->number,
			  emu_process(w, t->process)->node);
	/* Without an adapter it is not expected back: virtual time need not follow. */
	emu_lockstep_send_away(
		w, t, host ? host->up->monotonic_ns(host->ctx) : w->membership->clock_offset);
	emu_lockstep_pass(w);
}

void emu_lockstep_outside_event(struct emu_world *w, enum nic_outside what)
{
	switch (what) {
	case NIC_OUTSIDE_WAITS:
		emu_lockstep_wait_outside();
		break;
	case NIC_OUTSIDE_TELLS:
		emu_lockstep_ready_outside(w);
		break;
	case NIC_OUTSIDE_LEAVES:
		leave_turn(w);
		break;
	case NIC_OUTSIDE_RESTARTS:
		if (w->fab->shared.lockstep.starter > 0)
			w->fab->shared.lockstep.held =
				emu_lockstep_held_by(w->fab->shared.lockstep.starter);
		break;
	case NIC_OUTSIDE_ENDS:
		emu_lockstep_await_end(w, w->membership->pid);
		break;
	case NIC_OUTSIDE_BEARS:
		emu_lockstep_await_child(w);
		break;
	case NIC_OUTSIDE_DEPARTS:
		emu_trace(w, "- note own fabric: %s makes one, and takes no part in this one",
			  emu_process(w, w->process)->node);
		break;
	case NIC_OUTSIDE_CALLS:
		w->membership->called++;
		w->membership->called_naps = 0;
		break;
	case NIC_OUTSIDE_CALLS_NOT:
		if (w->membership->called)
			w->membership->called--;
		break;
	}
}
