/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses one statement. Its line was split by parse_lines.c; values are parsed by parse_value.c,
 * event, agent and packet lines by parse_event.c, fault lines by parse_fault.c, use lines by
 * parse_use.c.
 */
#include "parse.h"

#include <string.h>

/* ---- calls ---- */

static bool parse_arguments(struct parser *parser, struct argument **end)
{
	struct argument *argument;
	const struct token *next;

	if (parse_mark(parser, ')'))
		return true;
	do {
		argument = arena_alloc(&parser->script->arena, sizeof(*argument));
		argument->at = parser->now->at;
		next = parser->now + 1;
		if (parser->now->kind == TOKEN_NAME && next->kind == TOKEN_PUNCTUATION &&
		    next->mark == '=') {
			argument->key = token_copy(parser, parser->now);
			parser->now += 2;
		}
		argument->value = parse_value(parser);
		if (!argument->value)
			return false;
		*end = argument;
		end = &argument->next;
	} while (parse_mark(parser, ','));
	if (parse_mark(parser, ')'))
		return true;
	parse_expected(parser, "\",\" or \")\"");
	return false;
}

static bool parse_result(struct parser *parser, struct call *call)
{
	if (parser->now->kind != TOKEN_NAME) {
		parse_expected(parser, "a return type such as DAT_INVALID_STATE");
		return false;
	}
	call->type_name = token_copy(parser, parser->now);
	call->type_at = parser->now->at;
	parser->now++;
	if (!parse_mark(parser, '/'))
		return true;
	if (parser->now->kind != TOKEN_NAME) {
		parse_expected(parser, "a subtype such as DAT_INVALID_STATE_SRQ_IN_USE");
		return false;
	}
	call->subtype_name = token_copy(parser, parser->now);
	call->subtype_at = parser->now->at;
	parser->now++;
	return true;
}

/* "=>", which others write for "->" */
static bool at_double_arrow(const struct parser *parser)
{
	const struct token *next = parser->now + 1;

	return at_mark(parser, '=') && next->kind == TOKEN_PUNCTUATION && next->mark == '>' &&
	       next->at.column == parser->now->at.column + 1;
}

static bool wrong_arrow(struct parser *parser)
{
	struct place at = parser->now->at;

	at.length = 2;
	diag_add(&parser->script->diag, at, "expected \"->\", found \"=>\"");
	diag_hint(&parser->script->diag,
		  "-> names or compares what a call gives; = is for its return value");
	return false;
}

static bool parse_call(struct parser *parser, struct statement *st)
{
	struct call *call = &st->call;
	bool repeated = false;

	st->kind = STATEMENT_CALL;
	call->name = token_copy(parser, parser->now);
	call->at = parser->now->at;
	parser->now++;
	if (!at_mark(parser, '(')) {
		/* Any other word is most likely a mistyped call. */
		if (!call_find(call->name)) {
			struct suggest suggest;

			suggest_start(&suggest, call->name, (int)strlen(call->name));
			suggest_try(&suggest, "event");
			suggest_try(&suggest, "no event");
			suggest_try(&suggest, "agent");
			call_suggest(&suggest);
			diag_add(&parser->script->diag, call->at,
				 "expected a call, \"event\" or \"no event\", found \"%s\"",
				 call->name);
			diag_suggest(&parser->script->diag, &suggest);
			return false;
		}
		parse_expected(parser, "\"(\"");
		return false;
	}
	parser->now++;
	if (!parse_arguments(parser, &call->arguments))
		return false;
	call->head_length = parser->now[-1].at.column - st->at.column + 1;
	while (parser->now->kind != TOKEN_END) {
		if (at_repeat(parser) && !repeated) {
			repeated = true;
			if (!parse_repeat(parser, &st->repeat))
				return false;
		} else if (at_double_arrow(parser)) {
			return wrong_arrow(parser);
		} else if (!call->type_name && parse_mark(parser, '=')) {
			if (!parse_result(parser, call))
				return false;
		} else if (parser->now->kind == TOKEN_ARROW && !call->targets && !call->wanted) {
			parser->now++;
			if (!parse_targets(parser, &call->targets, &call->wanted))
				return false;
		} else {
			parse_expected(parser,
				       "xN, \"= RESULT\", \"-> ...\" or the end of the line");
			return false;
		}
	}
	return true;
}

/* ---- what an actor does ---- */

/* actor: a call, an event or an agent line */
static bool parse_action(struct parser *parser, struct statement *st)
{
	st->actor = token_copy(parser, parser->now);
	st->actor_at = parser->now->at;
	parser->now += 2;
	if (parser->now->kind != TOKEN_NAME) {
		parse_expected(parser, "a call, \"event\" or \"no event\"");
		return false;
	}
	if (parse_word(parser, "event"))
		return parse_event(parser, st);
	if (parse_word(parser, "agent"))
		return parse_agent(parser, st);
	if (token_is(parser->now, "no") && token_is(parser->now + 1, "agent")) {
		parser->now += 2;
		st->agent.absent = true;
		return parse_agent(parser, st);
	}
	if (token_is(parser->now, "no") && token_is(parser->now + 1, "event")) {
		parser->now += 2;
		st->event.absent = true;
		return parse_event(parser, st);
	}
	return parse_call(parser, st);
}

/* ---- the wire ---- */

static bool parse_actor_name(struct parser *parser, const char **name, struct place *at)
{
	if (parser->now->kind != TOKEN_NAME) {
		parse_expected(parser, "the name of an actor");
		return false;
	}
	*name = token_copy(parser, parser->now);
	*at = parser->now->at;
	parser->now++;
	return true;
}

bool parse_link(struct parser *parser, struct traffic *traffic)
{
	return parse_actor_name(parser, &traffic->from, &traffic->from_at) &&
	       parse_need_mark(parser, '>') &&
	       parse_actor_name(parser, &traffic->to, &traffic->to_at);
}

/* "a>b" or "a.ep message N"; for hold optionally "after N packets" */
static bool parse_traffic(struct parser *parser, struct statement *st)
{
	struct traffic *traffic = &st->traffic;
	const struct token *next = parser->now + 1;

	if (parser->now->kind != TOKEN_NAME)
		next = parser->now;
	if (next->kind == TOKEN_PUNCTUATION && next->mark == '.') {
		traffic->ep = parse_value(parser);
		if (!traffic->ep)
			return false;
		if (!parse_word(parser, "message")) {
			parse_expected(parser, "\"message\"");
			return false;
		}
		if (!parse_count(parser, "the number of a message", &traffic->message))
			return false;
	} else if (next->kind == TOKEN_PUNCTUATION && next->mark == '>') {
		if (!parse_link(parser, traffic))
			return false;
	} else {
		parse_expected(parser, "a link (a>b) or a message (a.ep message 1)");
		return false;
	}
	if (st->kind != STATEMENT_HOLD || !parse_word(parser, "after"))
		return true;
	if (!parse_count(parser, "a number of packets", &traffic->packets))
		return false;
	if (parse_word(parser, "packets") || parse_word(parser, "packet"))
		return true;
	parse_expected(parser, "\"packets\"");
	return false;
}

static bool parse_hold(struct parser *parser, struct statement *st)
{
	st->kind = STATEMENT_HOLD;
	return parse_traffic(parser, st);
}

static bool parse_release(struct parser *parser, struct statement *st)
{
	st->kind = STATEMENT_RELEASE;
	return parse_traffic(parser, st);
}

static bool parse_link_line(struct parser *parser, struct statement *st)
{
	st->kind = STATEMENT_LINK;
	return parse_link(parser, &st->traffic) && parse_settings(parser, &st->traffic.settings);
}

/* ---- set-up and other statements ---- */

static bool parse_fabric(struct parser *parser, struct statement *st)
{
	st->kind = STATEMENT_FABRIC;
	return parse_settings(parser, &st->fabric);
}

static bool parse_note(struct parser *parser, struct statement *st)
{
	st->kind = STATEMENT_NOTE;
	if (parser->now->kind != TOKEN_STRING) {
		parse_expected(parser, "a text in quotes");
		return false;
	}
	st->note = token_copy(parser, parser->now);
	parser->now++;
	return true;
}

static bool parse_quiet(struct parser *parser, struct statement *st)
{
	(void)parser;
	st->kind = STATEMENT_QUIET;
	return true;
}

static bool parse_end(struct parser *parser, struct statement *st)
{
	st->kind = STATEMENT_END;
	st->quiet = parse_word(parser, "quiet");
	return true;
}

static bool parse_heal(struct parser *parser, struct statement *st)
{
	(void)parser;
	st->kind = STATEMENT_HEAL;
	return true;
}

static bool parse_turn(struct parser *parser, struct statement *st)
{
	st->kind = STATEMENT_TURN;
	if (parser->now->kind != TOKEN_NAME && parser->now->kind != TOKEN_STRING) {
		parse_expected(parser, "a node, or \"order\"");
		return false;
	}
	st->turn.subject = parse_value(parser);
	if (!st->turn.subject || !parse_settings(parser, &st->turn.settings))
		return false;
	st->turn.order = !st->turn.settings && st->turn.subject->kind == VALUE_NAME &&
			 !strcmp(st->turn.subject->text, "order");
	return true;
}

static const struct {
	const char *word;
	bool (*parse)(struct parser *parser, struct statement *st);
} statements[] = {
	{ "fabric", parse_fabric },   { "use", parse_use },        { "hold", parse_hold },
	{ "release", parse_release }, { "link", parse_link_line }, { "note", parse_note },
	{ "quiet", parse_quiet },     { "end", parse_end },        { "fault", parse_fault },
	{ "heal", parse_heal },       { "turn", parse_turn },      { "no", parse_no_packet },
};

static void not_a_statement(struct parser *parser, struct statement *st)
{
	struct diag *diag = &parser->script->diag;
	const struct token *token = parser->now;
	struct offer offer;
	size_t i;

	parse_expected(parser, "\"actor:\" or a statement");
	if (token_is(token, "for"))
		diag_hint(diag, "one loop is in front of one statement: for i in 1..3: b: event "
				"recv");
	if (token->kind != TOKEN_NAME || token_is(token, "for"))
		return;
	offer_start(&offer, token->s, token->length);
	for (i = 0; i < ARRAY_SIZE(statements); i++)
		offer_add(&offer, statements[i].word);
	offer_add(&offer, "for");
	if (token[1].kind != TOKEN_NAME) {
		offer_tell(&offer, diag, "statements begin with:");
		if (!suggest_is_near(&offer.suggest))
			diag_hint(diag, "or with a link, such as a>b SEND, or an actor, such as "
					"a: event recv");
		return;
	}
	diag_suggest(diag, &offer.suggest);
	diag_hint(diag, "an actor's line begins with its name and \":\", such as a: event recv");
	if (suggest_is_near(&offer.suggest) && !strcmp(offer.suggest.best, "use"))
		parse_recover_use(parser, st);
}

bool parse_statement(struct parser *parser, struct statement *st)
{
	size_t i;

	parser->refused = NULL;
	if (!parse_when(parser, &st->when))
		return false;
	st->at = parser->now->at;
	if (parser->now->kind == TOKEN_NAME && parser->now[1].kind == TOKEN_PUNCTUATION &&
	    parser->now[1].mark == ':') {
		if (!parse_action(parser, st))
			return false;
		goto end;
	}
	if (parser->now->kind == TOKEN_NAME && parser->now[1].kind == TOKEN_PUNCTUATION &&
	    parser->now[1].mark == '>') {
		if (!parse_packet(parser, st))
			return false;
		goto end;
	}
	for (i = 0; i < ARRAY_SIZE(statements); i++) {
		if (!parse_word(parser, statements[i].word))
			continue;
		if (!statements[i].parse(parser, st))
			return false;
		goto end;
	}
	not_a_statement(parser, st);
	return false;
end:
	if (parser->now->kind == TOKEN_END) {
		st->at.length =
			parser->now[-1].at.column + parser->now[-1].at.length - st->at.column;
		return true;
	}
	parse_expected(parser, "the end of the line");
	parse_suggest(parser);
	return false;
}
