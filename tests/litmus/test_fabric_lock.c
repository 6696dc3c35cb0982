/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of the lock of a shared fabric (emu/shared/lock.c): two processes change the arena
 * with the lock, some of the time while the other one waits for it.
 *
 * Under ThreadSanitizer it fails if emu_lock_release does not release; in any build if the lock is
 * not taken by a compare-and-exchange.
 */
#include "emu/shared/shared.h"
#include "tests/litmus/litmus.h"

enum {
	TAKES = 20000,
};

static struct litmus_worlds worlds;
static unsigned int first, second, torn;

static void setup(void)
{
	first = second = torn = 0;
	litmus_join_worlds(&worlds);
}

static void teardown_worlds(void)
{
	litmus_leave_worlds(&worlds);
}

static void *take_and_release(void *world)
{
	for (int i = 0; i < litmus_rounds(TAKES); i++) {
		emu_shared_take(world);
		torn += first != second;
		first++;
		second++;
		emu_shared_release_clean(world);
	}
	return NULL;
}

START_TEST(two_processes_are_never_inside_together)
{
	pthread_t other = litmus_start(take_and_release, worlds.world[1]);

	take_and_release(worlds.world[0]);
	litmus_join(other);
	ck_assert_uint_eq(torn, 0);
	ck_assert_uint_eq(first, (unsigned int)(2 * litmus_rounds(TAKES)));
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("fabric lock");

	tcase_add_checked_fixture(tcase, setup, teardown_worlds);
	tcase_add_test(tcase, two_processes_are_never_inside_together);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("memory order of the fabric's lock")
