/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses what an actor expects, event and agent lines, and repeat counts (x4). */
#include "parse.h"

/* Is the current token a repeat count, such as x4? */
bool at_repeat(const struct parser *parser)
{
	const struct token *token = parser->now;
	int i;

	if (token->kind != TOKEN_NAME || token->length < 2 || token->s[0] != 'x')
		return false;
	for (i = 1; i < token->length; i++) {
		if (token->s[i] < '0' || token->s[i] > '9')
			return false;
	}
	return true;
}

bool parse_repeat(struct parser *parser, uint64_t *repeat)
{
	const struct token *token = parser->now;
	uint64_t n = 0;
	int i;

	for (i = 1; i < token->length && n <= SCRIPT_REPEAT_MAX; i++)
		n = n * 10 + (uint64_t)(token->s[i] - '0');
	if (n < 1 || n > SCRIPT_REPEAT_MAX) {
		diag_add(&parser->script->diag, token->at,
			 "expected a repeat count from x1 to x%d, found \"%.*s\"",
			 SCRIPT_REPEAT_MAX, token->length, token->s);
		return false;
	}
	*repeat = n;
	parser->now++;
	return true;
}

/* ---- events ---- */

static struct value *parse_object(struct parser *parser, const char *what)
{
	if (parser->now->kind != TOKEN_NAME) {
		parse_expected(parser, what);
		return NULL;
	}
	return parse_value(parser);
}

bool parse_event(struct parser *parser, struct statement *st)
{
	struct event *event = &st->event;

	st->kind = STATEMENT_EVENT;
	event->evd = parse_object(parser, "an EVD such as recv, request, connect, cr or async");
	if (!event->evd)
		return false;
	if (event->absent)
		return true;
	event->number = parse_object(parser, "an event such as DTO_COMPLETION");
	if (!event->number)
		return false;
	if (parser->now->kind == TOKEN_NAME && !at_repeat(parser) &&
	    !(parser->now[1].kind == TOKEN_PUNCTUATION && parser->now[1].mark == '=') &&
	    parser->now[1].kind != TOKEN_UNEQUAL) {
		event->object = parse_value(parser);
		if (!event->object)
			return false;
	}
	if (!parse_settings(parser, &event->wanted))
		return false;
	if (at_repeat(parser) && !parse_repeat(parser, &st->repeat))
		return false;
	if (parser->now->kind != TOKEN_ARROW)
		return true;
	parser->now++;
	return parse_targets(parser, &event->targets, NULL);
}

/* agent 7 recv, no agent 7 */
bool parse_agent(struct parser *parser, struct statement *st)
{
	struct agent_line *agent = &st->agent;

	st->kind = STATEMENT_AGENT;
	if (parser->now->kind == TOKEN_END && agent->absent)
		return true;
	agent->number = parse_value(parser);
	if (!agent->number || agent->absent)
		return agent->number != NULL;
	agent->evd = parse_object(parser, "the EVD that the agent is called for, or NULL");
	return agent->evd != NULL;
}
