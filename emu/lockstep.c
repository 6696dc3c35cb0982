/* SPDX-License-Identifier: BSD-3-Clause */
#include "lockstep.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "inbox.h"
#include "shared.h"
#include "trace.h"

#define CALLS_MOST 1000u /* in one turn, where another thread is ready */
#define LOOK_S     1     /* who waits for the turn looks after so long, told or not */

/* This thread, in the fabric that it used last. */
static __thread struct {
	const struct emu_world *world;
	uint32_t index;
	int32_t tid;
	uint32_t bell;  /* when it was not its turn */
	uint64_t retry; /* then: after so long; 0: when it is told */
	uint32_t naps;  /* in a row, for the helper */
	bool nap;       /* it is its turn, but not to go on: look again soon */
	bool expects;   /* it has the turn until all threads of its process are there */
	bool waits;     /* in a call, for more than the turn */
	bool poll;      /* it looked in vain */
	/* While it waits, what for: as in its struct emu_thread, which others may write to. */
	uint64_t until;
	uint32_t cq, cq_put;
} self;

static struct emu_lockstep *turns(struct emu_world *w)
{
	return &w->fab->shared.lockstep;
}

/* ---- who takes part ---- */

/* This thread; NULL: it does not take part. */
static struct emu_thread *me(struct emu_world *w)
{
	struct emu_thread *t = &turns(w)->thread[self.index];

	if (self.world != w || self.index == 0)
		return NULL;
	return t->state != EMU_THREAD_NONE && t->process == w->process && t->tid == self.tid ? t
											     : NULL;
}

uint32_t emu_lockstep_self(struct emu_world *w)
{
	return me(w) ? self.index : 0;
}

static bool my_turn(struct emu_world *w)
{
	return turns(w)->turn == self.index && self.world == w;
}

static bool is_ending(const struct emu_lockstep *ls)
{
	return ls->thread[emu_turn(ls)].state == EMU_THREAD_ENDING;
}

/* It has ended as far as its own destructors go; others still call. */
static struct emu_thread *rise_again(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	struct emu_thread *t = &ls->thread[emu_turn(ls)];

	if (!is_ending(ls) || t->process != w->process || t->tid != self.tid)
		return NULL;
	self.index = ls->turn;
	t->state = EMU_THREAD_READY;
	return t;
}

static bool any_of(const struct emu_lockstep *ls, uint16_t process)
{
	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].process == process && ls->thread[i].state != EMU_THREAD_NONE)
			return true;
	return false;
}

static struct emu_thread *take_part(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	bool late = any_of(ls, w->process) && ls->thread[emu_turn(ls)].process != w->process;
	struct emu_thread *t;
	uint32_t i = 1;

	self.world = w;
	self.tid = gettid();
	self.waits = self.poll = self.expects = self.nap = false;
	self.index = 0;
	t = rise_again(w);
	while (!t && i <= EMU_THREADS && ls->thread[i].state != EMU_THREAD_NONE)
		i++;
	if (t || i > EMU_THREADS)
		return t;
	self.index = i;
	t = &ls->thread[i];
	*t = (struct emu_thread){ .process = w->process, .tid = self.tid, .bell = t->bell };
	t->state = EMU_THREAD_READY;
	if (ls->high < i)
		ls->high = i;
	emu_lockstep_welcome(w, self.tid, late);
	if (late)
		emu_lockstep_number(w);
	return t;
}

void emu_lockstep_begin(struct emu_world *w, uint64_t bound_ns)
{
	struct emu_lockstep *ls = turns(w);

	ls->on = true;
	ls->bound_ns = bound_ns;
	ls->random = w->fab->config.seed;
}

/* ---- calls ---- */

/* The turn is over, unless threads of this process are on their way: then it is this one's until they are there. */
static void give_up(struct emu_world *w)
{
	self.expects = emu_lockstep_expects(w);
	if (self.expects)
		return;
	turns(w)->outside[w->process] = emu_lockstep_outside(w);
	emu_lockstep_number(w);
	self.expects = !emu_lockstep_pass(w);
}

/* From now on it waits, for something to happen, for another completion in cq (0: none), or until that time. */
static void begin_wait(struct emu_world *w, struct emu_thread *t, uint32_t cq, uint64_t until)
{
	self.waits = true;
	self.until = until;
	self.cq = cq;
	self.cq_put = w->fab->cq[cq].put;
	t->until = until;
	t->cq = cq;
	t->cq_put = self.cq_put;
	t->state = EMU_THREAD_WAITING;
}

static void end_wait(struct emu_thread *t)
{
	self.waits = false;
	t->cq = 0;
	if (t->state == EMU_THREAD_WAITING)
		t->state = EMU_THREAD_READY;
}

/* What is in the arena of this thread is as this thread knows it; that changes nothing but what others wrote there. */
static void mend(struct emu_world *w, struct emu_thread *t)
{
	struct emu_lockstep *ls = turns(w);
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
		if (self.cq && w->fab->cq[self.cq].put != self.cq_put)
			t->state = EMU_THREAD_READY;
	}
	if (emu_process(w, w->process)->inbox)
		m->ring |= 1ul << (w->process - 1);
}

/* All its threads are outside, or have ended: its helper does what cannot wait. */
static void stand_in(struct emu_world *w)
{
	const struct emu_lockstep *ls = turns(w);
	const struct emu_process *p = emu_process(w, w->process);

	if (emu_lockstep_any(ls, w->process, EMU_THREAD_READY) ||
	    emu_lockstep_any(ls, w->process, EMU_THREAD_WAITING))
		return;
	if (p->inbox && ls->away == 0)
		emu_trace(w, "- note preempted: no thread of %s is there", p->node);
	emu_inbox_empty(w);
}

static void come_back(struct emu_world *w, struct emu_thread *t)
{
	t->state = EMU_THREAD_READY;
	turns(w)->away--;
}

static bool nap_first(struct emu_world *w)
{
	self.nap = true;
	__atomic_fetch_add(&w->membership->awaiting, 1, __ATOMIC_SEQ_CST);
	return false;
}

/* The helper. */
static bool enter_idle(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);

	w->membership->helper = gettid();
	if (is_ending(ls) && ls->thread[emu_turn(ls)].process == w->process) {
		bool ended = emu_lockstep_has_ended(w);

		if (!ended && ++self.naps < w->membership->bound_ns / EMU_NAP_NS)
			return nap_first(w);
		if (ended) {
			ls->thread[emu_turn(ls)].state = EMU_THREAD_NONE;
			emu_lockstep_number(w);
			emu_lockstep_pass(w);
		}
	}
	self.naps = 0;
	stand_in(w);
	return true;
}

bool emu_lockstep_enter(struct emu_world *w, bool idle)
{
	struct emu_lockstep *ls = turns(w);
	struct emu_thread *t = me(w);

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
		come_back(w, t);
	mend(w, t);
	if (ls->turn == 0) {
		emu_lockstep_number(w);
		emu_lockstep_pass(w);
	}
	if (!my_turn(w)) {
		self.bell = __atomic_load_n(&t->bell, __ATOMIC_RELAXED);
		self.retry = ls->turn ? 0 : w->membership->retry;
		__atomic_fetch_add(&w->membership->awaiting, 1, __ATOMIC_SEQ_CST);
		return false;
	}
	if (self.expects && emu_lockstep_expects(w)) {
		ls->looks++;
		return nap_first(w);
	}
	self.expects = false;
	ls->looks++;
	emu_inbox_empty(w);
	return true;
}

void emu_lockstep_await(struct emu_world *w)
{
	const struct timespec nap = { .tv_nsec = EMU_NAP_NS };
	/* Now and then it looks, whether it is told or not. */
	struct timespec ts = { .tv_sec = LOOK_S };

	if (self.retry && self.retry < LOOK_S * 1000000000ul)
		ts = (struct timespec){ .tv_nsec = (long)self.retry };
	if (self.nap)
		nanosleep(&nap, NULL);
	else
		syscall(SYS_futex, &turns(w)->thread[self.index].bell, FUTEX_WAIT, self.bell, &ts,
			NULL, 0);
	self.nap = false;
	__atomic_fetch_sub(&w->membership->awaiting, 1, __ATOMIC_SEQ_CST);
}

bool emu_lockstep_settle(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	struct emu_thread *t = me(w);
	uint64_t quantum = w->fab->config.poll_quantum_ns;

	if (!t || !my_turn(w))
		return true;
	ls->looks++;
	if (self.poll) {
		self.poll = false;
		begin_wait(w, t, 0, w->fab->now + (quantum ? quantum : 1));
	}
	if (t->state == EMU_THREAD_WAITING || ++ls->calls > CALLS_MOST)
		give_up(w);
	if (!my_turn(w) || self.expects || t->state == EMU_THREAD_WAITING)
		return false;
	self.waits = false;
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
	struct emu_thread *t = me(w);
	uint32_t put = fab->cq[cq].put;

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
			t = me(w);
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
	return fab->now >= deadline && (!cq || fab->cq[cq].put == put) ? NIC_WAIT_DEADLINE
								       : NIC_WAIT_RAN;
}

/* One that takes no part looks again soon. */
static void nap(const struct nic_unlocked *unlocked)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	unlocked->unlock(unlocked->ctx);
	nanosleep(&ms, NULL);
	unlocked->lock(unlocked->ctx);
}

void emu_lockstep_sleep(struct emu_world *w, const struct nic_unlocked *unlocked)
{
	struct emu_thread *t = me(w);
	bool first = !self.waits; /* in emu_lockstep_wait the turn is given up already */

	if (!t) {
		nap(unlocked);
		return;
	}
	if (first) {
		begin_wait(w, t, 0, NIC_TIME_NEVER);
		t->told = EMU_TOLD; /* it has nothing to say */
		give_up(w);
	}
	if (!first || !my_turn(w) || self.expects) {
		unlocked->unlock(unlocked->ctx);
		unlocked->lock(unlocked->ctx);
	}
	t = me(w);
	if (first && t)
		end_wait(t);
	if (first)
		self.waits = false;
}

void emu_lockstep_exit(struct emu_world *w)
{
	struct emu_thread *t = me(w);

	if (!t)
		return;
	if (t->state == EMU_THREAD_AWAY)
		turns(w)->away--;
	t->state = EMU_THREAD_NONE;
	if (my_turn(w)) {
		t->state = EMU_THREAD_ENDING;
		emu_shared_ring((struct nic_world *)w, true);
	}
	self.world = NULL;
}
