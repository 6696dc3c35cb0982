/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds the arguments of a call line to the parameters of the call's row. */
#include "bind.h"

#include <string.h>

#define WAIT_MAX_US 10000000

static const char *wanted_for(const struct param *param)
{
	switch (param->kind) {
	case PARAM_STRUCT:
		return param->optional ? "{field=value} or NULL" : "{field=value}";
	case PARAM_SEGMENTS:
	case PARAM_SPAN:
		return "a size, a list such as [64 32], or NULL";
	case PARAM_TRIPLET:
		return "a size, {mem=... offset=... length=...} or NULL";
	case PARAM_REMOTE:
		return "an LMR such as b.mem, {mem=b.mem ...}, {rmr=b.w ...} or NULL";
	case PARAM_TIMEOUT:
		return "a time such as 5us, or microseconds";
	case PARAM_NAME:
		return "the name of an adapter";
	case PARAM_ADDRESS:
		return "an actor, an address in quotes, or NULL";
	case PARAM_DATA:
		return "a text in quotes, or NULL";
	case PARAM_HANDLE:
	case PARAM_INOUT_HANDLE:
		return "the name of an object, NULL, garbage or stale(name)";
	case PARAM_REGION:
		return "an LMR (to use its memory), the name of shared memory in quotes, or NULL";
	case PARAM_AGENT:
		return "a number to name the agent by, or NULL";
	case PARAM_PROVIDER:
		return "NULL";
	default:
		return "a number";
	}
}

/* A number, or the name of a number. */
static bool is_number(const struct binder *binder, const struct value *value)
{
	return value->kind == VALUE_NUMBER || is_variable(binder, value);
}

/*
 * Can this value be an argument for this parameter? The answer decides which optional parameters a
 * line leaves out.
 */
static bool param_fits(struct binder *binder, const struct param *param,
		       const struct argument *argument)
{
	const struct value *value = argument->value;
	const struct argument *following = argument->next;
	const struct value *next = following && !following->key ? following->value : NULL;
	uint64_t number;

	switch (param->kind) {
	case PARAM_HANDLE:
		if (is_variable(binder, value))
			return false;
		if (value->kind == VALUE_NAME && param->optional && !value->actor) {
			if (script_symbol(binder->script, binder->st->actor_index, value->text) >=
			    0)
				return true;
			binder->missing = true;
			return false;
		}
		return value->kind == VALUE_NAME || value->kind == VALUE_NULL ||
		       value->kind == VALUE_GARBAGE || value->kind == VALUE_STALE ||
		       (value->kind == VALUE_NUMBER && !param->optional);
	case PARAM_SEGMENT_COUNT:
		return value->kind == VALUE_NUMBER && next &&
		       (next->kind == VALUE_LIST || next->kind == VALUE_NULL);
	case PARAM_STRUCT:
		return value->kind == VALUE_STRUCT || value->kind == VALUE_NULL;
	case PARAM_SEGMENTS:
	case PARAM_SPAN:
		return is_number(binder, value) || value->kind == VALUE_LIST ||
		       value->kind == VALUE_NULL;
	case PARAM_TRIPLET:
		return is_number(binder, value) || value->kind == VALUE_STRUCT ||
		       value->kind == VALUE_NULL;
	case PARAM_REMOTE:
		return value->kind == VALUE_NAME || value->kind == VALUE_STRUCT ||
		       value->kind == VALUE_NULL;
	case PARAM_REGION:
		return value->kind == VALUE_NAME || value->kind == VALUE_STRING ||
		       value->kind == VALUE_NULL;
	case PARAM_NAME:
	case PARAM_ADDRESS:
		return value->kind == VALUE_NAME || value->kind == VALUE_STRING ||
		       value->kind == VALUE_NULL;
	case PARAM_DATA:
		return value->kind == VALUE_STRING || value->kind == VALUE_NULL;
	case PARAM_EVENT:
	case PARAM_AGENT:
		return is_number(binder, value) || value->kind == VALUE_NULL;
	case PARAM_PROVIDER:
		return value->kind == VALUE_NULL;
	default:
		break;
	}
	if (value->kind == VALUE_NAME && param->optional)
		return is_number(binder, value) ||
		       group_find(param->group, value->text, (int)strlen(value->text), &number);
	return value->kind == VALUE_NUMBER || value->kind == VALUE_NAME ||
	       value->kind == VALUE_FLAGS;
}

static bool bind_struct(struct binder *binder, const struct param *param, struct value *value)
{
	const struct member *member;
	struct setting *setting;
	struct offer offer;

	if (!bind_once(binder, value->settings, ""))
		return false;
	for (setting = value->settings; setting; setting = setting->next) {
		member = layout_find(param->layout, setting->key);
		if (!member || member->kind == MEMBER_DATA || member->kind == MEMBER_EVERY ||
		    member->kind == MEMBER_AGENT || setting->unequal) {
			diag_add(&binder->script->diag, setting->at,
				 "expected a field of %s, found \"%s\"", param->layout->name,
				 setting->key);
			offer_start(&offer, setting->key, (int)strlen(setting->key));
			layout_offer(param->layout, &offer);
			offer_tell(&offer, &binder->script->diag, "its fields:");
			return false;
		}
		if (!bind_member(binder, setting, member))
			return false;
	}
	return true;
}

static bool bind_timeout(struct binder *binder, const struct param *param, struct value *value)
{
	int64_t number;
	uint64_t ns;

	if (value->kind == VALUE_NUMBER && *value->unit) {
		if (!value_ns(binder, value, &ns))
			return false;
		if (ns % 1000) {
			diag_add(&binder->script->diag, value->at,
				 "expected a time of whole microseconds");
			return false;
		}
		value->number = ns / 1000;
		value->unit = "";
		value->billionths = 0;
	}
	if (!bind_number(binder, value, GROUP_TIMEOUT))
		return false;
	if (value->kind == VALUE_VARIABLE && !param->finite)
		return true;
	if (!value_between(binder, value, 0, UINT32_MAX, &number))
		return false;
	if (!param->finite || number <= WAIT_MAX_US)
		return true;
	diag_add(&binder->script->diag, value->at,
		 "expected a timeout of at most 10s: a script cannot wait longer");
	return false;
}

static bool bind_address(struct binder *binder, struct value *value)
{
	if (value->kind != VALUE_NAME)
		return true;
	if (value->actor) {
		diag_add(&binder->script->diag, value->at, "expected the name of an actor");
		return false;
	}
	value->actor_index = bind_actor(binder, value->text, value->at);
	return value->actor_index >= 0;
}

/* Has a named argument the right kind? An argument by position was chosen by its kind. */
static bool right_kind(const struct param *param, const struct value *value)
{
	switch (param->kind) {
	case PARAM_STRUCT:
		return value->kind == VALUE_STRUCT || value->kind == VALUE_NULL;
	case PARAM_NAME:
	case PARAM_REGION:
	case PARAM_ADDRESS:
		return value->kind == VALUE_NAME || value->kind == VALUE_STRING ||
		       value->kind == VALUE_NULL;
	case PARAM_DATA:
		return value->kind == VALUE_STRING || value->kind == VALUE_NULL;
	case PARAM_PROVIDER:
		return value->kind == VALUE_NULL;
	default:
		return true;
	}
}

static bool bind_value(struct binder *binder, const struct param *param, struct value *value)
{
	int64_t number;

	if (param->kind == PARAM_INOUT_HANDLE && value->kind == VALUE_NAME && !value->actor &&
	    !strcmp(value->text, "EXISTS")) {
		value->kind = VALUE_NUMBER;
		value->number = (uint64_t)(uintptr_t)DAT_EVD_ASYNC_EXISTS;
		return true;
	}
	if (param_is_output(param)) {
		if (value->kind == VALUE_NULL)
			return true;
		diag_add(&binder->script->diag, value->at,
			 "%s is an output: expected NULL here; names and values go after \"->\"",
			 param->name);
		return false;
	}
	if (!right_kind(param, value)) {
		diag_add(&binder->script->diag, value->at, "expected %s for %s", wanted_for(param),
			 param->name);
		return false;
	}
	switch (param->kind) {
	case PARAM_HANDLE:
	case PARAM_INOUT_HANDLE:
		return bind_handle(binder, value);
	case PARAM_STRUCT:
		return value->kind == VALUE_NULL || bind_struct(binder, param, value);
	case PARAM_SEGMENTS:
	case PARAM_SPAN:
		return bind_segments(binder, value);
	case PARAM_TRIPLET:
		return value->kind == VALUE_NULL || bind_segment(binder, value);
	case PARAM_REMOTE:
		return bind_remote(binder, value);
	case PARAM_REGION:
		return value->kind != VALUE_NAME ||
		       bind_of_type(binder, value, DAT_HANDLE_TYPE_LMR, "an LMR");
	case PARAM_TIMEOUT:
		return bind_timeout(binder, param, value);
	case PARAM_ADDRESS:
		return bind_address(binder, value);
	case PARAM_NAME:
	case PARAM_DATA:
	case PARAM_PROVIDER:
		return true;
	default:
		break;
	}
	if (value->kind == VALUE_NULL && (param->kind == PARAM_EVENT || param->kind == PARAM_AGENT))
		return true;
	if (param->kind == PARAM_NUMBER && param->group == GROUP_NONE && *value->unit) {
		if (!bind_bytes(binder, value))
			return false;
	}
	if (!bind_number(binder, value, param->group))
		return false;
	return !param->is_signed || value->kind == VALUE_VARIABLE ||
	       value_between(binder, value, INT32_MIN, INT32_MAX, &number);
}

static bool unknown_param(struct binder *binder, const struct call *call,
			  const struct argument *argument)
{
	const struct param *param;
	struct offer offer;

	diag_add(&binder->script->diag, argument->at, "%s has no parameter \"%s\"", call->name,
		 argument->key);
	offer_start(&offer, argument->key, (int)strlen(argument->key));
	for (param = call->row->params; param->kind != PARAM_END; param++) {
		if (!param_is_output(param))
			offer_add(&offer, param->name);
	}
	offer_tell(&offer, &binder->script->diag, "its parameters:");
	return false;
}

static bool too_many(struct binder *binder, const struct call *call,
		     const struct argument *argument)
{
	struct text list = { 0 };
	const struct param *param;

	for (param = call->row->params; param->kind != PARAM_END; param++) {
		if (!param_is_output(param) && !param->named_only)
			text_add(&list, "%s%s%s", list.length ? ", " : "", param->name,
				 param->optional ? " (optional)" : "");
	}
	diag_add(&binder->script->diag, argument->value->at, "expected \")\": %s takes %s",
		 call->name, text_of(&list));
	text_free(&list);
	return false;
}

/* The parameter of the next argument by position; *next becomes the one after it. */
static const struct param *param_for(struct binder *binder, struct call *call,
				     const struct argument *argument, int *next)
{
	const struct param *param;

	for (; (param = &call->row->params[*next])->kind != PARAM_END; (*next)++) {
		if (param_is_output(param) || param->named_only || call->in[*next])
			continue;
		if (param_fits(binder, param, argument)) {
			(*next)++;
			return param;
		}
		if (param->optional)
			continue;
		diag_add(&binder->script->diag, argument->value->at, "expected %s for %s",
			 wanted_for(param), param->name);
		return NULL;
	}
	too_many(binder, call, argument);
	return NULL;
}

/* Is `key` the parameter's name in the header, or the end of it ("cookie" for user_cookie)? */
static bool is_named(const struct param *param, const char *key)
{
	size_t n = strlen(param->name), k = strlen(key);

	return n >= k && !strcmp(param->name + n - k, key) &&
	       (n == k || param->name[n - k - 1] == '_');
}

static const struct param *param_named(struct binder *binder, const struct call *call,
				       const struct argument *argument)
{
	const struct param *param;

	for (param = call->row->params; param->kind != PARAM_END; param++) {
		if (!is_named(param, argument->key))
			continue;
		if (!call->in[param - call->row->params])
			return param;
		diag_add(&binder->script->diag, argument->at, "%s is given twice", param->name);
		return NULL;
	}
	unknown_param(binder, call, argument);
	return NULL;
}

static bool bind_arguments(struct binder *binder, struct call *call)
{
	const struct argument *argument;
	const struct param *param;
	struct offer offer;
	struct place at;
	int next = 0;

	for (argument = call->arguments; argument; argument = argument->next) {
		param = argument->key ? param_named(binder, call, argument)
				      : param_for(binder, call, argument, &next);
		if (!param || !bind_value(binder, param, argument->value))
			return false;
		call->in[param - call->row->params] = argument->value;
	}
	for (param = call->row->params; param->kind != PARAM_END; param++) {
		if (param->optional || call->in[param - call->row->params])
			continue;
		at = call->at;
		at.column = binder->st->at.column + call->head_length - 1;
		at.length = 1;
		diag_add(&binder->script->diag, at, "expected %s: %s", param->name,
			 wanted_for(param));
		if (param->kind == PARAM_STRUCT) {
			offer_start(&offer, "", 0);
			layout_offer(param->layout, &offer);
			offer_tell(&offer, &binder->script->diag, "its fields:");
		}
		return false;
	}
	return true;
}

bool bind_call(struct binder *binder, struct statement *st)
{
	struct call *call = &st->call;
	struct suggest suggest;

	call->row = call_find(call->name);
	if (!call->row) {
		diag_add(&binder->script->diag, call->at, "expected a DAT call, found \"%s\"",
			 call->name);
		suggest_start(&suggest, call->name, (int)strlen(call->name));
		call_suggest(&suggest);
		diag_suggest(&binder->script->diag, &suggest);
		return false;
	}
	return bind_arguments(binder, call) && bind_outcome(binder, st);
}
