/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event queue while very many events are pending, some of them timers that may be stopped:
 * beside a list that is sorted after each operation, and on the edges of the wheel's levels.
 */
#include <stdlib.h>

#include "emu/fabric/queue.h"
#include "emu/fabric/spare.h"
#include "host/random.h"
#include "tests/support/support.h"

enum {
	OPERATIONS = 100000,
	FEW_OPERATIONS = 25000,                       /* under valgrind */
	MOST = EMU_FIFO_EVENTS + 3 * EMU_HEAP_EVENTS, /* pending, before they become fewer again */
	TIMERS = MOST / 4,                            /* QPs with one each */
	FAR_NS = 1000000,
};

struct entry {
	uint64_t time, number;
	uint32_t qp; /* whose timer it is; 0: none */
};

static struct emu_world *world;
static uint64_t seed;
/* The events that are pending, in order. */
static struct entry list[2 * MOST + 500];
static uint32_t pending;
static uint64_t digest; /* of what came, and of where it was */
static uint32_t stopped_far;

static void begin(void)
{
	world = emu_world_map();
	ck_assert_ptr_nonnull(world);
	ck_assert_uint_eq(world->wheel.events, 0);
	emu_fifo_open(&world->fifo);
	world->trace_fd = -1; /* no file, so its memory is kept for the next one */
	for (uint32_t i = 1; i <= TIMERS; i++)
		world->fab->qp[i] = (struct emu_qp){ .epoch = i };
	seed = digest = 1;
	pending = stopped_far = 0;
}

static void end(void)
{
	emu_world_unmap(world);
}

static uint64_t below(uint64_t n)
{
	return random_next(&seed) % n;
}

/* ---- the list, and the same done to both ---- */

/* An event that is queued now comes behind all others of its time. */
static void list_add(uint64_t time, uint64_t number, uint32_t qp)
{
	uint32_t from = 0, to = pending;

	while (from < to) {
		uint32_t middle = (from + to) / 2;

		if (list[middle].time <= time)
			from = middle + 1;
		else
			to = middle;
	}
	ck_assert_uint_lt(pending, COUNT(list));
	memmove(&list[from + 1], &list[from], (pending++ - from) * sizeof(list[0]));
	list[from] = (struct entry){ time, number, qp };
}

static void list_remove(uint32_t i)
{
	memmove(&list[i], &list[i + 1], (--pending - i) * sizeof(list[0]));
}

static void expect_first(void)
{
	const struct emu_event *first = emu_queue_first(world);

	ck_assert_uint_eq(emu_queue_length(world), pending);
	if (!pending) {
		ck_assert_ptr_null(first);
		return;
	}
	ck_assert_ptr_nonnull(first);
	ck_assert_uint_eq(first->time, list[0].time);
	ck_assert_uint_eq(first->order >> 8, list[0].number);
}

static void queue_one(uint64_t time)
{
	list_add(time, world->fab->sequence, 0);
	emu_schedule(world, time, EMU_EV_ACK, 0, 0, 0, 0);
	expect_first();
}

static void start_timer(uint32_t qp, uint64_t time)
{
	list_add(time, world->fab->sequence, qp);
	emu_timer_start(world, &world->fab->qp[qp], time, EMU_EV_RNR_TIMER);
	expect_first();
}

static void stop_timer(uint32_t qp)
{
	uint32_t i = 0, far = world->wheel.events;

	while (list[i].qp != qp)
		i++;
	list_remove(i);
	emu_timer_remove(world, &world->fab->qp[qp]);
	world->fab->qp[qp].timer = false;
	stopped_far += world->wheel.events < far;
	expect_first();
}

static void take_one(void)
{
	const struct emu_event *first = emu_queue_first(world);

	digest = digest * 31 + first->order + world->wheel.events;
	world->fab->now = first->time;
	world->fab->qp[list[0].qp].timer = false;
	list_remove(0);
	emu_queue_pop(world, first);
	expect_first();
}

static void take_all(void)
{
	while (pending > 0)
		take_one();
	ck_assert_uint_eq(world->wheel.events, 0);
}

/*
 * Enough events for later ones to go to the wheel, all due at that time. The FIFO, which would take
 * events in order, ends with one at the end of time.
 */
static void fill_heap(uint64_t time)
{
	queue_one(UINT64_MAX);
	for (uint32_t n = 0; n < EMU_HEAP_EVENTS; n++)
		queue_one(time);
	ck_assert_uint_eq(world->wheel.events, 0);
}

/* ---- random operations ---- */

enum delays {
	FEW_NS,    /* most events have the time of others */
	EVEN,      /* within FAR_NS */
	ANY_LEVEL, /* up to 2^40 ns, short ones as often as long ones */
	CLUSTERS,  /* soon, or at one of four times later */
	DELAYS,
};

static uint64_t some_delay(enum delays delays)
{
	switch (delays) {
	case FEW_NS:
		return below(50);
	case EVEN:
		return below(FAR_NS);
	case ANY_LEVEL:
		return below(1ul << below(41));
	default:
		return below(2) ? below(100) : (below(4) + 1) * FAR_NS;
	}
}

static void add_one(enum delays delays)
{
	uint64_t time = world->fab->now + some_delay(delays);
	uint32_t qp = (uint32_t)below(TIMERS) + 1;

	if (below(4) > 0)
		queue_one(time);
	else if (world->fab->qp[qp].timer)
		stop_timer(qp);
	else
		start_timer(qp, time);
}

/* The number of events rises and falls, several times beyond what the heap alone takes. */
static uint64_t run_random(enum delays delays)
{
	const uint32_t operations = getenv("UNIT_SHARE") ? FEW_OPERATIONS : OPERATIONS;
	uint32_t most_far = 0, share = 80;

	for (uint32_t n = 0; n < operations; n++) {
		if (!pending || pending >= MOST)
			share = pending ? 20 : 80;
		if (below(100) < share)
			add_one(delays);
		else if (pending > 0)
			take_one();
		if (world->wheel.events > most_far)
			most_far = world->wheel.events;
	}
	take_all();
	ck_assert_uint_gt(most_far, EMU_HEAP_EVENTS / 2);
	return digest;
}

START_TEST(random_operations_give_the_order_of_a_sorted_list_twice_the_same)
{
	uint64_t once = run_random((enum delays)_i);

	ck_assert_uint_gt(stopped_far, 0);
	end();
	begin();
	ck_assert_uint_eq(run_random((enum delays)_i), once);
}
END_TEST

/* ---- examples ---- */

/* Last and first ns of slots of all levels, queued from the latest to the earliest. */
START_TEST(events_on_the_edges_of_slots_come_in_order)
{
	fill_heap(1);
	queue_one(UINT64_MAX - 1);
	for (unsigned int bits = 63; bits > 1; bits--) {
		queue_one((1ul << bits) + 1);
		queue_one(1ul << bits);
		queue_one((1ul << bits) - 1);
	}
	ck_assert_uint_gt(world->wheel.events, 3 * 60);
	take_all();
}
END_TEST

START_TEST(a_few_events_need_neither_wheel_nor_pool)
{
	uint32_t pool = world->fab->pool_next;

	for (uint32_t n = EMU_HEAP_EVENTS; n > 0; n--)
		queue_one(n * FAR_NS);
	ck_assert_uint_eq(world->wheel.events, 0);
	ck_assert_uint_eq(world->fab->pool_next, pool);
	queue_one(2 * FAR_NS);
	queue_one(2 * FAR_NS);
	ck_assert_uint_gt(world->wheel.events, 0);
	take_all();
}
END_TEST

static void queue_many(uint32_t n)
{
	fill_heap(world->fab->now + 1);
	while (n-- > 0)
		queue_one(world->fab->now + 2 + below(FAR_NS));
	ck_assert_uint_gt(world->wheel.events, 0);
	take_all();
}

/* Blocks are used again: the second time takes no more of the pool. */
START_TEST(an_emptied_wheel_keeps_no_block)
{
	uint64_t begun = seed;
	uint32_t pool;

	queue_many(EMU_HEAP_EVENTS);
	/* Slots are those of the same bits of the time. */
	pool = world->fab->pool_next;
	world->fab->now = 0;
	emu_fifo_open(&world->fifo);
	seed = begun;
	queue_many(EMU_HEAP_EVENTS);
	ck_assert_uint_eq(world->fab->pool_next, pool);
}
END_TEST

START_TEST(events_that_the_wheel_has_no_room_for_go_to_the_heap)
{
	const uint32_t others = EMU_WHEEL_EVENTS - 2;
	uint32_t heap;

	fill_heap(1);
	heap = world->fab->events;
	world->wheel.events += others; /* as if so many were there */
	for (uint32_t n = 0; n < 5; n++) {
		list_add(FAR_NS - n, world->fab->sequence, 0);
		emu_schedule(world, FAR_NS - n, EMU_EV_ACK, 0, 0, 0, 0);
	}
	ck_assert_uint_eq(world->fab->events, heap + 3);
	world->wheel.events -= others;
	ck_assert_uint_eq(world->wheel.events, 2);
	take_all();
}
END_TEST

/* Posts ask for it. */
START_TEST(the_queue_has_room_as_long_as_heap_and_wheel_together_are_short)
{
	const uint32_t most = EMU_EVENTS - EMU_EVENTS_RESERVE;

	world->fab->events = most - 1;
	ck_assert(emu_clock_has_room(world));
	world->wheel.events = 1;
	ck_assert(!emu_clock_has_room(world));
	world->fab->events = most - EMU_WHEEL_EVENTS - 1;
	world->wheel.events = EMU_WHEEL_EVENTS;
	ck_assert(emu_clock_has_room(world) && emu_clock_has_much_room(world));
	world->fab->events++;
	ck_assert(!emu_clock_has_room(world) && !emu_clock_has_much_room(world));
	world->fab->events = world->wheel.events = 0;
}
END_TEST

/*
 * Neither when they are queued, nor when they move to lower slots. Those that find no room are on
 * the heap, and behind older ones of their time, which are on the wheel.
 */
START_TEST(an_empty_pool_loses_no_event)
{
	uint32_t pool_end = world->fab->pool_end;

	fill_heap(1);
	for (uint32_t n = 0; n < 200; n++)
		queue_one(FAR_NS + n * 64);
	ck_assert_uint_eq(world->wheel.events, 200);
	world->fab->pool_end = world->fab->pool_next;
	for (uint32_t n = 0; n < 200; n++)
		queue_one(FAR_NS + n * 64);
	ck_assert_uint_lt(world->wheel.events, 400);
	take_all();
	world->fab->pool_end = pool_end;
}
END_TEST

/* It gets the events of a slot of one block, or of one ns. */
START_TEST(the_heap_stays_short)
{
	fill_heap(1);
	for (uint32_t n = 0; n < MOST; n++)
		queue_one(2 + below(FAR_NS));
	while (world->fab->now < 2)
		take_one();
	while (pending > 0) {
		ck_assert_uint_lt(world->fab->events, 64);
		take_one();
	}
}
END_TEST

START_TEST(a_world_that_ends_with_a_full_wheel_begins_with_an_empty_one)
{
	struct emu_world *first = world;

	fill_heap(1);
	for (uint32_t n = 0; n < MOST; n++)
		queue_one(2 + below(FAR_NS));
	end();
	begin();
	ck_assert_ptr_eq(world, first);
	ck_assert_uint_eq(world->wheel.levels, 0);
	ck_assert_ptr_null(emu_queue_first(world));
	queue_many(EMU_HEAP_EVENTS);
}
END_TEST

/* The timer was the only event on the heap. */
START_TEST(the_next_event_is_found_when_the_first_timer_is_stopped)
{
	fill_heap(1);
	start_timer(1, 11);
	for (uint32_t n = 0; n < 100; n++)
		queue_one(FAR_NS + n);
	while (list[0].qp != 1)
		take_one();
	ck_assert_uint_eq(world->fab->events, 1);
	stop_timer(1);
	take_all();
}
END_TEST

/* Stopped from both ends of a slot: the last event takes the place of the one that goes. */
START_TEST(timers_of_a_slot_are_found_after_they_have_moved)
{
	fill_heap(1);
	for (uint32_t qp = 1; qp <= TIMERS; qp++)
		start_timer(qp, FAR_NS);
	for (uint32_t n = 1; n <= TIMERS; n++)
		stop_timer(n % 2 ? n / 2 + 1 : TIMERS - n / 2 + 1);
	ck_assert_uint_eq(stopped_far, TIMERS);
	ck_assert_uint_eq(world->wheel.levels, 0);
	take_all();
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("wheel");

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_loop_test(tcase, random_operations_give_the_order_of_a_sorted_list_twice_the_same,
			    0, DELAYS);
	tcase_add_test(tcase, events_on_the_edges_of_slots_come_in_order);
	tcase_add_test(tcase, a_few_events_need_neither_wheel_nor_pool);
	tcase_add_test(tcase, an_emptied_wheel_keeps_no_block);
	tcase_add_test(tcase, events_that_the_wheel_has_no_room_for_go_to_the_heap);
	tcase_add_test(tcase, the_queue_has_room_as_long_as_heap_and_wheel_together_are_short);
	tcase_add_test(tcase, an_empty_pool_loses_no_event);
	tcase_add_test(tcase, the_heap_stays_short);
	tcase_add_test(tcase, a_world_that_ends_with_a_full_wheel_begins_with_an_empty_one);
	tcase_add_test(tcase, the_next_event_is_found_when_the_first_timer_is_stopped);
	tcase_add_test(tcase, timers_of_a_slot_are_found_after_they_have_moved);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("events that are due late")
