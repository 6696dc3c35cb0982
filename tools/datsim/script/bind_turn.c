/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binds turn lines, which order the turns of programs in lockstep: "turn order", "turn client
 * call=12 to=server", "turn client call=12 for=5us".
 */
#include "bind.h"
#include "keywords.h"

#include <string.h>

static bool turn_node(struct binder *binder, const struct value *value, const char **node)
{
	bool named = value->kind == VALUE_NAME && !value->actor;

	*node = value->text;
	return bind_adapter(binder, named ? value->text : NULL, value->at);
}

static bool turn_number(struct binder *binder, const struct value *value, int64_t most,
			uint64_t *number)
{
	int64_t n;

	if (!value_between(binder, value, 1, most, &n))
		return false;
	*number = (uint64_t)n;
	return true;
}

static bool turn_setting(struct binder *binder, const struct setting *setting,
			 struct turn_line *turn)
{
	const struct value *value = setting->value;

	if (setting->unequal) {
		diag_add(&binder->script->diag, setting->at, "expected %s=value", setting->key);
		return false;
	}
	if (!strcmp(setting->key, "call"))
		return turn_number(binder, value, UINT32_MAX, &turn->call);
	if (!strcmp(setting->key, "to"))
		return turn_node(binder, value, &turn->to);
	if (!strcmp(setting->key, "for"))
		return value_ns(binder, value, &turn->pause_ns);
	if (!strcmp(setting->key, "thread"))
		return turn_number(binder, value, UINT32_MAX, &turn->thread);
	if (!strcmp(setting->key, "to_thread"))
		return turn_number(binder, value, UINT32_MAX, &turn->to_thread);
	return bind_unknown_key(binder, setting, turn_keys);
}

bool bind_turn(struct binder *binder, struct statement *st)
{
	struct turn_line *turn = &st->turn;
	const struct setting *setting;

	if (!binder->script->for_nodes) {
		diag_add(&binder->script->diag, st->at,
			 "only a script for programs in lockstep can order their turns");
		return false;
	}
	if (turn->order) {
		binder->script->turns_in_order = true;
		return true;
	}
	turn->thread = turn->to_thread = 1;
	if (!turn_node(binder, turn->subject, &turn->node) ||
	    !bind_once(binder, turn->settings, " in a line"))
		return false;
	for (setting = turn->settings; setting; setting = setting->next)
		if (!turn_setting(binder, setting, turn))
			return false;
	if (turn->call && !turn->to != !turn->pause_ns)
		return true;
	diag_add(&binder->script->diag, st->at,
		 "expected a call and what happens at it: call=12 to=NODE, or call=12 for=5us");
	return false;
}
