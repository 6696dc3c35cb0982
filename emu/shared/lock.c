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

#include "peer.h"
#include "shared.h"

#define LOOKS_BEFORE_SLEEP 500
#define SLEEP_S            1 /* then check that the holder exists */
#define SLEEPS_PATIENT     5 /* then say that it does not release the lock */

static __thread struct {
	int32_t process;
	uint32_t tid;
	struct robust_list_head *robust;
} self;

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
	uint16_t holder = w->fab->shared.holder;

	if (holder && holder <= EMU_PROCESSES && holder != w->process &&
	    emu_shared_alive(w, holder))
		return true;
	/* It has not written yet which process it is in, or takes no part in the fabric. */
	return emu_peer_maps_arena(w, (int32_t)(word & FUTEX_TID_MASK));
}

static void say_held(struct emu_world *w, uint32_t word)
{
	uint16_t holder = w->fab->shared.holder;

	fprintf(stderr,
		"libdat: shared fabric %s: all its processes wait: thread %u%s%.31s has not "
		"released the fabric's lock for %d s; is it stopped by a debugger or a freezer?\n",
		w->membership->path, word & FUTEX_TID_MASK, holder ? " of " : "",
		holder ? emu_process(w, holder)->node : "", SLEEPS_PATIENT * SLEEP_S);
}

/* Sleep until the lock is released; false: its word is garbage. */
static bool sleep_until_released(struct emu_world *w, uint32_t word, int *sleeps)
{
	struct emu_lock *lock = &w->fab->shared.lock;
	const struct timespec most = { .tv_sec = SLEEP_S };

	if (!(word & FUTEX_WAITERS) && !exchange_word(lock, &word, word | FUTEX_WAITERS))
		return true;
	word |= FUTEX_WAITERS;
	if (syscall(SYS_futex, &lock->word, FUTEX_WAIT, word, &most, NULL, 0) == 0 ||
	    errno != ETIMEDOUT || __atomic_load_n(&lock->word, __ATOMIC_RELAXED) != word) {
		*sleeps = 0;
		return true;
	}
	if (!is_held(w, word))
		return false;
	if (++*sleeps == SLEEPS_PATIENT)
		say_held(w, word);
	return true;
}

/*
 * The lock is held for a microsecond or two. A thread that slept at once would wake up too late
 * again and again, while another one takes the lock in quick succession; so it spins first.
 */
static __attribute__((cold, noinline)) bool take_slowly(struct emu_world *w)
{
	struct emu_lock *lock = &w->fab->shared.lock;
	uint32_t waiters = 0;
	int sleeps = 0;
	bool valid = true;

	for (int looks = 0;; looks++) {
		uint32_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);

		if (is_free(word) || !valid) {
			/* Keep FUTEX_WAITERS: further threads may be asleep. */
			if (exchange_word(lock, &word, self.tid | waiters | (word & FUTEX_WAITERS)))
				return valid && !(word & FUTEX_OWNER_DIED);
		} else if (looks < LOOKS_BEFORE_SLEEP) {
			__builtin_ia32_pause();
		} else {
			valid = sleep_until_released(w, word, &sleeps);
			waiters = FUTEX_WAITERS;
		}
	}
}

bool emu_lock_take(struct emu_world *w)
{
	struct emu_lock *lock = &w->fab->shared.lock;
	uint32_t none = 0;

	/* A forked child is told from its parent. */
	if (__builtin_expect(self.process != w->membership->pid, 0))
		find_self(w->membership->pid);
	set_pending(lock);
	return __builtin_expect(exchange_word(lock, &none, self.tid), 1) || take_slowly(w);
}

void emu_lock_release(struct emu_lock *lock)
{
	uint32_t word = __atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE);

	if (__builtin_expect(word & FUTEX_WAITERS, 0))
		syscall(SYS_futex, &lock->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	set_pending(NULL);
}
