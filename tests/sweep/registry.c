/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of adapters and of foreign providers. */
#include <stdlib.h>

#include <dat/dat_registry.h>
#include <dat/udat_redirection.h>

#include "tests/sweep/sweep.h"

static DAT_PROVIDER other;
static DAT_PROVIDER_INFO other_info = { .ia_name = "other0",
					.dapl_version_major = DAT_VERSION_MAJOR,
					.dapl_version_minor = DAT_VERSION_MINOR };
static const DAT_PROVIDER_INFO built_in = { .ia_name = "emu0" }, nameless;

/* ---- list ---- */

static DAT_PROVIDER_INFO space[64], *list[64];

static DAT_RETURN list_them(DAT_COUNT max, DAT_COUNT *entries)
{
	size_t i;

	for (i = 0; i < COUNT(list); i++)
		list[i] = &space[i];
	return dat_registry_list_providers(max, entries, list);
}

/* Ruling G2: a failed call writes one output, the number of entries. */
static DAT_RETURN list_too_small(void)
{
	DAT_COUNT entries = -1;
	DAT_RETURN ret;

	memset(space, 0xee, sizeof(space));
	ret = TRY(list_them(1, &entries));
	ck_assert_int_gt(entries, 1);
	ck_assert_int_eq((unsigned char)space[0].ia_name[0], 0xee);
	return ret;
}

static DAT_RETURN list_no_list(void)
{
	DAT_COUNT entries;

	return TRY(dat_registry_list_providers(64, &entries, NULL));
}

static DAT_RETURN list_without_a_registry(void)
{
	DAT_RETURN ret;

	setenv("DAT_PROVIDER", "no-such-provider", 1);
	ret = TRY(list_them(64, &out.more.count));
	unsetenv("DAT_PROVIDER");
	return ret;
}

PROVOKE(list_no_count, list_them(64, NULL))
PROVOKE(list_less_than_none, list_them(-1, &out.more.count))

/* ---- add and remove ---- */

static DAT_RETURN open_ia(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			  DAT_IA_HANDLE *ia)
{
	static DAT_PROVIDER *handle = &other;

	(void)name;
	(void)qlen;
	(void)async;
	*ia = &handle;
	return DAT_SUCCESS;
}

static DAT_RETURN close_ia(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia;
	(void)flags;
	return DAT_SUCCESS;
}

static void add_other(void)
{
	other.ia_open_func = open_ia;
	other.ia_close_func = close_ia;
	must(dat_registry_add_provider(&other, &other_info));
}

static DAT_RETURN add_twice(void)
{
	DAT_RETURN ret;

	add_other();
	ret = TRY(dat_registry_add_provider(&other, &other_info));
	must(dat_registry_remove_provider(&other, &other_info));
	return ret;
}

static DAT_RETURN add_a_name_too_long(void)
{
	DAT_PROVIDER_INFO info;

	memset(&info, 'x', sizeof(info));
	return TRY(dat_registry_add_provider(&other, &info));
}

PROVOKE(add_our_own_name, dat_registry_add_provider(&other, &built_in))
PROVOKE(add_no_provider, dat_registry_add_provider(NULL, &other_info))
PROVOKE(add_no_info, dat_registry_add_provider(&other, NULL))
PROVOKE(add_no_name, dat_registry_add_provider(&other, &nameless))

static DAT_RETURN remove_open(void)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	add_other();
	must(dat_ia_open(other_info.ia_name, 8, &async, &ia));
	ret = TRY(dat_registry_remove_provider(&other, &other_info));
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_registry_remove_provider(&other, &other_info));
	return ret;
}

static DAT_RETURN remove_another_provider_of_that_name(void)
{
	static DAT_PROVIDER third;
	DAT_RETURN ret;

	add_other();
	ret = TRY(dat_registry_remove_provider(&third, &other_info));
	must(dat_registry_remove_provider(&other, &other_info));
	return ret;
}

PROVOKE(remove_unknown, dat_registry_remove_provider(&other, &other_info))
PROVOKE(remove_our_own, dat_registry_remove_provider(&other, &built_in))
PROVOKE(remove_no_provider, dat_registry_remove_provider(NULL, &other_info))
PROVOKE(remove_no_info, dat_registry_remove_provider(&other, NULL))

/* ---- calls that succeed ---- */

static DAT_RETURN list_all(void)
{
	DAT_COUNT entries = 0;
	DAT_RETURN ret = list_them(64, &entries);

	ck_assert_int_ge(entries, 2);
	return ret;
}

static DAT_RETURN add(void)
{
	DAT_RETURN ret = dat_registry_add_provider(&other, &other_info);

	must(dat_registry_remove_provider(&other, &other_info));
	return ret;
}

static DAT_RETURN remove_again(void)
{
	must(dat_registry_add_provider(&other, &other_info));
	return dat_registry_remove_provider(&other, &other_info);
}

static const struct sweep_row rows[] = {
	ROW(dat_registry_list_providers, SUCCESS, NO_SUBTYPE, list_all),
	ROW(dat_registry_add_provider, SUCCESS, NO_SUBTYPE, add),
	ROW(dat_registry_remove_provider, SUCCESS, NO_SUBTYPE, remove_again),
	ROW_ARG(dat_registry_list_providers, 1, list_too_small),
	ROW_ARG(dat_registry_list_providers, 1, list_less_than_none),
	ROW_ARG(dat_registry_list_providers, 2, list_no_count),
	ROW_ARG(dat_registry_list_providers, 3, list_no_list),
	ROW(dat_registry_list_providers, INTERNAL_ERROR, NO_SUBTYPE, list_without_a_registry),
	ROW(dat_registry_add_provider, PROVIDER_ALREADY_REGISTERED, NO_SUBTYPE, add_twice),
	ROW(dat_registry_add_provider, PROVIDER_ALREADY_REGISTERED, NO_SUBTYPE, add_our_own_name),
	ROW_ARG(dat_registry_add_provider, 1, add_no_provider),
	ROW_ARG(dat_registry_add_provider, 2, add_no_info),
	ROW_ARG(dat_registry_add_provider, 2, add_no_name),
	ROW_ARG(dat_registry_add_provider, 2, add_a_name_too_long),
	ROW(dat_registry_remove_provider, PROVIDER_IN_USE, NO_SUBTYPE, remove_open),
	ROW_ARG(dat_registry_remove_provider, 1, remove_no_provider),
	ROW_ARG(dat_registry_remove_provider, 2, remove_no_info),
	ROW_ARG(dat_registry_remove_provider, 2, remove_unknown),
	ROW_ARG(dat_registry_remove_provider, 2, remove_our_own),
	ROW_ARG(dat_registry_remove_provider, 2, remove_another_provider_of_that_name),
};

SWEEP_TABLE(sweep_registry);
