/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick.c - in a shared world, the calls of every message without the world's lock, and mostly
 * without any lock. The helper makes every such process one of several threads, although most
 * programs have one; so the lock is biased (bias.h).
 */
#include <sched.h>

#include "backend.h"

#define YIELD_POLLS 1000u /* in a row, then the thread yields the CPU */

void backend_make_quick(struct backend *b, bool quick)
{
	__atomic_store_n(&b->quick, quick, __ATOMIC_RELAXED);
	if (quick)
		bias_start(&b->bias);
	else
		bias_stop(&b->bias);
	path_update(b);
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

void backend_count_empty_poll(struct backend *b)
{
	/* Several threads may count at once: the number need not be exact. */
	unsigned int empty_polls = __atomic_load_n(&b->empty_polls, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&b->empty_polls, empty_polls, __ATOMIC_RELAXED);
	if (empty_polls % YIELD_POLLS == 0)
		sched_yield();
}
