/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formats the diagnostics of diag.h: "file:line:column: message", then the line of the script and a
 * caret under the place, and "did you mean ...?" with the name that has the smallest edit distance
 * to what was written.
 */
#include "diag.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A long line is cut to the part around the caret. */
#define SHOWN_MAX    120
#define SHOWN_BEFORE 60

#define LIST_WIDTH 90

#define SHORT_LEAST 3 /* letters of a word that may be the beginning of a name */

const char *source_line(const struct source *source, int line, int *length)
{
	const char *p = source->text, *end = source->text + source->length, *nl;

	while (line > 1 && (nl = memchr(p, '\n', (size_t)(end - p)))) {
		p = nl + 1;
		line--;
	}
	nl = memchr(p, '\n', (size_t)(end - p));
	*length = (int)((nl ? nl : end) - p);
	if (*length && p[*length - 1] == '\r')
		(*length)--;
	return p;
}

static void add_blank(struct text *text, char like)
{
	/* A tab stays a tab on both lines, so that the caret is right at any tab width. */
	text_append(text, like == '\t' ? "\t" : " ", 1);
}

/* Number of bytes that are printed as one character. */
static int character_bytes(const char *line, int i, int length)
{
	size_t n = utf8_length(line + i, (size_t)(length - i));

	return n ? (int)n : 1;
}

static void add_caret(struct diag *diag, struct place at)
{
	int length, i, column = at.column - 1, from = 0;
	const char *line = source_line(diag->source, at.line, &length);

	if (column > length)
		column = length;
	if (length > SHOWN_MAX && column > SHOWN_BEFORE)
		from = column - SHOWN_BEFORE;
	if (length > from + SHOWN_MAX)
		length = from + SHOWN_MAX;
	text_add(&diag->text, from ? "... " : "    ");
	for (i = from; i < length; i += character_bytes(line, i, length)) {
		if (line[i] == '\t')
			add_blank(&diag->text, '\t');
		else
			text_printable(&diag->text, line + i,
				       (size_t)character_bytes(line, i, length));
	}
	text_add(&diag->text, "\n    ");
	for (i = from; i < column; i += character_bytes(line, i, length))
		add_blank(&diag->text, line[i]);
	text_add(&diag->text, "^");
	for (i = 1; i < at.length && column + i < length; i++)
		text_add(&diag->text, "~");
	text_add(&diag->text, "\n");
}

void diag_add(struct diag *diag, struct place at, const char *format, ...)
{
	struct text message = { 0 };
	va_list args;

	if (diag->count++ >= DIAG_MAX)
		return;
	va_start(args, format);
	text_vadd(&message, format, args);
	va_end(args);
	text_add(&diag->text, "%s:%d:%d: ", diag->source->name, at.line, at.column);
	text_printable(&diag->text, text_of(&message), message.length);
	text_append(&diag->text, "\n", 1);
	text_free(&message);
	add_caret(diag, at);
}

void diag_hint(struct diag *diag, const char *format, ...)
{
	va_list args;

	if (diag->count > DIAG_MAX)
		return;
	text_append(&diag->text, "    ", 4);
	va_start(args, format);
	text_vadd(&diag->text, format, args);
	va_end(args);
	text_append(&diag->text, "\n", 1);
}

void diag_list(struct diag *diag, const char *title, const char *const *names, size_t count)
{
	size_t column = strlen(title), i, n;

	if (diag->count > DIAG_MAX || !count)
		return;
	text_add(&diag->text, "    %s", title);
	for (i = 0; i < count; i++) {
		n = strlen(names[i]) + 2;
		if (column + n > LIST_WIDTH) {
			text_add(&diag->text, "\n     ");
			column = 0;
		}
		text_add(&diag->text, " %s%s", names[i], i + 1 < count ? "," : "");
		column += n;
	}
	text_add(&diag->text, "\n");
}

void diag_take_back(struct diag *diag, int count, size_t length)
{
	diag->count = count;
	text_cut(&diag->text, length);
}

void diag_finish(struct diag *diag)
{
	if (diag->count > DIAG_MAX)
		text_add(&diag->text, "%s: and %d more\n", diag->source->name,
			 diag->count - DIAG_MAX);
}

/* ---- suggestions ---- */

static int least_of(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

/*
 * The number of edits (insert, delete, replace, swap of neighbours) between two names, ignoring
 * case.
 */
static int edit_distance(const char *a, int na, const char *b, int nb)
{
	int rows[3][SUGGEST_MAX + 1];
	int *before = rows[0], *above = rows[1], *here = rows[2], *spare;
	int i, j, cost;

	for (j = 0; j <= nb; j++)
		above[j] = j;
	for (i = 1; i <= na; i++) {
		here[0] = i;
		for (j = 1; j <= nb; j++) {
			cost = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);
			here[j] = least_of(above[j] + 1, here[j - 1] + 1, above[j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < here[j])
				here[j] = before[j - 2] + 1;
		}
		spare = before;
		before = above;
		above = here;
		here = spare;
	}
	return above[nb];
}

void suggest_start(struct suggest *suggest, const char *name, int length)
{
	memset(suggest, 0, sizeof(*suggest));
	suggest->name = name;
	suggest->length = length;
}

void suggest_try_part(struct suggest *suggest, const char *candidate, size_t length)
{
	int distance;

	if (suggest->length > SUGGEST_MAX || length > SUGGEST_MAX || !length)
		return;
	distance = edit_distance(suggest->name, suggest->length, candidate, (int)length);
	/* "len" stands for "length", however much is left out. */
	if (suggest->length >= SHORT_LEAST && (size_t)suggest->length < length &&
	    !strncasecmp(suggest->name, candidate, (size_t)suggest->length))
		distance = 1;
	if (*suggest->best && suggest->distance <= distance)
		return;
	memcpy(suggest->best, candidate, length);
	suggest->best[length] = '\0';
	suggest->distance = distance;
}

void suggest_try(struct suggest *suggest, const char *candidate)
{
	suggest_try_part(suggest, candidate, strlen(candidate));
}

bool suggest_is_near(const struct suggest *suggest)
{
	/* If more than a third of the letters differ, it is another word and not a typing error. */
	return *suggest->best && suggest->distance * 3 <= suggest->length + 1;
}

void diag_suggest(struct diag *diag, const struct suggest *suggest)
{
	if (suggest_is_near(suggest))
		diag_hint(diag, "did you mean \"%s\"?", suggest->best);
}

void offer_start(struct offer *offer, const char *name, int length)
{
	suggest_start(&offer->suggest, name, length);
	offer->count = 0;
}

void offer_add(struct offer *offer, const char *name)
{
	size_t i;

	suggest_try(&offer->suggest, name);
	for (i = 0; i < offer->count; i++) {
		if (!strcmp(offer->names[i], name))
			return;
	}
	if (offer->count < OFFER_MAX)
		offer->names[offer->count++] = name;
}

void offer_tell(const struct offer *offer, struct diag *diag, const char *title)
{
	if (suggest_is_near(&offer->suggest))
		diag_suggest(diag, &offer->suggest);
	else
		diag_list(diag, title, offer->names, offer->count);
}
