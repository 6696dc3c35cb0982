/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses use lines: "a@emu0 s@emu3", and lists of actors, "a,b,c@emu0..", where each actor has the
 * next adapter, or all of them the same one without the two points.
 */
#include "keywords.h"
#include "parse.h"

#include <string.h>

#define ADAPTER_NUMBER_MAX 4095 /* of a fabric's adapters */

/* If there is no kind: *near says whether a word is nearly one, which is taken then. */
static bool parse_kind(struct parser *parser, struct use *use, bool *near)
{
	const struct token *token = parser->now;
	struct suggest suggest;
	size_t i;

	suggest_start(&suggest, token->s, token->kind == TOKEN_NAME ? token->length : 0);
	for (i = 0; use_kinds[i]; i++) {
		use->kind = (enum use_kind)i;
		if (parse_word(parser, use_kinds[i]))
			return true;
		suggest_try(&suggest, use_kinds[i]);
	}
	parse_expected(parser, "\"connected\", \"adapter\" or \"bare\"");
	if (token->kind == TOKEN_NAME)
		diag_suggest(&parser->script->diag, &suggest);
	for (i = 0; strcmp(use_kinds[i], suggest.best) != 0; i++)
		;
	*near = suggest_is_near(&suggest);
	use->kind = *near ? (enum use_kind)i : USE_CONNECTED;
	return false;
}

/* A list of actors begins here: a name and "@" or ",", so not a setting. */
static bool at_actor(const struct parser *parser)
{
	const struct token *next = parser->now + 1;

	return parser->now->kind == TOKEN_NAME && next->kind == TOKEN_PUNCTUATION &&
	       (next->mark == '@' || next->mark == ',');
}

/* The names before "@", linked behind *end; adapters are still missing. */
static bool parse_names(struct parser *parser, struct use_actor **end)
{
	struct use_actor *actor;

	do {
		if (parser->now->kind != TOKEN_NAME) {
			parse_expected(parser, "the name of an actor");
			return false;
		}
		actor = arena_alloc(&parser->script->arena, sizeof(*actor));
		actor->name = token_copy(parser, parser->now);
		actor->at = parser->now->at;
		parser->now++;
		*end = actor;
		end = &actor->next;
	} while (parse_mark(parser, ','));
	return parse_need_mark(parser, '@');
}

/* Gives these actors the adapters emu4, emu5 ... beginning at the one named. */
static bool number_adapters(struct parser *parser, const struct token *first,
			    struct use_actor *actor)
{
	const char *name = token_copy(parser, first);
	unsigned int number = 0, length = 0;
	size_t stem = strlen(name);
	struct text full = { 0 };

	while (stem && name[stem - 1] >= '0' && name[stem - 1] <= '9')
		stem--;
	for (; name[stem + length] && number <= ADAPTER_NUMBER_MAX; length++)
		number = 10 * number + (unsigned int)(name[stem + length] - '0');
	if (!length || number > ADAPTER_NUMBER_MAX) {
		diag_add(
			&parser->script->diag, first->at,
			"expected an adapter with a number of 0 to %d before \"..\", such as emu0, "
			"found \"%s\"",
			ADAPTER_NUMBER_MAX, name);
		return false;
	}
	for (; actor; actor = actor->next, number++) {
		full.length = 0;
		text_add(&full, "%.*s%u", (int)stem, name, number);
		actor->adapter = arena_copy(&parser->script->arena, text_of(&full), full.length);
	}
	text_free(&full);
	return true;
}

/* The adapter after "@", with ".." behind it for consecutive ones. */
static bool parse_adapter(struct parser *parser, struct use_actor *actor)
{
	const struct token *name = parser->now;

	if (name->kind != TOKEN_NAME && name->kind != TOKEN_STRING) {
		parse_expected(parser, "the name of an adapter such as emu0");
		return false;
	}
	parser->now++;
	if (parse_mark(parser, '.'))
		return parse_need_mark(parser, '.') && number_adapters(parser, name, actor);
	for (; actor; actor = actor->next)
		actor->adapter = token_copy(parser, name);
	return true;
}

static bool parse_actors(struct parser *parser, struct use *use)
{
	struct use_actor **end = &use->actors;

	while (at_actor(parser)) {
		if (!parse_names(parser, end) || !parse_adapter(parser, *end))
			return false;
		while (*end)
			end = &(*end)->next;
	}
	return true;
}

/* Go on with a line whose kind is wrong; `sure`: it is known what was meant. */
static void use_recover(struct parser *parser, struct statement *st, bool sure)
{
	struct diag *diag = &parser->script->diag;
	const size_t length = diag->text.length;
	const int count = diag->count;

	while (parser->now->kind == TOKEN_NAME && !at_actor(parser))
		parser->now++;
	if (parse_actors(parser, &st->use) && st->use.actors &&
	    parse_settings(parser, &st->use.settings) && parser->now->kind == TOKEN_END)
		st->hides_names = !sure;
	diag_take_back(diag, count, length);
}

void parse_recover_use(struct parser *parser, struct statement *st)
{
	struct diag *diag = &parser->script->diag;
	const size_t length = diag->text.length;
	const int count = diag->count;
	bool sure, near;

	st->kind = STATEMENT_USE;
	st->hides_names = true;
	parser->now++;
	sure = parse_kind(parser, &st->use, &near) || near;
	use_recover(parser, st, sure);
	diag_take_back(diag, count, length);
}

bool parse_use(struct parser *parser, struct statement *st)
{
	bool near;

	st->kind = STATEMENT_USE;
	st->hides_names = true;
	if (!parse_kind(parser, &st->use, &near)) {
		use_recover(parser, st, near);
		return false;
	}
	if (!parse_actors(parser, &st->use))
		return false;
	if (!st->use.actors) {
		parse_expected(parser, "an actor on an adapter, such as a@emu0");
		return false;
	}
	return parse_settings(parser, &st->use.settings);
}
