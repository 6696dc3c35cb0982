/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of emu_cq.in_event (emu/shared/direct.h): a process polls a CQ without the lock,
 * while events of another one add completions to it that are rolled back (emu/shared/recover.c).
 * It gets none of those, and the one that stays.
 *
 * Under ThreadSanitizer it fails if in_event is cleared without release or read without acquire;
 * in any build if it is cleared before put has its old value again, which takes two processors to
 * see. The fence that sets in_event before put grows is nothing on x86, where no test can miss it.
 * That the two are read at once is for an owner that loses its processor between two loads: the
 * model "rollback" of orders.cc finds that.
 */
#include "emu/cq.h"
#include "emu/shared/recover.h"
#include "tests/litmus/ends.h"

enum {
	ROUNDS = 3000,
	BAD = 1, /* wr_id of a completion that is rolled back */
	GOOD,
};

static struct {
	unsigned int bad, good;
	bool ready, end;
} seen;

static void *poll_all(void *arg)
{
	struct end *end = arg;
	struct nic_wc wc;

	litmus_set(&seen.ready);
	while (!litmus_is_set(&seen.end) || !seen.good) {
		if (emu_direct_poll(end->recv_cq, &wc, 1) == 0)
			continue;
		seen.bad += wc.wr_id != GOOD;
		seen.good += wc.wr_id == GOOD;
	}
	return NULL;
}

/* An event of which nothing is queued, and which is not run again. */
static void begin_event(struct emu_world *world, uint32_t qp, uint64_t wr_id)
{
	const struct emu_event event = { .order = EMU_NO_EVENT, .qp = qp };

	emu_section_event(world, &event);
	emu_cq_push(world, emu_qp_at(world, qp)->recv_cq, qp, wr_id, 0, NIC_OP_RECV, NIC_WC_SUCCESS,
		    0);
}

static void roll_back_one(struct emu_world *world, uint32_t qp)
{
	emu_shared_take(world);
	begin_event(world, qp, BAD);
	emu_recover(world);
	emu_shared_release(world);
}

static void complete_one(struct emu_world *world, uint32_t qp)
{
	emu_shared_take(world);
	begin_event(world, qp, GOOD);
	emu_section_event_done(world);
	emu_shared_release(world);
}

START_TEST(what_is_rolled_back_was_never_polled)
{
	struct emu_world *world = ends_worlds.world[0];
	uint32_t qp = emu_qp_index(world, emu_local_qp(ends[1].qp)->entry);
	pthread_t owner;

	memset(&seen, 0, sizeof(seen));
	owner = litmus_start(poll_all, &ends[1]);
	while (!litmus_is_set(&seen.ready))
		sched_yield();
	for (int i = 0; i < litmus_rounds(ROUNDS); i++)
		roll_back_one(world, qp);
	complete_one(world, qp);
	litmus_set(&seen.end);
	litmus_join(owner);
	ck_assert_uint_eq(seen.bad, 0);
	ck_assert_uint_eq(seen.good, 1);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("rollback");

	tcase_add_checked_fixture(tcase, ends_setup, ends_teardown);
	tcase_add_test(tcase, what_is_rolled_back_was_never_polled);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("memory order of events that are rolled back")
