/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words the rules of faults in a timeline: what they act on, and the script's line of each. A rule
 * of a script has the script's words, from a note; of a rule from outside the trace has all fields.
 */
#include "show.h"

#include <string.h>

/* The rules of packets are numbered from 1, those of calls, events and adapters from 1001. */
#define OTHERS 1000

/* The place of the rule with this number; NULL if it cannot be one. */
static struct rule *rule_of(struct timeline *timeline, uint64_t id)
{
	if (id && id < SHOW_RULES)
		return &timeline->rules[id];
	return id > OTHERS && id <= OTHERS + SHOW_RULES
		       ? &timeline->rules[SHOW_RULES + id - OTHERS - 1]
		       : NULL;
}

static const struct rule *known_rule(const struct timeline *timeline, uint64_t id)
{
	return rule_of((struct timeline *)timeline, id);
}

/* "rule of line 7: link a>b drop nth=3" */
static void take_words(struct timeline *timeline, struct span note)
{
	const char *words = memchr(note.s, ':', note.length);
	size_t before = (size_t)(words - note.s) + 2;

	timeline->noted = (struct rule){ .line = span_number(note, strlen(RULE_NOTE)),
					 .words = { note.s + before, note.length - before } };
}

static void take_rule(struct timeline *timeline, const struct trace_line *line)
{
	struct rule *added = rule_of(timeline, trace_number(line, "add"));
	struct rule *outside = rule_of(timeline, trace_number(line, "is"));

	if (added && timeline->noted.words.length)
		*added = timeline->noted;
	else if (added && !added->outside)
		*added = (struct rule){ .line = timeline->line };
	if (outside)
		*outside = (struct rule){ .line = (uint32_t)trace_number(line, "line"),
					  .outside = true };
	timeline->noted = (struct rule){ .line = 0 };
}

void rule_note(struct timeline *timeline, const struct trace_line *line)
{
	if (span_is(line->verb, "rule"))
		take_rule(timeline, line);
	if (!span_is(line->verb, "note") || !is_inner_note(line->rest))
		return;
	if (span_starts(line->rest, LINE_NOTE))
		timeline->line = span_number(line->rest, strlen(LINE_NOTE));
	else if (span_starts(line->rest, RULE_NOTE))
		take_words(timeline, line->rest);
}

void rules_collect(struct timeline *timeline, const char *text, size_t length)
{
	struct trace_reader reader;
	struct trace_line line;

	if (trace_open(&reader, "", text, length)) {
		while (trace_next(&reader, &line))
			rule_note(timeline, &line);
	}
	trace_close(&reader);
	timeline->line = 0;
}

/* ---- words ---- */

/* "fault 2, line 7". Other rules than those of packets have numbers that only the trace knows. */
static void add_rule_name(const struct timeline *timeline, uint64_t id, struct text *text)
{
	const struct rule *rule = known_rule(timeline, id);
	uint32_t line = rule ? rule->line : 0;

	text_add(text, "fault");
	if (id < OTHERS || !line)
		text_add(text, " %llu", (unsigned long long)id);
	if (line)
		text_add(text, ", line %u", line);
}

void rule_line(const struct timeline *timeline, const struct trace_line *line, struct text *text)
{
	const struct rule *rule = known_rule(timeline, trace_number(line, "rule"));

	if (rule && rule->line)
		text_add(text, ", line %u", rule->line);
}

void rule_words(const struct timeline *timeline, const struct trace_line *line, struct text *text)
{
	const struct rule *rule = known_rule(timeline, trace_number(line, "rule"));

	if (!trace_number(line, "rule"))
		return;
	text_add(text, " by ");
	add_rule_name(timeline, trace_number(line, "rule"), text);
	if (!rule || !rule->words.length)
		return;
	text_add(text, ": ");
	text_span(text, rule->words);
}

/* " on client>server" of a rule with "from=client-emu0 to=server-emu0" */
static void add_link(const struct timeline *timeline, const struct trace_line *line,
		     struct text *text)
{
	struct span from = trace_value(line, "from"), to = trace_value(line, "to");

	if (!from.length && !to.length)
		return;
	text_add(text, " on ");
	text_span(text, from.length ? actor_on(timeline, from) : (struct span){ "any", 3 });
	text_add(text, ">");
	text_span(text, to.length ? actor_on(timeline, to) : (struct span){ "any", 3 });
}

/* "5%" of 50000 parts in a million */
static void add_share(struct text *text, uint64_t parts)
{
	uint64_t rest = parts % 10000;
	int digits = 4;

	text_add(text, "%llu", (unsigned long long)(parts / 10000));
	for (; rest && rest % 10 == 0; rest /= 10)
		digits--;
	if (rest)
		text_add(text, ".%0*llu", digits, (unsigned long long)rest);
	text_add(text, "%%");
}

static bool is_loss(const struct trace_line *line)
{
	return span_is(trace_value(line, "verdict"), "drop") && trace_number(line, "probability");
}

/* "drop SEND", "loss 5%", "fail dat_ep_post_send": what the rule does, to what */
static void add_verdict(const struct trace_line *line, struct text *text)
{
	static const char *const keys[] = { "verdict", "spoil", "packets", "call" };
	const char *before = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		struct span value = trace_value(line, keys[i]);

		if (!value.length)
			continue;
		text_add(text, "%s", before);
		before = " ";
		if (i == 0 && is_loss(line)) {
			text_add(text, "loss ");
			add_share(text, trace_number(line, "probability"));
		} else {
			text_span(text, value);
		}
	}
}

static bool is_worded(const struct trace_line *line, struct span key)
{
	static const char *const worded[] = { "is",      "line",  "from",    "to",
					      "verdict", "spoil", "packets", "call" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(worded); i++) {
		if (span_is(key, worded[i]))
			return true;
	}
	return span_is(key, "probability") && is_loss(line);
}

/* "rule is=1 line=2 from=a to=b packets=SEND verdict=drop nth=3": all of a rule from outside */
static void whole_rule(const struct timeline *timeline, const struct trace_line *line,
		       struct text *text)
{
	int n;

	add_rule_name(timeline, trace_number(line, "is"), text);
	text_add(text, ": ");
	add_verdict(line, text);
	add_link(timeline, line, text);
	for (n = 0; n < line->pair_count; n++) {
		if (is_worded(line, line->pairs[n].key))
			continue;
		text_add(text, " ");
		text_span(text, line->pairs[n].key);
		text_add(text, "=");
		if (span_is(line->pairs[n].key, "probability"))
			add_share(text, trace_number(line, "probability"));
		else
			text_span(text, line->pairs[n].value);
	}
}

/* A rule that a script adds, or the program itself, of which only the verdict is known. */
static void added_rule(const struct timeline *timeline, const struct trace_line *line,
		       struct text *text)
{
	uint64_t id = trace_number(line, "add");
	const struct rule *rule = known_rule(timeline, id);

	/* A rule from outside has a line with all of it behind this one. */
	if (rule && rule->outside)
		return;
	add_rule_name(timeline, id, text);
	text_add(text, ": ");
	if (rule && rule->words.length) {
		text_span(text, rule->words);
		return;
	}
	text_span(text, trace_value(line, "verdict"));
	add_link(timeline, line, text);
}

void rule_cell(const struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	uint64_t fired = trace_number(line, "fired"), times = trace_number(line, "times");

	if (trace_value(line, "clear").length)
		text_add(text, "no faults any more");
	if (trace_value(line, "is").length)
		whole_rule(timeline, line, text);
	if (fired) {
		add_rule_name(timeline, fired, text);
		text_add(text, " acted %llu time%s", (unsigned long long)times,
			 times == 1 ? "" : "s");
	}
	if (trace_number(line, "add"))
		added_rule(timeline, line, text);
}
