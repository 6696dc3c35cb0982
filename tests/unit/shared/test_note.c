/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes in the trace of a fabric, from a process that takes no part; "page_": dat_sim(3). */
#include <string.h>

#include "tests/support/runtime.h"
#include "tests/support/support.h"

static char fabric[] = "noted";
static void *reader;

static void make_fabric(DAT_BOOLEAN trace)
{
	DAT_SIM_CONFIG config;

	runtime_begin("note");
	must(dat_sim_config_init(&config));
	config.trace = trace;
	must(dat_sim_fabric_create(fabric, &config));
}

static void end_fabric(void)
{
	const char *text;
	size_t length;

	must(dat_sim_fabric_trace(NULL, &reader, &text, &length));
	must(dat_sim_fabric_destroy(fabric));
	runtime_end();
}

/* The lines that have come since the last call; the library's text has no NUL. */
static const char *lines_since(void)
{
	static char lines[4096];
	const char *text;
	size_t length;

	must(dat_sim_fabric_trace(fabric, &reader, &text, &length));
	ck_assert_uint_lt(length, sizeof(lines));
	memcpy(lines, text, length);
	lines[length] = '\0';
	return lines;
}

START_TEST(page_a_note_is_a_line_of_the_trace)
{
	char text[600], line[600];

	make_fabric(DAT_TRUE);
	lines_since();
	must(dat_sim_fabric_note(fabric, "here\nand\tthere \x7f%s"));
	ck_assert_str_eq(lines_since(), "0 - note here and there  %s\n");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	must(dat_sim_fabric_note(fabric, text));
	snprintf(line, sizeof(line), "0 - note %.511s\n", text);
	ck_assert_str_eq(lines_since(), line);
	end_fabric();
}
END_TEST

START_TEST(page_a_fabric_without_a_trace_takes_no_note)
{
	make_fabric(DAT_FALSE);
	must(dat_sim_fabric_note(fabric, "here"));
	ck_assert_ptr_null(strstr(lines_since(), "here"));
	end_fabric();
}
END_TEST

START_TEST(page_a_note_for_no_fabric_or_without_a_text_is_refused)
{
	make_fabric(DAT_TRUE);
	lines_since();
	must_fail(dat_sim_fabric_note(NULL, "here"), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	must_fail(dat_sim_fabric_note(fabric, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_fabric_note("none", "here"), DAT_PROVIDER_NOT_FOUND, ANY_SUBTYPE);
	must_fail(dat_sim_fabric_note("../x", "here"), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	ck_assert_str_eq(lines_since(), "");
	end_fabric();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, page_a_note_is_a_line_of_the_trace, 1, NULL);
	unit_add(suite, page_a_fabric_without_a_trace_takes_no_note, 1, NULL);
	unit_add(suite, page_a_note_for_no_fabric_or_without_a_text_is_refused, 1, NULL);
}

UNIT_SUITE_OF_PROCESSES("notes about a fabric")
