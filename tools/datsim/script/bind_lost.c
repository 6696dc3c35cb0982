/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names that bad lines would have made or freed. bind goes on after a bad line; a later line
 * that needs such a name fails for no mistake of its own, so its message is left out.
 */
#include "bind.h"

#include <string.h>

static bool is_name_byte(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static void bind_lose(struct binder *binder, const char *name)
{
	if (!name)
		return;
	binder->lost = mem_grow(binder->lost, (binder->lost_count + 1) * sizeof(*binder->lost));
	binder->lost[binder->lost_count++] = name;
}

static const char *words_of(const struct binder *binder, const struct statement *st, int *length)
{
	const char *line = source_line(&binder->script->source, st->at.line, length);

	*length = st->at.length;
	return line + st->at.column - 1;
}

/* ?name, wherever it stands in the line */
static void lose_values(struct binder *binder, const struct statement *st)
{
	const char *s;
	int i, length, begin;

	s = words_of(binder, st, &length);
	for (i = 0; i < length; i++) {
		if (s[i] != '?')
			continue;
		begin = i + 1;
		while (i + 1 < length && is_name_byte(s[i + 1]))
			i++;
		bind_lose(binder,
			  arena_copy(&binder->script->arena, s + begin, (size_t)(i + 1 - begin)));
	}
}

void bind_lose_names(struct binder *binder, const struct statement *st)
{
	const struct target *target = NULL;

	if (st->kind == STATEMENT_CALL)
		target = st->call.targets;
	else if (st->kind == STATEMENT_EVENT)
		target = st->event.targets;
	for (; target; target = target->next)
		bind_lose(binder, target->name);
	/* What the call would have freed: a later line may make the name anew. */
	if (st->kind == STATEMENT_CALL && st->call.row && st->call.arguments &&
	    st->call.row->effect == CALL_FREES)
		bind_lose(binder, st->call.arguments->value->text);
	lose_values(binder, st);
}

static bool has_word(const char *s, int length, const char *word)
{
	int n = (int)strlen(word), i;

	for (i = 0; n && i + n <= length; i++) {
		if (!memcmp(s + i, word, (size_t)n) && (i == 0 || !is_name_byte(s[i - 1])) &&
		    (i + n == length || !is_name_byte(s[i + n])))
			return true;
	}
	return false;
}

bool bind_needs_lost(const struct binder *binder, const struct statement *st)
{
	const char *s;
	int length;
	size_t i;

	s = words_of(binder, st, &length);
	for (i = 0; i < binder->lost_count; i++) {
		if (has_word(s, length, binder->lost[i]))
			return true;
	}
	return false;
}
