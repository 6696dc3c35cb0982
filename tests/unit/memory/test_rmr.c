/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RMRs as objects: create, query, free, and the refusals of dat_rmr_bind. Rulings G2, G3, G8, G9,
 * A3.
 */
#include "tests/support/support.h"

#define REMOTE_BOTH (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

static DAT_RMR_PARAM query(DAT_RMR_HANDLE rmr)
{
	DAT_RMR_PARAM param;

	memset(&param, 0xee, sizeof(param));
	must(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	return param;
}

/* ---- create, query, free ---- */

START_TEST(page_an_RMR_belongs_to_a_zone)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	DAT_RMR_PARAM param = query(rmr);

	ck_assert_ptr_eq(param.ia_handle, w.a.ia);
	ck_assert_ptr_eq(param.pz_handle, w.a.pz);
	ck_assert_uint_eq(param.rmr_context, 0);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_RMR), 1);
	must(dat_rmr_free(rmr));
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_RMR), 0);
	must_fail(dat_rmr_free(rmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
}
END_TEST

START_TEST(page_a_zone_with_an_RMR_is_in_use)
{
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.a.ia, &pz));
	must(dat_rmr_create(pz, &rmr));
	must_fail(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	must(dat_rmr_free(rmr));
	must(dat_pz_free(pz));
}
END_TEST

START_TEST(G3_bad_handles_are_refused)
{
	DAT_LMR_TRIPLET range = segment(&w.a, 0, SHORT);
	DAT_RMR_HANDLE rmr = make_rmr(&w.a), out = (DAT_RMR_HANDLE)&w;
	DAT_RMR_CONTEXT context = 5;
	DAT_HANDLE bad[] = { NO_HANDLE, (DAT_HANDLE)1, w.a.ia, w.a.lmr, &range };
	DAT_RMR_PARAM param;
	size_t i;

	plain_pair();
	for (i = 0; i < COUNT(bad); i++) {
		must_fail(dat_rmr_create(bad[i], &out), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
		must_fail(dat_rmr_query(bad[i], DAT_RMR_FIELD_ALL, &param), DAT_INVALID_HANDLE,
			  DAT_INVALID_HANDLE_RMR);
		must_fail(dat_rmr_free(bad[i]), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
		must_fail(dat_rmr_bind(bad[i], NULL, DAT_MEM_PRIV_NONE_FLAG, w.a.ep, cookie(0),
				       DAT_COMPLETION_DEFAULT_FLAG, &context),
			  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
		must_fail(dat_rmr_bind(rmr, NULL, DAT_MEM_PRIV_NONE_FLAG, bad[i], cookie(0),
				       DAT_COMPLETION_DEFAULT_FLAG, &context),
			  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	/* The Endpoint of another instance, on another adapter */
	must_fail(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_NONE_FLAG, w.b.ep, cookie(0),
			       DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ck_assert_ptr_eq(out, &w);
	ck_assert_uint_eq(context, 5);
}
END_TEST

START_TEST(G4_the_mask_of_a_query)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	DAT_RMR_PARAM param;

	must_fail(dat_rmr_create(w.a.pz, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)(DAT_RMR_FIELD_ALL + 1), &param),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)0, NULL));
}
END_TEST

START_TEST(G8_contexts_and_types_work)
{
	DAT_CONTEXT mine = { .as_64 = 77 }, back = { .as_64 = 0 };
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	DAT_HANDLE_TYPE type;

	must(dat_get_handle_type(rmr, &type));
	ck_assert_int_eq((int)type, DAT_HANDLE_TYPE_RMR);
	must(dat_set_consumer_context(rmr, mine));
	must(dat_get_consumer_context(rmr, &back));
	ck_assert_uint_eq(back.as_64, 77);
}
END_TEST

START_TEST(G9_max_rmrs_is_true_and_enforced)
{
	DAT_COUNT most = ia_attr(&w.a).max_rmrs, i;
	DAT_RMR_HANDLE rmr, last = NO_HANDLE;

	ck_assert_int_gt(most, 0);
	for (i = 0; i < most; i++)
		last = make_rmr(&w.a);
	must_fail(dat_rmr_create(w.a.pz, &rmr), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	make_rmr(&w.b);
	must(dat_rmr_free(last));
	must(dat_rmr_create(w.a.pz, &rmr));
}
END_TEST

START_TEST(page_a_graceful_close_wants_no_RMR_left)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char adapter[] = "emu0";
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	must(dat_ia_open(adapter, 8, &async, &ia));
	must(dat_pz_create(ia, &pz));
	must(dat_rmr_create(pz, &rmr));
	must_fail(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_IA_IN_USE);
	must(dat_rmr_free(rmr));
	must(dat_pz_free(pz));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(page_an_abrupt_close_takes_bound_RMRs_along)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);

	plain_pair();
	post_bind(rmr, &w.a, w.a.ep, 1, SHORT, REMOTE_BOTH);
	run_quiet();
	side_close(&w.a);
	must_fail(dat_rmr_free(rmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	side_open(&w.a, "emu0");
}
END_TEST

/* ---- refusals of a bind ---- */

START_TEST(G2_arguments_are_looked_at_in_their_order)
{
	DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	DAT_MEM_PRIV_FLAGS priv = (DAT_MEM_PRIV_FLAGS)0x4;
	DAT_LMR_TRIPLET range = segment(&w.a, 0, SHORT);
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	DAT_RMR_CONTEXT context = 5;

	w.a.ep = plain_ep(&w.a);
	must_fail(dat_rmr_bind(rmr, NULL, priv, w.a.ep, cookie(0), flags, &context),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_rmr_bind(rmr, &range, priv, w.a.ep, cookie(0), flags, &context),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	priv = DAT_MEM_PRIV_ALL_FLAG;
	must_fail(dat_rmr_bind(rmr, &range, priv, w.a.ep, cookie(0), flags, &context),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	flags = DAT_COMPLETION_UNSIGNALLED_FLAG; /* this EP was created for other flags */
	must_fail(dat_rmr_bind(rmr, &range, priv, w.a.ep, cookie(0), flags, &context),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	flags = DAT_COMPLETION_DEFAULT_FLAG;
	must_fail(dat_rmr_bind(rmr, &range, priv, w.a.ep, cookie(0), flags, &context),
		  DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
	ck_assert_uint_eq(context, 5);
}
END_TEST

START_TEST(page_a_range_outside_its_region_is_an_invalid_parameter)
{
	DAT_LMR_TRIPLET inside = segment(&w.a, 0, SHORT), range;
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	const struct {
		DAT_UINT64 start, length;
	} bad[] = {
		{ (DAT_UINT64)-1, SHORT },
		{ 0, UINT64_MAX },
		{ SLOTS * SLOT_SIZE, 1 },
		{ 1, SLOTS * SLOT_SIZE },
		{ -(DAT_UINT64)(uintptr_t)slot(&w.a, 0), SHORT },
	};
	size_t i;

	plain_pair();
	for (i = 0; i < COUNT(bad); i++) {
		range = inside;
		range.virtual_address += bad[i].start;
		range.segment_length = bad[i].length;
		must_fail(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_NONE_FLAG, w.a.ep, cookie(0),
				       DAT_COMPLETION_DEFAULT_FLAG, NULL),
			  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	inside.lmr_context ^= 0xff;
	must_fail(dat_rmr_bind(rmr, &inside, DAT_MEM_PRIV_NONE_FLAG, w.a.ep, cookie(0),
			       DAT_COMPLETION_DEFAULT_FLAG, NULL),
		  DAT_PRIVILEGES_VIOLATION, ANY_SUBTYPE);
	ck_assert_uint_eq(query(rmr).rmr_context, 0);
	run_quiet();
	expect_no_event(w.a.request);
}
END_TEST

static DAT_RETURN bind_region(DAT_RMR_HANDLE rmr, DAT_EP_HANDLE ep, DAT_PZ_HANDLE pz,
			      int region_privileges, int privileges)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.a, 3) };
	DAT_LMR_TRIPLET range = segment(&w.a, 3, SHORT);
	DAT_LMR_HANDLE lmr;

	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, pz,
			    (DAT_MEM_PRIV_FLAGS)region_privileges, &lmr, &range.lmr_context, NULL,
			    NULL, NULL));
	return dat_rmr_bind(rmr, &range, (DAT_MEM_PRIV_FLAGS)privileges, ep, cookie(3),
			    DAT_COMPLETION_DEFAULT_FLAG, NULL);
}

START_TEST(digest_what_an_RMR_gives_its_region_must_allow_locally)
{
	static const struct {
		int region, bind;
		DAT_UINT32 subtype; /* DAT_NO_SUBTYPE: the bind is allowed */
	} rows[] = {
		{ DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_NO_SUBTYPE },
		{ DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_NO_SUBTYPE },
		{ DAT_MEM_PRIV_LOCAL_WRITE_FLAG, REMOTE_BOTH, DAT_NO_SUBTYPE },
		{ DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		  DAT_PRIVILEGES_RDMA_WRITE },
		{ DAT_MEM_PRIV_LOCAL_READ_FLAG, REMOTE_BOTH, DAT_PRIVILEGES_RDMA_WRITE },
		{ REMOTE_BOTH, DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_PRIVILEGES_RDMA_READ },
		{ REMOTE_BOTH, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_PRIVILEGES_RDMA_WRITE },
		{ DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_NONE_FLAG, DAT_NO_SUBTYPE },
	};
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	size_t i;

	plain_pair();
	for (i = 0; i < COUNT(rows); i++) {
		DAT_RETURN ret = bind_region(rmr, w.a.ep, w.a.pz, rows[i].region, rows[i].bind);

		if (rows[i].subtype == DAT_NO_SUBTYPE)
			must(ret);
		else
			must_fail(ret, DAT_PRIVILEGES_VIOLATION, rows[i].subtype);
	}
}
END_TEST

START_TEST(digest_RMR_region_and_Endpoint_are_of_one_zone)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a), other;
	DAT_PZ_HANDLE pz;

	plain_pair();
	must(dat_pz_create(w.a.ia, &pz));
	must(dat_rmr_create(pz, &other));
	must_fail(bind_region(rmr, w.a.ep, pz, DAT_MEM_PRIV_ALL_FLAG, REMOTE_BOTH),
		  DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_WRITE);
	must_fail(bind_region(other, w.a.ep, pz, DAT_MEM_PRIV_ALL_FLAG,
			      DAT_MEM_PRIV_REMOTE_READ_FLAG),
		  DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_READ);
	must_fail(bind_region(other, w.a.ep, w.a.pz, DAT_MEM_PRIV_ALL_FLAG, REMOTE_BOTH),
		  DAT_PROTECTION_VIOLATION, ANY_SUBTYPE);
	/* An unbind, too, needs an RMR and an Endpoint that match. */
	must_fail(try_bind(other, &w.a, w.a.ep, 0, 0, 0, NULL), DAT_PROTECTION_VIOLATION,
		  ANY_SUBTYPE);
}
END_TEST

START_TEST(digest_posted_in_CONNECTED_and_DISCONNECTED_only)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	DAT_EP_STATE state = reachable_states[_i];
	DAT_RETURN ret;

	ep_in_state(state);
	ret = try_bind(rmr, &w.a, w.a.ep, 1, SHORT, REMOTE_BOTH, NULL);
	if (state == DAT_EP_STATE_CONNECTED) {
		must(ret);
		expect_bind(w.a.request, rmr, 1, DAT_DTO_SUCCESS);
	} else if (state == DAT_EP_STATE_DISCONNECTED) {
		must(ret);
		expect_bind(w.a.request, rmr, 1, DAT_DTO_ERR_FLUSHED);
		ck_assert_uint_eq(query(rmr).rmr_context, 0);
	} else {
		must_fail(ret, DAT_INVALID_STATE, state_subtype(state));
	}
}
END_TEST

START_TEST(digest_one_request_more_than_the_queue_holds)
{
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);
	DAT_RMR_CONTEXT context = 5, before;
	int i;

	plain_pair();
	before = post_bind(rmr, &w.a, w.a.ep, 1, SHORT, REMOTE_BOTH);
	hold_link("emu0", "emu1");
	for (i = 0; i < ep_attr().max_request_dtos; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	must_fail(try_bind(rmr, &w.a, w.a.ep, 1, SHORT, REMOTE_BOTH, &context),
		  DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	ck_assert_uint_eq(context, 5);
	ck_assert_uint_eq(query(rmr).rmr_context, before);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, page_an_RMR_belongs_to_a_zone);
	unit_test(suite, page_a_zone_with_an_RMR_is_in_use);
	unit_test(suite, G3_bad_handles_are_refused);
	unit_test(suite, G4_the_mask_of_a_query);
	unit_test(suite, G8_contexts_and_types_work);
	unit_test(suite, G9_max_rmrs_is_true_and_enforced);
	unit_test(suite, page_a_graceful_close_wants_no_RMR_left);
	unit_test(suite, page_an_abrupt_close_takes_bound_RMRs_along);
	unit_test(suite, G2_arguments_are_looked_at_in_their_order);
	unit_test(suite, page_a_range_outside_its_region_is_an_invalid_parameter);
	unit_test(suite, digest_what_an_RMR_gives_its_region_must_allow_locally);
	unit_test(suite, digest_RMR_region_and_Endpoint_are_of_one_zone);
	unit_test_loop(suite, digest_posted_in_CONNECTED_and_DISCONNECTED_only, REACHABLE_STATES);
	unit_test(suite, digest_one_request_more_than_the_queue_holds);
}

UNIT_SUITE("rmr")
