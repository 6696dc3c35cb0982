/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: the name of the call in which a thread stays away, for the note of the trace; and
 * whether a process that is waited for has work to do.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/lockstep/lockstep.h"
#include "tests/support/support.h"

static int wire[2], into[2], queue, sem;

static const struct call {
	const char *words;
	long number;
} calls[] = {
	{ " in msgrcv", SYS_msgrcv }, { " in semop", SYS_semop },
	{ " in splice", SYS_splice }, { " in tee", SYS_tee },
	{ " in read", SYS_read },     { " in rt_sigsuspend", SYS_rt_sigsuspend },
	{ " in ppoll", SYS_ppoll },
};

/* Nothing ends any of them. */
static void block_in(long number)
{
	struct sembuf take = { .sem_op = -1 };
	unsigned long none = 0;
	char bytes[64];

	switch (number) {
	case SYS_msgrcv:
		syscall(number, queue, bytes, 8, 0, 0);
		break;
	case SYS_semop:
		syscall(number, sem, &take, 1);
		break;
	case SYS_splice:
		syscall(number, wire[0], NULL, into[1], NULL, 8, 0);
		break;
	case SYS_tee:
		syscall(number, wire[0], into[1], 8, 0);
		break;
	case SYS_read:
		syscall(number, wire[0], bytes, 8);
		break;
	case SYS_rt_sigsuspend:
		syscall(number, &none, sizeof(none));
		break;
	default:
		syscall(number, NULL, 0, NULL, NULL, 0);
		break;
	}
	_exit(1);
}

START_TEST(a_call_in_which_a_thread_stays_away_has_its_name)
{
	const struct call *call = &calls[_i];
	char place[EMU_PLACE];
	pid_t child;

	ck_assert_int_eq(pipe(wire) | pipe(into), 0);
	queue = (int)syscall(SYS_msgget, IPC_PRIVATE, 0600);
	sem = (int)syscall(SYS_semget, IPC_PRIVATE, 1, 0600);
	child = fork();
	if (child == 0)
		block_in(call->number);
	while (emu_lockstep_task_state(child, child) != 'S')
		sched_yield();
	emu_lockstep_place(child, child, place, sizeof(place));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	syscall(SYS_msgctl, queue, IPC_RMID, NULL);
	syscall(SYS_semctl, sem, 0, IPC_RMID, NULL);
	/* Some machines do not show it. */
	if (*place)
		ck_assert_str_eq(place, call->words);
}
END_TEST

static void *spin(void *tid)
{
	__atomic_store_n((pid_t *)tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;)
		;
	return NULL;
}

static void *doze(void *tid)
{
	__atomic_store_n((pid_t *)tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

/* A child whose first thread sleeps; if `busy`, it waits for a second one, whose id is *tid. */
static pid_t start_sleeper(bool busy, pid_t **tid)
{
	pthread_t thread;
	pid_t child;

	*tid = mmap(NULL, sizeof(**tid), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(*tid, MAP_FAILED);
	child = fork();
	if (child == 0) {
		if (busy && pthread_create(&thread, NULL, spin, *tid) == 0)
			pthread_join(thread, NULL);
		for (;;)
			pause();
	}
	while (emu_lockstep_task_state(child, child) != 'S' ||
	       (busy && !__atomic_load_n(*tid, __ATOMIC_ACQUIRE)))
		sched_yield();
	return child;
}

/* In odd rows a second thread is busy. */
START_TEST(a_process_is_busy_if_one_of_its_threads_is)
{
	pid_t *tid, child = start_sleeper(_i, &tid);

	ck_assert_int_eq(emu_lockstep_task_busy(child), _i);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert(!emu_lockstep_task_busy(child));
	munmap(tid, sizeof(*tid));
}
END_TEST

/* In odd rows a second thread is busy. */
START_TEST(a_thread_that_sleeps_may_wait_for_another_one_that_is_busy)
{
	const uint64_t look = 20000000;
	struct emu_watch watch = { 0 };
	pid_t *tid, child = start_sleeper(_i, &tid);

	emu_lockstep_outside_ns(&watch, child, child, 0);
	/* Some machines do not show how long a thread has run. */
	if (watch.ran)
		ck_assert_uint_eq(emu_lockstep_outside_ns(&watch, child, child, look),
				  _i ? look / 10 : look);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	munmap(tid, sizeof(*tid));
}
END_TEST

/* The caller looks at a thread of its own process, and is busy itself. */
START_TEST(the_thread_that_looks_does_not_count)
{
	const uint64_t look = 20000000;
	struct emu_watch watch = { 0 };
	pid_t tid = 0;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, doze, &tid), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE) ||
	       emu_lockstep_task_state(getpid(), tid) != 'S')
		sched_yield();
	emu_lockstep_outside_ns(&watch, getpid(), tid, 0);
	if (watch.ran)
		ck_assert_uint_eq(emu_lockstep_outside_ns(&watch, getpid(), tid, look), look);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_call_in_which_a_thread_stays_away_has_its_name, (int)COUNT(calls), NULL);
	unit_add(suite, a_process_is_busy_if_one_of_its_threads_is, 2, NULL);
	unit_add(suite, a_thread_that_sleeps_may_wait_for_another_one_that_is_busy, 2, NULL);
	unit_test_bare(suite, the_thread_that_looks_does_not_count);
}

UNIT_SUITE_OF_PROCESSES("where a thread stays away")
