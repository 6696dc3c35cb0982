/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_lmr_sync_rdma_read and _write: rulings G2, G3; "page_": the pages. */
#include "tests/support/support.h"

typedef DAT_RETURN (*sync_func)(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n);

static const sync_func calls[] = { dat_lmr_sync_rdma_read, dat_lmr_sync_rdma_write };

static DAT_LMR_CONTEXT second_context(int privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.a.ia, &pz));
	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, 100, pz,
			    (DAT_MEM_PRIV_FLAGS)privileges, &lmr, &context, NULL, NULL, NULL));
	return context;
}

START_TEST(page_segments_of_several_LMRs_and_zones)
{
	DAT_LMR_TRIPLET iov[3] = { segment(&w.a, 0, SLOTS * SLOT_SIZE), segment(&w.a, 3, 1),
				   segment(&w.a, 0, 100) };

	iov[1].lmr_context = w.a.context;
	iov[2].lmr_context = second_context(DAT_MEM_PRIV_NONE_FLAG);
	must(calls[_i](w.a.ia, iov, 3));
	must(calls[_i](w.a.ia, iov, 0));
	must(calls[_i](w.a.ia, NULL, 0));
}
END_TEST

START_TEST(page_a_range_outside_its_LMR_is_an_invalid_parameter)
{
	DAT_LMR_TRIPLET good = segment(&w.a, 0, SLOTS * SLOT_SIZE), bad[6], iov[2];
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		bad[i] = good;
	bad[0].segment_length++;
	bad[1].virtual_address++;
	bad[2].virtual_address--;
	bad[3].segment_length = UINT64_MAX;
	bad[4].virtual_address = UINT64_MAX;
	bad[4].segment_length = 2;
	bad[5].virtual_address += SLOTS * SLOT_SIZE + 1;
	bad[5].segment_length = 0;
	for (i = 0; i < COUNT(bad); i++) {
		must_fail(calls[_i](w.a.ia, &bad[i], 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		iov[0] = good;
		iov[1] = bad[i];
		must_fail(calls[_i](w.a.ia, iov, 2), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		must(calls[_i](w.a.ia, iov, 1));
	}
	good.virtual_address += good.segment_length; /* no byte, at the end of the region */
	good.segment_length = 0;
	must(calls[_i](w.a.ia, &good, 1));
}
END_TEST

START_TEST(page_what_is_no_LMR_is_an_invalid_parameter)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, 8), zero;
	DAT_LMR_CONTEXT bad[] = { 0, 1, UINT32_MAX, w.a.context + 1, w.a.context ^ 0x100 };
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		iov.lmr_context = bad[i];
		must_fail(calls[_i](w.a.ia, &iov, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	memset(&zero, 0, sizeof(zero));
	must_fail(calls[_i](w.a.ia, &zero, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	/* The library trusts the number of segments, but stops at the first invalid segment. */
	must_fail(calls[_i](w.a.ia, &zero, UINT64_MAX), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(calls[_i](w.a.ia, NULL, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	iov.lmr_context = w.a.context;
	must(dat_lmr_free(w.a.lmr));
	must_fail(calls[_i](w.a.ia, &iov, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}
END_TEST

START_TEST(page_an_LMR_of_another_opening_is_not_this_ones)
{
	static char emu0[] = "emu0";
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, 8);
	DAT_IA_HANDLE ia;

	must(dat_ia_open(emu0, 8, &async, &ia));
	must_fail(calls[_i](ia, &iov, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	must_fail(calls[_i](ia, &iov, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	must_fail(calls[_i](w.a.pz, &iov, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	must_fail(calls[_i](NO_HANDLE, NULL, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
}
END_TEST

START_TEST(page_the_provider_needs_no_synchronisation)
{
	DAT_PROVIDER_ATTR attr;

	must(dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_LMR_SYNC_REQ, &attr));
	ck_assert_int_eq(attr.lmr_sync_req, DAT_FALSE);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, page_segments_of_several_LMRs_and_zones, COUNT(calls));
	unit_test_loop(suite, page_a_range_outside_its_LMR_is_an_invalid_parameter, COUNT(calls));
	unit_test_loop(suite, page_what_is_no_LMR_is_an_invalid_parameter, COUNT(calls));
	unit_test_loop(suite, page_an_LMR_of_another_opening_is_not_this_ones, COUNT(calls));
	unit_test(suite, page_the_provider_needs_no_synchronisation);
}

UNIT_SUITE("lmr_sync")
