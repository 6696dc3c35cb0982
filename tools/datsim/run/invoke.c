/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a call and checks the outcome: the return value, side effects that a failing call must not
 * have (rulings G1 and G2), outputs against the expected ones, objects made and freed.
 */
#include "invoke.h"

#include <stdlib.h>
#include <string.h>

#include "device.h"

/* ---- what must never be ---- */

static bool is_error_whole(DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS || ret == DAT_QUEUE_EMPTY)
		return true;
	return (ret & ~(DAT_RETURN)(DAT_TYPE_MASK | DAT_SUBTYPE_MASK)) == DAT_CLASS_ERROR;
}

static bool check_class(struct invocation *inv, DAT_RETURN ret)
{
	struct text expected = { 0 }, actual = { 0 };

	if (is_error_whole(ret))
		return true;
	text_add(&expected, "DAT_CLASS_ERROR | type | subtype");
	text_add(&actual, "%s returned 0x%08x", inv->call->name, (unsigned int)ret);
	return run_fail(inv->run, EXIT_CHECKER, &expected, &actual,
			"a failing call carries its class (ruling G1)");
}

static bool is_poison(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n && *p == POISON) {
		p++;
		n--;
	}
	return !n;
}

static bool output_untouched(const struct invocation *inv, int i)
{
	const struct param *param = &inv->call->row->params[i];
	const struct value *value = inv->call->in[i];

	if (param->kind == PARAM_INOUT_HANDLE)
		return inv->storage[i].handle ==
		       (value ? value_handle(inv->run, value) : DAT_HANDLE_NULL);
	if (param->kind == PARAM_OUT_LIST)
		return is_poison(inv->list[0], CALL_LIST_MAX * sizeof(*inv->list[0]));
	return !param_is_output(param) || param->written_on_failure ||
	       is_poison(&inv->storage[i], sizeof(inv->storage[i]));
}

static bool check_outputs(struct invocation *inv, DAT_RETURN ret)
{
	const struct param *param;
	struct text expected = { 0 }, actual = { 0 };
	int i;

	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if (!inv->args[i].pointer)
			continue;
		if (ret != DAT_SUCCESS && !output_untouched(inv, i)) {
			text_add(&expected, "%s fails and writes no output", inv->call->name);
			text_add(&actual, "it wrote %s", param->name);
		} else if (ret == DAT_SUCCESS && param_is_output(param) &&
			   param->kind != PARAM_OUT_STRUCT && param->kind != PARAM_OUT_LIST &&
			   is_poison(&inv->storage[i], 4)) {
			text_add(&expected, "%s succeeds and writes its outputs", inv->call->name);
			text_add(&actual, "it did not write %s", param->name);
		} else {
			continue;
		}
		return run_fail(inv->run, EXIT_CHECKER, &expected, &actual,
				"outputs are written on success and only then (ruling G2)");
	}
	return true;
}

/* ---- the result ---- */

static void text_head(const struct invocation *inv, struct text *text)
{
	struct place at = inv->st->at;
	const char *line;
	int length;

	line = source_line(&inv->run->script->source, at.line, &length);
	text_printable(text, line + at.column - 1, (size_t)inv->call->head_length);
}

static bool check_result(struct invocation *inv, DAT_RETURN ret)
{
	const struct call *call = inv->call;
	struct text actual = { 0 };

	if (DAT_GET_TYPE(ret) == call->type &&
	    (!call->subtype_name || DAT_GET_SUBTYPE(ret) == call->subtype))
		return true;
	if (point_is_broken(inv->run)) {
		inv->excused = true;
		return point_allows(inv->run, call->name, ret);
	}
	text_head(inv, &actual);
	text_add(&actual, " = ");
	text_result(&actual, ret);
	return run_fail(inv->run, EXIT_FAILED, NULL, &actual, "%s returned something else",
			call->name);
}

/* ---- outputs ---- */

static uint64_t number_out(const struct invocation *inv, int i)
{
	const struct param *param = &inv->call->row->params[i];
	const struct member whole = { .offset = 0,
				      .size = param->size,
				      .is_signed = param->is_signed };

	return member_get(&whole, &inv->storage[i]);
}

static bool match_handle(struct invocation *inv, int i, const struct setting *setting)
{
	DAT_HANDLE handle = inv->storage[i].handle;

	if (setting->value->kind == VALUE_NEW) {
		object_found(inv->run, setting->value->symbol, handle);
		return true;
	}
	return setting->value->kind == VALUE_ANY ||
	       (value_handle(inv->run, setting->value) == handle) != setting->unequal;
}

static bool match_text(const struct invocation *inv, int i, const struct setting *setting)
{
	return setting->value->kind == VALUE_ANY ||
	       !strcmp(inv->storage[i].message, setting->value->text) != setting->unequal;
}

/* The value of an output that is not a structure, as a script would write it. */
static void print_scalar(const struct invocation *inv, int i, struct text *text)
{
	const struct param *param = &inv->call->row->params[i];

	text_add(text, "%s%s=", text->length ? ", " : "", param->name);
	if (param->kind == PARAM_OUT_HANDLE)
		text_handle(inv->run, text, inv->st->actor_index, inv->storage[i].handle);
	else if (param->kind == PARAM_OUT_TEXT)
		text_add(text, "\"%s\"", inv->storage[i].message);
	else
		group_print(text, param->group, number_out(inv, i), param->is_signed, param->size);
}

static bool match_scalar(struct invocation *inv, int i, struct text *actual)
{
	const struct param *param = &inv->call->row->params[i];
	const struct setting *setting;
	bool same = true;

	for (setting = inv->call->wanted; setting; setting = setting->next) {
		if (setting->param != i)
			continue;
		print_scalar(inv, i, actual);
		if (param->kind == PARAM_OUT_HANDLE)
			same = match_handle(inv, i, setting) && same;
		else if (param->kind == PARAM_OUT_TEXT)
			same = match_text(inv, i, setting) && same;
		else
			same = match_number(inv->run, setting, number_out(inv, i), param->size) &&
			       same;
	}
	return same;
}

static bool match_output(struct invocation *inv, int i, struct text *found)
{
	const struct param *param = &inv->call->row->params[i];

	switch (param->kind) {
	case PARAM_OUT_NUMBER:
	case PARAM_OUT_HANDLE:
	case PARAM_OUT_TEXT:
		return match_scalar(inv, i, found);
	case PARAM_OUT_LIST:
		return match_settings(inv->run, inv->call->wanted, i, inv->list[0], found, ", ");
	default:
		return match_settings(inv->run, inv->call->wanted, i, &inv->storage[i], found,
				      ", ");
	}
}

static bool check_wanted(struct invocation *inv, DAT_RETURN ret)
{
	struct text actual = { 0 }, found = { 0 };
	const struct param *param;
	bool same = true;
	int i;

	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if (!inv->args[i].pointer || !param_is_output(param) ||
		    (ret != DAT_SUCCESS && !param->written_on_failure))
			continue;
		same = match_output(inv, i, &found) && same;
	}
	if (same) {
		text_free(&found);
		return true;
	}
	text_head(inv, &actual);
	if (inv->call->type_name) {
		text_add(&actual, " = ");
		text_result(&actual, ret);
	}
	text_add(&actual, " -> {%s}", text_of(&found));
	text_free(&found);
	return run_fail(inv->run, EXIT_FAILED, NULL, &actual, "%s gave other values",
			inv->call->name);
}

/* ---- the call ---- */

/* An event that the script dequeued by a call of its own goes through the ledger too. */
static bool see_event(struct invocation *inv)
{
	int i;

	for (i = 0; inv->call->row->params[i].kind != PARAM_END; i++) {
		if (inv->call->row->params[i].kind == PARAM_OUT_EVENT && inv->args[i].pointer)
			return ledger_event(inv->run, value_object(inv->run, inv->call->in[0]),
					    &inv->storage[i].event);
	}
	return true;
}

/* The call was typed into the shell, to see what it returns. */
static bool is_question(const struct invocation *inv)
{
	return inv->run->echo && !inv->st->next && !inv->call->type_name;
}

/* A call that only queries, or that found no event, may be repeated. */
static bool only_looks(const struct call *call, DAT_RETURN ret)
{
	const char *name = call->name;

	if (strstr(name, "_query") || !strcmp(name, "dat_ep_get_status"))
		return true;
	return ret != DAT_SUCCESS &&
	       (!strcmp(name, "dat_evd_dequeue") || !strcmp(name, "dat_evd_wait") ||
		!strcmp(name, "dat_cno_wait"));
}

static bool make_call(struct run *run, const struct statement *st, bool *again)
{
	struct invocation inv;
	bool good = false;
	DAT_RETURN ret;

	memset(&inv, 0, offsetof(struct invocation, storage));
	inv.run = run;
	inv.st = st;
	inv.call = &st->call;
	*again = false;
	if (!fill_slots(&inv))
		goto out;
	before_call(&inv);
	if (!checks_before(&inv))
		goto out;
	if (run->traced)
		dat_sim_trace_queries(run->sim, DAT_TRUE);
	ret = inv.call->row->make(inv.args);
	if (run->traced)
		dat_sim_trace_queries(run->sim, DAT_FALSE);
	after_call(&inv, ret);
	run_observe(run);
	if (run->echo && !st->next && run->turn == st->repeat)
		echo_call(&inv, ret);
	good = check_class(&inv, ret) && check_outputs(&inv, ret) &&
	       (is_question(&inv) || check_result(&inv, ret));
	if (good && ret == DAT_SUCCESS)
		good = see_event(&inv);
	good = good && (inv.excused || check_wanted(&inv, ret)) && checks_after(&inv, ret);
	*again = !good && only_looks(inv.call, ret);
out:
	free(inv.list);
	return good;
}

/* The progress of a device is not known: a result that differs is checked again after a pause. */
static bool call_once(struct run *run, const struct statement *st)
{
	uint64_t end = run_now(run) + DEVICE_PATIENCE_NS * run->slow;
	bool again;

	while (!make_call(run, st, &again)) {
		if (!run->real || !again || run_now(run) > end)
			return false;
		run_forgive(run);
		device_sleep(DEVICE_STEP_NS);
	}
	return true;
}

bool run_call(struct run *run, const struct statement *st)
{
	for (run->turn = 1; run->turn <= st->repeat; run->turn++) {
		if (!call_once(run, st) || run->failure.code != EXIT_PASS)
			return false;
	}
	return true;
}
