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
 * A thread that waits looks once a second whether the word is true. It is believed if the process
 * that says it holds the lock (emu_shared.holder) is alive, which can be told across pid
 * namespaces; or if a thread has the id in the word and maps the arena. Otherwise another process
 * wrote the word, and the lock is taken like a dead holder's. A live holder is waited for without a
 * bound: it may be stopped by a debugger or a freezer, and would go on writing if another thread
 * took the lock. All processes of the fabric stand still then, and say so on stderr.
 */
#ifndef EMU_SHARED_LOCK_H
#define EMU_SHARED_LOCK_H

#include "emu/fabric/fabric.h"

/*
 * Take the fabric's lock. False: it is taken, but its holder died with it, or its word named none.
 */
bool emu_lock_take(struct emu_world *w);
void emu_lock_release(struct emu_lock *lock);

#endif /* EMU_SHARED_LOCK_H */
