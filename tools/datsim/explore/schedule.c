/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the fault lines of a schedule.
 *
 * Swarm testing: each kind of fault is on or off for the whole schedule, so that one kind does not
 * always hide another. Unless --faults asks for breaks, a connection survives the faults: a correct
 * program does not notice them, so a correct script passes.
 */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

#include "host/random.h"

#define LOSSES_MAX   4
#define REFUSALS_MAX 3

struct maker {
	const struct plan *plan;
	struct schedule *schedule;
	uint64_t random;
	int losses, refusals; /* losses and RNR NAKs that this schedule may still use */
	unsigned int heal_us; /* for a program: all faults end at this time */
};

/* ---- numbers ---- */

static uint64_t maker_random(struct maker *maker)
{
	return random_next(&maker->random);
}

static unsigned int maker_below(struct maker *maker, unsigned int limit)
{
	return (unsigned int)(maker_random(maker) % limit);
}

/* A number from 1 on; small numbers are more likely. */
static unsigned int maker_ordinal(struct maker *maker)
{
	return 1 + maker_below(maker, 1u << maker_below(maker, 5));
}

/* From 1 us to 1 ms; each power of two is equally likely. */
static unsigned int maker_microseconds(struct maker *maker)
{
	unsigned int top = 1u << maker_below(maker, 11);

	return top < 1000 ? top + maker_below(maker, top) / 2 : 1000;
}

/* ---- lines ---- */

static const char *a_link(struct maker *maker)
{
	return maker->plan->links[maker_below(maker, (unsigned int)maker->plan->link_count)];
}

static const char *an_opcode(struct maker *maker)
{
	static const char *const opcodes[] = {
		"SEND",          "SEND",        "SEND",
		"ACK",           "ACK",         "SEND|WRITE|READ_REQUEST|READ_RESPONSE",
		"READ_RESPONSE", "NAK|RNR_NAK", "SEND|WRITE|READ_REQUEST|READ_RESPONSE|ACK",
	};

	return opcodes[maker_below(maker, ARRAY_SIZE(opcodes))];
}

/* End a fault line. */
static void end_line(struct maker *maker)
{
	if (maker->heal_us)
		text_add(&maker->schedule->text, " until=%uus", maker->heal_us);
	text_put(&maker->schedule->text, " optional\n");
}

static void add_nth(struct maker *maker, const char *what)
{
	const char *link = a_link(maker), *opcode = an_opcode(maker);

	text_add(&maker->schedule->text, "fault link %s %s opcode=%s nth=%u", link, what, opcode,
		 maker_ordinal(maker));
	end_line(maker);
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
	unsigned int percent = percents[maker_below(maker, ARRAY_SIZE(percents))];
	int times = 1 + (int)maker_below(maker, 2);

	if (maker->losses < times)
		return false;
	maker->losses -= times;
	text_add(&maker->schedule->text, "fault link %s loss %u%% opcode=%s times=%d", link,
		 percent, opcode, times);
	end_line(maker);
	return true;
}

/* A late packet may be retransmitted: count it as a loss. */
static bool lateness_survived(const struct maker *maker)
{
	return maker->plan->retry >= 1;
}

static bool add_delay(struct maker *maker)
{
	const char *link = a_link(maker), *opcode = an_opcode(maker);
	unsigned int us = maker_microseconds(maker), jitter = us > 1 ? maker_below(maker, us) : 0;

	if (!lateness_survived(maker))
		return false;
	/* In a script, connections exist before the faults and after them. */
	if (maker->plan->program && !maker_below(maker, 3))
		opcode = maker_below(maker, 2) ? "CM" : "DISCONNECT";
	text_add(&maker->schedule->text, "fault link %s delay %uus", link, us);
	if (jitter)
		text_add(&maker->schedule->text, " jitter %uus", jitter);
	text_add(&maker->schedule->text, " opcode=%s every=%u", opcode, maker_ordinal(maker));
	end_line(maker);
	return true;
}

static bool add_reorder(struct maker *maker)
{
	const char *link = a_link(maker), *opcode = an_opcode(maker);
	unsigned int us = maker_microseconds(maker);

	if (!lateness_survived(maker))
		return false;
	text_add(&maker->schedule->text, "fault link %s reorder %uus opcode=%s nth=%u", link, us,
		 opcode, maker_ordinal(maker));
	end_line(maker);
	return true;
}

static bool add_duplicate(struct maker *maker)
{
	add_nth(maker, "duplicate");
	return true;
}

static bool add_rnr(struct maker *maker)
{
	int times = 1 + (int)maker_below(maker, REFUSALS_MAX);
	const char *link = a_link(maker);

	if (!maker->plan->rnr || maker->refusals < 1)
		return false;
	if (times > maker->refusals)
		times = maker->refusals;
	maker->refusals -= times;
	text_add(&maker->schedule->text, "fault link %s rnr", link);
	if (maker_below(maker, 2))
		text_add(&maker->schedule->text, " after=%u", maker_ordinal(maker));
	text_add(&maker->schedule->text, " times=%d", times);
	end_line(maker);
	return true;
}

static bool add_latency(struct maker *maker)
{
	const char *link = a_link(maker);
	unsigned int us = 1 + maker_microseconds(maker) / 4;

	/* If no line can set the link, delay all its packets instead. */
	if (!maker->plan->program && !maker->plan->bare) {
		text_add(&maker->schedule->text, "link %s latency=%uus\n", link, us);
		maker->schedule->slows = true;
		return true;
	}
	if (!lateness_survived(maker))
		return false;
	text_add(&maker->schedule->text, "fault link %s delay %uus", link, us);
	end_line(maker);
	return true;
}

/* Faults that no connection survives. */
static bool add_break(struct maker *maker)
{
	static const char *const ways[] = { "down", "dead", "drop", "nak remote_operation" };
	const char *link = a_link(maker);
	const char *way = ways[maker_below(maker, ARRAY_SIZE(ways))];
	unsigned int after = maker_ordinal(maker);
	bool naks = way[0] == 'n', sends = maker_below(maker, 2) || naks;

	text_add(&maker->schedule->text, "fault link %s %s opcode=%s after=%u%s", link, way,
		 sends ? "SEND" : "SEND|ACK|WRITE|READ_REQUEST", after, naks ? " times=1" : "");
	/* A link stays down: the program has to cope with that, so there is no end time. */
	text_add(&maker->schedule->text, " optional\n");
	return true;
}

/* One program ends, at any moment of the run, or a while after it. */
static bool add_kill(struct maker *maker)
{
	const struct programs *programs = maker->plan->several;
	uint64_t span = 1500 * maker->plan->span_us + 1000;
	const char *name;

	if (!programs)
		return false;
	name = programs->one[maker_below(maker, (unsigned int)programs->count)].name;
	text_add(&maker->schedule->text, "fault kill %s at %lluns optional\n", name,
		 (unsigned long long)(maker_random(maker) % span));
	return true;
}

/* It ends and starts again, soon or later. */
static bool add_restart(struct maker *maker)
{
	const struct programs *programs = maker->plan->several;
	uint64_t span = 1500 * maker->plan->span_us + 1000;
	uint64_t at = maker_random(maker) % span;
	const char *name;

	if (!programs)
		return false;
	name = programs->one[maker_below(maker, (unsigned int)programs->count)].name;
	text_add(&maker->schedule->text, "fault kill %s at %lluns restart after %uus optional\n",
		 name, (unsigned long long)at, maker_microseconds(maker));
	return true;
}

/* In the order of the lines of a schedule. */
static const struct {
	const char *name; /* as in --faults */
	bool (*add)(struct maker *maker);
} kinds[] = {
	{ "drop", add_drop },   { "corrupt", add_corrupt }, { "loss", add_loss },
	{ "delay", add_delay }, { "reorder", add_reorder }, { "duplicate", add_duplicate },
	{ "rnr", add_rnr },     { "latency", add_latency }, { "break", add_break },
	{ "kill", add_kill },   { "restart", add_restart },
};

#define USUAL   8u                        /* the first of them; the others only on request */
#define KILL    (3u << (USUAL + 1))       /* kill and restart: in every schedule with faults */
#define TURNS   (1u << ARRAY_SIZE(kinds)) /* no fault: a seed, which chooses whose turn it is */
#define HOSTILE (2 * TURNS)               /* no fault lines: schedule_begin */

uint32_t kinds_usual(void)
{
	return (1u << USUAL) - 1;
}

bool kinds_only_turns(uint32_t set)
{
	return set == TURNS;
}

bool kinds_need_lockstep(uint32_t set)
{
	return set & (TURNS | KILL);
}

uint32_t kinds_parse(const char *list)
{
	uint32_t set = 0;
	size_t i, n;

	for (;; list += n + 1) {
		n = strcspn(list, ",");
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			if (strlen(kinds[i].name) == n && !memcmp(kinds[i].name, list, n))
				break;
		}
		if (n == 3 && !memcmp(list, "all", 3))
			set |= kinds_usual();
		else if (n == 5 && !memcmp(list, "turns", 5))
			set |= TURNS;
		else if (n == 7 && !memcmp(list, "hostile", 7))
			set |= HOSTILE;
		else if (i < ARRAY_SIZE(kinds))
			set |= 1u << i;
		else
			return 0;
		if (!list[n])
			return set;
	}
}

static void add_faults(struct maker *maker)
{
	unsigned int on = maker_below(maker, 1u << USUAL);
	unsigned int i, lines;
	size_t before = maker->schedule->fault_count;
	uint32_t wanted = maker->plan->link_count ? maker->plan->kinds : maker->plan->kinds & KILL;

	/* Half of the schedules have few kinds: they run faster and are easier to read. */
	if (maker_below(maker, 2))
		on &= maker_below(maker, 1u << USUAL);
	if (maker->plan->kinds >> USUAL)
		on |= maker_below(maker, 2) << USUAL;
	on |= KILL;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!(on & wanted & 1u << i))
			continue;
		for (lines = 1u << i & KILL ? 1 : 1 + maker_below(maker, 2); lines; lines--)
			maker->schedule->fault_count += kinds[i].add(maker);
	}
	maker->schedule->has_faults |= maker->schedule->fault_count > before;
}

/* ---- what the fabric is like ---- */

/* A value is `least`, doubled up to `doublings` times, plus up to half of that. */
static const struct {
	const char *variable, *key, *unit;
	uint64_t least;
	unsigned int doublings;
	bool exact; /* powers of two only */
} settings[] = {
	{ "DATSIM_SEED", "seed", "", 1, 19, false },
	{ "DATSIM_LATENCY_NS", "latency", "ns", 100, 10, false },
	{ "DATSIM_BANDWIDTH_BPS", "bandwidth", "Mbps", 100, 10, false },
	{ "DATSIM_MTU", "mtu", "", 256, 4, true },
	{ "DATSIM_RNR_TIMER_NS", "rnr_timer", "us", 10, 8, false },
	{ "DATSIM_POLL_QUANTUM_NS", "quantum", "ns", 100, 8, false },
};

uint32_t settings_free(void)
{
	uint32_t set = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++)
		set |= (uint32_t)!getenv(settings[i].variable) << i;
	return set;
}

/* `wanted`: which of them may vary; the seed always does. */
static void add_settings(struct maker *maker, uint32_t wanted)
{
	uint32_t on = ((uint32_t)maker_random(maker) & wanted) | 1;
	uint64_t value, r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		r = maker_random(maker);
		if (!(on & maker->plan->settings & 1u << i))
			continue;
		value = settings[i].least << (r % (settings[i].doublings + 1));
		if (!settings[i].exact)
			value += (r >> 32) % value / 2;
		text_add(&maker->schedule->text, "fabric %s=%llu%s\n", settings[i].key,
			 (unsigned long long)value, settings[i].unit);
		maker->schedule->fault_count++;
	}
	/* During the run of the program, or long after it. */
	maker->heal_us =
		1 + (unsigned int)(maker_random(maker) % (4 * maker->plan->span_us + 1000));
}

/* ---- all of it ---- */

/* Of several programs, every fourth schedule is an order of turns and nothing else. */
static bool only_turns(const struct maker *maker)
{
	return maker->plan->turns &&
	       (kinds_only_turns(maker->plan->kinds) || maker->schedule->number % 4 == 3);
}

static void add_turns(struct maker *maker)
{
	uint64_t n = maker->schedule->number;

	maker->schedule->fault_count += schedule_add_turns(
		&maker->schedule->text, maker->plan,
		kinds_only_turns(maker->plan->kinds) ? n : n / 4, &maker->random);
}

/* Beside faults: a fixed order of turns in some schedules, with one or two places or none. */
static void add_some_turns(struct maker *maker)
{
	uint64_t r = maker->plan->turns ? maker_random(maker) : 1;

	if (r % 3)
		return;
	text_add(&maker->schedule->text, "turn order\n");
	maker->schedule->fault_count++;
	if (r / 3 % 2)
		maker->schedule->fault_count +=
			schedule_add_places(&maker->schedule->text, maker->plan, 2, &maker->random);
}

void schedule_make(struct schedule *schedule, const struct plan *plan, uint64_t seed,
		   uint64_t number)
{
	struct maker maker = { .plan = plan, .schedule = schedule, .random = seed };
	struct text *text = &schedule->text;
	bool turns;

	maker.random = maker_random(&maker) ^ number;
	maker.random = maker_random(&maker);
	maker.losses = plan->retry < LOSSES_MAX ? plan->retry : LOSSES_MAX;
	maker.refusals = plan->rnr_retry < REFUSALS_MAX ? plan->rnr_retry : REFUSALS_MAX;
	schedule->number = number;
	schedule->seed = 1 + maker_random(&maker) % 1000000;
	schedule_begin(schedule, plan, plan->kinds & HOSTILE, &maker.random);
	turns = only_turns(&maker);
	if (plan->program && !turns)
		add_settings(&maker, ~0u);
	if (turns)
		add_turns(&maker);
	else
		add_some_turns(&maker);
	if ((plan->link_count || plan->kinds & KILL) && !turns)
		add_faults(&maker);
	schedule->faults_length = text->length - schedule->faults_at;
	if (plan->program)
		return;
	text_append(text, plan->text + plan->faults_at, plan->heal_at - plan->faults_at);
	text_put(text, "heal\nquiet\n");
	text_append(text, plan->text + plan->heal_at, plan->length - plan->heal_at);
}

/* ---- the plan ---- */

/* The offset of line `line`, counted from 1; after the last line: the length. */
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
			       .kinds = kinds_usual(),
			       .watch = !getenv("DATSIM_HOSTILE"),
			       .rnr = script->config.profile == DAT_SIM_PROFILE_IB,
			       .retry = (int)script->config.retry - 3,
			       .rnr_retry = (int)script->config.rnr_retry };
	plan->fabric_at = st ? offset_of(text, length, st->at.line) : 0;
	for (; st && (st->kind == STATEMENT_USE || st->kind == STATEMENT_FABRIC); st = st->next) {
		plan->bare |= st->kind == STATEMENT_USE && st->use.kind == USE_BARE;
		for (actor = st->kind == STATEMENT_USE ? st->use.actors : NULL; actor;
		     actor = actor->next)
			add_links(plan, script, actor);
	}
	plan->faults_at = st ? offset_of(text, length, st->at.line) : length;
	while (st && st->kind != STATEMENT_END)
		st = st->next;
	plan->heal_at = st ? offset_of(text, length, st->at.line) : length;
}
