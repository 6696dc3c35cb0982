/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words the lines of verbs objects for the columns of a timeline, by the names of libibverbs and
 * librdmacm, and gives such objects short names.
 */
#include "show_verbs.h"

#include <stdlib.h>
#include <string.h>

/* ---- objects ---- */

static struct span kind_of(struct span object)
{
	const char *dot = memchr(object.s, '.', object.length);
	struct span kind = { object.s, 0 };

	if (!dot)
		return kind;
	kind = (struct span){ dot + 1, object.length - (size_t)(dot + 1 - object.s) };
	while (kind.length && kind.s[kind.length - 1] >= '0' && kind.s[kind.length - 1] <= '9')
		kind.length--;
	return kind;
}

static bool is_of(struct span object, const char *kind)
{
	return span_is(kind_of(object), kind);
}

bool verbs_object(const struct trace_line *line)
{
	static const char *const kinds[] = { "qp", "cq", "mr",     "mw",     "pd",
					     "ah", "id", "listen", "channel" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (is_of(line->object, kinds[i]))
			return true;
	}
	/* Both APIs have SRQs; only the calls differ. Devices have no kind. */
	return span_starts(line->verb, "ibv_") || span_starts(line->verb, "rdma_") ||
	       trace_value(line, "error").length ||
	       span_starts(trace_value(line, "number"), "IBV_EVENT_") ||
	       span_starts(trace_value(line, "number"), "RDMA_CM_EVENT_");
}

/* ---- wording ---- */

/* "qp1" of "emu0.qp1" */
static struct span own_name(struct span object)
{
	struct span kind = kind_of(object);

	if (kind.length)
		object = (struct span){ kind.s, object.length - (size_t)(kind.s - object.s) };
	return object;
}

/* "a: " */
static struct text *begin_call(const struct timeline *timeline, const struct trace_line *line,
			       struct row *row)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	struct span name = name_of(timeline, line->object);
	struct span kind = kind_of(name);

	if (kind.length)
		name.length = (size_t)(kind.s - name.s) - 1;
	else
		name = actor_on(timeline, name);
	text_span(text, name);
	text_add(text, ": ");
	return text;
}

/* The status of a completion as verbs calls it, by the word that the NIC has for it. */
static const char *status_of(struct span word)
{
	static const struct {
		const char *nic, *verbs;
	} words[] = {
		{ "FLUSHED", "WR_FLUSH_ERR" },        { "LOCAL_LENGTH", "LOC_LEN_ERR" },
		{ "LOCAL_EP", "LOC_QP_OP_ERR" },      { "LOCAL_PROTECTION", "LOC_PROT_ERR" },
		{ "BAD_RESPONSE", "BAD_RESP_ERR" },   { "REMOTE_ACCESS", "REM_ACCESS_ERR" },
		{ "REMOTE_RESPONDER", "REM_OP_ERR" }, { "TRANSPORT", "RETRY_EXC_ERR" },
		{ "PARTIAL", "GENERAL_ERR" },         { "RECEIVER_NOT_READY", "RNR_RETRY_EXC_ERR" },
		{ "BIND_FAILED", "MW_BIND_ERR" },     { "REMOTE_INVALID", "REM_INV_REQ_ERR" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (span_is(word, words[i].nic))
			return words[i].verbs;
	}
	return "?";
}

static void complete_cell(const struct timeline *timeline, const struct trace_line *line,
			  struct row *row)
{
	struct text *text = &row->cells[COLUMN_EVENT];
	struct span status = trace_value(line, "status");

	text_span(text, name_of(timeline, line->object));
	text_add(text, " ");
	text_span(text, trace_value(line, "op"));
	if (!span_is(status, "SUCCESS")) {
		text_add(text, " IBV_WC_%s", status_of(status));
		row->alarm = !span_is(status, "FLUSHED");
	} else if (span_is(trace_value(line, "op"), "RECV")) {
		text_add(text, " %llu B", (unsigned long long)trace_number(line, "bytes"));
	}
}

/* The opcode of a request, of enum ibv_wr_opcode. */
static void add_opcode(struct text *text, const struct trace_line *line)
{
	static const struct {
		const char *verb, *opcode;
	} opcodes[] = {
		{ "post_send", "SEND" },
		{ "post_rdma_write", "RDMA_WRITE" },
		{ "post_rdma_read", "RDMA_READ" },
		{ "post_compare_swap", "ATOMIC_CMP_AND_SWP" },
		{ "post_fetch_add", "ATOMIC_FETCH_AND_ADD" },
		{ "post_bind", "BIND_MW" },
	};
	bool invalidates = trace_value(line, "invalidate").length > 0;
	size_t i = 0;

	while (i < ARRAY_SIZE(opcodes) && !span_is(line->verb, opcodes[i].verb))
		i++;
	if (i < ARRAY_SIZE(opcodes))
		text_add(text, "%s", invalidates && i == 5 ? "LOCAL_INV" : opcodes[i].opcode);
	if (trace_value(line, "imm").length)
		text_add(text, "_WITH_IMM");
	else if (invalidates && i == 0)
		text_add(text, "_WITH_INV");
}

static void post_cell(const struct timeline *timeline, const struct trace_line *line,
		      struct row *row)
{
	struct text *text = begin_call(timeline, line, row);

	text_add(text, "ibv_post_send(");
	text_span(text, own_name(line->object));
	text_add(text, ", ");
	add_opcode(text, line);
	if (!span_is(line->verb, "post_bind"))
		text_add(text, ", %llu", (unsigned long long)trace_number(line, "bytes"));
	text_add(text, ")");
}

static void state_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	struct span by = trace_value(line, "by"), to = trace_value(line, "to");
	struct text *text = &row->cells[COLUMN_EVENT];

	if (span_starts(by, "ibv_")) {
		text = begin_call(timeline, line, row);
		text_span(text, by);
		text_add(text, "(");
		text_span(text, own_name(line->object));
		text_add(text, ", ");
		text_span(text, to);
		text_add(text, ")");
		return;
	}
	text_span(text, name_of(timeline, line->object));
	text_add(text, " ");
	text_span(text, to);
	row->alarm = span_is(to, "ERR") && span_is(by, "error");
}

static void event_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	struct text *text = &row->cells[COLUMN_EVENT];
	struct span number = trace_value(line, "number");

	row->alarm = memmem(number.s, number.length, "LIMIT", 5) ||
		     memmem(number.s, number.length, "_ERR", 4) ||
		     memmem(number.s, number.length, "FATAL", 5) ||
		     span_is(number, "RDMA_CM_EVENT_REJECTED") ||
		     span_is(number, "RDMA_CM_EVENT_UNREACHABLE");
	if (memmem(number.s, number.length, "LIMIT", 5))
		text_add(text, "%s ", timeline->terminal->utf8 ? "▼" : "!");
	text_span(text, kind_of(line->object).length ? name_of(timeline, line->object)
						     : actor_on(timeline, line->object));
	text_add(text, " ");
	text_span(text, number);
}

/* "a: ibv_create_qp(RC) = qp1", and how an object ends. */
static const struct {
	const char *kind, *makes, *key, *ends;
} objects[] = {
	{ "pd", "ibv_alloc_pd", NULL, "ibv_dealloc_pd" },
	{ "mr", "ibv_reg_mr", "bytes", "ibv_dereg_mr" },
	{ "mw", "ibv_alloc_mw", "type", "ibv_dealloc_mw" },
	{ "ah", "ibv_create_ah", NULL, "ibv_destroy_ah" },
	{ "cq", "ibv_create_cq", "cqe", "ibv_destroy_cq" },
	{ "srq", "ibv_create_srq", "max", "ibv_destroy_srq" },
	{ "qp", "ibv_create_qp", "type", "ibv_destroy_qp" },
	{ "channel", "ibv_create_comp_channel", NULL, "ibv_destroy_comp_channel" },
};

static bool object_cell(const struct timeline *timeline, const struct trace_line *line,
			struct row *row)
{
	bool makes = span_is(line->verb, "create");
	struct text *text;
	size_t i = 0;

	while (i < ARRAY_SIZE(objects) && !is_of(line->object, objects[i].kind))
		i++;
	if (i == ARRAY_SIZE(objects) || (!makes && !span_is(line->verb, "free")))
		return false;
	text = begin_call(timeline, line, row);
	text_add(text, "%s(", makes ? objects[i].makes : objects[i].ends);
	if (!makes)
		text_span(text, own_name(line->object));
	else if (objects[i].key)
		text_span(text, trace_value(line, objects[i].key));
	text_add(text, ")");
	if (!makes)
		return true;
	text_add(text, " = ");
	text_span(text, own_name(line->object));
	if (trace_value(line, "qpn").length)
		text_add(text, ", number %llu", (unsigned long long)trace_number(line, "qpn"));
	return true;
}

static void poll_cell(const struct timeline *timeline, const struct trace_line *line,
		      struct row *row)
{
	struct span opcode = trace_value(line, "opcode"), status = trace_value(line, "status");
	struct text *text = begin_call(timeline, line, row);

	text_add(text, "ibv_poll_cq(");
	text_span(text, trace_value(line, "cq"));
	text_add(text, ") = ");
	if (span_starts(opcode, "IBV_WC_"))
		opcode = (struct span){ opcode.s + 7, opcode.length - 7 };
	text_span(text, opcode);
	if (span_is(status, "IBV_WC_SUCCESS"))
		return;
	text_add(text, ", ");
	text_span(text, status);
}

/* The values of these keys that a line has, each behind "before", which becomes ", ". */
static void add_values(struct text *text, const struct trace_line *line, const char *const *keys,
		       const char *before)
{
	struct span value;

	for (; *keys; keys++) {
		value = trace_value(line, *keys);
		if (!value.length)
			continue;
		if (!strcmp(*keys, "object"))
			value = own_name(value);
		text_add(text, "%s%s", before, strcmp(*keys, "mask") ? "" : "0x");
		text_span(text, value);
		before = ", ";
	}
}

/* A call that has a line of its own, with the values that matter; behind "=" what it returns. */
static void call_cell(const struct timeline *timeline, const struct trace_line *line,
		      struct row *row)
{
	static const char *const given[] = { "object", "number", "bytes",    "port",
					     "cqe",    "max",    "low",      "count",
					     "option", "value",  "requests", "mask",
					     "gid",    "event",  "state",    NULL };
	static const char *const got[] = { "object", "number", "state", "max", "low", NULL };
	static const char *const none[] = { NULL };
	bool returns =
		span_starts(line->verb, "ibv_query_") || span_starts(line->verb, "ibv_get_") ||
		span_starts(line->verb, "rdma_get_") || span_starts(line->verb, "rdma_create_");
	struct text *text = begin_call(timeline, line, row);
	bool named = kind_of(line->object).length > 0;

	text_span(text, line->verb);
	text_add(text, "(");
	if (named)
		text_span(text, own_name(line->object));
	add_values(text, line, returns ? none : given, named ? ", " : "");
	text_add(text, ")");
	add_values(text, line, returns ? got : none, " = ");
}

/* Asking for what seldom changes, and acknowledgements: only --all shows them. */
bool verbs_routine(const struct trace_line *line)
{
	static const char *const verbs[] = { "ibv_query_device",       "ibv_query_device_ex",
					     "ibv_query_gid",          "ibv_query_gid_ex",
					     "ibv_query_gid_table",    "ibv_query_gid_type",
					     "ibv_query_pkey",         "ibv_query_qp_data_in_order",
					     "ibv_query_rt_values_ex", "ibv_get_pkey_index",
					     "ibv_ack_cq_events",      "ibv_ack_async_event",
					     "rdma_ack_cm_event",      "rdma_get_remote_ece" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (span_is(line->verb, verbs[i]))
			return true;
	}
	return span_is(line->verb, "ibv_query_port") &&
	       span_is(trace_value(line, "state"), "ACTIVE");
}

/* Calls that move no packet and no state: a picture leaves them out. */
bool verbs_undrawn(const struct trace_line *line)
{
	static const char *const begins[] = { "ibv_query_",    "ibv_open_",    "ibv_close_",
					      "ibv_poll_",     "rdma_create_", "rdma_destroy_",
					      "rdma_get_",     "rdma_init_",   "rdma_migrate_",
					      "ibv_get_async_" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(begins); i++) {
		if (span_starts(line->verb, begins[i]))
			return true;
	}
	return verbs_routine(line);
}

static void refuse_cell(const struct timeline *timeline, const struct trace_line *line,
			struct row *row)
{
	struct text *text = begin_call(timeline, line, row);

	text_span(text, trace_value(line, "call"));
	text_add(text, " = ");
	text_span(text, trace_value(line, "error"));
}

/* That of uDAPL has a low watermark. */
static bool makes_srq(const struct timeline *timeline, const struct trace_line *line)
{
	return timeline->names.verbs && is_of(line->object, "srq") &&
	       span_is(line->verb, "create") && !trace_value(line, "low").length;
}

bool verbs_cells(const struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	if (!verbs_object(line) && !makes_srq(timeline, line))
		return false;
	if (span_starts(line->verb, "post_") && is_of(line->object, "qp"))
		post_cell(timeline, line, row);
	else if (span_is(line->verb, "complete"))
		complete_cell(timeline, line, row);
	else if (span_is(line->verb, "state"))
		state_cell(timeline, line, row);
	else if (span_is(line->verb, "event"))
		event_cell(timeline, line, row);
	else if (span_is(line->verb, "refuse"))
		refuse_cell(timeline, line, row);
	else if (span_is(line->verb, "ibv_poll_cq"))
		poll_cell(timeline, line, row);
	else if (span_starts(line->verb, "ibv_") || span_starts(line->verb, "rdma_"))
		call_cell(timeline, line, row);
	else if (span_is(line->verb, "take") && span_is(trace_value(line, "from"), "rq"))
		; /* verbs has no number of Receives that are taken */
	else
		return object_cell(timeline, line, row);
	return true;
}
