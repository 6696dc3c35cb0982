/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event queue of a private fabric, whatever the times of its events: they come out in order of
 * (time, number), none is lost, none comes twice.
 */
#include <stdlib.h>

#include "emu/fabric/queue.h"
#include "emu/fabric/spare.h"
#include "host/random.h"
#include "tests/support/support.h"

enum {
	EVENTS = 20 * EMU_FIFO_EVENTS,
	DELAY_NS = 1000,
	QP = 1,
};

static struct emu_world *world;
static uint64_t seed;
static unsigned char *came;
static uint32_t queued, taken, on_heap;

static void setup(void)
{
	world = emu_world_map();
	ck_assert_ptr_nonnull(world);
	emu_fifo_open(&world->fifo);
	world->fab->qp[QP].epoch = 1;
	came = calloc(EVENTS, 1);
	ck_assert_ptr_nonnull(came);
	seed = 1;
	queued = taken = on_heap = 0;
}

static void teardown_world(void)
{
	free(came);
	emu_world_unmap(world);
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_next(&seed) % n);
}

static void queue_one(uint64_t after)
{
	uint32_t heap = world->fab->events;

	emu_schedule(world, world->fab->now + after, EMU_EV_ACK, 0, 0, queued++, 0);
	on_heap += world->fab->events - heap;
}

static void take_one(void)
{
	const struct emu_event *first = emu_queue_first(world);
	static uint64_t last_order;

	ck_assert_ptr_nonnull(first);
	ck_assert_uint_ge(first->time, world->fab->now);
	if (taken > 0 && first->time == world->fab->now)
		ck_assert_uint_gt(first->order, last_order);
	last_order = first->order;
	world->fab->now = first->time;
	ck_assert_uint_lt(first->index, queued);
	ck_assert_uint_eq(came[first->index]++, 0);
	emu_queue_pop(world, first);
	taken++;
	ck_assert_uint_eq(emu_queue_length(world), queued - taken);
}

/* Bursts of up to `burst` events, each followed by as many events taken, or fewer. */
static void run_bursts(uint32_t burst, uint32_t irregular)
{
	while (queued < EVENTS) {
		for (uint32_t n = below(burst) + 1; n > 0 && queued < EVENTS; n--)
			queue_one(below(100) < irregular ? below(3 * DELAY_NS) : DELAY_NS);
		for (uint32_t n = below(burst) + 1; n > 0 && taken < queued; n--)
			take_one();
	}
	while (taken < queued)
		take_one();
	ck_assert_ptr_null(emu_queue_first(world));
}

START_TEST(events_of_any_time_come_in_order)
{
	static const uint32_t bursts[] = { 1, 3, EMU_FIFO_EVENTS / 4, 2 * EMU_FIFO_EVENTS };
	static const uint32_t irregular[] = { 0, 1, 30, 100 };

	run_bursts(bursts[_i / 4], irregular[_i % 4]);
}
END_TEST

START_TEST(a_queue_that_is_never_empty_needs_no_heap_for_events_in_order)
{
	queue_one(DELAY_NS);
	while (queued < EVENTS) {
		queue_one(DELAY_NS);
		take_one();
	}
	take_one();
	ck_assert_uint_eq(on_heap, 0);
}
END_TEST

/* Half of the array is enough to move the rest to its front; with less, events go to the heap. */
START_TEST(a_full_FIFO_goes_on_at_its_front_when_half_of_it_is_free)
{
	const uint32_t room = EMU_FIFO_EVENTS - 1; /* the first place is for the one before */

	for (uint32_t n = 0; n < room; n++)
		queue_one(DELAY_NS);
	for (uint32_t n = 0; n < EMU_FIFO_EVENTS / 2 - _i; n++)
		take_one();
	queue_one(DELAY_NS);
	ck_assert_uint_eq(on_heap, _i);
	while (taken < queued)
		take_one();
}
END_TEST

START_TEST(a_timer_leaves_the_queue_among_events_in_order)
{
	struct emu_qp *qp = &world->fab->qp[QP];

	emu_timer_start(world, qp, 50 * DELAY_NS, EMU_EV_RNR_TIMER);
	for (uint32_t n = 0; n < 3; n++)
		queue_one(DELAY_NS);
	ck_assert_uint_eq(emu_queue_length(world), 4);
	emu_timer_remove(world, qp);
	ck_assert_uint_eq(emu_queue_length(world), 3);
	ck_assert_uint_eq(on_heap, 0);
	while (taken < queued)
		take_one();
	ck_assert_ptr_null(emu_queue_first(world));
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("queue");

	tcase_add_checked_fixture(tcase, setup, teardown_world);
	tcase_add_loop_test(tcase, events_of_any_time_come_in_order, 0, 16);
	tcase_add_test(tcase, a_queue_that_is_never_empty_needs_no_heap_for_events_in_order);
	tcase_add_loop_test(tcase, a_full_FIFO_goes_on_at_its_front_when_half_of_it_is_free, 0, 2);
	tcase_add_test(tcase, a_timer_leaves_the_queue_among_events_in_order);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("event queue")
