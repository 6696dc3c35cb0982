/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In a shared world: the calls of every message without the world's lock, and mostly without any. Once there
 * is a helper no process is of one thread, and yet most programs are, so the lock is biased (bias.h).
 */
#include "agent.h"
#include "backend.h"

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
