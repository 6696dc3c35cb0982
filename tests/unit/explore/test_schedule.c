/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedules of datsim explore: scripts, whose faults together stay within what a connection
 * survives, and use all of that.
 */
#include "tests/support/support.h"
#include "tools/datsim/explore/explore.h"

#include <stdlib.h>

enum {
	SCHEDULES = 500,
	PLENTY = 9,
};

/* A row: kinds of faults, the retries of the connection, and the most that a schedule uses. */
static const struct {
	const char *kinds;
	int retry, rnr_retry, most;
} budgets[] = {
	{ "drop", 0, PLENTY, 0 },
	{ "drop", 1, PLENTY, 1 },
	{ "drop", 2, PLENTY, 2 },
	{ "corrupt", 0, PLENTY, 0 },
	{ "corrupt", 1, PLENTY, 1 },
	{ "loss", 0, PLENTY, 0 },
	{ "loss", 1, PLENTY, 1 },
	{ "loss", 2, PLENTY, 2 },
	{ "loss", 3, PLENTY, 3 },
	{ "loss", PLENTY, PLENTY, 4 },
	{ "drop,loss", 1, PLENTY, 1 },
	{ "drop,corrupt,loss", 3, PLENTY, 3 },
	{ "drop,corrupt,loss", PLENTY, PLENTY, 4 },
	{ "rnr", PLENTY, 0, 0 },
	{ "rnr", PLENTY, 1, 1 },
	{ "rnr", PLENTY, 2, 2 },
	{ "rnr", PLENTY, PLENTY, 3 },
};

/* How many packets the faults of a schedule lose or refuse: those of `times=`, or one. */
static int cost_of(const char *text)
{
	const char *line, *times;
	int cost = 0, n;

	for (line = strstr(text, "fault "); line; line = strstr(line + 1, "fault ")) {
		times = strstr(line, " times=");
		n = times && times < strchr(line, '\n') ? atoi(times + strlen(" times=")) : 1;
		ck_assert_int_ge(n, 1);
		cost += n;
	}
	return cost;
}

static struct plan a_plan(const char *kinds, int retry, int rnr_retry)
{
	return (struct plan){ .text = "",
			      .links = { "emu0>emu1" },
			      .link_count = 1,
			      .rnr = true,
			      .retry = retry,
			      .rnr_retry = rnr_retry,
			      .kinds = kinds_parse(kinds),
			      .program = true };
}

START_TEST(faults_use_the_retries_of_a_connection_and_no_more)
{
	struct plan plan = a_plan(budgets[_i].kinds, budgets[_i].retry, budgets[_i].rnr_retry);
	struct schedule schedule = { .number = 0 };
	int cost, most = 0;

	ck_assert_uint_ne(plan.kinds, 0);
	for (uint64_t i = 0; i < SCHEDULES; i++) {
		schedule_make(&schedule, &plan, 1, i);
		cost = cost_of(text_of(&schedule.text));
		ck_assert_msg(cost <= budgets[_i].most, "%d:\n%s", cost, text_of(&schedule.text));
		ck_assert_int_eq(schedule.has_faults, cost > 0);
		most = cost > most ? cost : most;
	}
	ck_assert_int_eq(most, budgets[_i].most);
	text_free(&schedule.text);
}
END_TEST

/* A late packet may be sent again. */
static const char *const late[] = { "delay", "reorder", "latency" };

START_TEST(a_packet_is_late_where_a_retry_is_left)
{
	struct plan plan = a_plan(late[_i / 2], _i % 2, PLENTY);
	struct schedule schedule = { .number = 0 };
	int faults = 0;

	for (uint64_t i = 0; i < SCHEDULES; i++) {
		schedule_make(&schedule, &plan, 1, i);
		faults += schedule.has_faults;
		ck_assert_int_eq(cost_of(text_of(&schedule.text)) > 0, schedule.has_faults);
	}
	ck_assert_int_eq(faults > 0, plan.retry > 0);
	text_free(&schedule.text);
}
END_TEST

/* ---- several programs ---- */

static struct programs two = { .one = { { .name = "server" }, { .name = "client" } }, .count = 2 };

static struct plan a_plan_of_two(const char *kinds)
{
	struct plan plan = a_plan(kinds, PLENTY, PLENTY);

	plan.several = &two;
	plan.turns = true;
	plan.span_us = 100;
	plan.settings = settings_free();
	return plan;
}

/* "fabric seed=7", or turn lines, and nothing else */
static bool is_an_order(const char *text)
{
	const char *line = text;

	if (strncmp(text, "fabric seed=", 12) == 0)
		return strchr(text, '\n')[1] == '\0';
	for (; *line; line = strchr(line, '\n') + 1)
		if (strncmp(line, "turn ", 5) != 0)
			return false;
	return *text != '\0';
}

START_TEST(some_schedules_are_an_order_of_turns_alone)
{
	struct plan plan = a_plan_of_two(_i ? "turns" : "drop");
	struct schedule schedule = { .number = 0 };
	int alone = 0;

	for (uint64_t i = 0; i < SCHEDULES; i++) {
		schedule_make(&schedule, &plan, 1, i);
		ck_assert_int_eq(schedule.has_faults,
				 strstr(text_of(&schedule.text), "fault ") != NULL);
		alone += is_an_order(text_of(&schedule.text));
	}
	if (_i)
		ck_assert_int_eq(alone, SCHEDULES);
	else
		ck_assert(alone > SCHEDULES / 5 && alone < SCHEDULES / 2);
	text_free(&schedule.text);
}
END_TEST

/* The only line about a call; NULL: there is none, or there are several. */
static const char *only_place(const char *text)
{
	const char *place = strstr(text, " call=");

	return place && !strstr(place + 1, " call=") ? place : NULL;
}

START_TEST(every_call_is_tried_alone_before_two_are)
{
	enum {
		SERVER = 5,
		CALLS = 8
	};
	struct plan plan = a_plan_of_two("turns");
	struct schedule schedule = { .number = 0 };
	unsigned int call, tried[CALLS] = { 0 };
	const char *place;

	plan.threads[0] = (struct plan_thread){ .node = "server", .number = 1, .calls = SERVER };
	plan.threads[1] =
		(struct plan_thread){ .node = "client", .number = 1, .calls = CALLS - SERVER };
	plan.thread_count = 2;
	schedule_make(&schedule, &plan, 1, 0);
	ck_assert_str_eq(text_of(&schedule.text), "turn order\n");
	for (uint64_t i = 1, n = 0; n < 3 * CALLS; i++) {
		schedule_make(&schedule, &plan, 1, i);
		if (i % 4 == 1) {
			ck_assert(is_an_order(text_of(&schedule.text)));
			ck_assert_ptr_null(strstr(text_of(&schedule.text), "turn "));
			continue;
		}
		place = only_place(text_of(&schedule.text));
		ck_assert_ptr_nonnull(place);
		call = (unsigned int)atoi(place + 6) - 1;
		call += strncmp(place - 6, "client", 6) == 0 ? SERVER : 0;
		ck_assert_uint_lt(call, CALLS);
		/* In the second round the turn changes hands there, in the others it sleeps. */
		ck_assert_int_eq(strstr(place, " to=") != NULL, n / CALLS == 1);
		ck_assert_uint_eq(tried[call]++, n++ / CALLS);
	}
	text_free(&schedule.text);
}
END_TEST

START_TEST(a_schedule_kills_one_program_at_most)
{
	struct plan plan = a_plan_of_two("kill");
	struct schedule schedule = { .number = 0 };
	const char *kill;
	int servers = 0, clients = 0;

	for (uint64_t i = 0; i < SCHEDULES; i++) {
		schedule_make(&schedule, &plan, 1, i);
		kill = strstr(text_of(&schedule.text), "fault kill ");
		ck_assert_int_eq(schedule.has_faults, kill != NULL);
		if (!kill)
			continue;
		servers += strncmp(kill, "fault kill server at ", 21) == 0;
		clients += strncmp(kill, "fault kill client at ", 21) == 0;
		ck_assert_ptr_null(strstr(kill + 1, "fault "));
	}
	ck_assert(servers > SCHEDULES / 4 && clients > SCHEDULES / 4);
	ck_assert(servers + clients < SCHEDULES);
	text_free(&schedule.text);
}
END_TEST

/* ---- the text ---- */

static int count_faults(const struct script *script)
{
	const struct statement *st;
	int n = 0;

	for (st = script->statements; st; st = st->next)
		n += st->kind == STATEMENT_FAULT || st->kind == STATEMENT_LINK ||
		     st->kind == STATEMENT_FABRIC;
	return n;
}

/* Of a program, or of a script, which goes on behind the faults. */
START_TEST(a_schedule_is_a_script_that_has_its_faults)
{
	static const char text[] = "use connected a@emu0 b@emu1\nend quiet\n";
	struct plan plan = a_plan("all,break", PLENTY, PLENTY);
	struct schedule schedule = { .number = 0 };
	struct script script;
	DAT_SIM_CONFIG config;
	bool good;

	dat_sim_config_init(&config);
	plan.settings = settings_free();
	if (_i) {
		ck_assert(script_load(&script, "script", text, strlen(text), &config));
		plan_make(&plan, &script);
		plan.kinds = kinds_parse("all,break");
		script_free(&script);
	}
	for (uint64_t i = 0; i < SCHEDULES; i++) {
		schedule_make(&schedule, &plan, 1, i);
		good = _i ? script_load(&script, "schedule", text_of(&schedule.text),
					schedule.text.length, &config)
			  : script_load_for_program(&script, "schedule", text_of(&schedule.text),
						    schedule.text.length, &config, false);
		ck_assert_msg(good, "%s", text_of(&script.diag.text));
		/* Ways in which a NIC is hostile are no faults. */
		ck_assert_int_eq(count_faults(&script),
				 (int)(schedule.fault_count + schedule.way_count));
		script_free(&script);
	}
	text_free(&schedule.text);
}
END_TEST

/* FNV-1a */
static uint64_t hash_of(uint64_t hash, const char *text)
{
	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
	return hash;
}

static uint64_t hash_schedules(const struct plan *plan)
{
	struct schedule schedule = { .number = 0 };
	uint64_t hash = 0xcbf29ce484222325u;

	for (uint64_t i = 0; i < SCHEDULES; i++) {
		schedule_make(&schedule, plan, 1, i);
		hash = hash_of(hash, text_of(&schedule.text));
	}
	text_free(&schedule.text);
	return hash;
}

/*
 * Two random numbers as arguments of one call are drawn in an order that each compiler chooses. A
 * change here is one of the schedules of all users: a seed and a number that they wrote down mean
 * another schedule then.
 */
START_TEST(a_schedule_is_the_same_whichever_compiler_made_datsim)
{
	static const uint64_t hashes[] = { 738423396973628968u, 8322132614342914656u };
	struct plan plan = _i ? a_plan_of_two("all,turns") : a_plan("all,break", PLENTY, PLENTY);

	plan.settings = settings_free();
	plan.threads[0] = (struct plan_thread){ .node = "server", .number = 1, .calls = 40 };
	plan.threads[1] = (struct plan_thread){ .node = "client", .number = 1, .calls = 60 };
	plan.thread_count = 2;
	ck_assert_uint_eq(hash_schedules(&plan), hashes[_i]);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, faults_use_the_retries_of_a_connection_and_no_more, (int)COUNT(budgets),
		 setup_nothing);
	unit_add(suite, a_packet_is_late_where_a_retry_is_left, 2 * (int)COUNT(late),
		 setup_nothing);
	unit_add(suite, some_schedules_are_an_order_of_turns_alone, 2, setup_nothing);
	unit_add(suite, a_schedule_kills_one_program_at_most, 1, setup_nothing);
	unit_add(suite, every_call_is_tried_alone_before_two_are, 1, setup_nothing);
	unit_add(suite, a_schedule_is_a_script_that_has_its_faults, 2, setup_nothing);
	unit_add(suite, a_schedule_is_the_same_whichever_compiler_made_datsim, 2, setup_nothing);
}

UNIT_SUITE("schedules of datsim explore")
