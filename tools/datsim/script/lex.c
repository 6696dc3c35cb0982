/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lexer: splits one line of a script into the tokens of lex.h.
 */
#include "lex.h"

#include <string.h>

/* isalpha and its relatives depend on the locale; a script must not. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void add_digit(struct token *token, unsigned int base, unsigned int digit)
{
	if (token->value > (UINT64_MAX - digit) / base)
		token->too_big = true;
	else
		token->value = token->value * base + digit;
}

static int lex_fraction(const char *s, int n, struct token *token)
{
	uint32_t weight = 100000000;
	int i;

	for (i = 1; i < n && is_digit(s[i]); i++) {
		token->billionths += weight * (uint32_t)(s[i] - '0');
		token->too_fine |= !weight && s[i] != '0';
		weight /= 10;
	}
	token->billionths += token->too_fine && !token->billionths;
	return i;
}

static int lex_number(const char *s, int n, struct token *token)
{
	int i = 0;

	token->kind = TOKEN_NUMBER;
	if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && hex_digit(s[2]) >= 0) {
		for (i = 2; i < n && hex_digit(s[i]) >= 0; i++)
			add_digit(token, 16, (unsigned int)hex_digit(s[i]));
	} else {
		for (i = 0; i < n && is_digit(s[i]); i++)
			add_digit(token, 10, (unsigned int)(s[i] - '0'));
		if (i + 1 < n && s[i] == '.' && is_digit(s[i + 1]))
			i += lex_fraction(s + i, n - i, token);
	}
	token->unit = s + i;
	while (i < n && (is_letter(s[i]) || is_digit(s[i])))
		i++;
	if (s + i == token->unit && i < n && s[i] == '%')
		i++;
	token->unit_length = (int)(s + i - token->unit);
	return i;
}

static int lex_string(const char *s, int n, struct token *token)
{
	const char *close = memchr(s + 1, '"', (size_t)(n - 1));

	if (!close) {
		token->kind = TOKEN_BAD;
		return n;
	}
	token->kind = TOKEN_STRING;
	token->s = s + 1;
	token->length = (int)(close - s - 1);
	return (int)(close - s + 1);
}

static int lex_one(const char *s, int n, struct token *token)
{
	int i = 1;

	token->s = s;
	token->kind = TOKEN_PUNCTUATION;
	token->mark = s[0];
	if (is_digit(s[0]))
		return lex_number(s, n, token);
	if (s[0] == '"')
		return lex_string(s, n, token);
	if (is_letter(s[0]) || (s[0] == '$' && n > 1 && is_letter(s[1]))) {
		token->kind = TOKEN_NAME;
		while (i < n && (is_letter(s[i]) || is_digit(s[i]) || s[i] == '$'))
			i++;
		return i;
	}
	if (n > 1 && s[0] == '-' && s[1] == '>') {
		token->kind = TOKEN_ARROW;
		return 2;
	}
	if (n > 1 && s[0] == '!' && s[1] == '=') {
		token->kind = TOKEN_UNEQUAL;
		return 2;
	}
	if (s[0] == '\0' || !strchr("(){}[],=|~+*-:@.>/?", s[0]))
		token->kind = TOKEN_BAD;
	return 1;
}

int lex_line(const char *line, int length, int line_number, struct token *tokens)
{
	int i = 0, n = 0, used;
	struct token *token;

	for (;;) {
		while (i < length && (line[i] == ' ' || line[i] == '\t'))
			i++;
		token = &tokens[n++];
		memset(token, 0, sizeof(*token));
		token->at.line = line_number;
		token->at.column = i + 1;
		token->at.length = 1;
		token->s = line + i;
		if (i >= length || line[i] == '#')
			return n; /* the token is zero: TOKEN_END */
		if (n == LINE_TOKENS_MAX - 1) {
			token->kind = TOKEN_BAD;
			length = i;
			continue;
		}
		used = lex_one(line + i, length - i, token);
		token->at.length = used;
		if (token->kind != TOKEN_STRING)
			token->length = used;
		i += used;
	}
}

bool token_is(const struct token *token, const char *name)
{
	return token->kind == TOKEN_NAME && token->s[0] == name[0] &&
	       strlen(name) == (size_t)token->length &&
	       !memcmp(token->s, name, (size_t)token->length);
}
