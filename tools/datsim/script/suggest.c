/* SPDX-License-Identifier: BSD-3-Clause */
/* "Did you mean ...?": finds the name with the smallest edit distance to what was written. */
#include "diag.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define SHORT_LEAST 3 /* letters of a word that may be the beginning of a name */

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
