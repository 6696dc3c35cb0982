/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names that a timeline gives to the objects of a trace: those of the script, from the name
 * notes in the trace, or short ones made of the node and the object.
 */
#include "show.h"

#include <stdlib.h>
#include <string.h>

#include "show_verbs.h"

#define ACTOR_MOST   16 /* characters of an actor's name; a longer one gets a letter */
#define ACTORS_MOST  1024
#define ALIASES_MOST 65536

/* ---- spans ---- */

bool span_equal(struct span a, struct span b)
{
	return a.length == b.length && !memcmp(a.s, b.s, a.length);
}

struct span adapter_of(struct span object)
{
	const char *dot = memchr(object.s, '.', object.length);

	if (dot)
		object.length = (size_t)(dot - object.s);
	return object;
}

struct span node_of(struct span adapter)
{
	size_t i = adapter.length;

	while (i && adapter.s[i - 1] != '-')
		i--;
	if (i > 1)
		adapter.length = i - 1;
	return adapter;
}

/* The first character behind the digits at `from`; `from`: there are none. */
static size_t behind_digits(struct span note, size_t from)
{
	size_t i = from;

	while (i < note.length && note.s[i] >= '0' && note.s[i] <= '9')
		i++;
	return i;
}

bool is_inner_note(struct span note)
{
	size_t line = strlen(LINE_NOTE), rule = strlen(RULE_NOTE), end;

	if (span_starts(note, NAME_NOTE))
		return true;
	if (span_starts(note, LINE_NOTE)) {
		end = behind_digits(note, line);
		return end > line && end == note.length;
	}
	if (!span_starts(note, RULE_NOTE))
		return false;
	end = behind_digits(note, rule);
	return end > rule && end + 2 < note.length && note.s[end] == ':' && note.s[end + 1] == ' ';
}

/* ---- aliases ---- */

static uint32_t hash_of(struct span object)
{
	uint32_t hash = 2166136261u;
	size_t i;

	for (i = 0; i < object.length; i++)
		hash = (hash ^ (unsigned char)object.s[i]) * 16777619u;
	return hash % ALIAS_HASHES;
}

static const struct alias *find_alias(const struct names *names, struct span object)
{
	uint32_t i;

	/* The last one wins: the trace may use a name again after a free. */
	for (i = names->hash[hash_of(object)]; i; i = names->aliases[i - 1].next) {
		if (span_equal(names->aliases[i - 1].object, object))
			return &names->aliases[i - 1];
	}
	return NULL;
}

static void add_alias(struct names *names, struct span object, struct span name)
{
	uint32_t *first = &names->hash[hash_of(object)];

	if (names->count == ALIASES_MOST)
		return;
	if (!(names->count & (names->count - 1)))
		names->aliases = mem_grow(names->aliases, (names->count ? 2 * names->count : 1) *
								  sizeof(*names->aliases));
	names->aliases[names->count] = (struct alias){ object, name, *first };
	*first = (uint32_t)++names->count;
}

/* Reads a note such as "name emu1.srq1 b.S". */
static void read_name(struct names *names, struct span rest)
{
	const char *blank;

	rest.s += strlen(NAME_NOTE);
	rest.length -= strlen(NAME_NOTE);
	blank = memchr(rest.s, ' ', rest.length);
	if (blank)
		add_alias(names, (struct span){ rest.s, (size_t)(blank - rest.s) },
			  (struct span){ blank + 1, rest.length - (size_t)(blank - rest.s) - 1 });
}

struct span name_of(const struct timeline *timeline, struct span object)
{
	const struct alias *alias = find_alias(&timeline->names, object);

	return alias ? alias->name : object;
}

/* ---- actors ---- */

static struct show_actor *find_actor(const struct names *names, struct span adapter)
{
	size_t i;

	for (i = 0; i < names->actor_count; i++) {
		if (span_equal(names->actors[i].adapter, adapter))
			return &names->actors[i];
	}
	return NULL;
}

static void add_node(struct names *names, struct span adapter)
{
	struct span node = node_of(adapter);

	if (node.length == adapter.length || node_index(names, adapter) < names->node_count)
		return;
	names->nodes = mem_grow(names->nodes, (names->node_count + 1) * sizeof(*names->nodes));
	names->nodes[names->node_count++] = node;
}

size_t node_index(const struct names *names, struct span adapter)
{
	struct span node = node_of(adapter);
	size_t i = 0;

	while (i < names->node_count && !span_equal(names->nodes[i], node))
		i++;
	return i;
}

static void add_actor(struct names *names, struct span object)
{
	struct span adapter = adapter_of(object);

	if (adapter.length == object.length || find_actor(names, adapter) ||
	    names->actor_count == ACTORS_MOST)
		return;
	names->actors = mem_grow(names->actors, (names->actor_count + 1) * sizeof(*names->actors));
	names->actors[names->actor_count++] =
		(struct show_actor){ adapter, node_of(adapter), { "", 0 } };
	add_node(names, adapter);
}

/* Of a node with several adapters, the first one has the node's name. */
static bool is_first_of_node(const struct names *names, const struct show_actor *actor)
{
	const struct show_actor *other = names->actors;

	while (!span_equal(other->node, actor->node))
		other++;
	return other == actor;
}

/* The script's actor on an adapter: that of the first name of an object there. */
static void name_by_script(struct names *names)
{
	struct span actor, object;
	struct show_actor *on;
	size_t i;

	for (i = 0; i < names->count; i++) {
		split_name(names->aliases[i].name, &actor, &object);
		on = find_actor(names, adapter_of(names->aliases[i].object));
		if (on && !on->name.length && actor.s != object.s)
			on->name = actor;
	}
}

static void name_one_by_node(struct names *names, struct show_actor *actor)
{
	struct span name = is_first_of_node(names, actor) ? actor->node : actor->adapter;
	char letter = (char)('a' + names->letters);

	if (name.length <= ACTOR_MOST || letter > 'z') {
		actor->name = name;
		return;
	}
	names->letters++;
	actor->name = (struct span){ arena_copy(&names->memory, &letter, 1), 1 };
	text_add(&names->legend, "%s%c is ", names->legend.length ? ", " : "", letter);
	text_printable(&names->legend, actor->adapter.s, actor->adapter.length);
}

static void name_by_node(struct names *names)
{
	size_t i;

	for (i = 0; i < names->actor_count; i++)
		name_one_by_node(names, &names->actors[i]);
}

struct span actor_on(const struct timeline *timeline, struct span adapter)
{
	const struct show_actor *actor = find_actor(&timeline->names, adapter);

	return actor && actor->name.length ? actor->name : adapter;
}

/* "server.ep1" for "server-emu0.ep1"; in a script "b.cr2", which it does not name itself */
static void shorten_name(struct names *names, struct span object)
{
	const struct show_actor *actor = find_actor(names, adapter_of(object));
	struct text name = { 0 };

	if (!actor || !actor->name.length || span_equal(actor->name, actor->adapter) ||
	    find_alias(names, object))
		return;
	text_append(&name, actor->name.s, actor->name.length);
	text_append(&name, object.s + actor->adapter.length, object.length - actor->adapter.length);
	add_alias(names, object,
		  (struct span){ arena_copy(&names->memory, text_of(&name), name.length),
				 name.length });
	text_free(&name);
}

/* ---- the trace ---- */

static void read_line(struct names *names, const struct trace_line *line)
{
	bool note = span_is(line->verb, "note");

	if (note && span_starts(line->rest, NAME_NOTE)) {
		read_name(names, line->rest);
	} else if (note && span_is(line->rest, "script begins")) {
		names->begins = true;
		names->begin_ns = line->ns;
	} else if (!note && !memchr(line->object.s, '>', line->object.length)) {
		add_actor(names, line->object);
	}
	names->verbs |= verbs_object(line);
	names->srqs |= is_kind(line->object, ".srq");
	names->last_ns = line->ns;
}

void names_collect(struct names *names, const char *text, size_t length)
{
	struct trace_reader reader;
	struct trace_line line;

	if (trace_open(&reader, "", text, length)) {
		while (trace_next(&reader, &line))
			read_line(names, &line);
	}
	trace_close(&reader);
	if (names->count)
		name_by_script(names);
	else
		name_by_node(names);
	if (trace_open(&reader, "", text, length)) {
		while (trace_next(&reader, &line)) {
			if (memchr(line.object.s, '.', line.object.length))
				shorten_name(names, line.object);
		}
	}
	trace_close(&reader);
}

void names_follow(struct names *names, const struct trace_line *line)
{
	size_t known = names->actor_count;

	read_line(names, line);
	if (names->actor_count > known)
		name_one_by_node(names, &names->actors[known]);
	if (memchr(line->object.s, '.', line->object.length))
		shorten_name(names, line->object);
}

bool trace_has_beginning(const char *text, size_t length)
{
	static const char mark[] = " note script begins";

	return memmem(text, length, mark, sizeof(mark) - 1) != NULL;
}

void names_free(struct names *names)
{
	free(names->aliases);
	free(names->actors);
	free(names->nodes);
	text_free(&names->legend);
	arena_free(&names->memory);
}
