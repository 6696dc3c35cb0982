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

#define CALLS_MOST         1000u    /* in one turn, where another thread is ready */
#define EVENTS_MOST        1000u    /* of one instant, likewise */
#define AHEAD_NS           1000000u /* so far time may run ahead of the monotonic clock at any time */
#define LOOKS_BEFORE_SLEEP 200

/* This thread, in the fabric that it used last. */
static __thread struct {
	const struct emu_world *world;
	uint32_t index;
	int32_t tid;
	uint32_t bell;  /* when it was not its turn */
	uint64_t retry; /* monotonic time; 0: until it is told */
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

static bool my_turn(struct emu_world *w)
{
	return turns(w)->turn == self.index && self.world == w;
}

static struct emu_thread *take_part(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	struct emu_thread *t;
	uint32_t i = 1, number = 1;

	for (uint32_t other = 1; other <= ls->high; other++)
		if (ls->thread[other].process == w->process && ls->thread[other].number >= number)
			number = ls->thread[other].number + 1;
	while (i <= EMU_THREADS && ls->thread[i].state != EMU_THREAD_NONE)
		i++;
	if (i > EMU_THREADS)
		return NULL;
	self.world = w;
	self.index = i;
	self.tid = gettid();
	self.waits = self.poll = false;
	t = &ls->thread[i];
	*t = (struct emu_thread){ .process = w->process,
				  .tid = self.tid,
				  .number = number,
				  .bell = t->bell };
	t->state = EMU_THREAD_READY;
	if (ls->high < i)
		ls->high = i;
	return t;
}

void emu_lockstep_begin(struct emu_world *w, uint64_t bound_ns)
{
	struct emu_lockstep *ls = turns(w);

	ls->on = true;
	ls->bound_ns = bound_ns;
	ls->random = w->fab->config.seed;
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

	for (uint32_t i = 1; i <= ls->high; i++)
		n += ls->thread[i].state == EMU_THREAD_READY;
	return n;
}

/* One of those that are ready; 0: none is. */
static uint32_t choose(struct emu_lockstep *ls)
{
	uint32_t n = count_ready(ls), left;

	if (n == 0)
		return 0;
	left = n > 1 ? (uint32_t)(next_random(ls) % n) : 0;
	for (uint32_t i = 1;; i++)
		if (ls->thread[i].state == EMU_THREAD_READY && left-- == 0)
			return i;
}

static void give(struct emu_world *w, uint32_t i)
{
	struct emu_lockstep *ls = turns(w);

	ls->turn = i;
	ls->calls = 0;
	if (me(w) && self.index == i)
		return;
	__atomic_fetch_add(&ls->thread[i].bell, 1, __ATOMIC_SEQ_CST);
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
	for (uint32_t i = 1; i <= ls->high; i++)
		if (ls->thread[i].process == process && ls->thread[i].state == EMU_THREAD_WAITING)
			return i;
	return 0;
}

static bool any_ready_of(const struct emu_lockstep *ls, uint16_t process)
{
	for (uint32_t i = 1; i <= ls->high; i++)
		if (ls->thread[i].process == process && ls->thread[i].state == EMU_THREAD_READY)
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

		if (any_ready_of(ls, process))
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

	for (uint32_t i = 1; i <= ls->high; i++)
		if (ls->thread[i].process == w->process &&
		    ls->thread[i].state == EMU_THREAD_WAITING)
			ls->thread[i].state = EMU_THREAD_READY;
}

/* An event ran: whose wait is over? */
static void look_around(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	bool attention = false;

	for (uint32_t i = 1; i <= ls->high; i++) {
		struct emu_thread *t = &ls->thread[i];

		if (t->state == EMU_THREAD_WAITING && t->cq && w->fab->cq[t->cq].put != t->cq_put)
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

	for (uint32_t i = 1; i <= ls->high; i++)
		if (ls->thread[i].state == EMU_THREAD_WAITING && ls->thread[i].until < next)
			next = ls->thread[i].until;
	return next;
}

static void end_waits(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);

	for (uint32_t i = 1; i <= ls->high; i++)
		if (ls->thread[i].state == EMU_THREAD_WAITING && ls->thread[i].until <= w->fab->now)
			ls->thread[i].state = EMU_THREAD_READY;
}

/* Whoever is away is away in real time: others do not give up on it sooner than on hardware. */
static bool is_too_soon(struct emu_world *w, uint64_t next)
{
	const struct emu_lockstep *ls = turns(w);
	struct nic *host = ls->away ? emu_clock_host(w, &w->nics[0].base) : NULL;
	uint64_t passed;

	if (!host || next <= ls->away_now)
		return false;
	passed = host->up->monotonic_ns(host->ctx) - ls->away_mono;
	if (next - ls->away_now <= passed + AHEAD_NS)
		return false;
	self.retry = ls->away_mono + (next - ls->away_now);
	return true;
}

static bool run_due(struct emu_world *w)
{
	const struct emu_fabric *fab = w->fab;
	unsigned int n = 0;

	while (fab->events > 0 && fab->heap[0].time <= fab->now) {
		emu_clock_run_first(w);
		look_around(w);
		if (++n >= EVENTS_MOST && count_ready(turns(w)) > 0)
			break;
	}
	return n > 0;
}

/* The turn is nobody's: see to what is next. */
static void pass(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	uint64_t next;
	uint32_t i;

	ls->turn = 0;
	self.retry = 0;
	for (;;) {
		w->membership->ring = see_to_inboxes(ls, w->membership->ring);
		if (!ls->held) {
			run_due(w);
			end_waits(w);
		}
		i = choose(ls);
		if (i) {
			give(w, i);
			return;
		}
		next = ls->held ? NIC_TIME_NEVER : next_time(w);
		if (next == NIC_TIME_NEVER || is_too_soon(w, next))
			return;
		if (next > w->fab->now)
			w->fab->now = next;
	}
}

void emu_lockstep_kick(struct emu_world *w)
{
	struct emu_lockstep *ls = turns(w);
	uint32_t i;

	if (ls->turn)
		return;
	i = choose(ls);
	/* That one goes on waiting, and sees to what is next. */
	for (uint32_t any = 1; !i && !ls->held && any <= ls->high; any++)
		if (ls->thread[any].state == EMU_THREAD_WAITING)
			i = any;
	if (i)
		give(w, i);
	else if (!ls->held && w->process && next_time(w) != NIC_TIME_NEVER)
		pass(w);
}

/* ---- calls ---- */

/* All its threads are outside, or have ended: its helper does what cannot wait. */
static void stand_in(struct emu_world *w)
{
	const struct emu_lockstep *ls = turns(w);
	const struct emu_process *p = emu_process(w, w->process);

	if (any_ready_of(ls, w->process) || waiting_of(ls, w->process))
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

bool emu_lockstep_enter(struct emu_world *w, bool idle)
{
	struct emu_lockstep *ls = turns(w);
	struct emu_thread *t = me(w);

	if (idle) {
		stand_in(w);
		return true;
	}
	if (!t)
		t = take_part(w);
	if (!t) {
		emu_trace(w, "- note preempted: there are more threads than take turns");
		emu_inbox_empty(w);
		return true;
	}
	if (t->state == EMU_THREAD_AWAY)
		come_back(w, t);
	if (ls->turn == 0)
		pass(w);
	if (!my_turn(w)) {
		self.bell = __atomic_load_n(&t->bell, __ATOMIC_RELAXED);
		__atomic_fetch_add(&w->membership->awaiting, 1, __ATOMIC_SEQ_CST);
		return false;
	}
	if (t->state == EMU_THREAD_WAITING && !self.waits)
		t->state = EMU_THREAD_READY;
	ls->looks++;
	emu_inbox_empty(w);
	return true;
}

void emu_lockstep_await(struct emu_world *w)
{
	uint32_t *bell = &turns(w)->thread[self.index].bell;
	struct timespec ts = { .tv_sec = (time_t)(self.retry / 1000000000ul),
			       .tv_nsec = (long)(self.retry % 1000000000ul) };

	for (int i = 0; i < LOOKS_BEFORE_SLEEP; i++) {
		if (__atomic_load_n(bell, __ATOMIC_RELAXED) != self.bell)
			break;
		__builtin_ia32_pause();
	}
	if (__atomic_load_n(bell, __ATOMIC_SEQ_CST) == self.bell)
		syscall(SYS_futex, bell, FUTEX_WAIT_BITSET, self.bell, self.retry ? &ts : NULL,
			NULL, FUTEX_BITSET_MATCH_ANY);
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
		pass(w);
	if (!my_turn(w) || t->state == EMU_THREAD_WAITING)
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
		pass(w);
		if (!my_turn(w))
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
	if (t->state != EMU_THREAD_WAITING) {
		t->until = NIC_TIME_NEVER;
		t->state = EMU_THREAD_WAITING;
		pass(w);
		if (my_turn(w)) {
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
	if (my_turn(w))
		pass(w);
	self.world = NULL;
}
