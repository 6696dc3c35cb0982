/* SPDX-License-Identifier: BSD-3-Clause */
/* Words the rules of faults in a timeline: what they act on, and the script's line of each. */
#include "show.h"

#include <string.h>

void rule_note(struct timeline *timeline, const struct trace_line *line)
{
	uint64_t is = trace_number(line, "is"), add = trace_number(line, "add");

	if (span_is(line->verb, "note") && is_inner_note(line->rest) &&
	    span_starts(line->rest, LINE_NOTE))
		timeline->line = span_number(line->rest, strlen(LINE_NOTE));
	if (!span_is(line->verb, "rule"))
		return;
	if (add && add < SHOW_RULES && !timeline->rules[add].words.length)
		timeline->rules[add].line = timeline->line;
	if (is && is < SHOW_RULES)
		timeline->rules[is] =
			(struct rule){ (uint32_t)trace_number(line, "line"), line->rest };
}

void rule_words(const struct timeline *timeline, const struct trace_line *line, struct text *text)
{
	uint64_t rule = trace_number(line, "rule");

	if (rule && rule < SHOW_RULES && timeline->rules[rule].line)
		text_add(text, ", line %u", timeline->rules[rule].line);
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

/* "rule is=1 line=2 from=a to=b packets=SEND verdict=drop nth=3": all of a rule from outside */
static void whole_rule(const struct timeline *timeline, const struct trace_line *line,
		       struct text *text)
{
	static const char *const worded[] = { "is", "line", "from", "to", "verdict", "packets" };
	size_t i;
	int n;

	text_add(text, "fault %llu", (unsigned long long)trace_number(line, "is"));
	if (trace_number(line, "line"))
		text_add(text, ", line %llu", (unsigned long long)trace_number(line, "line"));
	text_add(text, ": ");
	text_span(text, trace_value(line, "verdict"));
	if (trace_value(line, "packets").length) {
		text_add(text, " ");
		text_span(text, trace_value(line, "packets"));
	}
	add_link(timeline, line, text);
	for (n = 0; n < line->pair_count; n++) {
		for (i = 0; i < ARRAY_SIZE(worded); i++) {
			if (span_is(line->pairs[n].key, worded[i]))
				break;
		}
		if (i < ARRAY_SIZE(worded))
			continue;
		text_add(text, " ");
		text_span(text, line->pairs[n].key);
		text_add(text, "=");
		text_span(text, line->pairs[n].value);
	}
}

void rule_cell(const struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	uint64_t add = trace_number(line, "add"), fired = trace_number(line, "fired");

	if (trace_value(line, "clear").length)
		text_add(text, "no faults any more");
	if (trace_value(line, "is").length)
		whole_rule(timeline, line, text);
	if (fired)
		text_add(text, "fault %llu acted %llu times", (unsigned long long)fired,
			 (unsigned long long)trace_number(line, "times"));
	/* A rule from outside has a line with all of it behind this one. */
	if (!add || (add < SHOW_RULES && timeline->rules[add].words.length))
		return;
	text_add(text, "fault %llu", (unsigned long long)add);
	if (add < SHOW_RULES && timeline->rules[add].line)
		text_add(text, ", line %u", timeline->rules[add].line);
	text_add(text, ": ");
	text_span(text, trace_value(line, "verdict"));
	add_link(timeline, line, text);
}
