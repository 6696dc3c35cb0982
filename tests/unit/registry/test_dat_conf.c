/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of a dat.conf, and the messages about bad lines; rulings G3, G7, G10. */
#include <dat/dat_registry.h>

#include "tests/support/conf.h"

#define GOOD "good0 u1.2 nonthreadsafe default \"\" dapl.1.2 emu0 \"\"\n"

static void expect_counts(DAT_COUNT adapters, DAT_COUNT skipped)
{
	const char *path = NULL;
	DAT_COUNT a = -1, s = -1;

	must(dat_sim_dat_conf(&path, &a, &s));
	ck_assert_str_eq(path, conf_path());
	ck_assert_int_eq(a, adapters);
	ck_assert_int_eq(s, skipped);
}

/* ---- good lines ---- */

START_TEST(G10_any_name_can_be_an_adapter_of_ours)
{
	static const char *const lines[] = {
		"OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"emu0\" \"\"\n",
		"OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 emu0",
		"OpenIB-cma u1.2 nonthreadsafe default \"\" dapl.1.2 emu0",
		"OpenIB-cma u1.2 threadsafe nondefault /usr/lib/libdat.so 1.2 emu0 \"\"",
		("# a comment\n\n \t \n"
		 "OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 emu0"),
		"OpenIB-cma\tu1.2\tnonthreadsafe default libdat.so.1 dapl.1.2 emu0 \"x\"#behind\n",
		("\"OpenIB-cma\" \"u1.2\" \"nonthreadsafe\" \"default\" "
		 "\"libdat.so\" \"a.1.2\" \"emu0\" \"\"\r\n"),
		("  OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 SUNW.1.0 emu0 "
		 "driver_name=tavor"),
		("OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 "
		 "emu0#no platform\n" GOOD),
		/* An editor's byte order mark. */
		"\xef\xbb\xbfOpenIB-cma u1.2 nonthreadsafe default \"\" dapl.1.2 emu0\n",
		("\xef\xbb\xbf# a comment\n"
		 "OpenIB-cma u1.2 nonthreadsafe default \"\" dapl.1.2 emu0\n"),
	};
	const char *said;

	conf_text("%s", lines[_i]);
	must(open_and_close("OpenIB-cma", &said));
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(G10_the_adapter_behind_the_name_tells_its_own)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	static char name[] = "RO_AWARE_ib 0#x";
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	conf_text("\"ib 0#x\" u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 emu1 \"\"");
	must(dat_ia_open(name, 8, &async, &ia));
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADAPTER_NAME, &attr, 0, NULL));
	ck_assert_str_eq(attr.adapter_name, "emu1");
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(G7_a_name_of_ours_serves_both_thread_safeties)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	static char name[] = "good0";
	DAT_IA_HANDLE ia;

	conf_text(GOOD);
	must(dat_ia_openv(name, 8, &async, &ia, 1, 2, DAT_TRUE));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(G10_a_name_may_be_one_of_ours_itself)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	static char name[] = "emu0";
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	conf_text("emu0 u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 emu1 \"\"");
	must(dat_ia_open(name, 8, &async, &ia));
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADAPTER_NAME, &attr, 0, NULL));
	ck_assert_str_eq(attr.adapter_name, "emu1");
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(page_a_version_that_no_line_serves_is_named)
{
	static const struct {
		const char *versions[3];
		DAT_UINT32 major, minor, subtype;
		const char *said; /* besides the version that the program asks for */
	} cases[] = {
		{ { "u2.0" }, 1, 2, DAT_MAJOR_NOT_FOUND, ":1 has the adapter for uDAPL 2.0;" },
		{ { "u2.0" }, 2, 0, DAT_MAJOR_NOT_FOUND, "build the program for it" },
		{ { "u1.1" }, 1, 2, DAT_MINOR_NOT_FOUND, ":1 has the adapter for uDAPL 1.1;" },
		{ { "u1.2" }, 2, 0, DAT_MAJOR_NOT_FOUND, "build the program for it" },
		{ { "u1.2" }, 1, 3, DAT_MINOR_NOT_FOUND, "build the program for it" },
		{ { "u1.0", "u1.1" }, 1, 2, DAT_MINOR_NOT_FOUND, "add a line for uDAPL 1.2" },
		{ { "k1.2" }, 1, 2, DAT_NAME_NOT_REGISTERED, "add one" },
		{ { "u1.1", "u1.2" }, 1, 2, 0, NULL },
		{ { "u1.1", "u1.2" }, 1, 1, 0, NULL },
	};
	const char *const *v = cases[_i].versions;
	DAT_EVD_HANDLE async = NO_HANDLE;
	static char name[] = "ib0";
	const char *said;
	char text[300] = "";
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	int i;

	for (i = 0; i < 3 && v[i]; i++) {
		strcat(text, "ib0 ");
		strcat(text, v[i]);
		strcat(text, " nonthreadsafe default \"\" dapl.1.2 emu0 \"\"\n");
	}
	conf_text("%s", text);
	said_start();
	ret = dat_ia_openv(name, 8, &async, &ia, cases[_i].major, cases[_i].minor, DAT_FALSE);
	said = said_stop();
	if (cases[_i].subtype) {
		must_fail(ret, DAT_PROVIDER_NOT_FOUND, cases[_i].subtype);
		ck_assert_said(said, cases[_i].said);
		/* The advice is no good to a program of this library's version. */
		if (cases[_i].major == 1 && cases[_i].minor == 2)
			ck_assert_ptr_null(strstr(said, "build the program"));
		return;
	}
	must(ret);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(page_default_lines_come_first)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	static char name[] = "ib0";
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	conf_text("ib0 u1.2 nonthreadsafe nondefault \"\" dapl.1.2 emu0 \"\"\n"
		  "ib0 u1.2 nonthreadsafe default    \"\" dapl.1.2 emu1 \"\"\n"
		  "ib0 u1.2 nonthreadsafe default    \"\" dapl.1.2 emu0 \"\"\n");
	must(dat_ia_open(name, 8, &async, &ia));
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADAPTER_NAME, &attr, 0, NULL));
	ck_assert_str_eq(attr.adapter_name, "emu1");
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(page_the_names_are_listed_each_once)
{
	DAT_PROVIDER_INFO infos[8], *list[8];
	DAT_COUNT n = -1, i;

	for (i = 0; i < 8; i++)
		list[i] = &infos[i];
	conf_text("two u1.2 threadsafe nondefault libother.so dapl.1.2 \"\" \"\"\n"
		  "one u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 emu0 \"\"\n"
		  "two u1.1 nonthreadsafe default libother.so dapl.1.2 \"\" \"\"\n"
		  "old u2.0 nonthreadsafe default libother.so dapl.2.0 \"\" \"\"\n"
		  "emu1 u1.2 nonthreadsafe default \"\" dapl.1.2 emu0 \"\"\n");
	must(dat_registry_list_providers(8, &n, list));
	ck_assert_int_eq(n, 4);
	ck_assert_str_eq(infos[0].ia_name, "emu0");
	ck_assert_str_eq(infos[1].ia_name, "emu1");
	ck_assert_str_eq(infos[2].ia_name, "one");
	ck_assert_str_eq(infos[3].ia_name, "two");
	ck_assert_uint_eq(infos[3].dapl_version_minor, 1); /* the default version */
	must_fail(dat_registry_list_providers(3, &n, list), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG1);
	ck_assert_int_eq(n, 4);
	expect_counts(5, 0);
}
END_TEST

static const DAT_PROVIDER_INFO *listed_as(const char *name)
{
	static DAT_PROVIDER_INFO infos[8];
	DAT_PROVIDER_INFO *list[8];
	DAT_COUNT n, at = -1;

	for (int i = 0; i < 8; i++)
		list[i] = &infos[i];
	must(dat_registry_list_providers(8, &n, list));
	for (DAT_COUNT i = 0; i < n; i++)
		if (strcmp(infos[i].ia_name, name) == 0) {
			ck_assert_int_eq(at, -1);
			at = i;
		}
	ck_assert_int_ge(at, 0);
	return &infos[at];
}

/* By what is listed the adapter can be opened: the file overrules it, and a provider the file. */
START_TEST(page_a_name_is_listed_as_a_lookup_finds_it)
{
	static DAT_PROVIDER table = { .device_name = "two" };
	DAT_PROVIDER_INFO info = { .ia_name = "two", .dapl_version_major = 1 };
	DAT_EVD_HANDLE async = NO_HANDLE;
	static char emu1[] = "emu1";
	DAT_IA_HANDLE ia;

	conf_text("emu1 u1.1 nonthreadsafe nondefault \"\" dapl.1.2 emu0 \"\"\n"
		  "emu1 u1.1 threadsafe default \"\" dapl.1.2 emu0 \"\"\n"
		  "two u1.2 threadsafe default libother.so dapl.1.2 \"\" \"\"\n");
	ck_assert_uint_eq(listed_as("emu1")->dapl_version_minor, 1);
	ck_assert_int_eq(listed_as("emu1")->is_thread_safe, DAT_TRUE);
	must_fail(dat_ia_openv(emu1, 8, &async, &ia, 1, 2, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
		  DAT_MINOR_NOT_FOUND);
	ck_assert_int_eq(listed_as("two")->is_thread_safe, DAT_TRUE);
	must(dat_registry_add_provider(&table, &info));
	ck_assert_int_eq(listed_as("two")->is_thread_safe, DAT_FALSE);
	ck_assert_uint_eq(listed_as("two")->dapl_version_minor, 0);
	must(dat_registry_remove_provider(&table, &info));
}
END_TEST

START_TEST(page_a_name_of_the_file_cannot_be_registered_over)
{
	static DAT_PROVIDER table;
	DAT_PROVIDER_INFO info = { .ia_name = "good0", .dapl_version_major = 1 };

	conf_text(GOOD);
	must_fail(dat_registry_add_provider(&table, &info), DAT_PROVIDER_ALREADY_REGISTERED,
		  DAT_NO_SUBTYPE);
	strcpy(info.ia_name, "emu0");
	must_fail(dat_registry_add_provider(&table, &info), DAT_PROVIDER_ALREADY_REGISTERED,
		  DAT_NO_SUBTYPE);
}
END_TEST

START_TEST(page_a_file_that_was_written_to_is_read_again)
{
	const char *said;
	FILE *file;

	conf_text(GOOD);
	must(open_and_close("good0", &said));
	must_fail(open_and_close("later0", &said), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	file = fopen(conf_path(), "a");
	fputs("later0 u1.2 nonthreadsafe default \"\" dapl.1.2 emu0 \"\"\n", file);
	fclose(file);
	must(open_and_close("later0", &said));
}
END_TEST

START_TEST(page_a_name_that_is_nowhere_is_told_with_the_file)
{
	const char *said;
	char text[200];

	conf_text(GOOD "bad0 u1.2 nonthreadsafe default \"\" dapl.1.2 none7 \"\"\n");
	must_fail(open_and_close("other0", &said), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ck_assert_said(said, "there is no adapter \"other0\"");
	snprintf(text, sizeof(text), "%s has no line for adapter \"other0\" either", conf_path());
	ck_assert_said(said, text);
	must_fail(open_and_close("bad0", &said), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ck_assert_said(said, "there is no adapter \"none7\"");
	snprintf(text, sizeof(text), "%s says that adapter \"bad0\" is \"none7\"", conf_path());
	ck_assert_said(said, text);
}
END_TEST

/* ---- bad lines ---- */

static const struct {
	const char *line, *said;
} bad_lines[] = {
	{ "x", "field 2, API version: expected u or k and a version, such as u1.2, found the end" },
	{ "x # u1.2", "field 2, API version: expected" },
	{ "x 1.2 threadsafe default l a.1.2 \"\"", "field 2, API version: expected u or k" },
	{ "x u1 threadsafe default l a.1.2 \"\"", "such as u1.2, found \"u1\"" },
	{ "x u1.2.3 threadsafe default l a.1.2 \"\"", "found \"u1.2.3\"" },
	{ "x u1.99999999999999999999 threadsafe default l a.1.2 \"\"", "found \"u1.9999999999" },
	{ "x u-1.2 threadsafe default l a.1.2 \"\"", "found \"u-1.2\"" },
	{ "x u1.2 maybe default l a.1.2 \"\"",
	  "field 3, thread safety: expected threadsafe or nonthreadsafe, found \"maybe\"" },
	{ "x u1.2 \"threadsafe \" default l a.1.2 \"\"", "found \"threadsafe \"" },
	{ "x u1.2 threadsafe l a.1.2 \"\"",
	  "field 4, default or not: expected default or nondefault, found \"l\"" },
	{ "x u1.2 threadsafe default",
	  "field 5, library: expected a library, or \"\" for this one" },
	{ "x u1.2 threadsafe default l dapl \"\"", "field 6, provider version: expected company" },
	{ "x u1.2 threadsafe default l .1.2 \"\"", "found \".1.2\"" },
	{ "x u1.2 threadsafe default l a.1 \"\"", "found \"a.1\"" },
	{ "x u1.2 threadsafe default l a.1.2", "field 7, instance data: expected a string" },
	{ "x u1.2 threadsafe default l a.1.2 \"\" \"\" more",
	  "field 9, one too many: expected no more" },
	{ "x u1.2 threadsafe default l a.1.2 \"open",
	  "field 7, instance data: expected a closing quote" },
	{ "x u1.2 threadsafe default l a.1.2 \"a\\\"", "expected a closing quote, found \"\"a" },
	{ "x u1.2 threadsafe default l a.1.2 \"a\"b", "expected a blank behind the closing quote" },
	{ "x u1.2 threadsafe default l a.1.2 a\"b\"", "expected a blank before the opening quote" },
	{ "\"\" u1.2 threadsafe default l a.1.2 \"\"", "field 1, adapter name: expected 1 to 255" },
	{ "\"a\x1b[2J\" u1.2 threadsafe default l a.1.2 \"\"", "found \"a?[2J\"" },
	{ "x u1.2 threadsafe default libdat.so.1 a.1.2 \"\"",
	  "field 7, instance data: expected the name of one adapter of this library, "
	  "such as emu0" },
	{ "x u1.2 threadsafe default libdat.so.1 a.1.2 \"emu0 0\"", "found \"emu0 0\"" },
	{ "\"", "field 1, adapter name: expected a closing quote" },
};

START_TEST(page_a_bad_line_is_reported_with_its_place_and_skipped)
{
	const char *said;
	char place[100];

	conf_text("\n# one\n%s\n" GOOD, bad_lines[_i].line);
	must(open_and_close("good0", &said));
	snprintf(place, sizeof(place), "libdat: %s:3: field ", conf_path());
	ck_assert_said(said, place);
	ck_assert_said(said, bad_lines[_i].said);
	ck_assert_said(said, "; the line is skipped: correct it or remove it\n");
	ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
	expect_counts(1, 1);
	must_fail(open_and_close("x", &said), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}
END_TEST

START_TEST(page_a_bad_line_is_reported_once)
{
	const char *said;

	conf_text("x\n" GOOD);
	must(open_and_close("good0", &said));
	ck_assert_str_ne(said, "");
	must(open_and_close("good0", &said));
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(page_many_bad_lines_are_counted)
{
	char text[3001];
	const char *said;

	memset(text, '\n', sizeof(text));
	for (size_t i = 0; i < 1000; i++)
		text[3 * i] = 'x';
	text[3000] = '\0';
	conf_text("%s", text);
	must(open_and_close("emu0", &said));
	ck_assert_said(said, "980 more malformed lines are skipped");
	ck_assert_uint_lt(strlen(said), 10000);
	expect_counts(0, 1000);
}
END_TEST

START_TEST(G3_a_NUL_byte_spoils_its_line_only)
{
	static const char text[] = "x u1.2\0 threadsafe\n" GOOD;
	const char *said;

	conf_write(text, sizeof(text) - 1);
	must(open_and_close("good0", &said));
	ck_assert_said(said, ":1: field 1, adapter name: expected a line without NUL bytes");
	expect_counts(1, 1);
}
END_TEST

START_TEST(G3_a_name_of_255_characters_is_the_longest)
{
	char name[DAT_NAME_MAX_LENGTH + 1] = "";
	const char *said;

	memset(name, 'n', DAT_NAME_MAX_LENGTH - 1);
	conf_text("%s u1.2 nonthreadsafe default \"\" dapl.1.2 emu0 \"\"", name);
	must(open_and_close(name, &said));
	ck_assert_str_eq(said, "");
	name[DAT_NAME_MAX_LENGTH - 1] = 'n';
	conf_text("%s u1.2 nonthreadsafe default \"\" dapl.1.2 emu0 \"\"\n" GOOD, name);
	must(open_and_close("good0", &said));
	ck_assert_said(said, "expected 1 to 255 printable characters, found \"nnnnnn");
	ck_assert_said(said, "nnn\"...; the line is skipped");
	expect_counts(1, 1);
}
END_TEST

static void setup_conf(void)
{
	conf_clear();
	setup_fabric();
}

static void fill(Suite *suite)
{
	unit_add(suite, G10_any_name_can_be_an_adapter_of_ours, 11, setup_conf);
	unit_add(suite, G10_the_adapter_behind_the_name_tells_its_own, 1, setup_conf);
	unit_add(suite, G7_a_name_of_ours_serves_both_thread_safeties, 1, setup_conf);
	unit_add(suite, G10_a_name_may_be_one_of_ours_itself, 1, setup_conf);
	unit_add(suite, page_a_version_that_no_line_serves_is_named, 9, setup_conf);
	unit_add(suite, page_default_lines_come_first, 1, setup_conf);
	unit_add(suite, page_the_names_are_listed_each_once, 1, setup_conf);
	unit_add(suite, page_a_name_is_listed_as_a_lookup_finds_it, 1, setup_conf);
	unit_add(suite, page_a_name_of_the_file_cannot_be_registered_over, 1, setup_conf);
	unit_add(suite, page_a_name_that_is_nowhere_is_told_with_the_file, 1, setup_conf);
	unit_add(suite, page_a_file_that_was_written_to_is_read_again, 1, setup_conf);
	unit_add(suite, page_a_bad_line_is_reported_with_its_place_and_skipped,
		 (int)COUNT(bad_lines), setup_conf);
	unit_add(suite, page_a_bad_line_is_reported_once, 1, setup_conf);
	unit_add(suite, page_many_bad_lines_are_counted, 1, setup_conf);
	unit_add(suite, G3_a_NUL_byte_spoils_its_line_only, 1, setup_conf);
	unit_add(suite, G3_a_name_of_255_characters_is_the_longest, 1, setup_conf);
}

UNIT_SUITE("dat_conf")
