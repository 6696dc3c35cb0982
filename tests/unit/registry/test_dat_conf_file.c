/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are not a dat.conf, and malformed texts: rulings E11, G3. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/registry/dat_conf.h"
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

/* ---- files ---- */

static void expect_unreadable(const char *why)
{
	DAT_PROVIDER_INFO info, *list[] = { &info };
	const char *said, *path = "untouched";
	DAT_COUNT n = -77;

	must_fail(open_and_close("emu0", &said), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ck_assert_said(said, "libdat: DAT_OVERRIDE=");
	ck_assert_said(said, why);
	ck_assert_said(said, "name a dat.conf that can be read, or unset it");
	said_start();
	must_fail(dat_registry_list_providers(1, &n, list), DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	must_fail(dat_sim_dat_conf(&path, &n, &n), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	said_stop();
	ck_assert_int_eq(n, -77);
	ck_assert_str_eq(path, "untouched");
}

START_TEST(E11_a_DAT_OVERRIDE_that_cannot_be_read_is_an_error)
{
	static const struct {
		const char *path, *why;
	} bad[] = {
		{ "", "No such file" },
		{ "/nonexistent/dat.conf", "No such file" },
		{ "/", "Is a directory" },
		{ "/dev/zero", "not a file" },
		{ "/dev/tty", "DAT_OVERRIDE=/dev/tty: " },
	};

	conf_name(bad[_i].path);
	expect_unreadable(bad[_i].why);
}
END_TEST

START_TEST(E11_a_pipe_is_not_waited_for)
{
	char path[64];
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	conf_name(path);
	expect_unreadable("not a file");
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(E11_a_file_without_permission_is_an_error)
{
	if (geteuid() == 0)
		return; /* root may read all files */
	conf_text(GOOD);
	ck_assert_int_eq(chmod(conf_path(), 0), 0);
	expect_unreadable("Permission denied");
}
END_TEST

START_TEST(E11_a_file_too_large_to_be_one_is_an_error)
{
	conf_text(GOOD);
	ck_assert_int_eq(truncate(conf_path(), 17 << 20), 0);
	expect_unreadable("File too large");
}
END_TEST

START_TEST(E11_an_error_ends_with_its_cause)
{
	const char *said;

	conf_name("/nonexistent/dat.conf");
	expect_unreadable("No such file");
	conf_text(GOOD);
	must(open_and_close("good0", &said));
	conf_name("/nonexistent/dat.conf");
	expect_unreadable("No such file");
}
END_TEST

START_TEST(E11_no_file_is_no_error_where_none_was_asked_for)
{
	const char *said, *path = "untouched";
	DAT_COUNT n = -1, skipped = -1;

	if (access("/etc/dat.conf", F_OK) == 0)
		return; /* this machine has a dat.conf of its own */
	unsetenv("DAT_OVERRIDE");
	must(open_and_close("emu0", &said));
	ck_assert_str_eq(said, "");
	must(dat_sim_dat_conf(&path, &n, &skipped));
	ck_assert_ptr_null(path);
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(skipped, 0);
	must_fail(dat_sim_dat_conf(NULL, &n, &skipped), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	must_fail(dat_sim_dat_conf(&path, NULL, &skipped), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_dat_conf(&path, &n, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}
END_TEST

/* A file that cannot be opened now may name the adapter, so no other is taken for it. */
START_TEST(E11_a_default_file_is_not_skipped_for_lack_of_descriptors)
{
	DAT_COUNT n = -77, skipped = -77;
	const char *said, *path = NULL;
	struct rlimit before;

	conf_text(GOOD);
	expect_counts(1, 0); /* so that the default is not what was read last */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	unsetenv("DAT_OVERRIDE");
	said_start();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, before.rlim_max }), 0);
	must_fail(dat_sim_dat_conf(&path, &n, &skipped), DAT_PROVIDER_NOT_FOUND,
		  DAT_NAME_NOT_REGISTERED);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	said = said_stop();
	ck_assert_said(said, "libdat: /etc/dat.conf: Too many open files; it has to be read ");
	ck_assert_int_eq(n, -77);
}
END_TEST

static int fail_copy; /* this copy of the file's path fails, counted from 1; 0: none */

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	if (fail_copy > 0 && strcmp(text, conf_path()) == 0 && --fail_copy == 0) {
		errno = ENOMEM;
		return NULL;
	}
	return __real_strdup(text);
}

/* One copy belongs to what was read, the other one tells whether to read it again. */
START_TEST(E11_a_file_whose_path_cannot_be_kept_is_not_used)
{
	const char *said;

	conf_text(GOOD);
	fail_copy = 1 + _i;
	must_fail(open_and_close("good0", &said), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	ck_assert_int_eq(fail_copy, 0);
	must(open_and_close("good0", &said));
	expect_counts(1, 0);
}
END_TEST

START_TEST(E11_an_empty_file_says_nothing)
{
	const char *said;

	conf_write("", 0);
	must(open_and_close("emu0", &said));
	ck_assert_str_eq(said, "");
	expect_counts(0, 0);
}
END_TEST

/* The byte after the text is not part of it, whatever it is. */
START_TEST(E11_a_quote_behind_the_end_of_a_text_closes_nothing)
{
	static const char line[] = "name u1.2 nonthreadsafe default \"library\\\" # \"\"";
	size_t length = (size_t)(strchr(line, '\\') + 1 - line);
	struct dat_conf *conf;
	char text[sizeof(line)];
	const char *said;

	memcpy(text, line, sizeof(line));
	said_start();
	conf = dat_conf_parse("x", text, length);
	said = said_stop();
	ck_assert_ptr_nonnull(conf);
	ck_assert_int_eq(conf->skipped, 1);
	ck_assert_said(said, "a closing quote");
	dat_conf_free(conf);
}
END_TEST

/* ---- random texts ---- */

static uint64_t seed;

static unsigned int chance(unsigned int n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % n;
}

/* Each line is an entry, an error, empty or a comment; entries stay within their bounds. */
static void parse_and_check(char *text, size_t length)
{
	struct dat_conf_entry *entry;
	struct dat_conf *conf;
	int lines = 1, entries = 0;
	size_t i;

	for (i = 0; i < length; i++)
		lines += text[i] == '\n';
	conf = dat_conf_parse("random", text, length);
	ck_assert_ptr_nonnull(conf);
	ck_assert_int_le(conf->lines + conf->skipped, lines);
	TAILQ_FOREACH(entry, &conf->entries, link) {
		entries++;
		ck_assert_uint_lt(strlen(entry->info.ia_name), DAT_NAME_MAX_LENGTH);
		ck_assert_uint_gt(strlen(entry->info.ia_name), 0);
		ck_assert_uint_le(strlen(entry->library) + strlen(entry->instance_data), length);
		ck_assert(entry->info.is_thread_safe == DAT_TRUE ||
			  entry->info.is_thread_safe == DAT_FALSE);
	}
	ck_assert_int_le(entries, conf->lines);
	dat_conf_free(conf);
}

START_TEST(G3_random_bytes_are_no_danger)
{
	static const char alphabet[] = "\"\\# \t\n\ru1.2k.x\"\" ";
	size_t length, i;
	char *text;

	seed = (uint64_t)_i + 1;
	said_start();
	for (int round = 0; round < 300; round++) {
		length = chance(400);
		text = malloc(length + 1); /* exact: a checker sees each access beyond it */
		for (i = 0; i < length; i++)
			text[i] = _i % 2 ? (char)chance(256)
					 : alphabet[chance(sizeof(alphabet) - 1)];
		parse_and_check(text, length);
		free(text);
	}
	said_stop();
}
END_TEST

START_TEST(G3_changed_lines_are_no_danger)
{
	static const char line[] = "\"a b\" u1.2 threadsafe default \"/lib/x y.so\" dapl.1.2 "
				   "\"d\\\"a \\\\ta\" \"p\" # c\n" GOOD;
	char *text;

	seed = (uint64_t)_i + 100;
	said_start();
	for (int round = 0; round < 1000; round++) {
		size_t length = sizeof(line) - 1;

		text = malloc(length + 1);
		memcpy(text, line, length);
		for (unsigned int n = chance(4); n > 0; n--)
			text[chance((unsigned int)length)] = (char)chance(256);
		length -= chance((unsigned int)length);
		text = realloc(text, length + 1);
		parse_and_check(text, length);
		free(text);
	}
	said_stop();
}
END_TEST

START_TEST(page_quotes_and_backslashes)
{
	char text[] = "a u1.2 threadsafe default \"l\\\"i\\\\b\\c\" dapl.1.2 \"\\\\\\\"#x y\" \"\"";
	struct dat_conf *conf = dat_conf_parse("text", text, sizeof(text) - 1);
	struct dat_conf_entry *entry = TAILQ_FIRST(&conf->entries);

	ck_assert_ptr_nonnull(entry);
	ck_assert_str_eq(entry->library, "l\"i\\b\\c");
	ck_assert_str_eq(entry->instance_data, "\\\"#x y");
	ck_assert_uint_eq(entry->line, 1);
	dat_conf_free(conf);
}
END_TEST

/* A field of a megabyte is not truncated. */
START_TEST(G3_very_long_lines_are_read_whole)
{
	const size_t size = 1 << 20;
	char *text = malloc(size + 200);
	struct dat_conf *conf;
	size_t length;

	strcpy(text, "a u1.2 threadsafe default lib dapl.1.2 ");
	length = strlen(text);
	memset(text + length, 'd', size);
	length += size;
	conf = dat_conf_parse("text", text, length);
	ck_assert_ptr_nonnull(TAILQ_FIRST(&conf->entries));
	ck_assert_uint_eq(strlen(TAILQ_FIRST(&conf->entries)->instance_data), size);
	dat_conf_free(conf);
	free(text);
}
END_TEST

static void setup_conf(void)
{
	conf_clear();
	setup_fabric();
}

static void fill(Suite *suite)
{
	unit_add(suite, E11_a_DAT_OVERRIDE_that_cannot_be_read_is_an_error, 5, setup_conf);
	unit_add(suite, E11_a_pipe_is_not_waited_for, 1, setup_conf);
	unit_add(suite, E11_a_file_without_permission_is_an_error, 1, setup_conf);
	unit_add(suite, E11_a_file_too_large_to_be_one_is_an_error, 1, setup_conf);
	unit_add(suite, E11_an_error_ends_with_its_cause, 1, setup_conf);
	unit_add(suite, E11_no_file_is_no_error_where_none_was_asked_for, 1, setup_conf);
	unit_add(suite, E11_a_default_file_is_not_skipped_for_lack_of_descriptors, 1, setup_conf);
	unit_add(suite, E11_a_file_whose_path_cannot_be_kept_is_not_used, 2, setup_conf);
	unit_add(suite, E11_a_quote_behind_the_end_of_a_text_closes_nothing, 1, setup_conf);
	unit_add(suite, E11_an_empty_file_says_nothing, 1, setup_conf);
	unit_add(suite, G3_random_bytes_are_no_danger, 6, setup_conf);
	unit_add(suite, G3_changed_lines_are_no_danger, 4, setup_conf);
	unit_add(suite, page_quotes_and_backslashes, 1, setup_conf);
	unit_add(suite, G3_very_long_lines_are_read_whole, 1, setup_conf);
}

UNIT_SUITE("dat_conf_file")
