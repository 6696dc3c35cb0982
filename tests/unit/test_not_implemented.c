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

static void prepare(void)
{
	plain_pair();
	local = segment(&w.a, 0, 8);
	handle = (DAT_HANDLE)&w;
}

static void expect_nothing_written(void)
{
	ck_assert_ptr_eq(handle, &w);
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

START_TEST(G5_RDMA)
{
	prepare();
	must_be_missing(dat_ep_post_rdma_read(w.a.ep, 1, &local, cookie(0), &remote,
					      DAT_COMPLETION_DEFAULT_FLAG));
	must_be_missing(dat_ep_post_rdma_write(w.a.ep, 1, &local, cookie(0), &remote,
					       DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_no_event(w.a.request);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, G5_remote_memory_regions);
	unit_test(suite, G5_RDMA);
}

UNIT_SUITE("not_implemented")
