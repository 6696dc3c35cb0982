/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep, the calling thread's side: how it registers, waits for the turn when a call begins,
 * waits for completions, and gives up the turn. The choice of the next thread is in
 * lockstep_pass.c.
 */
#include "lockstep.h"

#include <unistd.h>

#include "emu/fabric/clock.h"
#include "emu/guard.h"
#include "emu/shared/inbox.h"
#include "emu/shared/shared.h"
#include "emu/fabric/trace.h"

#ifdef EMU_GUARD_THREAD
#include <sanitizer/common_interface_defs.h>
#endif

#define CALLS_MOST 1000u    /* calls in one turn before other ready threads get theirs */
#define RETEST_NS  1000000u /* of virtual time between two tests of a descriptor */

/* The calling thread, in the fabric that it used last. */
static __thread struct {
	const struct emu_world *world;
	uint32_t index;
	int32_t tid;
	struct emu_sleep sleep; /* as it was when another thread had the turn */
	uint64_t gave;  /* emu_membership.nonce: it gave the turn up, and sleeps next; 0: no */
	uint32_t naps;  /* the helper: naps in a row */
	bool expects;   /* it keeps the turn until new threads of its process have registered */
	bool waits;     /* it is in a call that waits for a completion or a deadline */
	bool outside;   /* the next wait is for a descriptor */
	bool poll;      /* its poll found nothing */
	bool settles;   /* it settles a call that it has begun to settle before */
	uint64_t pause; /* it sleeps until then, at the end of a call */
	/*
	 * What it waits for. The copy in struct emu_thread may be overwritten by another process.
	 */
	uint64_t until;
	uint32_t cq, cq_put;
} self __attribute__((tls_model("initial-exec")));

static struct emu_lockstep *lockstep_of(struct emu_world *w)
{
	return &w->fab->shared.lockstep;
}

/* ---- registration ---- */

/* The entry of the calling thread; NULL: it is not registered. */
static struct emu_thread *this_thread(struct emu_world *w)
{
	struct emu_thread *t = &lockstep_of(w)->thread[self.index];

	if (self.world != w || self.index == 0)
		return NULL;
	return t->state != EMU_THREAD_NONE && t->process == w->process && t->tid == self.tid ? t
											     : NULL;
}

uint32_t emu_lockstep_self(struct emu_world *w)
{
	return this_thread(w) ? self.index : 0;
}

static bool my_turn(struct emu_world *w)
{
	return lockstep_of(w)->turn == self.index && self.world == w;
}

static bool is_ending(const struct emu_lockstep *ls)
{
	return ls->thread[emu_lockstep_turn(ls)].state == EMU_THREAD_ENDING;
}

/*
 * The thread has run emu_lockstep_exit, a destructor of thread-specific data; a later destructor
 * calls into the library again.
 */
static struct emu_thread *resume_ending(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);
	struct emu_thread *t = &ls->thread[emu_lockstep_turn(ls)];

	if (!is_ending(ls) || t->process != w->process || t->tid != self.tid)
		return NULL;
	self.index = ls->turn;
	t->state = EMU_THREAD_READY;
	return t;
}

static bool has_any_thread(const struct emu_lockstep *ls, uint16_t process)
{
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].process == process && ls->thread[i].state != EMU_THREAD_NONE)
			return true;
	return false;
}

static struct emu_thread *take_part(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);
	bool late = has_any_thread(ls, w->process) && !emu_lockstep_is_comer(w) &&
		    ls->thread[emu_lockstep_turn(ls)].process != w->process;
	struct emu_thread *t;
	uint32_t i = 1;

	self.world = w;
	self.tid = gettid();
	self.waits = self.poll = self.expects = self.sleep.naps = self.settles = false;
	self.index = 0;
	t = resume_ending(w);
	while (!t && i <= EMU_THREADS && ls->thread[i].state != EMU_THREAD_NONE)
		i++;
	if (t || i > EMU_THREADS)
		return t;
	self.index = i;
	t = &ls->thread[i];
	*t = (struct emu_thread){ .process = w->process, .tid = self.tid, .futex = t->futex };
	t->state = EMU_THREAD_READY;
	if (ls->high < i)
		ls->high = i;
	if (w->membership->thread_high < i)
		w->membership->thread_high = i;
	emu_lockstep_note_arrival(w, self.tid, late);
	if (late || emu_lockstep_is_comer(w))
		emu_lockstep_number(w);
	emu_lockstep_came(w);
	return t;
}

/* ---- calls ---- */

/*
 * End the turn, unless new threads of this process are expected: then the calling thread keeps it
 * until they have registered.
 */
static void give_up(struct emu_world *w)
{
	self.expects = emu_lockstep_expects(w);
	if (self.expects)
		return;
	lockstep_of(w)->outside[w->process] = emu_lockstep_outside(w);
	emu_lockstep_number(w);
	if (w->membership->turns && !self.settles && !emu_lockstep_held(lockstep_of(w)))
		emu_lockstep_turn_due(w, &lockstep_of(w)->thread[self.index], true);
	self.expects = !emu_lockstep_pass(w);
	w->membership->wanted = NULL;
	if (!self.expects && lockstep_of(w)->turn && !my_turn(w)) {
		emu_lockstep_note_turn(w, &lockstep_of(w)->thread[self.index], &self.sleep);
		self.gave = w->membership->nonce;
	}
}

bool emu_lockstep_gave(struct emu_world *w)
{
	bool gave = self.gave && self.gave == w->membership->nonce;

	self.gave = 0;
	if (gave)
		__atomic_fetch_add(&w->membership->awaiting, 1, __ATOMIC_SEQ_CST);
	return gave;
}

void emu_lockstep_wait_outside(void)
{
	self.outside = true;
}

static uint8_t outside_kind(uint64_t until)
{
	if (!self.outside)
		return EMU_OUTSIDE_NOT;
	return until == NIC_TIME_NEVER ? EMU_OUTSIDE_SOFT : EMU_OUTSIDE_TIMED;
}

/* The wait ends with a wake, with a new completion in cq (0: none), or at virtual time `until`. */
static void begin_wait(struct emu_world *w, struct emu_thread *t, uint32_t cq, uint64_t until)
{
	self.waits = true;
	t->outside = outside_kind(until);
	if (t->outside == EMU_OUTSIDE_SOFT)
		until = w->fab->now + RETEST_NS;
	self.outside = false;
	self.until = until;
	self.cq = cq;
	self.cq_put = EMU_AT(w->fab->cq, cq).put;
	t->until = until;
	t->cq = cq;
	t->cq_put = self.cq_put;
	t->state = EMU_THREAD_WAITING;
}

static void end_wait(struct emu_thread *t)
{
	self.waits = false;
	t->cq = 0;
	t->outside = EMU_OUTSIDE_NOT;
	if (t->state == EMU_THREAD_WAITING)
		t->state = EMU_THREAD_READY;
}

/*
 * Write the calling thread's state into the arena again, from its own memory. This changes
 * something only if another process has overwritten it.
 */
static void restore_own_state(struct emu_world *w, struct emu_thread *t)
{
	struct emu_lockstep *ls = lockstep_of(w);
	struct emu_membership *m = w->membership;

	if (w->fab->now >= EMU_TIME_MOST)
		w->fab->now = m->now;
	m->now = w->fab->now;
	if (emu_thread_high(ls) < self.index)
		ls->high = self.index;
	if (t->state > EMU_THREAD_AWAY || (t->state == EMU_THREAD_WAITING && !self.waits))
		t->state = EMU_THREAD_READY;
	if (!self.waits)
		t->told = EMU_TOLD_NOT;
	if (t->state == EMU_THREAD_WAITING) {
		t->until = self.until;
		t->cq = self.cq;
		t->cq_put = self.cq_put;
		if (self.cq && EMU_AT(w->fab->cq, self.cq).put != self.cq_put)
			t->state = EMU_THREAD_READY;
	}
	if (emu_process(w, w->process)->inbox)
		m->to_wake |= 1ul << (w->process - 1);
}

/*
 * If no thread of this process can empty the inbox (all are away, or have ended), the helper does.
 */
static void helper_empties_inbox(struct emu_world *w)
{
	const struct emu_lockstep *ls = lockstep_of(w);
	const struct emu_process *p = emu_process(w, w->process);

	if (emu_lockstep_has_thread(ls, w->process, EMU_THREAD_READY) ||
	    emu_lockstep_has_thread(ls, w->process, EMU_THREAD_WAITING))
		return;
	if (p->inbox && ls->away == 0)
		emu_trace(w, "- note preempted: no thread of %s is there", p->node);
	emu_inbox_empty(w);
}

static void end_absence(struct emu_world *w, struct emu_thread *t)
{
	t->state = EMU_THREAD_READY;
	lockstep_of(w)->away--;
}

static bool nap_once(struct emu_world *w)
{
	self.sleep.naps = true;
	__atomic_fetch_add(&w->membership->awaiting, 1, __ATOMIC_SEQ_CST);
	return false;
}

/*
 * ThreadSanitizer begins a thread of its own with the first one of the program. It would count as
 * one outside of this fabric that may end any wait, so no deadlock would be one. It has begun when
 * the helper has, and the sanitizer can do without it.
 */
static void end_sanitizers_thread(void)
{
#ifdef EMU_GUARD_THREAD
	__sanitizer_sandbox_on_notify(NULL);
#endif
}

/*
 * The helper enters. It takes no turns; it passes on the turn of a thread that has exited, once the
 * kernel has removed that thread.
 */
static bool enter_idle(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);

	if (!w->membership->helper)
		end_sanitizers_thread();
	emu_lockstep_note_helper(w, gettid());
	if (is_ending(ls) && ls->thread[emu_lockstep_turn(ls)].process == w->process) {
		bool ended = emu_lockstep_has_ended(w);

		if (!ended && ++self.naps < w->membership->bound_ns / EMU_NAP_NS)
			return nap_once(w);
		if (ended) {
			ls->thread[emu_lockstep_turn(ls)].state = EMU_THREAD_NONE;
			ls->outside[w->process] = emu_lockstep_outside(w);
			emu_lockstep_wake(w); /* a thread may wait to join it */
			emu_lockstep_number(w);
			emu_lockstep_pass(w);
		}
	}
	self.naps = 0;
	if (emu_lockstep_leaver_stays(w))
		return nap_once(w);
	helper_empties_inbox(w);
	return true;
}

bool emu_lockstep_enter(struct emu_world *w, bool idle)
{
	struct emu_lockstep *ls = lockstep_of(w);
	struct emu_thread *t = this_thread(w);

	if (idle)
		return enter_idle(w);
	if (!t)
		t = take_part(w);
	if (!t) {
		emu_trace(w, "- note preempted: there are more threads than take turns");
		emu_inbox_empty(w);
		return true;
	}
	if (t->state == EMU_THREAD_AWAY)
		end_absence(w, t);
	restore_own_state(w, t);
	if (ls->turn == 0) {
		emu_lockstep_number(w);
		emu_lockstep_pass(w);
	}
	if (my_turn(w) && w->membership->back_ns > w->fab->now) {
		begin_wait(w, t, 0, w->membership->back_ns);
		give_up(w);
	}
	if (!my_turn(w)) {
		emu_lockstep_note_turn(w, t, &self.sleep);
		__atomic_fetch_add(&w->membership->awaiting, 1, __ATOMIC_SEQ_CST);
		return false;
	}
	if (self.expects && emu_lockstep_expects(w)) {
		ls->activity++;
		return nap_once(w);
	}
	self.expects = false;
	ls->activity++;
	emu_inbox_empty(w);
	return true;
}

void emu_lockstep_await(struct emu_world *w)
{
	emu_lockstep_sleep_on(&lockstep_of(w)->thread[self.index], &self.sleep);
	self.sleep.naps = false;
	__atomic_fetch_sub(&w->membership->awaiting, 1, __ATOMIC_SEQ_CST);
}

/*
 * The end of a call, where the thread may be asked to sleep. A packet that arrives for the process
 * wakes it; then it sleeps on.
 */
static void pause_if_due(struct emu_world *w, struct emu_thread *t)
{
	if (!self.settles)
		self.pause = w->fab->now + emu_lockstep_turn_pause(w, t);
	if (self.pause > w->fab->now && (t->state != EMU_THREAD_WAITING || self.pause > self.until))
		begin_wait(w, t, 0, self.pause);
}

/* A switch that was asked for is due at the end of this call. */
static bool is_to_switch(struct emu_world *w, const struct emu_thread *t)
{
	return w->membership->wanted ||
	       (w->membership->turns && !self.settles && !emu_lockstep_held(lockstep_of(w)) &&
		emu_lockstep_turn_due(w, t, false));
}

bool emu_lockstep_settle(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);
	struct emu_thread *t = this_thread(w);
	uint64_t quantum = w->config.poll_quantum_ns;

	if (!t || !my_turn(w))
		return true;
	ls->activity++;
	/* It looks for its child again and again: how often depends on the machine. */
	if (emu_lockstep_awaits_child(w))
		return true;
	if (self.poll) {
		self.poll = false;
		begin_wait(w, t, 0, w->fab->now + (quantum ? quantum : 1));
	}
	if (w->membership->turns && !emu_lockstep_held(ls))
		pause_if_due(w, t);
	if (t->state == EMU_THREAD_WAITING || is_to_switch(w, t) || ++ls->calls > CALLS_MOST)
		give_up(w);
	self.settles = !my_turn(w) || self.expects || t->state == EMU_THREAD_WAITING;
	if (self.settles)
		return false;
	self.waits = false;
	t->calls += !emu_lockstep_held(ls);
	return true;
}

void emu_lockstep_poll(struct emu_world *w)
{
	(void)w;
	self.poll = true;
}

enum nic_wait emu_lockstep_wait(struct emu_world *w, struct nic *nic, uint32_t cq,
				uint64_t deadline)
{
	const struct emu_fabric *fab = w->fab;
	struct emu_thread *t = this_thread(w);
	uint32_t put = EMU_AT(fab->cq, cq).put;

	if (deadline <= fab->now) {
		self.poll = true;
		return NIC_WAIT_DEADLINE;
	}
	if (!t) {
		nic->up->sleep(nic->ctx, NIC_TIME_NEVER);
		return NIC_WAIT_RAN;
	}
	begin_wait(w, t, cq, deadline);
	while (t && t->state == EMU_THREAD_WAITING) {
		give_up(w);
		if (!my_turn(w) || self.expects) {
			nic->up->sleep(nic->ctx, NIC_TIME_NEVER);
			t = this_thread(w);
		}
	}
	if (t)
		end_wait(t);
	self.waits = false;
	if (t && t->told == EMU_TOLD_NOW) {
		t->told = EMU_TOLD;
		return NIC_WAIT_HOPELESS;
	}
	if (t)
		t->told = EMU_TOLD_NOT;
	return fab->now >= deadline && (!cq || EMU_AT(fab->cq, cq).put == put) ? NIC_WAIT_DEADLINE
									       : NIC_WAIT_RAN;
}

/* An unregistered thread has no futex to sleep on: it polls. */
static void sleep_unlocked(const struct nic_unlocked *unlocked)
{
	unlocked->unlock(unlocked->ctx);
	emu_lockstep_nap(1000000);
	unlocked->lock(unlocked->ctx);
}

void emu_lockstep_sleep(struct emu_world *w, const struct nic_unlocked *unlocked)
{
	struct emu_thread *t = this_thread(w);
	bool first = !self.waits; /* else emu_lockstep_wait has given up the turn already */

	if (!t) {
		sleep_unlocked(unlocked);
		return;
	}
	if (first) {
		begin_wait(w, t, 0, NIC_TIME_NEVER);
		t->told = EMU_TOLD; /* this wait cannot return NIC_WAIT_HOPELESS */
		give_up(w);
	}
	if (!first || !my_turn(w) || self.expects) {
		unlocked->unlock(unlocked->ctx);
		/* A thread that waits for the end of the world sleeps in it as well. */
		if (!unlocked->lock(unlocked->ctx))
			return;
	}
	t = this_thread(w);
	if (first && t)
		end_wait(t);
	self.waits &= !first;
}

void emu_lockstep_exit(struct emu_world *w)
{
	struct emu_thread *t = this_thread(w);

	if (!t)
		return;
	if (t->state == EMU_THREAD_AWAY)
		end_absence(w, t);
	emu_lockstep_tell_calls(w, self.index);
	t->state = EMU_THREAD_NONE;
	if (my_turn(w)) {
		t->state = EMU_THREAD_ENDING;
		emu_shared_ring((struct nic_world *)w, true);
	}
	self.world = NULL;
}
