/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkers of a program's trace (watch.h). */
#include "watch_table.h"

#include <stdlib.h>
#include <string.h>

#define VIOLATIONS_SHOWN 8
#define REQUESTS_SHOWN   4

#define PSN_BITS 24

/* ---- what is wrong ---- */

static void watch_violate(struct watch *watch, const struct trace_line *line, const char *rule,
			  const char *what, const struct watch_entry *entry)
{
	struct text *text = &watch->violations;

	if (++watch->violation_count > VIOLATIONS_SHOWN)
		return;
	text_add(text, "checker: %s: ", rule);
	text_printable(text, line->object.s, line->object.length);
	text_add(text, " %s", what);
	if (entry && entry->op.length) {
		text_add(text, " (");
		text_printable(text, entry->op.s, entry->op.length);
		if (entry->message)
			text_add(text, " #%llu", (unsigned long long)entry->message);
		if (entry->has_id)
			text_add(text, ", wr_id %llu", (unsigned long long)entry->wr_id);
		text_add(text, ")");
	}
	text_add(text, ": %llu ", (unsigned long long)line->ns);
	text_printable(text, line->object.s,
		       (size_t)(line->rest.s - line->object.s) + line->rest.length);
	text_add(text, "\n");
}

/* ---- requests that never complete ---- */

static void tell_left(struct watch *watch, struct watched *one)
{
	size_t n = one->posted.count - one->posted.first, i;
	const struct watch_entry *entry;
	struct text *text = &watch->left;

	if (!one->verbs || !n)
		return;
	entry = &one->posted.entries[one->posted.first];
	text_printable(text, one->object.s, one->object.length);
	text_add(text, " (number %llu), %zu request%s: ", (unsigned long long)one->number, n,
		 n == 1 ? "" : "s");
	for (i = 0; i < n && i < REQUESTS_SHOWN; i++) {
		text_add(text, "%s", i ? ", " : "");
		text_printable(text, entry[i].op.s, entry[i].op.length);
		text_add(text, entry[i].has_id ? " wr_id %llu" : " #%llu",
			 (unsigned long long)(entry[i].has_id ? entry[i].wr_id : entry[i].message));
	}
	if (n > REQUESTS_SHOWN)
		text_add(text, " and %zu more", n - REQUESTS_SHOWN);
	text_add(text, "\n");
}

/* A new connection; completions of the earlier one may still wait for the program. */
static void connect_anew(struct watch *watch, struct watched *one)
{
	tell_left(watch, one);
	watch_list_clear(&one->posted);
	one->last = 0;
	one->failed = one->has_packet = one->again = false;
	one->refusals = one->in_a_row = 0;
}

/* Nothing is left of a QP that is reset or freed. */
static void begin_anew(struct watch *watch, struct watched *one)
{
	connect_anew(watch, one);
	one->limited = false;
	watch_list_clear(&one->sent);
	watch_list_clear(&one->receives);
	watch_list_clear(&one->received);
}

/* Does the trace show everything that happened to it? */
static bool is_known(struct watch *watch, struct span object)
{
	return !watch->late || watch_object(watch, object)->made;
}

/* ---- requests and completions ---- */

/* The name of a request's completion, by the verb of its post. */
static struct span op_of(struct span verb)
{
	static const struct {
		const char *verb, *op;
	} ops[] = {
		{ "post_send", "SEND" },           { "post_rdma_write", "RDMA_WRITE" },
		{ "post_rdma_read", "RDMA_READ" }, { "post_compare_swap", "COMPARE_SWAP" },
		{ "post_fetch_add", "FETCH_ADD" }, { "post_bind", "BIND" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		if (span_is(verb, ops[i].verb))
			return (struct span){ ops[i].op, strlen(ops[i].op) };
	}
	return (struct span){ "", 0 };
}

static struct watch_entry entry_of(const struct trace_line *line, struct span op)
{
	return (struct watch_entry){ .op = op,
				     .status = trace_value(line, "status"),
				     .message = trace_number(line, "message"),
				     .wr_id = trace_number(line, "wr_id"),
				     .has_id = trace_value(line, "wr_id").length > 0,
				     .unsignaled = trace_value(line, "unsignaled").length > 0 };
}

static void take_post(struct watch *watch, const struct trace_line *line)
{
	struct watched *one = watch_object(watch, line->object);
	struct watch_entry entry = entry_of(line, op_of(line->verb));
	const struct watch_list *posted = &one->posted;

	/* Message numbers begin again with each connection. */
	if (entry.message && (entry.message <= one->last ||
			      (posted->count > posted->first &&
			       entry.message <= posted->entries[posted->count - 1].message)))
		connect_anew(watch, one);
	watch_list_add(&one->posted, &entry);
}

static void check_flush(struct watch *watch, const struct trace_line *line, struct watched *one,
			const struct watch_entry *entry)
{
	bool flushed = span_is(entry->status, "FLUSHED");

	if (one->failed && !flushed && one->reliable)
		watch_violate(watch, line, "once one request has failed, the others are flushed",
			      "does otherwise", entry);
	one->failed |= !span_is(entry->status, "SUCCESS");
}

/* Without late packets, the requester counts each RNR NAK. */
static void take_refusal(struct watch *watch, const struct trace_line *line)
{
	struct watched *one = watch_object(watch, trace_value(line, "to"));

	if (!is_known(watch, one->object))
		return;
	one->refusals++;
	if (++one->in_a_row > one->rnr_retry + 1 && one->limited && !one->again && !watch->twisted)
		watch_violate(watch, line, "a QP tries no more often than it may after RNR NAKs",
			      "refuses once more", NULL);
}

static void take_ack(struct watch *watch, const struct trace_line *line)
{
	struct watched *one = watch_object(watch, trace_value(line, "to"));

	one->refusals = one->in_a_row = 0;
	one->again = false;
}

static void check_refusals(struct watch *watch, const struct trace_line *line, struct watched *one,
			   const struct watch_entry *entry)
{
	if (span_is(entry->status, "RECEIVER_NOT_READY") && one->limited &&
	    one->refusals <= one->rnr_retry)
		watch_violate(watch, line, "a QP tries as often as it may after RNR NAKs",
			      "ends a request before", entry);
	if (span_is(entry->status, "SUCCESS"))
		one->in_a_row = 0;
}

static void complete_request(struct watch *watch, const struct trace_line *line,
			     struct watched *one, struct watch_entry *entry)
{
	const struct watch_entry *oldest = watch_list_oldest(&one->posted);

	if (oldest && oldest->message == entry->message) {
		entry->wr_id = oldest->wr_id;
		entry->has_id = oldest->has_id;
		entry->unsignaled = oldest->unsignaled;
		if (!watch_same(oldest->op, entry->op))
			watch_violate(watch, line, "a request completes as what it was posted as",
				      "completes as another", oldest);
		watch_list_take(&one->posted);
	} else if (!entry->message) {
		; /* posted to a QP in the error state, and flushed at once */
	} else if (oldest && entry->message > oldest->message) {
		watch_violate(watch, line, "requests complete in the order of the posts",
			      "has an older request", oldest);
		while (oldest && oldest->message <= entry->message) {
			watch_list_take(&one->posted);
			oldest = watch_list_oldest(&one->posted);
		}
	} else {
		watch_violate(watch, line, "each request completes once, after its post",
			      entry->message <= one->last ? "completes one again"
							  : "completes one that was not posted",
			      entry);
		return;
	}
	check_flush(watch, line, one, entry);
	check_refusals(watch, line, one, entry);
	if (entry->message)
		one->last = entry->message;
	if (!entry->unsignaled || !span_is(entry->status, "SUCCESS"))
		watch_list_add(&one->sent, entry);
}

static void take_completion(struct watch *watch, const struct trace_line *line)
{
	struct watched *one = watch_object(watch, line->object);
	struct watch_entry entry = entry_of(line, trace_value(line, "op"));

	if (span_is(entry.op, "RECV"))
		watch_list_add(&one->received, &entry);
	else
		complete_request(watch, line, one, &entry);
}

/* ---- what the program gets ---- */

/* Is the status that the program gets the NIC's? Only success is told apart here. */
static bool same_outcome(const struct watch_entry *done, struct span got)
{
	return span_is(done->status, "SUCCESS") ==
	       (span_is(got, "SUCCESS") || span_is(got, "IBV_WC_SUCCESS"));
}

#define LOST "lost: a Receive of "

/* A note says that a Receive that had completed fails after all: has one not been polled yet? */
static bool take_lost(struct watch *watch)
{
	return watch->lost > 0 && watch->lost-- > 0;
}

/* uDAPL's lines do not say which successes are told, nor of which kind of request one is. */
static void pass_untold(struct watch_list *list, struct span got)
{
	const struct watch_entry *oldest = watch_list_oldest(list);

	while (oldest && span_is(oldest->status, "SUCCESS") && !same_outcome(oldest, got)) {
		watch_list_take(list);
		oldest = watch_list_oldest(list);
	}
}

static void take_poll(struct watch *watch, const struct trace_line *line)
{
	struct watched *one = watch_object(watch, line->object);
	struct span op = trace_value(line, one->verbs ? "opcode" : "op");
	bool received = span_is(op, "RECV") || span_starts(op, "IBV_WC_RECV");
	struct watch_list *list = received ? &one->received : &one->sent;
	struct watch_entry got = entry_of(line, op), *oldest;

	if (!one->verbs && !received)
		pass_untold(list, got.status);
	oldest = watch_list_oldest(list);
	if (!oldest) {
		watch_violate(watch, line, "the program gets each completion once",
			      "has no completion that it did not get before", &got);
		return;
	}
	if ((!same_outcome(oldest, got.status) && !(received && take_lost(watch))) ||
	    (!received && oldest->has_id && got.has_id && oldest->wr_id != got.wr_id))
		watch_violate(watch, line, "the program gets completions in order",
			      "has an older one that it did not get", oldest);
	watch_list_take(list);
	if (!received || !one->verbs || one->shared)
		return;
	oldest = watch_list_oldest(&one->receives);
	if (!oldest)
		watch_violate(watch, line, "a Receive completes once, after its post",
			      "has none that is posted", &got);
	else if (oldest->has_id && got.has_id && oldest->wr_id != got.wr_id)
		watch_violate(watch, line, "Receives complete in the order of the posts",
			      "has an older one", oldest);
	if (oldest)
		watch_list_take(&one->receives);
}

/* ---- packets ---- */

static bool is_request(struct span op)
{
	return span_starts(op, "SEND_") || span_starts(op, "WRITE_") || span_starts(op, "UC_") ||
	       span_starts(op, "UD_") || span_is(op, "READ_REQUEST") ||
	       span_is(op, "COMPARE_SWAP") || span_is(op, "FETCH_ADD");
}

/* Later packets of a QP have later numbers; one that comes again has that of before. */
static void take_packet(struct watch *watch, const struct trace_line *line)
{
	uint64_t message = trace_number(line, "message"), packet = trace_number(line, "packet");
	uint32_t psn = (uint32_t)trace_number(line, "psn");
	struct watched *one;
	int32_t ahead;
	int order;

	if (span_is(trace_value(line, "op"), "RNR_NAK"))
		take_refusal(watch, line);
	else if (span_is(trace_value(line, "op"), "ACK"))
		take_ack(watch, line);
	if (!is_request(trace_value(line, "op")) || !trace_value(line, "psn").length)
		return;
	if (!is_known(watch, line->object))
		return;
	one = watch_object(watch, line->object);
	ahead = (int32_t)((psn - one->psn) << (32 - PSN_BITS));
	order = message != one->message ? (message > one->message ? 1 : -1)
		: packet != one->packet ? (packet > one->packet ? 1 : -1)
					: 0;
	if (one->has_packet && (order > 0 ? ahead <= 0 : order < 0 ? ahead >= 0 : ahead != 0))
		watch_violate(watch, line, "packets are numbered in the order of the requests",
			      "sends one that is not", NULL);
	if (one->has_packet && order <= 0)
		return;
	one->has_packet = true;
	one->message = message;
	one->packet = packet;
	one->psn = psn;
}

/* ---- events ---- */

static struct watch_event *event_of(struct watch *watch, const struct trace_line *line)
{
	struct span number = trace_value(line, "number");
	size_t i;

	for (i = 0; i < watch->event_count; i++) {
		if (watch_same(watch->events[i].object, line->object) &&
		    watch_same(watch->events[i].number, number))
			return &watch->events[i];
	}
	watch->events = mem_grow(watch->events, (i + 1) * sizeof(*watch->events));
	watch->events[i] = (struct watch_event){ .object = line->object, .number = number };
	watch->event_count++;
	return &watch->events[i];
}

static void take_event(struct watch *watch, const struct trace_line *line)
{
	struct watch_event *event = event_of(watch, line);

	if (span_is(line->verb, "event"))
		event->waiting++;
	else if (event->waiting)
		event->waiting--;
	else
		watch_violate(watch, line, "the program gets each event once", "had no such event",
			      NULL);
}

/* ---- lines ---- */

/* Lines after which completions and events are not what the NIC made of them. */
static bool line_spoils(const struct trace_line *line)
{
	struct span number = trace_value(line, "number");

	return span_is(line->verb, "overflow") || span_is(number, "IBV_EVENT_CQ_ERR") ||
	       (span_is(line->verb, "fault") && !span_is(trace_value(line, "does"), "pass"));
}

static bool line_twists(const struct trace_line *line)
{
	return span_is(line->verb, "duplicate") || span_is(line->verb, "delay") ||
	       span_is(line->verb, "reorder") || span_is(line->verb, "hold");
}

static bool line_kills(const struct trace_line *line)
{
	return span_is(line->verb, "note") && ((span_starts(line->rest, "process ") ||
						span_starts(line->rest, "a process died")) ||
					       span_starts(line->rest, "the trace is full"));
}

static void take_state(struct watch *watch, const struct trace_line *line)
{
	struct watched *one = watch_object(watch, line->object);
	struct span to = trace_value(line, "to");

	if (span_is(line->verb, "create")) {
		begin_anew(watch, one);
		one->number = trace_number(line, "qpn");
		one->reliable = !one->verbs || span_is(trace_value(line, "type"), "RC");
		one->shared = trace_value(line, "srq").length > 0;
	} else if (span_is(line->verb, "free") || span_is(to, "RESET")) {
		begin_anew(watch, one);
	} else if (span_is(to, "RTS") || span_is(to, "CONNECTED")) {
		one->failed = false;
	} else if (span_is(line->verb, "retry")) {
		one->again = true;
	} else if (span_is(line->verb, "path") && trace_value(line, "rnr_retry").length) {
		one->rnr_retry = trace_number(line, "rnr_retry");
		one->limited = one->rnr_retry < RNR_FOR_EVER;
		one->in_a_row = 0; /* in SQD a new limit may be set between two tries */
	}
}

/* The library itself found it: emu/hostile/ */
static void take_violation(struct watch *watch, const struct trace_line *line)
{
	struct span rule = trace_value(line, "rule");
	struct watch_entry work = { .op = trace_value(line, "work"),
				    .message = trace_number(line, "message"),
				    .wr_id = trace_number(line, "wr_id"),
				    .has_id = trace_value(line, "wr_id").length > 0 };

	if (span_is(rule, "watch"))
		watch_violate(watch, line, "a buffer is the adapter's from post to completion",
			      "has one that the program changed", &work);
}

static void take_line(struct watch *watch, const struct trace_line *line)
{
	bool qp = watch_is_kind(line->object, ".qp"), ep = watch_is_kind(line->object, ".ep");

	watch->blind |= line_kills(line);
	watch->late |= trace_keeps_end(line);
	watch->spoiled |= line_spoils(line);
	watch->twisted |= line_twists(line);
	watch->lost += span_is(line->verb, "note") && span_starts(line->rest, LOST);
	if (span_is(line->verb, "violation"))
		take_violation(watch, line);
	if (watch->blind)
		return;
	if ((span_is(line->verb, "event") || span_is(line->verb, "dequeue") ||
	     span_is(line->verb, "ibv_get_async_event")) &&
	    !watch->spoiled && !watch->late)
		take_event(watch, line);
	if (!qp && !ep)
		return;
	if (span_is(line->verb, "create"))
		watch_object(watch, line->object)->made = true;
	else if (!span_is(line->verb, "packet") && !is_known(watch, line->object))
		return;
	if (span_starts(line->verb, "post_") && trace_value(line, "message").length)
		take_post(watch, line);
	else if (span_is(line->verb, "complete"))
		take_completion(watch, line);
	else if (span_is(line->verb, "packet"))
		take_packet(watch, line);
	else if ((span_is(line->verb, "ibv_poll_cq") || span_is(line->verb, "reap")) &&
		 !watch->spoiled)
		take_poll(watch, line);
	else if (span_is(line->verb, "ibv_post_recv"))
		watch_list_add(&watch_object(watch, line->object)->receives,
			       &(struct watch_entry){ .op = { "RECV", 4 },
						      .wr_id = trace_number(line, "wr_id"),
						      .has_id = trace_value(line, "wr_id").length >
								0 });
	else if (span_is(line->verb, "take") && !span_is(trace_value(line, "from"), "rq"))
		watch_object(watch, line->object)->shared = true;
	else
		take_state(watch, line);
}

void watch_read(struct watch *watch, const char *text, size_t length)
{
	struct trace_reader reader;
	struct trace_line line;
	size_t i;

	memset(watch, 0, sizeof(*watch));
	if (trace_open(&reader, "", text, length))
		while (trace_next(&reader, &line))
			take_line(watch, &line);
	trace_close(&reader);
	for (i = 0; i < watch->count && !watch->blind; i++)
		tell_left(watch, &watch->list[i]);
	if (watch->violation_count > VIOLATIONS_SHOWN)
		text_add(&watch->violations, "checker: and %zu more\n",
			 watch->violation_count - VIOLATIONS_SHOWN);
}

void watch_free(struct watch *watch)
{
	size_t i;

	for (i = 0; i < watch->count; i++) {
		free(watch->list[i].posted.entries);
		free(watch->list[i].sent.entries);
		free(watch->list[i].receives.entries);
		free(watch->list[i].received.entries);
	}
	free(watch->list);
	free(watch->slots);
	free(watch->events);
	text_free(&watch->left);
	text_free(&watch->violations);
}
