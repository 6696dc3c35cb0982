/* SPDX-License-Identifier: BSD-3-Clause */
/* Words the calls of uDAPL programs for a timeline. */
#include "show.h"

#include <string.h>

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
	{ ".ep", "modify", "dat_ep_modify", { NULL } },
	{ ".ep", "disconnect", "dat_ep_disconnect", { "flag" } },
	{ ".ep", "create", "dat_ep_create", { NULL } },
	{ ".ep", "free", "dat_ep_free", { NULL } },
	{ ".srq", "create", "dat_srq_create", { "max", "low" } },
	{ ".srq", "free", "dat_srq_free", { NULL } }, /* of verbs: srq_is_verbs */
	{ ".srq", "post_recv", "dat_srq_post_recv", { "bytes" } },
	{ ".srq", "set_lw", "dat_srq_set_lw", { "low" } },
	{ ".srq", "resize", "dat_srq_resize", { "max" } },
	{ ".cr", "accept", "dat_cr_accept", { "ep" } },
	{ ".cr", "reject", "dat_cr_reject", { NULL } },
	{ ".cr", "handoff", "dat_cr_handoff", { "qual" } },
	{ ".ia", "create", "dat_ia_open", { NULL } },
	{ ".ia", "free", "dat_ia_close", { NULL } },
	{ ".pz", "create", "dat_pz_create", { NULL } },
	{ ".pz", "free", "dat_pz_free", { NULL } },
	{ ".lmr", "create", "dat_lmr_create", { NULL } },
	{ ".lmr", "free", "dat_lmr_free", { NULL } },
	{ ".rmr", "create", "dat_rmr_create", { NULL } },
	{ ".rmr", "free", "dat_rmr_free", { NULL } },
	{ ".evd", "create", "dat_evd_create", { "qlen" } },
	{ ".evd", "resize", "dat_evd_resize", { "qlen" } },
	{ ".evd", "enable", "dat_evd_enable", { NULL } },
	{ ".evd", "disable", "dat_evd_disable", { NULL } },
	{ ".evd", "modify_cno", "dat_evd_modify_cno", { "cno" } },
	{ ".evd", "set_unwaitable", "dat_evd_set_unwaitable", { NULL } },
	{ ".evd", "clear_unwaitable", "dat_evd_clear_unwaitable", { NULL } },
	{ ".evd", "free", "dat_evd_free", { NULL } },
	{ ".cno", "create", "dat_cno_create", { NULL } },
	{ ".cno", "modify_agent", "dat_cno_modify_agent", { NULL } },
	{ ".cno", "free", "dat_cno_free", { NULL } },
	{ ".psp", "create", "dat_psp_create", { "qual" } },
	{ ".psp", "free", "dat_psp_free", { NULL } },
	{ ".rsp", "create", "dat_rsp_create", { "qual" } },
	{ ".rsp", "free", "dat_rsp_free", { NULL } },
};

/* Calls that have no line of their own: the state of an EP changes by them. */
static const struct {
	const char *by, *call;
} state_calls[] = {
	{ "connect", "dat_ep_connect" },
	{ "accept", "dat_cr_accept" },
	{ "reset", "dat_ep_reset" },
};

static void key_text(const struct timeline *timeline, struct text *text, struct span value)
{
	struct span actor, object;

	if (span_is(value, "-1")) {
		text_add(text, "INFINITE");
	} else if (span_is(value, "abrupt")) {
		text_add(text, "ABRUPT");
	} else if (span_is(value, "graceful")) {
		text_add(text, "GRACEFUL");
	} else if (is_kind(value, ".cno")) {
		split_name(name_of(timeline, value), &actor, &object);
		text_span(text, object);
	} else {
		text_span(text, value);
	}
}

/* actor: dat_<kind>_<verb>(object, a, b) */
static void call_cell(const struct timeline *timeline, const struct trace_line *line,
		      struct row *row, const char *call, const char *const *keys)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	struct span actor, object;
	size_t i;

	split_name(name_of(timeline, line->object), &actor, &object);
	text_span(text, actor);
	text_add(text, ": %s(", call);
	text_span(text, object);
	for (i = 0; keys && keys[i]; i++) {
		if (!trace_value(line, keys[i]).length)
			continue;
		text_add(text, ", ");
		key_text(timeline, text, trace_value(line, keys[i]));
	}
	text_add(text, ")");
}

static bool state_call(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row)
{
	struct text *event = &row->cells[COLUMN_EVENT];
	size_t i;

	if (!span_is(line->verb, "state") || !is_kind(line->object, ".ep"))
		return false;
	for (i = 0; i < ARRAY_SIZE(state_calls); i++) {
		if (!span_is(trace_value(line, "by"), state_calls[i].by))
			continue;
		call_cell(timeline, line, row, state_calls[i].call, NULL);
		text_span(event, name_of(timeline, line->object));
		text_add(event, " ");
		text_span(event, trace_value(line, "to"));
		return true;
	}
	return false;
}

static void actor_cell(const struct timeline *timeline, const struct trace_line *line,
		       struct row *row, const char *does, struct span what)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	struct span actor, object;

	split_name(name_of(timeline, line->object), &actor, &object);
	if (actor.s == object.s)
		actor = actor_on(timeline, actor);
	text_span(text, actor);
	text_add(text, ": %s", does);
	text_span(text, what);
}

static void reap_cell(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct text *text = &row->cells[COLUMN_PROGRAM];
	struct span actor, object, status = trace_value(line, "status");

	actor_cell(timeline, line, row, "reaps the ", trace_value(line, "op"));
	split_name(name_of(timeline, line->object), &actor, &object);
	text_add(text, " of ");
	text_span(text, object);
	if (!span_is(status, "SUCCESS")) {
		text_add(text, ", ");
		text_span(text, status);
	}
	reap_counts(timeline, line, row);
}

/* actor: dat_ep_recv_query(ep) = allocated 3, span 5 */
static void return_cell(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	static const char *const keys[] = { "receives", "requests", "allocated", "span" };
	struct text *text = &row->cells[COLUMN_PROGRAM];
	struct span actor, object, evd = trace_value(line, "evd"), call = trace_value(line, "call");
	const char *before = " = ";

	actor_cell(timeline, line, row, "", call);
	split_name(name_of(timeline, line->object), &actor, &object);
	text_add(text, "(");
	text_span(text, object);
	text_add(text, ")");
	if (trace_value(line, "state").length) {
		text_add(text, " = ");
		text_span(text, trace_value(line, "state"));
		before = ", ";
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!trace_value(line, keys[i]).length)
			continue;
		text_add(text, "%s%s ", before, keys[i]);
		text_span(text, trace_value(line, keys[i]));
		before = ", ";
	}
	if (evd.length) {
		split_name(name_of(timeline, evd), &actor, &object);
		text_add(text, " = ");
		text_span(text, object);
	}
	if (is_kind(line->object, ".srq"))
		queue_counts(timeline, line, row);
}

struct span short_event(struct span number)
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

bool call_cells(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!span_is(line->verb, calls[i].verb) || !is_kind(line->object, calls[i].kind))
			continue;
		call_cell(timeline, line, row,
			  srq_is_verbs(timeline, line) ? "ibv_destroy_srq" : calls[i].call,
			  calls[i].keys);
		if (is_kind(line->object, ".srq"))
			queue_counts(timeline, line, row);
		return true;
	}
	if (span_is(line->verb, "reap")) {
		reap_cell(timeline, line, row);
	} else if (span_is(line->verb, "dequeue")) {
		actor_cell(timeline, line, row, "reads ", short_event(trace_value(line, "number")));
	} else if (span_is(line->verb, "return")) {
		return_cell(timeline, line, row);
	} else if (span_is(line->verb, "refuse")) {
		actor_cell(timeline, line, row, "", trace_value(line, "call"));
		text_add(&row->cells[COLUMN_PROGRAM], " = ");
		text_span(&row->cells[COLUMN_PROGRAM],
			  strip_prefix(trace_value(line, "type"), "DAT_"));
	} else {
		return state_call(timeline, line, row);
	}
	return true;
}
