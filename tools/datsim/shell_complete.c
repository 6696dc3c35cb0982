/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can follow on a line that was typed up to here: calls behind an actor, objects of the right
 * type and constants in a call, fields in braces, the EVDs and events of an event line.
 */
#include "shell.h"

#include <string.h>

#include "tools/datsim/script/lex.h"

struct completion {
	const struct script *script;
	struct words *words;
	const struct token *now; /* the words before the one that is completed, up to TOKEN_END */
	int actor;               /* its index; -1: the line is no actor's */
};

static void offer_name(void *context, const char *name)
{
	words_add(context, name);
}

static void offer_list(struct completion *c, const char *const *names)
{
	for (; *names; names++)
		words_add(c->words, *names);
}

static void offer_calls(struct completion *c)
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
static void offer_objects(struct completion *c, int type, bool others)
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

static bool is_mark(const struct token *token, char mark)
{
	return token->kind == TOKEN_PUNCTUATION && token->mark == mark;
}

static void offer_actors(struct completion *c)
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
		if (token->kind == TOKEN_NAME && is_mark(token + 1, '=') && depth == 1) {
			place->key = token->s;
			place->key_length = token->length;
		} else if (is_mark(token, '(') || is_mark(token, '[') || is_mark(token, '{')) {
			depth++;
			place->braces += token->mark == '{';
		} else if (is_mark(token, ')') || is_mark(token, ']') || is_mark(token, '}')) {
			depth--;
			place->braces -= token->mark == '}';
			place->closed |= !depth && token->mark == ')';
		} else if (is_mark(token, ',') && depth == 1) {
			place->commas++;
			place->key = NULL;
		}
		place->result = place->closed && is_mark(token, '=') && !depth;
	}
}

static void offer_value(struct completion *c, const struct param *param, bool in_braces)
{
	static const char *const memory[] = { "mem", "rmr", "offset", "length", NULL };

	if (in_braces && param->layout)
		offer_fields(c, param->layout);
	else if (in_braces)
		offer_list(c, memory);
	else if (param->kind == PARAM_HANDLE || param->kind == PARAM_INOUT_HANDLE)
		offer_objects(c, param->type, false);
	else if (param->kind == PARAM_REMOTE)
		offer_objects(c, DAT_HANDLE_TYPE_LMR, true);
	else if (param->kind == PARAM_ADDRESS)
		offer_actors(c);
	else if (param->group != GROUP_NONE && param->group != GROUP_COUNT)
		group_each(param->group, offer_name, c->words);
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
		if (is_mark(c->now + 1, '('))
			offer_arguments(c, row, &place);
		return;
	}
	if (place.result)
		group_each(GROUP_RETURN, offer_name, c->words);
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
		offer_objects(c, DAT_HANDLE_TYPE_EVD, false);
	} else if (!absent && number->kind == TOKEN_END) {
		group_each(GROUP_EVENT, offer_name, c->words);
	} else if (!absent && group_find(GROUP_EVENT, number->s, number->length, &event)) {
		if (number[1].kind == TOKEN_END)
			offer_objects(c, SYMBOL_ANY, false);
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
		offer_calls(c);
		offer_list(c, others);
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

/* ---- other lines ---- */

static void complete_statement(struct completion *c)
{
	static const char *const statements[] = { "calls", "end",  "fabric",  "fault", "heal",
						  "help",  "hold", "link",    "no",    "note",
						  "quiet", "quit", "release", "save",  "script",
						  "show",  "undo", "use",     NULL };
	static const char *const kinds[] = { "adapter", "bare", "connected", NULL };
	static const char *const keys[] = { "eps",  "iov",  "lw",      "max",  "memory", "qlen",
					    "qual", "recv", "request", "soft", "srq",    NULL };
	static const char *const faults[] = { "adapter",      "alloc", "call",
					      "completion",   "event", "link",
					      "notification", "qp",    NULL };
	const struct token *second = c->now + 1;

	if (c->now->kind == TOKEN_END) {
		offer_list(c, statements);
		offer_actors(c);
	} else if (token_is(c->now, "use")) {
		offer_list(c, second->kind == TOKEN_END ? kinds : keys);
	} else if (token_is(c->now, "fault") && second->kind == TOKEN_END) {
		offer_list(c, faults);
	} else if (token_is(c->now, "help") ||
		   (token_is(c->now, "fault") && token_is(second, "call"))) {
		offer_calls(c);
	} else if (token_is(c->now, "no") && second->kind == TOKEN_END) {
		words_add(c->words, "packet");
	} else {
		offer_actors(c);
		c->actor = -1;
		offer_objects(c, DAT_HANDLE_TYPE_EP, true);
	}
}

/* Past a time: *, 5us, +5us~+9us. */
static const struct token *after_time(const struct token *token)
{
	while (token->kind == TOKEN_NUMBER || is_mark(token, '*') || is_mark(token, '+') ||
	       is_mark(token, '~'))
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
	c.now = after_time(tokens);
	if (c.now->kind != TOKEN_NAME || !is_mark(c.now + 1, ':')) {
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
