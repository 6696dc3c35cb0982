/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace that goes to a pipe: the close of the last IA does not wait for a reader that is not
 * there, and one that is there gets all of it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/conf.h"

static char folder[] = "/tmp/libdat-pipe-XXXXXX", path[64];

static void make_pipe(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pipe", folder);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	setenv("DATSIM_TRACE", path, 1);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	/* What blocks must not wait for the time limit of the whole program. */
	alarm(60);
}

static void remove_pipe(void)
{
	alarm(0);
	unlink(path);
	snprintf(path, sizeof(path), "%s/datsim", folder);
	rmdir(path);
	rmdir(folder);
}

/* A child that opens the pipe for reading, writes a byte to *opened, and waits for one. */
static pid_t start_reader(int *opened, int *go_on, bool reads)
{
	int up[2], down[2];
	bool ended = false;
	char text[4096];
	ssize_t n;
	pid_t child;
	int fd;

	ck_assert_int_eq(pipe(up) | pipe(down), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	*opened = up[0];
	*go_on = down[1];
	if (child > 0) {
		close(up[1]);
		close(down[0]);
		return child;
	}
	close(down[1]);
	fd = open(path, O_RDONLY);
	if (!reads)
		close(fd);
	if (fd < 0 || write(up[1], "", 1) != 1 || read(down[0], text, 1) != 1)
		_exit(2);
	/* The end mark is in the last piece, which is larger than the mark. */
	while (reads && (n = read(fd, text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		ended = strstr(text, "# end lines=") != NULL;
	}
	_exit(ended != reads);
}

START_TEST(E11_a_trace_to_a_pipe_that_is_not_read_is_lost)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	DAT_IA_HANDLE ia;

	if (_i)
		setenv("DATSIM_FABRIC", "pipe", 1);
	must(dat_ia_open(name, 8, &async, &ia));
	said_start();
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ck_assert_said(said_stop(), path);
	remove_pipe();
}
END_TEST

/* They are blocked while the library writes, which a signal of the program would interrupt. */
static void expect_signals(const sigset_t *before)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (int i = 1; i < NSIG; i++)
		ck_assert_msg(sigismember(&now, i) == sigismember(before, i),
			      "signal %d is blocked differently now", i);
}

START_TEST(E11_a_trace_to_a_pipe_is_read_whole)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	int opened, go_on, status;
	sigset_t before;
	char name[] = "emu0", byte;
	DAT_IA_HANDLE ia;
	pid_t child;

	pthread_sigmask(SIG_BLOCK, NULL, &before);
	child = start_reader(&opened, &go_on, true);
	must(dat_ia_open(name, 8, &async, &ia));
	ck_assert_int_eq(read(opened, &byte, 1), 1);
	ck_assert_int_eq(write(go_on, "", 1), 1);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	expect_signals(&before);
	remove_pipe();
}
END_TEST

/* Room for the trace is made in a plain file when the fabric begins, with the signals held back. */
START_TEST(E11_a_trace_to_a_file_leaves_signals_and_cancellation_as_they_are)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	sigset_t before;
	char name[] = "emu0";
	DAT_IA_HANDLE ia;
	int cancel = -1;

	ck_assert_int_eq(unlink(path), 0);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	must(dat_ia_open(name, 8, &async, &ia));
	expect_signals(&before);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel);
	ck_assert_int_eq(cancel, PTHREAD_CANCEL_ENABLE);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	expect_signals(&before);
	remove_pipe();
}
END_TEST

START_TEST(E11_a_reader_of_the_trace_that_leaves_does_not_end_the_program)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	int opened, go_on;
	char name[] = "emu0", byte;
	DAT_IA_HANDLE ia;
	pid_t child;

	child = start_reader(&opened, &go_on, false);
	must(dat_ia_open(name, 8, &async, &ia));
	ck_assert_int_eq(read(opened, &byte, 1), 1);
	ck_assert_int_eq(write(go_on, "", 1), 1);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	remove_pipe();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, E11_a_trace_to_a_pipe_that_is_not_read_is_lost, 2, make_pipe);
	unit_add(suite, E11_a_trace_to_a_pipe_is_read_whole, 1, make_pipe);
	unit_add(suite, E11_a_trace_to_a_file_leaves_signals_and_cancellation_as_they_are, 1,
		 make_pipe);
	unit_add(suite, E11_a_reader_of_the_trace_that_leaves_does_not_end_the_program, 1,
		 make_pipe);
}

UNIT_SUITE_OF_PROCESSES("trace_pipe")
