/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages about bad scripts: their text, place, and the part of the line that they mark. Each row
 * of mistakes.tsv is a script with one mistake. No adapter is opened.
 */
#include "tests/support/support.h"
#include "tools/datsim/script/script.h"

#include <stdlib.h>

#define USE "use connected a@emu0 b@emu1\n"

enum {
	COLUMNS_MOST = 5,
	ROWS_LEAST = 250,
};

struct row {
	char *line, *place, *marked, *says, *hint;
};

static void cut(char *text, struct row *row)
{
	char **const columns[COLUMNS_MOST] = { &row->line, &row->place, &row->marked, &row->says,
					       &row->hint };

	text[strcspn(text, "\n")] = '\0';
	for (int i = 0; i < COLUMNS_MOST; i++)
		*columns[i] = text ? strsep(&text, "\t") : NULL;
}

static size_t count_marks(const char *text)
{
	const char *end = strchr(text, '\n'), *line = end ? strchr(end + 1, '\n') : NULL;
	size_t n = 0;

	for (line = line ? line + 1 : ""; *line && *line != '\n'; line++)
		n += *line == '^' || *line == '~';
	return n;
}

static void expect_said(const struct row *row, const struct script *script)
{
	const char *said = script->diag.text.s ? script->diag.text.s : "";
	char first[400];

	snprintf(first, sizeof(first), "script:%s: %s\n", row->place, row->says);
	ck_assert_msg(strncmp(said, first, strlen(first)) == 0, "%s\nexpected %sfound    %s",
		      row->line, first, said);
	ck_assert_msg(script->diag.count == 1, "%s\n%s", row->line, said);
	ck_assert_msg(count_marks(said) == (size_t)atoi(row->marked), "%s\n%s", row->line, said);
	ck_assert_msg(!row->hint || strstr(said, row->hint), "%s\n%s", row->line, said);
}

/* The mistake is in front of the line that makes actors, or behind it. */
static void try_row(const struct row *row)
{
	DAT_SIM_CONFIG config;
	struct script script;
	char text[400];

	dat_sim_config_init(&config);
	snprintf(text, sizeof(text), row->place[0] == '1' ? "%2$s\n%1$s" : "%1$s%2$s\n", USE,
		 row->line);
	ck_assert_msg(!script_load(&script, "script", text, strlen(text), &config), "%s",
		      row->line);
	expect_said(row, &script);
	script_free(&script);
}

START_TEST(a_mistake_is_named_and_marked)
{
	char path[400], *text = NULL;
	size_t room = 0;
	struct row row;
	FILE *table;
	int n = 0;

	snprintf(path, sizeof(path), "%s/tests/unit/explore/mistakes.tsv", getenv("top_srcdir"));
	table = fopen(path, "r");
	ck_assert_msg(table != NULL, "%s", path);
	while (getline(&text, &room, table) > 0) {
		if (text[0] == '#')
			continue;
		cut(text, &row);
		ck_assert_msg(row.says != NULL, "line %d of %s", n, path);
		try_row(&row);
		n++;
	}
	ck_assert_int_ge(n, ROWS_LEAST);
	free(text);
	fclose(table);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, a_mistake_is_named_and_marked, 1, setup_nothing);
}

UNIT_SUITE("mistakes in scripts")
