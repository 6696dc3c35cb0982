/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of the world that is kept (emu/fabric/spare.c): threads end and begin worlds all the
 * time, of which one is handed from thread to thread without a lock. Each thread has its world to
 * itself, and it is as new.
 *
 * Under ThreadSanitizer it fails if either exchange is relaxed (one thread uses a world that
 * another still clears); in any build if they are a load and a store (two get one world).
 */
#include "emu/fabric/spare.h"
#include "emu/fabric/world.h"
#include "tests/litmus/litmus.h"

enum {
	WORLDS = 1000,
	THREADS = 3, /* one world is kept, so that others have to be made */
};

static unsigned int not_new, shared;

/* What a world has been used for, as clear_world expects it */
static void use(struct emu_world *world, uint64_t number)
{
	struct emu_fabric *fab = world->fab;

	__atomic_add_fetch(&not_new, fab->now != 0 || fab->pds.high != 0 || world->range_high != 0,
			   __ATOMIC_RELAXED);
	fab->now = number;
	fab->pds.high = 1;
	world->range_high = 1;
	world->trace_fd = -1;
	sched_yield();
	__atomic_add_fetch(&shared, fab->now != number, __ATOMIC_RELAXED);
}

static void *begin_and_end(void *arg)
{
	for (int i = 0; i < litmus_rounds(WORLDS); i++) {
		struct emu_world *world = emu_world_map();

		ck_assert_ptr_nonnull(world);
		use(world, (uintptr_t)arg + (uint64_t)i * THREADS + 1);
		emu_world_unmap(world);
	}
	return NULL;
}

START_TEST(a_world_is_handed_on_whole_and_to_one)
{
	pthread_t thread[THREADS];

	not_new = shared = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		thread[i] = litmus_start(begin_and_end, (void *)i);
	for (int i = 0; i < THREADS; i++)
		litmus_join(thread[i]);
	ck_assert_uint_eq(not_new, 0);
	ck_assert_uint_eq(shared, 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("spare");

	tcase_add_test(tcase, a_world_is_handed_on_whole_and_to_one);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("memory order of the world that is kept")
