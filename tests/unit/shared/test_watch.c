/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: threads that stay away for too long, and threads that die. The test's own thread is one
 * of the table; most others are entries that no thread stands behind, of this process or of a
 * second one.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emu/shared/apart.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	FIRST = 2,
	SECOND = 3,
	THIRD = 4,
	BOUND_NS = 50000000,
	BUSY_TIMES = 20,
	STIR_NS = 1000000000,
	ROUSE_ALL = 1024, /* as in lockstep_watch.c */
};

static struct emu_world *world;
static struct emu_lockstep *ls;

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

/* A thread that still waits for its turn is woken, and leaves before the arena is unmapped. */
static void *await_wake(void *arg)
{
	uint32_t *awaiting = &world->membership->awaiting;

	(void)arg;
	while (!__atomic_load_n(&ls->thread[FIRST].futex, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&ls->thread[SECOND].futex, __ATOMIC_SEQ_CST))
		sched_yield();
	__atomic_store_n(awaiting, 0, __ATOMIC_SEQ_CST);
	return NULL;
}

START_TEST(a_process_that_leaves_wakes_its_own_threads)
{
	pthread_t thread;

	add_thread(FIRST, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	add_thread(SECOND, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	world->membership->thread_high = SECOND;
	world->membership->awaiting = 1;
	ck_assert_int_eq(pthread_create(&thread, NULL, await_wake, NULL), 0);
	emu_lockstep_leave(world);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_gt(ls->thread[FIRST].futex, 0);
	/* On a busy machine the thread comes late, and all are woken once in a while. */
	ck_assert_uint_eq(ls->thread[SECOND].futex, ls->thread[FIRST].futex / ROUSE_ALL);
}
END_TEST

static void *sleep_and_go(void *arg)
{
	static const struct emu_sleep sleep = { .seen = 0 };

	emu_lockstep_sleep_on(&ls->thread[FIRST], &sleep);
	__atomic_store_n(&world->membership->awaiting, 0, __ATOMIC_SEQ_CST);
	return arg;
}

static pthread_t start_sleeper(void)
{
	pthread_t thread;

	add_thread(FIRST, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	world->membership->thread_high = FIRST;
	world->membership->awaiting = 1;
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_and_go, NULL), 0);
	while (!__atomic_load_n(&ls->thread[FIRST].asleep, __ATOMIC_SEQ_CST))
		sched_yield();
	return thread;
}

START_TEST(a_process_that_leaves_wakes_its_threads_whatever_another_has_written)
{
	pthread_t thread = start_sleeper();

	ls->thread[FIRST].process = OTHER;
	ls->high = 0;
	emu_lockstep_leave(world);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* It sleeps on a page of the file, and its process goes on with another page. */
START_TEST(a_process_that_goes_apart_wakes_its_threads)
{
	pthread_t thread = start_sleeper();

	ck_assert(emu_apart(world, world->fab->lock.word));
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(unlink(world->membership->path), 0);
}
END_TEST

/* ---- the watchdog, and the dead ---- */

static void watch_at(unsigned int ms)
{
	emu_lockstep_watch(world, (uint64_t)ms * 1000000u);
}

/* The time of an entry without a thread is the time between two looks. */
START_TEST(a_thread_that_stays_away_for_the_bound_loses_the_turn)
{
	struct emu_thread *t = &ls->thread[FIRST];

	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	add_thread(SECOND, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	ls->turn = FIRST;
	watch_at(1000);
	watch_at(1030);
	ck_assert_uint_eq(ls->turn, FIRST);
	ls->activity++;
	watch_at(1060); /* it has called in between */
	watch_at(1090);
	ck_assert_uint_eq(ls->turn, FIRST);
	ck_assert_int_eq(t->state, EMU_THREAD_READY);
	watch_at(1120);
	ck_assert_uint_eq(ls->turn, SECOND);
	ck_assert_int_eq(t->state, EMU_THREAD_AWAY);
	ck_assert_uint_eq(ls->away, 1);
	watch_at(1121); /* there is no such thread */
	ck_assert_int_eq(t->state, EMU_THREAD_NONE);
	ck_assert_uint_eq(ls->away, 0);
}
END_TEST

/* Of processor time, which the kernel may account for a few milliseconds late. */
static void compute(unsigned int ms)
{
	struct timespec ts;
	uint64_t end = 0, now;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
		end = end ? end : now + (uint64_t)ms * 1000000u;
	} while (now < end);
}

START_TEST(a_thread_that_computes_has_ten_times_the_bound)
{
	add_thread(FIRST, OWN, EMU_THREAD_READY, 0);
	ls->thread[FIRST].tid = gettid();
	emu_process(world, OWN)->pid = getpid();
	world->membership->bound_ns = 5000000;
	ls->turn = FIRST;
	for (unsigned int i = 0; i < 5; i++) {
		watch_at(1000 + 10 * i);
		compute(30);
	}
	ck_assert_uint_eq(ls->turn, FIRST); /* 40 of 50 ms, whatever the kernel says */
	watch_at(1050);
	compute(30);
	watch_at(1060);
	ck_assert_uint_eq(ls->turn, 0);
	ck_assert_int_eq(ls->thread[FIRST].state, EMU_THREAD_AWAY);
}
END_TEST

/* Time that the kernel says a thread of this process has waited for a processor. */
static uint64_t queued_ns(int32_t tid)
{
	unsigned long long ran = 0, queued = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	file = fopen(path, "r");
	if (file) {
		ck_assert_int_eq(fscanf(file, "%llu %llu", &ran, &queued), 2);
		fclose(file);
	}
	return queued;
}

enum {
	RIVALS = 4
}; /* the thread waits for several times as long as it runs */

/* A thread that has to share its processor with processes that always run, and then sleeps. */
struct crowded {
	int32_t tid;
	bool go, asleep;
	int gate[2];
};

static void *wait_for_processor(void *arg)
{
	struct crowded *crowded = arg;
	uint64_t before;
	char byte;

	__atomic_store_n(&crowded->tid, gettid(), __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&crowded->go, __ATOMIC_SEQ_CST))
		usleep(1000);
	for (before = queued_ns(gettid()); queued_ns(gettid()) < before + 40000000;)
		;
	__atomic_store_n(&crowded->asleep, true, __ATOMIC_SEQ_CST);
	return read(crowded->gate[0], &byte, 1) == 1 ? NULL : arg;
}

static pid_t start_rival(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

/* The thread and its rivals have one processor. */
static void start_crowd(struct crowded *crowded, pthread_t *thread, pid_t rivals[RIVALS])
{
	cpu_set_t all, one;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	for (int i = 0; i < RIVALS; i++)
		rivals[i] = start_rival();
	ck_assert_int_eq(pipe(crowded->gate), 0);
	ck_assert_int_eq(pthread_create(thread, NULL, wait_for_processor, crowded), 0);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
	while (!__atomic_load_n(&crowded->tid, __ATOMIC_SEQ_CST))
		sched_yield();
}

/* It sleeps when it is looked at, but has waited for a processor in the 40 ms before that. */
START_TEST(time_in_which_a_thread_waited_for_a_processor_does_not_count)
{
	struct crowded crowded = { 0 };
	pthread_t thread;
	pid_t rivals[RIVALS];

	start_crowd(&crowded, &thread, rivals);
	add_thread(FIRST, OWN, EMU_THREAD_READY, 0);
	ls->thread[FIRST].tid = crowded.tid;
	ls->turn = FIRST;
	watch_at(1000);
	__atomic_store_n(&crowded.go, true, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&crowded.asleep, __ATOMIC_SEQ_CST) ||
	       emu_lockstep_task_state(getpid(), crowded.tid) != 'S')
		sched_yield();
	watch_at(1040);
	watch_at(1080);
	ck_assert_uint_eq(ls->turn, FIRST);
	watch_at(1120);
	ck_assert_uint_eq(ls->turn, 0);
	for (int i = 0; i < RIVALS; i++) {
		kill(rivals[i], SIGKILL);
		ck_assert_int_eq(waitpid(rivals[i], NULL, 0), rivals[i]);
	}
	ck_assert_int_eq(write(crowded.gate[1], "", 1), 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static void *sleep_until_woken(void *arg)
{
	int32_t *tid = arg;

	__atomic_store_n(tid, gettid(), __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &ls->thread[FIRST].futex, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

static void await_sleep(const int32_t *tid)
{
	while (!__atomic_load_n(tid, __ATOMIC_SEQ_CST))
		sched_yield();
	while (emu_lockstep_task_state(getpid(), *tid) != 'S')
		sched_yield();
}

/* The one that gave it the turn has stored that, and has not come to wake it. */
START_TEST(a_thread_that_nobody_woke_for_its_turn_is_woken_and_keeps_it)
{
	int32_t tid = 0;
	pthread_t thread;

	add_thread(FIRST, OWN, EMU_THREAD_READY, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_until_woken, &tid), 0);
	await_sleep(&tid);
	ls->turn = FIRST;
	watch_at(1000);
	watch_at(1040);
	watch_at(1080);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(ls->turn, FIRST);
}
END_TEST

START_TEST(a_thread_keeps_its_turn_while_its_process_waits_for_the_lock)
{
	struct emu_process *other = emu_process(world, OTHER);

	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	ls->turn = FIRST;
	other->lockers = 1;
	watch_at(1000);
	watch_at(1040);
	watch_at(1080);
	ck_assert_uint_eq(ls->turn, FIRST);
	other->lockers = 0;
	watch_at(1120);
	ck_assert_uint_eq(ls->turn, FIRST);
	watch_at(1160);
	ck_assert_uint_eq(ls->turn, 0);
}
END_TEST

/* Another process may have written any number to the arena. */
START_TEST(a_thread_loses_its_turn_after_400_bounds_whatever_it_does)
{
	struct emu_process *other = emu_process(world, OTHER);

	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	ls->turn = FIRST;
	other->lockers = UINT32_MAX;
	watch_at(1000);
	watch_at(20990);
	ck_assert_uint_eq(ls->turn, FIRST);
	watch_at(21000);
	ck_assert_uint_eq(ls->turn, 0);
}
END_TEST

START_TEST(one_look_counts_for_little_however_late_it_comes)
{
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	ls->turn = FIRST;
	watch_at(1000);
	watch_at(1500);
	ck_assert_uint_eq(ls->turn, FIRST);
	watch_at(1510);
	ck_assert_uint_eq(ls->turn, 0);
}
END_TEST

START_TEST(an_ending_thread_is_left_to_its_helper_for_twenty_bounds)
{
	add_thread(FIRST, OTHER, EMU_THREAD_ENDING, 0);
	ls->turn = FIRST;
	for (unsigned int ms = 1000; ms < 2000; ms += 30) {
		watch_at(ms);
		ck_assert_uint_eq(ls->turn, FIRST);
	}
	watch_at(2000);
	ck_assert_uint_eq(ls->turn, 0);
}
END_TEST

START_TEST(the_watchdog_repairs_the_table)
{
	add_thread(FIRST, OTHER, EMU_THREAD_AWAY + 1, 0);
	add_thread(SECOND, EMU_PROCESSES, EMU_THREAD_READY, 0); /* there is no such process */
	add_thread(THIRD, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	ls->turn = SECOND;
	ls->away = 9;
	ls->held = 1;
	watch_at(1000);
	ck_assert_int_eq(ls->thread[FIRST].state, EMU_THREAD_NONE);
	ck_assert_int_eq(ls->thread[SECOND].state, EMU_THREAD_NONE);
	ck_assert_int_eq(ls->thread[THIRD].state, EMU_THREAD_WAITING);
	ck_assert_uint_eq(ls->turn, THIRD);
	ck_assert_uint_eq(ls->away, 0);
	ck_assert_uint_eq(ls->held, 0);
}
END_TEST

START_TEST(a_turn_that_no_thread_has_is_given_to_another_after_a_death)
{
	uint32_t futex;

	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	add_thread(SECOND, OTHER, EMU_THREAD_AWAY, 0);
	ls->turn = _i > 0 ? EMU_THREADS + 1 : THIRD;
	ls->high = THIRD;
	ls->away = 7;
	futex = ls->thread[SECOND].futex;
	emu_lockstep_recover(world);
	ck_assert_uint_eq(ls->turn, FIRST);
	ck_assert_uint_eq(ls->away, 1);
	ck_assert_uint_ne(ls->thread[SECOND].futex, futex);
}
END_TEST

START_TEST(a_process_that_dies_takes_its_threads_along)
{
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	add_thread(SECOND, OTHER, EMU_THREAD_AWAY, 0);
	add_thread(THIRD, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	ls->turn = FIRST;
	ls->away = 1;
	ck_assert(!emu_lockstep_waits(world, OTHER));
	emu_lockstep_drop_process(world, OTHER);
	ck_assert_int_eq(ls->thread[FIRST].state, EMU_THREAD_NONE);
	ck_assert_int_eq(ls->thread[SECOND].state, EMU_THREAD_NONE);
	ck_assert_uint_eq(ls->thread[FIRST].number, 0);
	ck_assert_uint_eq(ls->away, 0);
	ck_assert_uint_eq(ls->turn, THIRD);
	ck_assert(emu_lockstep_waits(world, OWN));
	ck_assert(!emu_lockstep_waits(world, OTHER));
}
END_TEST

START_TEST(a_process_waits_if_no_other_can_end_its_wait_while_time_is_stopped)
{
	add_thread(FIRST, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	add_thread(SECOND, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	ls->turn = FIRST; /* it keeps it until new threads of its process have registered */
	ck_assert(emu_lockstep_waits(world, OWN));
	ls->held = emu_lockstep_held_by(getpid());
	ck_assert(!emu_lockstep_waits(world, OWN));
	ls->turn = 0;
	ck_assert(emu_lockstep_waits(world, OWN));
	ls->thread[FIRST].state = EMU_THREAD_READY;
	ck_assert(!emu_lockstep_waits(world, OWN));
	ls->held = 0;
	ck_assert(emu_lockstep_waits(world, OWN));
}
END_TEST

/* How often it looks before the child has joined is up to the machine. */
START_TEST(looks_for_a_child_neither_end_the_turn_nor_count_as_calls)
{
	struct emu_thread *self = enter();
	uint64_t calls = self->calls;

	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	emu_lockstep_await_child(world);
	for (int i = 0; i < 3000; i++) {
		ck_assert(emu_lockstep_settle(world));
		ck_assert(emu_lockstep_expects_process(world, getpid()));
	}
	ck_assert_int_eq(ls->thread[FIRST].state, EMU_THREAD_READY);
	ck_assert_uint_eq(self->calls, calls);
	ck_assert(!emu_lockstep_expects_process(world, 0));
	ck_assert(emu_lockstep_settle(world));
	ck_assert_uint_eq(self->calls, calls + 1);
}
END_TEST

static void *spin(void *running)
{
	__atomic_store_n((bool *)running, true, __ATOMIC_RELEASE);
	for (;;)
		;
	return NULL;
}

/* A process whose first thread sleeps; in odd rows a second one has work to do. */
static pid_t start_child(bool busy)
{
	bool *running = mmap(NULL, sizeof(*running), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	pid_t child;

	ck_assert_ptr_ne(running, MAP_FAILED);
	child = fork();
	if (child == 0) {
		if (busy)
			pthread_create(&thread, NULL, spin, running);
		for (;;)
			pause();
	}
	while (emu_lockstep_task_state(child, child) != 'S' ||
	       (busy && !__atomic_load_n(running, __ATOMIC_ACQUIRE)))
		sched_yield();
	munmap(running, sizeof(*running));
	return child;
}

START_TEST(a_child_that_is_busy_is_awaited_twenty_times_as_long)
{
	int looks_most = _i ? 2 * BUSY_TIMES : 2;
	pid_t child = start_child(_i);

	world->fab->trace_on = true;
	world->membership->bound_ns = 2 * EMU_NAP_NS;
	enter();
	emu_lockstep_await_child(world);
	for (int i = 1; i < looks_most; i++)
		ck_assert_msg(emu_lockstep_expects_process(world, child), "not after %d", i);
	ck_assert(!lone_is_traced(world, "does not join"));
	ck_assert(!emu_lockstep_expects_process(world, child));
	ck_assert(lone_is_traced(world, "does not join"));
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

static void *sleep_unwoken(void *arg)
{
	static const struct emu_sleep sleep = { .seen = 0 };

	emu_lockstep_sleep_on(&ls->thread[FIRST], &sleep);
	return arg;
}

/* Its futex is as it was, so it sleeps, and no thread is to wake it. */
START_TEST(a_thread_whose_wake_was_lost_looks_again_after_a_second)
{
	uint64_t now = 10ul * STIR_NS;
	pthread_t thread;

	enter();
	add_thread(FIRST, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	world->membership->thread_high = FIRST;
	world->membership->awaiting = 1;
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_unwoken, NULL), 0);
	do {
		now += STIR_NS;
		ls->activity++; /* the thread with the turn is busy */
		emu_lockstep_watch(world, now);
		sched_yield();
	} while (pthread_tryjoin_np(thread, NULL) != 0);
	ck_assert_uint_eq(world->membership->stirred, now);
	ls->activity++;
	emu_lockstep_watch(world, now + STIR_NS - 1);
	ck_assert_uint_eq(world->membership->stirred, now);
	ck_assert_uint_eq(ls->turn, SELF);
	world->membership->awaiting = 0;
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("watch");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, a_process_that_leaves_wakes_its_own_threads);
	tcase_add_test(tcase, a_process_that_leaves_wakes_its_threads_whatever_another_has_written);
	tcase_add_test(tcase, a_process_that_goes_apart_wakes_its_threads);
	tcase_add_test(tcase, a_thread_that_stays_away_for_the_bound_loses_the_turn);
	tcase_add_test(tcase, a_thread_that_computes_has_ten_times_the_bound);
	tcase_add_test(tcase, time_in_which_a_thread_waited_for_a_processor_does_not_count);
	tcase_add_test(tcase, a_thread_that_nobody_woke_for_its_turn_is_woken_and_keeps_it);
	tcase_add_test(tcase, a_thread_whose_wake_was_lost_looks_again_after_a_second);
	tcase_add_test(tcase, a_thread_keeps_its_turn_while_its_process_waits_for_the_lock);
	tcase_add_test(tcase, a_thread_loses_its_turn_after_400_bounds_whatever_it_does);
	tcase_add_test(tcase, one_look_counts_for_little_however_late_it_comes);
	tcase_add_test(tcase, an_ending_thread_is_left_to_its_helper_for_twenty_bounds);
	tcase_add_test(tcase, the_watchdog_repairs_the_table);
	tcase_add_loop_test(tcase, a_turn_that_no_thread_has_is_given_to_another_after_a_death, 0,
			    2);
	tcase_add_test(tcase, a_process_that_dies_takes_its_threads_along);
	tcase_add_test(tcase, a_process_waits_if_no_other_can_end_its_wait_while_time_is_stopped);
	tcase_add_test(tcase, looks_for_a_child_neither_end_the_turn_nor_count_as_calls);
	tcase_add_loop_test(tcase, a_child_that_is_busy_is_awaited_twenty_times_as_long, 0, 2);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("the watchdog of lockstep")
