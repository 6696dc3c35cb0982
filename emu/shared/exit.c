/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process exits without closing its adapters: the last one ends the fabric in place of the close,
 * so that the next job of that name does not meet it, and its trace is written.
 *
 * Other threads may be inside the library, or this one may be in a signal handler that interrupted
 * it, so nothing of this process is taken down, and its locks are left alone. The others notice the
 * end of the process as they do when it is killed.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lock.h"
#include "shared.h"

/* Looked at without the lock first: another thread of this process may hold it, or change them. */
static bool is_used(const struct emu_process *p)
{
	return __atomic_load_n(&p->used, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&p->exits, __ATOMIC_RELAXED);
}

/* Does any other process take part that lives and is not about to exit? */
static bool others_go_on(struct emu_world *w)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		if (i != w->process && is_used(emu_process(w, i)) && emu_shared_alive(w, i))
			return true;
	return false;
}

/* A handler that interrupted a call calls exit: the thread would wait for itself. */
static bool has_lock(const struct emu_world *w)
{
	uint32_t word = __atomic_load_n(&w->fab->lock.word, __ATOMIC_RELAXED);

	return (word & FUTEX_TID_MASK) == (uint32_t)syscall(SYS_gettid);
}

void emu_shared_process_exits(struct nic_world *world)
{
	struct emu_world *w = (struct emu_world *)world;
	struct emu_shared *shared = &w->fab->shared;

	if (w->membership->apart || shared->stays || w->membership->pid != getpid() || has_lock(w))
		return;
	__atomic_store_n(&emu_process(w, w->process)->exits, true, __ATOMIC_RELAXED);
	/* Of two processes that exit at the same time, one at least sees that of the other. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (others_go_on(w) || !emu_shared_take_as_guest(w))
		return;
	if (!shared->gone && !others_go_on(w))
		emu_shared_finish(w);
	emu_shared_release(w);
}
