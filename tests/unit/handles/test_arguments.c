/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NULL pointers, wild counts, masks, and the order of checks: rulings G2, G3, G4. Checks that only
 * one call makes are in the test program of that call.
 */
#include "tests/support/support.h"

static DAT_EP_ATTR attr;
static DAT_SRQ_ATTR srq_attr = { 4, 4, 0 };
static DAT_PSP_HANDLE psp;
static DAT_CR_HANDLE cr;
static DAT_HANDLE handle;
static DAT_COUNT count;

/* One live object of each kind; w.a.ep is unconnected. */
static void one_of_each(void)
{
	attr = ep_attr();
	w.a.ep = plain_ep(&w.a);
	w.a.srq = make_srq(&w.a, 4, 0);
	cr = request(plain_ep(&w.b), &w.a, QUAL);
	psp = listen_at(&w.a, QUAL);
}

/* ---- NULL and wild numbers ---- */

/* DAT_INVALID_PARAMETER, and the subtype is the argument's number. */
#define must_refuse(call, n) must_fail((call), DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

START_TEST(G3_a_NULL_output_is_an_invalid_parameter)
{
	one_of_each();
	must_refuse(dat_pz_create(w.a.ia, NULL), 2);
	must_refuse(dat_evd_create(w.a.ia, 4, NO_HANDLE, DAT_EVD_DTO_FLAG, NULL), 5);
	must_refuse(dat_evd_dequeue(w.a.recv, NULL), 2);
	must_refuse(dat_evd_post_se(w.a.recv, NULL), 2);
	must_refuse(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, &attr, NULL),
		    7);
	must_refuse(dat_ep_create_with_srq(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect,
					   w.a.srq, &attr, NULL),
		    8);
	must_refuse(dat_psp_create(w.a.ia, 5, w.a.cr, DAT_PSP_CONSUMER_FLAG, NULL), 5);
	must_refuse(dat_srq_create(w.a.ia, w.a.pz, &srq_attr, NULL), 4);
	must_refuse(dat_srq_create(w.a.ia, w.a.pz, NULL, &handle), 3);
	must_refuse(dat_get_consumer_context(w.a.ep, NULL), 2);
	must_refuse(dat_get_handle_type(w.a.ep, NULL), 2);
	must_refuse(dat_srq_post_recv(w.a.srq, 1, NULL, cookie(0)), 3);
}
END_TEST

START_TEST(G3_a_NULL_structure_under_a_mask_is_an_invalid_parameter)
{
	one_of_each();
	must_refuse(dat_pz_query(w.a.pz, DAT_PZ_FIELD_ALL, NULL), 3);
	must_refuse(dat_lmr_query(w.a.lmr, DAT_LMR_FIELD_ALL, NULL), 3);
	must_refuse(dat_evd_query(w.a.recv, DAT_EVD_FIELD_ALL, NULL), 3);
	must_refuse(dat_ep_query(w.a.ep, DAT_EP_FIELD_ALL, NULL), 3);
	must_refuse(dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL), 3);
	must_refuse(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL), 3);
	must_refuse(dat_srq_query(w.a.srq, DAT_SRQ_FIELD_ALL, NULL), 3);
}
END_TEST

START_TEST(G3_the_outputs_of_get_status_may_all_be_NULL)
{
	one_of_each();
	must(dat_ep_get_status(w.a.ep, NULL, NULL, NULL));
}
END_TEST

START_TEST(G3_no_count_however_wild_crashes_anything)
{
	static const DAT_COUNT wild[] = { INT_MIN, INT_MIN + 1, -65536,  -2,     -1,
					  0,       65536,       1 << 20, INT_MAX };
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, 8);
	DAT_COUNT n = wild[_i];
	DAT_EVENT waited;

	one_of_each();
	(void)dat_evd_create(w.a.ia, n, NO_HANDLE, DAT_EVD_DTO_FLAG, &handle);
	(void)dat_evd_resize(w.a.cr, n);
	(void)dat_evd_wait(w.a.recv, 0, n, &waited, &count);
	(void)dat_srq_resize(w.a.srq, n);
	(void)dat_srq_set_lw(w.a.srq, n);
	(void)dat_ep_set_watermark(w.a.ep, n, n);
	if (n < 0 || n > 4) {
		must_refuse(dat_ep_post_recv(w.a.ep, n, &iov, cookie(0),
					     DAT_COMPLETION_DEFAULT_FLAG),
			    2);
		must_refuse(dat_ep_post_send(w.a.ep, n, &iov, cookie(0),
					     DAT_COMPLETION_DEFAULT_FLAG),
			    2);
		must_refuse(dat_srq_post_recv(w.a.srq, n, &iov, cookie(0)), 2);
	}
	if (n < 0 || n > 256)
		must_refuse(dat_cr_accept(cr, w.a.ep, n, &iov), 3);
	run_quiet();
}
END_TEST

START_TEST(G3_no_flag_however_wild_crashes_anything)
{
	static const int wild[] = { INT_MIN, -1, 0x40, 0x80, 0x100, 0x7fffffff };
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, 8);
	int flag = wild[_i];

	one_of_each();
	must_refuse(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(0), (DAT_COMPLETION_FLAGS)flag), 5);
	must_refuse(dat_ep_post_send(w.a.ep, 1, &iov, cookie(0), (DAT_COMPLETION_FLAGS)flag), 5);
	must_refuse(dat_ep_disconnect(w.a.ep, (DAT_CLOSE_FLAGS)flag), 2);
	must_refuse(dat_ia_close(w.a.ia, (DAT_CLOSE_FLAGS)flag), 2);
	must_refuse(dat_psp_create(w.a.ia, 5, w.a.cr, (DAT_PSP_FLAGS)flag, &handle), 4);
	must_refuse(dat_ep_connect(w.a.ep, address(&w.b), QUAL, 10, 0, NULL, DAT_QOS_BEST_EFFORT,
				   (DAT_CONNECT_FLAGS)flag),
		    8);
	must_refuse(dat_ep_connect(w.a.ep, address(&w.b), QUAL, 10, 0, NULL, (DAT_QOS)flag, 0), 7);
}
END_TEST

START_TEST(page_a_receive_takes_no_request_flags)
{
	static const int bad[] = { DAT_COMPLETION_SUPPRESS_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				   DAT_COMPLETION_BARRIER_FENCE_FLAG,
				   DAT_COMPLETION_EVD_THRESHOLD_FLAG };
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, 8);

	one_of_each();
	must_refuse(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(0), (DAT_COMPLETION_FLAGS)bad[_i]), 5);
	must_refuse(dat_ep_post_send(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_EVD_THRESHOLD_FLAG),
		    5);
}
END_TEST

/* ---- G2: the order of checks ---- */

START_TEST(G2_handles_come_before_all_parameters)
{
	one_of_each();
	must_fail(dat_pz_create(NO_HANDLE, NULL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	must_fail(dat_evd_create(NO_HANDLE, -1, NO_HANDLE, (DAT_EVD_FLAGS)0, NULL),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	must_fail(dat_evd_create(w.a.ia, -1, w.a.pz, (DAT_EVD_FLAGS)0, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CNO);
	must_fail(dat_evd_wait(NO_HANDLE, 0, 0, NULL, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE1);
	must_fail(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.recv, NULL, NULL),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	must_fail(dat_ep_post_send(NO_HANDLE, -1, NULL, cookie(0), (DAT_COMPLETION_FLAGS)-1),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(dat_psp_create(w.a.ia, 5, NO_HANDLE, (DAT_PSP_FLAGS)7, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EVD_CR);
	must_fail(dat_cr_accept(cr, w.a.pz, -1, NULL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(dat_srq_create(w.a.ia, NO_HANDLE, NULL, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_PZ);
	must_fail(dat_srq_query(NO_HANDLE, (DAT_SRQ_PARAM_MASK)0x100, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_SRQ);
}
END_TEST

START_TEST(G2_handles_are_checked_in_argument_order)
{
	one_of_each();
	must_fail(dat_ep_create(NO_HANDLE, NO_HANDLE, w.a.pz, w.a.pz, w.a.pz, &attr, &handle),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	must_fail(dat_ep_create(w.a.ia, NO_HANDLE, w.a.pz, w.a.pz, w.a.pz, &attr, &handle),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	must_fail(dat_ep_create(w.a.ia, w.a.pz, w.a.pz, w.a.pz, w.a.pz, &attr, &handle),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	must_fail(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.pz, w.a.pz, &attr, &handle),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	must_fail(dat_cr_accept(NO_HANDLE, w.a.pz, 0, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CR);
}
END_TEST

START_TEST(G2_parameters_are_checked_in_argument_order)
{
	one_of_each();
	must_refuse(dat_evd_create(w.a.ia, 0, NO_HANDLE, (DAT_EVD_FLAGS)0, NULL), 2);
	must_refuse(dat_evd_create(w.a.ia, 4, NO_HANDLE, (DAT_EVD_FLAGS)0, NULL), 4);
	must_refuse(dat_evd_wait(w.a.recv, 0, 0, NULL, NULL), 3);
	must_refuse(dat_ep_post_send(w.a.ep, -1, NULL, cookie(0), (DAT_COMPLETION_FLAGS)-1), 2);
	must_refuse(dat_ep_post_send(w.a.ep, 1, NULL, cookie(0), (DAT_COMPLETION_FLAGS)-1), 3);
	must_refuse(dat_srq_create(w.a.ia, w.a.pz, NULL, NULL), 3);
	must_refuse(dat_psp_create(w.a.ia, 5, w.a.cr, (DAT_PSP_FLAGS)7, NULL), 4);
	must_refuse(dat_cr_accept(cr, w.a.ep, 1, NULL), 4);
	must_refuse(dat_ep_set_watermark(w.a.ep, -2, -2), 2);
	must_refuse(dat_ep_connect(w.a.ep, NULL, QUAL, 0, -1, NULL, (DAT_QOS)-1, 0x100), 2);
}
END_TEST

START_TEST(G2_parameters_come_before_the_states_of_all_objects)
{
	DAT_EP_HANDLE reserved = plain_ep(&w.a);
	DAT_RSP_HANDLE rsp;

	one_of_each();
	must(dat_evd_set_unwaitable(w.a.recv));
	must_refuse(dat_evd_wait(w.a.recv, 0, 1, NULL, &count), 4);
	must_refuse(dat_ep_dup_connect(w.a.ep, reserved, 0, 0, NULL, DAT_QOS_BEST_EFFORT), 3);
	must(dat_rsp_create(w.a.ia, QUAL + 1, reserved, w.a.cr, &rsp));
	must_refuse(dat_rsp_create(w.a.ia, 0, reserved, w.a.cr, &handle), 2);
	must_refuse(dat_rsp_create(w.a.ia, QUAL + 2, reserved, w.a.cr, NULL), 5);
	must_refuse(dat_cr_accept(cr, reserved, -1, NULL), 3);
	must_refuse(dat_cr_accept(cr, reserved, 1, NULL), 4);
}
END_TEST

START_TEST(G2_parameters_come_before_resources)
{
	DAT_EP_ATTR one = ep_attr();
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, 8);

	one.max_recv_dtos = 1;
	w.a.ep = plain_ep_with(&w.a, &one);
	post_recv(&w.a, w.a.ep, 0);
	must_refuse(dat_ep_post_recv(w.a.ep, -1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG), 2);
	must_refuse(dat_ep_post_recv(w.a.ep, 1, NULL, cookie(1), DAT_COMPLETION_DEFAULT_FLAG), 3);
	must_refuse(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(1), (DAT_COMPLETION_FLAGS)0x40), 5);
	must_fail(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
}
END_TEST

START_TEST(G2_the_state_comes_before_resources)
{
	DAT_EP_ATTR one = ep_attr();
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, 8);

	one.max_request_dtos = 1;
	w.a.ep = plain_ep_with(&w.a, &one);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, 0, SHORT);
	must_fail(dat_ep_post_send(w.a.ep, 1, &iov, cookie(1), 0), DAT_INSUFFICIENT_RESOURCES,
		  ANY_SUBTYPE);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	must_fail(dat_ep_post_send(w.a.ep, 1, &iov, cookie(1), 0), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_EP_DISCPENDING);
}
END_TEST

/* ---- G4: masks ---- */

static unsigned char params[1024];

static DAT_RETURN query_pz(DAT_UINT64 mask, void *p)
{
	return dat_pz_query(w.a.pz, (DAT_PZ_PARAM_MASK)mask, p);
}

static DAT_RETURN query_lmr(DAT_UINT64 mask, void *p)
{
	return dat_lmr_query(w.a.lmr, (DAT_LMR_PARAM_MASK)mask, p);
}

static DAT_RETURN query_evd(DAT_UINT64 mask, void *p)
{
	return dat_evd_query(w.a.recv, (DAT_EVD_PARAM_MASK)mask, p);
}

static DAT_RETURN query_ep(DAT_UINT64 mask, void *p)
{
	return dat_ep_query(w.a.ep, mask, p);
}

static DAT_RETURN query_psp(DAT_UINT64 mask, void *p)
{
	return dat_psp_query(psp, (DAT_PSP_PARAM_MASK)mask, p);
}

static DAT_RETURN query_cr(DAT_UINT64 mask, void *p)
{
	return dat_cr_query(cr, (DAT_CR_PARAM_MASK)mask, p);
}

static DAT_RETURN query_srq(DAT_UINT64 mask, void *p)
{
	return dat_srq_query(w.a.srq, (DAT_SRQ_PARAM_MASK)mask, p);
}

static DAT_RETURN query_ia(DAT_UINT64 mask, void *p)
{
	return dat_ia_query(w.a.ia, NULL, mask, p, 0, NULL);
}

static DAT_RETURN query_provider(DAT_UINT64 mask, void *p)
{
	return dat_ia_query(w.a.ia, NULL, 0, NULL, mask, p);
}

static const struct {
	const char *name;
	DAT_RETURN (*query)(DAT_UINT64 mask, void *p);
	DAT_UINT64 all;
	int bits; /* width of the mask's type */
	DAT_UINT32 subtype;
} queries[] = {
	{ "pz", query_pz, DAT_PZ_FIELD_ALL, 32, DAT_INVALID_ARG2 },
	{ "lmr", query_lmr, DAT_LMR_FIELD_ALL, 32, DAT_INVALID_ARG2 },
	{ "evd", query_evd, DAT_EVD_FIELD_ALL, 32, DAT_INVALID_ARG2 },
	{ "ep", query_ep, DAT_EP_FIELD_ALL, 64, DAT_INVALID_ARG2 },
	{ "psp", query_psp, DAT_PSP_FIELD_ALL, 32, DAT_INVALID_ARG2 },
	{ "cr", query_cr, DAT_CR_FIELD_ALL, 32, DAT_INVALID_ARG2 },
	{ "srq", query_srq, DAT_SRQ_FIELD_ALL, 32, DAT_INVALID_ARG2 },
	{ "ia", query_ia, DAT_IA_FIELD_ALL, 64, DAT_INVALID_ARG3 },
	{ "provider", query_provider, DAT_PROVIDER_FIELD_ALL, 64, DAT_INVALID_ARG5 },
};

static bool params_untouched(void)
{
	size_t i;

	for (i = 0; i < sizeof(params); i++)
		if (params[i] != 0xee)
			return false;
	return true;
}

START_TEST(G4_every_unknown_bit_of_a_mask_is_an_invalid_parameter)
{
	int bit;

	one_of_each();
	memset(params, 0xee, sizeof(params));
	for (bit = 0; bit < queries[_i].bits; bit++) {
		DAT_UINT64 mask = UINT64_C(1) << bit;
		DAT_RETURN ret;

		if (queries[_i].all & mask)
			continue;
		ret = queries[_i].query(mask, params);
		ck_assert_msg(is_failure(ret, DAT_INVALID_PARAMETER, queries[_i].subtype),
			      "%s bit %d: %s", queries[_i].name, bit, ret_text(ret));
		ret = queries[_i].query(queries[_i].all | mask, params);
		ck_assert_msg(is_failure(ret, DAT_INVALID_PARAMETER, queries[_i].subtype),
			      "%s all and bit %d: %s", queries[_i].name, bit, ret_text(ret));
	}
	ck_assert(params_untouched());
}
END_TEST

START_TEST(G4_every_known_bit_of_a_mask_is_taken)
{
	int bit;

	one_of_each();
	for (bit = 0; bit < queries[_i].bits; bit++)
		if (queries[_i].all & (UINT64_C(1) << bit))
			must(queries[_i].query(UINT64_C(1) << bit, params));
	must(queries[_i].query(queries[_i].all, params));
}
END_TEST

START_TEST(G4_a_zero_mask_is_a_no_op_that_succeeds)
{
	one_of_each();
	memset(params, 0xee, sizeof(params));
	must(queries[_i].query(0, params));
	ck_assert(params_untouched());
	must(queries[_i].query(0, NULL));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, G3_a_NULL_output_is_an_invalid_parameter);
	unit_test(suite, G3_a_NULL_structure_under_a_mask_is_an_invalid_parameter);
	unit_test(suite, G3_the_outputs_of_get_status_may_all_be_NULL);
	unit_test_loop(suite, G3_no_count_however_wild_crashes_anything, 9);
	unit_test_loop(suite, G3_no_flag_however_wild_crashes_anything, 6);
	unit_test_loop(suite, page_a_receive_takes_no_request_flags, 4);
	unit_test(suite, G2_handles_come_before_all_parameters);
	unit_test(suite, G2_handles_are_checked_in_argument_order);
	unit_test(suite, G2_parameters_are_checked_in_argument_order);
	unit_test(suite, G2_parameters_come_before_the_states_of_all_objects);
	unit_test(suite, G2_parameters_come_before_resources);
	unit_test(suite, G2_the_state_comes_before_resources);
	unit_test_loop(suite, G4_every_unknown_bit_of_a_mask_is_an_invalid_parameter,
		       COUNT(queries));
	unit_test_loop(suite, G4_every_known_bit_of_a_mask_is_taken, COUNT(queries));
	unit_test_loop(suite, G4_a_zero_mask_is_a_no_op_that_succeeds, COUNT(queries));
}

UNIT_SUITE("arguments")
