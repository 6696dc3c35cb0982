/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds in a trace what a program repeats while no message moves: round.h. */
#include "round.h"

#include <string.h>

#define LINES_LEAST 10000 /* fewer may be an ordinary loop */
#define LINES_KEPT  9     /* of the round */
#define KINDS_MOST  64

struct kind {
	struct span verb, what;
	uint64_t times;
};

struct kinds {
	struct kind list[KINDS_MOST];
	int count;
};

static bool is_move(const struct trace_line *line)
{
	struct span op = trace_value(line, "op");

	if (span_is(line->verb, "packet"))
		return !span_is(op, "RNR_NAK") && !span_is(op, "SEND_ONLY") &&
		       !span_is(op, "SEND_FIRST");
	return span_is(line->verb, "take") || span_is(line->verb, "complete");
}

/* What an event or a completion is of, or the call that was refused. */
static struct span what_of(const struct trace_line *line)
{
	static const char *const keys[] = { "number", "op", "opcode", "call" };
	struct span what = { "", 0 };

	for (size_t i = 0; i < ARRAY_SIZE(keys) && !what.length; i++)
		what = trace_value(line, keys[i]);
	return what;
}

static bool round_same(struct span a, struct span b)
{
	return a.length == b.length && !memcmp(a.s, b.s, a.length);
}

static void count_kind(struct kinds *kinds, const struct trace_line *line)
{
	struct span what = what_of(line);
	int i;

	for (i = 0; i < kinds->count; i++)
		if (round_same(kinds->list[i].verb, line->verb) &&
		    round_same(kinds->list[i].what, what))
			break;
	if (i == KINDS_MOST)
		return;
	if (i == kinds->count)
		kinds->list[kinds->count++] = (struct kind){ line->verb, what, 0 };
	kinds->list[i].times++;
}

/* The program gets what was queued: that is told by the event alone. */
static bool is_told(const struct round *round, const struct kind *kind)
{
	for (int i = 0; i < round->kind_count; i++)
		if (kind->what.length && round_same(round->kinds[i].what, kind->what))
			return true;
	return false;
}

/* Keep those that come most often; of equally many, the first. */
static void keep_kinds(struct round *round, struct kinds *kinds)
{
	int i, best;

	while (round->kind_count < ROUND_KINDS) {
		for (best = i = 0; i < kinds->count; i++) {
			if (is_told(round, &kinds->list[i]))
				kinds->list[i].times = 0;
			if (kinds->list[i].times > kinds->list[best].times)
				best = i;
		}
		if (!kinds->count || !kinds->list[best].times)
			return;
		round->kinds[round->kind_count].verb = kinds->list[best].verb;
		round->kinds[round->kind_count].what = kinds->list[best].what;
		round->kinds[round->kind_count++].times = kinds->list[best].times;
		kinds->list[best].times = 0;
	}
}

bool round_read(struct round *round, const char *text, size_t length)
{
	struct kinds kinds = { .count = 0 };
	struct trace_reader reader;
	struct trace_line line;

	*round = (struct round){ .ns = 0 };
	if (!trace_open(&reader, "", text, length))
		goto out;
	while (trace_next(&reader, &line)) {
		if (is_move(&line) || trace_keeps_end(&line)) {
			*round = (struct round){ .ns = line.ns };
			kinds.count = 0;
		} else if (!span_is(line.verb, "note") && !span_is(line.verb, "rule")) {
			count_kind(&kinds, &line);
			if (++round->lines == LINES_KEPT) {
				round->cut_at = (size_t)(reader.at - text);
				round->cut_ns = line.ns;
			}
		}
	}
	keep_kinds(round, &kinds);
out:
	trace_close(&reader);
	return round->lines >= LINES_LEAST;
}

/* 317456: "300,000". How long a program goes round varies from run to run. */
static void add_about(uint64_t times, struct text *words)
{
	uint64_t unit = 1, about;

	while (times / unit >= 10)
		unit *= 10;
	about = times / unit * unit;
	if (about >= 1000000)
		text_add(words, "over %llu,000,000 times ", (unsigned long long)(about / 1000000));
	else if (about >= 1000)
		text_add(words, "over %llu,000 times ", (unsigned long long)(about / 1000));
	else
		text_add(words, "over %llu times ", (unsigned long long)about);
}

void round_words(const struct round *round, struct text *words)
{
	struct text about = { 0 }, before = { 0 };
	struct span verb, what;

	for (int i = 0; i < round->kind_count; i++) {
		verb = round->kinds[i].verb;
		what = round->kinds[i].what;
		about.length = 0;
		add_about(round->kinds[i].times, &about);
		text_add(words, "%s%s", i ? ", " : "",
			 strcmp(text_of(&about), text_of(&before)) != 0 ? text_of(&about) : "");
		before.length = 0;
		text_append(&before, text_of(&about), about.length);
		text_printable(words, verb.s, verb.length);
		text_add(words, what.length ? " " : "");
		text_printable(words, what.s, what.length);
	}
	text_add(words, "; no message moved since %llu.%03u us",
		 (unsigned long long)(round->ns / 1000), (unsigned int)(round->ns % 1000));
	text_free(&about);
	text_free(&before);
}

void round_cut(const struct round *round, struct text *trace)
{
	if (!round->cut_at)
		return;
	trace->length = round->cut_at;
	text_add(trace,
		 "%llu - note no message moves any more: the same goes on, and is left out\n",
		 (unsigned long long)round->cut_ns);
}
