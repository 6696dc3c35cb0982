/* SPDX-License-Identifier: BSD-3-Clause */
/* examples/pair/message.c: an answer that comes in parts is not taken for a whole one. */
#include "examples/pair/pair.h"
#include "tests/support/support.h"

enum {
	WORDS = sizeof(struct pair_message) / 8
};

static struct pair_message answer_of(DAT_UINT64 round)
{
	struct pair_message question, answer;

	pair_ask(&question, round, 1);
	pair_answer(&question, &answer);
	return answer;
}

/* The answer of round 2 is placed over that of round 1: word by word, from first or last. */
static void place(bool backwards)
{
	struct pair_message there = answer_of(1), next = answer_of(2);
	DAT_UINT64 *to = (DAT_UINT64 *)&there, *from = (DAT_UINT64 *)&next;

	for (int i = 0; i < WORDS; i++) {
		int at = backwards ? WORDS - 1 - i : i;

		ck_assert(!pair_is_whole(&there, 2));
		to[at] = from[at];
	}
	ck_assert(pair_is_whole(&there, 2));
	ck_assert(!pair_is_whole(&there, 1));
}

START_TEST(answer_placed_from_first_to_last)
{
	place(false);
}
END_TEST

START_TEST(answer_placed_from_last_to_first)
{
	place(true);
}
END_TEST

/* Any one word that is missing. */
START_TEST(answer_without_one_word_is_not_whole)
{
	const struct pair_message next = answer_of(2), old = answer_of(1);

	for (int i = 0; i < PAIR_WORDS; i++) {
		struct pair_message there = next;

		there.word[i] = old.word[i];
		ck_assert(!pair_is_whole(&there, 2));
	}
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("message");

	tcase_add_test(tcase, answer_placed_from_first_to_last);
	tcase_add_test(tcase, answer_placed_from_last_to_first);
	tcase_add_test(tcase, answer_without_one_word_is_not_whole);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("messages of examples/pair")
