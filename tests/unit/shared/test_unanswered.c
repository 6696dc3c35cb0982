/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs whose packets are never answered, in a shared fabric: their requests complete
 * whatever becomes of the process that runs a packet.
 */
#include "emu/cq.h"
#include "emu/fabric/arena.h"
#include "emu/fabric/queue.h"
#include "emu/hostile/sent.h"
#include "emu/nic_model.h"
#include "emu/number/unreliable.h"
#include "emu/qp.h"
#include "emu/shared/recover.h"
#include "emu/shared/runner.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	ADAPTER = 1,
	SENDER = 1,
	FIRST = 2, /* receiver, of which there are two */
	SECOND = 3,
	EPOCH = 7,
	ENTRIES = 4,
};

static struct emu_world *world;
static struct emu_fabric *fab;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_begin(config);
	fab = world->fab;
	fab->adapters[ADAPTER].process = OWN;
	emu_process(world, OTHER)->used = false; /* or recovery counts it */
}

static void teardown_fabric(void)
{
	for (uint32_t i = SENDER; i <= SECOND; i++)
		emu_wq_fini(world, &fab->qp[i].sq);
	memset(fab->qp, 0, (SECOND + 1) * sizeof(*fab->qp));
	memset(fab->path, 0, (SECOND + 1) * sizeof(*fab->path));
	fab->adapters[ADAPTER].process = 0;
	fab->qps.high = 0;
	fab->events = 0;
	lone_end(world);
}

/* The receivers have no Receives, so they drop what comes. */
static struct emu_qp *make_qps(enum nic_qp_kind kind)
{
	uint32_t entry = (uint32_t)sizeof(struct emu_swqe) + emu_unreliable_room(world, kind);

	for (uint32_t i = SENDER; i <= SECOND; i++) {
		fab->qp[i] = (struct emu_qp){ .head.live = 1,
					      .adapter = ADAPTER,
					      .kind = (uint8_t)kind,
					      .state = EMU_QP_UNANSWERED,
					      .numbered = true,
					      .epoch = EPOCH };
		ck_assert_int_eq(emu_wq_init(world, &fab->qp[i].sq, ENTRIES, entry), 0);
	}
	fab->qps.high = SECOND;
	fab->path[SENDER] = (struct emu_path){ .to = FIRST, .adapter = ADAPTER, .sends = true };
	return &fab->qp[SENDER];
}

static struct emu_letter *letter_at(uint32_t index)
{
	return emu_letter(emu_wqe(world, &fab->qp[SENDER].sq, index));
}

/* Nothing tells of the end of a request but the send queue. */
static struct emu_letter *put_request(struct emu_qp *qp, uint32_t length)
{
	struct emu_letter *letter = letter_at(qp->sq.put);
	struct emu_swqe *wqe = emu_wqe(world, &qp->sq, qp->sq.put++);

	*wqe = (struct emu_swqe){ .opcode = NIC_OP_SEND, .length = length, .flags = EMU_SWQE_TOLD };
	*letter = (struct emu_letter){ .left = 1, .to = FIRST, .adapter = ADAPTER };
	return letter;
}

static void schedule(uint32_t index, uint32_t packet)
{
	emu_schedule(world, fab->now, EMU_EV_UNANSWERED, SENDER, EPOCH, index, packet);
}

static void run_all(void)
{
	while (fab->events > 0)
		emu_run_first(world);
}

/* ---- what waited in a pause is sent at once ---- */

static void fill_queue(uint32_t events)
{
	for (uint32_t i = 0; i < events; i++)
		fab->heap[i] = (struct emu_event){ .order = EMU_EV_UNANSWERED, .qp = SENDER };
	fab->events = events;
}

/* Three to a group of two, with room for one. No event runs meanwhile. */
START_TEST(datagrams_that_find_no_room_on_the_event_queue_are_lost)
{
	const uint8_t gid[NIC_GID] = { 0xff, 0x12, [15] = 1 };
	const uint32_t room = EMU_EVENTS - EMU_EVENTS_RESERVE;
	struct emu_qp *qp = make_qps(NIC_QP_DATAGRAM);

	for (uint32_t i = 0; i < 2; i++) {
		fab->member[i].qp = FIRST + i;
		memcpy(fab->member[i].gid, gid, NIC_GID);
	}
	fab->members = 2;
	for (int i = 0; i < 3; i++) {
		struct emu_letter *letter = put_request(qp, 8);

		letter->group = true;
		memcpy((uint8_t *)(letter + 1) + NIC_GRH - NIC_GID, gid, NIC_GID);
	}
	fill_queue(room - 1);
	emu_unreliable.resume(world, qp);
	ck_assert_uint_eq(fab->events, room + 1);
	ck_assert_uint_eq(letter_at(0)->left, 2);
	ck_assert_uint_eq(letter_at(1)->left, 0);
	ck_assert_uint_eq(letter_at(2)->left, 0);
	ck_assert_uint_eq(qp->sq.get, 0);
	fill_queue(0);
	schedule(0, FIRST);
	schedule(0, SECOND);
	run_all();
	ck_assert_uint_eq(qp->sq.get, 3);
	fab->members = 0;
}
END_TEST

/* ---- a process dies while it runs a packet ---- */

/* The next packet has been sent, or all is done but the end of the event. */
enum {
	NEXT_SENT,
	ALL_BUT_THE_END,
	MOMENTS,
};

static void die_in_first_event(int moment)
{
	struct emu_event event = fab->heap[0];

	emu_section_event(world, &event);
	emu_heap_pop(world);
	fab->heap[fab->events].order = EMU_NO_EVENT;
	if (moment == NEXT_SENT)
		emu_unreliable.go_on(world, &event);
	else
		emu_dispatch(world, &event);
	emu_recover(world);
}

/* Each packet of two requests is run by a process that dies, and then by another one. */
START_TEST(requests_of_a_connected_qp_complete_though_a_process_dies_in_each_packet)
{
	uint32_t length = _i / MOMENTS ? 2 * world->config.mtu + 1 : 64;
	struct emu_qp *qp = make_qps(NIC_QP_UNRELIABLE);
	int packets = 0;

	put_request(qp, length);
	put_request(qp, length);
	schedule(0, 0);
	for (; fab->events > 0; packets++) {
		die_in_first_event(_i % MOMENTS);
		ck_assert_uint_eq(fab->events, 1);
		emu_run_first(world);
	}
	ck_assert_int_eq(packets, _i / MOMENTS ? 6 : 2);
	ck_assert_uint_eq(qp->sq.get, 2);
	ck_assert_uint_eq(qp->sq_next, 2);
}
END_TEST

START_TEST(a_copy_for_a_group_counts_once_though_a_process_dies_in_its_packet)
{
	struct emu_qp *qp = make_qps(NIC_QP_DATAGRAM);

	put_request(qp, 8)->left = 2;
	qp->sq_next = 1;
	schedule(0, FIRST);
	schedule(0, SECOND);
	die_in_first_event(ALL_BUT_THE_END);
	ck_assert_uint_eq(letter_at(0)->left, 2);
	emu_run_first(world);
	ck_assert_uint_eq(letter_at(0)->left, 1);
	ck_assert_uint_eq(qp->sq.get, 0);
	die_in_first_event(ALL_BUT_THE_END);
	ck_assert_uint_eq(qp->sq.get, 0);
	run_all();
	ck_assert_uint_eq(qp->sq.get, 1);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("unanswered");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_loop_test(
		tcase, requests_of_a_connected_qp_complete_though_a_process_dies_in_each_packet, 0,
		2 * MOMENTS);
	tcase_add_test(tcase, datagrams_that_find_no_room_on_the_event_queue_are_lost);
	tcase_add_test(tcase, a_copy_for_a_group_counts_once_though_a_process_dies_in_its_packet);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("packets that are never answered, of several processes")
