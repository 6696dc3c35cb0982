/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the clauses from the comment at the head of a conformance script, and sorts them by call.
 */
#include "clauses.h"

#include <stdlib.h>
#include <string.h>

#define EVERY_CALL "every call"

/* Length of the name of the call that a clause begins with; 0: there is none. */
static size_t page_length(const char *s)
{
	size_t n = strlen(EVERY_CALL);

	if (strncmp(s, EVERY_CALL, n)) {
		n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
		if (strncmp(s, "dat_", 4))
			return 0;
	}
	return s[n] == ':' && s[n + 1] == ' ' ? n : 0;
}

/* Rulings look like "L3" or "G3a"; no other text in parentheses does. */
static bool is_rulings(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n) {
		if (s[i] < 'A' || s[i] > 'Z')
			return false;
		i++;
		if (i == n || s[i] < '0' || s[i] > '9')
			return false;
		while (i < n && s[i] >= '0' && s[i] <= '9')
			i++;
		i += i < n && s[i] == 'a';
		if (i == n)
			return true;
		if (n - i < 3 || s[i] != ',' || s[i + 1] != ' ')
			return false;
		i += 2;
	}
	return false;
}

static void clauses_add(struct clauses *clauses, size_t script, const struct text *text)
{
	const char *s = text_of(text), *open = strrchr(s, '(');
	size_t page = page_length(s), n = text->length;
	struct clause *clause;

	if (clauses->count == clauses->room) {
		clauses->room = clauses->room ? 2 * clauses->room : 64;
		clauses->all = mem_grow(clauses->all, clauses->room * sizeof(*clauses->all));
	}
	clause = &clauses->all[clauses->count++];
	*clause = (struct clause){ .script = script, .rulings = "" };
	clause->page = arena_copy(&clauses->arena, s, page);
	if (open && s[n - 1] == ')' && is_rulings(open + 1, (size_t)(s + n - 1 - open - 1))) {
		clause->rulings =
			arena_copy(&clauses->arena, open + 1, (size_t)(s + n - 1 - open - 1));
		n = (size_t)(open - s);
		n -= n > 0 && s[n - 1] == ' ';
	}
	page += 2;
	clause->text = arena_copy(&clauses->arena, s + page, n > page ? n - page : 0);
}

bool clauses_read(struct clauses *clauses, size_t script, const char *text)
{
	size_t first = clauses->count, n;
	struct text clause = { 0 };

	for (; *text == '#'; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (!strncmp(text, "#   ", 4) && clause.length) {
			text_add(&clause, " ");
			text_printable(&clause, text + 4, n - 4);
			continue;
		}
		if (clause.length)
			clauses_add(clauses, script, &clause);
		clause.length = 0;
		if (n < 2 || !page_length(text + 2))
			break;
		text_printable(&clause, text + 2, n - 2);
	}
	if (clause.length)
		clauses_add(clauses, script, &clause);
	text_free(&clause);
	return clauses->count > first;
}

static int by_page(const void *a, const void *b)
{
	const struct clause *x = a, *y = b;
	int order = strcmp(x->page, y->page);

	if (order)
		return order;
	/* Clauses of one script keep their order: they are elements of one array. */
	if (x->script != y->script)
		return x->script < y->script ? -1 : 1;
	return strcmp(x->text, y->text);
}

void clauses_sort(struct clauses *clauses)
{
	if (clauses->count)
		qsort(clauses->all, clauses->count, sizeof(*clauses->all), by_page);
}

void clauses_free(struct clauses *clauses)
{
	arena_free(&clauses->arena);
	free(clauses->all);
}
