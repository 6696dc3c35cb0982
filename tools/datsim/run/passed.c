/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the packets that a fault rule saw and left alone. */
#include "passed.h"

#include <string.h>

#include "tools/datsim/show/trace_fault.h"

static void passed_count(struct passed *passed, struct span op)
{
	size_t i;

	passed->packets++;
	for (i = 0; i < passed->count; i++) {
		if (passed->ops[i].op.length == op.length &&
		    !memcmp(passed->ops[i].op.s, op.s, op.length))
			break;
	}
	if (i == PASSED_OPS)
		return; /* in the total only */
	if (i == passed->count) {
		passed->ops[i].op = op;
		passed->ops[i].times = 0;
		passed->count++;
	}
	passed->ops[i].times++;
}

/* "emu0.ep1" and "emu0" are at the adapter "emu0". */
static bool is_at(struct span object, struct span adapter)
{
	size_t n = adapter.length;

	return !n || (object.length >= n && !memcmp(object.s, adapter.s, n) &&
		      (object.length == n || object.s[n] == '.'));
}

void passed_read(struct passed *passed, const char *text, size_t length)
{
	struct trace_reader reader;
	struct trace_line line;
	struct span from, to;
	bool begun = false, arrives;

	passed->count = 0;
	passed->packets = 0;
	if (!trace_open(&reader, "trace", text, length)) {
		trace_close(&reader);
		return;
	}
	while (trace_next(&reader, &line)) {
		if (span_is(line.verb, "rule"))
			begun |= trace_number(&line, "add") == passed->rule ||
				 trace_number(&line, "is") == passed->rule;
		if (!begun ||
		    !(span_is(line.verb, "packet") || (is_fault(&line, &arrives) && !arrives)))
			continue;
		packet_ends(&line, &from, &to);
		if (is_at(from, passed->from) && is_at(to, passed->to))
			passed_count(passed, trace_value(&line, "op"));
	}
	trace_close(&reader);
}

void passed_print(const struct passed *passed, struct text *text)
{
	size_t i;

	if (!passed->packets) {
		text_add(text, "no packet");
		return;
	}
	text_add(text, "%llu packet%s:", (unsigned long long)passed->packets,
		 passed->packets == 1 ? "" : "s");
	for (i = 0; i < passed->count; i++) {
		text_add(text, "%s %llu ", i ? "," : "", (unsigned long long)passed->ops[i].times);
		text_printable(text, passed->ops[i].op.s, passed->ops[i].op.length);
	}
}
