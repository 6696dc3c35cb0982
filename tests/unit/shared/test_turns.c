/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: which thread gets the turn, and when. The test's own thread is one of the table; the
 * others are entries that no thread stands behind, of this process or of a second one.
 */
#include <stdlib.h>
#include <unistd.h>

#include "emu/fabric/queue.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	FIRST = 2,
	SECOND = 3,
	THIRD = 4,
	CQ = 1,
	LATER_NS = 5000,
};

static struct emu_world *world;
static struct emu_lockstep *ls;

/* ---- the fabric ---- */

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_begin_lockstep(config);
	ls = &world->fab->shared.lockstep;
}

static void teardown_fabric(void)
{
	lone_end_lockstep(world);
}

static void add_thread(uint32_t i, uint16_t process, enum emu_thread_state state, uint64_t until)
{
	lone_thread(world, i, process, state, until);
}

static struct emu_thread *enter(void)
{
	return lone_enter(world);
}

/* ---- the next thread, and the next time ---- */

START_TEST(the_turn_goes_to_each_ready_thread_now_and_then)
{
	unsigned int turns[THIRD + 1] = { 0 };

	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	add_thread(SECOND, OWN, EMU_THREAD_READY, 0);
	add_thread(THIRD, OTHER, EMU_THREAD_READY, 0);
	for (int i = 0; i < 100; i++) {
		ls->calls = 7;
		ck_assert(emu_lockstep_pass(world));
		ck_assert_uint_le(ls->turn, THIRD);
		ck_assert_uint_eq(ls->calls, 0);
		/* Known before the release: later, the next holder may have given it away. */
		ck_assert_uint_eq(emu_lockstep_given(world), ls->turn);
		ck_assert_uint_eq(emu_lockstep_given(world), 0);
		turns[ls->turn]++;
	}
	ck_assert_uint_eq(turns[0] + turns[SELF], 0);
	for (uint32_t i = FIRST; i <= THIRD; i++)
		ck_assert_uint_gt(turns[i], 0);
	ck_assert_uint_eq(world->fab->now, 0);
}
END_TEST

/* Two entries of the same rank are garbage. The choice has to end nevertheless. */
START_TEST(threads_of_the_same_rank_do_not_keep_the_turn_from_others)
{
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	add_thread(SECOND, OTHER, EMU_THREAD_READY, 0);
	ls->thread[SECOND].number = FIRST;
	for (int i = 0; i < 20; i++) {
		ck_assert(emu_lockstep_pass(world));
		ck_assert_uint_eq(ls->turn, FIRST);
	}
}
END_TEST

START_TEST(time_goes_on_to_the_earliest_deadline)
{
	static const uint64_t until[][2] = { { 3000, 1000 }, { 1000, 3000 }, { 1000, 1000 } };

	add_thread(FIRST, OTHER, EMU_THREAD_WAITING, until[_i][0]);
	add_thread(SECOND, OTHER, EMU_THREAD_WAITING, until[_i][1]);
	ck_assert(emu_lockstep_pass(world));
	ck_assert_uint_eq(world->fab->now, 1000);
	for (uint32_t i = FIRST; i <= SECOND; i++)
		ck_assert_int_eq(ls->thread[i].state, until[_i][i - FIRST] == 1000
							      ? EMU_THREAD_READY
							      : EMU_THREAD_WAITING);
	ck_assert_int_eq(ls->thread[ls->turn].state, EMU_THREAD_READY);
}
END_TEST

START_TEST(no_time_passes_while_it_is_held)
{
	add_thread(FIRST, OTHER, EMU_THREAD_WAITING, 1000);
	emu_lockstep_hold(world, true);
	ck_assert(emu_lockstep_held(ls));
	ck_assert(emu_lockstep_pass(world));
	ck_assert_uint_eq(ls->turn, 0);
	ck_assert_uint_eq(world->fab->now, 0);
	emu_lockstep_hold(world, false);
	ck_assert_uint_eq(ls->turn, FIRST);
	ck_assert(!emu_lockstep_held(ls));
}
END_TEST

/* A thread of this process waits without a deadline and knows it. A row adds a reason to go on. */
enum hope {
	NO_HOPE,
	AN_EVENT,
	TIME_IS_HELD,
	A_READY_THREAD,
	A_DEADLINE,
	AN_OUTSIDER,
	A_PROCESS_WITHOUT_THREADS,
	ONE_THAT_IS_NOT_TOLD,
	HOPES
};

static void give_hope(enum hope hope)
{
	switch (hope) {
	case AN_EVENT:
		emu_schedule(world, LATER_NS, EMU_EV_ACK, 0, 0, 0, 0);
		break;
	case TIME_IS_HELD:
		ls->held = emu_lockstep_held_by(getpid());
		break;
	case A_READY_THREAD:
		add_thread(SECOND, OTHER, EMU_THREAD_READY, NIC_TIME_NEVER);
		break;
	case A_DEADLINE:
		add_thread(SECOND, OTHER, EMU_THREAD_WAITING, LATER_NS);
		break;
	case AN_OUTSIDER:
		ls->outside[OWN] = 1;
		break;
	case A_PROCESS_WITHOUT_THREADS:
		emu_process(world, OTHER)->used = true;
		break;
	case ONE_THAT_IS_NOT_TOLD:
		ls->thread[FIRST].told = EMU_TOLD_NOT;
		break;
	default:
		break;
	}
}

START_TEST(all_are_stuck_when_nothing_is_left_to_happen)
{
	emu_process(world, OTHER)->used = false;
	add_thread(FIRST, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	ls->thread[FIRST].told = EMU_TOLD;
	give_hope((enum hope)_i);
	ck_assert_int_eq(emu_lockstep_stuck(world), _i == NO_HOPE);
	ls->held = 0;
}
END_TEST

START_TEST(each_waiting_thread_is_told_that_its_wait_is_hopeless)
{
	emu_process(world, OTHER)->used = false;
	add_thread(FIRST, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	add_thread(SECOND, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	ck_assert(!emu_lockstep_stuck(world));
	for (uint32_t i = FIRST; i <= SECOND; i++) {
		ck_assert(emu_lockstep_pass(world));
		ck_assert_uint_eq(ls->turn, i);
		ck_assert_int_eq(ls->thread[i].told, EMU_TOLD_NOW);
		ck_assert_int_eq(ls->thread[i].state, EMU_THREAD_READY);
		ls->thread[i].told = EMU_TOLD;
		ls->thread[i].state = EMU_THREAD_WAITING;
	}
	ck_assert(emu_lockstep_stuck(world));
	ck_assert(emu_lockstep_pass(world));
	ck_assert_uint_eq(ls->turn, 0);
}
END_TEST

START_TEST(an_inbox_is_left_to_a_thread_of_its_process)
{
	uint64_t both = 1ul << (OWN - 1) | 1ul << (OTHER - 1);

	add_thread(SECOND, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	add_thread(THIRD, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	ck_assert_uint_eq(emu_lockstep_ready_owners(world, both), 1ul << (OWN - 1));
	ck_assert_int_eq(ls->thread[SECOND].state, EMU_THREAD_READY);
	ck_assert_int_eq(ls->thread[THIRD].state, EMU_THREAD_WAITING);
	ck_assert_uint_eq(ls->turn, SECOND);
	/* The ready one will do. */
	ck_assert_uint_eq(emu_lockstep_ready_owners(world, both), 1ul << (OWN - 1));
	ck_assert_int_eq(ls->thread[THIRD].state, EMU_THREAD_WAITING);
}
END_TEST

START_TEST(a_wake_makes_the_threads_of_this_process_ready)
{
	add_thread(FIRST, OWN, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	add_thread(SECOND, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	add_thread(THIRD, OWN, EMU_THREAD_AWAY, NIC_TIME_NEVER);
	emu_lockstep_wake(world);
	ck_assert_int_eq(ls->thread[FIRST].state, EMU_THREAD_READY);
	ck_assert_int_eq(ls->thread[SECOND].state, EMU_THREAD_WAITING);
	ck_assert_int_eq(ls->thread[THIRD].state, EMU_THREAD_AWAY);
}
END_TEST

/* ---- the calling thread ---- */

START_TEST(garbage_in_the_arena_does_not_change_what_a_thread_does)
{
	struct emu_thread *t;

	world->fab->now = LATER_NS;
	t = enter();
	world->fab->now = EMU_TIME_MOST;
	t->state = EMU_THREAD_WAITING;
	t->told = EMU_TOLD;
	ls->high = 0;
	ck_assert_ptr_eq(enter(), t);
	ck_assert_uint_eq(world->fab->now, LATER_NS);
	ck_assert_int_eq(t->state, EMU_THREAD_READY);
	ck_assert_int_eq(t->told, EMU_TOLD_NOT);
	ck_assert_uint_eq(ls->high, SELF);
	t->state = EMU_THREAD_AWAY + 1;
	enter();
	ck_assert_int_eq(t->state, EMU_THREAD_READY);
}
END_TEST

static unsigned int sleeps;

/* Another process has taken the thread's place in the table. */
static enum nic_wait lose_place(void *ctx, uint64_t until)
{
	(void)ctx;
	(void)until;
	ck_assert_uint_eq(sleeps++, 0);
	add_thread(SELF, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	ls->thread[SELF].told = EMU_TOLD_NOW;
	return NIC_WAIT_RAN;
}

static enum nic_wait get_turn(void *ctx, uint64_t until)
{
	(void)ctx;
	(void)until;
	ck_assert_uint_eq(sleeps++, 0);
	ls->thread[FIRST].state = EMU_THREAD_NONE;
	ls->thread[SELF].state = EMU_THREAD_READY;
	ls->turn = SELF;
	return NIC_WAIT_RAN;
}

/* What another process may write meanwhile is written again by the thread's next call. */
static enum nic_wait restore_wait(void *ctx, uint64_t until)
{
	struct emu_thread *t = &ls->thread[SELF];

	(void)ctx;
	(void)until;
	ck_assert_uint_eq(sleeps++, 0);
	t->until = NIC_TIME_NEVER;
	t->cq = 0;
	t->cq_put = 77;
	ck_assert(!emu_lockstep_enter(world, false));
	world->membership->awaiting = 0;
	ck_assert_uint_eq(t->until, LATER_NS);
	ck_assert_uint_eq(t->cq, CQ);
	ck_assert_uint_eq(t->cq_put, 0);
	ck_assert_int_eq(t->state, EMU_THREAD_WAITING);
	/* A completion that came in between ends the wait. */
	world->fab->cq[CQ].put = 1;
	ck_assert(!emu_lockstep_enter(world, false));
	world->membership->awaiting = 0;
	ck_assert_int_eq(t->state, EMU_THREAD_READY);
	ls->thread[FIRST].state = EMU_THREAD_NONE;
	ls->turn = SELF;
	return NIC_WAIT_RAN;
}

static struct nic *nic_that(enum nic_wait (*sleep)(void *ctx, uint64_t until))
{
	static struct nic_upcalls calls;
	static struct nic nic = { .up = &calls };

	calls.sleep = sleep;
	sleeps = 0;
	return &nic;
}

START_TEST(a_wait_ends_when_the_thread_has_lost_its_place)
{
	enter();
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	ck_assert_int_eq(emu_lockstep_wait(world, nic_that(lose_place), 0, LATER_NS), NIC_WAIT_RAN);
	ck_assert_uint_eq(sleeps, 1);
	ck_assert_int_eq(ls->thread[SELF].told, EMU_TOLD_NOW);
}
END_TEST

START_TEST(a_wait_lasts_until_its_deadline)
{
	enter();
	ck_assert_int_eq(emu_lockstep_wait(world, nic_that(lose_place), 0, LATER_NS),
			 NIC_WAIT_DEADLINE);
	ck_assert_uint_eq(sleeps, 0);
	ck_assert_uint_eq(world->fab->now, LATER_NS);
	ck_assert_int_eq(emu_lockstep_wait(world, nic_that(lose_place), 0, LATER_NS),
			 NIC_WAIT_DEADLINE);
	ck_assert_uint_eq(sleeps, 0);
}
END_TEST

START_TEST(a_wait_ends_with_a_completion_or_with_the_turn)
{
	enter();
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	ck_assert_int_eq(emu_lockstep_wait(world, nic_that(get_turn), CQ, LATER_NS), NIC_WAIT_RAN);
	ck_assert_uint_eq(sleeps, 1);
	ck_assert_uint_eq(ls->thread[SELF].cq, 0);
}
END_TEST

START_TEST(garbage_in_the_arena_does_not_change_what_a_thread_waits_for)
{
	enter();
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	ck_assert_int_eq(emu_lockstep_wait(world, nic_that(restore_wait), CQ, LATER_NS),
			 NIC_WAIT_RAN);
	ck_assert_uint_eq(sleeps, 1);
	world->fab->cq[CQ].put = 0;
}
END_TEST

START_TEST(a_hopeless_wait_says_so_once)
{
	struct nic *nic = nic_that(lose_place);

	emu_process(world, OTHER)->used = false;
	enter();
	ck_assert_int_eq(emu_lockstep_wait(world, nic, 0, NIC_TIME_NEVER), NIC_WAIT_HOPELESS);
	ck_assert_int_eq(ls->thread[SELF].told, EMU_TOLD);
	ck_assert_int_eq(ls->thread[SELF].state, EMU_THREAD_READY);
}
END_TEST

START_TEST(a_poll_that_finds_nothing_waits_for_a_quantum)
{
	enter();
	ck_assert(emu_lockstep_settle(world));
	ck_assert_uint_eq(world->fab->now, 0);
	emu_lockstep_poll(world);
	ck_assert(emu_lockstep_settle(world) || emu_lockstep_enter(world, false));
	ck_assert_uint_eq(world->fab->now, world->config.poll_quantum_ns);
	ck_assert(emu_lockstep_settle(world));
	ck_assert_uint_eq(world->fab->now, world->config.poll_quantum_ns);
}
END_TEST

/* After many calls another ready thread may get the turn, which is then no longer the caller's. */
/* It need not take the lock to learn who has the turn; once it has slept, it does again. */
START_TEST(a_thread_that_gave_up_the_turn_sleeps_without_asking)
{
	struct emu_thread *self = enter();

	ck_assert(!emu_lockstep_gave(world));
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	emu_lockstep_poll(world);
	ck_assert(!emu_lockstep_settle(world));
	ck_assert_uint_eq(ls->turn, FIRST);
	ck_assert(emu_lockstep_gave(world));
	ck_assert_uint_eq(world->membership->awaiting, 1);
	ck_assert(!emu_lockstep_gave(world));
	ck_assert_uint_eq(world->membership->awaiting, 1);
	world->membership->awaiting = 0;
	self->state = EMU_THREAD_READY;
}
END_TEST

START_TEST(a_thread_that_got_its_turn_back_does_not_sleep)
{
	enter();
	emu_lockstep_poll(world);
	ck_assert(emu_lockstep_settle(world));
	ck_assert_uint_eq(ls->turn, SELF);
	ck_assert(!emu_lockstep_gave(world));
	ck_assert_uint_eq(world->membership->awaiting, 0);
}
END_TEST

START_TEST(a_turn_of_many_calls_ends)
{
	unsigned int lost = 0;

	enter();
	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	for (int i = 0; i < 100000 && !lost; i++) {
		bool settled = emu_lockstep_settle(world);

		ck_assert_int_eq(settled, ls->turn == SELF);
		lost += !settled;
		ck_assert_msg(!lost || i >= 999, "after %d calls", i);
	}
	ck_assert_uint_eq(lost, 1);
	ck_assert_uint_eq(ls->turn, FIRST);
}
END_TEST

/* All places but the last are taken, or all. */
START_TEST(a_thread_takes_the_last_place_and_no_other_threads)
{
	for (uint32_t i = 1; i <= EMU_THREADS - (uint32_t)(_i == 0); i++)
		add_thread(i, OTHER, EMU_THREAD_WAITING, NIC_TIME_NEVER);
	if (_i == 0)
		ls->turn = 1;
	ck_assert_int_eq(emu_lockstep_enter(world, false), _i > 0);
	world->membership->awaiting = 0;
	ck_assert_uint_eq(emu_lockstep_self(world), _i > 0 ? 0 : EMU_THREADS);
	ck_assert_int_eq(ls->thread[EMU_THREADS].process, _i > 0 ? OTHER : OWN);
	memset(ls->thread, 0, sizeof(ls->thread));
}
END_TEST

/* What the thread waits for: a CQ, of the last number for one, or an event of its adapter. */
static const struct {
	uint32_t cq, cq_put; /* put is 3: a completion has come, or not */
	bool attention, wakes;
} concerns[] = {
	{ CQ, 3, false, false },     { CQ, 2, false, true },       { CQ, 3, true, true },
	{ EMU_CQS, 2, false, true }, { EMU_CQS, 3, false, false }, { EMU_CQS + 1, 2, false, false },
	{ 0, 2, false, false },
};

START_TEST(an_event_wakes_no_thread_that_it_does_not_concern)
{
	static const struct nic_upcalls calls;
	bool wakes = concerns[_i].wakes;
	uint16_t high = world->nic_high;

	world->fab->adapters[2] = (struct emu_adapter){ .open = true, .process = OWN };
	world->fab->adapters[1] = (struct emu_adapter){ .open = true, .process = OTHER };
	world->nic_high = 2; /* the last adapter counts, too */
	world->nics[2].base.up = &calls;
	world->nics[1].base.attention = true; /* of an adapter that this process has closed */
	world->fab->cq[0].put = world->fab->cq[CQ].put = world->fab->cq[EMU_CQS].put = 3;
	add_thread(FIRST, OWN, EMU_THREAD_WAITING, 3000);
	add_thread(SECOND, OTHER, EMU_THREAD_WAITING, 1000);
	ls->thread[FIRST].cq = concerns[_i].cq;
	ls->thread[FIRST].cq_put = concerns[_i].cq_put;
	world->nics[2].base.attention = concerns[_i].attention;
	emu_schedule(world, 500, EMU_EV_ACK, 0, 7, 0, 0);
	ck_assert(emu_lockstep_pass(world));
	ck_assert_uint_eq(world->fab->now, wakes ? 500 : 1000);
	ck_assert_uint_eq(ls->turn, wakes ? FIRST : SECOND);
	world->nics[2].base.up = NULL;
	world->nics[1].base.attention = world->nics[2].base.attention = false;
	world->nic_high = high;
	world->fab->adapters[1] = world->fab->adapters[2] = (struct emu_adapter){ .open = false };
	world->fab->cq[0].put = world->fab->cq[CQ].put = world->fab->cq[EMU_CQS].put = 0;
}
END_TEST

START_TEST(a_thread_that_ends_with_the_turn_leaves_it_to_the_helper)
{
	struct emu_thread *t = enter();

	emu_lockstep_exit(world);
	ck_assert_int_eq(t->state, EMU_THREAD_ENDING);
	ck_assert_uint_eq(ls->turn, SELF);
	ck_assert_uint_eq(emu_lockstep_self(world), 0);
	/* A later destructor calls again. */
	ck_assert_ptr_eq(enter(), t);
	ck_assert_int_eq(t->state, EMU_THREAD_READY);
}
END_TEST

START_TEST(a_thread_that_ends_without_the_turn_leaves_the_table)
{
	struct emu_thread *t = enter();

	add_thread(FIRST, OTHER, EMU_THREAD_READY, 0);
	ls->turn = FIRST;
	t->state = EMU_THREAD_AWAY;
	ls->away = 1;
	emu_lockstep_exit(world);
	ck_assert_int_eq(t->state, EMU_THREAD_NONE);
	ck_assert_uint_eq(ls->away, 0);
	ck_assert_uint_eq(ls->turn, FIRST);
	emu_lockstep_exit(world);
	ck_assert_uint_eq(ls->away, 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("turns");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, the_turn_goes_to_each_ready_thread_now_and_then);
	tcase_add_test(tcase, threads_of_the_same_rank_do_not_keep_the_turn_from_others);
	tcase_add_loop_test(tcase, time_goes_on_to_the_earliest_deadline, 0, 3);
	tcase_add_test(tcase, no_time_passes_while_it_is_held);
	tcase_add_loop_test(tcase, all_are_stuck_when_nothing_is_left_to_happen, 0, HOPES);
	tcase_add_test(tcase, each_waiting_thread_is_told_that_its_wait_is_hopeless);
	tcase_add_test(tcase, an_inbox_is_left_to_a_thread_of_its_process);
	tcase_add_test(tcase, a_wake_makes_the_threads_of_this_process_ready);
	tcase_add_test(tcase, garbage_in_the_arena_does_not_change_what_a_thread_does);
	tcase_add_test(tcase, a_wait_ends_when_the_thread_has_lost_its_place);
	tcase_add_test(tcase, a_wait_lasts_until_its_deadline);
	tcase_add_test(tcase, a_wait_ends_with_a_completion_or_with_the_turn);
	tcase_add_test(tcase, garbage_in_the_arena_does_not_change_what_a_thread_waits_for);
	tcase_add_test(tcase, a_hopeless_wait_says_so_once);
	tcase_add_test(tcase, a_thread_that_gave_up_the_turn_sleeps_without_asking);
	tcase_add_test(tcase, a_thread_that_got_its_turn_back_does_not_sleep);
	tcase_add_test(tcase, a_turn_of_many_calls_ends);
	tcase_add_loop_test(tcase, a_thread_takes_the_last_place_and_no_other_threads, 0, 2);
	tcase_add_loop_test(tcase, an_event_wakes_no_thread_that_it_does_not_concern, 0,
			    (int)COUNT(concerns));
	tcase_add_test(tcase, a_poll_that_finds_nothing_waits_for_a_quantum);
	tcase_add_test(tcase, a_thread_that_ends_with_the_turn_leaves_it_to_the_helper);
	tcase_add_test(tcase, a_thread_that_ends_without_the_turn_leaves_the_table);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("turns in lockstep")
