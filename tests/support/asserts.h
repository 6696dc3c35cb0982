/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/support/asserts.h - Check's assertions, for any thread and without their cost. Tests
 * include this instead of <check.h>.
 *
 * Check writes a message to a file for each assertion that holds, so that it can say where a test
 * crashed. That is a system call each, millions in some programs, and it fails in a thread that
 * outlives its test, because Check has replaced the file. Here an assertion that holds is
 * remembered in its thread and costs two stores; if the thread gets a deadly signal, a line on
 * stderr names the assertion.
 *
 * An assertion that fails in another thread than the test's cannot leave the test by Check's way, a
 * longjmp to the stack of another thread. It prints its message on stderr and aborts the program.
 */
#ifndef TESTS_SUPPORT_ASSERTS_H
#define TESTS_SUPPORT_ASSERTS_H

#include <check.h>

/* The last assertion of this thread that held */
struct asserts_place {
	const char *file;
	int line;
};

extern _Thread_local struct asserts_place asserts_last;

/* Takes Check's arguments; message may be NULL. */
void asserts_failed(const char *file, int line, const char *claim, const char *message, ...)
	__attribute__((noreturn, format(printf, 4, 5)));

/* Check's macros call these two. */
#define _mark_point(name, number) \
	((void)(asserts_last = (struct asserts_place){ .file = (name), .line = (number) }))
#define _ck_assert_failed(...) asserts_failed(__VA_ARGS__)

#endif /* TESTS_SUPPORT_ASSERTS_H */
