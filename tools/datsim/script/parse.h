/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse.h - between parse.c (statements) and parse_value.c (what stands in them).
 *
 * A parser owns nothing: tokens are the current line's, nodes are the script's. A parse function
 * that fails has added its diagnostic and returns NULL or false; the rest of the line is skipped.
 */
#ifndef DATSIM_PARSE_H
#define DATSIM_PARSE_H

#include "lex.h"
#include "script.h"

struct parser {
	struct script *script;
	const char *line;                         /* source text of the line */
	struct token tokens[LINE_TOKENS_MAX + 1]; /* one more, so that one may look ahead */
	struct token *now;
	int depth; /* of nested values */
};

/* "expected X, found Y" at the current token. */
void parse_expected(struct parser *parser, const char *what);

/* Is the current token this mark or word? If so step over it. */
bool parse_mark(struct parser *parser, char mark);
bool parse_word(struct parser *parser, const char *word);
bool at_mark(const struct parser *parser, char mark);
bool parse_need_mark(struct parser *parser, char mark);

char *token_copy(struct parser *parser, const struct token *token);

bool parse_when(struct parser *parser, struct when *when);
struct value *parse_value(struct parser *parser);
/* key=value, as many as there are; commas between them are welcome. */
bool parse_settings(struct parser *parser, struct setting **settings);
/* After ->: names and, where `wanted` is not NULL, {key=value}. */
bool parse_targets(struct parser *parser, struct target **targets, struct setting **wanted);
/* fault.c's half of the language; the word "fault" is behind. */
bool parse_fault(struct parser *parser, struct statement *st);
/* parse_event.c: x4, and the lines whose first word is behind */
bool at_repeat(const struct parser *parser);
bool parse_repeat(struct parser *parser, uint64_t *repeat);
bool parse_event(struct parser *parser, struct statement *st);
bool parse_agent(struct parser *parser, struct statement *st);
/* from>to, two actors */
bool parse_link(struct parser *parser, struct gate *gate);
bool parse_count(struct parser *parser, const char *what, uint64_t *count);

#endif
