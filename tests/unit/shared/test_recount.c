/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After a process died with the lock, the number of reasons to observe packets is the number of
 * those that the arena has, whatever was noted before.
 */
#include "emu/fabric/arena.h"
#include "emu/fabric/queue.h"
#include "emu/shared/inbox.h"
#include "emu/shared/recover.h"
#include "emu/wire/link.h"
#include "emu/wire/links.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	QP = 1,
	PEER = 2,
	EPOCH = 7,
	NEXT = 3, /* the request that PEER expects */
};

enum reason {
	NO_REASON,
	RULE,
	PORT_DOWN,
	LINK_HOLDS,
	QP_HOLDS,
	HALF_OPEN,
	RETRY_TIMER,
	IN_QUEUE, /* a packet that was delayed or retransmitted, */
	ON_LINK,
	HELD,
	EARLY,
	IN_INBOX,
	REASONS,
};

static struct emu_world *world;
static struct emu_fabric *fab;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_begin(config);
	fab = world->fab;
	fab->shared.processes = 2;
	fab->adapters[MINE] = (struct emu_adapter){ .open = true, .process = OWN };
	fab->qps.high = PEER;
	for (uint32_t i = QP; i <= PEER; i++)
		fab->qp[i] = (struct emu_qp){ .head.live = 1,
					      .adapter = MINE,
					      .state = EMU_QP_CONNECTED,
					      .epoch = EPOCH + i,
					      .peer = QP + PEER - i,
					      .peer_epoch = EPOCH + QP + PEER - i };
	fab->qp[PEER].rx_next = NEXT;
}

/* The link of the adapter to itself. */
static uint32_t own_link(void)
{
	return emu_link_get(world, MINE, MINE);
}

static void teardown_fabric(void)
{
	fab->adapters[MINE] = (struct emu_adapter){ .open = false };
	memset(fab->qp, 0, (PEER + 1) * sizeof(*fab->qp));
	fab->link[own_link()].holding = false;
	fab->link[own_link()].held = 0;
	emu_process(world, OTHER)->inbox = 0;
	emu_process(world, OWN)->overrun = false;
	fab->shared.processes = 1;
	fab->rules = fab->qps.high = 0;
	fab->events = fab->observed = 0;
	lone_end(world);
}

/* Leave a marked packet, and one that is not. */
static void leave_packets(enum reason reason)
{
	struct emu_event event = { .order = EMU_EV_DATA, .qp = PEER, .epoch = EPOCH };
	struct emu_link *link = &fab->link[own_link()];
	struct emu_qp *qp = &fab->qp[QP];
	emu_ref tail = 0;

	for (int i = 0; i < 2; i++) {
		event.packet = i == 0 ? 1u << EMU_EV_TRIES : 1;
		if (reason == IN_QUEUE)
			emu_reschedule(world, &event, 0);
		else if (reason == ON_LINK)
			emu_held_append(world, &link->held, &tail, 0, &event);
		else if (reason == HELD)
			emu_held_append(world, &qp->held, &tail, 0, &event);
		else if (reason == EARLY)
			emu_held_append(world, &qp->early, &tail, 0, &event);
		else
			emu_inbox_run(world, OTHER, &event);
	}
}

static void leave(enum reason reason)
{
	struct emu_qp *qp = &fab->qp[QP];

	fab->rules = reason == RULE;
	fab->adapters[MINE].port_down = reason == PORT_DOWN;
	fab->link[own_link()].holding = reason == LINK_HOLDS;
	qp->half_open = reason == HALF_OPEN;
	if (reason == QP_HOLDS)
		qp->holds = emu_pool_alloc(world, sizeof(struct emu_hold_rule) * EMU_HOLDS);
	/* Its process died before it noted in the QP which timer that is. */
	if (reason == RETRY_TIMER)
		emu_schedule(world, 1, EMU_EV_RETRY_TIMER, QP, EPOCH + QP, 0, 0);
	if (reason >= IN_QUEUE)
		leave_packets(reason);
}

START_TEST(each_reason_is_counted_whatever_was_noted)
{
	enum reason reason = (enum reason)(_i % REASONS);

	leave(reason);
	fab->observed = _i < REASONS ? 0 : 5;
	emu_section_keep(world);
	emu_recover(world);
	ck_assert_uint_eq(fab->observed, reason != NO_REASON);
	ck_assert_int_eq(fab->qp[QP].timer, reason == RETRY_TIMER);
	ck_assert_int_eq(fab->qp[QP].retry_timer, reason == RETRY_TIMER);
}
END_TEST

START_TEST(reasons_of_a_qp_that_is_gone_are_none)
{
	leave(HALF_OPEN);
	fab->qp[QP].head.live = 0;
	fab->observed = 1;
	emu_section_keep(world);
	emu_recover(world);
	ck_assert_uint_eq(fab->observed, 0);
}
END_TEST

/* From here on, QP sends the packet that its peer expects. */
START_TEST(connections_change_over_where_the_first_reason_was_not_noted)
{
	leave(_i ? LINK_HOLDS : NO_REASON);
	emu_section_keep(world);
	emu_recover(world);
	ck_assert_uint_eq(fab->qp[QP].wire_index, _i ? NEXT : 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("recount");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_loop_test(tcase, each_reason_is_counted_whatever_was_noted, 0, 2 * REASONS);
	tcase_add_test(tcase, reasons_of_a_qp_that_is_gone_are_none);
	tcase_add_loop_test(tcase, connections_change_over_where_the_first_reason_was_not_noted, 0,
			    2);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("reasons to observe packets")
