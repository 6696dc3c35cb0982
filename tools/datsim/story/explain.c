/* SPDX-License-Identifier: BSD-3-Clause */
/* Says which parts of a failing schedule matter, by trying others in their place: explain.h. */
#include "explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NTH_MOST   6
#define WORD_SHOWN 20 /* characters of a word that has others in its place */
#define SEEDS_MOST 5
#define DOUBLINGS  5 /* of a time */
#define HALVINGS   3 /* between the last value that fails and the first that does not */

/* A word of a line, from its offset on. */
struct word {
	size_t line, at, length;
};

/* What was tried in place of a word. */
struct trials {
	struct text does, does_not;
	int does_count, does_not_count;
};

/* ---- trying ---- */

static bool is_over(const struct explaining *explaining)
{
	return explaining->tries >= explaining->tries_most ||
	       (explaining->ended && ended_asked(explaining->ended));
}

static bool fails_so(struct explaining *explaining)
{
	if (is_over(explaining))
		return false;
	explaining->tries++;
	if (explaining->course)
		course_doing(explaining->course, "what matters of it: %d of %d runs at most",
			     explaining->tries, explaining->tries_most);
	return explaining->fails(explaining->lines, explaining->ctx);
}

/* Does it fail with `other` in place of the word? */
static bool fails_with(struct explaining *explaining, const struct word *word, const char *other)
{
	struct line *line = &explaining->lines->line[word->line];
	char *old = line->text;
	struct text text = { 0 };
	bool fails;

	text_add(&text, "%.*s%s%s", (int)word->at, old, other, old + word->at + word->length);
	line->text = text.s;
	fails = fails_so(explaining);
	line->text = old;
	text_free(&text);
	return fails;
}

static void note_trial(struct trials *trials, const char *what, bool fails)
{
	struct text *list = fails ? &trials->does : &trials->does_not;
	int *count = fails ? &trials->does_count : &trials->does_not_count;

	text_add(list, "%s%s", (*count)++ ? ", " : "", what);
}

static void try_word(struct explaining *explaining, const struct word *word, const char *other,
		     struct trials *trials)
{
	if (!is_over(explaining))
		note_trial(trials, other, fails_with(explaining, word, other));
}

static void trials_free(struct trials *trials)
{
	text_free(&trials->does);
	text_free(&trials->does_not);
}

/* "  line 1: in place of corrupt, drop does it, too; duplicate does not" */
static void tell_trials(const struct explaining *explaining, const struct word *word,
			struct trials *trials, struct text *text)
{
	const char *line = explaining->lines->line[word->line].text;

	if (trials->does_count + trials->does_not_count)
		text_add(text, "  line %zu: in place of %.*s%s, ", word->line + 1,
			 (int)(word->length < WORD_SHOWN ? word->length : WORD_SHOWN),
			 line + word->at, word->length > WORD_SHOWN ? "..." : "");
	if (trials->does_count)
		text_add(text, "%s %s it, too%s", text_of(&trials->does),
			 trials->does_count == 1 ? "does" : "do",
			 trials->does_not_count ? "; " : "\n");
	if (trials->does_not_count)
		text_add(text, "%s %s%s\n", text_of(&trials->does_not),
			 trials->does_not_count == 1 ? "does not" : "do not",
			 trials->does_count ? "" : " do it");
	trials_free(trials);
}

/* ---- words ---- */

/* The first word of a line that begins so. False: there is none. */
static bool find_word(const struct explaining *explaining, size_t line, const char *begin,
		      struct word *word)
{
	const char *text = explaining->lines->line[line].text, *at = text;

	for (; *at; at += strspn(at, " ")) {
		*word = (struct word){ line, (size_t)(at - text), strcspn(at, " ") };
		if (!strncmp(at, begin, strlen(begin)))
			return true;
		at += word->length;
	}
	return false;
}

static void explain_link(struct explaining *explaining, size_t line, struct text *text)
{
	const struct plan *plan = explaining->plan;
	const char *here = explaining->lines->line[line].text;
	struct trials trials = { .does_count = 0 };
	struct word word;

	if (!find_word(explaining, line, "link ", &word))
		return;
	word.at += word.length + 1;
	word.length = strcspn(here + word.at, " ");
	for (size_t i = 0; i < plan->link_count; i++)
		if (strlen(plan->links[i]) != word.length ||
		    strncmp(plan->links[i], here + word.at, word.length) != 0)
			try_word(explaining, &word, plan->links[i], &trials);
	tell_trials(explaining, &word, &trials, text);
}

/* Try the other deeds in place of the line's: they take the same settings. */
static void explain_deed(struct explaining *explaining, size_t line, struct text *text)
{
	static const char *const deeds[] = { "drop", "corrupt", "duplicate" };
	struct trials trials = { .does_count = 0 };
	struct word word;
	size_t i, is;

	for (is = 0; is < ARRAY_SIZE(deeds); is++)
		if (find_word(explaining, line, deeds[is], &word) &&
		    word.length == strlen(deeds[is]))
			break;
	if (is == ARRAY_SIZE(deeds))
		return;
	for (i = 0; i < ARRAY_SIZE(deeds); i++)
		if (i != is)
			try_word(explaining, &word, deeds[i], &trials);
	tell_trials(explaining, &word, &trials, text);
}

static void explain_opcode(struct explaining *explaining, size_t line, struct text *text)
{
	static const char *const opcodes[] = { "SEND", "ACK", "WRITE", "READ_RESPONSE" };
	const char *here = explaining->lines->line[line].text;
	struct trials trials = { .does_count = 0 };
	struct word word;

	if (!find_word(explaining, line, "opcode=", &word))
		return;
	word.at += strlen("opcode=");
	word.length -= strlen("opcode=");
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
		if (strlen(opcodes[i]) != word.length ||
		    strncmp(opcodes[i], here + word.at, word.length) != 0)
			try_word(explaining, &word, opcodes[i], &trials);
	tell_trials(explaining, &word, &trials, text);
}

/* Earlier and later packets of the same kind. */
static void explain_nth(struct explaining *explaining, size_t line, struct text *text)
{
	struct trials trials = { .does_count = 0 };
	char other[16];
	struct word word;
	unsigned long now;

	if (!find_word(explaining, line, "nth=", &word))
		return;
	now = strtoul(explaining->lines->line[line].text + word.at + 4, NULL, 10);
	for (unsigned int nth = 1; nth <= NTH_MOST; nth++) {
		snprintf(other, sizeof(other), "nth=%u", nth);
		if (nth != now)
			try_word(explaining, &word, other, &trials);
	}
	tell_trials(explaining, &word, &trials, text);
}

/* ---- times and other numbers ---- */

/* A number with its unit, and the values around it that were tried. */
struct range {
	struct word word;
	const char *unit;
	unsigned long long least, most; /* that fail */
	unsigned long long below;       /* the largest smaller one that does not; 0: none */
	unsigned long long above;       /* the smallest greater one that does not; 0: none */
};

static bool fails_at(struct explaining *explaining, const struct range *range,
		     unsigned long long value)
{
	char other[40];

	snprintf(other, sizeof(other), "%llu%s", value, range->unit);
	return fails_with(explaining, &range->word, other);
}

static void find_most(struct explaining *explaining, struct range *range)
{
	unsigned long long value;

	for (int i = 0; i < DOUBLINGS && !range->above && !is_over(explaining); i++) {
		value = 2 * range->most;
		if (fails_at(explaining, range, value))
			range->most = value;
		else if (!is_over(explaining))
			range->above = value;
	}
	for (int i = 0; i < HALVINGS && range->above && !is_over(explaining); i++) {
		value = (range->most + range->above) / 2;
		if (value == range->most)
			break;
		if (fails_at(explaining, range, value))
			range->most = value;
		else
			range->above = value;
	}
}

static void find_least(struct explaining *explaining, struct range *range)
{
	unsigned long long value;

	while (range->least - range->below > (range->below ? range->least / 8 + 1 : 1) &&
	       !is_over(explaining)) {
		value = range->below ? (range->least + range->below) / 2 : range->least / 2;
		if (fails_at(explaining, range, value))
			range->least = value;
		else
			range->below = value;
	}
}

static void tell_range(const struct range *range, const char *name, struct text *text)
{
	text_add(text, "  line %zu: any %.*s from %llu%s to %llu%s does it", range->word.line + 1,
		 (int)strcspn(name, " ="), name, range->least, range->unit, range->most,
		 range->unit);
	if (range->below)
		text_add(text, "; %llu%s does not", range->below, range->unit);
	if (range->above)
		text_add(text, "%s %llu%s does not", range->below ? " and" : ";", range->above,
			 range->unit);
	text_add(text, "\n");
}

/* `name` stands in front of the number: "delay " of "delay 40us", "latency=" of "latency=5us". */
static void explain_number(struct explaining *explaining, size_t line, const char *name,
			   struct text *text)
{
	const char *here = explaining->lines->line[line].text;
	struct range range;
	char unit[8];
	size_t digits;

	if (!find_word(explaining, line, name, &range.word))
		return;
	range.word.at += strlen(name);
	digits = strspn(here + range.word.at, "0123456789");
	range.word.length = strcspn(here + range.word.at, " ");
	if (!digits || range.word.length - digits >= sizeof(unit) || digits > 9)
		return;
	snprintf(unit, sizeof(unit), "%.*s", (int)(range.word.length - digits),
		 here + range.word.at + digits);
	range.unit = unit;
	range.least = range.most = strtoull(here + range.word.at, NULL, 10);
	range.below = range.above = 0;
	if (!range.most)
		return;
	find_most(explaining, &range);
	find_least(explaining, &range);
	if (!is_over(explaining))
		tell_range(&range, name, text);
}

/*
 * When has the packet to be hit? The first one from a time on takes the place of the nth; the last
 * such time is found by halving.
 */
static void explain_when(struct explaining *explaining, size_t line, struct text *text)
{
	unsigned long long least = 0, most = explaining->plan->span_us, middle;
	char other[48];
	struct word word;

	if (most < 2 || !find_word(explaining, line, "nth=", &word) ||
	    !fails_with(explaining, &word, "from=0us times=1"))
		return;
	while (most - least > most / 16 + 1 && !is_over(explaining)) {
		middle = (least + most) / 2;
		snprintf(other, sizeof(other), "from=%lluus times=1", middle);
		if (fails_with(explaining, &word, other))
			least = middle;
		else
			most = middle;
	}
	if (is_over(explaining))
		return;
	if (most == explaining->plan->span_us)
		text_add(text, "  line %zu: the first one from any time on does it\n", line + 1);
	else
		text_add(text,
			 "  line %zu: the first one from any time up to %lluus on does it; from "
			 "%lluus on it does not\n",
			 line + 1, least, most);
}

/* ---- seeds ---- */

static void explain_seed(struct explaining *explaining, struct text *text)
{
	struct lines *lines = explaining->lines, all = *lines;
	struct trials trials = { .does_count = 0 };
	struct word word;
	char other[32];
	size_t i;

	for (i = 0; i < all.count; i++)
		if (find_word(explaining, i, "seed=", &word))
			break;
	if (i == all.count) {
		lines->line = mem_zero(all.count + 1, sizeof(*lines->line));
		memcpy(lines->line + 1, all.line, all.count * sizeof(*lines->line));
		lines->line[0] = (struct line){ strdup("fabric seed=1"), LINE_FAULT };
		lines->count = all.count + 1;
		find_word(explaining, 0, "seed=", &word);
	}
	for (unsigned int seed = 2; seed < 2 + SEEDS_MOST; seed++) {
		snprintf(other, sizeof(other), "seed=%u", seed);
		try_word(explaining, &word, other, &trials);
	}
	if (i == all.count) {
		free(lines->line[0].text);
		free(lines->line);
		*lines = all;
	}
	if (trials.does_count == SEEDS_MOST)
		text_add(text, "  the seed does not matter: %s do it, too\n",
			 text_of(&trials.does));
	else if (trials.does_count + trials.does_not_count == SEEDS_MOST)
		text_add(text, "  the seed matters: of %d others, %d %s it, too\n", SEEDS_MOST,
			 trials.does_count, trials.does_count == 1 ? "does" : "do");
	trials_free(&trials);
}

/* ---- all of it ---- */

void explain_lines(struct explaining *explaining, struct text *text)
{
	static const char *const names[] = { "delay ",   "reorder ", "at ",
					     "latency=", "after=",   "every=" };
	struct text all = { 0 };
	size_t i, n;

	for (i = 0; i < explaining->lines->count; i++) {
		if (explaining->lines->line[i].kind != LINE_FAULT)
			continue;
		explain_deed(explaining, i, &all);
		explain_nth(explaining, i, &all);
		explain_when(explaining, i, &all);
		explain_opcode(explaining, i, &all);
		explain_link(explaining, i, &all);
		for (n = 0; n < ARRAY_SIZE(names); n++)
			explain_number(explaining, i, names[n], &all);
	}
	if (explaining->seeds)
		explain_seed(explaining, &all);
	text_add(text, "what it takes, by %d more run%s:\n", explaining->tries,
		 explaining->tries == 1 ? "" : "s");
	if (explaining->left_out)
		text_add(text, "  %zu other line%s of the schedule can be left out\n",
			 explaining->left_out, explaining->left_out == 1 ? "" : "s");
	text_append(text, text_of(&all), all.length);
	text_free(&all);
}
