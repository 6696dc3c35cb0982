/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The robust futex that is the lock of a shared fabric. lock.h explains how the kernel knows its
 * holder.
 */
#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/payload/peer.h"
#include "shared.h"
#include "emu/payload/split.h"

#define LOOKS_BEFORE_SLEEP 500
#define SLEEP_MS           1000u /* then check that the holder exists */
#define SLEEPS_LEAST       4u    /* that a bound consists of */
#define SLEEPS_PATIENT     5u    /* then say that it does not release the lock */
#define NAP_MS             1u    /* part of a sleep that a signal has interrupted */

static __thread struct {
	int32_t process;
	uint32_t tid;
	struct robust_list_head *robust;
} self __attribute__((tls_model("initial-exec")));

static __attribute__((cold, noinline)) void find_self(int32_t process)
{
	size_t size;

	self.tid = (uint32_t)syscall(SYS_gettid);
	if (syscall(SYS_get_robust_list, 0, &self.robust, &size))
		self.robust = NULL;
	self.process = process;
}

/* Set the futex that the kernel handles if this thread dies; NULL: none. */
static void set_pending(struct emu_lock *lock)
{
	if (!self.robust)
		return;
	self.robust->list_op_pending =
		lock ? (struct robust_list *)((uintptr_t)lock -
					      (uintptr_t)self.robust->futex_offset)
		     : NULL;
	__asm__ volatile("" ::: "memory");
}

static bool exchange_word(struct emu_lock *lock, uint32_t *word, uint32_t with)
{
	return __atomic_compare_exchange_n(&lock->word, word, with, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static bool is_free(uint32_t word)
{
	return (word & FUTEX_OWNER_DIED) || !(word & FUTEX_TID_MASK);
}

/* Does a living thread hold the lock? False: its word is garbage. */
static bool is_held(struct emu_world *w, uint32_t word)
{
	uint16_t holder = w->fab->holder;

	if (holder && holder <= EMU_PROCESSES && holder != w->process &&
	    emu_shared_alive(w, holder))
		return true;
	/* It has not written yet which process it is in, or takes no part in the fabric. */
	return emu_peer_maps_arena(w, (int32_t)(word & FUTEX_TID_MASK));
}

/* What a thread has found out while it waits for the lock. */
struct wait {
	uint32_t sleeps;  /* with one holder */
	uint32_t stopped; /* those after which it was stopped */
	uint32_t naps;    /* the rest of a sleep that a signal has interrupted; 0: none */
	bool valid;       /* the word names a thread that lives */
};

static void say_held(struct emu_world *w, uint32_t word)
{
	uint16_t holder = w->fab->holder;

	fprintf(stderr,
		"libdat: shared fabric %s: all its processes wait: thread %u%s%.31s has not "
		"released the fabric's lock for %u s; is it stopped by a debugger or a freezer?\n",
		w->membership->path, word & FUTEX_TID_MASK, holder ? " of " : "",
		holder ? emu_process(w, holder)->node : "", SLEEPS_PATIENT * SLEEP_MS / 1000);
}

static uint32_t sleep_ms(const struct emu_world *w)
{
	uint32_t bound = w->membership->lock_ms;

	return bound && bound < SLEEPS_LEAST * SLEEP_MS ? bound / SLEEPS_LEAST + 1 : SLEEP_MS;
}

/*
 * Is the holder stopped, other than by a debugger? One that is able to run is only short of
 * processors. One that sleeps counts as stopped, in a wait for a disk ('D') or otherwise ('S'): a
 * freezer shows as the one or the other, after the kind of its cgroup. A holder of the lock has
 * nothing else to sleep for, unless the machine swaps or a trace goes to a disk that hangs. Of a
 * process in another pid namespace nothing is known but that it lives.
 */
static bool is_stopped(uint32_t tid)
{
	char state = tid == self.tid ? '\0' : emu_lockstep_task_state((int)tid, (int32_t)tid);

	return state != 'R' && state != 't';
}

/* One sleep has passed, and nothing has changed. */
static void look_at_holder(struct emu_world *w, uint32_t word, struct wait *wait)
{
	wait->valid = is_held(w, word);
	if (!wait->valid)
		return;
	wait->stopped += is_stopped(word & FUTEX_TID_MASK);
	if (++wait->sleeps == SLEEPS_PATIENT && sleep_ms(w) == SLEEP_MS)
		say_held(w, word);
}

static bool is_patient(const struct emu_world *w, const struct wait *wait)
{
	uint32_t bound = w->membership->lock_ms;

	return !bound || wait->stopped * sleep_ms(w) < bound;
}

/* Returns 0 or the error of futex(2): ETIMEDOUT if all the time has passed. */
static int sleep_while(struct emu_lock *lock, uint32_t word, uint32_t ms)
{
	const struct timespec most = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	return syscall(SYS_futex, &lock->word, FUTEX_WAIT, word, &most, NULL, 0) ? errno : 0;
}

/*
 * A sleep has ended and nothing has changed. True: it is over. If a signal has ended it, it goes on
 * in naps, and one of these counts whether a signal ends it or not: a profiler's signals may come
 * more often than a sleep is long, and the thread would never look at the holder.
 */
static bool is_slept(const struct emu_world *w, struct wait *wait, int err)
{
	if (wait->naps > 0)
		return --wait->naps == 0;
	if (err == EINTR)
		wait->naps = sleep_ms(w) / NAP_MS;
	return err == ETIMEDOUT;
}

static void sleep_until_released(struct emu_world *w, uint32_t word, struct wait *wait)
{
	struct emu_lock *lock = &w->fab->lock;
	int err;

	if (!(word & FUTEX_WAITERS) && !exchange_word(lock, &word, word | FUTEX_WAITERS))
		return;
	word |= FUTEX_WAITERS;
	__atomic_fetch_add(&emu_process(w, w->process)->lockers, 1, __ATOMIC_SEQ_CST);
	err = sleep_while(lock, word, wait->naps ? NAP_MS : sleep_ms(w));
	__atomic_fetch_sub(&emu_process(w, w->process)->lockers, 1, __ATOMIC_SEQ_CST);
	if ((err != ETIMEDOUT && err != EINTR) ||
	    __atomic_load_n(&lock->word, __ATOMIC_RELAXED) != word)
		*wait = (struct wait){ .valid = true };
	else if (is_slept(w, wait, err))
		look_at_holder(w, word, wait);
}

/*
 * The lock is held for a microsecond or two. A thread that slept at once would wake up too late
 * again and again, while another one takes the lock in quick succession; so it spins first.
 */
static __attribute__((cold, noinline)) enum emu_taken take_slowly(struct emu_world *w)
{
	struct emu_lock *lock = &w->fab->lock;
	struct wait wait = { .valid = true };
	uint32_t waiters = 0;

	for (int looks = 0;; looks++) {
		uint32_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
		/* If this thread died now, the kernel would take the lock to be its own. */
		bool namesake = (word & FUTEX_TID_MASK) == self.tid;

		if (is_free(word) || !wait.valid) {
			set_pending(lock);
			/* Keep FUTEX_WAITERS: further threads may be asleep. */
			if (exchange_word(lock, &word, self.tid | waiters | (word & FUTEX_WAITERS)))
				return wait.valid && !(word & FUTEX_OWNER_DIED) ? EMU_TAKEN
										: EMU_TAKEN_OF_DEAD;
			continue;
		}
		set_pending(namesake ? NULL : lock);
		if (emu_split_help(w))
			looks = 0;
		if (looks < LOOKS_BEFORE_SLEEP) {
			__builtin_ia32_pause();
			continue;
		}
		sleep_until_released(w, word, &wait);
		waiters = FUTEX_WAITERS;
		if (!is_patient(w, &wait)) {
			set_pending(NULL);
			return EMU_NOT_TAKEN;
		}
	}
}

enum emu_taken emu_lock_take(struct emu_world *w)
{
	struct emu_lock *lock = &w->fab->lock;
	uint32_t none = 0;

	/* A forked child is told from its parent. */
	if (__builtin_expect(self.process != w->membership->pid, 0))
		find_self(w->membership->pid);
	set_pending(lock);
	return __builtin_expect(exchange_word(lock, &none, self.tid), 1) ? EMU_TAKEN
									 : take_slowly(w);
}

void emu_lock_keep(struct emu_lock *copy, struct emu_lock *lock)
{
	copy->word = self.tid;
	set_pending(lock);
}

void emu_lock_release(struct emu_lock *lock)
{
	uint32_t word = __atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE);

	if (__builtin_expect(word & FUTEX_WAITERS, 0))
		syscall(SYS_futex, &lock->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	set_pending(NULL);
}
