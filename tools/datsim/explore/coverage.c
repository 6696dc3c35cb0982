/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads traces, and counts what of the model they show. */
#include "coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

#define COVER_MOST 4096 /* different things, also in a damaged file */

/* ---- the list ---- */

/* Where it stands, or belongs. */
static size_t place_of(const struct coverage *coverage, enum cover_kind kind, const char *name,
		       bool *there)
{
	size_t low = 0, high = coverage->count, middle;
	int order;

	*there = false;
	while (low < high) {
		const struct cover *cover;

		middle = (low + high) / 2;
		cover = &coverage->list[middle];
		order = kind != cover->kind ? (kind < cover->kind ? -1 : 1)
					    : strcmp(name, cover->name);
		if (order == 0) {
			*there = true;
			return middle;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* NULL: there are too many. */
static struct cover *cover_of(struct coverage *coverage, enum cover_kind kind, const char *name)
{
	bool there;
	size_t at = place_of(coverage, kind, name, &there);
	struct cover *cover;

	if (there)
		return &coverage->list[at];
	if (coverage->count >= COVER_MOST)
		return NULL;
	coverage->list = mem_grow(coverage->list, (coverage->count + 1) * sizeof(*coverage->list));
	cover = &coverage->list[at];
	memmove(cover + 1, cover, (coverage->count - at) * sizeof(*cover));
	coverage->count++;
	*cover = (struct cover){ .kind = kind };
	snprintf(cover->name, sizeof(cover->name), "%s", name);
	return cover;
}

static void count_one(struct coverage *coverage, enum cover_kind kind, const char *name)
{
	struct cover *cover = cover_of(coverage, kind, name);

	if (!cover)
		return;
	cover->times++;
	cover->schedules += !cover->seen;
	cover->seen = true;
}

void coverage_unite(struct coverage *coverage, const struct coverage *other)
{
	coverage->schedules += other->schedules;
	for (size_t i = 0; i < other->count; i++) {
		const struct cover *from = &other->list[i];
		struct cover *to = cover_of(coverage, from->kind, from->name);

		if (!to)
			continue;
		to->schedules += from->schedules;
		to->times += from->times;
	}
}

void coverage_free(struct coverage *coverage)
{
	free(coverage->list);
	*coverage = (struct coverage){ .list = NULL };
}

/* ---- a line of a trace ---- */

struct words {
	struct span object, verb, rest;
};

static struct span word_at(const char **at, const char *end)
{
	struct span word = { *at, 0 };

	while (*at < end && **at != ' ')
		++*at;
	word.length = (size_t)(*at - word.s);
	*at += *at < end;
	return word;
}

/* The value of " key=VALUE"; empty: there is none. */
static struct span value_of(const struct words *line, const char *key)
{
	const char *at = line->rest.s, *end = at + line->rest.length;
	size_t n = strlen(key);

	while (at < end) {
		struct span word = word_at(&at, end);

		if (word.length > n && !memcmp(word.s, key, n) && word.s[n] == '=')
			return (struct span){ word.s + n + 1, word.length - n - 1 };
	}
	return (struct span){ "", 0 };
}

static int span_width(struct span span)
{
	return span.length < 40 ? (int)span.length : 40;
}

/* "ep" of "emu0.ep1" */
static struct span noun_of(struct span object)
{
	const char *dot = memchr(object.s, '.', object.length);
	struct span noun = { "", 0 };

	if (!dot)
		return noun;
	noun.s = dot + 1;
	while (noun.s + noun.length < object.s + object.length && noun.s[noun.length] >= 'a' &&
	       noun.s[noun.length] <= 'z')
		noun.length++;
	return noun;
}

static void cover_transition(struct coverage *coverage, const struct words *line)
{
	struct span noun = noun_of(line->object), from = value_of(line, "from"),
		    to = value_of(line, "to");
	char name[COVER_NAME];

	snprintf(name, sizeof(name), "%.*s %.*s > %.*s", span_width(noun), noun.s, span_width(from),
		 from.s, span_width(to), to.s);
	count_one(coverage, COVER_TRANSITION, name);
}

/* Two words: the values of one key, and of another or, where that is missing, of a third. */
static void cover_pair(struct coverage *coverage, enum cover_kind kind, const struct words *line,
		       const char *const *keys)
{
	struct span first = value_of(line, keys[0]), second = value_of(line, keys[1]);
	char name[COVER_NAME];

	if (!second.length)
		second = value_of(line, keys[2]);
	snprintf(name, sizeof(name), "%.*s%s%.*s", span_width(first), first.s,
		 second.length ? " " : "", span_width(second), second.s);
	count_one(coverage, kind, name);
}

static void cover_word_of(struct coverage *coverage, enum cover_kind kind, struct span word)
{
	char name[COVER_NAME];

	snprintf(name, sizeof(name), "%.*s", span_width(word), word.s);
	count_one(coverage, kind, name);
}

static bool is_link_fault(const struct words *line)
{
	static const char *const verbs[] = {
		"drop", "corrupt", "delay",     "reorder",   "duplicate",
		"rnr",  "nak",     "link_down", "host_dead",
	};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (span_is(line->verb, verbs[i]))
			return value_of(line, "rule").length > 0;
	}
	return false;
}

static void cover_line(struct coverage *coverage, const struct words *line)
{
	static const char *const of_calls[] = { "call", "error", "type" };
	static const char *const of_completions[] = { "op", "status", "status" };
	static const char *const of_faults[] = { "does", "at", "at" };

	if (span_is(line->verb, "complete"))
		cover_pair(coverage, COVER_COMPLETION, line, of_completions);
	else if (span_is(line->verb, "state"))
		cover_transition(coverage, line);
	else if (span_is(line->verb, "event"))
		cover_word_of(coverage, COVER_EVENT, value_of(line, "number"));
	else if (span_is(line->verb, "fail"))
		cover_word_of(coverage, COVER_CAUSE, value_of(line, "cause"));
	else if (span_is(line->verb, "refuse"))
		cover_pair(coverage, COVER_CALL, line, of_calls);
	else if (span_is(line->verb, "fault"))
		cover_pair(coverage, COVER_FAULT, line, of_faults);
	else if (is_link_fault(line))
		cover_word_of(coverage, COVER_FAULT, line->verb);
}

void coverage_read(struct coverage *coverage, const char *trace, size_t length)
{
	const char *at = trace, *end = trace + length, *nl;
	struct words line;

	coverage->schedules++;
	for (; at < end && (nl = memchr(at, '\n', (size_t)(end - at))); at = nl + 1) {
		if (*at < '0' || *at > '9')
			continue;
		word_at(&at, nl);
		line.object = word_at(&at, nl);
		line.verb = word_at(&at, nl);
		line.rest = (struct span){ at, (size_t)(nl - at) };
		cover_line(coverage, &line);
	}
	for (size_t i = 0; i < coverage->count; i++)
		coverage->list[i].seen = false;
}

/* ---- as lines of a file ---- */

void coverage_format(const struct coverage *coverage, struct text *text)
{
	text_add(text, "# covered-schedules: %llu\n", (unsigned long long)coverage->schedules);
	for (size_t i = 0; i < coverage->count; i++) {
		const struct cover *cover = &coverage->list[i];
		struct text name = { 0 };

		text_printable(&name, cover->name, strlen(cover->name));
		text_add(text, "# covered: %s %llu %llu %s\n", cover_word(cover->kind),
			 (unsigned long long)cover->schedules, (unsigned long long)cover->times,
			 text_of(&name));
		text_free(&name);
	}
}

bool coverage_take(const char **at, struct coverage *coverage)
{
	char word[16], name[COVER_NAME], line[256];
	unsigned long long schedules, times;
	struct cover *cover;
	struct span value;
	const char *from = *at;
	int kind = 0;

	if (!header_value(&from, "covered", &value) || value.length >= sizeof(line))
		return false;
	memcpy(line, value.s, value.length);
	line[value.length] = '\0';
	if (sscanf(line, "%15[a-z] %18llu %18llu %95[^\n]", word, &schedules, &times, name) != 4)
		return false;
	while (kind < COVER_KINDS && strcmp(cover_word((enum cover_kind)kind), word) != 0)
		kind++;
	cover = kind < COVER_KINDS ? cover_of(coverage, (enum cover_kind)kind, name) : NULL;
	if (!cover)
		return false;
	cover->schedules += schedules;
	cover->times += times;
	*at = from;
	return true;
}
