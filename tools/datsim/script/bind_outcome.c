/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds what a line expects: results, new names and matched outputs of a call, events, agents. */
#include "bind.h"

#include <string.h>

static bool bind_constant(struct binder *binder, const char *name, struct place at,
			  enum group_id group, DAT_RETURN *result)
{
	uint64_t number;

	if (group_find(group, name, (int)strlen(name), &number)) {
		*result = (DAT_RETURN)number;
		return true;
	}
	diag_add(&binder->script->diag, at, "expected %s, found \"%s\"", group_of(group)->what,
		 name);
	bind_offer_names(binder, group, name);
	return false;
}

static bool bind_result(struct binder *binder, struct call *call)
{
	call->type = DAT_SUCCESS;
	if (!call->type_name)
		return true;
	if (!bind_constant(binder, call->type_name, call->type_at, GROUP_RETURN, &call->type))
		return false;
	return !call->subtype_name || bind_constant(binder, call->subtype_name, call->subtype_at,
						    GROUP_SUBTYPE, &call->subtype);
}

/* ---- outputs ---- */

static bool no_such_output(struct binder *binder, const struct call *call,
			   const struct setting *setting)
{
	const struct param *param;
	struct offer offer;

	diag_add(&binder->script->diag, setting->at, "%s has no output \"%s\"", call->name,
		 setting->key);
	offer_start(&offer, setting->key, (int)strlen(setting->key));
	for (param = call->row->params; param->kind != PARAM_END; param++) {
		if (param->kind == PARAM_OUT_NUMBER || param->kind == PARAM_OUT_TEXT)
			offer_add(&offer, param->name);
		else if (param->kind == PARAM_OUT_STRUCT || param->kind == PARAM_OUT_LIST)
			layout_offer(param->layout, &offer);
	}
	offer_tell(&offer, &binder->script->diag, "its outputs:");
	return false;
}

static bool bind_out_scalar(struct binder *binder, const struct param *param,
			    struct setting *setting)
{
	struct value *value = setting->value;

	if (value->kind == VALUE_ANY)
		return true;
	if (value->kind == VALUE_NEW && !setting->unequal && param->kind != PARAM_OUT_TEXT)
		return bind_new_name(binder, value,
				     param->kind == PARAM_OUT_HANDLE ? param->type : SYMBOL_NUMBER);
	if (param->kind == PARAM_OUT_HANDLE)
		return bind_handle(binder, value);
	if (param->kind == PARAM_OUT_TEXT) {
		if (value->kind == VALUE_STRING)
			return true;
		diag_add(&binder->script->diag, value->at, "expected a text in quotes");
		return false;
	}
	return bind_number(binder, setting->value, param->group);
}

/* A member of the event data, which an earlier event=NUMBER of the same line tells. */
static const struct member *event_member(const struct call *call, const struct setting *setting)
{
	const struct setting *s;

	if (!strcmp(setting->key, event_number_member.name))
		return &event_number_member;
	for (s = call->wanted; s != setting; s = s->next) {
		if (s->member == &event_number_member && s->value->kind == VALUE_NUMBER)
			return layout_find(layout_of_event(s->value->number), setting->key);
	}
	return NULL;
}

static bool bind_wanted(struct binder *binder, struct call *call, struct setting *setting)
{
	const struct param *param;
	const struct member *member = NULL;

	for (param = call->row->params; param->kind != PARAM_END; param++) {
		if ((param->kind == PARAM_OUT_NUMBER || param->kind == PARAM_OUT_HANDLE ||
		     param->kind == PARAM_OUT_TEXT) &&
		    !strcmp(param->name, setting->key))
			break;
		if ((param->kind == PARAM_OUT_STRUCT || param->kind == PARAM_OUT_LIST) &&
		    (member = layout_find(param->layout, setting->key)))
			break;
		if (param->kind == PARAM_OUT_EVENT && (member = event_member(call, setting)))
			break;
	}
	if (param->kind == PARAM_END)
		return no_such_output(binder, call, setting);
	setting->param = (int)(param - call->row->params);
	if (call->type != DAT_SUCCESS && !param->written_on_failure) {
		diag_add(&binder->script->diag, setting->at,
			 "a call that fails writes no %s: expected nothing to match after \"->\"",
			 setting->key);
		return false;
	}
	return member ? bind_member(binder, setting, member)
		      : bind_out_scalar(binder, param, setting);
}

/* ---- new names ---- */

/* The symbol of the IA to which the objects made by this call belong, or -1. */
static int owner_of(const struct binder *binder, const struct call *call)
{
	const struct symbol *symbol;

	if (call->row->params[0].kind != PARAM_HANDLE || call->in[0]->symbol < 0)
		return -1;
	symbol = &binder->script->symbols[call->in[0]->symbol];
	return symbol->type == DAT_HANDLE_TYPE_IA ? call->in[0]->symbol : symbol->owner;
}

static bool makes_handle(const struct param *param)
{
	return param->kind == PARAM_OUT_HANDLE || param->kind == PARAM_INOUT_HANDLE;
}

static bool bind_new_names(struct binder *binder, struct statement *st)
{
	struct call *call = &st->call;
	const struct param *param = call->row->params;
	struct target *target = call->targets;
	int owner = owner_of(binder, call), ia = -1;

	if (target && call->type != DAT_SUCCESS) {
		diag_add(&binder->script->diag, target->at,
			 "a call that fails makes no object: expected no name after \"->\"");
		return false;
	}
	if (target && st->repeat > 1) {
		diag_add(&binder->script->diag, target->at,
			 "a repeated call cannot make names: expected no xN, or no name after "
			 "\"->\"");
		return false;
	}
	for (; target; target = target->next) {
		while (param->kind != PARAM_END && !makes_handle(param))
			param++;
		if (param->kind == PARAM_END) {
			diag_add(&binder->script->diag, target->at,
				 "expected fewer names: %s makes no object for \"%s\"", call->name,
				 target->name ? target->name : "_");
			return false;
		}
		if (target->name) {
			target->symbol = bind_symbol(binder, st->actor_index, target->name,
						     target->at, param->type, owner);
			if (target->symbol < 0)
				return false;
			if (param->type == DAT_HANDLE_TYPE_IA)
				ia = target->symbol;
		}
		param++;
	}
	/* The asynchronous EVD that dat_ia_open makes belongs to the new IA. */
	for (target = call->targets; ia >= 0 && target; target = target->next) {
		if (target->symbol >= 0 && target->symbol != ia)
			binder->script->symbols[target->symbol].owner = ia;
	}
	return true;
}

static void bind_freed(struct binder *binder, const struct call *call)
{
	struct script *script = binder->script;
	int i, gone;

	if (call->type != DAT_SUCCESS ||
	    (call->row->effect != CALL_FREES && call->row->effect != CALL_CLOSES &&
	     call->row->effect != CALL_ANSWERS))
		return;
	gone = call->in[0]->symbol;
	for (i = 0; gone >= 0 && i < script->symbol_count; i++) {
		if (script->symbols[i].freed_line)
			continue;
		if (i == gone ||
		    (call->row->effect == CALL_CLOSES && script->symbols[i].owner == gone))
			script->symbols[i].freed_line = call->at.line;
	}
}

bool bind_outcome(struct binder *binder, struct statement *st)
{
	struct call *call = &st->call;
	struct setting *setting;

	if (!bind_result(binder, call))
		return false;
	for (setting = call->wanted; setting; setting = setting->next) {
		if (!bind_wanted(binder, call, setting))
			return false;
	}
	if (!bind_new_names(binder, st))
		return false;
	bind_freed(binder, call);
	return true;
}

/* ---- events ---- */

static bool bind_evd(struct binder *binder, struct value *value)
{
	return bind_of_type(binder, value, DAT_HANDLE_TYPE_EVD, "an EVD");
}

static bool bind_event_fields(struct binder *binder, struct event *event)
{
	const struct member *member;
	struct setting *setting;
	struct offer offer;

	for (setting = event->wanted; setting; setting = setting->next) {
		member = layout_find(event->layout, setting->key);
		if (!member) {
			diag_add(&binder->script->diag, setting->at,
				 "expected a field of a %s, found \"%s\"", event->layout->name,
				 setting->key);
			offer_start(&offer, setting->key, (int)strlen(setting->key));
			layout_offer(event->layout, &offer);
			offer_tell(&offer, &binder->script->diag, "its fields:");
			return false;
		}
		if (!bind_member(binder, setting, member))
			return false;
	}
	return true;
}

static bool bind_event_targets(struct binder *binder, struct statement *st)
{
	struct target *target = st->event.targets;
	int owner = binder->script->symbols[st->event.evd->symbol].owner;

	if (!target)
		return true;
	if (st->event.number->number != DAT_CONNECTION_REQUEST_EVENT || target->next ||
	    st->repeat > 1) {
		diag_add(&binder->script->diag, target->at,
			 "only a single CONNECTION_REQUEST makes a name, that of its CR");
		return false;
	}
	if (!target->name)
		return true;
	target->symbol = bind_symbol(binder, st->actor_index, target->name, target->at,
				     DAT_HANDLE_TYPE_CR, owner);
	return target->symbol >= 0;
}

/*
 * "event recv DTO_COMPLETION SUCCESS": a word that is no object, and is the value of a field. Says
 * how it is written.
 */
static bool is_value_of_field(struct binder *binder, const struct event *event)
{
	const struct value *value = event->object;
	const struct member *member;
	uint64_t number;

	if (value->kind != VALUE_NAME || value->actor ||
	    script_symbol(binder->script, binder->st->actor_index, value->text) >= 0)
		return false;
	for (member = event->layout->members; member->name; member++) {
		if (member->group == GROUP_NONE ||
		    !group_find(member->group, value->text, (int)strlen(value->text), &number))
			continue;
		diag_add(&binder->script->diag, value->at,
			 "expected an object or field=value, found \"%s\"", value->text);
		diag_hint(&binder->script->diag, "write %s=%s", member->name, value->text);
		return true;
	}
	return false;
}

bool bind_event(struct binder *binder, struct statement *st)
{
	struct event *event = &st->event;

	if (!bind_evd(binder, event->evd))
		return false;
	if (event->absent)
		return true;
	if (st->when.kind == WHEN_AT || st->when.kind == WHEN_WITHIN)
		binder->script->symbols[event->evd->symbol].timed = true;
	if (!bind_number(binder, event->number, GROUP_EVENT))
		return false;
	event->layout = layout_of_event(event->number->number);
	if (event->object && is_value_of_field(binder, event))
		return false;
	if (event->object && !bind_handle(binder, event->object))
		return false;
	if (event->object && event->layout->members[0].kind != MEMBER_HANDLE) {
		diag_add(&binder->script->diag, event->object->at,
			 "expected field=value: a %s has no object", event->layout->name);
		return false;
	}
	return bind_event_fields(binder, event) && bind_event_targets(binder, st);
}

bool bind_agent(struct binder *binder, struct statement *st)
{
	struct agent_line *agent = &st->agent;

	if (agent->number && !bind_number(binder, agent->number, GROUP_NONE))
		return false;
	return !agent->evd || agent->evd->kind == VALUE_NULL || bind_evd(binder, agent->evd);
}
