/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of turns of programs in lockstep, as turn lines of a schedule.
 *
 * Few preemptions first, because most bugs need few: a schedule begins with the fixed order, then
 * each call of each thread is tried as the place where the turn changes hands or the thread sleeps,
 * and then two to four such places at random. Now and then the fabric's seed chooses at every
 * point, which is what many preemptions are.
 */
#include "explore.h"

#include "host/random.h"

#define PLACES_MOST 4    /* in a schedule */
#define ROUNDS      3    /* that each single place gets: a pause, a switch, another pause */
#define SINGLE_MOST 3000 /* schedules with one place */
#define STEP        7919 /* prime: all places are reached, in an order that spreads them */

static uint64_t count_calls(const struct plan *plan)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < plan->thread_count; i++)
		calls += plan->threads[i].calls;
	return calls;
}

/* A time from 100 ns to 200 us; each power of two is equally likely. */
static uint64_t pause_ns(uint64_t *random)
{
	return 100ull << random_next(random) % 12;
}

static void add_target(struct text *text, const struct plan *plan, size_t from, uint64_t *random)
{
	size_t to =
		(from + 1 + random_next(random) % (plan->thread_count - 1)) % plan->thread_count;

	text_add(text, " to=%s", plan->threads[to].node);
	if (plan->threads[to].number > 1)
		text_add(text, " to_thread=%u", plan->threads[to].number);
}

/* A line about one place: the `place`th of all calls, thread by thread. */
static void add_place(struct text *text, const struct plan *plan, uint64_t place, bool switches,
		      uint64_t *random)
{
	size_t i = 0;

	while (i + 1 < plan->thread_count && place >= plan->threads[i].calls)
		place -= plan->threads[i++].calls;
	text_add(text, "turn %s call=%llu", plan->threads[i].node, (unsigned long long)place + 1);
	if (plan->threads[i].number > 1)
		text_add(text, " thread=%u", plan->threads[i].number);
	if (switches && plan->thread_count > 1)
		add_target(text, plan, i, random);
	else
		text_add(text, " for=%lluns", (unsigned long long)pause_ns(random));
	text_add(text, "\n");
}

/* With the n-th schedule of turns: one place, and what happens there alternates. */
static size_t add_single(struct text *text, const struct plan *plan, uint64_t n, uint64_t *random)
{
	uint64_t calls = count_calls(plan), step = calls % STEP ? STEP : 1;

	add_place(text, plan, n * step % calls, n / calls % 2, random);
	return 1;
}

size_t schedule_add_places(struct text *text, const struct plan *plan, size_t most,
			   uint64_t *random)
{
	uint64_t calls = count_calls(plan);
	size_t n = calls ? 1 + random_next(random) % most : 0;

	for (size_t i = 0; i < n; i++) {
		bool switches = random_next(random) % 2;

		add_place(text, plan, random_next(random) % calls, switches, random);
	}
	return n;
}

static size_t add_seed(struct text *text, uint64_t *random)
{
	text_add(text, "fabric seed=%llu\n",
		 (unsigned long long)(1 + random_next(random) % 1000000));
	return 1;
}

size_t schedule_add_turns(struct text *text, const struct plan *plan, uint64_t n, uint64_t *random)
{
	uint64_t calls = count_calls(plan), single = ROUNDS * calls;

	if (single > SINGLE_MOST)
		single = SINGLE_MOST;
	/* The first, and after that every fourth. */
	if (n % 4 == 1 || (n > 0 && !calls))
		return add_seed(text, random);
	text_add(text, "turn order\n");
	n -= (n + 3) / 4;
	if (n == 0)
		return 1;
	if (n <= single)
		return 1 + add_single(text, plan, n - 1, random);
	return 1 + schedule_add_places(text, plan, PLACES_MOST, random);
}
