/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What datsim explore says of a short failure: which words of its lines may be others, in which
 * ranges its numbers may be. What fails is said by a function here, so that each sentence is looked
 * at alone, and its limits are known.
 */
#include "tests/support/support.h"
#include "tools/datsim/story/explain.h"
#include "tools/datsim/util.h"

#include <stdlib.h>

#define LINES_MOST 4
#define SPAN_US    100

/* It fails with these limits. */
struct limits {
	const char *line;  /* a part of the script that it needs */
	unsigned long nth; /* up to that packet, or from= up to that time */
	const char *name;  /* of a number between these two; NULL: none */
	unsigned long least, most;
	unsigned long seeds; /* up to that one */
	int asked;
};

static unsigned long number_of(const char *script, const char *name, unsigned long usual)
{
	const char *at = strstr(script, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : usual;
}

static bool limits_hold(const struct lines *lines, void *ctx)
{
	struct limits *limits = ctx;
	struct text text = { 0 };
	unsigned long value;
	bool fails;

	limits->asked++;
	lines_join(lines, true, &text);
	fails = strstr(text_of(&text), limits->line) != NULL &&
		(strstr(text_of(&text), "drop") || strstr(text_of(&text), "corrupt") ||
		 limits->name) &&
		number_of(text_of(&text), "nth=", 1) <= limits->nth &&
		number_of(text_of(&text), "from=", 0) <= limits->nth &&
		number_of(text_of(&text), "seed=", 1) <= limits->seeds;
	if (fails && limits->name) {
		value = number_of(text_of(&text), limits->name, 0);
		fails = value >= limits->least && value <= limits->most;
	}
	text_free(&text);
	return fails;
}

/* Explains a script, in which a line of a fault begins with '!'; the lines are as before then. */
static void explains(struct limits limits, int most, bool seeds, const char *const *script,
		     const char *expected)
{
	struct lines lines = { .line = mem_zero(LINES_MOST, sizeof(*lines.line)) };
	struct plan plan = { .links = { "a>b", "b>a" }, .link_count = 2, .span_us = SPAN_US };
	struct explaining explaining = { .lines = &lines,
					 .fails = limits_hold,
					 .ctx = &limits,
					 .plan = &plan,
					 .tries_most = most,
					 .seeds = seeds };
	struct text text = { 0 }, before = { 0 }, after = { 0 };

	for (; *script; script++) {
		lines.line[lines.count].kind = **script == '!' ? LINE_FAULT : LINE_SCRIPT;
		lines.line[lines.count++].text = strdup(*script + (**script == '!'));
	}
	lines_join(&lines, true, &before);
	explain_lines(&explaining, &text);
	lines_join(&lines, true, &after);
	ck_assert_str_eq(text_of(&after), text_of(&before));
	ck_assert_str_eq(text_of(&text), expected);
	ck_assert_int_eq(explaining.tries, limits.asked);
	ck_assert_int_le(limits.asked, most);
	text_free(&text);
	text_free(&before);
	text_free(&after);
	lines_free(&lines);
}

#define SCRIPT(...) ((const char *const[]){ __VA_ARGS__, NULL })

START_TEST(other_words_of_a_line_do_it_or_do_not)
{
	explains(
		(struct limits){ .line = "link a>b", .nth = 3, .seeds = 1 }, 60, false,
		SCRIPT("set-up", "!fault link a>b drop opcode=ACK nth=1"),
		"what it takes, by 18 more runs:\n"
		"  line 2: in place of drop, corrupt does it, too; duplicate does not\n"
		"  line 2: in place of nth=1, nth=2, nth=3 do it, too; nth=4, nth=5, nth=6 do not\n"
		"  line 2: the first one from any time up to 3us on does it; from 4us on it does "
		"not\n"
		"  line 2: in place of ACK, SEND, WRITE, READ_RESPONSE do it, too\n"
		"  line 2: in place of a>b, b>a does not do it\n");
}
END_TEST

START_TEST(lines_that_are_no_faults_are_left_alone)
{
	explains((struct limits){ .line = "drop", .nth = 1, .seeds = 1 }, 60, false,
		 SCRIPT("fault link a>b drop nth=1", "delay 3us"),
		 "what it takes, by 0 more runs:\n");
}
END_TEST

/* Both ends of the range, and what is beyond each of them. */
START_TEST(numbers_may_be_in_a_range)
{
	explains(
		(struct limits){ .line = "a>b",
				 .nth = 1,
				 .seeds = 1,
				 .name = "delay ",
				 .least = 37,
				 .most = 70 },
		60, false, SCRIPT("!fault link a>b delay 40us"),
		"what it takes, by 8 more runs:\n"
		"  line 1: in place of a>b, b>a does not do it\n"
		"  line 1: any delay from 40us to 70us does it; 35us does not and 75us does not\n");
	/* Nothing is between the two: no run is needed to say so. */
	explains((struct limits){ .line = "kill",
				  .nth = 1,
				  .seeds = 1,
				  .name = "at ",
				  .least = 3,
				  .most = 4 },
		 60, false, SCRIPT("!fault kill b at 3us"),
		 "what it takes, by 5 more runs:\n"
		 "  line 1: any at from 3us to 4us does it; 2us does not and 5us does not\n");
	explains((struct limits){ .line = "kill",
				  .nth = 1,
				  .seeds = 1,
				  .name = "at ",
				  .least = 0,
				  .most = 100000 },
		 60, false, SCRIPT("!fault kill b at 4ns"),
		 "what it takes, by 7 more runs:\n"
		 "  line 1: any at from 1ns to 128ns does it\n");
}
END_TEST

START_TEST(the_seed_matters_or_does_not)
{
	explains((struct limits){ .line = "x", .nth = 1, .seeds = 9, .name = "x", .most = 9 }, 60,
		 true, SCRIPT("!x"),
		 "what it takes, by 5 more runs:\n"
		 "  the seed does not matter: seed=2, seed=3, seed=4, seed=5, seed=6 do it, too\n");
	explains((struct limits){ .line = "x", .nth = 1, .seeds = 5, .name = "x", .most = 9 }, 60,
		 true, SCRIPT("!x"),
		 "what it takes, by 5 more runs:\n"
		 "  the seed matters: of 5 others, 4 do it, too\n");
	explains((struct limits){ .line = "x", .nth = 1, .seeds = 3, .name = "x", .most = 9 }, 60,
		 true, SCRIPT("!x"),
		 "what it takes, by 5 more runs:\n"
		 "  the seed matters: of 5 others, 2 do it, too\n");
	explains((struct limits){ .line = "x", .nth = 1, .seeds = 2, .name = "x", .most = 9 }, 60,
		 true, SCRIPT("!x"),
		 "what it takes, by 5 more runs:\n"
		 "  the seed matters: of 5 others, 1 does it, too\n");
}
END_TEST

/* What could not be tried is not told. */
START_TEST(there_is_a_limit_of_runs)
{
	explains((struct limits){ .line = "link a>b", .nth = 3, .seeds = 9 }, 3, true,
		 SCRIPT("!fault link a>b drop opcode=ACK nth=1 delay 7us"),
		 "what it takes, by 3 more runs:\n"
		 "  line 1: in place of drop, corrupt does it, too; duplicate does not\n"
		 "  line 1: in place of nth=1, nth=2 does it, too\n");
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, other_words_of_a_line_do_it_or_do_not);
	unit_test_bare(suite, lines_that_are_no_faults_are_left_alone);
	unit_test_bare(suite, numbers_may_be_in_a_range);
	unit_test_bare(suite, the_seed_matters_or_does_not);
	unit_test_bare(suite, there_is_a_limit_of_runs);
}

UNIT_SUITE("explain")
