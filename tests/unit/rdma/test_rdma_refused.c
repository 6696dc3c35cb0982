/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA that the peer's NIC refuses (key, zone, access, bounds), and local memory that was freed.
 * The request completes with its cause, both ends break, no byte is moved. "digest_": summary of PZ
 * protection.
 */
#include "tests/support/support.h"

/* _i: Read or Write */
enum {
	READ,
	WRITE,
	BOTH
};

static DAT_RETURN post(int kind, int n, DAT_RMR_TRIPLET to)
{
	return kind == READ ? try_read(&w.a, w.a.ep, n, to, 0) : try_write(&w.a, w.a.ep, n, to, 0);
}

static void expect_refused(DAT_DTO_COMPLETION_STATUS status, int n)
{
	DAT_EVENT event = expect_dto(w.a.request, w.a.ep, n, status);

	ck_assert_uint_eq(event.event_data.dto_completion_event_data.transfered_length, 0);
	expect_no_event(w.a.request);
	expect_no_event(w.b.request);
	expect_pair_broken();
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}

/* A region of w.b over slot 3, its context as a remote triplet */
static DAT_LMR_HANDLE region(int privileges, DAT_PZ_HANDLE pz, DAT_RMR_TRIPLET *to)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.b, 3) };
	DAT_LMR_HANDLE lmr;

	*to = remote(&w.b, 3, LONG);
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, pz,
			    (DAT_MEM_PRIV_FLAGS)privileges, &lmr, NULL, &to->rmr_context, NULL,
			    NULL));
	return lmr;
}

static void check_refused(int kind, DAT_RMR_TRIPLET to)
{
	fill_slot(&w.a, 1, 1);
	must(post(kind, 1, to));
	run_quiet();
	expect_refused(DAT_DTO_ERR_REMOTE_ACCESS, 1);
	ck_assert(slot_holds(&w.a, 1, 1, LONG));
	ck_assert_int_eq(slot(&w.b, 3)[0], 0);
}

START_TEST(digest_a_context_that_names_nothing_is_refused)
{
	static const DAT_RMR_CONTEXT bad[] = { 0,          1,          0xff,
					       0xffffffff, 0x80000000, 0x01000000,
					       0x02000001, 0x03000000, 0x02ffff00 };
	DAT_RMR_TRIPLET to = remote(&w.b, 3, LONG);
	int n = _i / BOTH;

	rdma_pair(4, 4);
	to.rmr_context = n < (int)COUNT(bad) ? bad[n] : w.b.rmr_context ^ (1u << (n % 32));
	check_refused(_i % BOTH, to);
}
END_TEST

/* A context of the requester's own adapter means nothing to the responder's. */
START_TEST(digest_a_context_of_another_adapter_is_refused)
{
	DAT_RMR_TRIPLET to = remote(&w.b, 3, LONG);

	rdma_pair(4, 4);
	to.rmr_context = w.a.rmr_context;
	to.target_address = (DAT_VADDR)(uintptr_t)slot(&w.a, 3);
	check_refused(_i, to);
}
END_TEST

START_TEST(digest_a_region_of_another_zone_is_refused)
{
	DAT_RMR_TRIPLET to;
	DAT_PZ_HANDLE pz;

	rdma_pair(4, 4);
	must(dat_pz_create(w.b.ia, &pz));
	region(DAT_MEM_PRIV_ALL_FLAG, pz, &to);
	check_refused(_i, to);
}
END_TEST

START_TEST(digest_a_region_without_the_privilege_is_refused)
{
	int wrong = _i == READ ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
	DAT_RMR_TRIPLET to;

	rdma_pair(4, 4);
	region(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG | wrong, w.b.pz, &to);
	check_refused(_i, to);
}
END_TEST

START_TEST(digest_a_region_with_the_privilege_is_enough)
{
	int right = _i == READ ? DAT_MEM_PRIV_REMOTE_READ_FLAG : DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	DAT_RMR_TRIPLET to;

	rdma_pair(4, 4);
	region(right, w.b.pz, &to);
	must(post(_i, 1, to));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(digest_what_lies_outside_the_region_is_refused)
{
	DAT_RMR_TRIPLET inside, to;
	DAT_VADDR base;
	const DAT_VADDR starts[] = { (DAT_VADDR)-1, 1, SLOT_SIZE, SLOT_SIZE - 1, 0 };
	int n = _i / BOTH;

	rdma_pair(4, 4);
	region(DAT_MEM_PRIV_ALL_FLAG, w.b.pz, &inside);
	base = inside.target_address;
	to = inside;
	to.target_address = n < (int)COUNT(starts) - 1 ? base + starts[n] : UINT64_MAX - 10;
	check_refused(_i % BOTH, to);
}
END_TEST

START_TEST(digest_the_last_byte_of_a_region_is_inside)
{
	DAT_RMR_TRIPLET to;

	rdma_pair(4, 4);
	region(DAT_MEM_PRIV_ALL_FLAG, w.b.pz, &to);
	to.target_address += SLOT_SIZE - 1;
	to.segment_length = 1;
	must(post(_i, 1, to));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(page_a_freed_region_hit_remotely_breaks_both_ends)
{
	DAT_LMR_HANDLE lmr;
	DAT_RMR_TRIPLET to;

	rdma_pair(4, 4);
	lmr = region(DAT_MEM_PRIV_ALL_FLAG, w.b.pz, &to);
	must(dat_lmr_free(lmr));
	check_refused(_i, to);
}
END_TEST

START_TEST(page_a_region_freed_half_way_breaks_both_ends)
{
	DAT_LMR_HANDLE lmr;
	DAT_RMR_TRIPLET to;

	rdma_pair(4, 4);
	lmr = region(DAT_MEM_PRIV_ALL_FLAG, w.b.pz, &to);
	if (_i == READ)
		must(dat_sim_hold_link(w.sim, "emu1", "emu0", 1));
	else
		must(dat_sim_hold_message(w.a.ep, 1, 1));
	fill_slot(&w.a, 1, 1);
	must(post(_i, 1, to));
	run_quiet();
	must(dat_lmr_free(lmr));
	memset(slot(&w.b, 3), 0, SLOT_SIZE);
	if (_i == READ)
		release_link("emu1", "emu0");
	else
		must(dat_sim_release_message(w.a.ep, 1));
	run_quiet();
	expect_refused(DAT_DTO_ERR_REMOTE_ACCESS, 1);
	ck_assert_int_eq(slot(&w.b, 3)[MTU], 0);
}
END_TEST

START_TEST(A3_a_local_region_freed_after_the_post_is_a_local_protection_error)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.a, 9) };
	DAT_LMR_TRIPLET iov = segment(&w.a, 9, LONG);
	DAT_RMR_TRIPLET to = remote(&w.b, 3, LONG);
	DAT_LMR_HANDLE lmr;

	rdma_pair(4, 4);
	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, w.a.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &iov.lmr_context, NULL, NULL, NULL));
	memset(slot(&w.a, 9), 3, SLOT_SIZE);
	memset(slot(&w.b, 3), _i == READ ? 4 : 0, SLOT_SIZE);
	if (_i == READ)
		must(dat_ep_post_rdma_read(w.a.ep, 1, &iov, cookie(1), &to,
					   DAT_COMPLETION_DEFAULT_FLAG));
	else
		must(dat_ep_post_rdma_write(w.a.ep, 1, &iov, cookie(1), &to,
					    DAT_COMPLETION_DEFAULT_FLAG));
	must(dat_lmr_free(lmr));
	run_quiet();
	expect_refused(DAT_DTO_ERR_LOCAL_PROTECTION, 1);
	ck_assert_int_eq(slot(&w.a, 9)[0], 3);
	ck_assert_int_eq(slot(&w.b, 3)[0], _i == READ ? 4 : 0);
}
END_TEST

/* ---- neighbouring requests ---- */

START_TEST(what_came_before_a_refusal_succeeds_and_what_comes_after_is_flushed)
{
	DAT_RMR_TRIPLET bad = remote(&w.b, 3, LONG);

	rdma_pair(4, 4);
	bad.rmr_context ^= 0xff;
	fill_slot(&w.a, 0, 7);
	fill_slot(&w.b, 21, 8);
	post_recv(&w.b, w.b.ep, 40);
	post_recv(&w.b, w.b.ep, 41);
	post_send(&w.a, w.a.ep, 10, SHORT);
	post_write(&w.a, w.a.ep, 0, remote(&w.b, 20, SHORT));
	post_read(&w.a, w.a.ep, 11, remote(&w.b, 21, LONG));
	must(post(_i, 1, bad));
	post_read(&w.a, w.a.ep, 12, remote(&w.b, 21, LONG));
	post_send(&w.a, w.a.ep, 13, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 10, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 11, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_dto(w.a.request, w.a.ep, 12, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.request, w.a.ep, 13, DAT_DTO_ERR_FLUSHED);
	expect_no_event(w.a.request);
	expect_pair_broken();
	expect_dto(w.b.recv, w.b.ep, 40, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 41, DAT_DTO_ERR_FLUSHED);
	ck_assert(slot_holds(&w.b, 20, 7, SHORT));
	ck_assert(slot_holds(&w.a, 11, 8, LONG));
}
END_TEST

START_TEST(a_refusal_that_overtakes_an_answer_waits_for_it)
{
	DAT_RMR_TRIPLET bad = remote(&w.b, 3, LONG);

	rdma_pair(4, 4);
	bad.rmr_context ^= 0xff;
	fill_slot(&w.b, 21, 8);
	must(dat_sim_set_link(w.sim, "emu1", "emu0", LATENCY_NS, 1000000));
	post_read(&w.a, w.a.ep, 11, remote(&w.b, 21, LONG));
	must(post(_i, 1, bad));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 11, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 11, 8, LONG));
	expect_refused(DAT_DTO_ERR_REMOTE_ACCESS, 1);
}
END_TEST

/*
 * On iwarp a Write may overtake. A Read behind what it overtook will have no answer, and one before
 * that has.
 */
START_TEST(a_refusal_waits_for_no_answer_behind_what_it_overtook)
{
	DAT_RMR_TRIPLET bad = remote(&w.b, 3, SHORT);

	rdma_pair(4, 4);
	bad.rmr_context ^= 0xff;
	fill_slot(&w.b, 21, 8);
	must(dat_sim_set_link(w.sim, "emu1", "emu0", LATENCY_NS, 1000000));
	must(dat_sim_hold_message(w.a.ep, _i ? 2 : 1, 0));
	if (_i)
		post_read(&w.a, w.a.ep, 11, remote(&w.b, 21, LONG));
	post_send(&w.a, w.a.ep, 12, SHORT);
	post_read(&w.a, w.a.ep, 13, remote(&w.b, 21, LONG));
	post_write(&w.a, w.a.ep, 1, bad);
	run_quiet();
	if (_i)
		expect_dto(w.a.request, w.a.ep, 11, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 12, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.request, w.a.ep, 13, DAT_DTO_ERR_FLUSHED);
	expect_refused(DAT_DTO_ERR_REMOTE_ACCESS, 1);
}
END_TEST

START_TEST(a_failure_is_told_even_if_success_would_not_be)
{
	DAT_RMR_TRIPLET bad = remote(&w.b, 3, SHORT);

	rdma_pair(4, 4);
	bad.rmr_context ^= 0xff;
	if (_i == READ)
		must(try_read(&w.a, w.a.ep, 1, bad, DAT_COMPLETION_SUPPRESS_FLAG));
	else
		must(try_write(&w.a, w.a.ep, 1, bad, DAT_COMPLETION_SUPPRESS_FLAG));
	run_quiet();
	expect_refused(DAT_DTO_ERR_REMOTE_ACCESS, 1);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, digest_a_context_that_names_nothing_is_refused, BOTH * (9 + 32));
	unit_test_loop(suite, digest_a_context_of_another_adapter_is_refused, BOTH);
	unit_test_loop(suite, digest_a_region_of_another_zone_is_refused, BOTH);
	unit_test_loop(suite, digest_a_region_without_the_privilege_is_refused, BOTH);
	unit_test_loop(suite, digest_a_region_with_the_privilege_is_enough, BOTH);
	unit_test_loop(suite, digest_what_lies_outside_the_region_is_refused, BOTH * 5);
	unit_test_loop(suite, digest_the_last_byte_of_a_region_is_inside, BOTH);
	unit_test_loop_all(suite, page_a_freed_region_hit_remotely_breaks_both_ends, BOTH);
	unit_test_loop_all(suite, page_a_region_freed_half_way_breaks_both_ends, BOTH);
	unit_test_loop_all(
		suite, A3_a_local_region_freed_after_the_post_is_a_local_protection_error, BOTH);
	unit_test_loop_all(
		suite, what_came_before_a_refusal_succeeds_and_what_comes_after_is_flushed, BOTH);
	unit_test_loop_all(suite, a_refusal_that_overtakes_an_answer_waits_for_it, BOTH);
	unit_add(suite, a_refusal_waits_for_no_answer_behind_what_it_overtook, 2,
		 setup_sides_iwarp);
	unit_test_loop_all(suite, a_failure_is_told_even_if_success_would_not_be, BOTH);
}

UNIT_SUITE("rdma_refused")
