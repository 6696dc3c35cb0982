/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assertions of tests/support/asserts.h in programs of several threads. Each test looks at a
 * child process, which may end as it likes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/support.h"

static char said[4096];

/* Runs a function in a child and returns its wait status; what it wrote on stderr is in `said`. */
static int child_status(void (*run)(void))
{
	int status = -1, ends[2];
	size_t length = 0;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		run();
		_exit(0);
	}
	close(ends[1]);
	while ((n = read(ends[0], said + length, sizeof(said) - 1 - length)) > 0)
		length += (size_t)n;
	said[length] = '\0';
	close(ends[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void in_another_thread(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
		_exit(1);
}

/* ---- an assertion that fails ---- */

static void *claim_nonsense(void *unused)
{
	ck_assert_int_eq(1 + 1, 3);
	return unused;
}

static void fail_elsewhere(void)
{
	in_another_thread(claim_nonsense);
}

START_TEST(an_assertion_that_fails_in_another_thread_ends_the_program_with_its_message)
{
	int status = child_status(fail_elsewhere);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
	ck_assert_ptr_nonnull(strstr(said, "test_threads_asserts.c:"));
	ck_assert_ptr_nonnull(strstr(said, "1 + 1 == 2, 3 == 3"));
}
END_TEST

/* ---- an assertion that holds ---- */

static void *claim_sense(void *unused)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_lt(i, 3);
	return unused;
}

/* A write to a file is a deadly signal; Check writes to one. */
static void hold_without_a_file(void)
{
	const struct rlimit nothing = { 0 };

	setrlimit(RLIMIT_FSIZE, &nothing);
	claim_sense(NULL);
	in_another_thread(claim_sense);
}

START_TEST(an_assertion_that_holds_writes_nothing)
{
	ck_assert_int_eq(child_status(hold_without_a_file), 0);
	ck_assert_str_eq(said, "");
}
END_TEST

enum {
	HELD = __LINE__ + 5 /* the line of the assertion below */
};

static void hold_and_crash(void)
{
	ck_assert_int_ne(HELD, 0);
	abort();
}

START_TEST(a_crash_names_the_last_assertion_that_held)
{
	char place[64];
	int status = child_status(hold_and_crash);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
	snprintf(place, sizeof(place), "test_threads_asserts.c:%d: the last assertion", HELD);
	ck_assert_ptr_nonnull(strstr(said, place));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite,
		       an_assertion_that_fails_in_another_thread_ends_the_program_with_its_message);
	unit_test_bare(suite, an_assertion_that_holds_writes_nothing);
	unit_test_bare(suite, a_crash_names_the_last_assertion_that_held);
}

UNIT_SUITE("threads_asserts")
