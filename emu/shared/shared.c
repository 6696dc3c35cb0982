/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of a shared fabric, and the host's calls around it: enter, leave, settle, sleep, wake.
 */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apart.h"
#include "emu/fabric/clock.h"
#include "inbox.h"
#include "emu/payload/inline.h"
#include "lock.h"
#include "emu/payload/reach.h"
#include "reclaim.h"
#include "recover.h"
#include "emu/wire/rules.h"
#include "shared_file.h"
#include "stalled.h"
#include "emu/fabric/trace.h"
#include "emu/fabric/config.h"

/* Bits of a futex wait. */
#define WAITERS 1u
#define IDLERS  2u

static struct emu_world *world_of(struct nic_world *world)
{
	return (struct emu_world *)world; /* its first member */
}

/* ---- the lock ---- */

/* The lock was taken from a dead holder. */
static EMU_COLD void recover_from_death(struct emu_world *w)
{
	uint16_t holder = w->fab->holder;
	struct emu_reclaim kept;

	/* Each part goes through all tables by itself. */
	emu_reclaim_begin(w, &kept);
	emu_recover(w);
	w->steps = w->steps_most;
	emu_section_end(w);
	/* If this process dies as well, the next one still has to clean up the first. */
	w->fab->holder = holder;
	/* Named explicitly: the kernel marks the futex before it drops the lock on the byte. */
	emu_shared_clean_up_dead(w, holder);
	emu_stalled_end(w);
	w->steps = w->steps_most;
	emu_reclaim_end(w, &kept);
	w->steps = w->steps_most;
	emu_stalled_resume(w);
	if (emu_lockstep(w))
		emu_lockstep_recover(w);
}

static void take_over(struct emu_world *w, bool whole)
{
	assert(!w->membership->held);
	w->membership->held = true;
	w->steps = w->steps_most;
	if (!whole)
		recover_from_death(w);
	w->fab->holder = w->process;
}

/* The holder is stopped: leave the fabric with a copy of it, or wait on. */
static EMU_COLD void take_apart(struct emu_world *w)
{
	enum emu_taken taken = EMU_NOT_TAKEN;

	while (taken == EMU_NOT_TAKEN && !emu_apart(w, w->fab->lock.word))
		taken = emu_lock_take(w);
	take_over(w, taken == EMU_TAKEN);
	if (taken == EMU_NOT_TAKEN)
		emu_process(w, w->process)->overrun = true;
}

void emu_shared_take(struct emu_world *w)
{
	enum emu_taken taken = emu_lock_take(w);

	if (__builtin_expect(taken == EMU_NOT_TAKEN, 0))
		take_apart(w);
	else
		take_over(w, taken == EMU_TAKEN);
}

bool emu_shared_take_as_guest(struct emu_world *w)
{
	enum emu_taken taken = emu_lock_take(w);

	if (taken == EMU_NOT_TAKEN) {
		fprintf(stderr,
			"libdat: shared fabric %s: a process that is stopped holds its lock "
			"(thread %u); let it continue or kill it, and try again\n",
			w->membership->path, w->fab->lock.word & FUTEX_TID_MASK);
		return false;
	}
	take_over(w, taken == EMU_TAKEN);
	return true;
}

static void wake_threads(struct emu_process *p, uint32_t kinds)
{
	syscall(SYS_futex, &p->futex, FUTEX_WAKE_BITSET, INT32_MAX, NULL, NULL, kinds);
}

void emu_shared_release(struct emu_world *w)
{
	struct emu_membership *m = w->membership;
	uint64_t waiters = 0, idlers = 0;
	uint32_t turn = 0;

	if (emu_lockstep(w)) {
		m->to_wake = emu_lockstep_ready_owners(w, m->to_wake);
		turn = emu_lockstep_given(w);
	}
	for (uint64_t left = m->to_wake; left; left &= left - 1) {
		uint16_t process = (uint16_t)__builtin_ctzl(left) + 1;
		struct emu_process *p = emu_process(w, process);

		__atomic_fetch_add(&p->futex, 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&p->sleepers, __ATOMIC_RELAXED))
			waiters |= 1ul << (process - 1);
		else if (__atomic_load_n(&p->idlers, __ATOMIC_RELAXED))
			idlers |= 1ul << (process - 1);
	}
	m->to_wake = 0;
	m->held = false;
	emu_section_end(w);
	emu_lock_release(&w->fab->lock);
	emu_lockstep_wake_given(w, turn);
	for (; waiters; waiters &= waiters - 1)
		wake_threads(emu_process(w, (uint16_t)__builtin_ctzl(waiters) + 1), WAITERS);
	for (; idlers; idlers &= idlers - 1)
		wake_threads(emu_process(w, (uint16_t)__builtin_ctzl(idlers) + 1), IDLERS);
}

/* Without a store to the section, whose lines stay shared in the caches of all processes. */
void emu_shared_release_clean(struct emu_world *w)
{
	const struct emu_section *section = &w->fab->shared.section;

	if (w->membership->to_wake || section->after.sequence != w->fab->sequence ||
	    section->after.events != w->fab->events) {
		emu_shared_release(w);
		return;
	}
	w->membership->held = false;
	w->fab->holder = 0;
	emu_lock_release(&w->fab->lock);
}

bool emu_shared_back(struct emu_world *w, const void *at, uint64_t bytes)
{
	return w->membership->apart ||
	       emu_file_back(w->membership->fd,
			     (uint64_t)((const uint8_t *)at - (const uint8_t *)w->fab), bytes);
}

bool emu_shared(struct nic_world *world)
{
	return world_of(world)->process != 0;
}

bool emu_shared_lockstep(struct nic_world *world)
{
	return emu_lockstep(world_of(world));
}

bool emu_shared_enter(struct nic_world *world, bool idle)
{
	struct emu_world *w = world_of(world);

	if (emu_lockstep(w) && !idle && emu_lockstep_gave(w))
		return false;
	emu_shared_take(w);
	if (!emu_lockstep(w)) {
		emu_inbox_empty(w);
		return true;
	}
	if (emu_lockstep_enter(w, idle))
		return true;
	emu_shared_release(w);
	return false;
}

void emu_shared_await(struct nic_world *world)
{
	emu_lockstep_await(world_of(world));
}

void emu_shared_exit(struct nic_world *world)
{
	emu_shared_release(world_of(world));
}

bool emu_shared_settle(struct nic_world *world)
{
	struct emu_world *w = world_of(world);

	if (emu_lockstep(w))
		return emu_lockstep_settle(w);
	emu_clock_settle(w);
	return true;
}

void emu_shared_outside(struct nic_world *world, enum nic_outside what)
{
	emu_lockstep_outside_event(world_of(world), what);
}

enum nic_wait emu_shared_pause(struct nic_world *world, uint64_t until,
			       const struct nic_unlocked *unlocked)
{
	return emu_lockstep_pause(world_of(world), until, unlocked);
}

bool emu_shared_expects(struct nic_world *world, int pid)
{
	return emu_lockstep_expects_process(world_of(world), pid);
}

struct nic_book *emu_shared_book(struct nic_world *world)
{
	return &world_of(world)->fab->shared.lockstep.book;
}

void emu_shared_thread_ends(struct nic_world *world)
{
	struct emu_world *w = world_of(world);

	if (!emu_lockstep(w))
		return;
	emu_shared_take(w);
	emu_lockstep_exit(w);
	emu_shared_release(w);
}

void emu_shared_watch(struct nic_world *world, uint64_t now)
{
	struct emu_world *w = world_of(world);

	emu_shared_clean_up_dead(w, 0);
	if (emu_lockstep(w))
		emu_lockstep_watch(w, now);
	else
		emu_inline_place_all(w); /* the program may spin on one of its buffers */
}

/* ---- sleeping ---- */

void emu_shared_sleep(struct nic_world *world, bool idle, uint64_t until,
		      const struct nic_unlocked *unlocked)
{
	struct emu_world *w = world_of(world);
	struct emu_process *p = emu_process(w, w->process);
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000ul),
			       .tv_nsec = (long)(until % 1000000000ul) };
	uint32_t *count = idle ? &p->idlers : &p->sleepers;
	uint32_t seen = __atomic_load_n(&p->futex, __ATOMIC_RELAXED);

	if (!idle && emu_lockstep(w)) {
		emu_lockstep_sleep(w, unlocked);
		return;
	}
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	unlocked->unlock(unlocked->ctx);
	syscall(SYS_futex, &p->futex, FUTEX_WAIT_BITSET, seen, until == NIC_TIME_NEVER ? NULL : &ts,
		NULL, idle ? IDLERS : WAITERS);
	unlocked->lock(unlocked->ctx);
	__atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
}

void emu_shared_rouse(struct emu_world *w)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		struct emu_process *p = emu_process(w, i);

		if (i == w->process || !__atomic_load_n(&p->used, __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_add(&p->futex, 1, __ATOMIC_RELAXED);
		wake_threads(p, IDLERS);
	}
}

void emu_shared_ring(struct nic_world *world, bool idle)
{
	struct emu_world *w = world_of(world);
	struct emu_process *p = emu_process(w, w->process);

	if (!idle && emu_lockstep(w)) {
		emu_lockstep_wake(w);
		return;
	}
	__atomic_fetch_add(&p->futex, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(idle ? &p->idlers : &p->sleepers, __ATOMIC_RELAXED))
		wake_threads(p, idle ? IDLERS : WAITERS);
}
