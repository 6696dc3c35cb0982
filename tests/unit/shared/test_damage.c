/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists in the arena that lead in a circle, and queues with millions of entries: each is looked
 * through in bounded time, and the process's adapters fail. Without the bounds these tests take
 * hours.
 */
#include <stdlib.h>
#include <unistd.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/queue.h"
#include "emu/fabric/spare.h"
#include "emu/partial.h"
#include "emu/shared/recover.h"
#include "emu/shared/shared.h"
#include "emu/wire/wire.h"
#include "tests/support/support.h"

enum {
	OWN = 1,
	QP = 1,
	EVENTS = 300000,
	COPIES = 1000,
};

static char folder[] = "/tmp/libdat-damage-XXXXXX";
static struct emu_world *world;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	config.fabric = "lab";
	world = emu_world_map_bare();
	ck_assert_int_eq(emu_shared_join(world, &config), 0);
	emu_shared_take(world);
}

static void teardown_fabric(void)
{
	char path[100];

	emu_shared_release(world);
	emu_shared_leave(world);
	emu_world_unmap_bare(world);
	snprintf(path, sizeof(path), "%s/datsim", folder);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void expect_damage(bool damaged)
{
	ck_assert_int_eq(emu_process(world, OWN)->overrun, damaged);
	ck_assert_int_eq(world->steps_most == EMU_STEPS_DAMAGED, damaged);
}

/* Two partial messages, each the other's next; neither knows its own place. */
static struct emu_qp *make_circle(void)
{
	struct emu_qp *qp = emu_qp_at(world, QP);
	emu_ref one = emu_pool_alloc(world, sizeof(struct emu_rx));
	emu_ref two = emu_pool_alloc(world, sizeof(struct emu_rx));

	*(struct emu_rx *)emu_at(world, one) = (struct emu_rx){ .next = two, .self = UINT32_MAX };
	*(struct emu_rx *)emu_at(world, two) = (struct emu_rx){ .next = one, .self = UINT32_MAX };
	qp->rx = one;
	return qp;
}

START_TEST(a_circle_of_partial_messages_is_dropped)
{
	struct emu_qp *qp = make_circle();

	emu_rx_forget(world, qp);
	ck_assert_uint_eq(qp->rx, 0);
	expect_damage(true);
}
END_TEST

START_TEST(a_circle_of_partial_messages_is_flushed)
{
	struct emu_qp *qp = make_circle();

	emu_partial_flush(world, qp, UINT32_MAX);
	ck_assert_uint_eq(qp->rx, 0);
}
END_TEST

/* Each walk is short enough by itself; there are 2^18 Endpoints to walk for. */
START_TEST(all_loops_of_an_event_share_one_bound)
{
	struct emu_fabric *fab = world->fab;

	fab->qps.high = EMU_QPS;
	for (uint32_t i = 1; i <= EMU_QPS; i++)
		fab->qp[i] = (struct emu_qp){ .head.live = 1,
					      .state = EMU_QP_CONNECTED,
					      .peer = QP,
					      .sq.put = EMU_MAX_QP_WR };
	make_circle();
	fab->qp[QP].parked = fab->qp[QP].rx;
	emu_observe(world, 1);
	expect_damage(true);
	memset(fab->qp, 0, sizeof(fab->qp));
	fab->qps.high = 0;
}
END_TEST

START_TEST(a_sequence_number_is_counted_in_bounded_time)
{
	struct emu_qp *qp = emu_qp_at(world, QP);

	qp->psn_counted = INT32_MAX;
	emu_wire_psn(world, qp, 0, 0);
	expect_damage(true);
}
END_TEST

static uint64_t order_of(uint32_t i)
{
	return (uint64_t)i << 8 | EMU_EV_ACK;
}

/* In an order that makes an insertion move all events before it. */
static void fill_queue(void)
{
	struct emu_fabric *fab = world->fab;

	for (uint32_t i = 0; i < EVENTS; i++)
		fab->heap[i] = (struct emu_event){ .time = EVENTS - i, .order = order_of(i) };
	for (uint32_t i = 0; i < COPIES; i++)
		fab->heap[EVENTS + i] = fab->heap[i];
	fab->events = EVENTS + COPIES;
	fab->sequence = EVENTS + 1;
	fab->shared.section.before =
		(struct emu_mark){ .sequence = fab->sequence, .events = fab->events };
}

START_TEST(recovery_sorts_a_long_queue_and_drops_copies)
{
	struct emu_section *section = &world->fab->shared.section;
	struct emu_event *heap = world->fab->heap;

	fill_queue();
	section->event = (struct emu_event){ .time = 1, .order = order_of(EVENTS) };
	section->running = true;
	emu_recover(world);
	ck_assert_uint_eq(world->fab->events, EVENTS + 1);
	ck_assert_uint_eq(heap[1].order, order_of(EVENTS));
	for (uint32_t i = 1; i < world->fab->events; i++)
		ck_assert(heap[i - 1].time < heap[i].time ||
			  (heap[i - 1].time == heap[i].time && heap[i - 1].order < heap[i].order));
	expect_damage(false);
	world->fab->events = 0;
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("damage");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, a_circle_of_partial_messages_is_dropped);
	tcase_add_test(tcase, a_circle_of_partial_messages_is_flushed);
	tcase_add_test(tcase, all_loops_of_an_event_share_one_bound);
	tcase_add_test(tcase, a_sequence_number_is_counted_in_bounded_time);
	tcase_add_test(tcase, recovery_sorts_a_long_queue_and_drops_copies);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("damage to an arena")
