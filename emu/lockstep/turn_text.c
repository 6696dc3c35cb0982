/* SPDX-License-Identifier: BSD-3-Clause */
/* turn_text.c - reads the order of turns in lockstep: turn_text.h. */
#include "turn_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t\n"

static bool turn_word(const char **text, const char *word)
{
	const char *p = *text + strspn(*text, BLANKS);
	size_t n = strlen(word);

	if (strncmp(p, word, n) != 0 || (p[n] && !strchr(BLANKS, p[n])))
		return false;
	*text = p + n;
	return true;
}

bool emu_turn_order(const char **text)
{
	return turn_word(text, "order") || (turn_word(text, "seed") && false);
}

/* A number from 1 on. */
static bool turn_number(const char **p, uint64_t most, uint64_t *number)
{
	uint64_t n = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++) {
		n = 10 * n + (uint64_t)(**p - '0');
		if (n > most)
			return false;
	}
	*number = n;
	return n > 0;
}

/* "client/1" */
static bool turn_thread(const char **p, char *node, uint32_t *thread)
{
	size_t n = strcspn(*p, "/@>" BLANKS);
	uint64_t number;

	if (n == 0 || n >= EMU_TURN_NODE || (*p)[n] != '/')
		return false;
	memcpy(node, *p, n);
	node[n] = '\0';
	*p += n + 1;
	if (!turn_number(p, UINT32_MAX, &number))
		return false;
	*thread = (uint32_t)number;
	return true;
}

static bool turn_mark(const char **p, char mark)
{
	if (**p != mark)
		return false;
	(*p)++;
	return true;
}

/* ">server/1" or "+5000" */
static bool turn_action(const char **p, struct emu_turn *turn)
{
	if (turn_mark(p, '+'))
		return turn_number(p, UINT32_MAX, &turn->pause_ns);
	return turn_mark(p, '>') && turn_thread(p, turn->to, &turn->to_thread);
}

int emu_turn_next(const char **text, struct emu_turn *turn)
{
	const char *p = *text + strspn(*text, BLANKS);
	uint64_t line = 0;

	memset(turn, 0, sizeof(*turn));
	*text = p;
	if (!*p)
		return 0;
	if (!turn_thread(&p, turn->from, &turn->from_thread) || !turn_mark(&p, '@') ||
	    !turn_number(&p, UINT32_MAX, &turn->call) || !turn_action(&p, turn))
		return -EINVAL;
	if (turn_mark(&p, '@') && !turn_number(&p, UINT32_MAX, &line))
		return -EINVAL;
	if (*p && !strchr(BLANKS, *p))
		return -EINVAL;
	turn->line = (uint32_t)line;
	*text = p;
	return 1;
}

bool emu_turns_are_valid(const char *text)
{
	struct emu_turn turn;
	int more = 0;

	if (text)
		emu_turn_order(&text);
	while (text && (more = emu_turn_next(&text, &turn)) > 0)
		;
	if (more < 0)
		fprintf(stderr,
			"libdat: DATSIM_TURNS: \"%.*s\": expected order or seed, and switches "
			"such as client/1@12>server/1 or client/1@12+5000: at its 12th call, "
			"thread 1 of client hands the turn to thread 1 of server, or sleeps for "
			"5000 ns\n",
			(int)strcspn(text, BLANKS), text);
	return more == 0;
}
