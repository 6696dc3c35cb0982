/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the parts of statements: times, values (numbers, names, lists, structures ...), key=value
 * settings and the names after "->".
 */
#include "parse.h"

#include <string.h>

#define VALUE_DEPTH_MAX 8

void parse_expected(struct parser *parser, const char *what)
{
	const struct token *token = parser->now;

	if (token->kind == TOKEN_END)
		diag_add(&parser->script->diag, token->at, "expected %s, found the end of the line",
			 what);
	else if (token->kind == TOKEN_BAD && token->s[0] == '"')
		diag_add(&parser->script->diag, token->at, "this string has no closing quote");
	else
		diag_add(&parser->script->diag, token->at, "expected %s, found \"%.*s\"", what,
			 token->at.length, token->kind == TOKEN_STRING ? token->s - 1 : token->s);
}

bool at_mark(const struct parser *parser, char mark)
{
	return parser->now->kind == TOKEN_PUNCTUATION && parser->now->mark == mark;
}

bool parse_mark(struct parser *parser, char mark)
{
	if (!at_mark(parser, mark))
		return false;
	parser->now++;
	return true;
}

bool parse_word(struct parser *parser, const char *word)
{
	const struct token *token = parser->now;

	if (token_is(token, word)) {
		parser->now++;
		return true;
	}
	if (parser->refused != token)
		parser->word_count = 0;
	parser->refused = token;
	if (parser->word_count < ARRAY_SIZE(parser->words))
		parser->words[parser->word_count++] = word;
	return false;
}

void parse_suggest(struct parser *parser)
{
	const struct token *token = parser->now;
	struct suggest suggest;
	size_t i;

	if (parser->refused != token || token->kind != TOKEN_NAME)
		return;
	suggest_start(&suggest, token->s, token->length);
	for (i = 0; i < parser->word_count; i++)
		suggest_try(&suggest, parser->words[i]);
	diag_suggest(&parser->script->diag, &suggest);
}

bool parse_need_mark(struct parser *parser, char mark)
{
	char what[] = "\"?\"";

	if (parse_mark(parser, mark))
		return true;
	what[1] = mark;
	parse_expected(parser, what);
	return false;
}

char *token_copy(struct parser *parser, const struct token *token)
{
	return arena_copy(&parser->script->arena, token->s, (size_t)token->length);
}

static const struct {
	const char *unit;
	uint64_t ns;
} time_units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

/* A point in time or a duration: 5us, 1.5ms. */
static bool parse_moment(struct parser *parser, uint64_t *ns)
{
	const struct token *token = parser->now;
	size_t i;

	if (token->kind != TOKEN_NUMBER) {
		parse_expected(parser, "a time such as 5us");
		return false;
	}
	if (!token->value && !token->billionths && !token->unit_length) {
		*ns = 0; /* 0 needs no unit */
		parser->now++;
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(time_units); i++) {
		if (strlen(time_units[i].unit) == (size_t)token->unit_length &&
		    !memcmp(time_units[i].unit, token->unit, (size_t)token->unit_length))
			break;
	}
	if (i == ARRAY_SIZE(time_units)) {
		diag_add(&parser->script->diag, token->at,
			 "expected a time with a unit (ns, us, ms, s), found \"%.*s\"",
			 token->at.length, token->s);
		return false;
	}
	if (token->too_big || token->value > SCRIPT_TIME_MAX / time_units[i].ns ||
	    (token->billionths && token->value == SCRIPT_TIME_MAX / time_units[i].ns)) {
		diag_add(&parser->script->diag, token->at,
			 "expected a time of at most one hour (a script lasts no longer), found "
			 "\"%.*s\"",
			 token->length, token->s);
		return false;
	}
	if (token->too_fine || token->billionths * time_units[i].ns % UINT64_C(1000000000)) {
		diag_add(&parser->script->diag, token->at,
			 "expected a time of whole nanoseconds, found \"%.*s\"", token->at.length,
			 token->s);
		return false;
	}
	*ns = token->value * time_units[i].ns +
	      token->billionths * time_units[i].ns / UINT64_C(1000000000);
	parser->now++;
	return true;
}

bool parse_when(struct parser *parser, struct when *when)
{
	when->at = parser->now->at;
	if (parse_mark(parser, '*')) {
		when->kind = WHEN_ANY;
		return true;
	}
	if (!at_mark(parser, '+') && parser->now->kind != TOKEN_NUMBER)
		return true; /* WHEN_DEFAULT */
	when->kind = WHEN_AT;
	when->relative = parse_mark(parser, '+');
	if (!parse_moment(parser, &when->from_ns))
		return false;
	when->to_ns = when->from_ns;
	if (!parse_mark(parser, '~'))
		return true;
	when->kind = WHEN_WITHIN;
	if (parse_mark(parser, '+') != when->relative) {
		diag_add(&parser->script->diag, when->at,
			 "a range takes + at both ends or at none: +5us~+9us, 5us~9us");
		return false;
	}
	if (!parse_moment(parser, &when->to_ns))
		return false;
	if (when->to_ns >= when->from_ns)
		return true;
	diag_add(&parser->script->diag, when->at,
		 "a range ends after it begins: expected 5us~9us, found it the other way round");
	return false;
}

static struct value *new_value(struct parser *parser, enum value_kind kind)
{
	struct value *value = arena_alloc(&parser->script->arena, sizeof(*value));

	value->kind = kind;
	value->at = parser->now->at;
	value->unit = "";
	value->symbol = -1;
	value->actor_index = -1;
	return value;
}

static struct value *parse_number(struct parser *parser)
{
	struct value *value = new_value(parser, VALUE_NUMBER);
	const struct token *token;

	value->negative = parse_mark(parser, '-');
	if (!value->negative)
		parse_mark(parser, '+');
	token = parser->now;
	if (token->kind != TOKEN_NUMBER) {
		parse_expected(parser, "a number");
		return NULL;
	}
	if (token->too_big || (value->negative && token->value > INT64_MAX)) {
		diag_add(&parser->script->diag, token->at,
			 "expected a number of at most 64 bits, found \"%.*s\"", token->length,
			 token->s);
		return NULL;
	}
	if (token->too_fine) {
		diag_add(&parser->script->diag, token->at,
			 "expected at most 9 digits behind the point, found \"%.*s\"",
			 token->length, token->s);
		return NULL;
	}
	value->number = value->negative ? -token->value : token->value;
	value->billionths = token->billionths;
	value->unit = arena_copy(&parser->script->arena, token->unit, (size_t)token->unit_length);
	value->at.length = token->at.column + token->at.length - value->at.column;
	parser->now++;
	return value;
}

/* stale(name) or stale(actor.name); the opening parenthesis is the current token. */
static struct value *parse_stale(struct parser *parser, struct value *value)
{
	struct value *inner;

	parser->now++;
	inner = parse_value(parser);
	if (!inner || !parse_need_mark(parser, ')'))
		return NULL;
	if (inner->kind != VALUE_NAME) {
		diag_add(&parser->script->diag, inner->at, "expected the name of a freed object");
		return NULL;
	}
	inner->kind = VALUE_STALE;
	inner->at.column = value->at.column;
	return inner;
}

static struct value *parse_flags(struct parser *parser, struct value *first)
{
	struct value *flags = new_value(parser, VALUE_FLAGS), **end = &first->next;

	flags->at = first->at;
	flags->elements = first;
	while (parse_mark(parser, '|')) {
		if (parser->now->kind == TOKEN_NAME) {
			*end = new_value(parser, VALUE_NAME);
			(*end)->text = token_copy(parser, parser->now);
			parser->now++;
		} else {
			*end = parse_number(parser);
			if (!*end)
				return NULL;
		}
		end = &(*end)->next;
	}
	return flags;
}

static struct value *parse_name(struct parser *parser)
{
	struct value *value = new_value(parser, VALUE_NAME);

	value->text = token_copy(parser, parser->now);
	parser->now++;
	if (!strcmp(value->text, "NULL"))
		value->kind = VALUE_NULL;
	else if (!strcmp(value->text, "garbage"))
		value->kind = VALUE_GARBAGE;
	else if (!strcmp(value->text, "stale") && at_mark(parser, '('))
		return parse_stale(parser, value);
	else if (parse_mark(parser, '.')) {
		value->actor = value->text;
		if (parser->now->kind != TOKEN_NAME) {
			parse_expected(parser, "the name of an object");
			return NULL;
		}
		value->text = token_copy(parser, parser->now);
		value->at.length =
			parser->now->at.column + parser->now->at.length - value->at.column;
		parser->now++;
	}
	return value;
}

static struct value *parse_struct(struct parser *parser)
{
	struct value *value = new_value(parser, VALUE_STRUCT);

	parser->now++;
	if (!parse_settings(parser, &value->settings))
		return NULL;
	if (!at_mark(parser, '}')) {
		parse_expected(parser, "field=value or \"}\"");
		return NULL;
	}
	parser->now++;
	return value;
}

static struct value *parse_list(struct parser *parser)
{
	struct value *value = new_value(parser, VALUE_LIST), **end = &value->elements;

	parser->now++;
	while (!parse_mark(parser, ']')) {
		if (parser->now->kind == TOKEN_END) {
			parse_expected(parser, "a value or \"]\"");
			return NULL;
		}
		*end = parse_value(parser);
		if (!*end)
			return NULL;
		end = &(*end)->next;
		parse_mark(parser, ',');
	}
	return value;
}

/* ?name */
static struct value *parse_new_name(struct parser *parser)
{
	struct value *value = new_value(parser, VALUE_NEW);

	parser->now++;
	if (parser->now->kind != TOKEN_NAME) {
		parse_expected(parser, "a name");
		return NULL;
	}
	value->text = token_copy(parser, parser->now);
	value->at.length = parser->now->at.column + parser->now->at.length - value->at.column;
	parser->now++;
	return value;
}

static struct value *parse_plain(struct parser *parser)
{
	struct value *value;

	switch (parser->now->kind) {
	case TOKEN_NUMBER:
		return parse_number(parser);
	case TOKEN_NAME:
		return parse_name(parser);
	case TOKEN_STRING:
		value = new_value(parser, VALUE_STRING);
		value->text = token_copy(parser, parser->now);
		parser->now++;
		return value;
	default:
		break;
	}
	if (at_mark(parser, '-') || at_mark(parser, '+'))
		return parse_number(parser);
	if (at_mark(parser, '{'))
		return parse_struct(parser);
	if (at_mark(parser, '['))
		return parse_list(parser);
	if (at_mark(parser, '?'))
		return parse_new_name(parser);
	if (at_mark(parser, '*')) {
		value = new_value(parser, VALUE_ANY);
		parser->now++;
		return value;
	}
	parse_expected(parser, "a value");
	return NULL;
}

struct value *parse_value(struct parser *parser)
{
	struct value *value;

	if (parser->depth == VALUE_DEPTH_MAX) {
		diag_add(&parser->script->diag, parser->now->at,
			 "values are nested too deeply: expected at most %d levels",
			 VALUE_DEPTH_MAX);
		return NULL;
	}
	parser->depth++;
	value = parse_plain(parser);
	if (value && at_mark(parser, '|') &&
	    (value->kind == VALUE_NAME || value->kind == VALUE_NUMBER))
		value = parse_flags(parser, value);
	parser->depth--;
	return value;
}

static bool at_setting(const struct parser *parser)
{
	const struct token *next = parser->now + 1;

	return parser->now->kind == TOKEN_NAME &&
	       (next->kind == TOKEN_UNEQUAL ||
		(next->kind == TOKEN_PUNCTUATION && next->mark == '='));
}

bool parse_settings(struct parser *parser, struct setting **settings)
{
	struct setting *setting;

	while (at_setting(parser)) {
		setting = arena_alloc(&parser->script->arena, sizeof(*setting));
		setting->key = token_copy(parser, parser->now);
		setting->at = parser->now->at;
		setting->unequal = parser->now[1].kind == TOKEN_UNEQUAL;
		parser->now += 2;
		setting->value = parse_value(parser);
		if (!setting->value)
			return false;
		*settings = setting;
		settings = &setting->next;
		parse_mark(parser, ',');
	}
	return true;
}

bool parse_targets(struct parser *parser, struct target **targets, struct setting **wanted)
{
	struct target *target;

	if (parser->now->kind != TOKEN_NAME && !at_mark(parser, '{')) {
		parse_expected(parser, wanted ? "a name or {field=value}" : "a name");
		return false;
	}
	while (parser->now->kind == TOKEN_NAME) {
		target = arena_alloc(&parser->script->arena, sizeof(*target));
		target->at = parser->now->at;
		target->symbol = -1;
		if (!token_is(parser->now, "_"))
			target->name = token_copy(parser, parser->now);
		parser->now++;
		*targets = target;
		targets = &target->next;
		parse_mark(parser, ',');
	}
	if (!wanted || !parse_mark(parser, '{'))
		return true;
	if (!parse_settings(parser, wanted))
		return false;
	if (parse_mark(parser, '}'))
		return true;
	parse_expected(parser, "field=value or \"}\"");
	return false;
}

bool parse_count(struct parser *parser, const char *what, uint64_t *count)
{
	const struct token *token = parser->now;

	if (token->kind != TOKEN_NUMBER || token->unit_length || token->billionths) {
		parse_expected(parser, what);
		return false;
	}
	if (token->too_big || token->value > INT32_MAX) {
		diag_add(&parser->script->diag, token->at, "expected %s up to %d, found \"%.*s\"",
			 what, INT32_MAX, token->length, token->s);
		return false;
	}
	*count = token->value;
	parser->now++;
	return true;
}
