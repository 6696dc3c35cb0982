/* SPDX-License-Identifier: BSD-3-Clause */
/* Which endings of runs and which shapes of schedules are the same for datsim explore. */
#include "tests/support/support.h"
#include "tools/datsim/explore/campaign.h"

#include <stdlib.h>

/* ---- endings ---- */

static char *ending_of(enum ending how, int code, const char *who, const char *what,
		       const char *said)
{
	struct outcome outcome = { .how = how, .code = code };
	struct text ending = { 0 };

	strcpy(outcome.who, who);
	strcpy(outcome.what, what);
	signature_ending(&ending, &outcome, said);
	return ending.s;
}

static void ending_is(char *ending, const char *wanted)
{
	ck_assert_str_eq(ending, wanted);
	free(ending);
}

START_TEST(an_ending_has_the_line_of_an_assertion_without_numbers_and_folders)
{
	ending_is(
		ending_of(ENDED_SIGNAL, 6, "", "",
			  "begins\na: /home/me/src/a.c:17: f: Assertion `n == 3' failed.\nends\n"),
		"is ended by signal 6; says: a: a.c:#: f: Assertion `n == #' failed.");
	ending_is(ending_of(ENDED_CODE, 99, "client2", "",
			    "==12==ERROR\nSUMMARY: AddressSanitizer: heap-use-after-free b.c:9 in "
			    "g\n==12==ABORTING\n"),
		  "client exits with 99; says: SUMMARY: AddressSanitizer: heap-use-after-free "
		  "b.c:# in g");
	ending_is(ending_of(ENDED_CODE, 1, "", "", "Assertion in /home/me/ failed\n"),
		  "exits with 1; says: Assertion in /home/me/ failed");
}
END_TEST

static void says_of(const struct outcome *outcome, const char *said, const char *wanted)
{
	struct text says = { 0 };

	signature_says(&says, outcome, said);
	ck_assert_str_eq(text_of(&says), wanted);
	text_free(&says);
}

static void says_is(int code, const char *said, const char *wanted)
{
	says_of(&(struct outcome){ .how = ENDED_CODE, .code = code }, said, wanted);
}

START_TEST(an_ending_has_no_other_message_but_a_person_reads_the_last)
{
	ending_is(ending_of(ENDED_CODE, 3, "", "", "first\nreply 17 is wrong\n"), "exits with 3");
	says_is(3, "first\nreply 17 is wrong\n---\n\n", "exits with 3; it said: reply 17 is wrong");
	/* A node may have a number for its name. */
	ending_is(ending_of(ENDED_CODE, 3, "2", "", ""), "2 exits with 3");
	says_is(3, "", "exits with 3");
	says_of(&(struct outcome){ .how = ENDED_SIGNAL, .code = 6 }, "bye\n",
		"is ended by signal 6 (Aborted); it said: bye");
	says_of(&(struct outcome){ .how = ENDED_LEFT, .code = 1, .what = " emu0.ep1" }, "bye\n",
		"leaves 1 object (emu0.ep1)");
	says_is(3, "no newline", "exits with 3; it said: no newline");
	says_is(3, "a.c:1: Assertion `x' failed.\nlast\n",
		"exits with 3; it said: a.c:1: Assertion `x' failed.");
}
END_TEST

START_TEST(an_ending_has_kinds_of_objects_and_not_their_number)
{
	ending_is(ending_of(ENDED_LEFT, 3, "", " emu0.ep2 emu0.evd1 emu0.ep1", ""),
		  "leaves objects; emu#.ep# emu#.evd#");
	ending_is(ending_of(ENDED_LEFT, 1, "", " emu1.evd7 emu0.ep4", ""),
		  "leaves objects; emu#.ep# emu#.evd#");
	ending_is(ending_of(ENDED_LEFT, 9, "", " emu1.evd7 emu0.ep4 ...", ""),
		  "leaves objects; emu#.ep# emu#.evd#");
}
END_TEST

START_TEST(an_ending_has_the_calls_that_wait)
{
	ending_is(ending_of(ENDED_STUCK, 0, "", "dat_evd_wait on emu0.evd3 waits forever: nothing",
			    "libdat: dat_evd_wait on emu0.evd3 waits forever: nothing\n"),
		  "is stuck; dat_evd_wait on emu#.evd# waits forever");
	ending_is(ending_of(ENDED_STUCK, 0, "", "nothing can wake a, b",
			    "libdat: dat_evd_wait on b-emu0.evd1 waits forever: x\nnoise\n"
			    "libdat: dat_cno_wait on a-emu0.cno1 waits forever: y\n"),
		  "is stuck; nothing can wake a, b; dat_cno_wait on a-emu#.cno# waits forever; "
		  "dat_evd_wait on b-emu#.evd# waits forever");
	ending_is(ending_of(ENDED_STUCK, 0, "", "nothing can wake a",
			    "libdat: : x waits forever\nlibdat: : y waits forever\n"),
		  "is stuck; nothing can wake a");
	ending_is(ending_of(ENDED_WRONG, 1, "", "order: emu0.ep1 completes 3", "x\n"),
		  "breaks a rule; order");
	ending_is(ending_of(ENDED_HUNG, 3, "client2", "", "x\nAssertion 7\n"),
		  "hangs; client ended with 3; says: Assertion #");
	ending_is(ending_of(ENDED_HUNG, 0, "", "3,000 events", "x\n"), "hangs");
}
END_TEST

static void verdict_is(enum exit_code code, const char *report, const char *wanted)
{
	struct verdict verdict = { .code = code };
	struct text ending = { 0 };

	text_add(&verdict.report, "%s", report);
	signature_verdict(&ending, &verdict);
	ck_assert_str_eq(text_of(&ending), wanted);
	text_free(&ending);
	text_free(&verdict.report);
}

START_TEST(an_ending_of_a_script_is_its_title_by_the_kind_of_failure)
{
	verdict_is(EXIT_FAILED, "a.dsim:3: no event (2 of 3)\nx\n", "fails; no event");
	verdict_is(EXIT_CHECKER, "a.dsim:3: a fault at 5us\n", "breaks a rule; a fault at #us");
	verdict_is(EXIT_NOT_QUIET, "a.dsim:30: never quiet\n", "is unquiet; never quiet");
}
END_TEST

/* ---- shapes ---- */

static void lines_of(struct lines *lines, const char *text)
{
	struct entry entry = { .is_script = false };

	text_add(&entry.lines, "%s", text);
	entry_lines(&entry, lines);
	text_free(&entry.lines);
}

static void shape_is(const char *text, const char *wanted)
{
	struct text shape = { 0 };
	struct lines lines;

	lines_of(&lines, text);
	signature_shape(&shape, &lines);
	ck_assert_str_eq(text_of(&shape), wanted);
	text_free(&shape);
	lines_free(&lines);
}

START_TEST(a_shape_is_timing_for_all_that_a_connection_survives)
{
	shape_is("fabric seed=7\n", "timing");
	shape_is("fault link a>b drop opcode=ACK nth=1\n", "timing");
	shape_is("fault link b>a delay 3us\nfabric latency=2us\n", "timing");
	shape_is("turn client thread=1 call=2 pause=3us\n", "timing");
	shape_is("fault link a>b drop opcode=SEND after=2 until=9us\n", "timing");
	shape_is("fault link a>b drop opcode=SEND after=2 times=3\n", "timing");
}
END_TEST

START_TEST(a_shape_names_other_kinds_once_and_in_order)
{
	shape_is("fault link a>b drop opcode=SEND after=2\n", "break");
	shape_is("fault link a>b down\n", "break");
	shape_is("fault link a>b dead\n", "break");
	shape_is("fault link a>b nak sequence nth=1\n", "break");
	shape_is("link a>b latency=5us\n", "timing");
	shape_is("fabric watch=posted\nfabric rnr_timer=5us\nfabric quantum=1us\n", "timing");
	shape_is("fabric poison=on\n", "poison");
	shape_is("fault kill client at 5us\nfabric seed=7\n", "kill client");
	shape_is("fault kill client2 at 5us\nfault link a>b dead\nfault link a>b rnr times=1\n"
		 "fault link a>b down\n",
		 "break, kill client, timing");
	shape_is("fabric placement=tail\n", "placement");
}
END_TEST

START_TEST(a_schedule_has_a_shape_if_it_has_all_its_kinds)
{
	ck_assert(shape_has("break, kill client, timing", "kill client"));
	ck_assert(shape_has("break, timing", "break, timing"));
	ck_assert(!shape_has("break, timing", "kill client"));
	ck_assert(!shape_has("timing", "tim"));
	ck_assert(!shape_has("tim", "timing"));
}
END_TEST

START_TEST(a_schedule_is_restricted_to_a_shape_with_its_settings)
{
	struct lines all, some;

	lines_of(&all, "fabric seed=7\nfault link a>b rnr times=1\nfault kill b at 5us\n");
	ck_assert(shape_restrict(&all, "kill b", &some));
	ck_assert_uint_eq(some.count, 2);
	ck_assert_str_eq(some.line[0].text, "fabric seed=7");
	ck_assert_str_eq(some.line[1].text, "fault kill b at 5us");
	free(some.line);
	ck_assert(!shape_restrict(&all, "kill b, timing", &some));
	ck_assert_uint_eq(some.count, 3);
	free(some.line);
	lines_free(&all);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, an_ending_has_the_line_of_an_assertion_without_numbers_and_folders);
	unit_test_bare(suite, an_ending_has_no_other_message_but_a_person_reads_the_last);
	unit_test_bare(suite, an_ending_has_kinds_of_objects_and_not_their_number);
	unit_test_bare(suite, an_ending_has_the_calls_that_wait);
	unit_test_bare(suite, an_ending_of_a_script_is_its_title_by_the_kind_of_failure);
	unit_test_bare(suite, a_shape_is_timing_for_all_that_a_connection_survives);
	unit_test_bare(suite, a_shape_names_other_kinds_once_and_in_order);
	unit_test_bare(suite, a_schedule_has_a_shape_if_it_has_all_its_kinds);
	unit_test_bare(suite, a_schedule_is_restricted_to_a_shape_with_its_settings);
}

UNIT_SUITE("signature")
