/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words the fault lines of a trace, and finds sender and receiver of its packets.
 */
#include "trace_fault.h"

#include <string.h>

static const struct {
	const char *verb, *words;
	bool arrives;
} faults[] = {
	{ "drop", "dropped by fault", false },
	{ "corrupt", "corrupted by fault", false },
	{ "link_down", "lost, link down by fault", false },
	{ "host_dead", "lost, host dead by fault", false },
	{ "lost", "lost: link down or host dead", false },
	{ "delay", "delayed by fault", true },
	{ "reorder", "put behind by fault", true },
	{ "duplicate", "duplicated by fault", true },
	{ "rnr", "not ready by fault", true },
	{ "nak", "refused by fault", true },
	{ "link_up", "link up by fault", true },
};

void packet_ends(const struct trace_line *line, struct span *from, struct span *to)
{
	const char *arrow = memchr(line->object.s, '>', line->object.length);

	*from = line->object;
	*to = trace_value(line, "to");
	if (!arrow)
		return;
	from->length = (size_t)(arrow - from->s);
	if (!to->length)
		*to = (struct span){ arrow + 1, line->object.length - from->length - 1 };
	if (trace_value(line, "from").length)
		*from = trace_value(line, "from");
}

static size_t fault_of(const struct trace_line *line)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(faults) &&
	       !(span_is(line->verb, faults[i].verb) && trace_value(line, "op").length))
		i++;
	return i;
}

bool is_fault(const struct trace_line *line, bool *arrives)
{
	size_t i = fault_of(line);

	*arrives = i < ARRAY_SIZE(faults) && faults[i].arrives;
	return i < ARRAY_SIZE(faults);
}

void fault_words(const struct trace_line *line, struct text *words)
{
	size_t i = fault_of(line);

	if (i == ARRAY_SIZE(faults))
		return;
	text_add(words, "%s", faults[i].words);
	if (trace_number(line, "rule"))
		text_add(words, " %llu", (unsigned long long)trace_number(line, "rule"));
}

void other_fault_words(const struct trace_line *line, struct text *words)
{
	static const struct {
		const char *does, *words;
	} verdicts[] = {
		{ "pass", "counted" },          { "fail", "fails" },     { "status", "made bad" },
		{ "overflow", "without room" }, { "lose", "lost" },      { "delay", "delayed" },
		{ "fatal", "failed" },          { "remove", "removed" }, { "down", "down" },
		{ "up", "up again" },           { "kill", "killed" },
	};
	struct span at = trace_value(line, "at");
	size_t i;

	text_printable(words, at.s, at.length);
	for (i = 0; i < ARRAY_SIZE(verdicts); i++) {
		if (span_is(trace_value(line, "does"), verdicts[i].does))
			text_add(words, " %s", verdicts[i].words);
	}
}
