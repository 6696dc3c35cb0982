/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of the lock behind the actions for SIGSEGV (emu/guard.c): threads begin and end
 * fabrics of their own all the time, and each makes copies that fault in between. The actions are
 * there whenever one of them copies, and the program's own are back at the end.
 *
 * Under ThreadSanitizer it fails if the compare-and-exchange or the store that unlocks is relaxed;
 * in any build if there is no lock (a fabric more or less is counted, and a copy dies of SIGSEGV).
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/guard.h"
#include "tests/litmus/litmus.h"

enum {
	FABRICS = 5000,
	THREADS = 3,
	BYTES = 64,
};

static void *nothing; /* a page that may not be read */

static void *begin_and_end(void *arg)
{
	uint8_t to[BYTES];

	for (int i = 0; i < litmus_rounds(FABRICS); i++) {
		emu_guard_begin();
		/* The kernel's signals are slow: not every time. */
		if (i % 16 == 0)
			ck_assert_uint_ne(emu_guard_copy_raw(to, nothing, BYTES), 0);
		emu_guard_end();
	}
	return arg;
}

static void note(int number)
{
	(void)number;
}

START_TEST(the_actions_are_there_while_a_fabric_is)
{
	struct sigaction own = { .sa_handler = note }, now;
	pthread_t thread[THREADS];

	nothing = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(nothing, MAP_FAILED);
	ck_assert_int_eq(sigaction(SIGSEGV, &own, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		thread[i] = litmus_start(begin_and_end, NULL);
	for (int i = 0; i < THREADS; i++)
		litmus_join(thread[i]);
	ck_assert_int_eq(sigaction(SIGSEGV, NULL, &now), 0);
	ck_assert(now.sa_handler == note);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("guard");

#if EMU_GUARDED
	tcase_add_test(tcase, the_actions_are_there_while_a_fabric_is);
#endif
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("memory order of the guard's lock")
