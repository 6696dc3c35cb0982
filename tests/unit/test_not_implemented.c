/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that are not built yet, exactly these: each answers DAT_NOT_IMPLEMENTED (ruling G5 gives
 * its value) to sound arguments and writes nothing. Where a call needs an object that nothing can make
 * yet, no handle of it can be sound (ruling G2: handles come first). The list shrinks to none.
 */
#include "tests/support/support.h"

static DAT_RMR_TRIPLET remote;
static DAT_LMR_TRIPLET local;
static DAT_HANDLE handle;
static DAT_CONN_QUAL qual;
static DAT_CR_HANDLE cr;
static DAT_EP_HANDLE other;

static void prepare(void)
{
	plain_pair();
	local = segment(&w.a, 0, 8);
	other = plain_ep(&w.a);
	cr = request(plain_ep(&w.b), &w.a, QUAL);
	handle = (DAT_HANDLE)&w;
	qual = 4711;
}

static void expect_nothing_written(void)
{
	ck_assert_ptr_eq(handle, &w);
	ck_assert_uint_eq(qual, 4711);
}

#define must_be_missing(call) must_fail((call), DAT_NOT_IMPLEMENTED, ANY_SUBTYPE)
#define must_lack(call, what) must_fail((call), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)

START_TEST(G5_remote_memory_regions)
{
	DAT_RMR_CONTEXT context = 5;
	DAT_RMR_PARAM param;

	prepare();
	must_be_missing(dat_rmr_create(w.a.pz, &handle));
	must_lack(dat_rmr_query(NO_HANDLE, DAT_RMR_FIELD_ALL, &param), RMR);
	must_lack(dat_rmr_bind(NO_HANDLE, &local, DAT_MEM_PRIV_ALL_FLAG, w.a.ep, cookie(0),
			       DAT_COMPLETION_DEFAULT_FLAG, &context),
		  RMR);
	must_lack(dat_rmr_free(NO_HANDLE), RMR);
	ck_assert_uint_eq(context, 5);
	expect_nothing_written();
}
END_TEST

START_TEST(G5_reserved_service_points)
{
	DAT_RSP_PARAM param;

	prepare();
	must_be_missing(dat_rsp_create(w.a.ia, QUAL + 1, other, w.a.cr, &handle));
	must_lack(dat_rsp_query(NO_HANDLE, DAT_RSP_FIELD_ALL, &param), RSP);
	must_lack(dat_rsp_free(NO_HANDLE), RSP);
	expect_state(other, DAT_EP_STATE_UNCONNECTED);
	expect_nothing_written();
}
END_TEST

START_TEST(G5_other_ways_to_connect)
{
	prepare();
	must_be_missing(dat_psp_create_any(w.a.ia, &qual, w.a.cr, DAT_PSP_CONSUMER_FLAG, &handle));
	must_be_missing(dat_cr_handoff(cr, QUAL + 1));
	must_be_missing(dat_ep_dup_connect(other, w.a.ep, 1000, 0, NULL, DAT_QOS_BEST_EFFORT));
	expect_state(other, DAT_EP_STATE_UNCONNECTED);
	must(dat_cr_accept(cr, other, 0, NULL));
	expect_nothing_written();
}
END_TEST

START_TEST(G5_RDMA)
{
	prepare();
	must_be_missing(dat_ep_post_rdma_read(w.a.ep, 1, &local, cookie(0), &remote,
					      DAT_COMPLETION_DEFAULT_FLAG));
	must_be_missing(dat_ep_post_rdma_write(w.a.ep, 1, &local, cookie(0), &remote,
					       DAT_COMPLETION_DEFAULT_FLAG));
	must_be_missing(dat_lmr_sync_rdma_read(w.a.ia, &local, 1));
	must_be_missing(dat_lmr_sync_rdma_write(w.a.ia, &local, 1));
	run_quiet();
	expect_no_event(w.a.request);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, G5_remote_memory_regions);
	unit_test(suite, G5_reserved_service_points);
	unit_test(suite, G5_other_ways_to_connect);
	unit_test(suite, G5_RDMA);
}

UNIT_SUITE("not_implemented")
