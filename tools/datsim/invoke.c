/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call, and what came of it: the result, what a failing call must not have done (rulings G1 and
 * G2), outputs against what is wanted, new objects, objects that are gone.
 */
#include "invoke.h"

#include <string.h>

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
	return !param_is_output(param) || param->written_on_failure ||
	       is_poison(&inv->storage[i], sizeof(inv->storage[i]));
}

static bool check_outputs(struct invocation *inv, DAT_RETURN ret)
{
	const struct param *param;
	struct text expected = { 0 }, actual = { 0 };
	int i;

	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if (!inv->slots[i].pointer)
			continue;
		if (ret != DAT_SUCCESS && !output_untouched(inv, i)) {
			text_add(&expected, "%s fails and writes no output", inv->call->name);
			text_add(&actual, "it wrote %s", param->name);
		} else if (ret == DAT_SUCCESS && param_is_output(param) &&
			   param->kind != PARAM_OUT_STRUCT && is_poison(&inv->storage[i], 4)) {
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
	struct text expected = { 0 }, actual = { 0 };

	if (DAT_GET_TYPE(ret) == call->type &&
	    (!call->subtype_name || DAT_GET_SUBTYPE(ret) == call->subtype))
		return true;
	text_statement(inv->run, &expected);
	text_head(inv, &actual);
	text_add(&actual, " = ");
	text_result(&actual, ret);
	return run_fail(inv->run, EXIT_FAILED, &expected, &actual, "%s returned something else",
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

static bool match_scalar(struct invocation *inv, int i, struct text *actual)
{
	const struct param *param = &inv->call->row->params[i];
	const struct setting *setting;
	bool same = true;

	for (setting = inv->call->wanted; setting; setting = setting->next) {
		if (setting->param != i)
			continue;
		text_add(actual, "%s%s=", actual->length ? ", " : "", param->name);
		if (param->kind == PARAM_OUT_HANDLE) {
			text_handle(inv->run, actual, inv->st->actor_index, inv->storage[i].handle);
			if ((value_handle(inv->run, setting->value) == inv->storage[i].handle) ==
			    setting->unequal)
				same = false;
			continue;
		}
		group_print(actual, param->group, number_out(inv, i), param->is_signed,
			    param->size);
		if (!match_number(setting, number_out(inv, i), param->size))
			same = false;
	}
	return same;
}

static bool check_wanted(struct invocation *inv, DAT_RETURN ret)
{
	struct text expected = { 0 }, actual = { 0 }, found = { 0 };
	const struct param *param;
	bool same = true;
	int i;

	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if (!inv->slots[i].pointer || !param_is_output(param) ||
		    (ret != DAT_SUCCESS && !param->written_on_failure))
			continue;
		if (param->kind == PARAM_OUT_NUMBER || param->kind == PARAM_OUT_HANDLE)
			same = match_scalar(inv, i, &found) && same;
		else
			same = match_settings(inv->run, inv->call->wanted, i, &inv->storage[i],
					      &found, ", ") &&
			       same;
	}
	if (same) {
		text_free(&found);
		return true;
	}
	text_statement(inv->run, &expected);
	text_head(inv, &actual);
	if (inv->call->type_name) {
		text_add(&actual, " = ");
		text_result(&actual, ret);
	}
	text_add(&actual, " -> {%s}", text_of(&found));
	text_free(&found);
	return run_fail(inv->run, EXIT_FAILED, &expected, &actual, "%s gave other values",
			inv->call->name);
}

/* ---- objects ---- */

static int input_symbol(const struct call *call, const char *name)
{
	int i;

	for (i = 0; call->row->params[i].kind != PARAM_END; i++) {
		if (call->in[i] && !strcmp(call->row->params[i].name, name))
			return call->in[i]->symbol;
	}
	return -1;
}

/* An EP's queues, which the ledger compares completions with. */
static void learn_endpoint(struct invocation *inv, int symbol)
{
	struct object *object = &inv->run->objects[symbol];

	object->recv_evd = input_symbol(inv->call, "recv_evd_handle");
	object->request_evd = input_symbol(inv->call, "request_evd_handle");
	object->srq = input_symbol(inv->call, "srq_handle");
}

static void learn_modification(struct invocation *inv)
{
	const struct value *value = inv->call->in[2];
	const struct setting *setting;
	struct object *object;

	if (strcmp(inv->call->name, "dat_ep_modify") || inv->call->in[0]->symbol < 0)
		return;
	object = &inv->run->objects[inv->call->in[0]->symbol];
	for (setting = value->settings; setting; setting = setting->next) {
		if (!strcmp(setting->key, "recv_evd_handle"))
			object->recv_evd = setting->value->symbol;
		else if (!strcmp(setting->key, "request_evd_handle"))
			object->request_evd = setting->value->symbol;
	}
}

static void learn_memory(struct invocation *inv, struct object *object)
{
	int i;

	object->region = inv->region;
	inv->region = NULL;
	for (i = 0; object->region && inv->call->row->params[i].kind != PARAM_END; i++) {
		if (!strcmp(inv->call->row->params[i].name, "lmr_context") && inv->slots[i].pointer)
			object->region->context = (DAT_LMR_CONTEXT)number_out(inv, i);
	}
}

static void name_new_handles(struct invocation *inv)
{
	const struct target *target = inv->call->targets;
	const struct param *param;
	int i;

	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if ((param->kind != PARAM_OUT_HANDLE && param->kind != PARAM_INOUT_HANDLE) ||
		    !inv->slots[i].pointer)
			continue;
		if (!target || target->symbol < 0) {
			if (!param->borrowed)
				run_stray(inv->run, inv->storage[i].handle, param->type);
		} else {
			object_made(inv->run, target->symbol, inv->storage[i].handle);
			inv->run->objects[target->symbol].borrowed = param->borrowed;
			if (param->type == DAT_HANDLE_TYPE_EP)
				learn_endpoint(inv, target->symbol);
			if (param->type == DAT_HANDLE_TYPE_LMR)
				learn_memory(inv, &inv->run->objects[target->symbol]);
		}
		target = target ? target->next : NULL;
	}
}

static void take_effect(struct invocation *inv, DAT_RETURN ret, bool was_disconnected)
{
	enum call_effect effect = inv->call->row->effect;
	int first = inv->call->in[0]->symbol, i;

	if ((effect == CALL_SENDS || effect == CALL_RECEIVES) && (ret != DAT_SUCCESS || first < 0))
		ledger_undo(inv->run);
	if (ret != DAT_SUCCESS || first < 0)
		return;
	if (effect == CALL_FREES || effect == CALL_CLOSES)
		object_gone(inv->run, first);
	if (effect == CALL_RESETS && was_disconnected)
		ledger_drop(inv->run, first);
	for (i = 0; effect == CALL_CLOSES && i < inv->run->script->symbol_count; i++) {
		if (inv->run->script->symbols[i].owner == first)
			object_gone(inv->run, i);
	}
	learn_modification(inv);
}

static bool is_disconnected(struct invocation *inv)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

	if (inv->call->row->effect != CALL_RESETS)
		return false;
	dat_ep_get_status(inv->slots[0].handle, &state, NULL, NULL);
	return state == DAT_EP_STATE_DISCONNECTED;
}

/* An event that the script took by a call of its own goes through the ledger too. */
static bool see_event(struct invocation *inv)
{
	int i;

	for (i = 0; inv->call->row->params[i].kind != PARAM_END; i++) {
		if (inv->call->row->params[i].kind == PARAM_OUT_EVENT && inv->slots[i].pointer)
			return ledger_event(inv->run, inv->call->in[0]->symbol,
					    &inv->storage[i].event);
	}
	return true;
}

/* Somebody typed it to see what it returns. */
static bool is_question(const struct invocation *inv)
{
	return inv->run->echo && !inv->st->next && !inv->call->type_name;
}

static bool call_once(struct run *run, const struct statement *st)
{
	struct invocation inv = { .run = run, .st = st, .call = &st->call };
	bool was_disconnected, good;
	DAT_RETURN ret;

	if (!fill_slots(&inv))
		return false;
	was_disconnected = is_disconnected(&inv);
	ret = inv.call->row->make(inv.slots);
	take_effect(&inv, ret, was_disconnected);
	if (ret == DAT_SUCCESS)
		name_new_handles(&inv);
	/* Memory that belongs to nothing now may still be the library's: an LMR without a name. */
	if (inv.region)
		run_keep(run, inv.region);
	run_observe(run);
	if (run->echo && !st->next && run->turn == st->repeat)
		echo_call(&inv, ret);
	good = check_class(&inv, ret) && check_outputs(&inv, ret) &&
	       (is_question(&inv) || check_result(&inv, ret));
	if (good && ret == DAT_SUCCESS)
		good = see_event(&inv);
	return good && check_wanted(&inv, ret);
}

bool run_call(struct run *run, const struct statement *st)
{
	for (run->turn = 1; run->turn <= st->repeat; run->turn++) {
		if (!call_once(run, st) || run->failure.code != EXIT_PASS)
			return false;
	}
	return true;
}
