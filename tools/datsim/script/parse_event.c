/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses what a script expects, event, agent and packet lines, and repeat counts (x4). */
#include "keywords.h"
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

/* ---- packets ---- */

static bool parse_packet_link(struct parser *parser, struct packet_line *packet)
{
	struct traffic link;

	if (!parse_link(parser, &link))
		return false;
	packet->from = link.from;
	packet->from_at = link.from_at;
	packet->to = link.to;
	packet->to_at = link.to_at;
	return true;
}

/* a>b SEND psn=+1 x2 */
bool parse_packet(struct parser *parser, struct statement *st)
{
	struct packet_line *packet = &st->packet;
	size_t n;

	st->kind = STATEMENT_PACKET;
	if (!parse_packet_link(parser, packet))
		return false;
	if (parser->now->kind != TOKEN_NAME) {
		parse_expected(parser, "a kind of packet such as SEND");
		for (n = 0; packet_kinds[n]; n++)
			;
		diag_list(&parser->script->diag, "kinds of packets:", packet_kinds, n);
		return false;
	}
	packet->opcode = token_copy(parser, parser->now);
	packet->opcode_at = parser->now->at;
	parser->now++;
	return parse_settings(parser, &packet->wanted) &&
	       (!at_repeat(parser) || parse_repeat(parser, &st->repeat));
}

/* no packet a>b */
bool parse_no_packet(struct parser *parser, struct statement *st)
{
	st->kind = STATEMENT_PACKET;
	st->packet.absent = true;
	if (parse_word(parser, "packet"))
		return parse_packet_link(parser, &st->packet);
	parse_expected(parser, "\"packet\", as in no packet a>b");
	parse_suggest(parser);
	return false;
}
