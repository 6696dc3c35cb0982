/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry's lock: what a call finds out about a name is what holds once it has the lock, and
 * not what held when it came to it. The test's pthread_mutex_lock does what another thread would do
 * just before the call gets the lock, so the outcome is the same in each run.
 */
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>

#include "host/backend.h"
#include "lib/registry/registry.h"
#include "tests/support/support.h"

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);

static DAT_PROVIDER provider;
static DAT_PROVIDER_INFO info;
static void (*meanwhile)(void);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	void (*act)(void) = meanwhile;

	if (act && mutex == backend_fork_mutex(FORK_LOCK_REGISTRY)) {
		meanwhile = NULL;
		act();
	}
	return __real_pthread_mutex_lock(mutex);
}

static void fini(const DAT_PROVIDER_INFO *unused)
{
	(void)unused;
}

static void add(void)
{
	must(dat_registry_add_provider(&provider, &info));
}

static void take_away(void)
{
	must(dat_registry_remove_provider(&provider, &info));
}

static void setup_name(void)
{
	setup_fabric();
	meanwhile = NULL;
	memset(&info, 0, sizeof(info));
	strcpy(info.ia_name, "litmus0");
	info.dapl_version_major = DAT_VERSION_MAJOR;
	info.dapl_version_minor = DAT_VERSION_MINOR;
}

static bool begins_to_leave(void)
{
	DAT_PROVIDER_FINI_FUNC its_fini = NULL;
	DAT_PROVIDER_INFO its_info;

	if (!registry_begin_leaving(info.ia_name, &its_fini, &its_info))
		return false;
	ck_assert(its_fini == fini);
	ck_assert_str_eq(its_info.ia_name, info.ia_name);
	return true;
}

START_TEST(a_name_that_is_registered_before_the_lock_is_had_is_marked)
{
	meanwhile = add;
	ck_assert(registry_mark_loaded(&info, fini));
	ck_assert_ptr_null(meanwhile);
	ck_assert(begins_to_leave());
	take_away();
}
END_TEST

START_TEST(a_name_that_is_gone_before_the_lock_is_had_is_not_marked)
{
	add();
	meanwhile = take_away;
	ck_assert(!registry_mark_loaded(&info, fini));
	ck_assert_ptr_null(meanwhile);
	ck_assert(!begins_to_leave());
}
END_TEST

/* The library removed its name itself; the entry's memory is not freed again. */
START_TEST(a_name_that_is_gone_before_the_lock_is_had_does_not_leave_again)
{
	add();
	ck_assert(registry_mark_loaded(&info, fini));
	ck_assert(begins_to_leave());
	meanwhile = take_away;
	ck_assert(!registry_end_leaving(info.ia_name));
	ck_assert_ptr_null(meanwhile);
	add();
	take_away();
}
END_TEST

START_TEST(a_name_that_its_library_left_behind_leaves)
{
	add();
	ck_assert(registry_mark_loaded(&info, fini));
	ck_assert(begins_to_leave());
	ck_assert(registry_end_leaving(info.ia_name));
	add();
	take_away();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_name_that_is_registered_before_the_lock_is_had_is_marked, 1, setup_name);
	unit_add(suite, a_name_that_is_gone_before_the_lock_is_had_is_not_marked, 1, setup_name);
	unit_add(suite, a_name_that_is_gone_before_the_lock_is_had_does_not_leave_again, 1,
		 setup_name);
	unit_add(suite, a_name_that_its_library_left_behind_leaves, 1, setup_name);
}

UNIT_SUITE("order of the registry and its lock")
