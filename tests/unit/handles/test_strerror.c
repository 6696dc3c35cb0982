/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_strerror: an own text for each type and subtype of <dat/dat_error.h>. Rulings G1, G3, G5.
 */
#include <stdlib.h>

#include "tests/support/support.h"

enum {
	LAST_SUBTYPE = DAT_INVALID_RO_COOKIE
};

/* The types are 0x0000 .. 0x0014 in the upper half, and DAT_NOT_IMPLEMENTED. */
enum {
	LAST_TYPE = 0x14,
	TYPES = LAST_TYPE + 2
};

static DAT_UINT32 type(int i)
{
	return i <= LAST_TYPE ? (DAT_UINT32)i << 16 : (DAT_UINT32)DAT_NOT_IMPLEMENTED;
}

static void texts(DAT_RETURN ret, const char **major, const char **minor)
{
	DAT_RETURN status;

	*major = *minor = NULL;
	status = dat_strerror(ret, major, minor);
	ck_assert_msg(status == DAT_SUCCESS, "dat_strerror(%#x) gave %#x", ret, status);
	ck_assert_ptr_nonnull(*major);
	ck_assert_ptr_nonnull(*minor);
	ck_assert_uint_gt(strlen(*major), 0);
}

START_TEST(G1_every_type_has_a_text_of_its_own)
{
	const char *major[TYPES], *minor;
	int i, j;

	for (i = 0; i < TYPES; i++) {
		texts((i ? DAT_CLASS_ERROR : 0) | type(i), &major[i], &minor);
		for (j = 0; j < i; j++)
			ck_assert_str_ne(major[i], major[j]);
	}
}
END_TEST

START_TEST(G1_every_subtype_has_a_text_of_its_own)
{
	const char *major, *minor[LAST_SUBTYPE + 1];
	int i, j;

	for (i = 0; i <= LAST_SUBTYPE; i++) {
		texts(DAT_CLASS_ERROR | DAT_INVALID_STATE | (DAT_UINT32)i, &major, &minor[i]);
		ck_assert_uint_gt(strlen(minor[i]), 0);
		for (j = 0; j < i; j++)
			ck_assert_str_ne(minor[i], minor[j]);
	}
}
END_TEST

START_TEST(G1_every_type_goes_with_every_subtype)
{
	const char *major, *minor;
	int i, j;

	for (i = 1; i < TYPES; i++)
		for (j = 0; j <= LAST_SUBTYPE; j++)
			texts(DAT_CLASS_ERROR | type(i) | (DAT_UINT32)j, &major, &minor);
}
END_TEST

START_TEST(page_success_has_texts)
{
	const char *major, *minor;

	texts(DAT_SUCCESS, &major, &minor);
}
END_TEST

START_TEST(G1_a_bare_DAT_QUEUE_EMPTY_has_the_same_text_as_with_its_class)
{
	const char *bare, *full, *minor;

	texts(DAT_QUEUE_EMPTY, &bare, &minor);
	texts(DAT_CLASS_ERROR | DAT_QUEUE_EMPTY, &full, &minor);
	ck_assert_str_eq(bare, full);
}
END_TEST

START_TEST(page_undefined_values_are_an_invalid_parameter)
{
	static const DAT_UINT32 bad[] = {
		DAT_CLASS_ERROR | 0x00150000,
		DAT_CLASS_ERROR | 0x3fff0000,
		DAT_CLASS_ERROR | 0x0ffe0000,
		DAT_CLASS_ERROR | DAT_INVALID_STATE | (LAST_SUBTYPE + 1),
		DAT_CLASS_ERROR | DAT_INVALID_STATE | 0xffff,
		0x00150000,
	};
	const char *major = "untouched", *minor = "untouched";

	must_fail(dat_strerror(bad[_i], &major, &minor), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	ck_assert_str_eq(major, "untouched");
	ck_assert_str_eq(minor, "untouched");
}
END_TEST

START_TEST(G3_NULL_outputs_are_an_invalid_parameter)
{
	const char *text = "untouched";

	must_fail(dat_strerror(DAT_SUCCESS, NULL, &text), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_strerror(DAT_SUCCESS, &text, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ck_assert_str_eq(text, "untouched");
}
END_TEST

START_TEST(page_the_texts_are_constants)
{
	const char *first, *second, *minor;

	texts(DAT_CLASS_ERROR | DAT_INVALID_STATE, &first, &minor);
	texts(DAT_CLASS_ERROR | DAT_INVALID_HANDLE, &second, &minor);
	texts(DAT_CLASS_ERROR | DAT_INVALID_STATE, &second, &minor);
	ck_assert_str_eq(first, second);
}
END_TEST

/* ---- every value of the headers, and every other ---- */

enum {
	ROWS = 200
};

static struct row {
	char name[64];
	DAT_UINT32 value;
} type_rows[ROWS], subtype_rows[ROWS];

static size_t type_count, subtype_count;

/* The rows of the two enumerations are the first of the table, one after the other. */
static void read_rows(void)
{
	const char *top = getenv("top_srcdir");
	char path[4096], line[256];
	bool subtypes = false, done = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/headers/values.tsv", top ? top : ".");
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s cannot be opened", path);
	type_count = subtype_count = 0;
	while (fgets(line, sizeof(line), file)) {
		struct row row;

		if (sscanf(line, "%63s %x", row.name, &row.value) != 2 || line[0] == '#')
			continue;
		subtypes = subtypes || strcmp(row.name, "DAT_NO_SUBTYPE") == 0;
		if (!subtypes)
			type_rows[type_count++] = row;
		else if (!done || strcmp(row.name, "DAT_INVALID_RO_COOKIE") == 0)
			subtype_rows[subtype_count++] = row;
		done = done || strcmp(row.name, "DAT_THREAD_SAFETY_NOT_FOUND") == 0;
		ck_assert_uint_lt(subtype_count, ROWS);
	}
	fclose(file);
	ck_assert_uint_eq(type_count, TYPES);
	ck_assert_uint_eq(subtype_count, LAST_SUBTYPE + 1);
}

static const struct row *find_row(const struct row *rows, size_t count, DAT_UINT32 value)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].value == value)
			return &rows[i];
	return NULL;
}

static void expect_named(const char *text, const char *name)
{
	size_t length = strlen(name);

	ck_assert_msg(strncmp(text, name, length) == 0 && strncmp(text + length, ": ", 2) == 0 &&
			      text[length + 2],
		      "\"%s\" does not begin with %s and say what it is", text, name);
}

/* Each value has a text that begins with its name; any other type is DAT_INVALID_PARAMETER. */
START_TEST(page_every_type_is_named)
{
	const char *major, *minor;
	DAT_UINT32 value;

	read_rows();
	for (value = 0; value <= DAT_TYPE_MASK; value += 0x10000) {
		const struct row *row = find_row(type_rows, type_count, value);

		if (row) {
			texts((DAT_UINT32)DAT_CLASS_ERROR | value, &major, &minor);
			expect_named(major, row->name);
			texts((DAT_UINT32)DAT_CLASS_WARNING | value, &major, &minor);
			expect_named(major, row->name);
		} else {
			must_fail(dat_strerror((DAT_UINT32)DAT_CLASS_ERROR | value, &major, &minor),
				  DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
		}
		must_fail(dat_strerror(0xc0000000u | value, &major, &minor), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG1);
	}
}
END_TEST

START_TEST(page_every_subtype_is_named)
{
	const char *major, *minor;
	DAT_UINT32 value;

	read_rows();
	for (value = 0; value <= DAT_SUBTYPE_MASK; value++) {
		const struct row *row = find_row(subtype_rows, subtype_count, value);

		if (row) {
			texts((DAT_UINT32)DAT_CLASS_ERROR | DAT_INVALID_STATE | value, &major,
			      &minor);
			expect_named(minor, row->name);
		} else {
			must_fail(dat_strerror((DAT_UINT32)DAT_CLASS_ERROR | DAT_INVALID_STATE |
						       value,
					       &major, &minor),
				  DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
		}
	}
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, G1_every_type_has_a_text_of_its_own);
	unit_test_bare(suite, G1_every_subtype_has_a_text_of_its_own);
	unit_test_bare(suite, G1_every_type_goes_with_every_subtype);
	unit_test_bare(suite, page_success_has_texts);
	unit_test_bare(suite, G1_a_bare_DAT_QUEUE_EMPTY_has_the_same_text_as_with_its_class);
	unit_add(suite, page_undefined_values_are_an_invalid_parameter, 6, setup_fabric);
	unit_test_bare(suite, G3_NULL_outputs_are_an_invalid_parameter);
	unit_test_bare(suite, page_the_texts_are_constants);
	unit_test_bare(suite, page_every_type_is_named);
	unit_test_bare(suite, page_every_subtype_is_named);
}

UNIT_SUITE("strerror")
