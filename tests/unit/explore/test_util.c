/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim without memory: it says so and exits, as what it cannot do is no result of a test. This
 * program is linked with --wrap; each exit is that of a process of its own.
 */
#include "tests/support/support.h"
#include "tools/datsim/explore/sweep.h"
#include "tools/datsim/util.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static bool no_memory;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return no_memory ? NULL : __real_realloc(old, size);
}

static void ask_for_zero(void)
{
	mem_zero(1, 64);
}

static void ask_for_more(void)
{
	mem_grow(NULL, 64);
}

static void ask_an_arena(void)
{
	struct arena arena = { 0 };

	arena_alloc(&arena, 64);
}

static void (*const wishes[])(void) = { ask_for_zero, ask_for_more, ask_an_arena };

START_TEST(without_memory_datsim_exits_with_the_status_of_its_own_errors)
{
	pid_t child = fork();
	int status = 0;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		no_memory = true;
		wishes[_i]();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), EXIT_INTERNAL);
}
END_TEST

START_TEST(a_site_is_new_once)
{
	struct sites sites = { 0 };

	ck_assert(sites_add(&sites, "lib/ia.c:12"));
	ck_assert(sites_add(&sites, "lib/ia.c:13"));
	ck_assert(sites_add(&sites, "lib/ia.c:1"));
	ck_assert(!sites_add(&sites, "lib/ia.c:12"));
	ck_assert(!sites_add(&sites, "lib/ia.c:1"));
	ck_assert_uint_eq(sites.count, 3);
	sites_free(&sites);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, without_memory_datsim_exits_with_the_status_of_its_own_errors,
		 (int)COUNT(wishes), setup_nothing);
	unit_add(suite, a_site_is_new_once, 1, setup_nothing);
}

UNIT_SUITE("datsim without memory")
