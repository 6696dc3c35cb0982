/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of two threads forks while the other one holds a lock of libdat: the fork waits for
 * each lock of host/backend.h, and the child can use all calls.
 *
 * The handlers of this file run before and after those of libdat: see begin.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/backend.h"
#include "lib/registry/registry.h"
#include "tests/support/support.h"

static struct {
	pthread_mutex_t *lock; /* what the other thread holds */
	pid_t forker;
	bool held, forking, released;
	bool waited; /* the lock was free before the child was made */
} test;

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

/* The first handler to run */
static void before_locks(void)
{
	set(&test.forking);
}

/* The last one: the child is made next. */
static void after_locks(void)
{
	test.waited = is_set(&test.released);
}

/* Handlers of a fork run in the reverse order of registration. */
static void __attribute__((constructor(101))) begin(void)
{
	pthread_atfork(after_locks, NULL, NULL);
}

/* True if the forking thread sleeps: it waits for the lock. */
static bool forker_sleeps(void)
{
	char path[64], text[512] = "", *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)test.forker);
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	at = n > 0 ? strrchr(text, ')') : NULL;
	return at && at[2] == 'S';
}

/* Hold the lock until the fork waits for it, or the child exists. */
static void *hold(void *fork_ended)
{
	pthread_mutex_lock(test.lock);
	set(&test.held);
	while (!is_set(&test.forking))
		sched_yield();
	while (!is_set(fork_ended) && !forker_sleeps())
		sched_yield();
	set(&test.released);
	pthread_mutex_unlock(test.lock);
	return NULL;
}

/* Every lock is taken in here: each would hang without end if it was still another thread's. */
static int live_in_child(void)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_PROVIDER_INFO info, *list[] = { &info };
	DAT_COUNT n;
	DAT_IA_HANDLE ia;

	alarm(60);
	for (int i = 0; i < FORK_LOCKS; i++) {
		pthread_mutex_lock(backend_fork_mutex(i));
		pthread_mutex_unlock(backend_fork_mutex(i));
	}
	dat_registry_list_providers(1, &n, list);
	if (dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &ia) != DAT_SUCCESS)
		return 1;
	return dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS;
}

/* Fork while the lock is held, and have the child live. */
static void fork_beside(pthread_mutex_t *lock)
{
	bool fork_ended = false;
	pthread_t thread;
	int status = -1;
	pid_t child;

	memset(&test, 0, sizeof(test));
	test.lock = lock;
	test.forker = (pid_t)syscall(SYS_gettid);
	ck_assert_int_eq(pthread_create(&thread, NULL, hold, &fork_ended), 0);
	while (!is_set(&test.held))
		sched_yield();
	child = fork();
	if (child == 0)
		_exit(live_in_child());
	set(&fork_ended);
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

static void begin_handlers(void)
{
	pthread_atfork(before_locks, NULL, NULL);
}

START_TEST(G3_a_fork_waits_for_each_lock_and_its_child_has_them_all)
{
	begin_handlers();
	for (int i = 0; i < FORK_LOCKS; i++) {
		fork_beside(backend_fork_mutex(i));
		ck_assert_msg(test.waited, "the fork did not wait for lock %d", i);
	}
}
END_TEST

/* The lock of a backend may be held for long: the child gets a new one. */
START_TEST(G3_a_child_of_a_busy_process_can_open_an_adapter)
{
	begin_handlers();
	fork_beside(&backend_next(NULL)->lock);
	ck_assert(!test.waited);
}
END_TEST

static void setup_none(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, G3_a_fork_waits_for_each_lock_and_its_child_has_them_all, 1, setup_none);
	unit_add(suite, G3_a_child_of_a_busy_process_can_open_an_adapter, 1, setup_none);
}

UNIT_SUITE_OF_PROCESSES("fork_locks")
