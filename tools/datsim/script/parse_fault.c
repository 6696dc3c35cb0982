/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses fault lines:
 *
 *	fault link a>b delay 50us jitter 10us opcode=SEND nth=3
 *	fault call dat_ep_post_send actor=a nth=3 fail DAT_INSUFFICIENT_RESOURCES
 *
 * First the place of the fault, then words (some followed by a value) and settings in any order.
 * bind_fault.c and bind_fault_call.c know the words and their meaning.
 */
#include "parse.h"

#include <string.h>

static bool starts_setting(const struct parser *parser)
{
	const struct token *next = parser->now + 1;

	return parser->now->kind == TOKEN_NAME &&
	       (next->kind == TOKEN_UNEQUAL ||
		(next->kind == TOKEN_PUNCTUATION && next->mark == '='));
}

/*
 * Does a value follow this word? A number always is one; a name is one after the words that take a
 * NAK code, an error or a status.
 */
static bool value_follows(const struct parser *parser, const char *word)
{
	static const char *const named[] = { "nak", "fail", "status" };
	size_t i;

	if (parser->now->kind == TOKEN_NUMBER)
		return true;
	for (i = 0; i < ARRAY_SIZE(named); i++) {
		if (!strcmp(word, named[i]))
			return parser->now->kind == TOKEN_NAME && !starts_setting(parser);
	}
	return false;
}

static bool parse_words(struct parser *parser, struct fault *fault)
{
	struct fault_word **end = &fault->words, *word;
	struct setting **settings = &fault->settings;

	while (parser->now->kind != TOKEN_END) {
		if (starts_setting(parser)) {
			if (!parse_settings(parser, settings))
				return false;
			while (*settings)
				settings = &(*settings)->next;
			continue;
		}
		if (parser->now->kind != TOKEN_NAME) {
			parse_expected(parser, "what happens (drop, delay 5us ...) or key=value");
			return false;
		}
		word = arena_alloc(&parser->script->arena, sizeof(*word));
		word->word = token_copy(parser, parser->now);
		word->at = parser->now->at;
		parser->now++;
		if (value_follows(parser, word->word)) {
			word->value = parse_value(parser);
			if (!word->value)
				return false;
		}
		*end = word;
		end = &word->next;
	}
	return true;
}

static bool parse_subject(struct parser *parser, struct fault *fault, enum fault_kind kind,
			  const char *what)
{
	fault->kind = kind;
	if (parser->now->kind != TOKEN_NAME || starts_setting(parser)) {
		parse_expected(parser, what);
		return false;
	}
	fault->subject = parse_value(parser);
	return fault->subject != NULL;
}

bool parse_fault(struct parser *parser, struct statement *st)
{
	struct traffic *traffic = &st->fault.traffic;

	st->kind = STATEMENT_FAULT;
	if (parse_word(parser, "call")) {
		if (!parse_subject(parser, &st->fault, FAULT_CALL,
				   "a call, such as dat_ep_post_send"))
			return false;
	} else if (parse_word(parser, "event")) {
		if (!parse_subject(parser, &st->fault, FAULT_EVENT,
				   "an event, such as CONNECTION_REQUEST"))
			return false;
	} else if (parse_word(parser, "adapter")) {
		if (!parse_subject(parser, &st->fault, FAULT_ADAPTER, "an actor, or emu0"))
			return false;
	} else if (parse_word(parser, "kill")) {
		if (!parse_subject(parser, &st->fault, FAULT_KILL, "a node"))
			return false;
	} else if (parse_word(parser, "alloc")) {
		st->fault.kind = FAULT_ALLOC;
	} else if (parse_word(parser, "completion")) {
		st->fault.kind = FAULT_COMPLETION;
	} else if (parse_word(parser, "notification")) {
		st->fault.kind = FAULT_EVENT;
	} else if (parse_word(parser, "link")) {
		if (!parse_link(parser, traffic))
			return false;
	} else if (parse_word(parser, "qp")) {
		traffic->from_at = parser->now->at;
		traffic->ep = parse_value(parser);
		if (!traffic->ep)
			return false;
	} else {
		parse_expected(parser, "link a>b, qp a.ep, call, alloc, completion, event, "
				       "notification, adapter or kill");
		return false;
	}
	return parse_words(parser, &st->fault);
}
