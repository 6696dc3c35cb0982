/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apart.h - a process leaves a fabric whose lock is held by a process that is stopped.
 *
 * The holder of the lock may be half way through a change, and goes on with it once it continues,
 * so no other process may take the lock before it is dead. A call that has waited for the lock for
 * as long as DATSIM_LOCK_MS says (lock.h) therefore gives up the fabric. It cannot just fail:
 * objects have to be freed, waits have to end, the adapters have to be closed, and all of that is
 * in the arena. So the process takes a copy of the arena, as private memory, in place of the
 * mapping of the file:
 *
 *   - The copy is repaired as if the holder had died with the lock (recover.h), and cleaned up
 *     after all other processes as if they had died as well. Connections to them break.
 *   - The adapters fail: DAT_ASYNC_ERROR_IA_CATASTROPHIC. Once the program has closed them, it can
 *     open others, on the fabric again.
 *   - To the other processes this one has died: it releases the lock on its byte of the file, and
 *     they clean up after it. Its nonce changes, so that they do not take its memory for that of a
 *     member.
 *
 * When the holder continues, it goes on in the file, alone or with those that wait for longer. A
 * copy into this process's memory that it was making at the moment of the stop ends then.
 */
#ifndef EMU_SHARED_APART_H
#define EMU_SHARED_APART_H

#include "emu/fabric/fabric.h"

/*
 * With the fabric's lock held by another thread, whose word it has: copy the arena, take the copy's
 * lock. False: there is no memory for it, or the lock was released meanwhile; nothing has changed.
 */
bool emu_apart(struct emu_world *w, uint32_t word);

#endif /* EMU_SHARED_APART_H */
