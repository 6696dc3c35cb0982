/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can follow on a line that was typed up to here: calls behind an actor, objects of the right
 * type and constants in a call, fields in braces, the EVDs and events of an event line, kinds of
 * packets behind a link, what a fault line can do to what it names.
 */
#include "shell_complete.h"

#include <string.h>

void complete_offer_name(void *context, const char *name)
{
	words_add(context, name);
}

void complete_offer_list(struct completion *c, const char *const *names)
{
	for (; *names; names++)
		words_add(c->words, *names);
}

void complete_offer_calls(struct completion *c)
{
	const struct call_row *row;

	for (row = call_rows(); row->name; row++)
		words_add(c->words, row->name);
}

static void offer_fields(struct completion *c, const struct layout *layout)
{
	const struct member *member;

	for (member = layout ? layout->members : NULL; member && member->name; member++)
		words_add(c->words, member->name);
}

/* The actor's objects of a type, SYMBOL_ANY for all; `others`: those of other actors in full. */
void complete_offer_objects(struct completion *c, int type, bool others)
{
	const struct symbol *symbol = c->script->symbols;
	struct text full = { 0 };
	int i;

	for (i = 0; i < c->script->symbol_count; i++, symbol++) {
		if (symbol->freed_line || (type != SYMBOL_ANY && symbol->type != type) ||
		    (symbol->actor != c->actor) != others)
			continue;
		full.length = 0;
		if (others)
			text_add(&full, "%s.", c->script->actors[symbol->actor].name);
		text_add(&full, "%s", symbol->name);
		words_add(c->words, text_of(&full));
	}
	text_free(&full);
}

bool complete_is_mark(const struct token *token, char mark)
{
	return token->kind == TOKEN_PUNCTUATION && token->mark == mark;
}

void complete_offer_actors(struct completion *c)
{
	int i;

	for (i = 0; i < c->script->actor_count; i++)
		words_add(c->words, c->script->actors[i].name);
}

/* ---- calls ---- */

/* Where in a call the line ends. */
struct call_place {
	int commas;
	int braces;      /* how many are open */
	bool closed;     /* behind ")" */
	bool result;     /* behind "=" then */
	const char *key; /* of the argument, if it is named */
	int key_length;
};

static void find_place(const struct token *token, struct call_place *place)
{
	int depth = 0;

	for (; token->kind != TOKEN_END; token++) {
		if (token->kind == TOKEN_NAME && complete_is_mark(token + 1, '=') && depth == 1) {
			place->key = token->s;
			place->key_length = token->length;
		} else if (complete_is_mark(token, '(') || complete_is_mark(token, '[') ||
			   complete_is_mark(token, '{')) {
			depth++;
			place->braces += token->mark == '{';
		} else if (complete_is_mark(token, ')') || complete_is_mark(token, ']') ||
			   complete_is_mark(token, '}')) {
			depth--;
			place->braces -= token->mark == '}';
			place->closed |= !depth && token->mark == ')';
		} else if (complete_is_mark(token, ',') && depth == 1) {
			place->commas++;
			place->key = NULL;
		}
		place->result = place->closed && complete_is_mark(token, '=') && !depth;
	}
}

static void offer_value(struct completion *c, const struct param *param, bool in_braces)
{
	static const char *const memory[] = { "mem", "rmr", "offset", "length", NULL };

	if (in_braces && param->layout)
		offer_fields(c, param->layout);
	else if (in_braces)
		complete_offer_list(c, memory);
	else if (param->kind == PARAM_HANDLE || param->kind == PARAM_INOUT_HANDLE)
		complete_offer_objects(c, param->type, false);
	else if (param->kind == PARAM_REMOTE)
		complete_offer_objects(c, DAT_HANDLE_TYPE_LMR, true);
	else if (param->kind == PARAM_ADDRESS)
		complete_offer_actors(c);
	else if (param->group != GROUP_NONE && param->group != GROUP_COUNT)
		group_each(param->group, complete_offer_name, c->words);
}

/* The end of the parameter's name may stand for all of it. */
static bool key_means(const struct param *param, const struct call_place *place)
{
	size_t n = strlen(param->name), k = (size_t)place->key_length;

	return n >= k && !memcmp(param->name + n - k, place->key, k);
}

static void offer_arguments(struct completion *c, const struct call_row *row,
			    const struct call_place *place)
{
	const struct param *param;
	int position = 0;
	bool counts;

	for (param = row->params; param->kind != PARAM_END; param++) {
		if (param_is_output(param))
			continue;
		counts = !param->named_only && param->kind != PARAM_SEGMENT_COUNT &&
			 param->kind != PARAM_LENGTH && param->kind != PARAM_MASK_OF_STRUCT;
		if (place->key ? key_means(param, place) : counts && position == place->commas)
			offer_value(c, param, place->braces > 0);
		position += counts;
		if (!place->key && !place->braces && param->optional && place->commas)
			words_add(c->words, param->name);
	}
}

static void complete_call(struct completion *c, const struct call_row *row)
{
	struct call_place place = { 0 };
	const struct param *param;

	find_place(c->now + 1, &place);
	if (!place.closed) {
		if (complete_is_mark(c->now + 1, '('))
			offer_arguments(c, row, &place);
		return;
	}
	if (place.result)
		group_each(GROUP_RETURN, complete_offer_name, c->words);
	for (param = row->params; place.braces && param->kind != PARAM_END; param++) {
		if (!param_is_output(param))
			continue;
		if (param->layout)
			offer_fields(c, param->layout);
		else if (param->kind != PARAM_OUT_HANDLE)
			words_add(c->words, param->name);
	}
}

/* ---- events ---- */

static void complete_event(struct completion *c, bool absent)
{
	const struct token *number = c->now + 1;
	uint64_t event;

	if (c->now->kind == TOKEN_END) {
		complete_offer_objects(c, DAT_HANDLE_TYPE_EVD, false);
	} else if (!absent && number->kind == TOKEN_END) {
		group_each(GROUP_EVENT, complete_offer_name, c->words);
	} else if (!absent && group_find(GROUP_EVENT, number->s, number->length, &event)) {
		if (number[1].kind == TOKEN_END)
			complete_offer_objects(c, SYMBOL_ANY, false);
		offer_fields(c, layout_of_event(event));
	}
}

static void complete_action(struct completion *c)
{
	static const char *const others[] = { "agent", "event", "no", NULL };
	bool absent = token_is(c->now, "no");
	const struct call_row *row;
	char name[64];

	if (c->now->kind == TOKEN_END) {
		complete_offer_calls(c);
		complete_offer_list(c, others);
		return;
	}
	c->now += absent;
	if (absent && c->now->kind == TOKEN_END) {
		words_add(c->words, "event");
		words_add(c->words, "agent");
	} else if (token_is(c->now, "event")) {
		c->now++;
		complete_event(c, absent);
	} else if (c->now->kind == TOKEN_NAME && c->now->length < (int)sizeof(name)) {
		memcpy(name, c->now->s, (size_t)c->now->length);
		name[c->now->length] = '\0';
		row = call_find(name);
		if (row)
			complete_call(c, row);
	}
}

/* ---- the line ---- */

/* Past "for i in 1..3:", if all of it is there. */
static const struct token *after_loop(const struct token *token)
{
	static const char marks[] = "..";
	const struct token *next = token + 4;
	size_t i;

	if (!token_is(token, "for") || token[1].kind != TOKEN_NAME || !token_is(token + 2, "in") ||
	    token[3].kind != TOKEN_NUMBER)
		return token;
	for (i = 0; i < sizeof(marks) - 1; i++, next++) {
		if (!complete_is_mark(next, marks[i]))
			return token;
	}
	return next->kind == TOKEN_NUMBER && complete_is_mark(next + 1, ':') ? next + 2 : token;
}

/* Past a time: *, 5us, +5us~+9us. */
static const struct token *after_time(const struct token *token)
{
	while (token->kind == TOKEN_NUMBER || complete_is_mark(token, '*') ||
	       complete_is_mark(token, '+') || complete_is_mark(token, '~'))
		token++;
	return token;
}

void words_that_follow(struct words *words, const struct script *script, const char *before,
		       int length)
{
	struct token tokens[LINE_TOKENS_MAX + 1] = { { 0 } };
	struct completion c = { script, words, tokens, -1 };
	int i;

	if (length > SCRIPT_LINE_MAX)
		return;
	lex_line(before, length, 1, tokens);
	c.now = after_time(after_loop(tokens));
	if (c.now->kind == TOKEN_END) {
		complete_start(&c, c.now == tokens);
		return;
	}
	if (c.now->kind != TOKEN_NAME || !complete_is_mark(c.now + 1, ':')) {
		complete_statement(&c);
		return;
	}
	for (i = 0; i < script->actor_count; i++) {
		if (token_is(c.now, script->actors[i].name))
			c.actor = i;
	}
	c.now += 2;
	if (c.actor >= 0)
		complete_action(&c);
}
