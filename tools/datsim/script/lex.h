/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lex.h - split one line of a script into tokens.
 *
 * Tokens point into the source, which outlives them. A comment ends the line. A character that
 * starts no token becomes TOKEN_BAD; the parser reports it together with what it expected there.
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
	/* A number: its value, and the unit that follows it without a blank (possibly empty). */
	uint64_t value;
	uint32_t billionths; /* the digits after the point */
	bool too_big;
	bool too_fine; /* some of these digits are left out; then `billionths` is not 0 */
	const char *unit;
	int unit_length;
};

/*
 * Split a line; returns the number of tokens, TOKEN_END included. A line of more than
 * LINE_TOKENS_MAX tokens is cut there with a TOKEN_BAD.
 */
int lex_line(const char *line, int length, int line_number, struct token *tokens);

/* Does the token's text equal `name`? */
bool token_is(const struct token *token, const char *name);

#endif
