/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of scripts: every name of every group is found by its full form, and what is printed
 * for its value means that value. words.tsv has what is printed for some values of each group: a
 * row is printed by this program with the option --print.
 */
#include <stdlib.h>

#include "tests/support/support.h"
#include "tools/datsim/script/values.h"

static const uint64_t values[] = { 0, 1, 2, 3, 5, 0x40000001, 0x800000 };

static void print_value(struct text *text, int id, uint64_t value, bool is_signed)
{
	text_add(text, "\t");
	group_print(text, (enum group_id)id, value, is_signed, sizeof(int));
}

static void print_row(struct text *text, int id)
{
	text_add(text, "%d\t%s", id, group_of((enum group_id)id)->what);
	for (size_t i = 0; i < COUNT(values); i++)
		print_value(text, id, values[i], false);
	print_value(text, id, (uint64_t)-7, true);
	text_add(text, "\n");
}

START_TEST(each_name_is_found_and_printed)
{
	const struct named *named;
	uint64_t value;

	ck_assert_ptr_null(group_of(GROUP_NONE));
	ck_assert(!group_find(GROUP_NONE, "TRUE", 4, &value));
	for (int id = GROUP_NONE + 1; id < NUM_GROUPS; id++) {
		for (named = group_of((enum group_id)id)->names; named->name; named++) {
			struct text text = { 0 };

			value = ~named->value;
			ck_assert(group_find((enum group_id)id, named->name,
					     (int)strlen(named->name), &value));
			ck_assert_uint_eq(value, named->value);
			ck_assert(!group_find((enum group_id)id, named->name,
					      (int)strlen(named->name) - 1, &value) ||
				  value == named->value || id == GROUP_SUBTYPE);
			if (id == GROUP_COUNT)
				continue;
			group_print(&text, (enum group_id)id, named->value, false, 8);
			value = ~named->value;
			ck_assert_msg(group_find((enum group_id)id, text_of(&text),
						 (int)text.length, &value),
				      "%s is no name", text_of(&text));
			ck_assert_msg(value == named->value, "%s is not %s", text_of(&text),
				      named->name);
			text_free(&text);
		}
	}
}
END_TEST

START_TEST(values_are_printed_as_a_script_has_them)
{
	char path[400], line[2000];
	FILE *table;

	snprintf(path, sizeof(path), "%s/tests/objects/words.tsv", getenv("top_srcdir"));
	table = fopen(path, "r");
	ck_assert_ptr_nonnull(table);
	for (int id = GROUP_NONE + 1; id < NUM_GROUPS; id++) {
		struct text text = { 0 };

		ck_assert_ptr_nonnull(fgets(line, sizeof(line), table));
		print_row(&text, id);
		ck_assert_str_eq(text_of(&text), line);
		text_free(&text);
	}
	ck_assert_ptr_null(fgets(line, sizeof(line), table));
	fclose(table);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, each_name_is_found_and_printed, 1, NULL);
	unit_add(suite, values_are_printed_as_a_script_has_them, 1, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[1], "--print") != 0)
		return unit_run("script_words", fill, CK_FORK_GETENV);
	for (int id = GROUP_NONE + 1; id < NUM_GROUPS; id++) {
		struct text text = { 0 };

		print_row(&text, id);
		fputs(text_of(&text), stdout);
		text_free(&text);
	}
	return 0;
}
