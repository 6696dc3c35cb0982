/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of handles when all were issued once. The module is compiled into this program with
 * two ranges of 65,536 handles each, as --enable-small-limits does.
 */
#include <stdlib.h>

#include "host/backend.h"

/* The library's own table has that place. */
#define backend_fork_lock(which, mutex) ((void)0)
#undef LIBDAT_SMALL_LIMITS
#define LIBDAT_SMALL_LIMITS
#define handle_table             small_handle_table
#define handle_issue             small_handle_issue
#define handle_retire            small_handle_retire
#define handle_number            small_handle_number
#define handle_of_number         small_handle_of_number
#define handle_slot_later_ranges small_handle_slot_later_ranges
#define handle_foreign_provider  small_handle_foreign_provider
#include "lib/handle.c"

#include "tests/support/support.h"

enum {
	ALL = (int)(HANDLE_RANGES * RANGE_SLOTS)
};

static DAT_PROVIDER provider;

static DAT_HANDLE issue_one(void)
{
	static long object;

	return handle_issue(&provider, (struct obj *)&object);
}

static bool is_live(DAT_HANDLE handle)
{
	const struct handle_slot *slot = handle_slot(handle);

	return slot && slot->object;
}

START_TEST(G3_a_stale_handle_is_refused_until_all_others_were_issued)
{
	DAT_HANDLE stale = issue_one(), handle;

	handle_retire(stale);
	/* The rest of its page is issued after it, and the page waits behind all others. */
	for (int i = 1; i < ALL; i++) {
		handle = issue_one();
		ck_assert_ptr_nonnull(handle);
		ck_assert_ptr_ne(handle, stale);
		ck_assert(!is_live(stale));
		ck_assert(is_live(handle));
		handle_retire(handle);
		ck_assert(!is_live(handle));
	}
	ck_assert_ptr_eq(issue_one(), stale);
}
END_TEST

START_TEST(handles_do_not_wear_out)
{
	DAT_HANDLE keep = issue_one(), handle;

	for (long i = 0; i < 5l * ALL; i++) {
		handle = issue_one();
		ck_assert_ptr_nonnull(handle);
		ck_assert_ptr_ne(handle, keep);
		ck_assert_ptr_eq(handle_of_number(handle_number(handle)), handle);
		handle_retire(handle);
		ck_assert(!is_live(handle));
	}
	ck_assert(is_live(keep));
}
END_TEST

/* All are live: there is an error and no crash; one page that is free again is issued from. */
START_TEST(handles_can_all_be_in_use)
{
	DAT_HANDLE *all = calloc((size_t)ALL, sizeof(*all));

	for (int i = 0; i < ALL; i++) {
		all[i] = issue_one();
		ck_assert_ptr_nonnull(all[i]);
	}
	ck_assert_ptr_null(issue_one());
	handle_retire(all[0]);
	ck_assert_ptr_null(issue_one());
	for (size_t i = 1; i < PAGE_SLOTS; i++)
		handle_retire(all[i]);
	for (size_t i = 0; i < PAGE_SLOTS; i++)
		ck_assert_ptr_eq(issue_one(), all[i]);
	ck_assert_ptr_null(issue_one());
	for (int i = 0; i < ALL; i++)
		ck_assert(is_live(all[i]));
	free(all);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, G3_a_stale_handle_is_refused_until_all_others_were_issued, 1,
		 setup_nothing);
	unit_add(suite, handles_do_not_wear_out, 1, setup_nothing);
	unit_add(suite, handles_can_all_be_in_use, 1, setup_nothing);
}

UNIT_SUITE_OF_PROCESSES("handle_reuse")
