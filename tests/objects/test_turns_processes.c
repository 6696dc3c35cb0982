/* SPDX-License-Identifier: BSD-3-Clause */
/* libdat-turns.so alone: ids, threads, children, and a program that joins late. */
#include "turns_table.h"

static pthread_t thread;

/* ---- ids of threads ---- */

static void *tell_id(void *arg)
{
	pid_t *id = arg;
	cpu_set_t cpus;

	*id = gettid();
	ck_assert_int_eq(syscall(SYS_gettid), *id);
	ck_assert_int_eq(tgkill(getpid(), *id, 0), 0);
	ck_assert_int_eq(syscall(SYS_tgkill, getpid(), *id, 0), 0);
	ck_assert_int_eq(syscall(SYS_tkill, *id, 0), 0);
	ck_assert_int_eq(sched_getaffinity(*id, sizeof(cpus), &cpus), 0);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)*id), 0);
	ck_assert_int_eq(sched_getscheduler(*id), SCHED_OTHER);
	return NULL;
}

START_TEST(threads_have_numbers_in_the_order_in_which_they_ask)
{
	pthread_t asks;
	pid_t id = 0;

	begin();
	in_fabric = true;
	ck_assert_int_eq(gettid(), getpid());
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_create(&asks, NULL, tell_id, &id), 0);
		ck_assert_int_eq(pthread_join(asks, NULL), 0);
		ck_assert_int_eq(id, NIC_BOOK_TIDS_FIRST + i);
		ck_assert_int_eq(tgkill(getpid(), id, 0), -1);
		ck_assert_int_eq(errno, ESRCH);
	}
	ck_assert_int_eq(tgkill(getpid(), gettid(), 0), 0);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)getpid()), 0);
	ck_assert_int_eq(syscall(SYS_kill, getpid(), 0), 0);
}
END_TEST

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

/* Each reading takes a microsecond, so none is equal to the one before. */
START_TEST(a_clock_of_the_kernel_is_that_of_libc)
{
	struct timespec a, b;
	struct timeval tv;

	begin();
	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &a), 0);
	ck_assert_int_eq(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &b), 0);
	ck_assert_uint_eq(ns_of(&b) - ns_of(&a), 1000);
	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &a), 0);
	ck_assert_int_eq(syscall(SYS_gettimeofday, &tv, NULL), 0);
	ck_assert_int_eq((tv.tv_sec - a.tv_sec) * 1000000 + tv.tv_usec - a.tv_nsec / 1000, 1);
	ck_assert_int_eq(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, NULL), -1);
	ck_assert_int_eq(errno, EFAULT);
}
END_TEST

static void let_end(void)
{
	uint32_t one = 1;

	ck_assert_int_eq(syscall(SYS_write, wire[1], &one, 1), 1);
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void *end_when_told(void *arg)
{
	char byte;

	while (syscall(SYS_read, wire[0], &byte, 1) != 1)
		;
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	return arg;
}

static void *look_at_announced(void *arg)
{
	*(int *)arg = announced;
	return NULL;
}

START_TEST(a_thread_is_announced_before_it_is_created_and_not_if_that_fails)
{
	pthread_attr_t large;
	int seen = 0, err;

	begin();
	in_fabric = _i == 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, look_at_announced, &seen), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(seen, in_fabric);
	announced = 0;
	ck_assert_int_eq(pthread_attr_init(&large), 0);
	ck_assert_int_eq(pthread_attr_setstacksize(&large, 1ul << 50), 0);
	err = pthread_create(&thread, &large, look_at_announced, &seen);
	ck_assert(err == EAGAIN || err == EINVAL); /* as libc or valgrind has it */
	ck_assert_int_eq(announced, 0);
	pthread_attr_destroy(&large);
}
END_TEST

/* It may not have ended when it is looked at after it has said so. */
START_TEST(a_thread_is_joined)
{
	void *value = NULL;

	begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, end_at_once, &ended), 0);
	answer = OUTSIDE_NONE;
	ck_assert_int_eq(pthread_join(thread, &value), 0);
	ck_assert_ptr_eq(value, &ended);
	ck_assert(heard[0] == '\0' || strcmp(heard, "wait 1000000, leave") == 0);
	heard[0] = '\0';
	answer = OUTSIDE_AGAIN;
	ck_assert_int_eq(pthread_create(&thread, NULL, end_when_told, NULL), 0);
	set_hook(3, let_end);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(strncmp(heard, "wait 1000000, wait 1000000, wait 1000000", 40), 0);
}
END_TEST

/* ---- a program that joins late ---- */

/* The fabric has just begun, so that its own time makes up for nothing. */
/* By the program's clock, whose date may be long past. */
START_TEST(a_thread_is_joined_until_a_time)
{
	const clockid_t clock = _i ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	struct timespec ts;
	int err;

	begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, end_when_told, NULL), 0);
	ck_assert_int_eq(clock_gettime(clock, &ts), 0);
	ts.tv_nsec += 1500000;
	heard[0] = '\0';
	err = _i ? pthread_clockjoin_np(thread, NULL, clock, &ts)
		 : pthread_timedjoin_np(thread, NULL, &ts);
	ck_assert_int_eq(err, ETIMEDOUT);
	expect("wait 1000000, wait 500000");
	ts.tv_sec += 100; /* no delay of the machine comes near it */
	set_hook(3, let_end);
	err = _i ? pthread_clockjoin_np(thread, NULL, clock, &ts)
		 : pthread_timedjoin_np(thread, NULL, &ts);
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(strncmp(heard, "wait 1000000, wait 1000000, wait 1000000", 40), 0);
}
END_TEST

START_TEST(a_lock_of_a_file_that_is_let_go_or_shared_is_told)
{
	char path[] = "/tmp/turns-XXXXXX";
	int fd, other;

	begin();
	fd = mkstemp(path);
	other = open(path, O_RDWR);
	unlink(path);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(flock(other, LOCK_SH | LOCK_NB), -1);
	ck_assert_int_eq(errno, EWOULDBLOCK);
	expect("wait 2000");
	ck_assert_int_eq(flock(fd, LOCK_SH), 0);
	expect("tell fd");
	ck_assert_int_eq(flock(other, LOCK_SH | LOCK_NB), 0);
	expect("tell fd");
	ck_assert_int_eq(flock(fd, LOCK_UN | LOCK_NB), 0);
	expect("tell fd");
}
END_TEST

/* Whether the parent has asked for its own id by then or not. */
START_TEST(a_child_knows_its_parent_by_the_id_that_the_parent_sees)
{
	int status;
	pid_t child;

	begin();
	child = fork();
	if (child == 0)
		_exit(getppid() == NIC_BOOK_PIDS_FIRST ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(getpid(), NIC_BOOK_PIDS_FIRST);
}
END_TEST

START_TEST(ids_of_processes_that_are_gone_are_given_out_again)
{
	pid_t child, last = 0;

	begin();
	ck_assert_int_eq(getpid(), NIC_BOOK_PIDS_FIRST);
	for (int i = 1; i < 2 * NIC_BOOK_PIDS; i++) {
		child = fork();
		if (child == 0)
			_exit(0);
		ck_assert_int_gt(child, NIC_BOOK_PIDS_FIRST);
		ck_assert_int_lt(child, NIC_BOOK_TIDS_FIRST);
		ck_assert_int_ne(child, last);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		last = child;
		heard[0] = '\0';
	}
}
END_TEST

START_TEST(a_signal_for_a_thread_is_told)
{
	const union sigval value = { .sival_int = 1 };

	begin();
	ended = 0;
	ck_assert(signal(SIGUSR1, note_signal) != SIG_ERR);
	ck_assert_int_eq(pthread_kill(pthread_self(), SIGUSR1), 0);
	expect("tell fd");
	ck_assert_int_eq(pthread_sigqueue(pthread_self(), SIGUSR1, value), 0);
	expect("tell fd");
	ck_assert_int_eq(ended, 2);
	ck_assert_int_eq(pthread_kill(pthread_self(), -1), EINVAL);
	expect("");
}
END_TEST

START_TEST(a_pause_ends_when_a_handler_has_run)
{
	sigset_t before, after;

	begin();
	ended = 0;
	ck_assert(signal(SIGUSR1, note_signal) != SIG_ERR);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	set_hook(1, send_signals);
	ck_assert_int_eq(pause(), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(ended, 1);
	expect("wait fd ever");
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	ck_assert_mem_eq(&before, &after, sizeof(long));
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, threads_have_numbers_in_the_order_in_which_they_ask, 1, NULL);
	unit_add(suite, a_clock_of_the_kernel_is_that_of_libc, 1, NULL);
	unit_add(suite, a_thread_is_announced_before_it_is_created_and_not_if_that_fails, 2, NULL);
	unit_add(suite, a_thread_is_joined, 1, NULL);
	unit_add(suite, a_thread_is_joined_until_a_time, 2, NULL);
	unit_add(suite, a_lock_of_a_file_that_is_let_go_or_shared_is_told, 1, NULL);
	unit_add(suite, a_child_knows_its_parent_by_the_id_that_the_parent_sees, 1, NULL);
	unit_add(suite, ids_of_processes_that_are_gone_are_given_out_again, 1, NULL);
	unit_add(suite, a_signal_for_a_thread_is_told, 1, NULL);
	unit_add(suite, a_pause_ends_when_a_handler_has_run, 1, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return turns_main(argv, "turns_processes", fill);
}
