/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names that bad lines would have made or freed. bind goes on after a bad line; a later line
 * that needs such a name fails for no mistake of its own, so its message is left out.
 */
#include "bind.h"

#include <search.h>
#include <string.h>

static bool is_name_byte(char c)
{
	return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The name must live as long as the script's arena. */
static void bind_lose(struct binder *binder, const char *name)
{
	if (name && *name)
		tsearch(name, &binder->lost, compare_names);
}

/*
 * The next word of the statement in the source, from *from on, without the loop's variable: "ev$i"
 * is ev1 then. False: there is none.
 */
static bool next_word(const struct statement *st, int *from, struct text *word)
{
	const char *variable = st->loop ? st->loop : "", *equals = strchr(variable, '=');
	const size_t n = equals ? (size_t)(equals - variable) : 0;
	int i = *from;

	word->length = 0;
	while (i < st->at.length && !is_name_byte(st->s[i]))
		i++;
	if (i == st->at.length)
		return false;
	while (i < st->at.length && is_name_byte(st->s[i])) {
		if (n && st->s[i] == '$' && i + (int)n < st->at.length &&
		    !memcmp(st->s + i + 1, variable, n)) {
			text_add(word, "%s", equals + 1);
			i += (int)n + 1;
		} else {
			text_append(word, st->s + i++, 1);
		}
	}
	*from = i;
	return true;
}

/* ?name, wherever it stands in the line */
static void lose_values(struct binder *binder, const struct statement *st)
{
	struct text word = { 0 };
	int i, from;

	for (i = 0; i < st->at.length; i++) {
		from = i + 1;
		if (st->s[i] == '?' && next_word(st, &from, &word))
			bind_lose(binder,
				  arena_copy(&binder->script->arena, text_of(&word), word.length));
	}
	text_free(&word);
}

/* What a line that does not parse would have made; objects that there are stay. */
static void lose_broken(struct binder *binder, const struct statement *st)
{
	const int actor = st->actor ? script_actor(binder->script, st->actor) : -1;
	const struct target *target;

	for (target = st->lost; target; target = target->next) {
		if (actor < 0 || script_symbol(binder->script, actor, target->name) < 0)
			bind_lose(binder, target->name);
	}
	bind_lose(binder, st->frees);
}

static bool is_known(const struct script *script, const char *name)
{
	int i;

	for (i = 0; i < script->actor_count; i++) {
		if (script_symbol(script, i, name) >= 0)
			return true;
	}
	return false;
}

/* "sqr=S" */
static void lose_settings(struct binder *binder, const struct setting *setting)
{
	for (; setting; setting = setting->next) {
		if (setting->value->kind == VALUE_NAME &&
		    !is_known(binder->script, setting->value->text))
			bind_lose(binder, setting->value->text);
	}
}

void bind_lose_names(struct binder *binder, const struct statement *st)
{
	const struct target *target = NULL;

	if (st->broken) {
		lose_broken(binder, st);
		return;
	}
	if (st->kind == STATEMENT_CALL)
		target = st->call.targets;
	else if (st->kind == STATEMENT_EVENT)
		target = st->event.targets;
	else if (st->kind == STATEMENT_USE)
		lose_settings(binder, st->use.settings);
	for (; target; target = target->next)
		bind_lose(binder, target->name);
	/* What the call would have freed: a later line may make the name anew. */
	if (st->kind == STATEMENT_CALL && st->call.row && st->call.arguments &&
	    st->call.row->effect == CALL_FREES)
		bind_lose(binder, st->call.arguments->value->text);
	lose_values(binder, st);
}

bool bind_needs_lost(const struct binder *binder, const struct statement *st)
{
	struct text word = { 0 };
	bool needs = false;
	int from = 0;

	while (binder->lost && !needs && next_word(st, &from, &word))
		needs = tfind(text_of(&word), &binder->lost, compare_names) != NULL;
	text_free(&word);
	return needs;
}

static void keep_name(void *name)
{
	(void)name; /* it is the arena's */
}

void bind_forget_lost(struct binder *binder)
{
	tdestroy(binder->lost, keep_name);
	binder->lost = NULL;
}
