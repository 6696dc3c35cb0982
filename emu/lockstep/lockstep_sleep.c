/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: how a thread sleeps until it is given the turn, and how it is woken.
 *
 * The kernel needs 5 to 30 microseconds to wake a thread on another core, and most turns are
 * shorter. Before it sleeps, a thread therefore looks at its futex for somewhat longer than a wake
 * takes, if the thread that has the turn was last seen on another core: on the same one it could
 * not run meanwhile. With a shorter look two threads that have slept once would sleep at each
 * switch, because each would give up looking while the other is still being woken.
 * If the turn did not come, the thread sleeps at once the next time, and after more failures more
 * often, so on a busy machine hardly any time is lost. A thread that does not sleep is not woken,
 * which saves the system call.
 *
 * A wake may be lost: with a process that dies, or to garbage in the arena. The helper of each
 * process wakes its threads from time to time, so that they look again (emu_lockstep_stir); a
 * timeout for each sleep would cost a tenth of a switch.
 */
#include "lockstep.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/shared/shared.h"
#include "host/nic_process.h"

#define LOOKS_MOST 2000u        /* at the futex before a sleep: 20 to 45 us */
#define SKIPS_MOST 256u         /* sleeps without a look, after looks that found nothing */
#define STIR_NS    1000000000ul /* between two calls of emu_lockstep_stir that wake */

/* Of the calling thread: so many sleeps come before it looks again, and did so the last time. */
static __thread struct {
	uint32_t skips, skipped;
} missed __attribute__((tls_model("initial-exec")));

static bool is_given(const uint32_t *futex, uint32_t seen)
{
	return __atomic_load_n(futex, __ATOMIC_RELAXED) != seen;
}

static bool look_often(const uint32_t *futex, uint32_t seen)
{
	for (uint32_t i = 0; i < LOOKS_MOST; i++) {
		if (is_given(futex, seen))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

/* Has the thread been given the turn, or anything else changed for it, in a short time? */
static bool look_awhile(const uint32_t *futex, uint32_t seen)
{
	if (missed.skips > 0) {
		missed.skips--;
		return false;
	}
	if (look_often(futex, seen)) {
		missed.skipped = 0;
		return true;
	}
	missed.skipped = missed.skipped < SKIPS_MOST ? 2 * missed.skipped + 1 : SKIPS_MOST;
	missed.skips = missed.skipped;
	return false;
}

void emu_lockstep_nap(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };
	int cancel = process_cancel_hold();

	nanosleep(&pause, NULL);
	process_cancel_release(cancel);
}

void emu_lockstep_note_turn(struct emu_world *w, struct emu_thread *t, struct emu_sleep *sleep)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;

	sleep->retry = ls->turn ? 0 : w->membership->retry;
	sleep->seen = __atomic_load_n(&t->futex, __ATOMIC_RELAXED);
	t->core = (uint16_t)sched_getcpu();
	sleep->naps = false;
	sleep->looks = ls->turn && ls->thread[emu_lockstep_turn(ls)].core != t->core;
}

void emu_lockstep_sleep_on(struct emu_thread *t, const struct emu_sleep *sleep)
{
	const struct timespec ts = { .tv_sec = (time_t)(sleep->retry / 1000000000ul),
				     .tv_nsec = (long)(sleep->retry % 1000000000ul) };

	if (sleep->naps) {
		emu_lockstep_nap(EMU_NAP_NS);
		return;
	}
	if (sleep->looks && look_awhile(&t->futex, sleep->seen))
		return;
	/* The waker changes the futex, then reads this: one of the two sees the other's store. */
	__atomic_store_n(&t->asleep, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &t->futex, FUTEX_WAIT, sleep->seen, sleep->retry ? &ts : NULL, NULL, 0);
	__atomic_store_n(&t->asleep, 0, __ATOMIC_RELAXED);
}

bool emu_lockstep_wake_thread(struct emu_thread *t)
{
	return syscall(SYS_futex, &t->futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0) > 0;
}

void emu_lockstep_wake_given(struct emu_world *w, uint32_t i)
{
	struct emu_thread *t = &w->fab->shared.lockstep.thread[i];

	if (i && __atomic_load_n(&t->asleep, __ATOMIC_SEQ_CST))
		emu_lockstep_wake_thread(t);
}

void emu_lockstep_stir(struct emu_world *w, uint64_t now)
{
	struct emu_membership *m = w->membership;

	if (now - m->stirred < STIR_NS)
		return;
	m->stirred = now;
	if (__atomic_load_n(&m->awaiting, __ATOMIC_SEQ_CST) == 0)
		return;
	for (uint32_t i = 1; i <= m->thread_high; i++)
		emu_lockstep_wake_thread(&w->fab->shared.lockstep.thread[i]);
}
