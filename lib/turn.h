/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - threads of a world in lockstep take turns: where lib waits for one, and gives it up.
 *
 * The turn is taken with the world's lock, behind the backend's, and kept when the call returns. While it is
 * another thread's, neither lock is held.
 */
#ifndef LIB_TURN_H
#define LIB_TURN_H

#include "backend.h"

/* With the backend's lock held: take the world's, in one's turn. There may be no such world any more after. */
void turn_enter(struct backend *b);
/* turn_settle is in backend.h. */

#endif /* LIB_TURN_H */
