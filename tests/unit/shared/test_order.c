/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of a connection that one process leaves to another stay in order when memory is full. */

#include "emu/fabric/queue.h"
#include "emu/fabric/spare.h"
#include "emu/shared/inbox.h"
#include "emu/shared/runner.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	OWNER = 2,   /* the process whose inbox the packets go to */
	PEER = 3,    /* this process is neither */
	ADAPTER = 1, /* of OWNER */
	FAR = 2,     /* of PEER */
	QP = 1,
	PACKETS = 3,
	LATER_NS = 2000000,
};

static struct emu_world *world;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;
	struct emu_fabric *fab;

	world = lone_join(config);
	fab = world->fab;
	fab->adapters[ADAPTER].process = OWNER;
	fab->adapters[FAR].process = PEER;
	fab->qp[QP] = (struct emu_qp){ .adapter = ADAPTER, .peer_adapter = FAR };
}

static void teardown_fabric(void)
{
	emu_process(world, OWNER)->inbox = 0;
	lone_leave(world);
}

static void run_packet(uint32_t index)
{
	emu_schedule(world, world->fab->now, EMU_EV_ACK, QP, 0, index, 0);
	emu_run_first(world);
}

START_TEST(a_packet_that_was_put_back_is_not_overtaken)
{
	struct emu_fabric *fab = world->fab;
	uint32_t end = fab->pool_end;
	emu_ref ref;

	fab->pool_end = fab->pool_next;
	run_packet(0);
	fab->pool_end = end;
	for (uint32_t i = 1; i < PACKETS; i++)
		run_packet(i);
	fab->now += LATER_NS;
	while (fab->events > 0)
		emu_run_first(world);
	ref = emu_process(world, OWNER)->inbox;
	for (uint32_t i = 0; i < PACKETS; i++) {
		const struct emu_message *message = emu_at(world, ref);

		ck_assert_uint_ne(ref, 0);
		ck_assert_uint_eq(message->event.index, i);
		ref = message->next;
	}
	ck_assert_uint_eq(ref, 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("order");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, a_packet_that_was_put_back_is_not_overtaken);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("order of packets between processes")
