/* SPDX-License-Identifier: BSD-3-Clause */
/* The content of questions and answers. No call of uDAPL is made here. */
#include "pair.h"

/* Each word counts by its place, so that words of two rounds do not make up for each other. */
static DAT_UINT64 sum_of(const struct pair_message *message, DAT_UINT64 round)
{
	const volatile DAT_UINT64 *word = message->word;
	DAT_UINT64 sum = round;

	for (int i = 0; i < PAIR_WORDS; i++)
		sum = sum * 0x100000001b3 + word[i]; /* the prime of FNV-1a */
	return sum;
}

void pair_ask(struct pair_message *question, DAT_UINT64 round, DAT_UINT64 client)
{
	for (DAT_UINT64 i = 0; i < PAIR_WORDS; i++)
		question->word[i] = (client << 40) + (round << 8) + i;
	question->sum = sum_of(question, round);
	question->round = round;
}

void pair_answer(const struct pair_message *question, struct pair_message *answer)
{
	for (int i = 0; i < PAIR_WORDS; i++)
		answer->word[i] = ~question->word[i];
	answer->sum = sum_of(answer, question->round);
	answer->round = question->round;
}

bool pair_is_whole(const struct pair_message *message, DAT_UINT64 round)
{
	const volatile DAT_UINT64 *sum = &message->sum;

	return message->round == round && *sum == sum_of(message, round);
}
