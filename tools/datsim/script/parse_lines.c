/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a script line by line and makes a statement of each, or several of a loop. A line that does
 * not parse becomes a broken statement: what names it would have made tells bind.c which messages
 * about later lines would only follow from this mistake.
 */
#include "parse.h"

#include <stdlib.h>
#include <string.h>

/* ---- broken lines ---- */

static bool is_mark(const struct token *token, char mark)
{
	return token->kind == TOKEN_PUNCTUATION && token->mark == mark;
}

/* Names that are made come behind ")" or "->", which may be mistyped as ">". */
static bool ends_arguments(const struct token *token, const struct statement *st)
{
	return token->kind == TOKEN_ARROW || is_mark(token, ')') ||
	       (is_mark(token, '>') && st->actor);
}

/* Is the name written where a name is made? `before` is the token in front of it, or NULL. */
static bool is_made(const struct token *token, const struct token *before, bool behind)
{
	if (before && is_mark(before, '?'))
		return true;
	return behind && before && !is_mark(before, '=') && !is_mark(before, '/') &&
	       !is_mark(token + 1, '=') && token[1].kind != TOKEN_UNEQUAL;
}

static void lose_name(struct parser *parser, struct statement *st, const struct token *token)
{
	struct target *target = arena_alloc(&parser->script->arena, sizeof(*target));

	target->name = token_copy(parser, token);
	target->at = token->at;
	target->symbol = -1;
	target->next = st->lost;
	st->lost = target;
}

/* The object of a call that frees it, as in dat_evd_free(ev. */
static void lose_freed(struct parser *parser, struct statement *st, const struct token *token)
{
	const struct call_row *row;

	if (!is_mark(token + 1, '(') || token[2].kind != TOKEN_NAME)
		return;
	row = call_find(token_copy(parser, token));
	if (row && (row->effect == CALL_FREES || row->effect == CALL_ANSWERS))
		st->frees = token_copy(parser, token + 2);
}

static void find_names(struct parser *parser, struct statement *st)
{
	const struct token *token = parser->tokens, *before = NULL;
	bool behind = false;

	for (; token->kind != TOKEN_END; before = token++) {
		if (token->kind == TOKEN_BAD && token->s[0] == '"') {
			/* The quote that is missing made a text of the rest of the line. */
			lex_line(token->s + 1, token->length - 1, token->at.line, parser->tokens);
			token = parser->tokens;
			before = NULL;
			if (token->kind == TOKEN_END)
				break;
		}
		behind |= ends_arguments(token, st);
		st->hides_names |= is_mark(token, '@') && st->kind != STATEMENT_USE;
		if (token->kind != TOKEN_NAME)
			continue;
		lose_freed(parser, st, token);
		if (is_made(token, before, behind))
			lose_name(parser, st, token);
	}
}

/*
 * ---- loops ----
 *
 * "for i in 1..3: STATEMENT" is parsed once for each number, with the number in place of $i. Tokens
 * keep their places in the source, so that messages point at what was written.
 */

struct loop {
	const char *name; /* NULL: the line is no loop */
	uint64_t first, last;
};

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

/*
 * Read the loop, if the line, of this length, begins with one. Tokens of its statement are the
 * current ones then.
 */
static bool parse_loop(struct parser *parser, struct loop *loop, size_t length)
{
	struct place at = parser->now->at;

	loop->name = NULL;
	if (!token_is(parser->now, "for") || parser->now[1].kind != TOKEN_NAME)
		return true;
	parser->now++;
	loop->name = token_copy(parser, parser->now);
	parser->now++;
	if (strchr(loop->name, '$')) {
		diag_add(&parser->script->diag, parser->now[-1].at,
			 "expected a name without \"$\", as in for i in 1..3:, found \"%s\"",
			 loop->name);
		return false;
	}
	if (!parse_word(parser, "in")) {
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

/* Put the number in place of $NAME in the tokens from this one on; without a loop there is none. */
static bool parse_loop_turn(struct parser *parser, const struct loop *loop, uint64_t number,
			    struct token *token)
{
	for (; token->kind != TOKEN_END; token++) {
		if (token->kind == TOKEN_NAME && memchr(token->s, '$', (size_t)token->length) &&
		    !put_number(parser, loop, number, token))
			return false;
	}
	return true;
}

/* ---- lines ---- */

static struct statement *new_statement(struct parser *parser, const char *loop)
{
	struct statement *st = arena_alloc(&parser->script->arena, sizeof(*st));

	st->at = parser->now->at;
	st->repeat = 1;
	st->actor_index = -1;
	st->loop = loop;
	return st;
}

static void take_broken(struct parser *parser, struct statement *st)
{
	st->broken = true;
	find_names(parser, st);
	parser->take(parser->context, st);
}

/* The statement in the tokens from the current one on. */
static bool add_statement(struct parser *parser, const char *loop)
{
	struct statement *st = new_statement(parser, loop);

	parser->depth = 0;
	if (!parse_statement(parser, st)) {
		take_broken(parser, st);
		return false;
	}
	st->hides_names = false;
	st->s = parser->line + st->at.column - 1;
	*parser->end = st;
	parser->end = &st->next;
	parser->take(parser->context, st);
	return true;
}

/*
 * A statement for each number of the loop; the line is split again each time. If it is broken, the
 * names of every number are lost, and only the first message stays.
 */
static void parse_turns(struct parser *parser, const struct loop *loop, int length, int number)
{
	struct diag *diag = &parser->script->diag;
	struct token *first = parser->now;
	struct text name = { 0 };
	size_t said = 0;
	int count = 0;
	uint64_t i;
	bool good;

	for (i = loop->first; i <= loop->last; i++) {
		lex_line(parser->line, length, number, parser->tokens);
		parser->now = first;
		name.length = 0;
		text_add(&name, "%s=%llu", loop->name, (unsigned long long)i);
		good = parse_loop_turn(parser, loop, i, first);
		if (!good)
			take_broken(parser, new_statement(parser, NULL));
		else
			good = add_statement(parser, arena_copy(&parser->script->arena,
								text_of(&name), name.length));
		if (count)
			diag_take_back(diag, count, said);
		if (good || count)
			continue;
		count = diag->count;
		said = diag->text.length;
	}
	text_free(&name);
}

static void parse_line(struct parser *parser, int length, int number)
{
	struct place at = { number, 1, 1 };
	struct statement *st;
	struct loop loop;

	if (length > SCRIPT_LINE_MAX) {
		at.column = SCRIPT_LINE_MAX + 1;
		diag_add(&parser->script->diag, at, "expected at most %d bytes in a line",
			 SCRIPT_LINE_MAX);
		st = arena_alloc(&parser->script->arena, sizeof(*st));
		st->broken = st->hides_names = true;
		parser->take(parser->context, st);
		return;
	}
	lex_line(parser->line, length, number, parser->tokens);
	parser->now = parser->tokens;
	if (parser->now->kind == TOKEN_END)
		return;
	if (!parse_loop(parser, &loop, (size_t)length)) {
		st = new_statement(parser, NULL);
		st->hides_names = true; /* those of $i */
		take_broken(parser, st);
	} else if (loop.name) {
		parse_turns(parser, &loop, length, number);
	} else if (parse_loop_turn(parser, &loop, 0, parser->now)) {
		add_statement(parser, NULL);
	} else {
		take_broken(parser, new_statement(parser, NULL));
	}
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

/* Lines from this offset on; the first has the number after `number`. */
static void parse_lines(struct parser *parser, size_t from, size_t to, int number)
{
	struct script *script = parser->script;
	const char *p = script->source.text + from, *end = script->source.text + to, *nl;
	int length;

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
		parse_line(parser, length, number);
	}
}

struct statement **script_parse(struct script *script, const struct part *part, script_take *take,
				void *context)
{
	struct parser parser;

	/* Tokens are written before they are read, and they are 35 KB. */
	memset(&parser, 0, offsetof(struct parser, tokens));
	parser.script = script;
	parser.end = part->end;
	parser.take = take;
	parser.context = context;
	parse_lines(&parser, part->from, part->to, part->line - 1);
	return parser.end;
}
