/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - where a call waits for the turn, if its fabric is in lockstep.
 *
 * In lockstep one thread of all processes of a fabric runs at a time (emu/lockstep/lockstep.h). A
 * call of a thread without the turn has to sleep before it touches anything. Two locks are
 * involved: the backend's, which every call takes first, and the world's (the fabric's), which is
 * shared with other processes.
 *
 *   turn_enter   takes the world's lock. If another thread has the turn, it releases both locks,
 *                sleeps until the turn may be this thread's, and tries again.
 *   (the call)   runs with both locks.
 *   turn_settle  ends the call. If the call gave up the turn (a wait, an empty poll), it releases
 *                both locks and enters again, so that the call returns only when the thread has
 *                the turn again.
 *
 * So a thread keeps the turn while it runs the program's own code between two calls, without
 * holding any lock.
 *
 * Example. Threads X and Y of one process; X has the turn. Y calls dat_ep_post_send: turn_enter
 * finds that the turn is X's, and Y sleeps without a lock. X polls an empty EVD: turn_settle gives
 * up the turn, the scheduler gives it to Y and wakes it, X sleeps. Y's post goes on.
 *
 * In a shared world without lockstep, turn_enter only takes the world's lock.
 */
#ifndef HOST_TURN_H
#define HOST_TURN_H

#include "backend.h"

/*
 * With the backend's lock held: take the world's as soon as the calling thread has the turn. The
 * backend's lock is released in between, so b->shared may be NULL afterwards.
 */
void turn_enter(struct backend *b);
/* turn_settle is in backend.h. */

#endif /* HOST_TURN_H */
