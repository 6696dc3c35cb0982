/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that stops at the creation of its fabric and is forked for each message (host/forks.h):
 * its answers, the messages it accepts, and that nonsense in messages and variables does no harm.
 * This test is the other end.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/asleep.h"
#include "tests/support/support.h"

enum {
	FD = 77
};

struct program {
	int fd;
	pid_t pid;
};

static const char *path_of_program(void)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/tests/datsim/behaves", top ? top : ".");
	return path;
}

/* Formats the variable from FD and the process id. Format NULL: the variable is used unchanged. */
static struct program start(const char *how, const char *format, const char *variable)
{
	struct program program;
	char value[64];
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	program.pid = fork();
	ck_assert_int_ge(program.pid, 0);
	if (program.pid == 0) {
		dup2(ends[1], FD);
		close(ends[0]);
		close(ends[1]);
		if (format && strstr(format, "once"))
			snprintf(value, sizeof(value), "%d:%d:once", FD, (int)getpid());
		else
			snprintf(value, sizeof(value), "%d:%d", FD, (int)getpid());
		setenv("DATSIM_FORKS", variable ? variable : value, 1);
		unsetenv("DATSIM_TRACE");
		execl(path_of_program(), "behaves", how, NULL);
		_exit(127);
	}
	close(ends[1]);
	program.fd = ends[0];
	return program;
}

static void must_hear(const struct program *program, const char *wanted)
{
	char message[2048];
	ssize_t n = recv(program->fd, message, sizeof(message) - 1, 0);

	ck_assert_int_ge(n, 0);
	message[n] = '\0';
	ck_assert_msg(strncmp(message, wanted, strlen(wanted)) == 0,
		      "expected \"%s\", heard \"%s\"", wanted, message);
}

static void say(const struct program *program, const char *text, size_t length)
{
	ck_assert_int_eq(send(program->fd, text, length, MSG_NOSIGNAL), length);
}

/*
 * One run, which prints `says` (unless NULL) and ends with the wait status `status`.
 */
static void must_run(const struct program *program, const char *text, const char *says, int status)
{
	char wanted[64];

	say(program, text, strlen(text));
	must_hear(program, "child ");
	if (says)
		must_hear(program, says);
	snprintf(wanted, sizeof(wanted), "ended %d", status);
	must_hear(program, wanted);
}

/* Closes its socket, which ends the server. */
static int end(struct program *program)
{
	int status = -1;

	close(program->fd);
	ck_assert_int_eq(waitpid(program->pid, &status, 0), program->pid);
	return status;
}

START_TEST(each_message_is_a_run_with_its_own_settings)
{
	struct program program = start("fail", "", NULL);

	must_hear(&program, "ready");
	must_run(&program, "\n", "left 0", 0);
	must_run(&program, "DATSIM_LATENCY_NS=5\n", "left 0", 7 << 8);
	must_run(&program, "DATSIM_SEED=5\n", "left 0", 0);
	ck_assert_int_eq(end(&program), 0);
}
END_TEST

START_TEST(a_run_says_what_it_left_and_why_it_is_stuck)
{
	struct program program = start("leave", "", NULL);

	must_hear(&program, "ready");
	must_run(&program, "DATSIM_LATENCY_NS=5\n", "left 2 emu0.ia1 emu0.evd1", 0);
	ck_assert_int_eq(end(&program), 0);
	program = start("wait", "", NULL);
	must_hear(&program, "ready");
	must_run(&program, "DATSIM_LATENCY_NS=5\n", "stuck dat_evd_wait on emu0.evd1", SIGKILL);
	must_run(&program, "\n", "left 0", 0);
	ck_assert_int_eq(end(&program), 0);
}
END_TEST

/* A program may make its fabric before it opens an adapter: it stops there. */
START_TEST(a_program_stops_before_it_makes_a_fabric_by_itself)
{
	struct program program = start("sim", "", NULL);

	must_hear(&program, "ready");
	must_run(&program, "DATSIM_LATENCY_NS=5\n", "left 0", 0);
	must_run(&program, "DATSIM_MTU=1\n", "left 0", 3 << 8);
	ck_assert_int_eq(end(&program), 0);
}
END_TEST

/* Its handlers and timers are a run's: of the process that forks, they neither end nor wake it. */
START_TEST(a_run_has_the_signals_and_the_timer_of_the_program)
{
	struct program program = start("settings", "", NULL);

	must_hear(&program, "ready");
	must_run(&program, "\n", "left 0", 0);
	until_asleep(program.pid, program.pid); /* for the next message */
	ck_assert_int_eq(kill(program.pid, SIGUSR1), 0);
	until_asleep(program.pid, program.pid); /* for the next message */
	must_run(&program, "\n", "left 0", 0);
	ck_assert_int_eq(end(&program), 0);
}
END_TEST

START_TEST(a_message_that_makes_no_sense_is_a_run_without_settings)
{
	static const char *const messages[] = { "=",
						"=\n=",
						"PATH=/nowhere\nPLANTED_BY_SCHEDULE=1\n",
						"DATSIM_",
						"\n\n\n",
						"DATSIM_LATENCY_NS",
						"DATSIM_\xff\xfe=\x01" };
	struct program program = start("fail", "", NULL);
	static char large[32767];

	must_hear(&program, "ready");
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		must_run(&program, messages[i], "left 0", 0);
	memset(large, 'x', sizeof(large) - 1);
	must_run(&program, large, "left 0", 0);
	say(&program, "DATSIM_SEED=1\0\0\n", 16);
	must_hear(&program, "child ");
	must_hear(&program, "left 0");
	must_hear(&program, "ended 0");
	must_run(&program, "DATSIM_MTU=1\n", "left 0", 3 << 8);
	ck_assert_int_eq(end(&program), 0);
}
END_TEST

START_TEST(once_is_one_run_without_a_fork)
{
	struct program program = start("leave", "once", NULL);

	must_hear(&program, "left 0");
	ck_assert_int_eq(end(&program), 0);
}
END_TEST

START_TEST(several_threads_are_not_forked)
{
	struct program program = start("threads", "", NULL);

	must_hear(&program, "threads 2");
	must_hear(&program, "left 0");
	ck_assert_int_eq(end(&program), 0);
}
END_TEST

/* Values that are no socket of this process, or are meant for another process */
START_TEST(a_variable_that_makes_no_sense_is_none)
{
	static const char *const values[] = {
		"",
		":",
		"77",
		"77:",
		"77:1",
		"77:1:once",
		":once",
		"x:y",
		"-1:-1",
		"0:0",
		"1:1:once",
		"77:99999999999999999999",
		"99999999999999999999:1",
		"0x4d:1",
		"77:1:twice",
		"77 :1",
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct program program = start("fail", NULL, values[i]);
		char byte;
		int status = -1;

		ck_assert_int_eq(waitpid(program.pid, &status, 0), program.pid);
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(recv(program.fd, &byte, 1, 0), 0);
		close(program.fd);
	}
}
END_TEST

START_TEST(a_server_that_nobody_listens_to_ends)
{
	struct program program = start("fail", "", NULL);

	must_hear(&program, "ready");
	say(&program, "\n", 1);
	ck_assert_int_eq(end(&program), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, each_message_is_a_run_with_its_own_settings);
	unit_test_bare(suite, a_run_says_what_it_left_and_why_it_is_stuck);
	unit_test_bare(suite, a_program_stops_before_it_makes_a_fabric_by_itself);
	unit_test_bare(suite, a_run_has_the_signals_and_the_timer_of_the_program);
	unit_test_bare(suite, a_message_that_makes_no_sense_is_a_run_without_settings);
	unit_test_bare(suite, once_is_one_run_without_a_fork);
	unit_test_bare(suite, several_threads_are_not_forked);
	unit_test_bare(suite, a_variable_that_makes_no_sense_is_none);
	unit_test_bare(suite, a_server_that_nobody_listens_to_ends);
}

UNIT_SUITE("forks")
