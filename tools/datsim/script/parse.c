/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser's top: reads a script line by line and makes a statement of each. Values are parsed by
 * parse_value.c, event and agent lines by parse_event.c, fault lines by parse_fault.c, use lines by
 * parse_use.c.
 */
#include "parse.h"

#include <stdlib.h>
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
		if (at_repeat(parser)) {
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

static void not_a_statement(struct parser *parser)
{
	const struct token *token = parser->now;
	struct offer offer;
	size_t i;

	parse_expected(parser, "\"actor:\" or a statement");
	if (token->kind != TOKEN_NAME)
		return;
	offer_start(&offer, token->s, token->length);
	for (i = 0; i < ARRAY_SIZE(statements); i++)
		offer_add(&offer, statements[i].word);
	if (token[1].kind != TOKEN_NAME) {
		offer_tell(&offer, &parser->script->diag, "statements begin with:");
		return;
	}
	diag_suggest(&parser->script->diag, &offer.suggest);
	diag_hint(&parser->script->diag,
		  "an actor's line begins with its name and \":\", such as a: event recv");
}

static bool parse_statement(struct parser *parser, struct statement *st)
{
	size_t i;

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
	not_a_statement(parser);
	return false;
end:
	if (parser->now->kind == TOKEN_END) {
		st->at.length =
			parser->now[-1].at.column + parser->now[-1].at.length - st->at.column;
		return true;
	}
	parse_expected(parser, "the end of the line");
	return false;
}

/* ---- lines ---- */

/* The statement in the tokens from the current one on. */
static bool add_statement(struct parser *parser, const char *loop, struct statement ***end)
{
	struct statement *st = arena_alloc(&parser->script->arena, sizeof(*st));

	st->repeat = 1;
	st->actor_index = -1;
	st->loop = loop;
	parser->depth = 0;
	if (!parse_statement(parser, st))
		return false;
	**end = st;
	*end = &st->next;
	return true;
}

/* A statement for each number of the loop; the line is split again each time. */
static void parse_turns(struct parser *parser, const struct loop *loop, int length, int number,
			struct statement ***end)
{
	struct token *first = parser->now;
	struct text name = { 0 };
	uint64_t i;

	for (i = loop->first; i <= loop->last; i++) {
		lex_line(parser->line, length, number, parser->tokens);
		parser->now = first;
		name.length = 0;
		text_add(&name, "%s=%llu", loop->name, (unsigned long long)i);
		if (!parse_loop_turn(parser, loop, i, first) ||
		    !add_statement(parser,
				   arena_copy(&parser->script->arena, text_of(&name), name.length),
				   end))
			break;
	}
	text_free(&name);
}

static void parse_line(struct parser *parser, int length, int number, struct statement ***end)
{
	struct place at = { number, 1, 1 };
	struct loop loop;

	if (length > SCRIPT_LINE_MAX) {
		at.column = SCRIPT_LINE_MAX + 1;
		diag_add(&parser->script->diag, at, "expected at most %d bytes in a line",
			 SCRIPT_LINE_MAX);
		return;
	}
	lex_line(parser->line, length, number, parser->tokens);
	parser->now = parser->tokens;
	if (parser->now->kind == TOKEN_END || !parse_loop(parser, &loop, (size_t)length))
		return;
	if (loop.name)
		parse_turns(parser, &loop, length, number, end);
	else if (parse_loop_turn(parser, &loop, 0, parser->now))
		add_statement(parser, NULL, end);
}

/* "# Failure: regex", alone on a line: the script must fail with a matching message. */
static void find_failure(struct script *script, const char *line, int length)
{
	static const char mark[] = "# Failure:";
	int n = (int)sizeof(mark) - 1;

	if (script->must_fail || length < n || memcmp(line, mark, (size_t)n))
		return;
	while (n < length && line[n] == ' ')
		n++;
	script->must_fail = arena_copy(&script->arena, line + n, (size_t)(length - n));
}

void script_parse(struct script *script)
{
	const char *p = script->source.text, *end = p + script->source.length, *nl;
	struct statement **tail = &script->statements;
	struct parser *parser = mem_zero(1, sizeof(*parser));
	int number = 0, length;

	parser->script = script;
	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		length = (int)(nl - p);
		if (length && p[length - 1] == '\r')
			length--;
		if (++number > SCRIPT_LINES_MAX) {
			diag_add(&script->diag, (struct place){ number, 1, 1 },
				 "expected at most %d lines", SCRIPT_LINES_MAX);
			break;
		}
		find_failure(script, p, length);
		parser->line = p;
		parse_line(parser, length, number, &tail);
	}
	free(parser);
}
