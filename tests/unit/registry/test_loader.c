/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider libraries that a dat.conf names: dat_ia_open loads tests/provider/sample.c, its adapters
 * open by name, and its handles coexist with those of libdat. "page_": the pages.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <dat/dat_registry.h>

#include "tests/provider/sample.h"
#include "tests/support/conf.h"

static char sample0[] = "sample0", sample1[] = "sample1";

static const char *library(const char *name)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/tests/provider/.libs/%s.so", top ? top : ".", name);
	return path;
}

/* A line for adapter `name` with this instance data */
static void name_sample(const char *name, const char *threads, const char *data)
{
	conf_text("# line 1\n%s u1.2 %s default \"%s\" dapl.1.2 \"%s\" \"\"\n", name, threads,
		  library("sample"), data);
}

static const struct sample_log *sample_log(void)
{
	void *dl = dlopen(library("sample"), RTLD_NOW | RTLD_NOLOAD);
	const struct sample_log *log;

	if (!dl)
		return NULL;
	log = dlsym(dl, "sample_log");
	dlclose(dl);
	return log;
}

static struct sample_log log_before;

/*
 * Counts relative to the begin of the test: other tests in this process may have loaded it before.
 */
static void expect_log(int inits, int finis, int opens, int closes)
{
	const struct sample_log *log = sample_log();

	ck_assert_ptr_nonnull(log);
	ck_assert_int_eq(log->inits - log_before.inits, inits);
	ck_assert_int_eq(log->finis - log_before.finis, finis);
	ck_assert_int_eq(log->opens - log_before.opens, opens);
	ck_assert_int_eq(log->closes - log_before.closes, closes);
}

static DAT_IA_HANDLE open_sample(char *name)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia = NO_HANDLE;

	must(dat_ia_open(name, 8, &async, &ia));
	ck_assert_ptr_nonnull(ia);
	return ia;
}

static void close_ia(DAT_IA_HANDLE ia)
{
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ---- loading ---- */

START_TEST(page_a_library_is_loaded_when_its_adapter_is_first_opened)
{
	DAT_IA_HANDLE ia;

	name_sample("sample0", "nonthreadsafe", "some \\\"data\\\"");
	if (sample_log())
		expect_log(0, 0, 0, 0); /* other tests share the process */
	ia = open_sample(sample0);
	expect_log(1, 0, 1, 0);
	ck_assert_str_eq(sample_log()->data, "some \"data\"");
	ck_assert_str_eq(sample_log()->info.ia_name, "sample0");
	ck_assert_uint_eq(sample_log()->info.dapl_version_major, 1);
	ck_assert_uint_eq(sample_log()->info.dapl_version_minor, 2);
	ck_assert_int_eq(sample_log()->info.is_thread_safe, DAT_FALSE);
	close_ia(ia);
}
END_TEST

START_TEST(page_fini_is_called_when_no_IA_is_open_any_more)
{
	DAT_IA_HANDLE first, second;

	name_sample("sample0", "nonthreadsafe", "");
	first = open_sample(sample0);
	second = open_sample(sample0);
	expect_log(1, 0, 2, 0);
	close_ia(first);
	expect_log(1, 0, 2, 1);
	close_ia(second);
	expect_log(1, 1, 2, 2);
	ck_assert_str_eq(sample_log()->fini_info.ia_name, "sample0");
	first = open_sample(sample0);
	expect_log(2, 1, 3, 2);
	close_ia(first);
	expect_log(2, 2, 3, 3);
}
END_TEST

START_TEST(page_each_name_has_its_own_init_and_fini)
{
	DAT_IA_HANDLE first, second;

	conf_text("sample0 u1.2 nonthreadsafe default \"%s\" dapl.1.2 \"\" \"\"\n"
		  "sample1 u1.2 nonthreadsafe default \"%s\" dapl.1.2 \"one\" \"\"\n",
		  library("sample"), library("sample"));
	first = open_sample(sample0);
	second = open_sample(sample1);
	expect_log(2, 0, 2, 0);
	ck_assert_str_eq(sample_log()->data, "one");
	close_ia(first); /* both names share one table: the handle tells which name it belongs to */
	expect_log(2, 1, 2, 1);
	ck_assert_str_eq(sample_log()->fini_info.ia_name, "sample0");
	close_ia(second);
	expect_log(2, 2, 2, 2);
	ck_assert_str_eq(sample_log()->fini_info.ia_name, "sample1");
}
END_TEST

/* ---- handles ---- */

START_TEST(page_its_handles_live_beside_ours)
{
	DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)-1;
	DAT_PZ_HANDLE theirs, ours;
	DAT_IA_HANDLE ia;
	DAT_CONTEXT context = { .as_64 = 0 };

	name_sample("sample0", "nonthreadsafe", "");
	ia = open_sample(sample0);
	must(dat_pz_create(ia, &theirs));
	must(dat_pz_create(w.a.ia, &ours));
	must(dat_get_handle_type(theirs, &type));
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_PZ);
	must(dat_set_consumer_context(theirs, (DAT_CONTEXT){ .as_64 = 4711 }));
	must(dat_get_consumer_context(ours, &context));
	ck_assert_uint_eq(context.as_64, 0);
	must(dat_get_consumer_context(theirs, &context));
	ck_assert_uint_eq(context.as_64, 4711);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_PZ), 3); /* its PZ does not count */
	must(dat_pz_free(ours));
	must(dat_pz_free(theirs));
	close_ia(ia);
}
END_TEST

START_TEST(G3_its_handles_are_no_handles_of_ours)
{
	DAT_PZ_HANDLE theirs;
	DAT_EP_HANDLE ep;
	DAT_IA_HANDLE ia;

	name_sample("sample0", "nonthreadsafe", "");
	ia = open_sample(sample0);
	must(dat_pz_create(ia, &theirs));
	must_fail(dat_ep_create(w.a.ia, theirs, w.a.recv, w.a.request, w.a.connect, NULL, &ep),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	must(dat_pz_free(theirs));
	close_ia(ia);
}
END_TEST

START_TEST(G3_its_handles_are_looked_at_while_an_IA_is_open_only)
{
	DAT_IA_HANDLE ia, other;
	DAT_HANDLE_TYPE type;
	DAT_PZ_HANDLE pz;

	name_sample("sample0", "nonthreadsafe", "");
	ia = open_sample(sample0);
	other = open_sample(sample0);
	must(dat_pz_create(ia, &pz));
	close_ia(ia);
	must(dat_get_handle_type(pz, &type)); /* the other instance is still open */
	close_ia(other);
	must_fail(dat_get_handle_type(pz, &type), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	must_fail(dat_pz_free(pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	free(pz); /* no call can free it now */
}
END_TEST

START_TEST(page_a_call_that_it_does_not_have_is_not_supported)
{
	DAT_SRQ_ATTR attr = { 1, 1, 0 };
	DAT_SRQ_HANDLE srq;
	DAT_IA_HANDLE ia;

	name_sample("sample0", "nonthreadsafe", "");
	ia = open_sample(sample0);
	must_fail(dat_ia_query(ia, NULL, 0, NULL, 0, NULL), DAT_MODEL_NOT_SUPPORTED,
		  DAT_NO_SUBTYPE);
	must_fail(dat_srq_create(ia, NO_HANDLE, &attr, &srq), DAT_MODEL_NOT_SUPPORTED,
		  DAT_NO_SUBTYPE);
	must_fail(dat_srq_post_recv((DAT_SRQ_HANDLE)ia, 0, NULL, cookie(0)),
		  DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	close_ia(ia);
}
END_TEST

/* ---- failures ---- */

static void expect_not_found(char *name, const char *said_part)
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&w;
	DAT_EVD_HANDLE async = NO_HANDLE;
	const char *said;
	DAT_RETURN ret;

	said_start();
	ret = dat_ia_open(name, 8, &async, &ia);
	said = said_stop();
	must_fail(ret, DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ck_assert_ptr_eq(ia, &w);
	ck_assert_said(said, said_part);
}

START_TEST(page_a_library_that_cannot_be_loaded_is_told)
{
	char place[100];

	conf_text("\nsample0 u1.2 nonthreadsafe default /nonexistent/lib.so dapl.1.2 \"\" \"\"\n");
	snprintf(place, sizeof(place), "libdat: %s:2: provider library /nonexistent/lib.so",
		 conf_path());
	expect_not_found(sample0, place);
	expect_not_found(sample0, "of adapter sample0 cannot be used: ");
	expect_not_found(sample0, "No such file");
}
END_TEST

START_TEST(page_a_library_without_an_init_is_told)
{
	conf_text("sample0 u1.2 nonthreadsafe default \"%s\" dapl.1.2 \"\" \"\"\n",
		  library("empty"));
	expect_not_found(sample0, "it has no function dat_provider_init");
	/* It is unloaded again. */
	ck_assert_ptr_null(dlopen(library("empty"), RTLD_NOW | RTLD_NOLOAD));
}
END_TEST

START_TEST(page_a_provider_that_registers_nothing_is_told)
{
	name_sample("sample0", "nonthreadsafe", "silent");
	expect_not_found(sample0, "was loaded, but did not register adapter sample0");
	/* The next open tries again. */
	name_sample("sample0", "nonthreadsafe", "");
	close_ia(open_sample(sample0));
}
END_TEST

START_TEST(page_a_provider_that_opens_itself_in_its_init_gets_nothing)
{
	const char *said;

	name_sample("sample0", "nonthreadsafe", "opens sample0");
	must(open_and_close("sample0", &said));
	ck_assert_said(said, "its init opens the adapter it is to register");
	must_fail((DAT_RETURN)sample_log()->inner, DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}
END_TEST

START_TEST(page_a_provider_that_opens_another_and_then_itself_gets_nothing_either)
{
	const char *said;

	conf_text("sample0 u1.2 threadsafe default \"%s\" dapl.1.2 \"opens sample1 sample0\" \"\"\n"
		  "sample1 u1.2 threadsafe default \"%s\" dapl.1.2 \"\" \"\"\n",
		  library("sample"), library("sample"));
	must(open_and_close("sample0", &said));
	ck_assert_said(said, "its init opens the adapter it is to register");
	must_fail((DAT_RETURN)sample_log()->inner, DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}
END_TEST

START_TEST(page_a_provider_may_use_another_in_its_init)
{
	const char *said;

	name_sample("sample0", "nonthreadsafe", "opens emu0");
	must(open_and_close("sample0", &said));
	ck_assert_str_eq(said, "");
	must((DAT_RETURN)sample_log()->inner);
}
END_TEST

START_TEST(page_a_provider_that_stays_registered_is_taken_off)
{
	DAT_IA_HANDLE ia;
	const char *said;

	name_sample("sample0", "nonthreadsafe", "stays");
	ia = open_sample(sample0);
	said_start();
	close_ia(ia);
	said = said_stop();
	ck_assert_said(said, "the provider of adapter sample0 left it registered");
	close_ia(open_sample(sample0));
	expect_log(2, 2, 2, 2);
}
END_TEST

START_TEST(page_an_open_that_the_provider_refuses_is_refused)
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&w;
	DAT_EVD_HANDLE async = NO_HANDLE;

	name_sample("sample0", "nonthreadsafe", "refuses");
	must_fail(dat_ia_open(sample0, 8, &async, &ia), DAT_INSUFFICIENT_RESOURCES,
		  DAT_RESOURCE_DEVICE);
	ck_assert_ptr_eq(ia, &w);
	expect_log(1, 1, 0, 0);
}
END_TEST

START_TEST(page_a_library_that_is_not_thread_safe_serves_nobody_who_asks_for_it)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia, second;

	name_sample("sample0", "nonthreadsafe", "");
	said_start();
	must_fail(dat_ia_openv(sample0, 8, &async, &ia, 1, 2, DAT_TRUE), DAT_PROVIDER_NOT_FOUND,
		  DAT_THREAD_SAFETY_NOT_FOUND);
	ia = open_sample(sample0);
	must_fail(dat_ia_openv(sample0, 8, &async, &second, 1, 2, DAT_TRUE), DAT_PROVIDER_NOT_FOUND,
		  DAT_THREAD_SAFETY_NOT_FOUND);
	must_fail(dat_ia_openv(sample0, 8, &async, &second, 2, 0, DAT_FALSE),
		  DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	must_fail(dat_ia_openv(sample0, 8, &async, &second, 1, 3, DAT_FALSE),
		  DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	said_stop();
	close_ia(ia);
	name_sample("sample0", "threadsafe", "");
	must(dat_ia_openv(sample0, 8, &async, &ia, 1, 2, DAT_TRUE));
	close_ia(ia);
	close_ia(open_sample(sample0));
}
END_TEST

/* Thread safety is not asked of a line of libdat's own adapters, but of those behind it. */
START_TEST(G7_a_line_of_ours_does_not_excuse_those_behind_it)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;

	conf_text("sample0 u1.1 nonthreadsafe default libdat.so.1 dapl.1.2 emu0 \"\"\n"
		  "sample0 u1.2 nonthreadsafe default \"%s\" dapl.1.2 \"\" \"\"\n",
		  library("sample"));
	said_start();
	must_fail(dat_ia_openv(sample0, 8, &async, &ia, 1, 2, DAT_TRUE), DAT_PROVIDER_NOT_FOUND,
		  DAT_THREAD_SAFETY_NOT_FOUND);
	said_stop();
}
END_TEST

/* A library that is being shut down does not stand for its name; the dat.conf does. */
START_TEST(page_the_version_of_a_library_that_leaves_does_not_count)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;

	conf_text("sample0 u1.1 threadsafe default \"%s\" dapl.1.2 \"leaves sample0\" \"\"\n",
		  library("sample"));
	must(dat_ia_openv(sample0, 8, &async, &ia, 1, 1, DAT_TRUE));
	conf_text("sample0 u1.2 threadsafe default libdat.so.1 dapl.1.2 emu0 \"\"\n");
	close_ia(ia);
	expect_log(1, 1, 1, 1);
	must((DAT_RETURN)sample_log()->inner); /* of version 1.2 */
}
END_TEST

START_TEST(page_a_loaded_name_in_use_stays)
{
	DAT_PROVIDER_INFO info = { .ia_name = "sample0" };
	DAT_IA_HANDLE ia;

	name_sample("sample0", "nonthreadsafe", "");
	ia = open_sample(sample0);
	must_fail(dat_registry_remove_provider(*(DAT_PROVIDER **)ia, &info), DAT_PROVIDER_IN_USE,
		  DAT_NO_SUBTYPE);
	close_ia(ia);
}
END_TEST

/* ---- threads ---- */

static void *open_often(void *unused)
{
	(void)unused;
	for (int i = 0; i < 200; i++)
		close_ia(open_sample(i % 2 ? sample0 : sample1));
	return NULL;
}

START_TEST(G7_threads_open_and_close_at_once)
{
	pthread_t threads[4];
	const struct sample_log *log;

	conf_text("sample0 u1.2 nonthreadsafe default \"%s\" dapl.1.2 \"\" \"\"\n"
		  "sample1 u1.2 nonthreadsafe default \"%s\" dapl.1.2 \"\" \"\"\n",
		  library("sample"), library("sample"));
	for (size_t i = 0; i < COUNT(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, open_often, NULL), 0);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	log = sample_log();
	ck_assert_int_eq(log->inits - log_before.inits, log->finis - log_before.finis);
}
END_TEST

static void setup_loader(void)
{
	const struct sample_log *log = sample_log();

	log_before = log ? *log : (struct sample_log){ .inits = 0 };
	conf_clear();
	setup_sides();
}

static void fill(Suite *suite)
{
	const TTest *const tests[] = {
		page_a_library_is_loaded_when_its_adapter_is_first_opened,
		page_fini_is_called_when_no_IA_is_open_any_more,
		page_each_name_has_its_own_init_and_fini,
		page_its_handles_live_beside_ours,
		G3_its_handles_are_no_handles_of_ours,
		G3_its_handles_are_looked_at_while_an_IA_is_open_only,
		page_a_call_that_it_does_not_have_is_not_supported,
		page_a_library_that_cannot_be_loaded_is_told,
		page_a_library_without_an_init_is_told,
		page_a_provider_that_registers_nothing_is_told,
		page_a_provider_that_opens_itself_in_its_init_gets_nothing,
		page_a_provider_that_opens_another_and_then_itself_gets_nothing_either,
		page_a_provider_may_use_another_in_its_init,
		page_a_provider_that_stays_registered_is_taken_off,
		page_an_open_that_the_provider_refuses_is_refused,
		page_a_library_that_is_not_thread_safe_serves_nobody_who_asks_for_it,
		G7_a_line_of_ours_does_not_excuse_those_behind_it,
		page_the_version_of_a_library_that_leaves_does_not_count,
		page_a_loaded_name_in_use_stays,
		G7_threads_open_and_close_at_once,
	};

	for (size_t i = 0; i < COUNT(tests); i++)
		unit_add(suite, tests[i], 1, setup_loader);
}

UNIT_SUITE("loader")
