/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.h - the lock of a shared fabric: a futex that survives the death of its holder.
 *
 * The lock is one word in the arena, in the kernel's format for robust futexes: 0 while free, else
 * the thread id of the holder, with FUTEX_WAITERS set while other threads sleep on it. If the
 * holder dies, the kernel sets FUTEX_OWNER_DIED in the word and wakes a waiter; emu_lock_take then
 * returns false and its caller repairs the arena (recover.h).
 *
 * A robust mutex of the C library would do the same, but it keeps pointers of a list in the mutex,
 * here in the arena, where any process may overwrite them. This lock needs no list. The kernel also
 * honours one pointer per thread to a futex that the thread is about to take (list_op_pending); it
 * points at this lock for as long as the thread holds it. A thread that holds the lock therefore
 * must not take a robust mutex.
 *
 * A thread that waits copies pieces of a long payload, if one is being sent to its process
 * (split.h). And it looks once a second whether the word is true. It is believed if the process
 * that says it holds the lock (emu_fabric.holder) is alive, which can be told across pid
 * namespaces; or if a thread has the id in the word and maps the arena. Otherwise another process
 * wrote the word, and the lock is taken like a dead holder's.
 *
 * A live holder may be stopped, by SIGSTOP or a freezer, and would go on writing if another thread
 * took the lock. It is waited for as long as DATSIM_LOCK_MS says; then emu_lock_take gives up, and
 * its caller leaves the fabric (apart.h). Two holders are waited for without a bound, and said on
 * stderr: one that is able to run, since it is only short of processors; and one that a debugger
 * has stopped, since its user will let it continue. The bound is counted in looks at the
 * holder, not in time, so that it does not pass while the waiting process is stopped itself.
 *
 * Threads of two pid namespaces can have the same id. The kernel would mark the lock when one dies
 * that waits for the other, so a thread that finds its own id in the word has no list_op_pending.
 */
#ifndef EMU_SHARED_LOCK_H
#define EMU_SHARED_LOCK_H

#include "emu/fabric/fabric.h"

enum emu_taken {
	EMU_TAKEN,
	EMU_TAKEN_OF_DEAD, /* its holder died with it, or its word named none */
	EMU_NOT_TAKEN,     /* its holder is stopped */
};

/* Take the fabric's lock. */
enum emu_taken emu_lock_take(struct emu_world *w);
void emu_lock_release(struct emu_lock *lock);
/* `copy` is about to replace `lock` in memory: the calling thread holds it. */
void emu_lock_keep(struct emu_lock *copy, struct emu_lock *lock);

#endif /* EMU_SHARED_LOCK_H */
