/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse.h - shared by the parser's files: parse_lines.c (lines), parse.c (statements),
 * parse_event.c, parse_fault.c, parse_use.c and parse_value.c (values in statements).
 *
 * A parser owns nothing: tokens belong to the current line, nodes to the script. A parse function
 * that fails has added a diagnostic and returns NULL or false; the rest of the line is skipped.
 */
#ifndef DATSIM_PARSE_H
#define DATSIM_PARSE_H

#include "lex.h"
#include "script.h"

struct parser {
	struct script *script;
	const char *line; /* source text of the line */
	struct token *now;
	uint64_t looped, looped_bytes; /* statements that loops made; their text */
	int depth;                     /* of the value being parsed: how many values contain it */
	const struct token *refused;   /* the token that was none of these words */
	const char *words[8];
	size_t word_count;
	struct statement **end; /* where the next statement is linked */
	script_take *take;      /* is told of each statement */
	void *context;
	struct token tokens[LINE_TOKENS_MAX + 1]; /* one more, for a token of lookahead */
};

/* The statement in the tokens from the current one on. */
bool parse_statement(struct parser *parser, struct statement *st);

/* "expected X, found Y" at the current token. */
void parse_expected(struct parser *parser, const char *what);

/* Suggest, for the current token, the nearest of the words that parse_word has looked for there. */
void parse_suggest(struct parser *parser);

/* True and past the token if the current token is this mark or word. */
bool parse_mark(struct parser *parser, char mark);
bool parse_word(struct parser *parser, const char *word);
bool at_mark(const struct parser *parser, char mark);
bool parse_need_mark(struct parser *parser, char mark);

char *token_copy(struct parser *parser, const struct token *token);

bool parse_when(struct parser *parser, struct when *when);
struct value *parse_value(struct parser *parser);
/* Any number of key=value; commas between them are allowed. */
bool parse_settings(struct parser *parser, struct setting **settings);
/* After ->: names and, where `wanted` is not NULL, {key=value}. */
bool parse_targets(struct parser *parser, struct target **targets, struct setting **wanted);
/* parse_fault.c: a fault line; the word "fault" has been read. */
bool parse_fault(struct parser *parser, struct statement *st);
/* parse_event.c: a repeat (x4); event and agent lines, whose first word has been read. */
bool at_repeat(const struct parser *parser);
bool parse_repeat(struct parser *parser, uint64_t *repeat);
bool parse_event(struct parser *parser, struct statement *st);
bool parse_agent(struct parser *parser, struct statement *st);
/* parse_use.c: a use line, whose first word has been read. */
bool parse_use(struct parser *parser, struct statement *st);
/* Read a line whose current word was to be "use", without a message: it makes names. */
void parse_recover_use(struct parser *parser, struct statement *st);
/* from>to, two actors */
bool parse_link(struct parser *parser, struct traffic *traffic);
/* parse_event.c: a line that begins with a link; "no packet", whose first word has been read. */
bool parse_packet(struct parser *parser, struct statement *st);
bool parse_no_packet(struct parser *parser, struct statement *st);
bool parse_count(struct parser *parser, const char *what, uint64_t *count);

#endif
