/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lex.h - one script line into tokens.
 *
 * Tokens point into the source, which outlives them. A comment ends the line. A character that
 * starts no token is TOKEN_BAD; the parser says what it would have liked there.
 */
#ifndef DATSIM_LEX_H
#define DATSIM_LEX_H

#include "diag.h"

#define LINE_TOKENS_MAX 512

enum token_kind {
	TOKEN_END, /* end of the line */
	TOKEN_NAME,
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_PUNCTUATION, /* one character, in `mark` */
	TOKEN_ARROW,       /* -> */
	TOKEN_UNEQUAL,     /* != */
	TOKEN_BAD
};

struct token {
	enum token_kind kind;
	struct place at;
	const char *s; /* at.length bytes; a string without its quotes */
	int length;
	char mark;
	/* A number: value, then what follows it without a blank (a unit, or nothing). */
	uint64_t value;
	uint32_t billionths; /* digits after a point */
	bool too_big;
	const char *unit;
	int unit_length;
};

/*
 * Split a line; returns how many tokens, the TOKEN_END included. A line of more than
 * LINE_TOKENS_MAX tokens is cut there by a TOKEN_BAD.
 */
int lex_line(const char *line, int length, int line_number, struct token *tokens);

/* Does the token's text equal `name`? */
bool token_is(const struct token *token, const char *name);

#endif
