/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In lockstep, a short payload of a Send waits in the arena until its receiver has the turn. No
 * program can see that: neither the receiver, nor a process that has the turn before it, nor an
 * event that accesses the same memory. This process plays both ends.
 */
#include <fcntl.h>
#include <unistd.h>

#include "emu/fabric/arena.h"
#include "emu/guard.h"
#include "emu/payload/handed.h"
#include "emu/payload/reach.h"
#include "emu/shared/inbox.h"
#include "emu/shared/recover.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	QP = 1, /* of the receiver */
	PEER = 2,
	RECV_CQ = 3,
	LONGEST = 256,
	THREAD = 2,
	BYSTANDER = 3, /* a thread of THIRD */
	THIRD = 3,
};

static struct emu_world *world;
static struct emu_fabric *fab;
static struct emu_lockstep *ls;
static struct emu_process *other;
static const struct emu_event event = { .order = EMU_EV_DATA, .qp = QP };
/* The receiver's memory is this process's, reached as that of another one. */
static uint8_t from[2 * LONGEST], to[2 * LONGEST];
static const struct emu_place source = { .addr = (uintptr_t)from, .process = OWN };
static const struct emu_place target = { .addr = (uintptr_t)to, .process = OTHER };

static struct emu_swqe *first_request(void)
{
	return emu_wqe(world, &fab->qp[PEER].sq, 0);
}

static void connect_ends(void)
{
	fab->adapters[MINE].process = OWN;
	fab->adapters[THEIRS].process = OTHER;
	fab->qp[QP] = (struct emu_qp){ .head.live = 1,
				       .adapter = THEIRS,
				       .peer_adapter = MINE,
				       .recv_cq = RECV_CQ,
				       .peer = PEER };
	fab->qp[PEER] = (struct emu_qp){ .head.live = 1,
					 .adapter = MINE,
					 .peer_adapter = THEIRS,
					 .peer = QP };
	ck_assert_int_eq(emu_wq_init(world, &fab->qp[PEER].sq, 4, sizeof(struct emu_swqe)), 0);
	first_request()->opcode = NIC_OP_SEND;
}

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_begin_lockstep(config);
	emu_guard_begin();
	fab = world->fab;
	ls = &fab->shared.lockstep;
	other = emu_process(world, OTHER);
	lone_enter(world);
	lone_thread(world, THREAD, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	connect_ends();
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
	if (fab->shared.section.running)
		emu_section_event_done(world);
	world->process = OWN;
	emu_inbox_discard(world, OTHER);
	other->overrun = false;
	ls->handed.length = 0;
	memset(fab->qp, 0, (PEER + 1) * sizeof(*fab->qp));
	fab->adapters[MINE].process = fab->adapters[THEIRS].process = 0;
	world->range_high = 0;
	ls->away = ls->outside[OTHER] = 0;
	emu_guard_end();
	lone_end_lockstep(world);
}

static void copy(uint64_t length)
{
	ck_assert_int_eq(emu_reach_copy(world, &target, &source, length), EMU_COPY_OK);
}

/* The scheduler gives the turn to a thread of that process, in which a wait has ended. */
static void turn_to(uint32_t thread)
{
	ls->thread[thread].state = EMU_THREAD_READY;
	ls->thread[SELF].state = EMU_THREAD_WAITING;
	ls->thread[SELF].until = NIC_TIME_NEVER;
	ck_assert(emu_lockstep_pass(world));
	ck_assert_uint_eq(ls->turn, thread);
}

/* The receiver has its turn. */
static void receive(void)
{
	world->process = OTHER;
	emu_inbox_empty(world);
	world->process = OWN;
	ck_assert_uint_eq(other->inbox, 0);
	ck_assert(!emu_handed_waits(world));
}

START_TEST(it_goes_with_the_turn_and_wakes_no_thread)
{
	copy(LONGEST);
	ck_assert_uint_eq(to[0], 'o');
	ck_assert_uint_eq(world->membership->to_wake, 0);
	ck_assert_uint_eq(other->inbox, 0);
	ck_assert_int_eq(ls->thread[THREAD].state, EMU_THREAD_WAITING);
	turn_to(THREAD);
	ck_assert_uint_eq(to[0], 'o');
	receive();
	ck_assert_mem_eq(to, from, LONGEST);
	ck_assert_uint_eq(to[LONGEST], 'o');
}
END_TEST

START_TEST(a_ready_thread_of_the_receiver_will_do)
{
	ls->thread[THREAD].state = EMU_THREAD_READY;
	copy(1);
	ck_assert_uint_eq(to[0], 'o');
	receive();
	ck_assert_uint_eq(to[0], 'n');
	ck_assert_uint_eq(to[1], 'o');
}
END_TEST

/* Where a row holds, the payload goes straight to the receiver. */
enum straight {
	TOO_LONG,
	NO_SEND,
	UNANSWERED,
	ANOTHER_QP,
	NO_EVENT,
	NO_THREAD_OF_IT,
	ONE_IS_AWAY,
	ONE_TAKES_NO_TURNS,
	A_MESSAGE_BEFORE,
	WATCHED, /* what it is written to is recorded: emu/hostile/posted.h */
	NO_LOCKSTEP,
	STRAIGHTS
};

static void prepare(enum straight why)
{
	static const struct emu_upcall up = { .kind = EMU_UPCALL_CQ_NOTIFY };

	if (why == NO_SEND)
		first_request()->opcode = NIC_OP_WRITE;
	else if (why == UNANSWERED)
		fab->shared.section.event.order = EMU_EV_UNANSWERED;
	else if (why == ANOTHER_QP)
		fab->qp[QP].adapter = MINE;
	else if (why == NO_EVENT)
		emu_section_event_done(world);
	else if (why == NO_THREAD_OF_IT)
		ls->thread[THREAD].process = THIRD;
	else if (why == ONE_IS_AWAY)
		ls->away = 1;
	else if (why == ONE_TAKES_NO_TURNS)
		ls->outside[OTHER] = 1;
	else if (why == A_MESSAGE_BEFORE)
		emu_inbox_tell(world, OTHER, &up);
	else if (why == NO_LOCKSTEP)
		world->lockstep = false;
}

START_TEST(it_goes_straight_where_it_could_be_missed)
{
	uint64_t length = _i == TOO_LONG ? LONGEST + 1 : LONGEST;
	struct emu_place place = target;

	prepare((enum straight)_i);
	place.posted = _i == WATCHED;
	ck_assert_int_eq(emu_reach_copy(world, &place, &source, length), EMU_COPY_OK);
	world->lockstep = true;
	ck_assert_mem_eq(to, from, length);
	ck_assert(!emu_handed_waits(world));
}
END_TEST

START_TEST(it_is_placed_before_another_process_has_the_turn)
{
	lone_thread(world, BYSTANDER, THIRD, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	copy(4);
	ck_assert_uint_eq(to[0], 'o');
	turn_to(BYSTANDER);
	ck_assert_mem_eq(to, "nnnno", 5);
	ck_assert(!emu_handed_waits(world));
	ls->thread[BYSTANDER].state = EMU_THREAD_NONE;
}
END_TEST

START_TEST(only_the_receiver_takes_it)
{
	copy(4);
	emu_inbox_empty(world);
	ck_assert(emu_handed_waits(world));
	ck_assert_uint_eq(to[0], 'o');
	receive();
	ck_assert_mem_eq(to, "nnnno", 5);
}
END_TEST

START_TEST(it_is_placed_before_the_memory_is_read)
{
	uint8_t seen[4] = { 0 };

	copy(4);
	ck_assert_uint_eq(to[0], 'o');
	ck_assert(emu_reach_load(world, seen, &target, sizeof(seen)));
	ck_assert_mem_eq(seen, from, sizeof(seen));
	ck_assert(!emu_handed_waits(world));
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
		copy(_i == 1 ? LONGEST + 1 : sizeof(later));
	}
	receive();
	ck_assert_mem_eq(to, later, sizeof(later));
}
END_TEST

START_TEST(the_second_of_two_waits_and_the_first_is_placed)
{
	copy(4);
	from[1] = 'x';
	copy(2);
	ck_assert_mem_eq(to, "nnnn", 4);
	ck_assert_uint_eq(ls->handed.length, 2);
	receive();
	ck_assert_mem_eq(to, "nxnn", 4);
}
END_TEST

/* Its own helper runs the scheduler: it needs no access from outside. */
START_TEST(the_receiver_may_give_the_turn_to_another_process)
{
	lone_thread(world, BYSTANDER, THIRD, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	copy(4);
	world->membership->peer[OTHER].memory = 0;
	world->process = OTHER;
	emu_handed_follow(world, THIRD);
	world->process = OWN;
	ck_assert_mem_eq(to, "nnnno", 5);
	ls->thread[BYSTANDER].state = EMU_THREAD_NONE;
}
END_TEST

START_TEST(where_it_cannot_be_placed_from_outside_it_goes_to_the_inbox)
{
	copy(4);
	world->membership->peer[OTHER].memory = 0;
	emu_handed_place(world);
	ck_assert(!emu_handed_waits(world));
	ck_assert_uint_eq(to[0], 'o');
	ck_assert_uint_ne(other->inbox, 0);
	ck_assert_uint_ne(world->membership->to_wake & 1ul << (OTHER - 1), 0);
	receive();
	ck_assert_mem_eq(to, "nnnno", 5);
}
END_TEST

/* Recovery drops the messages of an event that it rolls back; this is of an earlier one. */
START_TEST(what_it_leaves_in_an_inbox_is_not_of_the_running_event)
{
	static const struct emu_event next = { .order = 5ul << 8 | EMU_EV_DATA, .qp = QP };
	const struct emu_message *message;

	copy(4);
	emu_section_event_done(world);
	emu_section_event(world, &next);
	world->membership->peer[OTHER].memory = 0;
	emu_handed_settle(world);
	message = emu_inbox_at(world, other->inbox);
	ck_assert_ptr_nonnull(message);
	ck_assert_uint_eq(message->during, 0);
	receive();
	ck_assert_mem_eq(to, "nnnno", 5);
}
END_TEST

/* A guest (`datsim fabric`) has no entry, and would leak the descriptor. */
START_TEST(a_guest_opens_no_memory)
{
	copy(4);
	world->process = 0;
	world->membership->peer[OTHER] = (struct emu_peer){ 0 };
	emu_handed_place(world);
	world->process = OWN;
	ck_assert(!world->membership->peer[OTHER].tried);
	receive();
	ck_assert_mem_eq(to, "nnnno", 5);
}
END_TEST

/* The program unmapped its buffer: the completion that says success is corrected, as elsewhere. */
START_TEST(a_payload_without_memory_fails_its_completion)
{
	struct emu_cq *cq = &fab->cq[RECV_CQ];
	struct emu_cqe *cqe;

	*cq = (struct emu_cq){ .head.live = 1, .adapter = THEIRS, .mask = 3 };
	cq->ring = emu_pool_alloc(world, 4 * sizeof(*cqe));
	cqe = emu_at(world, cq->ring);
	fab->trace_on = true;
	copy(4);
	*cqe = (struct emu_cqe){ .qp = QP, .opcode = NIC_OP_RECV, .length = 4 };
	cq->put = 1;
	ls->handed.addr = 8; /* of no mapping, but of a region */
	world->range[2] = (struct emu_range){ 8, 64, 1 };
	receive();
	ck_assert_int_eq(cqe->status, NIC_WC_LOCAL_PROTECTION);
	ck_assert_uint_eq(cqe->length, 0);
	ck_assert(lone_is_traced(world, "note lost: a Receive of "));
	fab->trace_on = false;
	emu_pool_free(fab, cq->ring, 4 * sizeof(*cqe));
	*cq = (struct emu_cq){ 0 };
}
END_TEST

START_TEST(a_source_that_is_gone_is_reported_as_before)
{
	struct emu_place gone = { .addr = 8, .process = OWN };

	world->range[1] = (struct emu_range){ 8, 64, 1 };
	ck_assert_int_eq(emu_reach_copy(world, &target, &gone, 4), EMU_COPY_BAD_SOURCE);
	ck_assert(!emu_handed_waits(world));
	ck_assert_uint_eq(to[0], 'o');
}
END_TEST

START_TEST(nothing_waits_for_a_process_that_has_left)
{
	copy(4);
	emu_handed_drop(world, THIRD);
	ck_assert(emu_handed_waits(world));
	emu_lockstep_drop_process(world, OTHER);
	ck_assert(!emu_handed_waits(world));
	ck_assert_uint_eq(to[0], 'o');
}
END_TEST

/* What another process may have written there. */
static const struct emu_handed garbage[] = {
	{ .length = LONGEST + 1, .process = OTHER, .addr = (uintptr_t)to },
	{ .length = UINT32_MAX, .process = OTHER, .addr = (uintptr_t)to },
	{ .length = 4, .process = 0, .addr = (uintptr_t)to },
	{ .length = 4, .process = UINT16_MAX, .addr = (uintptr_t)to },
	{ .length = 4, .process = OTHER, .addr = (uintptr_t)to + sizeof(to) - 1 },
	{ .length = 4, .process = OTHER, .addr = 0 },
	{ .length = 4, .process = OTHER, .addr = UINT64_MAX - 1 },
};

START_TEST(garbage_is_not_placed)
{
	ls->handed = garbage[_i];
	world->process = OTHER;
	emu_handed_settle(world);
	world->process = OWN;
	ck_assert(!emu_handed_waits(world));
	for (size_t i = 0; i < sizeof(to); i++)
		ck_assert_uint_eq(to[i], 'o');
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		ck_assert_uint_eq(emu_process(world, i)->inbox, 0);
		ck_assert(!emu_process(world, i)->overrun);
	}
	ck_assert_uint_eq(emu_process(world, 0)->inbox, 0);
	ck_assert(!emu_process(world, 0)->overrun);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("handed");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, it_goes_with_the_turn_and_wakes_no_thread);
	tcase_add_test(tcase, a_ready_thread_of_the_receiver_will_do);
	tcase_add_loop_test(tcase, it_goes_straight_where_it_could_be_missed, 0, STRAIGHTS);
	tcase_add_test(tcase, it_is_placed_before_another_process_has_the_turn);
	tcase_add_test(tcase, only_the_receiver_takes_it);
	tcase_add_test(tcase, it_is_placed_before_the_memory_is_read);
	tcase_add_loop_test(tcase, it_does_not_overwrite_what_comes_later, 0, 3);
	tcase_add_test(tcase, the_second_of_two_waits_and_the_first_is_placed);
	tcase_add_test(tcase, the_receiver_may_give_the_turn_to_another_process);
	tcase_add_test(tcase, where_it_cannot_be_placed_from_outside_it_goes_to_the_inbox);
	tcase_add_test(tcase, what_it_leaves_in_an_inbox_is_not_of_the_running_event);
	tcase_add_test(tcase, a_guest_opens_no_memory);
	tcase_add_test(tcase, a_payload_without_memory_fails_its_completion);
	tcase_add_test(tcase, a_source_that_is_gone_is_reported_as_before);
	tcase_add_test(tcase, nothing_waits_for_a_process_that_has_left);
	tcase_add_loop_test(tcase, garbage_is_not_placed, 0,
			    (int)(sizeof(garbage) / sizeof(garbage[0])));
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("payload that goes with the turn")
