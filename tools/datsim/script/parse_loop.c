/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops: "for i in 1..3: STATEMENT" is parsed once for each number, with the number in place of $i.
 * Tokens keep their places in the source, so that messages point at what was written.
 */
#include <string.h>

#include "parse.h"

static bool parse_bound(struct parser *parser, uint64_t *number)
{
	const struct token *token = parser->now;

	if (token->kind != TOKEN_NUMBER || token->unit_length || token->billionths ||
	    token->too_big || token->value > UINT32_MAX) {
		parse_expected(parser, "a whole number, as in for i in 1..3:");
		return false;
	}
	*number = token->value;
	parser->now++;
	return true;
}

bool parse_loop(struct parser *parser, struct loop *loop, size_t length)
{
	struct place at = parser->now->at;

	loop->name = NULL;
	if (!token_is(parser->now, "for") || parser->now[1].kind != TOKEN_NAME)
		return true;
	parser->now++;
	loop->name = token_copy(parser, parser->now);
	parser->now++;
	if (strchr(loop->name, '$') || !parse_word(parser, "in")) {
		parse_expected(parser, "\"in\", as in for i in 1..3:");
		return false;
	}
	if (!parse_bound(parser, &loop->first) || !parse_need_mark(parser, '.') ||
	    !parse_need_mark(parser, '.') || !parse_bound(parser, &loop->last) ||
	    !parse_need_mark(parser, ':'))
		return false;
	if (loop->last < loop->first || loop->last - loop->first >= SCRIPT_LOOP_MAX) {
		diag_add(&parser->script->diag, at,
			 "expected a loop over 1 to %d numbers, the smallest first",
			 SCRIPT_LOOP_MAX);
		return false;
	}
	parser->looped += loop->last - loop->first + 1;
	parser->looped_bytes += (loop->last - loop->first + 1) * length;
	if (parser->looped <= SCRIPT_LOOPED_MAX && parser->looped_bytes <= SCRIPT_BYTES_MAX)
		return true;
	diag_add(&parser->script->diag, at,
		 "expected loops that make at most %d statements and 4 MiB of lines in all",
		 SCRIPT_LOOPED_MAX);
	return false;
}

/* The length of the name behind "$". */
static size_t name_length(const char *s, const char *end)
{
	const char *p = s;

	while (p < end && *p != '$')
		p++;
	return (size_t)(p - s);
}

static bool unknown_variable(struct parser *parser, const struct loop *loop,
			     const struct token *token)
{
	if (loop->name)
		diag_add(&parser->script->diag, token->at, "expected $%s, found \"%.*s\"",
			 loop->name, token->length, token->s);
	else
		diag_add(&parser->script->diag, token->at,
			 "expected a loop such as \"for i in 1..3:\" in front, found \"%.*s\"",
			 token->length, token->s);
	return false;
}

static bool put_number(struct parser *parser, const struct loop *loop, uint64_t number,
		       struct token *token)
{
	const char *p = token->s, *end = p + token->length;
	struct place at = token->at;
	struct token made[3];
	struct text text = { 0 };
	size_t n;

	while (p < end) {
		n = name_length(p, end);
		text_append(&text, p, n);
		p += n;
		if (p == end)
			break;
		n = name_length(++p, end);
		if (!loop->name || n != strlen(loop->name) || memcmp(p, loop->name, n)) {
			text_free(&text);
			return unknown_variable(parser, loop, token);
		}
		text_add(&text, "%llu", (unsigned long long)number);
		p += n;
	}
	/* Letters and digits alone: one token, and the end. */
	n = text.length;
	lex_line(arena_copy(&parser->script->arena, text_of(&text), n), (int)n, at.line, made);
	text_free(&text);
	*token = made[0];
	token->at = at;
	return true;
}

bool parse_loop_turn(struct parser *parser, const struct loop *loop, uint64_t number,
		     struct token *token)
{
	for (; token->kind != TOKEN_END; token++) {
		if (token->kind == TOKEN_NAME && memchr(token->s, '$', (size_t)token->length) &&
		    !put_number(parser, loop, number, token))
			return false;
	}
	return true;
}
