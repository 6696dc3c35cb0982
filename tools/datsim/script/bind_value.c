/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binds single values: names become symbols, constants become numbers, and units of time, size and
 * rate are applied. Keeps the table of symbols.
 */
#include "bind.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int script_actor(const struct script *script, const char *name)
{
	int i;

	for (i = 0; i < script->actor_count; i++) {
		if (!strcmp(script->actors[i].name, name))
			return i;
	}
	return -1;
}

static int last_symbol(const struct script *script, int actor, const char *name, bool freed)
{
	int i = actor < 0 ? -1 : script->actor_symbols[actor] - 1;

	for (; i >= 0; i = script->symbols[i].older) {
		if (same_word(script->symbols[i].name, name) &&
		    (!freed || script->symbols[i].freed_line))
			return i;
	}
	return -1;
}

int script_symbol(const struct script *script, int actor, const char *name)
{
	int i = last_symbol(script, actor, name, false);

	/* The first of several EPs has both names, ep and ep1. */
	if (i < 0 && !strcmp(name, "ep1"))
		i = last_symbol(script, actor, "ep", false);
	return i;
}

int bind_symbol(struct binder *binder, int actor, const char *name, struct place at, int type,
		int owner)
{
	struct script *script = binder->script;
	int old = last_symbol(script, actor, name, false);
	struct symbol *symbol;

	if (old >= 0 && !script->symbols[old].freed_line) {
		diag_add(&script->diag, at,
			 "expected another name: \"%s\" already has an object \"%s\"",
			 script->actors[actor].name, name);
		return -1;
	}
	if (script->symbol_count == SCRIPT_SYMBOLS_MAX) {
		diag_add(&script->diag, at, "expected at most %d names", SCRIPT_SYMBOLS_MAX);
		return -1;
	}
	if (script->symbol_count == script->symbol_room) {
		script->symbol_room = script->symbol_room ? 2 * script->symbol_room : 64;
		script->symbols = mem_grow(script->symbols,
					   (size_t)script->symbol_room * sizeof(*script->symbols));
	}
	symbol = &script->symbols[script->symbol_count];
	memset(symbol, 0, sizeof(*symbol));
	symbol->name = name;
	symbol->actor = actor;
	symbol->type = type;
	symbol->owner = owner;
	symbol->older = script->actor_symbols[actor] - 1;
	script->actor_symbols[actor] = ++script->symbol_count;
	return script->symbol_count - 1;
}

int bind_actor(struct binder *binder, const char *name, struct place at)
{
	struct script *script = binder->script;
	struct offer offer;
	int i = script_actor(script, name);

	if (i >= 0)
		return i;
	binder->missing = true;
	diag_add(&script->diag, at, "expected an actor, found \"%s\"", name);
	if (!script->actor_count)
		diag_hint(&script->diag, "a `use` line makes actors: use connected a@emu0 b@emu1");
	offer_start(&offer, name, (int)strlen(name));
	for (i = 0; i < script->actor_count; i++)
		offer_add(&offer, script->actors[i].name);
	offer_tell(&offer, &script->diag, "the actors:");
	return -1;
}

static bool no_such_object(struct binder *binder, const struct value *value, int actor)
{
	struct script *script = binder->script;
	struct offer offer;
	int i;

	binder->missing = true;
	diag_add(&script->diag, value->at, "expected an object of \"%s\", found \"%s\"",
		 script->actors[actor].name, value->text);
	if (!bind_shows(binder)) /* a search of thousands of names, in thousands of lines */
		return false;
	offer_start(&offer, value->text, (int)strlen(value->text));
	for (i = 0; i < script->symbol_count; i++) {
		if (script->symbols[i].actor == actor && !script->symbols[i].freed_line)
			offer_add(&offer, script->symbols[i].name);
	}
	offer_tell(&offer, &script->diag, "its objects:");
	for (i = 0; i < script->actor_count; i++) {
		if (i != actor && script_symbol(script, i, value->text) >= 0)
			diag_hint(&script->diag, "there is %s.%s", script->actors[i].name,
				  value->text);
	}
	return false;
}

bool bind_object(struct binder *binder, struct value *value)
{
	struct script *script = binder->script;
	int actor = binder->st->actor_index;

	if (value->actor)
		actor = bind_actor(binder, value->actor, value->at);
	else if (actor < 0)
		diag_add(&script->diag, value->at, "expected an actor, too, such as a.%s",
			 value->text);
	if (actor < 0)
		return false;
	value->symbol = script_symbol(script, actor, value->text);
	if (value->symbol < 0)
		return no_such_object(binder, value, actor);
	if (!script->symbols[value->symbol].freed_line)
		return true;
	diag_add(&script->diag, value->at, "\"%s\" was freed in line %d", value->text,
		 script->symbols[value->symbol].freed_line);
	diag_hint(&script->diag, "write stale(%s) to use its old handle on purpose", value->text);
	return false;
}

bool bind_of_type(struct binder *binder, struct value *value, int type, const char *what)
{
	if (value->kind != VALUE_NAME) {
		diag_add(&binder->script->diag, value->at, "expected %s", what);
		return false;
	}
	if (!bind_object(binder, value))
		return false;
	if (binder->script->symbols[value->symbol].type == type)
		return true;
	diag_add(&binder->script->diag, value->at, "expected %s, found \"%s\"", what, value->text);
	return false;
}

static int variable_symbol(const struct binder *binder, const struct value *value)
{
	const struct script *script = binder->script;
	int actor = binder->st->actor_index, i;

	if (value->kind != VALUE_NAME)
		return -1;
	if (value->actor)
		actor = script_actor(script, value->actor);
	i = actor < 0 ? -1 : script_symbol(script, actor, value->text);
	return i >= 0 && script->symbols[i].type == SYMBOL_NUMBER ? i : -1;
}

bool is_variable(const struct binder *binder, const struct value *value)
{
	return variable_symbol(binder, value) >= 0;
}

bool bind_bytes(struct binder *binder, struct value *value)
{
	if (is_variable(binder, value))
		return bind_number(binder, value, GROUP_NONE);
	if (!value_bytes(binder, value, &value->number))
		return false;
	value->unit = "";
	value->billionths = 0;
	return true;
}

bool bind_new_name(struct binder *binder, struct value *value, int type)
{
	if (binder->st->repeat > 1) {
		diag_add(
			&binder->script->diag, value->at,
			"a repeated line cannot make names: expected no xN, or a value in place of "
			"?name");
		return false;
	}
	value->symbol =
		bind_symbol(binder, binder->st->actor_index, value->text, value->at, type, -1);
	return value->symbol >= 0;
}

static bool bind_stale(struct binder *binder, struct value *value)
{
	struct script *script = binder->script;
	int actor = binder->st->actor_index;

	if (value->actor)
		actor = bind_actor(binder, value->actor, value->at);
	if (actor < 0)
		return false;
	value->symbol = last_symbol(script, actor, value->text, true);
	if (value->symbol >= 0)
		return true;
	if (script_symbol(script, actor, value->text) < 0)
		return no_such_object(binder, value, actor);
	diag_add(&script->diag, value->at,
		 "expected the name of a freed object: \"%s\" is not freed at this line",
		 value->text);
	return false;
}

bool bind_handle(struct binder *binder, struct value *value)
{
	switch (value->kind) {
	case VALUE_NULL:
	case VALUE_GARBAGE:
		return true;
	case VALUE_NUMBER:
		return bind_number(binder, value, GROUP_NONE);
	case VALUE_STALE:
		return bind_stale(binder, value);
	case VALUE_NAME:
		if (!bind_object(binder, value))
			return false;
		if (binder->script->symbols[value->symbol].type != SYMBOL_NUMBER)
			return true;
		diag_add(&binder->script->diag, value->at,
			 "expected an object, found \"%s\", which is a number", value->text);
		return false;
	default:
		diag_add(&binder->script->diag, value->at,
			 "expected the name of an object, NULL, garbage or stale(name)");
		return false;
	}
}

/* Without the prefix, as most scripts write it. */
static const char *short_name(const struct group *group, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(group->prefixes) && group->prefixes[i]; i++) {
		if (!strncmp(name, group->prefixes[i], strlen(group->prefixes[i])))
			return name + strlen(group->prefixes[i]);
	}
	return name;
}

void bind_offer_names(struct binder *binder, enum group_id id, const char *name)
{
	const struct group *group = group_of(id);
	const struct named *named;
	struct offer offer;

	offer_start(&offer, name, (int)strlen(name));
	group_suggest(id, &offer.suggest);
	for (named = group ? group->names : NULL; named && named->name; named++)
		offer_add(&offer, short_name(group, named->name));
	/* Far from a constant, it may be the name of a number. */
	binder->missing |= !suggest_is_near(&offer.suggest);
	offer_tell(&offer, &binder->script->diag, "there are:");
}

static bool unknown_constant(struct binder *binder, const struct value *value, enum group_id group)
{
	const struct group *names = group_of(group);

	if (value->kind != VALUE_NAME) {
		diag_add(&binder->script->diag, value->at, "expected %s",
			 names ? names->what : "a number");
		return false;
	}
	diag_add(&binder->script->diag, value->at, "expected %s, found \"%s\"",
		 names ? names->what : "a number", value->text);
	bind_offer_names(binder, group, value->text);
	return false;
}

bool bind_expected_word(struct binder *binder, const struct value *value, const char *words)
{
	struct diag *diag = &binder->script->diag;
	struct suggest suggest;
	size_t n;

	if (value->kind != VALUE_NAME || value->actor) {
		diag_add(diag, value->at, "expected %s", words);
		return false;
	}
	diag_add(diag, value->at, "expected %s, found \"%s\"", words, value->text);
	suggest_start(&suggest, value->text, (int)strlen(value->text));
	for (; *words; words += n + strspn(words + n, ", ")) {
		n = strcspn(words, ", ");
		if (n != 2 || memcmp(words, "or", 2) != 0)
			suggest_try_part(&suggest, words, n);
	}
	diag_suggest(diag, &suggest);
	return false;
}

bool bind_number(struct binder *binder, struct value *value, enum group_id group)
{
	uint64_t all = 0;
	struct value *v;

	if (value->kind == VALUE_NUMBER) {
		if (!*value->unit && !value->billionths)
			return true;
		diag_add(&binder->script->diag, value->at,
			 "expected a whole number without a unit");
		return false;
	}
	if (value->kind == VALUE_NAME && !value->actor &&
	    group_find(group, value->text, (int)strlen(value->text), &value->number)) {
		value->kind = VALUE_NUMBER;
		value->negative = (int64_t)value->number < 0;
		return true;
	}
	if (is_variable(binder, value)) {
		value->symbol = variable_symbol(binder, value);
		value->kind = VALUE_VARIABLE;
		return true;
	}
	if (value->kind != VALUE_FLAGS)
		return unknown_constant(binder, value, group);
	for (v = value->elements; v; v = v->next) {
		if (!bind_number(binder, v, group))
			return false;
		if (v->kind == VALUE_VARIABLE) {
			diag_add(&binder->script->diag, v->at, "expected a constant or a number");
			return false;
		}
		all |= v->number;
	}
	value->kind = VALUE_NUMBER;
	value->number = all;
	return true;
}

#define BILLION UINT64_C(1000000000)

static bool bind_scaled(struct binder *binder, const struct value *value, const char *const *units,
			uint64_t base, const char *what, uint64_t *result)
{
	uint64_t scale = 1, part;

	if (value->kind != VALUE_NUMBER || value->negative)
		goto bad;
	for (; *units && strcmp(*units, value->unit); units++)
		scale *= base;
	if (!*units || value->number > INT64_MAX / scale)
		goto bad;
	part = value->billionths * scale;
	if (part % BILLION) {
		diag_add(&binder->script->diag, value->at,
			 "expected %s, found one that is not whole in the smallest unit", what);
		return false;
	}
	*result = value->number * scale + part / BILLION;
	return true;
bad:
	diag_add(&binder->script->diag, value->at, "expected %s", what);
	return false;
}

bool value_ns(struct binder *binder, const struct value *value, uint64_t *ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s", NULL };

	if (!bind_scaled(binder, value, units, 1000, "a time such as 5us", ns))
		return false;
	if (*ns <= SCRIPT_TIME_MAX)
		return true;
	diag_add(&binder->script->diag, value->at,
		 "expected a time of at most one hour: a script lasts no longer");
	return false;
}

bool value_bytes(struct binder *binder, const struct value *value, uint64_t *bytes)
{
	static const char *const units[] = { "", "K", "M", "G", NULL };

	return bind_scaled(binder, value, units, 1024, "a number of bytes such as 64 or 4K", bytes);
}

bool value_rate(struct binder *binder, const struct value *value, uint64_t *bps)
{
	static const char *const units[] = { "bps", "kbps", "Mbps", "Gbps", NULL };

	if (value->kind == VALUE_NUMBER && !value->number && !*value->unit) {
		*bps = 0; /* no limit */
		return true;
	}
	if (!bind_scaled(binder, value, units, 1000, "a rate such as 100Gbps, or 0 for no limit",
			 bps))
		return false;
	/* What a link of the library can have. */
	if (!*bps || (*bps >= SCRIPT_RATE_MIN && *bps <= SCRIPT_RATE_MAX))
		return true;
	diag_add(&binder->script->diag, value->at,
		 "expected a rate from %lluMbps to %lluGbps, or 0 for no limit",
		 (unsigned long long)(SCRIPT_RATE_MIN / 1000000),
		 (unsigned long long)(SCRIPT_RATE_MAX / BILLION));
	return false;
}

bool value_between(struct binder *binder, const struct value *value, int64_t least, int64_t most,
		   int64_t *number)
{
	int64_t n = (int64_t)value->number;

	if (value->kind == VALUE_NUMBER && !*value->unit && !value->billionths && n >= least &&
	    n <= most && (n < 0) == value->negative) {
		*number = n;
		return true;
	}
	diag_add(&binder->script->diag, value->at, "expected a number from %lld to %lld",
		 (long long)least, (long long)most);
	return false;
}
