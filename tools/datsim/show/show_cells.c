/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words each line of a trace for the columns of a timeline: packets, completions and events. Calls
 * are in show_calls.c, counts in show_counts.c, rules in show_rules.c.
 */
#include "show.h"

#include <string.h>

#include "show_verbs.h"
#include "trace_fault.h"

/* ---- spans ---- */

void split_name(struct span name, struct span *actor, struct span *object)
{
	const char *dot = memchr(name.s, '.', name.length);

	*actor = name;
	*object = name;
	if (!dot)
		return;
	actor->length = (size_t)(dot - name.s);
	object->s = dot + 1;
	object->length = name.length - actor->length - 1;
}

void text_span(struct text *text, struct span span)
{
	text_printable(text, span.s, span.length);
}

struct span strip_prefix(struct span span, const char *prefix)
{
	size_t n = strlen(prefix);

	if (span_starts(span, prefix)) {
		span.s += n;
		span.length -= n;
	}
	return span;
}

bool is_kind(struct span object, const char *kind)
{
	const char *dot = memchr(object.s, '.', object.length);

	return dot &&
	       span_starts((struct span){ dot, object.length - (size_t)(dot - object.s) }, kind);
}

/* ---- packets on the wire ---- */

static void add_message(struct text *text, const struct trace_line *line)
{
	if (!trace_value(line, "message").length)
		return;
	text_add(text, " #");
	text_span(text, trace_value(line, "message"));
}

/* The name of a packet: SEND for a SEND_ONLY, SEND_FIRST, READ for its request, ACK ... */
static struct span short_op(struct span op)
{
	static const char only[] = "_ONLY";
	size_t n = sizeof(only) - 1;

	if (op.length > n && !memcmp(op.s + op.length - n, only, n))
		op.length -= n;
	if (span_is(op, "READ_REQUEST"))
		op.length = 4;
	return op;
}

static void packet_cell(const struct timeline *timeline, const struct trace_line *line,
			struct row *row)
{
	struct text *text = &row->cells[COLUMN_WIRE];
	struct span from, to, object;

	packet_ends(line, &from, &to);
	split_name(name_of(timeline, from), &from, &object);
	split_name(name_of(timeline, to), &to, &object);
	text_span(text, actor_on(timeline, from));
	text_add(text, ">");
	text_span(text, actor_on(timeline, to));
	text_add(text, " ");
	text_span(text, short_op(trace_value(line, "op")));
	add_message(text, line);
}

/* A packet that a fault hit. */
static void fault_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	packet_cell(timeline, line, row);
	fault_words(line, &row->cells[COLUMN_EVENT]);
	rule_line(timeline, line, &row->cells[COLUMN_EVENT]);
	row->alarm = true;
}

/* A call, completion, event or adapter that a fault hit. */
static void other_fault_cell(const struct timeline *timeline, const struct trace_line *line,
			     struct row *row)
{
	struct text *text = &row->cells[COLUMN_EVENT];

	text_span(text, actor_on(timeline, name_of(timeline, line->object)));
	text_add(text, " ");
	other_fault_words(line, text);
	rule_words(timeline, line, text);
	row->alarm = true;
	row->alone = true; /* long words */
}

/* A retransmission, or a packet that the receiver ignores: a duplicate, or out of order. */
static void again_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	struct text *text = &row->cells[COLUMN_WIRE];
	struct span at = trace_value(line, "at");

	text_span(text, name_of(timeline, line->object));
	if (span_is(line->verb, "retry")) {
		text_add(text, " sends again from");
		add_message(text, line);
		text_add(text, ", try ");
		text_span(text, trace_value(line, "try"));
	} else {
		text_add(text, " ignores");
		add_message(text, line);
		text_add(text, "%s",
			 span_is(at, "DUPLICATE")                         ? ", it had that"
			 : span_is(at, "SEQUENCE") || span_is(at, "TURN") ? ", something is missing"
									  : "");
	}
	row->alone = true;
}

/* Why a request fails, on the line of the EP that found the error. */
static void fail_cell(const struct timeline *timeline, const struct trace_line *line,
		      struct row *row)
{
	struct text *text = &row->cells[COLUMN_WIRE];

	text_span(text, name_of(timeline, line->object));
	text_add(text, " fails");
	add_message(text, line);
	text_add(text, ": ");
	text_span(text, trace_value(line, "cause"));
	row->alone = true;
}

/* A hold or a release of a link (emu0>emu1) or of a message of an EP. */
static void link_cell(const struct timeline *timeline, const struct trace_line *line,
		      struct row *row)
{
	struct text *text = &row->cells[COLUMN_WIRE];
	const char *to = memchr(line->object.s, '>', line->object.length);
	struct span from = line->object;

	if (to) {
		from.length = (size_t)(to - from.s);
		text_span(text, actor_on(timeline, from));
		text_add(text, ">");
		text_span(text,
			  actor_on(timeline,
				   (struct span){ to + 1, line->object.length - from.length - 1 }));
	} else {
		text_span(text, name_of(timeline, line->object));
	}
	add_message(text, line);
	row->alone = true;
	if (!span_is(line->verb, "set")) {
		text_add(text, span_is(line->verb, "hold") ? " held" : " released");
		return;
	}
	text_add(text, ": ");
	text_span(text, line->rest);
}

/* ---- completions and events ---- */

static void complete_cell(const struct timeline *timeline, const struct trace_line *line,
			  struct row *row)
{
	struct text *text = &row->cells[COLUMN_EVENT];
	struct span status = trace_value(line, "status");

	text_span(text, name_of(timeline, line->object));
	text_add(text, " ");
	text_span(text, trace_value(line, "op"));
	if (!span_is(status, "SUCCESS")) {
		text_add(text, " ");
		text_span(text, status);
		row->alarm = true;
	} else if (span_is(trace_value(line, "op"), "RECV")) {
		text_add(text, " ");
		text_span(text, trace_value(line, "bytes"));
		text_add(text, " B");
	}
}

static void event_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	struct text *text = &row->cells[COLUMN_EVENT];
	struct span number = short_event(trace_value(line, "number"));
	bool watermark = memmem(number.s, number.length, "WATERMARK", 9) != NULL;

	if (watermark)
		text_add(text, "%s ", timeline->terminal->utf8 ? "▼" : "!");
	text_span(text, number);
	text_add(text, " ");
	if (trace_value(line, "object").length)
		text_span(text, name_of(timeline, trace_value(line, "object")));
	else
		text_span(text, name_of(timeline, line->object));
	row->alarm = watermark || span_is(number, "BROKEN");
}

static void state_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	text_span(&row->cells[COLUMN_EVENT], name_of(timeline, line->object));
	text_add(&row->cells[COLUMN_EVENT], " ");
	text_span(&row->cells[COLUMN_EVENT], trace_value(line, "to"));
}

static void trigger_cell(const struct timeline *timeline, const struct trace_line *line,
			 struct row *row)
{
	struct text *text = &row->cells[COLUMN_EVENT];
	struct span actor, object;

	text_span(text, name_of(timeline, line->object));
	text_add(text, " told of ");
	split_name(name_of(timeline, trace_value(line, "evd")), &actor, &object);
	text_span(text, object);
}

/* What becomes of an object without a call of the program for it. */
static bool object_cell(const struct timeline *timeline, const struct trace_line *line,
			struct row *row)
{
	static const struct {
		const char *kind, *verb, *words;
		bool alarm;
	} words[] = {
		{ ".cr", "create", "arrives", false },
		{ ".cr", "free", "ends", false },
		{ ".id", "free", "is connected no more", false },
		{ ".listen", "free", "listens no more", false },
		{ ".evd", "overflow", "overflows", true },
		{ ".cq", "overflow", "overflows", true },
		{ ".qp", "unfinished", "is destroyed, unfinished:", true },
		{ ".qp", "path", "has a path:", false },
	};
	struct text *text = &row->cells[COLUMN_EVENT];
	size_t i = 0;

	while (i < ARRAY_SIZE(words) &&
	       !(is_kind(line->object, words[i].kind) && span_is(line->verb, words[i].verb)))
		i++;
	if (i == ARRAY_SIZE(words))
		return false;
	text_span(text, name_of(timeline, line->object));
	text_add(text, " %s", words[i].words);
	row->alarm = words[i].alarm;
	row->alone = true;
	if (span_is(line->verb, "unfinished")) {
		text_add(text, " ");
		text_span(text, trace_value(line, "requests"));
	} else if (span_is(line->verb, "path")) {
		text_add(text, " ");
		text_span(text, line->rest);
	}
	return true;
}

/* Lines that show what they say. */
static void plain_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];

	text_span(text, name_of(timeline, line->object));
	text_add(text, " ");
	text_span(text, line->verb);
	text_add(text, line->rest.length ? " " : "");
	text_span(text, line->rest);
}

static bool wire_cells(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	bool arrives;

	if (span_is(line->verb, "packet"))
		packet_cell(timeline, line, row);
	else if (is_fault(line, &arrives))
		fault_cell(timeline, line, row);
	else if (span_is(line->verb, "fault"))
		other_fault_cell(timeline, line, row);
	else if (span_is(line->verb, "rule"))
		rule_cell(timeline, line, row);
	else
		return false;
	return true;
}

static bool nic_cells(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	if (span_is(line->verb, "retry") || span_is(line->verb, "ignore"))
		again_cell(timeline, line, row);
	else if (span_is(line->verb, "fail"))
		fail_cell(timeline, line, row);
	else if (span_is(line->verb, "take"))
		take_counts(timeline, line, row);
	else if (span_is(line->verb, "complete"))
		complete_cell(timeline, line, row);
	else if (span_is(line->verb, "event"))
		event_cell(timeline, line, row);
	else if (span_is(line->verb, "hold") || span_is(line->verb, "release") ||
		 span_is(line->verb, "set"))
		link_cell(timeline, line, row);
	else if (span_is(line->verb, "trigger"))
		trigger_cell(timeline, line, row);
	else if (call_cells(timeline, line, row))
		return true;
	else if (span_is(line->verb, "state"))
		state_cell(timeline, line, row);
	else
		return object_cell(timeline, line, row);
	return true;
}

void cells_of(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	rule_note(timeline, line);
	if (wire_cells(timeline, line, row))
		return;
	if (verbs_cells(timeline, line, row)) {
		if (is_kind(line->object, ".srq"))
			queue_counts(timeline, line, row);
	} else if (!nic_cells(timeline, line, row)) {
		plain_cell(timeline, line, row);
	}
}
