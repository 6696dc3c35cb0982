/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a schedule does to a script. Swarm: each kind of fault is on or off for the whole schedule, so
 * that one kind does not always hide another. Faults stay such as a connection survives: what a
 * correct program must not notice, a correct script does not.
 */
#include "explore.h"

#include <string.h>

#define LOSSES_MAX   4
#define REFUSALS_MAX 3

struct maker {
	const struct plan *plan;
	struct schedule *schedule;
	uint64_t random;
	int losses, refusals; /* that may still be planted */
};

/* ---- numbers ---- */

uint64_t schedule_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t next(struct maker *maker)
{
	return schedule_random(&maker->random);
}

static unsigned int below(struct maker *maker, unsigned int limit)
{
	return (unsigned int)(next(maker) % limit);
}

/* From 1; small ones more often. */
static unsigned int ordinal(struct maker *maker)
{
	return 1 + below(maker, 1u << below(maker, 5));
}

/* From 1 us to 1 ms, each order of magnitude as often. */
static unsigned int microseconds(struct maker *maker)
{
	unsigned int top = 1u << below(maker, 11);

	return top < 1000 ? top + below(maker, top) / 2 : 1000;
}

/* ---- lines ---- */

static const char *a_link(struct maker *maker)
{
	return maker->plan->links[below(maker, (unsigned int)maker->plan->link_count)];
}

static const char *an_opcode(struct maker *maker)
{
	static const char *const opcodes[] = {
		"SEND",          "SEND",        "SEND",
		"ACK",           "ACK",         "SEND|WRITE|READ_REQUEST|READ_RESPONSE",
		"READ_RESPONSE", "NAK|RNR_NAK", "SEND|WRITE|READ_REQUEST|READ_RESPONSE|ACK",
	};

	return opcodes[below(maker, ARRAY_SIZE(opcodes))];
}

static void add_nth(struct maker *maker, const char *what)
{
	const char *link = a_link(maker), *opcode = an_opcode(maker);

	text_add(&maker->schedule->text, "fault link %s %s opcode=%s nth=%u optional\n", link, what,
		 opcode, ordinal(maker));
}

static bool add_lost(struct maker *maker, const char *what)
{
	if (maker->losses < 1)
		return false;
	maker->losses--;
	add_nth(maker, what);
	return true;
}

static bool add_drop(struct maker *maker)
{
	return add_lost(maker, "drop");
}

static bool add_corrupt(struct maker *maker)
{
	return add_lost(maker, "corrupt");
}

static bool add_loss(struct maker *maker)
{
	static const unsigned int percents[] = { 1, 5, 20, 50 };
	const char *link = a_link(maker), *opcode = an_opcode(maker);
	unsigned int percent = percents[below(maker, ARRAY_SIZE(percents))];
	int times = 1 + (int)below(maker, 2);

	if (maker->losses < times)
		return false;
	maker->losses -= times;
	text_add(&maker->schedule->text, "fault link %s loss %u%% opcode=%s times=%d optional\n",
		 link, percent, opcode, times);
	return true;
}

static bool add_delay(struct maker *maker)
{
	const char *link = a_link(maker), *opcode = an_opcode(maker);
	unsigned int us = microseconds(maker), jitter = us > 1 ? below(maker, us) : 0;

	text_add(&maker->schedule->text, "fault link %s delay %uus", link, us);
	if (jitter)
		text_add(&maker->schedule->text, " jitter %uus", jitter);
	text_add(&maker->schedule->text, " opcode=%s every=%u optional\n", opcode, ordinal(maker));
	return true;
}

static bool add_reorder(struct maker *maker)
{
	const char *link = a_link(maker), *opcode = an_opcode(maker);
	unsigned int us = microseconds(maker);

	text_add(&maker->schedule->text, "fault link %s reorder %uus opcode=%s nth=%u optional\n",
		 link, us, opcode, ordinal(maker));
	return true;
}

static bool add_duplicate(struct maker *maker)
{
	add_nth(maker, "duplicate");
	return true;
}

static bool add_rnr(struct maker *maker)
{
	int times = 1 + (int)below(maker, REFUSALS_MAX);
	const char *link = a_link(maker);

	if (!maker->plan->rnr || maker->refusals < 1)
		return false;
	if (times > maker->refusals)
		times = maker->refusals;
	maker->refusals -= times;
	text_add(&maker->schedule->text, "fault link %s rnr", link);
	if (below(maker, 2))
		text_add(&maker->schedule->text, " after=%u", ordinal(maker));
	text_add(&maker->schedule->text, " times=%d optional\n", times);
	return true;
}

static bool add_latency(struct maker *maker)
{
	const char *link = a_link(maker);

	text_add(&maker->schedule->text, "link %s latency=%uus\n", link,
		 1 + microseconds(maker) / 4);
	return true;
}

static bool (*const kinds[])(struct maker *maker) = {
	add_drop,    add_corrupt,   add_loss, add_delay,
	add_reorder, add_duplicate, add_rnr,  add_latency,
};

static void add_faults(struct maker *maker)
{
	unsigned int on = below(maker, 1u << ARRAY_SIZE(kinds));
	unsigned int i, lines;

	/* Half of the schedules get by with few kinds: they are quicker to run and to read. */
	if (below(maker, 2))
		on &= below(maker, 1u << ARRAY_SIZE(kinds));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!(on & 1u << i))
			continue;
		for (lines = 1 + below(maker, 2); lines; lines--)
			maker->schedule->fault_count += kinds[i](maker);
	}
}

void schedule_make(struct schedule *schedule, const struct plan *plan, uint64_t seed,
		   uint64_t number)
{
	struct maker maker = { .plan = plan, .schedule = schedule, .random = seed };
	struct text *text = &schedule->text;

	maker.random = next(&maker) ^ number;
	maker.random = next(&maker);
	maker.losses = plan->retry < LOSSES_MAX ? plan->retry : LOSSES_MAX;
	maker.refusals = plan->rnr_retry < REFUSALS_MAX ? plan->rnr_retry : REFUSALS_MAX;
	schedule->number = number;
	schedule->seed = 1 + next(&maker) % 1000000;
	schedule->fault_count = 0;
	text->length = 0;
	text_append(text, plan->text, plan->faults_at);
	if (plan->link_count)
		add_faults(&maker);
	text_append(text, plan->text + plan->faults_at, plan->heal_at - plan->faults_at);
	text_add(text, "heal\nquiet\n");
	text_append(text, plan->text + plan->heal_at, plan->length - plan->heal_at);
}

/* ---- the plan ---- */

/* Where line `line` begins, from 1; behind the last: the length. */
static size_t offset_of(const char *text, size_t length, int line)
{
	size_t at = 0;

	while (--line > 0 && at < length) {
		const char *nl = memchr(text + at, '\n', length - at);

		at = nl ? (size_t)(nl + 1 - text) : length;
	}
	return at;
}

static void add_links(struct plan *plan, const struct script *script, const struct use_actor *actor)
{
	const struct actor *actors = script->actors;
	int i;

	for (i = 0; i < actor->index; i++) {
		if (!strcmp(actors[i].adapter, actors[actor->index].adapter) ||
		    strlen(actors[i].name) + strlen(actor->name) > 60)
			continue;
		strcpy(plan->links[plan->link_count], actors[i].name);
		strcat(plan->links[plan->link_count], ">");
		strcat(plan->links[plan->link_count++], actor->name);
		strcpy(plan->links[plan->link_count], actor->name);
		strcat(plan->links[plan->link_count], ">");
		strcat(plan->links[plan->link_count++], actors[i].name);
	}
}

void plan_make(struct plan *plan, const struct script *script)
{
	const char *text = script->source.text;
	size_t length = script->source.length;
	const struct statement *st = script->statements;
	const struct use_actor *actor;

	*plan = (struct plan){ .text = text,
			       .length = length,
			       .rnr = script->config.profile == DAT_SIM_PROFILE_IB,
			       .retry = (int)script->config.retry - 3,
			       .rnr_retry = (int)script->config.rnr_retry };
	for (; st && (st->kind == STATEMENT_USE || st->kind == STATEMENT_FABRIC); st = st->next) {
		for (actor = st->kind == STATEMENT_USE ? st->use.actors : NULL; actor;
		     actor = actor->next)
			add_links(plan, script, actor);
	}
	plan->faults_at = st ? offset_of(text, length, st->at.line) : length;
	while (st && st->kind != STATEMENT_END)
		st = st->next;
	plan->heal_at = st ? offset_of(text, length, st->at.line) : length;
}
