/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In lockstep, a short payload of a Send waits in the inbox for the receiver's turn. That cannot be
 * seen, neither by the receiver nor by another process that accesses the same memory before.
 */
#include <fcntl.h>
#include <unistd.h>

#include "emu/fabric/arena.h"
#include "emu/shared/inbox.h"
#include "emu/shared/reach.h"
#include "emu/shared/recover.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	MINE = 1,   /* adapter of OWN, the sender */
	THEIRS = 2, /* and of OTHER, the receiver */
	QP = 1,     /* of the receiver */
	PEER = 2,
	LONGEST = 256,
	MOST = 8,
	THREAD = 2,
	THIRD = 3, /* a process of which nothing is known */
};

static struct emu_world *world;
static struct emu_fabric *fab;
static struct emu_lockstep *ls;
static struct emu_process *other;
/* The receiver's memory is this process's, reached as that of another one. */
static uint8_t from[2 * LONGEST], to[2 * LONGEST];
static const struct emu_place source = { .addr = (uintptr_t)from, .process = OWN };
static const struct emu_place target = { .addr = (uintptr_t)to, .process = OTHER };

static struct emu_swqe *first_request(void)
{
	return emu_wqe(world, &fab->qp[PEER].sq, 0);
}

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;
	static const struct emu_event event = { .order = EMU_EV_DATA, .qp = QP };

	world = lone_begin_lockstep(config);
	fab = world->fab;
	ls = &fab->shared.lockstep;
	other = emu_process(world, OTHER);
	lone_enter(world);
	lone_thread(world, THREAD, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	fab->adapters[MINE].process = OWN;
	fab->adapters[THEIRS].process = OTHER;
	fab->qp[QP] = (struct emu_qp){ .head.live = 1,
				       .adapter = THEIRS,
				       .peer_adapter = MINE,
				       .peer = PEER };
	fab->qp[PEER] = (struct emu_qp){ .head.live = 1,
					 .adapter = MINE,
					 .peer_adapter = THEIRS,
					 .peer = QP };
	ck_assert_int_eq(emu_wq_init(world, &fab->qp[PEER].sq, 4, sizeof(struct emu_swqe)), 0);
	first_request()->opcode = NIC_OP_SEND;
	world->membership->peer[OTHER] =
		(struct emu_peer){ .tried = true,
				   .pid = getpid(),
				   .generation = other->generation,
				   .memory = open("/proc/self/mem", O_RDWR) };
	world->range[1] = (struct emu_range){ (uintptr_t)from, sizeof(from), 1 };
	world->range[2] = (struct emu_range){ (uintptr_t)to, sizeof(to), 1 };
	world->range_high = 2;
	memset(from, 'n', sizeof(from));
	memset(to, 'o', sizeof(to));
	world->membership->to_wake = 0;
	emu_section_event(world, &event);
}

static void teardown_fabric(void)
{
	emu_section_event_done(world);
	world->process = OWN;
	other->inbox = 0;
	other->left = 0;
	memset(fab->qp, 0, (PEER + 1) * sizeof(*fab->qp));
	fab->adapters[MINE].process = fab->adapters[THEIRS].process = 0;
	world->range_high = 0;
	ls->away = 0;
	lone_end_lockstep(world);
}

static void copy(uint64_t length)
{
	ck_assert_int_eq(emu_reach_copy(world, &target, &source, length), EMU_COPY_OK);
}

/* The receiver has its turn: this process plays it. */
static void receive(void)
{
	world->process = OTHER;
	emu_inbox_empty(world);
	world->process = OWN;
	ck_assert_uint_eq(other->inbox, 0);
	ck_assert_uint_eq(other->left, 0);
}

START_TEST(it_waits_and_wakes_no_thread)
{
	copy(LONGEST);
	ck_assert_uint_eq(to[0], 'o');
	ck_assert_uint_eq(other->left, 1);
	ck_assert_uint_eq(world->membership->to_wake, 0);
	ck_assert_int_eq(ls->thread[THREAD].state, EMU_THREAD_WAITING);
	receive();
	ck_assert_mem_eq(to, from, LONGEST);
	ck_assert_uint_eq(to[LONGEST], 'o');
}
END_TEST

/* Where a row holds, the payload goes straight to the receiver. */
enum straight {
	TOO_LONG,
	NO_SEND,
	NO_EVENT,
	NO_THREAD_OF_IT,
	ONE_IS_AWAY,
	ONE_TAKES_NO_TURNS,
	A_MESSAGE_BEFORE,
	MANY_BEFORE,
	STRAIGHTS
};

static void prepare(enum straight why)
{
	static const struct emu_upcall up = { .kind = EMU_UPCALL_CQ_NOTIFY };

	if (why == NO_SEND)
		first_request()->opcode = NIC_OP_WRITE;
	else if (why == NO_EVENT)
		fab->shared.section.running = false;
	else if (why == NO_THREAD_OF_IT)
		ls->thread[THREAD].process = THIRD;
	else if (why == ONE_IS_AWAY)
		ls->away = 1;
	else if (why == ONE_TAKES_NO_TURNS)
		ls->outside[OTHER] = 1;
	else if (why == A_MESSAGE_BEFORE)
		emu_inbox_tell(world, OTHER, &up);
	for (int i = 0; why == MANY_BEFORE && i < MOST; i++) {
		copy(1);
		ck_assert_uint_eq(other->left, i + 1);
		ck_assert_uint_eq(to[0], 'o');
	}
}

START_TEST(it_goes_straight_where_somebody_could_tell)
{
	uint64_t length = _i == TOO_LONG ? LONGEST + 1 : LONGEST;

	prepare((enum straight)_i);
	copy(length);
	ck_assert_mem_eq(to, from, length);
	ck_assert_uint_eq(other->left, 0);
	ls->outside[OTHER] = 0;
}
END_TEST

START_TEST(who_reads_the_memory_before_finds_it)
{
	uint8_t seen[4] = { 0 };

	copy(4);
	ck_assert_uint_eq(to[0], 'o');
	ck_assert(emu_reach_load(world, seen, &target, sizeof(seen)));
	ck_assert_mem_eq(seen, from, sizeof(seen));
	ck_assert_uint_eq(other->left, 0);
}
END_TEST

START_TEST(it_does_not_overwrite_what_comes_later)
{
	static const uint8_t later[4] = "more";

	copy(4);
	if (_i == 0) {
		ck_assert(emu_reach_store(world, &target, later, sizeof(later)));
	} else {
		memcpy(from, later, sizeof(later));
		copy(LONGEST + 1);
	}
	receive();
	ck_assert_mem_eq(to, later, sizeof(later));
}
END_TEST

START_TEST(several_are_placed_in_order)
{
	copy(4);
	from[1] = 'x';
	copy(2);
	receive();
	ck_assert_mem_eq(to, "nxnn", 4);
}
END_TEST

/* The memory of a process that this one cannot reach is left to it. */
START_TEST(what_cannot_be_placed_from_outside_waits_on)
{
	copy(4);
	world->membership->bounce = true;
	emu_inbox_place_left(world, OTHER);
	ck_assert_uint_eq(other->left, 1);
	ck_assert_uint_eq(to[0], 'o');
	receive();
	ck_assert_mem_eq(to, from, 4);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("left");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, it_waits_and_wakes_no_thread);
	tcase_add_loop_test(tcase, it_goes_straight_where_somebody_could_tell, 0, STRAIGHTS);
	tcase_add_test(tcase, who_reads_the_memory_before_finds_it);
	tcase_add_loop_test(tcase, it_does_not_overwrite_what_comes_later, 0, 2);
	tcase_add_test(tcase, several_are_placed_in_order);
	tcase_add_test(tcase, what_cannot_be_placed_from_outside_waits_on);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("payload that waits for a turn")
