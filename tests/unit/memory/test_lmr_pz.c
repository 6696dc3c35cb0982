/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions and Protection Zones: rulings A3, A4, G10, E6; "page_": the pages. */
#include "tests/support/support.h"

struct registration {
	DAT_RETURN ret;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN length;
	DAT_VADDR address;
};

static struct registration reg(int type, void *address, DAT_VLEN length, int privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = address };
	struct registration r;

	memset(&r, 0xee, sizeof(r));
	r.ret = dat_lmr_create(w.a.ia, (DAT_MEM_TYPE)type, region, length, w.a.pz,
			       (DAT_MEM_PRIV_FLAGS)privileges, &r.lmr, &r.lmr_context,
			       &r.rmr_context, &r.length, &r.address);
	return r;
}

static void expect_nothing_written(const struct registration *r)
{
	struct registration poison;

	memset(&poison, 0xee, sizeof(poison));
	ck_assert_mem_eq(&r->lmr, &poison.lmr, sizeof(r->lmr));
	ck_assert_uint_eq(r->lmr_context, poison.lmr_context);
	ck_assert_uint_eq(r->rmr_context, poison.rmr_context);
	ck_assert_uint_eq(r->length, poison.length);
	ck_assert_uint_eq(r->address, poison.address);
}

/* ---- regions ---- */

START_TEST(page_a_region_covers_what_was_asked_for)
{
	DAT_VADDR asked = (DAT_VADDR)(uintptr_t)slot(&w.a, 1);
	struct registration r =
		reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 1), 1000, DAT_MEM_PRIV_ALL_FLAG);

	must(r.ret);
	ck_assert_uint_le(r.address, asked);
	ck_assert_uint_ge(r.address + r.length, asked + 1000);
}
END_TEST

START_TEST(page_a_query_tells_what_was_registered)
{
	struct registration r =
		reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 1), 1000, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_PARAM param;

	memset(&param, 0xee, sizeof(param));
	must(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.a.ia);
	ck_assert_int_eq(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	ck_assert_ptr_eq(param.region_desc.for_va, slot(&w.a, 1));
	ck_assert_uint_eq(param.length, 1000);
	ck_assert_ptr_eq(param.pz_handle, w.a.pz);
	ck_assert_int_eq(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	ck_assert_uint_eq(param.lmr_context, r.lmr_context);
	ck_assert_uint_eq(param.rmr_context, r.rmr_context);
	ck_assert_uint_eq(param.registered_size, r.length);
	ck_assert_uint_eq(param.registered_address, r.address);
}
END_TEST

START_TEST(page_without_a_remote_privilege_the_remote_context_is_0)
{
	struct registration r = reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 1), 1000,
				    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

	must(r.ret);
	ck_assert_uint_eq(r.rmr_context, 0);
	r = reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 1), 1000, DAT_MEM_PRIV_ALL_FLAG);
	ck_assert_uint_ne(r.rmr_context, 0);
}
END_TEST

START_TEST(page_overlapping_regions_have_contexts_of_their_own)
{
	struct registration first, second;

	first = reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 1), 1000, DAT_MEM_PRIV_ALL_FLAG);
	second = reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 1), 1000, DAT_MEM_PRIV_ALL_FLAG);
	must(first.ret);
	must(second.ret);
	ck_assert_uint_ne(first.lmr_context, second.lmr_context);
	ck_assert_uint_ne(first.rmr_context, second.rmr_context);
}
END_TEST

START_TEST(G3_the_outputs_after_the_handle_may_be_NULL)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_HANDLE lmr;

	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, 10, w.a.pz, DAT_MEM_PRIV_ALL_FLAG,
			    &lmr, NULL, NULL, NULL, NULL));
	must_fail(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, 10, w.a.pz,
				 DAT_MEM_PRIV_ALL_FLAG, NULL, NULL, NULL, NULL, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
}
END_TEST

START_TEST(A4_length_0_is_a_length_error)
{
	struct registration r = reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 1), 0, DAT_MEM_PRIV_ALL_FLAG);

	must_fail(r.ret, DAT_LENGTH_ERROR, ANY_SUBTYPE);
	expect_nothing_written(&r);
	r = reg(DAT_MEM_TYPE_VIRTUAL, NULL, 0, DAT_MEM_PRIV_ALL_FLAG);
	must_fail(r.ret, DAT_LENGTH_ERROR, ANY_SUBTYPE);
	expect_nothing_written(&r);
}
END_TEST

START_TEST(G10_SO_VIRTUAL_is_taken_as_VIRTUAL)
{
	struct registration r =
		reg(DAT_MEM_TYPE_SO_VIRTUAL, slot(&w.a, 1), 1000, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET iov = segment(&w.a, 1, SHORT);

	must(r.ret);
	iov.lmr_context = r.lmr_context;
	w.a.ep = plain_ep(&w.a);
	must(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
}
END_TEST

START_TEST(page_bad_arguments_of_a_registration)
{
	static const struct {
		int type;
		DAT_UINT64 address, length;
		int privileges;
		DAT_UINT32 subtype;
	} bad[] = {
		{ 4, 0x1000, 8, DAT_MEM_PRIV_ALL_FLAG, DAT_INVALID_ARG2 },
		{ -1, 0x1000, 8, DAT_MEM_PRIV_ALL_FLAG, DAT_INVALID_ARG2 },
		{ DAT_MEM_TYPE_VIRTUAL, 0, 8, DAT_MEM_PRIV_ALL_FLAG, DAT_INVALID_ARG3 },
		{ DAT_MEM_TYPE_VIRTUAL, UINT64_MAX - 7, 16, DAT_MEM_PRIV_ALL_FLAG, ANY_SUBTYPE },
		{ DAT_MEM_TYPE_VIRTUAL, 0x1000, UINT64_MAX, DAT_MEM_PRIV_ALL_FLAG, ANY_SUBTYPE },
		{ DAT_MEM_TYPE_VIRTUAL, 0x1000, 8, 0x4, DAT_INVALID_ARG6 },
		{ DAT_MEM_TYPE_VIRTUAL, 0x1000, 8, 0x200, DAT_INVALID_ARG6 },
		{ DAT_MEM_TYPE_VIRTUAL, 0x1000, 8, INT_MIN, DAT_INVALID_ARG6 },
	};
	struct registration r = reg(bad[_i].type, (void *)(uintptr_t)bad[_i].address,
				    bad[_i].length, bad[_i].privileges);

	must_fail(r.ret, DAT_INVALID_PARAMETER, bad[_i].subtype);
	expect_nothing_written(&r);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_LMR), 2); /* those of the two sides */
}
END_TEST

START_TEST(G3a_a_region_above_max_lmr_block_size_is_an_invalid_parameter)
{
	DAT_VLEN limit = ia_attr(&w.a).max_lmr_block_size;
	struct registration r;

	if (limit == UINT64_MAX)
		return;
	r = reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 0), limit + 1, DAT_MEM_PRIV_ALL_FLAG);
	must_fail(r.ret, DAT_INVALID_PARAMETER, ANY_SUBTYPE);
}
END_TEST

START_TEST(page_a_hint_about_ordering_is_taken)
{
	struct registration r = reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 0), 8,
				    DAT_MEM_PRIV_ALL_FLAG | DAT_MEM_PRIV_RO_DISABLE_FLAG);

	must(r.ret);
}
END_TEST

START_TEST(page_a_freed_region_is_gone)
{
	struct registration r =
		reg(DAT_MEM_TYPE_VIRTUAL, slot(&w.a, 1), 1000, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_PARAM param;

	must(dat_lmr_free(r.lmr));
	must_fail(dat_lmr_free(r.lmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	must_fail(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_LMR);
}
END_TEST

/* ---- zones ---- */

START_TEST(page_a_zone_tells_its_adapter)
{
	DAT_PZ_PARAM param = { .ia_handle = &w };

	must(dat_pz_query(w.a.pz, DAT_PZ_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.a.ia);
}
END_TEST

/* Close both sides, so that only the objects of this test exist. */
static DAT_PZ_HANDLE fresh_zone(void)
{
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.a.ia, &pz));
	return pz;
}

START_TEST(page_a_zone_with_a_region_is_in_use)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_PZ_HANDLE pz = fresh_zone();
	DAT_LMR_HANDLE lmr;

	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, 8, pz, DAT_MEM_PRIV_ALL_FLAG,
			    &lmr, NULL, NULL, NULL, NULL));
	must_fail(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	must(dat_lmr_free(lmr));
	must(dat_pz_free(pz));
	must_fail(dat_pz_free(pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
}
END_TEST

START_TEST(page_a_zone_with_an_endpoint_is_in_use)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_PZ_HANDLE pz = fresh_zone();
	DAT_EP_HANDLE ep;

	must(dat_ep_create(w.a.ia, pz, w.a.recv, w.a.request, w.a.connect, &attr, &ep));
	must_fail(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	must(dat_ep_free(ep));
	must(dat_pz_free(pz));
}
END_TEST

START_TEST(page_a_zone_with_an_srq_is_in_use)
{
	DAT_SRQ_ATTR attr = { 10, 4, 0 };
	DAT_PZ_HANDLE pz = fresh_zone();
	DAT_SRQ_HANDLE srq;

	must(dat_srq_create(w.a.ia, pz, &attr, &srq));
	must_fail(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	must(dat_srq_free(srq));
	must(dat_pz_free(pz));
}
END_TEST

START_TEST(E6_zones_of_an_endpoint_and_its_srq_may_differ)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.b.ia, &pz));
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	must(dat_ep_create_with_srq(w.b.ia, pz, w.b.recv, w.b.request, w.b.connect, w.b.srq, &attr,
				    &w.b.ep));
	w.a.ep = plain_ep(&w.a);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_srq(&w.b, 0);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(E6_buffers_of_an_srq_are_of_its_own_zone)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SLOT_SIZE);
	DAT_SRQ_ATTR attr = { 10, 4, 0 };
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.b.ia, &pz));
	must(dat_srq_create(w.b.ia, pz, &attr, &w.b.srq));
	must_fail(dat_srq_post_recv(w.b.srq, 1, &iov, cookie(0)), DAT_PROTECTION_VIOLATION,
		  DAT_PROTECTION_WRITE);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, page_a_region_covers_what_was_asked_for);
	unit_test(suite, page_a_query_tells_what_was_registered);
	unit_test(suite, page_without_a_remote_privilege_the_remote_context_is_0);
	unit_test(suite, page_overlapping_regions_have_contexts_of_their_own);
	unit_test(suite, G3_the_outputs_after_the_handle_may_be_NULL);
	unit_test(suite, A4_length_0_is_a_length_error);
	unit_test(suite, G10_SO_VIRTUAL_is_taken_as_VIRTUAL);
	unit_test_loop(suite, page_bad_arguments_of_a_registration, 8);
	unit_test(suite, G3a_a_region_above_max_lmr_block_size_is_an_invalid_parameter);
	unit_test(suite, page_a_hint_about_ordering_is_taken);
	unit_test(suite, page_a_freed_region_is_gone);
	unit_test(suite, page_a_zone_tells_its_adapter);
	unit_test(suite, page_a_zone_with_a_region_is_in_use);
	unit_test(suite, page_a_zone_with_an_endpoint_is_in_use);
	unit_test(suite, page_a_zone_with_an_srq_is_in_use);
	unit_test(suite, E6_zones_of_an_endpoint_and_its_srq_may_differ);
	unit_test(suite, E6_buffers_of_an_srq_are_of_its_own_zone);
}

UNIT_SUITE("lmr_pz")
