/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * litmus.h - what the litmus tests share: two threads, flags between them, and two processes of a
 * shared fabric in one address space.
 *
 * Processes map the arena of a shared fabric each for itself, where ThreadSanitizer cannot see that
 * they write to the same memory. Here one program joins a fabric twice, and both worlds use one
 * mapping, so that each is a process with a membership of its own, and what they do to the arena
 * without a lock is two threads' access to one address.
 */
#ifndef TESTS_LITMUS_LITMUS_H
#define TESTS_LITMUS_LITMUS_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tests/support/support.h"

/* So many rounds, or TORTURE_TIMES as many. */
int litmus_rounds(int rounds);

pthread_t litmus_start(void *(*run)(void *), void *arg);
void litmus_join(pthread_t thread);

static inline void litmus_set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static inline bool litmus_is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

struct emu_world;

/* Two processes of a new fabric whose links take no time; world[1] uses the mapping of world[0]. */
struct litmus_worlds {
	struct emu_world *world[2];
	void *own_mapping; /* of world[1] */
};

void litmus_join_worlds(struct litmus_worlds *worlds);
void litmus_join_lockstep_worlds(struct litmus_worlds *worlds, uint64_t bound_ns);
void litmus_leave_worlds(struct litmus_worlds *worlds);

#endif /* TESTS_LITMUS_LITMUS_H */
