/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives of an SRQ that its process posts without the fabric's lock (emu/shared/direct_owner.c).
 * One program is both processes; the SRQ is that of ends[1].
 */
#include <errno.h>

#include "emu/hostile/posted.h"
#include "emu/srq.h"
#include "tests/litmus/ends.h"

static int post(uint64_t wr_id, uint16_t segments)
{
	struct nic_sge sge[2] = { { (uintptr_t)ends[1].memory[0], 8, ends[1].mr->lkey } };
	const struct nic_recv_wr wr = { .wr_id = wr_id, .sge = sge, .num_sge = segments };

	return emu_direct_srq_post(ends[1].srq, &wr);
}

static int post_with_lock(uint64_t wr_id, uint16_t segments)
{
	int err;

	emu_backend.enter(ends[1].world, false);
	err = post(wr_id, segments);
	emu_backend.leave(ends[1].world);
	return err;
}

/* A message of ends[0] takes the Receive that is next. */
static void send_to(uint64_t wr_id)
{
	struct nic_sge sge = { (uintptr_t)ends[0].memory[0], 8, ends[0].mr->lkey };
	const struct nic_send_wr wr = { .sge = &sge,
					.length = 8,
					.opcode = NIC_OP_SEND,
					.flags = NIC_WR_SUPPRESS,
					.num_sge = 1 };
	struct nic_wc wc;

	ck_assert_int_eq(emu_direct_send(ends[0].qp, &wr), 0);
	ck_assert_int_eq(emu_direct_poll(ends[1].recv_cq, &wc, 1), 1);
	ck_assert_uint_eq(wc.wr_id, wr_id);
}

START_TEST(a_Receive_is_there_when_its_post_returns)
{
	ck_assert_int_eq(post(7, 1), 0);
	ck_assert_uint_eq(emu_srq_count(ends[1].srq), 1);
	ck_assert_int_eq(post_with_lock(8, 1), 0);
	ck_assert_uint_eq(emu_srq_count(ends[1].srq), 2);
	send_to(7);
	send_to(8);
	ck_assert_uint_eq(emu_srq_count(ends[1].srq), 0);
}
END_TEST

/* The numbers of its entries wrap meanwhile. */
START_TEST(as_many_Receives_are_taken_as_the_SRQ_was_made_for)
{
	for (uint64_t n = 0; n < DEPTH; n++)
		ck_assert_int_eq(post(n, 1), 0);
	for (uint64_t n = 0; n < 5 * DEPTH; n++) {
		ck_assert_int_eq(post(n + DEPTH, 1), -EAGAIN);
		ck_assert_int_eq(post_with_lock(n + DEPTH, 1), -EAGAIN);
		ck_assert_uint_eq(emu_srq_count(ends[1].srq), DEPTH);
		send_to(n);
		ck_assert_int_eq(post(n + DEPTH, 1), 0);
	}
}
END_TEST

/* The front makes the call again in full, which says what is wrong. */
START_TEST(a_Receive_of_too_many_segments_is_left_to_the_full_call)
{
	ck_assert_int_eq(post(1, 2), -EAGAIN);
	ck_assert_int_eq(post_with_lock(1, 2), -EINVAL);
	ck_assert_uint_eq(emu_srq_count(ends[1].srq), 0);
}
END_TEST

START_TEST(a_Receive_in_a_hostile_fabric_is_left_to_the_full_call)
{
	ends_worlds.world[1]->config.hostile = EMU_HOSTILE_POSTS;
	ck_assert_int_eq(post(1, 1), -EAGAIN);
	ends_worlds.world[1]->config.hostile = 0;
	ck_assert_uint_eq(emu_srq_count(ends[1].srq), 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("direct Receives");

	tcase_add_checked_fixture(tcase, ends_setup_srq, ends_teardown);
	tcase_add_test(tcase, a_Receive_is_there_when_its_post_returns);
	tcase_add_test(tcase, as_many_Receives_are_taken_as_the_SRQ_was_made_for);
	tcase_add_test(tcase, a_Receive_of_too_many_segments_is_left_to_the_full_call);
	tcase_add_test(tcase, a_Receive_in_a_hostile_fabric_is_left_to_the_full_call);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("Receives of an SRQ, without the lock")
