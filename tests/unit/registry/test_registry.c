/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_registry_list_providers: rulings G2, G3, G7; "page_": the pages. */
#include "tests/support/support.h"

enum {
	ROOM = 16
};

static DAT_PROVIDER_INFO infos[ROOM];
static DAT_PROVIDER_INFO *list[ROOM];

static void prepare(void)
{
	int i;

	memset(infos, 0xee, sizeof(infos));
	for (i = 0; i < ROOM; i++)
		list[i] = &infos[i];
}

static bool listed(DAT_COUNT entries, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < entries; i++)
		if (strcmp(infos[i].ia_name, name) == 0)
			return true;
	return false;
}

static DAT_COUNT registered(void)
{
	DAT_COUNT entries = -1;

	prepare();
	must(dat_registry_list_providers(ROOM, &entries, list));
	return entries;
}

START_TEST(page_the_first_two_adapters_are_listed)
{
	DAT_COUNT entries = registered();

	ck_assert_int_ge(entries, 2);
	ck_assert(listed(entries, "emu0"));
	ck_assert(listed(entries, "emu1"));
}
END_TEST

START_TEST(page_an_entry_tells_the_version)
{
	DAT_COUNT entries = registered(), i;

	for (i = 0; i < entries; i++) {
		ck_assert_uint_eq(infos[i].dapl_version_major, 1);
		ck_assert_uint_eq(infos[i].dapl_version_minor, 2);
	}
}
END_TEST

/* One entry serves requests for both kinds of thread safety. */
START_TEST(G7_each_name_is_listed_once)
{
	DAT_COUNT entries = registered(), i, j;

	for (i = 0; i < entries; i++)
		for (j = 0; j < i; j++)
			ck_assert_str_ne(infos[i].ia_name, infos[j].ia_name);
}
END_TEST

START_TEST(page_no_more_entries_are_written_than_there_are)
{
	DAT_PROVIDER_INFO poison;
	DAT_COUNT entries = registered(), i;

	memset(&poison, 0xee, sizeof(poison));
	for (i = entries; i < ROOM; i++)
		ck_assert_mem_eq(&infos[i], &poison, sizeof(poison));
}
END_TEST

START_TEST(page_every_listed_adapter_opens)
{
	DAT_COUNT entries = registered(), i;

	for (i = 0; i < entries; i++) {
		DAT_EVD_HANDLE async = NO_HANDLE;
		DAT_IA_HANDLE ia;

		must(dat_ia_open(infos[i].ia_name, 8, &async, &ia));
		must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
}
END_TEST

START_TEST(G2_a_list_too_small_fails_and_tells_how_many_there_are)
{
	DAT_COUNT all = registered(), entries, room;
	DAT_PROVIDER_INFO poison;

	memset(&poison, 0xee, sizeof(poison));
	for (room = 0; room < all; room++) {
		prepare();
		entries = -77;
		must_fail(dat_registry_list_providers(room, &entries, list), DAT_INVALID_PARAMETER,
			  ANY_SUBTYPE);
		ck_assert_int_eq(entries, all);
		ck_assert_mem_eq(&infos[0], &poison, sizeof(poison));
	}
	prepare();
	list[all] = NULL; /* behind the entries that were offered */
	must(dat_registry_list_providers(all, &entries, list));
	ck_assert_int_eq(entries, all);
}
END_TEST

START_TEST(G3_bad_arguments)
{
	DAT_COUNT entries = -77;

	prepare();
	must_fail(dat_registry_list_providers(ROOM, NULL, list), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_registry_list_providers(ROOM, &entries, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_fail(dat_registry_list_providers(-1, &entries, list), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG1);
	must_fail(dat_registry_list_providers(INT_MIN, &entries, list), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG1);
}
END_TEST

START_TEST(G3_a_NULL_entry_is_an_invalid_parameter)
{
	DAT_COUNT entries = -77;

	prepare();
	list[0] = NULL;
	must_fail(dat_registry_list_providers(ROOM, &entries, list), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, page_the_first_two_adapters_are_listed);
	unit_test_bare(suite, page_an_entry_tells_the_version);
	unit_test_bare(suite, G7_each_name_is_listed_once);
	unit_test_bare(suite, page_no_more_entries_are_written_than_there_are);
	unit_test_bare(suite, page_every_listed_adapter_opens);
	unit_test_bare(suite, G2_a_list_too_small_fails_and_tells_how_many_there_are);
	unit_test_bare(suite, G3_bad_arguments);
	unit_test_bare(suite, G3_a_NULL_entry_is_an_invalid_parameter);
}

UNIT_SUITE("registry")
