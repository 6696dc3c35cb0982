/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's actions of SIGSEGV and SIGBUS while the library handles faults of its copies
 * (emu/guard.h): each of them does what the kernel would do without the library. A process for
 * each.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/support.h"

enum cause {
	FAULT, /* of an instruction of the program */
	SENT   /* by kill */
};

enum action {
	DEFAULT,
	IGNORED,
	HANDLED,     /* by a handler without SA_SIGINFO */
	HANDLED_ONCE /* SA_RESETHAND */
};

/* What comes of it twice. */
static const struct row {
	enum action action;
	enum cause cause;
	int number;
	bool dies; /* of the signal */
	int handled;
} rows[] = {
	{ DEFAULT, FAULT, SIGSEGV, true, 0 },     { DEFAULT, SENT, SIGSEGV, true, 0 },
	{ DEFAULT, SENT, SIGBUS, true, 0 },       { IGNORED, FAULT, SIGSEGV, true, 0 },
	{ IGNORED, SENT, SIGSEGV, false, 0 },     { IGNORED, SENT, SIGBUS, false, 0 },
	{ HANDLED, FAULT, SIGSEGV, false, 2 },    { HANDLED, SENT, SIGSEGV, false, 2 },
	{ HANDLED, SENT, SIGBUS, false, 2 },      { HANDLED_ONCE, FAULT, SIGSEGV, true, 1 },
	{ HANDLED_ONCE, SENT, SIGSEGV, true, 1 }, { HANDLED_ONCE, SENT, SIGBUS, true, 1 },
};

static sigjmp_buf back;
static volatile int *handled; /* in memory that the process shares with the test */

static void on_signal(int number)
{
	(void)number;
	++*handled;
	siglongjmp(back, 1);
}

static void set_action(const struct row *row)
{
	struct sigaction action = { .sa_handler = on_signal };

	if (row->action == DEFAULT)
		action.sa_handler = SIG_DFL;
	if (row->action == IGNORED)
		action.sa_handler = SIG_IGN;
	if (row->action == HANDLED_ONCE)
		action.sa_flags = (int)SA_RESETHAND;
	sigaction(row->number, &action, NULL);
}

static void come(const struct row *row, volatile char *none)
{
	if (sigsetjmp(back, 1))
		return;
	if (row->cause == FAULT)
		*none = 1;
	else
		kill(getpid(), row->number);
}

static int live(const struct row *row)
{
	const struct rlimit no_core = { 0 };
	struct sigaction before, now;
	char *none = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	setrlimit(RLIMIT_CORE, &no_core);
	set_action(row);
	sigaction(row->number, NULL, &before);
	side_open(&w.a, "emu0"); /* registers memory: from here on the library handles faults */
	sigaction(row->number, NULL, &now);
	if (now.sa_handler == before.sa_handler)
		return 2;
	come(row, none);
	come(row, none);
	side_close(&w.a); /* the last fabric: the action is the program's again */
	sigaction(row->number, NULL, &now);
	return now.sa_handler == before.sa_handler ? 0 : 3;
}

START_TEST(a_fault_or_signal_of_the_program_has_its_own_action)
{
	const struct row *row = &rows[_i];
	int status;
	pid_t child;

	handled = mmap(NULL, sizeof(*handled), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(live(row));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(*handled, row->handled);
	if (row->dies)
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == row->number);
	else
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	munmap((void *)(uintptr_t)handled, sizeof(*handled));
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, a_fault_or_signal_of_the_program_has_its_own_action, (int)COUNT(rows),
		 setup_nothing);
}

UNIT_SUITE("memory_signals")
