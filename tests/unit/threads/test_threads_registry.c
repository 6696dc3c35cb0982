/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that use the registry at the same time: they add providers of their own, open adapters
 * through them and remove them, load a library and have it unloaded, and list all names. Each finds
 * its own names as it left them; what the registry does without its lock, ThreadSanitizer reports.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>
#include <dat/udat_redirection.h>

#include "tests/support/conf.h"
#include "tests/support/support.h"

enum {
	ROUNDS = 60,
	OWNERS = 2,  /* threads with a provider of their own */
	LOADERS = 2, /* threads that open adapters of a library */
	LISTED = 32,
};

struct owner {
	DAT_PROVIDER table;
	DAT_PROVIDER *handle; /* its IA's: the first word is the provider */
	DAT_PROVIDER_INFO info;
};

static struct owner owners[OWNERS];
static char loaded[LOADERS][DAT_NAME_MAX_LENGTH];

/* ---- a provider ---- */

static DAT_RETURN open_own(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			   DAT_IA_HANDLE *ia)
{
	struct owner *o = &owners[name[strlen(name) - 1] - '0'];

	(void)qlen;
	*async = DAT_HANDLE_NULL;
	*ia = &o->handle;
	return DAT_SUCCESS;
}

static DAT_RETURN close_own(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia;
	(void)flags;
	return DAT_SUCCESS;
}

static void use_name(char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	must(dat_ia_open(name, 8, &async, &ia));
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void *own(void *arg)
{
	struct owner *o = arg;

	for (int i = 0; i < ROUNDS; i++) {
		must(dat_registry_add_provider(&o->table, &o->info));
		use_name(o->info.ia_name);
		must(dat_registry_remove_provider(&o->table, &o->info));
	}
	return NULL;
}

/* The library is loaded for the first opening of a name, and finished after the last. */
static void *load(void *name)
{
	for (int i = 0; i < ROUNDS; i++)
		use_name(name);
	return NULL;
}

static void *list(void *unused)
{
	static DAT_PROVIDER_INFO infos[LISTED];
	DAT_PROVIDER_INFO *names[LISTED];
	DAT_COUNT n;

	for (int i = 0; i < LISTED; i++)
		names[i] = &infos[i];
	for (int i = 0; i < ROUNDS; i++) {
		must(dat_registry_list_providers(LISTED, &n, names));
		ck_assert_int_ge(n, LOADERS);
		for (DAT_COUNT k = 0; k < n; k++)
			ck_assert_ptr_nonnull(memchr(infos[k].ia_name, '\0', DAT_NAME_MAX_LENGTH));
	}
	return unused;
}

static void setup_names(void)
{
	const char *top = getenv("top_builddir");
	char lines[LOADERS][4200];

	for (int i = 0; i < LOADERS; i++) {
		snprintf(loaded[i], sizeof(loaded[i]), "sample%d", i);
		snprintf(lines[i], sizeof(lines[i]),
			 "%s u1.2 threadsafe default \"%s/tests/provider/.libs/sample.so\" "
			 "dapl.1.2 \"\" \"\"\n",
			 loaded[i], top ? top : ".");
	}
	conf_text("%s%s", lines[0], lines[1]);
	for (int i = 0; i < OWNERS; i++) {
		struct owner *o = &owners[i];

		o->table.device_name = o->info.ia_name;
		o->table.ia_open_func = open_own;
		o->table.ia_close_func = close_own;
		o->handle = &o->table;
		snprintf(o->info.ia_name, sizeof(o->info.ia_name), "own%d", i);
		o->info.dapl_version_major = DAT_VERSION_MAJOR;
		o->info.dapl_version_minor = DAT_VERSION_MINOR;
		o->info.is_thread_safe = DAT_TRUE;
	}
}

START_TEST(page_threads_add_open_list_and_remove_providers_at_once)
{
	pthread_t thread[OWNERS + LOADERS + 1];
	int n = 0;

	setup_names();
	for (int i = 0; i < OWNERS; i++)
		ck_assert_int_eq(pthread_create(&thread[n++], NULL, own, &owners[i]), 0);
	for (int i = 0; i < LOADERS; i++)
		ck_assert_int_eq(pthread_create(&thread[n++], NULL, load, loaded[i]), 0);
	ck_assert_int_eq(pthread_create(&thread[n++], NULL, list, NULL), 0);
	while (n > 0)
		ck_assert_int_eq(pthread_join(thread[--n], NULL), 0);
}
END_TEST

/* ---- adapters of libdat ---- */

static pthread_barrier_t start;

static void *use_ours(void *name)
{
	pthread_barrier_wait(&start);
	for (int i = 0; i < ROUNDS; i++)
		use_name(name);
	return NULL;
}

static void *list_ours(void *unused)
{
	DAT_PROVIDER_INFO infos[2], *names[] = { &infos[0], &infos[1] };
	DAT_COUNT n;

	pthread_barrier_wait(&start);
	for (int i = 0; i < ROUNDS; i++)
		must(dat_registry_list_providers(2, &n, names));
	return unused;
}

/* The fabric begins with the first open IA and ends with the last: each of them may be that. */
START_TEST(page_threads_open_and_list_adapters_while_fabrics_begin_and_end)
{
	static char name[] = "emu0";
	pthread_t thread[3];

	ck_assert_int_eq(pthread_barrier_init(&start, NULL, COUNT(thread)), 0);
	for (size_t i = 0; i < COUNT(thread); i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, i ? use_ours : list_ours, name),
				 0);
	for (size_t i = 0; i < COUNT(thread); i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
}
END_TEST

static void no_fabric(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, page_threads_open_and_list_adapters_while_fabrics_begin_and_end, 1,
		 no_fabric);
	unit_test_bare(suite, page_threads_add_open_list_and_remove_providers_at_once);
}

UNIT_SUITE("threads_registry")
