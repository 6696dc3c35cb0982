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

/* A rule finds Endpoints and QPs by number, so a script may call a QP ep1 and an Endpoint qp1. */
static bool is_named(const char *name, const char *as, size_t n)
{
	const char *dot = memchr(as, '.', n);
	size_t i = dot ? (size_t)(dot - as) + 1 : n;

	if (i < n && (name[i] == 'e' || name[i] == 'q') && (as[i] == 'e' || as[i] == 'q'))
		return !memcmp(name, as, i) && !memcmp(name + i + 1, as + i + 1, n - i - 1);
	return !memcmp(name, as, n);
}

/* "emu0.ep1" and "emu0" are at the adapter "emu0"; "emu0.ep1" alone is at the EP "emu0.ep1". */
static bool is_at(struct span object, struct span at)
{
	size_t n = at.length;

	return !n || (object.length >= n && is_named(object.s, at.s, n) &&
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

/* "emu0" of "emu0.ep1" */
static struct span adapter_of(struct span object)
{
	const char *dot = memchr(object.s, '.', object.length);

	return dot ? (struct span){ object.s, (size_t)(dot - object.s) } : object;
}

static void passed_link(struct passed *passed, struct span from, struct span to)
{
	size_t i;

	passed->from_seen |= is_at(from, passed->from) || is_at(to, passed->from);
	passed->to_seen |= is_at(from, passed->to) || is_at(to, passed->to);
	for (i = 0; i < passed->link_count; i++) {
		if (is_same(passed->links[i].from, from) && is_same(passed->links[i].to, to))
			break;
	}
	passed->more_links |= i == PASSED_LINKS;
	if (i == PASSED_LINKS)
		return;
	if (i == passed->link_count) {
		passed->links[i].from = from;
		passed->links[i].to = to;
		passed->links[i].times = 0;
		passed->link_count++;
	}
	passed->links[i].times++;
}

static void passed_packet(struct passed *passed, const struct trace_line *line)
{
	struct span from, to;
	bool arrives;

	if (!span_is(line->verb, "packet") && (!is_fault(line, &arrives) || arrives))
		return;
	packet_ends(line, &from, &to);
	from = adapter_of(from);
	to = adapter_of(to);
	if (is_at(from, passed->from) && is_at(to, passed->to))
		passed_count(passed, trace_value(line, "op"), NO_ERROR);
	else
		passed_link(passed, from, to);
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
	passed->link_count = 0;
	passed->more_links = passed->from_seen = passed->to_seen = false;
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

static void print_end(struct span adapter, const char *behind, struct text *text)
{
	size_t n = strlen(behind);

	if (adapter.length > n && !memcmp(adapter.s + adapter.length - n, behind, n))
		adapter.length -= n;
	text_printable(text, adapter.s, adapter.length);
}

void passed_print_links(const struct passed *passed, const char *behind, struct text *text)
{
	bool seen = passed->from_seen && passed->to_seen;
	size_t i;

	if (passed->total || !passed->link_count)
		return;
	text_add(text, seen ? "; packets passed" : "; did you mean");
	for (i = 0; i < passed->link_count; i++) {
		text_add(text, "%s ", i ? "," : "");
		print_end(passed->links[i].from, behind, text);
		text_add(text, ">");
		print_end(passed->links[i].to, behind, text);
		text_add(text, " (%llu packet%s)", (unsigned long long)passed->links[i].times,
			 passed->links[i].times == 1 ? "" : "s");
	}
	text_add(text, "%s%s", passed->more_links ? " or another" : "", seen ? "" : "?");
}
