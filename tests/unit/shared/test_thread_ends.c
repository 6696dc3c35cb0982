/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread of a fabric in lockstep ends: it takes no turns any more, and is not taken for the
 * process's helper, whose thread another one is. And how the threads of a process are counted.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

#include "emu/fabric/spare.h"
#include "emu/lockstep/lockstep.h"
#include "emu/shared/shared.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

static struct emu_world *world;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	runtime_begin("ends");
	config.fabric = "lab";
	config.lockstep = true;
	config.preempt_ns = 1000000000ul;
	world = emu_world_map_bare();
	ck_assert_int_eq(emu_shared_join(world, &config), 0);
}

static void end_world(void)
{
	emu_shared_leave(world);
	emu_world_unmap_bare(world);
}

static void teardown_fabric(void)
{
	end_world();
	runtime_end();
}

static void *enter_and_end(void *arg)
{
	struct nic_world *nic = (struct nic_world *)world;

	while (!emu_backend.enter(nic, false))
		emu_backend.await(nic);
	ck_assert_uint_ne(emu_lockstep_self(world), 0);
	emu_backend.leave(nic);
	emu_backend.thread_ends(nic);
	ck_assert_uint_eq(emu_lockstep_self(world), 0);
	return arg;
}

static bool has_thread(enum emu_thread_state state)
{
	return emu_lockstep_has_thread(&world->fab->shared.lockstep, world->process, state);
}

START_TEST(a_thread_that_ends_does_not_become_the_helper)
{
	struct nic_world *nic = (struct nic_world *)world;
	pthread_t thread;

	ck_assert(emu_backend.enter(nic, true));
	emu_backend.leave(nic);
	ck_assert_int_eq(world->membership->helper, gettid());
	ck_assert_int_eq(pthread_create(&thread, NULL, enter_and_end, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(world->membership->helper, gettid());
	/* The helper passes its turn on, when the kernel has removed it. */
	ck_assert(has_thread(EMU_THREAD_ENDING));
	while (!emu_backend.enter(nic, true))
		emu_backend.await(nic);
	emu_backend.leave(nic);
	ck_assert(!has_thread(EMU_THREAD_ENDING));
	ck_assert_uint_eq(world->fab->shared.lockstep.turn, 0);
}
END_TEST

static void *sleep_outside(void *arg)
{
	sem_wait(arg);
	return arg;
}

/* It is new, and the other one had the turn. No payload may wait for a turn that it never takes. */
START_TEST(a_thread_that_takes_no_turns_is_counted_when_another_ends)
{
	struct nic_world *nic = (struct nic_world *)world;
	pthread_t sleeper, thread;
	sem_t end;

	ck_assert_int_eq(sem_init(&end, 0, 0), 0);
	ck_assert(emu_backend.enter(nic, true));
	emu_backend.leave(nic);
	ck_assert_int_eq(pthread_create(&thread, NULL, enter_and_end, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(pthread_create(&sleeper, NULL, sleep_outside, &end), 0);
	world->fab->shared.lockstep.outside[world->process] = 0;
	while (!emu_backend.enter(nic, true))
		emu_backend.await(nic);
	ck_assert_uint_ge(world->fab->shared.lockstep.outside[world->process], 1);
	emu_backend.leave(nic);
	ck_assert_int_eq(sem_post(&end), 0);
	ck_assert_int_eq(pthread_join(sleeper, NULL), 0);
	sem_destroy(&end);
}
END_TEST

/* Programs close all descriptors, and open others in their place. */
START_TEST(threads_are_counted_when_the_program_took_the_descriptor)
{
	struct emu_membership *m = world->membership;
	int null = open("/dev/null", O_RDONLY), taken;
	uint32_t threads;

	emu_lockstep_expects(world);
	/* ThreadSanitizer has one of its own. */
	threads = m->task_count;
	ck_assert_uint_ge(threads, 1);
	ck_assert_uint_le(threads, 2);
	taken = m->tasks;
	ck_assert_int_gt(taken, STDERR_FILENO);
	close(taken);
	ck_assert_uint_eq(emu_lockstep_outside(world), 0);
	emu_lockstep_expects(world);
	ck_assert_uint_eq(m->task_count, threads);
	taken = m->tasks;
	ck_assert_int_eq(dup2(null, taken), taken);
	emu_lockstep_expects(world);
	ck_assert_uint_eq(m->task_count, threads);
	ck_assert_int_ne(m->tasks, taken);
	ck_assert_int_eq(dup2(null, m->tasks), m->tasks);
	taken = m->tasks;
	emu_lockstep_forget_tasks(m);
	ck_assert_int_eq(fcntl(taken, F_GETFD), 0);
}
END_TEST

static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER; /* its lock, around the fabric's */

static void *end_world_in_turn(void *arg)
{
	struct nic_world *nic = (struct nic_world *)world;

	pthread_mutex_lock(&library);
	while (!emu_backend.enter(nic, false)) {
		pthread_mutex_unlock(&library);
		emu_backend.await(nic);
		pthread_mutex_lock(&library);
	}
	emu_backend.leave(nic);
	end_world();
	pthread_mutex_unlock(&library);
	return arg;
}

static void leave_world(void *ctx)
{
	(void)ctx;
	emu_backend.leave((struct nic_world *)world);
	pthread_mutex_unlock(&library);
}

/* As the host's lock: there is no world to enter any more. */
static bool see_the_end(void *thread)
{
	ck_assert_int_eq(pthread_join(*(pthread_t *)thread, NULL), 0);
	pthread_mutex_lock(&library);
	return false;
}

/* By the lock of the fabric, which the helper takes without a turn. */
static uint32_t threads_high(void)
{
	struct nic_world *nic = (struct nic_world *)world;
	uint32_t high;

	pthread_mutex_lock(&library);
	ck_assert(emu_backend.enter(nic, true));
	high = world->fab->shared.lockstep.high;
	emu_backend.leave(nic);
	pthread_mutex_unlock(&library);
	return high;
}

static void *do_nothing(void *arg)
{
	return arg;
}

/*
 * It waits for the end, which another thread waited to reach. ThreadSanitizer begins a thread of
 * its own with the first one of the program, and ends it when the helper enters.
 */
START_TEST(a_thread_may_sleep_while_the_world_ends)
{
	struct nic_world *nic = (struct nic_world *)world;
	pthread_t thread;
	const struct nic_unlocked unlocked = { leave_world, see_the_end, &thread };

	ck_assert_int_eq(pthread_create(&thread, NULL, do_nothing, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(emu_backend.enter(nic, true));
	emu_backend.leave(nic);
	ck_assert(emu_backend.enter(nic, false));
	emu_backend.leave(nic);
	ck_assert_uint_eq(threads_high(), 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, end_world_in_turn, NULL), 0);
	while (threads_high() < 2)
		sched_yield();
	pthread_mutex_lock(&library);
	ck_assert(emu_backend.enter(nic, false));
	emu_backend.sleep(nic, false, NIC_TIME_NEVER, &unlocked);
	pthread_mutex_unlock(&library);
	runtime_end();
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("ends");
	TCase *end = tcase_create("end");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, a_thread_that_ends_does_not_become_the_helper);
	tcase_add_test(tcase, a_thread_that_takes_no_turns_is_counted_when_another_ends);
	tcase_add_test(tcase, threads_are_counted_when_the_program_took_the_descriptor);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(end, setup, NULL);
	tcase_add_test(end, a_thread_may_sleep_while_the_world_ends);
	suite_add_tcase(suite, end);
}

UNIT_SUITE_OF_PROCESSES("threads of a fabric in lockstep")
