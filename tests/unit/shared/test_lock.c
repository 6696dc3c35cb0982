/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's lock, whose word names another thread than the one that holds it: because another
 * process wrote there, or because the holder's pid namespace is another one.
 */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emu/fabric/spare.h"
#include "emu/shared/lock.h"
#include "emu/shared/shared.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

enum {
	NO_THREAD = 0x3ffffff0, /* beyond all that the kernel gives */
	LOOKED_MS = 1500,       /* by then a waiter has looked whether the word is true */
};

static struct emu_world *world;

static void join(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	config.fabric = "lab";
	world = emu_world_map_bare();
	if (!world || emu_shared_join(world, &config))
		abort();
}

static void setup(void)
{
	runtime_begin("lock");
	join();
}

static void teardown_fabric(void)
{
	emu_shared_leave(world);
	emu_world_unmap_bare(world);
	runtime_end();
}

/* Thread 1 of the machine lives, but not on this fabric. */
START_TEST(a_word_that_names_a_stranger_is_not_believed)
{
	world->fab->lock.word = 1;
	emu_shared_take(world);
	ck_assert_uint_ne(world->fab->lock.word, 1);
	emu_shared_release(world);
}
END_TEST

/*
 * A process that joins, waits to be told, takes the lock, leaves, says so and lives until it is
 * killed: at an exit, valgrind would look for leaks in all that it maps, which takes minutes.
 */
static pid_t start_waiter(int told, int said)
{
	pid_t pid = fork();
	char byte = 0;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	join();
	if (write(said, &byte, 1) != 1 || read(told, &byte, 1) != 1)
		_exit(1);
	emu_shared_take(world);
	emu_shared_release(world);
	emu_shared_leave(world);
	if (write(said, &byte, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static bool is_said(int from, int within_ms)
{
	struct pollfd end = { .fd = from, .events = POLLIN };
	char byte;

	return poll(&end, 1, within_ms) == 1 && read(from, &byte, 1) == 1;
}

START_TEST(a_holder_whose_thread_is_of_another_namespace_keeps_the_lock)
{
	int told[2], said[2];
	char byte = 0;
	pid_t waiter;

	ck_assert(pipe(told) == 0 && pipe(said) == 0);
	waiter = start_waiter(told[0], said[1]);
	ck_assert(is_said(said[0], -1));
	emu_shared_take(world);
	world->fab->lock.word = NO_THREAD;
	ck_assert_int_eq(write(told[1], &byte, 1), 1);
	ck_assert_msg(!is_said(said[0], LOOKED_MS), "two processes hold the lock");
	emu_shared_release(world);
	ck_assert(is_said(said[0], -1));
	kill(waiter, SIGKILL);
	ck_assert_int_eq(waitpid(waiter, NULL, 0), waiter);
}
END_TEST

/*
 * The kernel marks a lock whose word has the id of a thread that dies waiting for it: the holder
 * has the same id in another pid namespace.
 */
START_TEST(a_waiter_that_dies_does_not_end_the_hold_of_its_namesake)
{
	uint32_t *word = &world->fab->lock.word;
	int told[2], said[2];
	char byte = 0;
	pid_t waiter;

	ck_assert(pipe(told) == 0 && pipe(said) == 0);
	waiter = start_waiter(told[0], said[1]);
	ck_assert(is_said(said[0], -1));
	emu_shared_take(world);
	__atomic_store_n(word, (uint32_t)waiter, __ATOMIC_SEQ_CST);
	ck_assert_int_eq(write(told[1], &byte, 1), 1);
	while (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & FUTEX_WAITERS))
		sched_yield(); /* it sets this before it sleeps */
	kill(waiter, SIGKILL);
	ck_assert_int_eq(waitpid(waiter, NULL, 0), waiter);
	ck_assert_uint_eq(*word & FUTEX_OWNER_DIED, 0);
	emu_shared_release(world);
}
END_TEST

static void *take_and_release(void *arg)
{
	emu_shared_take(world);
	emu_shared_release(world);
	return arg;
}

/* The watchdog of lockstep leaves the threads of such a process alone. */
START_TEST(a_process_counts_its_threads_that_sleep_until_the_lock_is_free)
{
	uint32_t *lockers = &emu_process(world, world->process)->lockers;
	pthread_t thread;

	emu_shared_take(world);
	ck_assert_uint_eq(*lockers, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, take_and_release, NULL), 0);
	while (!__atomic_load_n(lockers, __ATOMIC_SEQ_CST))
		sched_yield();
	ck_assert_uint_eq(*lockers, 1);
	emu_shared_release(world);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(*lockers, 0);
}
END_TEST

/* ---- a holder that lives ---- */

enum {
	PATIENCE_MS = 200,    /* DATSIM_LOCK_MS */
	RUNS_NS = 1000000000, /* of processor time: five times as long */
};

/* A process that takes the lock, says so, does `what`, and releases it. */
static pid_t start_holder(int said, void (*what)(void))
{
	pid_t pid = fork();
	char byte = 0;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	join();
	emu_shared_take(world);
	if (write(said, &byte, 1) != 1)
		_exit(1);
	what();
	emu_shared_release(world);
	for (;;)
		pause();
}

static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static void run_for_long(void)
{
	struct timespec ran;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
	while (ran.tv_sec * 1000000000l + ran.tv_nsec < RUNS_NS);
}

static void handle(int sig)
{
	(void)sig;
}

/* More often than a waiter looks at the holder, as a profiler's signals are. */
static void signal_often(bool on)
{
	const struct sigaction handler = { .sa_handler = handle, .sa_flags = SA_RESTART };
	const struct timeval often = { .tv_usec = on ? 10000 : 0 };
	const struct itimerval timer = { .it_interval = often, .it_value = often };

	if (on)
		ck_assert_int_eq(sigaction(SIGALRM, &handler, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* signals: some come meanwhile. */
static enum emu_taken take_from(void (*holds)(void), bool signals)
{
	enum emu_taken taken;
	pid_t holder;
	int said[2];

	ck_assert_int_eq(pipe(said), 0);
	world->membership->lock_ms = PATIENCE_MS;
	holder = start_holder(said[1], holds);
	ck_assert(is_said(said[0], -1));
	signal_often(signals);
	taken = emu_lock_take(world);
	signal_often(false);
	if (taken == EMU_TAKEN)
		emu_lock_release(&world->fab->lock);
	kill(holder, SIGKILL);
	ck_assert_int_eq(waitpid(holder, NULL, 0), holder);
	return taken;
}

/* As in a freezer of cgroups, where nothing else tells that it is stopped */
START_TEST(a_holder_that_sleeps_is_waited_for_as_long_as_one_that_is_stopped)
{
	ck_assert_int_eq(take_from(sleep_for_ever, false), EMU_NOT_TAKEN);
}
END_TEST

START_TEST(a_holder_that_runs_is_waited_for_without_a_bound)
{
	ck_assert_int_eq(take_from(run_for_long, false), EMU_TAKEN);
}
END_TEST

/* ---- a waiter that has signals to handle ---- */

START_TEST(a_word_that_names_a_stranger_is_not_believed_however_often_a_signal_comes)
{
	world->membership->lock_ms = PATIENCE_MS;
	world->fab->lock.word = 1;
	signal_often(true);
	emu_shared_take(world);
	signal_often(false);
	ck_assert_uint_ne(world->fab->lock.word, 1);
	emu_shared_release(world);
}
END_TEST

START_TEST(a_holder_that_is_stopped_is_waited_for_with_a_bound_however_often_a_signal_comes)
{
	ck_assert_int_eq(take_from(sleep_for_ever, true), EMU_NOT_TAKEN);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("lock");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, a_word_that_names_a_stranger_is_not_believed);
	tcase_add_test(tcase, a_holder_whose_thread_is_of_another_namespace_keeps_the_lock);
	tcase_add_test(tcase, a_waiter_that_dies_does_not_end_the_hold_of_its_namesake);
	tcase_add_test(tcase, a_process_counts_its_threads_that_sleep_until_the_lock_is_free);
	tcase_add_test(tcase, a_holder_that_sleeps_is_waited_for_as_long_as_one_that_is_stopped);
	tcase_add_test(tcase, a_holder_that_runs_is_waited_for_without_a_bound);
	tcase_add_test(tcase,
		       a_word_that_names_a_stranger_is_not_believed_however_often_a_signal_comes);
	tcase_add_test(
		tcase,
		a_holder_that_is_stopped_is_waited_for_with_a_bound_however_often_a_signal_comes);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("lock of a shared fabric")
