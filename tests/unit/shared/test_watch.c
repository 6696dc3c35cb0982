/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: threads that have not called yet, threads that stay away for too long, and threads that
 * die. The test's own thread is one of the table; most others are entries that no thread stands
 * behind, of this process or of a second one.
 */
#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emu/fabric/trace.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	FIRST = 2,
	SECOND = 3,
	THIRD = 4,
	BOUND_NS = 50000000,
	ASLEEP_CHECKS = 20, /* after so many a sleeping thread is an outsider */
	BUSY_TIMES = 20,
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

static bool is_traced(const char *words)
{
	const char *text;
	size_t length;

	ck_assert_int_eq(emu_trace_text(world, &text, &length), 0);
	return strstr(text, words);
}

/* ---- threads that have not called yet ---- */

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
	ck_assert(!is_traced("long in coming"));
	/* It comes after all, or it ends. */
	if (_i > 0) {
		emu_lockstep_note_arrival(world, tid, false);
		ck_assert(is_traced("comes late"));
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
	ck_assert(!is_traced("comes late"));
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
	ck_assert(is_traced("long in coming"));
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
	world->membership->awaiting = 1;
	ck_assert_int_eq(pthread_create(&thread, NULL, await_wake, NULL), 0);
	emu_lockstep_leave(world);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_gt(ls->thread[FIRST].futex, 0);
	ck_assert_uint_eq(ls->thread[SECOND].futex, 0);
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
	ck_assert(!is_traced("does not join"));
	ck_assert(!emu_lockstep_expects_process(world, child));
	ck_assert(is_traced("does not join"));
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("watch");

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
	tcase_add_test(tcase, a_process_that_leaves_wakes_its_own_threads);
	tcase_add_test(tcase, a_thread_that_stays_away_for_the_bound_loses_the_turn);
	tcase_add_test(tcase, a_thread_that_computes_has_ten_times_the_bound);
	tcase_add_test(tcase, a_thread_that_nobody_woke_for_its_turn_is_woken_and_keeps_it);
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
