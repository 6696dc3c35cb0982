/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words each line of a trace for the columns of a timeline: calls, packets, counts and events.
 */
#include "show.h"

#include <string.h>

#include "show_verbs.h"
#include "trace_fault.h"

#define BAR 10

/* ---- names ---- */

static void split_name(struct span name, struct span *actor, struct span *object)
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

static void add_span(struct text *text, struct span span)
{
	text_printable(text, span.s, span.length);
}

/* A word of the trace without a redundant prefix. */
static struct span strip_prefix(struct span span, const char *prefix)
{
	size_t n = strlen(prefix);

	if (span_starts(span, prefix)) {
		span.s += n;
		span.length -= n;
	}
	return span;
}

static struct span short_event(struct span number)
{
	static const char *const prefixes[] = { "DAT_", "CONNECTION_EVENT_", "ASYNC_ERROR_",
						"ASYNC_SRQ_", "ASYNC_EP_" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++)
		number = strip_prefix(number, prefixes[i]);
	if (!span_is(number, "CONNECTION_REQUEST"))
		number = strip_prefix(number, "CONNECTION_");
	return number;
}

/* ---- the shared queue ---- */

static struct queue *queue_of(struct timeline *timeline, struct span object)
{
	size_t i;

	for (i = 0; i < timeline->queue_count; i++) {
		if (timeline->queues[i].object.length == object.length &&
		    !memcmp(timeline->queues[i].object.s, object.s, object.length))
			return &timeline->queues[i];
	}
	timeline->queues =
		mem_grow(timeline->queues, (timeline->queue_count + 1) * sizeof(*timeline->queues));
	memset(&timeline->queues[timeline->queue_count], 0, sizeof(*timeline->queues));
	timeline->queues[timeline->queue_count].object = object;
	return &timeline->queues[timeline->queue_count++];
}

static void add_bar(const struct timeline *timeline, struct text *text, const struct queue *queue)
{
	static const char *const glyphs[2][3] = { { "#", "o", "." }, { "█", "▒", "·" } };
	const char *const *glyph = glyphs[timeline->terminal->utf8];
	uint64_t i, cells = queue->max < BAR ? queue->max : BAR;
	uint64_t scale = queue->max ? queue->max : 1, at;

	text_add(text, "[");
	for (i = 0; i < cells; i++) {
		at = i * scale / (cells ? cells : 1);
		text_add(text, "%s",
			 at < queue->available     ? glyph[0]
			 : at < queue->outstanding ? glyph[1]
						   : glyph[2]);
	}
	text_add(text, "] %llu/%llu/%llu", (unsigned long long)queue->max,
		 (unsigned long long)queue->available, (unsigned long long)queue->outstanding);
}

static void show_counts(struct timeline *timeline, struct row *row, const struct queue *queue)
{
	add_bar(timeline, &row->cells[COLUMN_COUNTS], queue);
}

static void set_counts(struct queue *queue, const struct trace_line *line)
{
	if (trace_value(line, "max").length)
		queue->max = trace_number(line, "max");
	if (trace_value(line, "low").length)
		queue->low = trace_number(line, "low");
	if (trace_value(line, "available").length)
		queue->available = trace_number(line, "available");
	if (trace_value(line, "outstanding").length)
		queue->outstanding = trace_number(line, "outstanding");
	else if (span_starts(line->verb, "ibv_"))
		queue->outstanding =
			queue->available; /* verbs does not count those that were taken */
}

/* ---- calls of programs ---- */

/* actor: dat_<kind>_<verb>(object, a, b) */
static void call_cell(const struct timeline *timeline, const struct trace_line *line,
		      struct row *row, const char *call, const char *const *keys)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	struct span actor, object;
	size_t i;

	split_name(name_of(timeline, line->object), &actor, &object);
	add_span(text, actor);
	text_add(text, ": %s(", call);
	add_span(text, object);
	for (i = 0; keys && keys[i]; i++) {
		if (!trace_value(line, keys[i]).length)
			continue;
		text_add(text, ", ");
		if (span_is(trace_value(line, keys[i]), "-1"))
			text_add(text, "INFINITE");
		else
			add_span(text, trace_value(line, keys[i]));
	}
	text_add(text, ")");
}

static const struct {
	const char *kind; /* in the object's name */
	const char *verb;
	const char *call;
	const char *keys[3];
} calls[] = {
	{ ".ep", "post_send", "dat_ep_post_send", { "bytes" } },
	{ ".ep", "post_recv", "dat_ep_post_recv", { "bytes" } },
	{ ".ep", "post_rdma_write", "dat_ep_post_rdma_write", { "bytes" } },
	{ ".ep", "post_rdma_read", "dat_ep_post_rdma_read", { "bytes" } },
	{ ".ep", "post_bind", "dat_rmr_bind", { "bytes" } },
	{ ".ep", "set_watermark", "dat_ep_set_watermark", { "soft", "hard" } },
	{ ".ep", "connect", "dat_ep_connect", { NULL } },
	{ ".ep", "disconnect", "dat_ep_disconnect", { NULL } },
	{ ".srq", "create", "dat_srq_create", { "max", "low" } },
	{ ".srq", "post_recv", "dat_srq_post_recv", { "bytes" } },
	{ ".srq", "set_lw", "dat_srq_set_lw", { "low" } },
	{ ".srq", "resize", "dat_srq_resize", { "max" } },
	{ ".cr", "accept", "dat_cr_accept", { "ep" } },
	{ ".cr", "reject", "dat_cr_reject", { NULL } },
};

static bool is_kind(struct span object, const char *kind)
{
	const char *dot = memchr(object.s, '.', object.length);

	return dot &&
	       span_starts((struct span){ dot, object.length - (size_t)(dot - object.s) }, kind);
}

static void srq_cell(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct queue *queue = queue_of(timeline, line->object);

	set_counts(queue, line);
	if (trace_value(line, "max").length || trace_value(line, "available").length)
		show_counts(timeline, row, queue);
}

static bool show_call(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!span_is(line->verb, calls[i].verb) || !is_kind(line->object, calls[i].kind))
			continue;
		call_cell(timeline, line, row, calls[i].call, calls[i].keys);
		if (is_kind(line->object, ".srq"))
			srq_cell(timeline, line, row);
		return true;
	}
	return false;
}

static void reap_cell(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	struct span actor, object, status = trace_value(line, "status");
	struct queue *queue;

	split_name(name_of(timeline, line->object), &actor, &object);
	add_span(text, actor);
	text_add(text, ": reaps the ");
	add_span(text, trace_value(line, "op"));
	text_add(text, " of ");
	add_span(text, object);
	if (!span_is(status, "SUCCESS")) {
		text_add(text, ", ");
		add_span(text, status);
	}
	if (!trace_value(line, "srq").length)
		return;
	queue = queue_of(timeline, trace_value(line, "srq"));
	set_counts(queue, line);
	show_counts(timeline, row, queue);
}

static void actor_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row, const char *does, struct span what)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	struct span actor, object;

	split_name(name_of(timeline, line->object), &actor, &object);
	add_span(text, actor);
	text_add(text, ": %s", does);
	add_span(text, what);
}

/* ---- packets on the wire ---- */

static void add_message(struct text *text, const struct trace_line *line)
{
	if (!trace_value(line, "message").length)
		return;
	text_add(text, " #");
	add_span(text, trace_value(line, "message"));
}

/* The short name of a packet: SEND, FIRST or LAST for a Send, READ, ACK ... */
static struct span short_op(struct span op)
{
	static const char only[] = "_ONLY";
	size_t n = sizeof(only) - 1;

	if (op.length > n && !memcmp(op.s + op.length - n, only, n))
		op.length -= n;
	if (span_is(op, "READ_REQUEST"))
		op.length = 4;
	return span_starts(op, "READ_") ? strip_prefix(op, "READ_") : strip_prefix(op, "SEND_");
}

static void packet_cell(const struct timeline *timeline, const struct trace_line *line,
			struct row *row)
{
	struct text *text = &row->cells[COLUMN_WIRE];
	struct span from, to, object;

	packet_ends(line, &from, &to);
	split_name(name_of(timeline, from), &from, &object);
	split_name(name_of(timeline, to), &to, &object);
	add_span(text, actor_on(timeline, from));
	text_add(text, ">");
	add_span(text, actor_on(timeline, to));
	text_add(text, " ");
	add_span(text, short_op(trace_value(line, "op")));
	add_message(text, line);
}

/* A packet that a fault hit. */
static void fault_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	packet_cell(timeline, line, row);
	fault_words(line, &row->cells[COLUMN_EVENT]);
	row->alarm = true;
}

/* A call, completion, event or adapter that a fault hit. */
static void other_fault_cell(const struct timeline *timeline, const struct trace_line *line,
			     struct row *row)
{
	struct text *text = &row->cells[COLUMN_EVENT];

	add_span(text, name_of(timeline, line->object));
	text_add(text, " ");
	other_fault_words(line, text);
	row->alarm = true;
}

static void rule_cell(const struct trace_line *line, struct row *row)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];

	if (trace_value(line, "clear").length)
		text_add(text, "no faults any more");
	if (!trace_value(line, "add").length)
		return;
	text_add(text, "fault ");
	add_span(text, trace_value(line, "add"));
	text_add(text, ": ");
	add_span(text, trace_value(line, "verdict"));
}

/* A retransmission, or a packet that the receiver ignores: a duplicate, or out of order. */
static void again_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	struct text *text = &row->cells[COLUMN_WIRE];
	struct span at = trace_value(line, "at");

	add_span(text, name_of(timeline, line->object));
	if (span_is(line->verb, "retry")) {
		text_add(text, " sends again from");
		add_message(text, line);
		text_add(text, ", try ");
		add_span(text, trace_value(line, "try"));
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

	add_span(text, name_of(timeline, line->object));
	text_add(text, " fails");
	add_message(text, line);
	text_add(text, ": ");
	add_span(text, trace_value(line, "cause"));
	row->alone = true;
}

/* A hold or a release of a link (emu0>emu1) or of a message of an EP. */
static void hold_cell(const struct timeline *timeline, const struct trace_line *line,
		      struct row *row)
{
	struct text *text = &row->cells[COLUMN_WIRE];
	const char *to = memchr(line->object.s, '>', line->object.length);
	struct span from = line->object;

	if (to) {
		from.length = (size_t)(to - from.s);
		add_span(text, actor_on(timeline, from));
		text_add(text, ">");
		add_span(text,
			 actor_on(timeline,
				  (struct span){ to + 1, line->object.length - from.length - 1 }));
	} else {
		add_span(text, name_of(timeline, line->object));
	}
	add_message(text, line);
	text_add(text, span_is(line->verb, "hold") ? " held" : " released");
	row->alone = true;
}

static void take_cell(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct span from = trace_value(line, "from");
	struct queue *queue;

	if (span_is(from, "rq")) {
		text_add(&row->cells[COLUMN_COUNTS], "taken: ");
		add_span(&row->cells[COLUMN_COUNTS], trace_value(line, "taken"));
		return;
	}
	queue = queue_of(timeline, from);
	set_counts(queue, line);
	if (verbs_object(line))
		queue->outstanding = queue->available;
	show_counts(timeline, row, queue);
}

/* ---- completions and events ---- */

static void complete_cell(const struct timeline *timeline, const struct trace_line *line,
			  struct row *row)
{
	struct text *text = &row->cells[COLUMN_EVENT];
	struct span status = trace_value(line, "status");

	add_span(text, name_of(timeline, line->object));
	text_add(text, " ");
	add_span(text, trace_value(line, "op"));
	if (!span_is(status, "SUCCESS")) {
		text_add(text, " ");
		add_span(text, status);
		row->alarm = true;
	} else if (span_is(trace_value(line, "op"), "RECV")) {
		text_add(text, " ");
		add_span(text, trace_value(line, "bytes"));
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
	add_span(text, number);
	text_add(text, " ");
	if (trace_value(line, "object").length)
		add_span(text, name_of(timeline, trace_value(line, "object")));
	else
		add_span(text, name_of(timeline, line->object));
	row->alarm = watermark || span_is(number, "BROKEN");
}

static void state_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	add_span(&row->cells[COLUMN_EVENT], name_of(timeline, line->object));
	text_add(&row->cells[COLUMN_EVENT], " ");
	add_span(&row->cells[COLUMN_EVENT], trace_value(line, "to"));
}

void cells_of(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	bool arrives;

	if (span_is(line->verb, "packet")) {
		packet_cell(timeline, line, row);
	} else if (is_fault(line, &arrives)) {
		fault_cell(timeline, line, row);
	} else if (span_is(line->verb, "fault")) {
		other_fault_cell(timeline, line, row);
	} else if (span_is(line->verb, "rule")) {
		rule_cell(line, row);
	} else if (verbs_cells(timeline, line, row)) {
		if (is_kind(line->object, ".srq"))
			srq_cell(timeline, line, row);
	} else if (span_is(line->verb, "retry") || span_is(line->verb, "ignore")) {
		again_cell(timeline, line, row);
	} else if (span_is(line->verb, "fail")) {
		fail_cell(timeline, line, row);
	} else if (span_is(line->verb, "take")) {
		take_cell(timeline, line, row);
	} else if (span_is(line->verb, "complete")) {
		complete_cell(timeline, line, row);
	} else if (span_is(line->verb, "event")) {
		event_cell(timeline, line, row);
	} else if (span_is(line->verb, "state")) {
		state_cell(timeline, line, row);
	} else if (span_is(line->verb, "reap")) {
		reap_cell(timeline, line, row);
	} else if (span_is(line->verb, "dequeue")) {
		actor_cell(timeline, line, row, "reads ", short_event(trace_value(line, "number")));
	} else if (span_is(line->verb, "refuse")) {
		struct span call = trace_value(line, "call");

		actor_cell(timeline, line, row, "", call);
		text_add(&row->cells[COLUMN_PROGRAM], " = ");
		add_span(&row->cells[COLUMN_PROGRAM],
			 strip_prefix(trace_value(line, "type"), "DAT_"));
	} else if (span_is(line->verb, "hold") || span_is(line->verb, "release")) {
		hold_cell(timeline, line, row);
	} else if (!show_call(timeline, line, row)) {
		add_span(&row->cells[COLUMN_PROGRAM], name_of(timeline, line->object));
		text_add(&row->cells[COLUMN_PROGRAM], " ");
		add_span(&row->cells[COLUMN_PROGRAM], line->verb);
		text_add(&row->cells[COLUMN_PROGRAM], line->rest.length ? " " : "");
		add_span(&row->cells[COLUMN_PROGRAM], line->rest);
	}
}
