/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of lockstep (emu/lockstep): threads of two processes take turns, and sleep on the
 * futex of their entry until they are given the next one.
 *
 * The futex has no order of its own: it is read and changed with the fabric's lock, and the kernel
 * compares it. What a thread does in the program between two calls of its turn comes before the
 * next turn because of that lock; under ThreadSanitizer the first test fails if emu_lock_release
 * does not release, and in any build if a turn is given twice. It never ends if a wake is lost
 * between a thread that says that it sleeps (`asleep`) and the one that gives it the turn.
 *
 * Without the lock is the count of threads that wait (`awaiting`): the last of them leaves it
 * before the arena is unmapped. Under ThreadSanitizer the second test fails if emu_lockstep_await
 * counts down without release, or emu_lockstep_leave looks without acquire.
 */
#include <semaphore.h>

#include "emu/lockstep/lockstep.h"
#include "emu/shared/shared.h"
#include "tests/litmus/litmus.h"

enum {
	TURNS = 60,
	BOUND_NS =
		10000000, /* what is no thread of a world, as the other one's, counts for so long */
};

static struct litmus_worlds worlds;

static struct {
	unsigned int first, second, torn; /* changed in turns, without the lock */
	bool began;
	bool ended[2];
	sem_t one_ended;
} t;

static void setup(void)
{
	memset(&t, 0, sizeof(t));
	ck_assert_int_eq(sem_init(&t.one_ended, 0, 0), 0);
	litmus_join_lockstep_worlds(&worlds, BOUND_NS);
}

static void teardown_worlds(void)
{
	litmus_leave_worlds(&worlds);
}

static struct nic_world *nic_world(int i)
{
	return (struct nic_world *)worlds.world[i];
}

static void enter(struct nic_world *world)
{
	while (!emu_backend.enter(world, false))
		emu_backend.await(world);
}

/* A poll that finds nothing costs the turn, and returns in the next one. */
static void give_up_turn(struct nic_world *world)
{
	enter(world);
	emu_lockstep_poll((struct emu_world *)world);
	while (!emu_backend.settle(world)) {
		emu_backend.leave(world);
		enter(world);
	}
	emu_backend.leave(world);
}

static void *take_turns(void *arg)
{
	bool *ended = arg;
	struct nic_world *world = nic_world(ended == &t.ended[1]);

	for (int i = 0; i < litmus_rounds(TURNS); i++) {
		give_up_turn(world);
		t.torn += t.first != t.second;
		t.first++;
		sched_yield();
		t.second++;
	}
	emu_backend.thread_ends(world);
	litmus_set(ended);
	sem_post(&t.one_ended);
	return NULL;
}

/* A process's helper passes on the turn of a thread that has ended. */
static void be_helper(struct nic_world *world)
{
	while (!emu_backend.enter(world, true))
		emu_backend.await(world);
	emu_backend.leave(world);
}

START_TEST(one_thread_of_all_runs_between_its_calls)
{
	pthread_t thread[2];
	int first;

	for (int i = 0; i < 2; i++)
		thread[i] = litmus_start(take_turns, &t.ended[i]);
	while (sem_wait(&t.one_ended) != 0)
		;
	first = litmus_is_set(&t.ended[1]);
	litmus_join(thread[first]);
	be_helper(nic_world(first));
	litmus_join(thread[!first]);
	ck_assert_uint_eq(t.torn, 0);
	ck_assert_uint_eq(t.first, (unsigned int)(2 * litmus_rounds(TURNS)));
}
END_TEST

static void *wait_for_turn(void *world)
{
	bool entered = emu_backend.enter(world, false);

	litmus_set(&t.began);
	if (entered)
		emu_backend.leave(world);
	else
		emu_backend.await(world);
	return entered ? world : NULL;
}

/* Not the mapping itself, which both worlds share here: what is read of the world to reach it. */
START_TEST(who_leaves_waits_for_threads_that_await_their_turn)
{
	struct emu_world *leaving = worlds.world[1];
	struct emu_fabric *fab = leaving->fab;
	void *entered = NULL;
	pthread_t waits;

	enter(nic_world(0));
	emu_backend.leave(nic_world(0));
	waits = litmus_start(wait_for_turn, leaving);
	while (!litmus_is_set(&t.began))
		sched_yield();
	emu_lockstep_leave(leaving);
	leaving->fab = NULL;
	ck_assert_int_eq(pthread_join(waits, &entered), 0);
	leaving->fab = fab;
	ck_assert_ptr_null(entered);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("turns");

	tcase_add_checked_fixture(tcase, setup, teardown_worlds);
	tcase_add_test(tcase, one_thread_of_all_runs_between_its_calls);
	tcase_add_test(tcase, who_leaves_waits_for_threads_that_await_their_turn);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("memory order of turns")
