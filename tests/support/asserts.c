/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assertions that hold are remembered by their thread; one that fails ends the test in Check's way
 * on the first thread, where tests run, and ends the program on another.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/asserts.h"

#undef _ck_assert_failed

_Thread_local struct asserts_place asserts_last;

void asserts_failed(const char *file, int line, const char *claim, const char *message, ...)
{
	char text[4096];
	va_list args;

	snprintf(text, sizeof(text), "%s", claim);
	if (message) {
		va_start(args, message);
		vsnprintf(text, sizeof(text), message, args);
		va_end(args);
	}
	if (gettid() == getpid())
		_ck_assert_failed(file, line, claim, "%s", text);
	fprintf(stderr, "%s:%d: in another thread than the test's: %s\n", file, line, text);
	abort();
}

/* ---- signals that end the program ---- */

/* Only what a signal handler may call, so no printf */
static void write_text(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void write_number(int number)
{
	char digits[16];
	char *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	write_text(at);
}

/* The handler is removed when it is called, so the signal then ends the program. */
static void tell_last(int signal)
{
	if (asserts_last.file) {
		write_text("# ");
		write_text(asserts_last.file);
		write_text(":");
		write_number(asserts_last.line);
		write_text(": the last assertion of this thread that held before signal ");
		write_number(signal);
		write_text("\n");
	}
	raise(signal);
}

/* A sanitizer that has a handler of its own keeps it. */
__attribute__((constructor)) static void tell_of_crashes(void)
{
	static const int deadly[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV };
	struct sigaction old, action = { .sa_handler = tell_last, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
}
