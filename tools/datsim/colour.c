/* SPDX-License-Identifier: BSD-3-Clause */
/* Colours of results and of failures' reports (colour.h). */
#include "colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESET "\033[0m"
#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define GREEN "\033[32m"
#define CYAN  "\033[36m"

const char *const colours[] = { "auto", "always", "never", NULL };

bool colour_wanted(int when, FILE *out)
{
	const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");

	if (when != COLOUR_AUTO)
		return when == COLOUR_ALWAYS;
	return isatty(fileno(out)) && !(no_colour && *no_colour) && kind && *kind &&
	       strcmp(kind, "dumb") != 0;
}

static bool line_begins(const char *line, size_t length, const char *word)
{
	return length >= strlen(word) && !memcmp(line, word, strlen(word));
}

/* Blanks, "^" and "~" only: the mark under a place of the script. */
static bool is_caret(const char *line, size_t length)
{
	size_t i = 0;

	while (i < length && (line[i] == ' ' || line[i] == '\t'))
		i++;
	if (i == length || line[i++] != '^')
		return false;
	while (i < length && line[i] == '~')
		i++;
	return i == length;
}

/* "FILE:LINE: what is wrong" */
static bool is_title(const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);

	return length && *line != ' ' && colon && colon + 1 < line + length && colon[1] >= '0' &&
	       colon[1] <= '9';
}

static const char *colour_of(const char *line, size_t length)
{
	if (line_begins(line, length, "expected:"))
		return GREEN;
	if (line_begins(line, length, "actual:"))
		return RED;
	if (is_caret(line, length))
		return GREEN;
	if (line_begins(line, length, "replay:"))
		return CYAN;
	return is_title(line, length) ? BOLD : "";
}

void colour_report(FILE *out, bool colour, const char *prefix, const char *report)
{
	const char *p = report, *nl, *shade;
	size_t length;

	for (; *p; p = *nl ? nl + 1 : nl) {
		nl = strchrnul(p, '\n');
		length = (size_t)(nl - p);
		shade = colour ? colour_of(p, length) : "";
		fprintf(out, "%s%s%.*s%s\n", prefix, shade, (int)length, p, *shade ? RESET : "");
	}
}

void colour_result(FILE *out, bool colour, bool good, const char *word)
{
	fprintf(out, "%s%s%s", !colour ? "" : good ? GREEN : RED, word, colour ? RESET : "");
}
