/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How datsim explore shortens a failing script: which failures are the same, which lines and
 * numbers it tries, and that it keeps what the failure needs. What fails is said by a function
 * here, so that each rule is looked at alone.
 */
#include "tests/support/support.h"
#include "tools/datsim/explore/explore.h"
#include "tools/datsim/util.h"

#include <signal.h>
#include <stdlib.h>

#define LINES_MOST 8

/* ---- which failures are the same ---- */

static struct verdict verdict_of(enum exit_code code, int kind, const char *report)
{
	struct verdict verdict = { .code = code, .kind = kind };

	text_append(&verdict.report, report, strlen(report));
	return verdict;
}

/* Is a failure of code 1, kind 2 and title "no event (2 of 3)" the same as that one? */
static bool is_same(enum exit_code code, int kind, const char *report)
{
	struct verdict first =
		verdict_of(EXIT_FAILED, 2, "a.dsim:3: no event (2 of 3)\n  seen: 1\n");
	struct verdict second = verdict_of(code, kind, report);
	bool same = same_failure(&first, &second);

	ck_assert_int_eq(same_failure(&second, &first), same);
	verdict_free(&first);
	verdict_free(&second);
	return same;
}

START_TEST(failures_are_the_same_at_another_line_and_another_count)
{
	ck_assert(is_same(EXIT_FAILED, 2, "b.dsim:14: no event (1 of 3)\n  seen: 7\n"));
	ck_assert(is_same(EXIT_FAILED, 2, "b.dsim:14: no event\n"));
	ck_assert(is_same(EXIT_FAILED, 2, "b.dsim:14: no event"));
}
END_TEST

START_TEST(failures_of_another_kind_code_or_title_are_not_the_same)
{
	ck_assert(!is_same(EXIT_FAILED, 3, "a.dsim:3: no event (2 of 3)\n"));
	ck_assert(!is_same(EXIT_FAILED, -1, "a.dsim:3: no event (2 of 3)\n"));
	ck_assert(!is_same(EXIT_PASS, 2, "a.dsim:3: no event (2 of 3)\n"));
	ck_assert(!is_same(EXIT_FAILED, 2, "a.dsim:3: no evenx (2 of 3)\n"));
	ck_assert(!is_same(EXIT_FAILED, 2, "a.dsim:3: no event at all (2 of 3)\n"));
	ck_assert(!is_same(EXIT_FAILED, 2, "a.dsim:3: no ev\n"));
}
END_TEST

/* ---- what is tried ---- */

/* It fails while all these words are in the script. */
struct needs {
	const char *word[4];
	bool (*more)(const char *script); /* NULL: nothing beside the words */
	int asked;
};

static bool needs_hold(const struct lines *lines, void *ctx)
{
	struct needs *needs = ctx;
	struct text text = { 0 };
	bool fails = true;

	needs->asked++;
	lines_join(lines, true, &text);
	for (int i = 0; i < 4 && needs->word[i]; i++)
		fails &= strstr(text_of(&text), needs->word[i]) != NULL;
	if (fails && needs->more)
		fails = needs->more(text_of(&text));
	text_free(&text);
	return fails;
}

/* Shrinks a script, in which a line of a fault begins with '!', and compares the result. */
static void shrinks_to(struct needs needs, bool words, const char *const *script,
		       const char *expected)
{
	struct lines lines = { .line = mem_zero(LINES_MOST, sizeof(*lines.line)) };
	struct shrinking shrinking = { .lines = &lines,
				       .fails = needs_hold,
				       .ctx = &needs,
				       .words = words };
	struct text text = { 0 };

	for (; *script; script++) {
		ck_assert_uint_lt(lines.count, LINES_MOST);
		lines.line[lines.count].kind = **script == '!' ? LINE_FAULT : LINE_SCRIPT;
		lines.line[lines.count++].text = strdup(*script + (**script == '!'));
	}
	shrink_lines(&shrinking);
	lines_join(&lines, true, &text);
	ck_assert_str_eq(text_of(&text), expected);
	ck_assert_int_eq(shrinking.tries, needs.asked);
	text_free(&text);
	lines_free(&lines);
}

#define SCRIPT(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NEEDS(...)  ((struct needs){ .word = { __VA_ARGS__ } })

START_TEST(what_the_failure_does_not_need_is_dropped)
{
	shrinks_to(NEEDS("b", "e"), false, SCRIPT("a", "b", "!c", "d", "e", "f"), "b\ne\n");
	shrinks_to(NEEDS("a"), false, SCRIPT("a", "b", "!c"), "a\n");
	shrinks_to(NEEDS("c"), false, SCRIPT("a", "b", "!c"), "c\n");
}
END_TEST

/* Neither line can go alone, and one line after the other is tried last. */
static bool pairs_match(const char *script)
{
	return (strstr(script, "open") != NULL) == (strstr(script, "close") != NULL);
}

START_TEST(lines_that_go_only_together_are_tried_together)
{
	struct needs needs = { .word = { "keep" }, .more = pairs_match };

	shrinks_to(needs, false, SCRIPT("keep", "more", "open", "close"), "keep\n");
}
END_TEST

/* As in a script: a release without a hold fails, and a hold without a release blocks traffic. */
static bool holds_match(const char *script)
{
	return (strstr(script, "hold") != NULL) == (strstr(script, "release") != NULL);
}

START_TEST(a_hold_goes_with_its_release)
{
	struct needs needs = { .word = { "keep", "send" }, .more = holds_match };

	shrinks_to(needs, false,
		   SCRIPT("   hold a>b  # now", "keep", "send", "+2us release  a>b", "x"),
		   "keep\nsend\n");
	shrinks_to(needs, false,
		   SCRIPT("hold a.ep message 1 after 2 packets", "keep", "send",
			  "release a.ep message 1"),
		   "keep\nsend\n");
	shrinks_to(needs, false,
		   SCRIPT("for i in 1..3: hold a.ep message $i", "keep", "send",
			  "for i in 1..3: release a.ep message $i"),
		   "keep\nsend\n");
	needs.word[2] = "hold";
	shrinks_to(needs, false, SCRIPT("hold a>b", "keep", "send", "release a>b"),
		   "hold a>b\nkeep\nsend\nrelease a>b\n");
}
END_TEST

/* The failure may need the hold of one of two links. */
static bool needs_one_link(const char *script)
{
	return holds_match(script) && strstr(script, "hold b>a") &&
	       (strstr(script, "hold a>b") != NULL) == (strstr(script, "release a>b") != NULL);
}

START_TEST(each_hold_goes_with_a_release_of_the_same)
{
	struct needs needs = { .word = { "keep", "send", "release b>a" }, .more = needs_one_link };

	shrinks_to(needs, false,
		   SCRIPT("hold a>b", "hold b>a", "keep", "send", "release b>a", "send 2",
			  "release a>b"),
		   "hold b>a\nkeep\nsend\nrelease b>a\n");
}
END_TEST

START_TEST(a_count_becomes_one_or_half_as_long_as_it_fails)
{
	shrinks_to(NEEDS("post x4"), false, SCRIPT("post x4"), "post x4\n");
	shrinks_to(NEEDS("post"), false, SCRIPT("post x64 more"), "post more\n");
	shrinks_to(NEEDS("post"), false, SCRIPT("post x2"), "post\n");
	shrinks_to(NEEDS("post x"), false, SCRIPT("post x64"), "post x2\n");
	shrinks_to(NEEDS("post x"), false, SCRIPT("post x7"), "post x3\n");
	shrinks_to(NEEDS("post x"), false, SCRIPT("post x3"), "post x3\n");
}
END_TEST

START_TEST(other_numbers_of_a_line_that_is_no_fault_stay)
{
	shrinks_to(NEEDS("post"), false, SCRIPT("post 64 size=128 y=x8 # x9"),
		   "post 64 size=128 y=x8 # x9\n");
}
END_TEST

static bool is_late(const char *script)
{
	const char *at = strstr(script, "at=");

	return at && atoi(at + 3) >= 20;
}

START_TEST(numbers_of_a_fault_shrink_after_a_blank_and_after_an_equals_sign)
{
	struct needs late = { .word = { "drop" }, .more = is_late };

	shrinks_to(NEEDS("drop"), false, SCRIPT("!drop 64 nth=9 a7"), "drop 1 nth=1 a7\n");
	shrinks_to(late, false, SCRIPT("!drop at=90 n=5"), "drop at=22 n=1\n");
}
END_TEST

static bool is_optional_with_more(const char *script)
{
	return !strstr(script, "optional") || strstr(script, "more");
}

START_TEST(what_a_word_needed_goes_after_the_word)
{
	struct needs needs = { .word = { "drop" }, .more = is_optional_with_more };

	shrinks_to(needs, true, SCRIPT("!drop optional", "more"), "drop\n");
}
END_TEST

START_TEST(words_of_a_fault_go_if_words_may_go)
{
	const char *const *script = SCRIPT("!drop optional until=7 a", "say optional");

	shrinks_to(NEEDS("drop", "say"), true, script, "drop a\nsay optional\n");
	shrinks_to(NEEDS("drop", "say"), false, script, "drop optional until=1 a\nsay optional\n");
	shrinks_to(NEEDS("drop optional", "say"), true, script, "drop optional a\nsay optional\n");
}
END_TEST

static bool never_fails(const struct lines *lines, void *ctx)
{
	(void)lines;
	++*(int *)ctx;
	return false;
}

START_TEST(one_failure_is_tried_3000_times_at_most)
{
	struct lines lines = { .line = mem_zero(4000, sizeof(*lines.line)), .count = 4000 };
	struct ended ended = { .by = SIGTERM };
	int asked = 0;
	struct shrinking shrinking = { .lines = &lines, .fails = never_fails, .ctx = &asked };

	for (size_t i = 0; i < lines.count; i++)
		lines.line[i].text = strdup("quiet");
	shrink_lines(&shrinking);
	ck_assert_int_eq(asked, 3000);
	/* And not at all by a tool that was asked to end. */
	shrinking.ended = &ended;
	shrinking.tries = asked = 0;
	shrink_lines(&shrinking);
	ck_assert_int_eq(asked, 0);
	ck_assert_uint_eq(lines.count, 4000);
	lines_free(&lines);
}
END_TEST

/* 'f' for a line of a fault, '.' for another */
static void kinds_are(const struct plan *plan, const char *text, size_t ways, size_t faults,
		      const char *kinds)
{
	struct schedule schedule = { .way_count = ways, .fault_count = faults };
	struct lines lines;
	size_t i;

	text_add(&schedule.text, "%s", text);
	lines_split(&lines, plan, &schedule);
	ck_assert_uint_eq(lines.count, strlen(kinds));
	for (i = 0; i < lines.count; i++)
		ck_assert_msg((lines.line[i].kind == LINE_FAULT) == (kinds[i] == 'f'), "%s: %zu",
			      text, i);
	lines_free(&lines);
	text_free(&schedule.text);
}

START_TEST(lines_of_faults_are_known_by_their_place)
{
	static const char script[] = "use\nnote\n";
	const struct plan plan = { .text = script, .faults_at = strlen(script) };
	const struct plan program = { .text = "", .program = true };

	kinds_are(&plan, "use\nnote\na\nb\nquiet\nend\n", 0, 2, "..ff..");
	kinds_are(&plan, "fabric\nuse\nnote\na\nquiet", 1, 1, "...f.");
	kinds_are(&plan, "use\nnote\nquiet\n", 0, 0, "...");
	/* A program has no lines of its own. */
	kinds_are(&program, "fabric\nfabric\na\nb\n", 2, 2, "ffff");
}
END_TEST

START_TEST(a_joined_script_is_whole_with_or_without_its_faults)
{
	struct line line[] = { { (char *)"a", LINE_SCRIPT },
			       { (char *)"b", LINE_FAULT },
			       { NULL, LINE_SCRIPT },
			       { (char *)"c", LINE_SCRIPT } };
	struct lines lines = { line, 4 };
	struct text text = { 0 };

	lines_join(&lines, true, &text);
	ck_assert_str_eq(text_of(&text), "a\nb\nc\n");
	lines_join(&lines, false, &text);
	ck_assert_str_eq(text_of(&text), "a\nc\n");
	text_free(&text);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, failures_are_the_same_at_another_line_and_another_count);
	unit_test_bare(suite, failures_of_another_kind_code_or_title_are_not_the_same);
	unit_test_bare(suite, what_the_failure_does_not_need_is_dropped);
	unit_test_bare(suite, lines_that_go_only_together_are_tried_together);
	unit_test_bare(suite, a_hold_goes_with_its_release);
	unit_test_bare(suite, each_hold_goes_with_a_release_of_the_same);
	unit_test_bare(suite, a_count_becomes_one_or_half_as_long_as_it_fails);
	unit_test_bare(suite, other_numbers_of_a_line_that_is_no_fault_stay);
	unit_test_bare(suite, numbers_of_a_fault_shrink_after_a_blank_and_after_an_equals_sign);
	unit_test_bare(suite, what_a_word_needed_goes_after_the_word);
	unit_test_bare(suite, words_of_a_fault_go_if_words_may_go);
	unit_test_bare(suite, one_failure_is_tried_3000_times_at_most);
	unit_test_bare(suite, lines_of_faults_are_known_by_their_place);
	unit_test_bare(suite, a_joined_script_is_whole_with_or_without_its_faults);
}

UNIT_SUITE("shrink")
