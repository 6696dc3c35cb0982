/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A minimal foreign provider: an IA, and PZs whose handles point to its own memory. The same call
 * opens its adapter, and its handles coexist with those of libdat.
 */
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>
#include <dat/udat_redirection.h>

#include "tests/support/conf.h"
#include "tests/support/support.h"

struct thing {
	DAT_PROVIDER *provider; /* the first word of every handle */
	int calls;
};

static DAT_PROVIDER tiny;
static struct thing tiny_ia = { .provider = &tiny }, tiny_pz = { .provider = &tiny };

static DAT_RETURN open_ia(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			  DAT_IA_HANDLE *ia)
{
	(void)qlen;
	ck_assert_str_eq(name, "tiny0");
	*async = DAT_HANDLE_NULL;
	*ia = &tiny_ia;
	return DAT_SUCCESS;
}

static DAT_RETURN close_ia(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)flags;
	ck_assert_ptr_eq(ia, &tiny_ia);
	return DAT_SUCCESS;
}

static DAT_RETURN create_pz(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	ck_assert_ptr_eq(ia, &tiny_ia);
	*pz = &tiny_pz;
	return DAT_SUCCESS;
}

static DAT_RETURN free_pz(DAT_PZ_HANDLE pz)
{
	ck_assert_ptr_eq(pz, &tiny_pz);
	tiny_pz.calls++;
	return DAT_SUCCESS;
}

static const DAT_PROVIDER_INFO info = { .ia_name = "tiny0",
					.dapl_version_major = DAT_VERSION_MAJOR,
					.dapl_version_minor = DAT_VERSION_MINOR };

static void register_tiny(void)
{
	tiny.device_name = "tiny";
	tiny.ia_open_func = open_ia;
	tiny.ia_close_func = close_ia;
	tiny.pz_create_func = create_pz;
	tiny.pz_free_func = free_pz;
	must(dat_registry_add_provider(&tiny, &info));
}

/* Whether this library has adapters of its own is another question. */
START_TEST(page_a_provider_is_registered_though_ours_cannot_be_chosen)
{
	const char *provider = getenv("DAT_PROVIDER");
	char *before = provider ? strdup(provider) : NULL;

	setenv("DAT_PROVIDER", "none of ours", 1);
	register_tiny();
	must(dat_registry_remove_provider(&tiny, &info));
	if (before)
		setenv("DAT_PROVIDER", before, 1);
	else
		unsetenv("DAT_PROVIDER");
	free(before);
}
END_TEST

START_TEST(page_a_registered_provider_is_opened_like_ours)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "tiny0";
	int calls = tiny_pz.calls;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	register_tiny();
	must(dat_ia_open(name, 8, &async, &ia));
	must(dat_pz_create(ia, &pz));
	ck_assert_ptr_eq(pz, &tiny_pz);
	must(dat_pz_free(pz));
	ck_assert_int_eq(tiny_pz.calls, calls + 1);
	/* libdat's adapter beside it: each call finds the right provider. */
	must(dat_pz_create(w.a.ia, &pz));
	must(dat_pz_free(pz));
	ck_assert_int_eq(tiny_pz.calls, calls + 1);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_registry_remove_provider(&tiny, &info));
}
END_TEST

/* A line of the dat.conf would be of no use, and the program is built for this library. */
START_TEST(page_a_provider_of_another_version_is_told)
{
	DAT_PROVIDER_INFO older = info;
	const char *said;

	older.dapl_version_minor = DAT_VERSION_MINOR - 1;
	must(dat_registry_add_provider(&tiny, &older));
	must_fail(open_and_close("tiny0", &said), DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	ck_assert_said(said, "which the provider of this adapter does not serve");
	must(dat_registry_remove_provider(&tiny, &older));
}
END_TEST

/* A third party's table may lack calls. */
START_TEST(G3_an_adapter_whose_provider_cannot_open_it_is_refused)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "tiny0";
	DAT_IA_HANDLE ia = NO_HANDLE;

	register_tiny();
	tiny.ia_open_func = NULL;
	must_fail(dat_ia_open(name, 8, &async, &ia), DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	ck_assert_ptr_eq(ia, NO_HANDLE);
	must(dat_registry_remove_provider(&tiny, &info));
}
END_TEST

START_TEST(page_a_provider_with_an_open_adapter_stays)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "tiny0";
	DAT_IA_HANDLE ia;

	register_tiny();
	must(dat_ia_open(name, 8, &async, &ia));
	must_fail(dat_registry_remove_provider(&tiny, &info), DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_registry_remove_provider(&tiny, &info));
}
END_TEST

START_TEST(G3_wild_values_are_no_handles_beside_a_foreign_adapter_either)
{
	static const uintptr_t wild[] = {
		1, 8, 0xdeadbeef, 0x7fffffffffff, UINTPTR_MAX, 1ul << 63,
	};
	struct thing stranger = { .provider = (DAT_PROVIDER *)(uintptr_t)0x1234 };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "tiny0";
	DAT_IA_HANDLE ia;

	register_tiny();
	must(dat_ia_open(name, 8, &async, &ia));
	for (size_t i = 0; i < COUNT(wild); i++)
		must_fail(dat_pz_free((DAT_PZ_HANDLE)wild[i]), DAT_INVALID_HANDLE,
			  DAT_INVALID_HANDLE_PZ);
	must_fail(dat_pz_free(NO_HANDLE), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	must_fail(dat_pz_free(&stranger), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	/* Once its last adapter is closed, its handles are invalid. */
	must_fail(dat_pz_free(&tiny_pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	must_fail(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_IA);
	must(dat_registry_remove_provider(&tiny, &info));
}
END_TEST

/* ---- manual registration ---- */

static DAT_RETURN open_nothing(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			       DAT_IA_HANDLE *ia)
{
	static DAT_PROVIDER *object;
	(void)name;
	(void)qlen;
	(void)async;
	*ia = &object;
	return DAT_SUCCESS;
}

START_TEST(page_errors_of_add_and_remove)
{
	static DAT_PROVIDER table, other;
	DAT_PROVIDER_INFO mine = { .ia_name = "mine0", .dapl_version_major = 1 }, bad = mine;

	table.ia_open_func = open_nothing;
	must_fail(dat_registry_add_provider(NULL, &mine), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	must_fail(dat_registry_add_provider(&table, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	bad.ia_name[0] = '\0';
	must_fail(dat_registry_add_provider(&table, &bad), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	memset(bad.ia_name, 'x', sizeof(bad.ia_name));
	must_fail(dat_registry_add_provider(&table, &bad), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_registry_remove_provider(&table, &bad), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_registry_remove_provider(&table, &mine), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must(dat_registry_add_provider(&table, &mine));
	must_fail(dat_registry_add_provider(&table, &mine), DAT_PROVIDER_ALREADY_REGISTERED,
		  DAT_NO_SUBTYPE);
	must_fail(dat_registry_add_provider(&other, &mine), DAT_PROVIDER_ALREADY_REGISTERED,
		  DAT_NO_SUBTYPE);
	must_fail(dat_registry_remove_provider(NULL, &mine), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG1);
	must_fail(dat_registry_remove_provider(&table, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_registry_remove_provider(&other, &mine), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must(dat_registry_remove_provider(&table, &mine));
	must_fail(dat_registry_remove_provider(&table, &mine), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, page_a_provider_is_registered_though_ours_cannot_be_chosen);
	unit_test(suite, page_a_registered_provider_is_opened_like_ours);
	unit_test(suite, page_a_provider_of_another_version_is_told);
	unit_test(suite, G3_an_adapter_whose_provider_cannot_open_it_is_refused);
	unit_test(suite, page_a_provider_with_an_open_adapter_stays);
	unit_test(suite, page_errors_of_add_and_remove);
	unit_test(suite, G3_wild_values_are_no_handles_beside_a_foreign_adapter_either);
}

UNIT_SUITE("provider")
