/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts what a fault rule saw and left alone. */
#include "passed.h"

#include <string.h>

#include "tools/datsim/show/trace_fault.h"

#define NO_ERROR ((struct span){ "", 0 })

static bool is_same(struct span a, struct span b)
{
	return a.length == b.length && !memcmp(a.s, b.s, a.length);
}

static void passed_count(struct passed *passed, struct span op, struct span error)
{
	size_t i;

	passed->total++;
	for (i = 0; i < passed->count; i++) {
		if (is_same(passed->ops[i].op, op) && is_same(passed->ops[i].error, error))
			break;
	}
	if (i == PASSED_OPS)
		return; /* in the total only */
	if (i == passed->count) {
		passed->ops[i].op = op;
		passed->ops[i].error = error;
		passed->ops[i].times = 0;
		passed->count++;
	}
	passed->ops[i].times++;
}

/* "emu0.ep1" and "emu0" are at the adapter "emu0"; "emu0.ep1" alone is at the EP "emu0.ep1". */
static bool is_at(struct span object, struct span at)
{
	size_t n = at.length;

	return !n || (object.length >= n && !memcmp(object.s, at.s, n) &&
		      (object.length == n || object.s[n] == '.'));
}

bool passed_kind_of(enum fault_kind fault, enum passed_kind *kind)
{
	switch (fault) {
	case FAULT_PACKET:
		*kind = PASSED_PACKETS;
		return true;
	case FAULT_CALL:
		*kind = PASSED_CALLS;
		return true;
	case FAULT_COMPLETION:
		*kind = PASSED_COMPLETIONS;
		return true;
	case FAULT_EVENT:
		*kind = PASSED_EVENTS;
		return true;
	default:
		return false;
	}
}

/* The line of a call of the program, whose verb names it. */
static bool is_call(const struct trace_line *line)
{
	return span_starts(line->verb, "post_") || span_starts(line->verb, "ibv_") ||
	       span_starts(line->verb, "rdma_") || span_is(line->verb, "create") ||
	       span_is(line->verb, "free") || span_is(line->verb, "disconnect");
}

/* Only completions that succeed can fit a rule; others are counted by status. */
static void passed_completion(struct passed *passed, const struct trace_line *line)
{
	struct span status = trace_value(line, "status");

	if (span_is(status, "SUCCESS"))
		status = NO_ERROR;
	passed->failed |= status.length > 0;
	passed_count(passed, trace_value(line, "op"), status);
}

static void passed_packet(struct passed *passed, const struct trace_line *line)
{
	struct span from, to;
	bool arrives;

	if (!span_is(line->verb, "packet") && (!is_fault(line, &arrives) || arrives))
		return;
	packet_ends(line, &from, &to);
	if (is_at(from, passed->from) && is_at(to, passed->to))
		passed_count(passed, trace_value(line, "op"), NO_ERROR);
}

static void passed_line(struct passed *passed, const struct trace_line *line)
{
	struct span object = line->object;

	/* An event is that of its EP, not of its EVD. */
	if (passed->kind == PASSED_EVENTS && trace_value(line, "object").length)
		object = trace_value(line, "object");
	if (passed->kind == PASSED_PACKETS)
		passed_packet(passed, line);
	else if (!is_at(object, passed->from))
		return;
	else if (passed->kind == PASSED_CALLS && is_call(line))
		passed_count(passed, line->verb, NO_ERROR);
	else if (passed->kind == PASSED_COMPLETIONS && span_is(line->verb, "complete"))
		passed_completion(passed, line);
	else if (passed->kind == PASSED_EVENTS && span_is(line->verb, "event"))
		passed_count(passed, trace_value(line, "number"), NO_ERROR);
}

void passed_read(struct passed *passed, const char *text, size_t length)
{
	struct trace_reader reader;
	struct trace_line line;
	bool begun = false;

	passed->count = 0;
	passed->total = 0;
	passed->failed = false;
	if (!trace_open(&reader, "trace", text, length)) {
		trace_close(&reader);
		return;
	}
	while (trace_next(&reader, &line)) {
		if (span_is(line.verb, "rule"))
			begun |= trace_number(&line, "add") == passed->rule ||
				 trace_number(&line, "is") == passed->rule;
		else if (begun)
			passed_line(passed, &line);
	}
	trace_close(&reader);
}

void passed_print(const struct passed *passed, struct text *text)
{
	static const char *const nouns[] = { [PASSED_PACKETS] = "packet",
					     [PASSED_CALLS] = "call",
					     [PASSED_COMPLETIONS] = "completion",
					     [PASSED_EVENTS] = "event" };
	size_t i;

	if (!passed->total) {
		text_add(text, "no %s", nouns[passed->kind]);
		return;
	}
	text_add(text, "%llu %s%s:", (unsigned long long)passed->total, nouns[passed->kind],
		 passed->total == 1 ? "" : "s");
	for (i = 0; i < passed->count; i++) {
		text_add(text, "%s %llu ", i ? "," : "", (unsigned long long)passed->ops[i].times);
		text_printable(text, passed->ops[i].op.s, passed->ops[i].op.length);
		text_add(text, "%s", passed->ops[i].error.length ? " " : "");
		text_printable(text, passed->ops[i].error.s, passed->ops[i].error.length);
	}
	if (passed->failed)
		text_add(text, " (only those that succeed can fit)");
}
