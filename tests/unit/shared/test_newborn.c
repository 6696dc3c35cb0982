/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: threads that have been created and have not called into the library yet. The test's own
 * thread is one of the table.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "lone.h"
#include "tests/support/support.h"

enum {
	FIRST = 2,
	SECOND = 3,
	THIRD = 4,
	BOUND_NS = 50000000,
	ASLEEP_CHECKS = 20, /* after so many a sleeping thread is an outsider */
};

static struct emu_world *world;
static struct emu_lockstep *ls;

/* ---- what the linker puts in front of libc's ---- */

static unsigned int naps;
static unsigned int looks; /* entries that were read of folders */
static bool ghost;         /* each list of threads ends with one that is gone */

int __real_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);
struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

int __wrap_nanosleep(const struct timespec *pause, struct timespec *left)
{
	naps++;
	return __real_nanosleep(pause, left);
}

struct dirent *__wrap_readdir(DIR *dir)
{
	static struct dirent gone;
	static bool told;
	struct dirent *entry = __real_readdir(dir);

	looks++;
	if (entry || !ghost)
		return entry;
	told = !told;
	snprintf(gone.d_name, sizeof(gone.d_name), "%d", NO_THREAD);
	return told ? &gone : NULL;
}

/* ---- the fabric ---- */

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	config.preempt_ns = BOUND_NS;
	world = lone_begin_lockstep(config);
	ls = &world->fab->shared.lockstep;
}

static void teardown_fabric(void)
{
	lone_end_lockstep(world);
}

static void add_thread(uint32_t i, uint16_t process, enum emu_thread_state state, uint64_t until)
{
	lone_thread(world, i, process, state, until);
}

static struct emu_thread *enter(void)
{
	return lone_enter(world);
}

/* ---- a thread that sleeps ---- */

static int gate[2];

static void *wait_at_gate(void *arg)
{
	int32_t *tid = arg;
	char byte;

	__atomic_store_n(tid, gettid(), __ATOMIC_SEQ_CST);
	return read(gate[0], &byte, 1) == 1 ? arg : NULL;
}

static pthread_t start_sleeper_at_gate(int32_t *tid)
{
	pthread_t thread;

	*tid = 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_at_gate, tid), 0);
	while (!__atomic_load_n(tid, __ATOMIC_SEQ_CST))
		sched_yield();
	while (emu_lockstep_task_state(getpid(), *tid) != 'S')
		sched_yield();
	return thread;
}

static pthread_t start_sleeper(int32_t *tid)
{
	ck_assert_int_eq(pipe(gate), 0);
	return start_sleeper_at_gate(tid);
}

static void end_sleeper(pthread_t thread, int32_t tid)
{
	ck_assert_int_eq(write(gate[1], "", 1), 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	while (emu_lockstep_task_state(getpid(), tid))
		sched_yield();
	close(gate[0]);
	close(gate[1]);
}

START_TEST(a_new_thread_is_expected_until_it_has_only_slept)
{
	pthread_t thread;
	int32_t tid;

	world->fab->trace_on = true;
	enter();
	ck_assert(!emu_lockstep_expects(world));
	thread = start_sleeper(&tid);
	for (int i = 1; i < ASLEEP_CHECKS; i++)
		ck_assert_msg(emu_lockstep_expects(world), "not any more after %d", i);
	ck_assert(!emu_lockstep_expects(world));
	ck_assert_uint_eq(emu_lockstep_outside(world), 1);
	ck_assert(!lone_is_traced(world, "long in coming"));
	/* It comes after all, or it ends. */
	if (_i > 0) {
		emu_lockstep_note_arrival(world, tid, false);
		ck_assert(lone_is_traced(world, "comes late"));
		ck_assert_uint_eq(emu_lockstep_outside(world), 0);
	}
	end_sleeper(thread, tid);
	add_thread(FIRST, OWN, EMU_THREAD_READY, 0); /* so that the threads are looked through */
	ck_assert(!emu_lockstep_expects(world));
	ck_assert_uint_eq(emu_lockstep_outside(world), 0);
}
END_TEST

/* On a busy machine it may wait for the library's lock for long. */
START_TEST(a_thread_that_is_being_created_is_expected_although_it_sleeps)
{
	pthread_t thread;
	int32_t tid;

	world->fab->trace_on = true;
	enter();
	emu_lockstep_outside_event(world, NIC_OUTSIDE_CALLS);
	thread = start_sleeper(&tid);
	for (int i = 0; i < 3 * ASLEEP_CHECKS; i++)
		ck_assert(emu_lockstep_expects(world));
	emu_lockstep_note_arrival(world, tid, false);
	ck_assert(!lone_is_traced(world, "comes late"));
	end_sleeper(thread, tid);
	ck_assert(!emu_lockstep_expects(world));
	ck_assert_uint_eq(emu_lockstep_outside(world), 0);
}
END_TEST

START_TEST(a_thread_that_could_not_be_created_is_not_expected)
{
	enter();
	emu_lockstep_outside_event(world, NIC_OUTSIDE_CALLS);
	ck_assert(emu_lockstep_expects(world));
	emu_lockstep_outside_event(world, NIC_OUTSIDE_CALLS_NOT);
	ck_assert(!emu_lockstep_expects(world));
	emu_lockstep_outside_event(world, NIC_OUTSIDE_CALLS_NOT);
	ck_assert(!emu_lockstep_expects(world));
}
END_TEST

/* More than the table holds; and some pairs of numbers differ by a multiple of 16. */
START_TEST(many_new_threads_that_sleep_are_told_apart)
{
	enum {
		SLEEPERS = 2 * EMU_NEW_THREADS + 1,
		GROUPS = 3
	};
	pthread_t thread[SLEEPERS];
	int32_t tid[SLEEPERS];
	int checks = 1;

	enter();
	ck_assert_int_eq(pipe(gate), 0);
	for (int i = 0; i < SLEEPERS; i++)
		thread[i] = start_sleeper_at_gate(&tid[i]);
	while (checks <= GROUPS * ASLEEP_CHECKS && emu_lockstep_expects(world))
		checks++;
	ck_assert_int_le(checks, GROUPS * ASLEEP_CHECKS);
	ck_assert_int_gt(checks, (GROUPS - 1) * (ASLEEP_CHECKS - 1));
	ck_assert_uint_eq(emu_lockstep_outside(world), SLEEPERS);
	for (int i = 0; i < SLEEPERS; i++)
		ck_assert_int_eq(write(gate[1], "", 1), 1);
	for (int i = 0; i < SLEEPERS; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	close(gate[0]);
	close(gate[1]);
}
END_TEST

START_TEST(a_helper_that_slept_at_first_is_counted_once)
{
	pthread_t helper, thread;
	int32_t first, second;
	int helpers_gate[2];

	enter();
	helper = start_sleeper(&first);
	memcpy(helpers_gate, gate, sizeof(gate));
	for (int i = 0; i < ASLEEP_CHECKS; i++)
		emu_lockstep_expects(world);
	ck_assert_uint_eq(emu_lockstep_outside(world), 1);
	emu_lockstep_note_helper(world, first);
	ck_assert_uint_eq(emu_lockstep_outside(world), 0);
	thread = start_sleeper(&second);
	ck_assert(emu_lockstep_expects(world)); /* it is not taken for the helper */
	end_sleeper(thread, second);
	memcpy(gate, helpers_gate, sizeof(gate));
	end_sleeper(helper, first);
}
END_TEST

START_TEST(a_new_thread_is_not_expected_for_longer_than_the_bound)
{
	pthread_t thread;
	int32_t tid;

	world->fab->trace_on = true;
	world->membership->bound_ns = 3 * EMU_NAP_NS;
	enter();
	thread = start_sleeper(&tid);
	ck_assert(emu_lockstep_expects(world));
	ck_assert(emu_lockstep_expects(world));
	ck_assert(!emu_lockstep_expects(world));
	ck_assert(lone_is_traced(world, "long in coming"));
	ck_assert_uint_eq(emu_lockstep_outside(world), 1);
	end_sleeper(thread, tid);
}
END_TEST

/* Thread ids grow, and begin again below that of the process. */
START_TEST(threads_are_numbered_in_the_order_of_their_creation)
{
	struct emu_thread *own = enter(), *t = ls->thread;

	own->number = 7;
	add_thread(FIRST, OWN, EMU_THREAD_READY, 0);
	add_thread(SECOND, OWN, EMU_THREAD_READY, 0);
	add_thread(THIRD, OWN, EMU_THREAD_WAITING, 0);
	add_thread(THIRD + 1, OTHER, EMU_THREAD_READY, 0);
	for (uint32_t i = FIRST; i <= THIRD + 1; i++)
		t[i].number = 0;
	t[FIRST].tid = getpid() - 1;
	t[SECOND].tid = getpid() + 9;
	t[THIRD].tid = getpid() + 5;
	emu_lockstep_number(world);
	ck_assert_uint_eq(own->number, 7);
	ck_assert_uint_eq(t[THIRD].number, 8);
	ck_assert_uint_eq(t[SECOND].number, 9);
	ck_assert_uint_eq(t[FIRST].number, 10);
	ck_assert_uint_eq(t[THIRD + 1].number, 0);
	t[THIRD + 1].state = EMU_THREAD_NONE;
}
END_TEST

START_TEST(a_thread_that_is_gone_is_not_expected)
{
	enter();
	add_thread(FIRST, OWN, EMU_THREAD_READY, 0); /* so that the threads are looked through */
	ls->thread[FIRST].tid = 1;
	ghost = true;
	ck_assert(!emu_lockstep_expects(world));
	ck_assert_uint_eq(emu_lockstep_outside(world), 0);
	ghost = false;
}
END_TEST

START_TEST(a_thread_naps_while_another_is_expected_and_not_afterwards)
{
	struct emu_thread *t = enter();
	pthread_t thread;
	int32_t tid;

	thread = start_sleeper(&tid);
	emu_lockstep_poll(world);
	ck_assert(!emu_lockstep_settle(world));
	naps = 0;
	ck_assert(!emu_lockstep_enter(world, false));
	emu_lockstep_await(world);
	ck_assert_uint_eq(naps, 1);
	end_sleeper(thread, tid);
	ck_assert(emu_lockstep_enter(world, false));
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	ls->turn = FIRST;
	ck_assert(!emu_lockstep_enter(world, false));
	t->futex++; /* as if it were woken just now */
	emu_lockstep_await(world);
	ck_assert_uint_eq(naps, 1);
	ck_assert_uint_eq(world->membership->awaiting, 0);
}
END_TEST

/* The number of threads is enough. */
START_TEST(threads_that_are_all_known_are_not_looked_through)
{
	pthread_t thread;
	int32_t tid;

	enter();
	thread = start_sleeper(&tid);
	add_thread(SECOND, OWN, EMU_THREAD_READY, 0);
	ls->thread[SECOND].tid = tid;
	looks = 0;
	ck_assert(!emu_lockstep_expects(world));
	ck_assert_uint_eq(looks, 0);
	ls->thread[SECOND].state = EMU_THREAD_NONE;
	ck_assert(emu_lockstep_expects(world));
	ck_assert_uint_gt(looks, 0);
	end_sleeper(thread, tid);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("newborn");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_loop_test(tcase, a_new_thread_is_expected_until_it_has_only_slept, 0, 2);
	tcase_add_test(tcase, a_thread_that_is_being_created_is_expected_although_it_sleeps);
	tcase_add_test(tcase, a_thread_that_could_not_be_created_is_not_expected);
	tcase_add_test(tcase, many_new_threads_that_sleep_are_told_apart);
	tcase_add_test(tcase, a_helper_that_slept_at_first_is_counted_once);
	tcase_add_test(tcase, a_new_thread_is_not_expected_for_longer_than_the_bound);
	tcase_add_test(tcase, threads_are_numbered_in_the_order_of_their_creation);
	tcase_add_test(tcase, a_thread_that_is_gone_is_not_expected);
	tcase_add_test(tcase, a_thread_naps_while_another_is_expected_and_not_afterwards);
	tcase_add_test(tcase, threads_that_are_all_known_are_not_looked_through);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("threads of lockstep that are new")
