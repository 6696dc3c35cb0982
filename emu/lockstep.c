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

/* This thread, in the fabric that it used last. */
static __thread struct {
	const struct emu_world *world;
	uint32_t index;
	int32_t tid;
	uint32_t bell;  /* when it was not its turn */
	uint64_t retry; /* then: monotonic time; 0: when it is told */
	bool nap;       /* it is its turn, but not to go on: look again soon */
	bool expects;   /* it has the turn until all threads of its process are there */
	bool waits;     /* in a call, for more than the turn */
	bool poll;      /* it looked in vain */
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
	emu_lockstep_number(w);
	emu_lockstep_pass(w);
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
		if (!emu_lockstep_has_ended(w))
			return nap_first(w);
		ls->thread[emu_turn(ls)].state = EMU_THREAD_NONE;
		emu_lockstep_number(w);
		emu_lockstep_pass(w);
	}
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
	if (t->state == EMU_THREAD_WAITING && !self.waits)
		t->state = EMU_THREAD_READY;
	ls->looks++;
	emu_inbox_empty(w);
	return true;
}

void emu_lockstep_await(struct emu_world *w)
{
	const struct timespec nap = { .tv_nsec = EMU_NAP_NS };
	struct timespec ts = { .tv_sec = (time_t)(self.retry / 1000000000ul),
			       .tv_nsec = (long)(self.retry % 1000000000ul) };

	if (self.nap)
		nanosleep(&nap, NULL);
	else
		syscall(SYS_futex, &turns(w)->thread[self.index].bell, FUTEX_WAIT_BITSET, self.bell,
			self.retry ? &ts : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
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
		self.waits = true;
		t->until = w->fab->now + (quantum ? quantum : 1);
		t->state = EMU_THREAD_WAITING;
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
	t->until = deadline;
	t->cq = cq;
	t->cq_put = put;
	t->state = EMU_THREAD_WAITING;
	self.waits = true;
	while (t->state == EMU_THREAD_WAITING) {
		give_up(w);
		if (!my_turn(w) || self.expects)
			nic->up->sleep(nic->ctx, NIC_TIME_NEVER);
	}
	self.waits = false;
	t->cq = 0;
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

	if (!t) {
		nap(unlocked);
		return;
	}
	/* In emu_lockstep_wait the turn is given up already. */
	if (!self.waits) {
		t->until = NIC_TIME_NEVER;
		t->state = EMU_THREAD_WAITING;
		give_up(w);
		if (my_turn(w) && !self.expects) {
			t->state = EMU_THREAD_READY;
			return;
		}
	}
	unlocked->unlock(unlocked->ctx);
	unlocked->lock(unlocked->ctx);
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
