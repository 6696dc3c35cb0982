/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Effects of a bind: when the new context becomes valid and the old one invalid, which requests
 * wait for it, how it can fail, and which accesses the peer gets. "page_", "digest_": dat_rmr_bind.
 */
#include "tests/support/support.h"

#define REMOTE_READ  DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE DAT_MEM_PRIV_REMOTE_WRITE_FLAG
#define REMOTE_BOTH  (REMOTE_READ | REMOTE_WRITE)

static DAT_RMR_HANDLE rmr;

/* w.b binds, w.a accesses the window. */
static void prepare(void)
{
	rdma_pair(4, 4);
	rmr = make_rmr(&w.b);
}

static DAT_RMR_CONTEXT bound(int n, DAT_VLEN length, int privileges)
{
	DAT_RMR_CONTEXT context = post_bind(rmr, &w.b, w.b.ep, n, length, privileges);

	run_quiet();
	expect_bind(w.b.request, rmr, n, DAT_DTO_SUCCESS);
	return context;
}

static DAT_RMR_TRIPLET by(DAT_RMR_CONTEXT context, int n, DAT_VLEN length)
{
	DAT_RMR_TRIPLET to = remote(&w.b, n, length);

	to.rmr_context = context;
	return to;
}

static DAT_RMR_PARAM query(void)
{
	DAT_RMR_PARAM param;

	must(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	return param;
}

static void must_work(DAT_RMR_TRIPLET to)
{
	post_write(&w.a, w.a.ep, 40, to);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 40, DAT_DTO_SUCCESS);
}

static void must_be_refused(DAT_RMR_TRIPLET to)
{
	post_write(&w.a, w.a.ep, 40, to);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 40, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_pair_broken();
}

START_TEST(page_the_peer_reads_and_writes_what_is_bound)
{
	DAT_RMR_CONTEXT context;

	prepare();
	fill_slot(&w.a, 1, 1);
	context = bound(5, LONG, REMOTE_BOTH);
	post_write(&w.a, w.a.ep, 1, by(context, 5, LONG));
	post_read(&w.a, w.a.ep, 2, by(context, 5, LONG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.b, 5, 1, LONG));
	ck_assert(slot_holds(&w.a, 2, 1, LONG));
}
END_TEST

START_TEST(page_a_query_shows_what_is_bound)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;

	prepare();
	context = bound(5, SHORT, REMOTE_WRITE);
	param = query();
	ck_assert_uint_eq(param.rmr_context, context);
	ck_assert_uint_eq(param.lmr_triplet.lmr_context, w.b.context);
	ck_assert_uint_eq(param.lmr_triplet.virtual_address, (DAT_VADDR)(uintptr_t)slot(&w.b, 5));
	ck_assert_uint_eq(param.lmr_triplet.segment_length, SHORT);
	ck_assert_int_eq((int)param.mem_priv, REMOTE_WRITE);
	bound(5, 0, REMOTE_WRITE);
	ck_assert_uint_eq(query().rmr_context, 0);
}
END_TEST

/* _i: before, behind, across the end, the whole region */
START_TEST(digest_nothing_but_the_range_is_open)
{
	static const int start[] = { -1, SHORT, 1, -SLOT_SIZE };
	DAT_RMR_TRIPLET to;

	prepare();
	to = by(bound(5, SHORT, REMOTE_BOTH), 5, _i == 3 ? 3 * SLOT_SIZE : SHORT);
	must_work(by(to.rmr_context, 5, SHORT));
	to.target_address += (DAT_VADDR)start[_i];
	must_be_refused(to);
}
END_TEST

START_TEST(digest_only_what_was_bound_is_allowed)
{
	DAT_RMR_CONTEXT context;

	prepare();
	context = bound(5, SHORT, _i ? REMOTE_READ : DAT_MEM_PRIV_NONE_FLAG);
	if (_i) {
		post_read(&w.a, w.a.ep, 1, by(context, 5, SHORT));
		run_quiet();
		expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	}
	must_be_refused(by(context, 5, SHORT));
}
END_TEST

/* The region itself grants the peer no access: only the RMR does. */
START_TEST(digest_a_region_without_remote_privileges_can_be_bound)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.b, 7) };
	DAT_LMR_TRIPLET range = segment(&w.b, 7, SHORT);
	DAT_RMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	prepare();
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, w.b.pz,
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr, &range.lmr_context, NULL, NULL,
			    NULL));
	must(dat_rmr_bind(rmr, &range, REMOTE_WRITE, w.b.ep, cookie(7), DAT_COMPLETION_DEFAULT_FLAG,
			  &context));
	run_quiet();
	must_work(by(context, 7, SHORT));
}
END_TEST

/* ---- old and new contexts ---- */

START_TEST(page_the_old_context_is_dead_after_the_completion)
{
	DAT_RMR_CONTEXT old, new;

	prepare();
	old = bound(5, SHORT, REMOTE_BOTH);
	new = bound(6, SHORT, REMOTE_BOTH);
	ck_assert_uint_ne(old, new);
	must_work(by(new, 6, SHORT));
	must_be_refused(by(old, 5, SHORT));
}
END_TEST

/* The bind waits for a Send that cannot arrive; until it completes nothing changes. */
START_TEST(page_until_the_completion_the_old_context_works_and_the_new_one_does_not)
{
	DAT_RMR_CONTEXT old, new;

	prepare();
	old = bound(5, SHORT, REMOTE_BOTH);
	must(dat_sim_hold_message(w.b.ep, 2, 0));
	post_recv(&w.a, w.a.ep, 50);
	post_send(&w.b, w.b.ep, 9, SHORT);
	new = post_bind(rmr, &w.b, w.b.ep, 6, SHORT, REMOTE_BOTH);
	ck_assert_uint_eq(query().rmr_context, old);
	must_work(by(old, 5, SHORT));
	expect_no_event(w.b.request);
	if (_i) {
		must_be_refused(by(new, 6, SHORT));
		return;
	}
	release_message(w.b.ep, 2);
	expect_dto(w.b.request, w.b.ep, 9, DAT_DTO_SUCCESS);
	expect_bind(w.b.request, rmr, 6, DAT_DTO_SUCCESS);
	must_work(by(new, 6, SHORT));
	must_be_refused(by(old, 5, SHORT));
}
END_TEST

START_TEST(page_a_length_of_0_unbinds)
{
	DAT_RMR_CONTEXT context;

	prepare();
	context = bound(5, SHORT, REMOTE_BOTH);
	bound(5, 0, DAT_MEM_PRIV_NONE_FLAG);
	must_be_refused(by(context, 5, SHORT));
}
END_TEST

START_TEST(page_an_unbound_RMR_can_be_unbound)
{
	prepare();
	bound(5, 0, DAT_MEM_PRIV_NONE_FLAG);
	must_work(by(bound(5, SHORT, REMOTE_BOTH), 5, SHORT));
}
END_TEST

START_TEST(page_freeing_a_bound_RMR_unbinds)
{
	DAT_RMR_CONTEXT context;

	prepare();
	context = bound(5, SHORT, REMOTE_BOTH);
	must(dat_rmr_free(rmr));
	must_be_refused(by(context, 5, SHORT));
}
END_TEST

START_TEST(page_a_context_dies_half_way_through_a_Write)
{
	DAT_RMR_CONTEXT context;

	prepare();
	context = bound(5, LONG, REMOTE_BOTH);
	must(dat_sim_hold_message(w.a.ep, 1, 1));
	fill_slot(&w.a, 1, 1);
	post_write(&w.a, w.a.ep, 1, by(context, 5, LONG));
	run_quiet();
	must(dat_rmr_free(rmr));
	release_message(w.a.ep, 1);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_pair_broken();
	ck_assert(slot_holds(&w.b, 5, 1, MTU));
	ck_assert_int_eq(slot(&w.b, 5)[MTU], 0);
}
END_TEST

START_TEST(page_NULL_for_the_context_is_fine)
{
	prepare();
	must(try_bind(rmr, &w.b, w.b.ep, 5, SHORT, REMOTE_BOTH, NULL));
	run_quiet();
	expect_bind(w.b.request, rmr, 5, DAT_DTO_SUCCESS);
	must_work(by(query().rmr_context, 5, SHORT));
}
END_TEST

/* ---- the region of a window ---- */

START_TEST(page_a_region_with_a_bound_RMR_cannot_be_freed)
{
	DAT_RMR_HANDLE second;

	prepare();
	second = make_rmr(&w.b);
	bound(5, SHORT, REMOTE_BOTH);
	post_bind(second, &w.b, w.b.ep, 6, SHORT, REMOTE_BOTH);
	must_fail(dat_lmr_free(w.b.lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
}
END_TEST

START_TEST(page_a_region_is_free_again_after_unbind_or_rmr_free)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.b, 7) };
	DAT_LMR_TRIPLET range = segment(&w.b, 7, SHORT);
	DAT_LMR_HANDLE lmr;

	prepare();
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, w.b.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &range.lmr_context, NULL, NULL, NULL));
	must(dat_rmr_bind(rmr, &range, REMOTE_WRITE, w.b.ep, cookie(7), DAT_COMPLETION_DEFAULT_FLAG,
			  NULL));
	run_quiet();
	must_fail(dat_lmr_free(lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	expect_bind(w.b.request, rmr, 7, DAT_DTO_SUCCESS);
	if (_i == 0)
		bound(5, 0, DAT_MEM_PRIV_NONE_FLAG);
	else if (_i == 1)
		bound(5, SHORT, REMOTE_BOTH); /* to another region */
	else
		must(dat_rmr_free(rmr));
	must(dat_lmr_free(lmr));
}
END_TEST

/* ---- failures after the return ---- */

START_TEST(page_a_bind_that_fails_later_breaks_the_connection)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.b, 7) };
	DAT_LMR_TRIPLET range = segment(&w.b, 7, SHORT);
	DAT_LMR_HANDLE lmr;

	prepare();
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, w.b.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &range.lmr_context, NULL, NULL, NULL));
	post_recv(&w.a, w.a.ep, 50);
	post_send(&w.b, w.b.ep, 1, SHORT);
	must(dat_rmr_bind(rmr, &range, REMOTE_WRITE, w.b.ep, cookie(7),
			  DAT_COMPLETION_SUPPRESS_FLAG, NULL));
	post_send(&w.b, w.b.ep, 2, SHORT);
	if (_i == 0)
		must(dat_lmr_free(lmr)); /* the region is not bound yet */
	else
		must(dat_rmr_free(rmr));
	run_quiet();
	expect_dto(w.b.request, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_bind(w.b.request, rmr, 7, DAT_RMR_OPERATION_FAILED);
	expect_dto(w.b.request, w.b.ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_pair_broken();
}
END_TEST

/* A new RMR may get the window number of a freed one; a queued bind must not bind the new RMR. */
START_TEST(a_bind_of_a_freed_RMR_does_not_bind_the_next_one)
{
	DAT_RMR_HANDLE freed;

	prepare();
	freed = rmr;
	post_recv(&w.a, w.a.ep, 50);
	post_send(&w.b, w.b.ep, 1, SHORT);
	post_bind(freed, &w.b, w.b.ep, 7, SHORT, REMOTE_WRITE);
	must(dat_rmr_free(freed));
	rmr = make_rmr(&w.b);
	run_quiet();
	expect_dto(w.b.request, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_bind(w.b.request, freed, 7, DAT_RMR_OPERATION_FAILED);
	ck_assert_uint_eq(query().rmr_context, 0);
}
END_TEST

START_TEST(digest_a_flushed_bind_changes_nothing)
{
	DAT_RMR_CONTEXT old;

	prepare();
	old = bound(5, SHORT, REMOTE_BOTH);
	post_send(&w.b, w.b.ep, 1, SHORT);
	post_bind(rmr, &w.b, w.b.ep, 6, SHORT, REMOTE_BOTH);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_dto(w.b.request, w.b.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_bind(w.b.request, rmr, 6, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(query().rmr_context, old);
}
END_TEST

/* ---- ordering between binds and other requests ---- */

START_TEST(page_what_is_posted_behind_a_bind_starts_after_it)
{
	DAT_RMR_CONTEXT context;

	prepare();
	fill_slot(&w.b, 9, 2);
	post_recvs(&w.a, w.a.ep, 50, 2);
	must(dat_sim_hold_message(w.b.ep, 1, 0));
	post_send(&w.b, w.b.ep, 1, SHORT);
	context = post_bind(rmr, &w.b, w.b.ep, 5, SHORT, REMOTE_BOTH);
	post_send(&w.b, w.b.ep, 2, SHORT);
	post_write(&w.b, w.b.ep, 9, remote(&w.a, 9, SHORT));
	run_quiet();
	expect_no_event(w.a.recv);
	ck_assert_int_eq(slot(&w.a, 9)[1], 0);
	release_message(w.b.ep, 1);
	expect_dto(w.b.request, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_bind(w.b.request, rmr, 5, DAT_DTO_SUCCESS);
	expect_dto(w.b.request, w.b.ep, 2, DAT_DTO_SUCCESS);
	expect_dto(w.b.request, w.b.ep, 9, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 9, 2, SHORT));
	/* The message that tells the peer of the context came after the context became valid. */
	must_work(by(context, 5, SHORT));
}
END_TEST

START_TEST(page_a_bind_on_an_idle_queue_completes_at_once)
{
	DAT_UINT64 start;

	prepare();
	start = now_ns();
	post_bind(rmr, &w.b, w.b.ep, 5, SHORT, REMOTE_BOTH);
	expect_bind(w.b.request, rmr, 5, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(now_ns(), start);
}
END_TEST

START_TEST(page_a_suppressed_bind_works_without_an_event)
{
	DAT_LMR_TRIPLET range = segment(&w.b, 5, SHORT);
	DAT_RMR_CONTEXT context;

	prepare();
	must(dat_rmr_bind(rmr, &range, REMOTE_BOTH, w.b.ep, cookie(5), DAT_COMPLETION_SUPPRESS_FLAG,
			  &context));
	run_quiet();
	expect_no_event(w.b.request);
	must_work(by(context, 5, SHORT));
}
END_TEST

START_TEST(page_an_RMR_is_bound_over_two_Endpoints)
{
	DAT_EP_HANDLE x, y;
	DAT_RMR_CONTEXT first, second;

	prepare();
	x = plain_ep(&w.b);
	y = plain_ep(&w.a);
	connect_eps(&w.a, y, &w.b, x);
	first = post_bind(rmr, &w.b, w.b.ep, 5, SHORT, REMOTE_BOTH);
	second = post_bind(rmr, &w.b, x, 6, SHORT, REMOTE_BOTH);
	run_quiet();
	ck_assert_uint_eq(query().rmr_context, second);
	must_work(by(second, 6, SHORT)); /* through any EP of the zone */
	must_be_refused(by(first, 5, SHORT));
}
END_TEST

/* ---- events ---- */

START_TEST(Q4_no_bind_completion_surfaces_after_a_reset)
{
	prepare();
	post_bind(rmr, &w.b, w.b.ep, 5, SHORT, REMOTE_BOTH);
	post_bind(rmr, &w.b, w.b.ep, 6, SHORT, REMOTE_BOTH);
	disconnect_pair();
	must(dat_ep_reset(w.b.ep));
	expect_no_event(w.b.request);
	must(dat_ep_free(w.b.ep));
	ck_assert_uint_ne(query().rmr_context, 0);
}
END_TEST

START_TEST(E9_a_bind_that_finds_its_EVD_full_overflows_it)
{
	DAT_EVD_HANDLE evd = make_evd(&w.b, 1, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);

	w.a.ep = plain_ep(&w.a);
	must(dat_ep_create(w.b.ia, w.b.pz, w.b.recv, evd, w.b.connect, NULL, &w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	rmr = make_rmr(&w.b);
	post_bind(rmr, &w.b, w.b.ep, 1, SHORT, REMOTE_BOTH);
	post_bind(rmr, &w.b, w.b.ep, 2, SHORT, REMOTE_BOTH);
	run_quiet();
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd, DAT_EVD_OVERFLOW_ERROR);
	expect_bind(evd, rmr, 1, DAT_DTO_SUCCESS);
	expect_pair_broken();
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_the_peer_reads_and_writes_what_is_bound);
	unit_test_all(suite, page_a_query_shows_what_is_bound);
	unit_test_loop(suite, digest_nothing_but_the_range_is_open, 4);
	unit_test_loop(suite, digest_only_what_was_bound_is_allowed, 2);
	unit_test(suite, digest_a_region_without_remote_privileges_can_be_bound);
	unit_test_all(suite, page_the_old_context_is_dead_after_the_completion);
	unit_test_loop_all(
		suite, page_until_the_completion_the_old_context_works_and_the_new_one_does_not, 2);
	unit_test_all(suite, page_a_length_of_0_unbinds);
	unit_test(suite, page_an_unbound_RMR_can_be_unbound);
	unit_test_all(suite, page_freeing_a_bound_RMR_unbinds);
	unit_test_all(suite, page_a_context_dies_half_way_through_a_Write);
	unit_test(suite, page_NULL_for_the_context_is_fine);
	unit_test_all(suite, page_a_region_with_a_bound_RMR_cannot_be_freed);
	unit_test_loop_all(suite, page_a_region_is_free_again_after_unbind_or_rmr_free, 3);
	unit_test_loop_all(suite, page_a_bind_that_fails_later_breaks_the_connection, 2);
	unit_test_all(suite, a_bind_of_a_freed_RMR_does_not_bind_the_next_one);
	unit_test_all(suite, digest_a_flushed_bind_changes_nothing);
	unit_test_all(suite, page_what_is_posted_behind_a_bind_starts_after_it);
	unit_test_all(suite, page_a_bind_on_an_idle_queue_completes_at_once);
	unit_test_all(suite, page_a_suppressed_bind_works_without_an_event);
	unit_test_all(suite, page_an_RMR_is_bound_over_two_Endpoints);
	unit_test_all(suite, Q4_no_bind_completion_surfaces_after_a_reset);
	unit_test_all(suite, E9_a_bind_that_finds_its_EVD_full_overflows_it);
}

UNIT_SUITE("rmr_bind")
