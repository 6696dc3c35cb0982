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

/* Does any other process take part that lives and is not about to exit? */
static bool others_go_on(struct emu_world *w)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		if (i != w->process && emu_process(w, i)->used && !emu_process(w, i)->exits &&
		    emu_shared_alive(w, i))
			return true;
	return false;
}

/* A handler that interrupted a call calls exit: the thread would wait for itself. */
static bool has_lock(const struct emu_world *w)
{
	return (w->fab->shared.lock.word & FUTEX_TID_MASK) == (uint32_t)syscall(SYS_gettid);
}

void emu_shared_process_exits(struct nic_world *world)
{
	struct emu_world *w = (struct emu_world *)world;
	struct emu_shared *shared = &w->fab->shared;

	if (w->membership->apart || shared->stays || w->membership->pid != getpid() || has_lock(w))
		return;
	emu_process(w, w->process)->exits = true;
	/* Of two processes that exit at the same time, one at least sees that of the other. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (others_go_on(w) || !emu_shared_take_as_guest(w))
		return;
	if (!shared->gone && !others_go_on(w))
		emu_shared_finish(w);
	emu_shared_release(w);
}
