/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In a shared world: the calls of every message without the world's lock, and mostly without any. Once there
 * is a helper no process is of one thread, and yet most programs are, so the lock is biased (bias.h).
 */
#include <sched.h>

#include "agent.h"
#include "backend.h"

#define VAIN_POLLS 1000u /* in a row, then others may have the processor */

void backend_make_quick(struct backend *b, bool quick)
{
	__atomic_store_n(&b->quick, quick, __ATOMIC_RELAXED);
	if (quick)
		bias_start(&b->bias);
	else
		bias_stop(&b->bias);
	agents_choose_calls(b);
}

bool backend_enter_quick(struct backend *b)
{
	if (!__atomic_load_n(&b->quick, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&b->lock);
	bias_program_locked(&b->bias);
	b->quick_locked = b->quick;
	if (!b->quick)
		pthread_mutex_unlock(&b->lock);
	return b->quick_locked;
}

void backend_leave_quick(struct backend *b)
{
	b->quick_locked = false;
	pthread_mutex_unlock(&b->lock);
}

void backend_poll_in_vain(struct backend *b)
{
	/* Several threads may count at a time: it does not matter how far. */
	unsigned int vain = __atomic_load_n(&b->vain, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&b->vain, vain, __ATOMIC_RELAXED);
	if (vain % VAIN_POLLS == 0)
		sched_yield();
}
