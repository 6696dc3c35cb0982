/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that come with an Endpoint (DAT_PSP_PROVIDER_FLAG): the pages. What dat_cr_accept
 * returns while the Endpoint is incomplete is defined in lib/ep/ep_state.h. w.b listens, w.a
 * connects.
 */
#include "tests/support/support.h"

static DAT_PSP_HANDLE psp;

static DAT_CR_HANDLE ask_with(DAT_EP_HANDLE ep)
{
	must(try_connect(ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	return expect_request(w.b.cr, psp);
}

static DAT_CR_HANDLE ask(void)
{
	DAT_CR_HANDLE cr;

	psp = listen_for_eps(&w.b, QUAL);
	w.a.ep = plain_ep(&w.a);
	cr = ask_with(w.a.ep);
	w.b.ep = ep_of_request(cr);
	return cr;
}

START_TEST(page_the_endpoint_is_TENTATIVE_without_PZ_and_EVDs)
{
	DAT_EP_PARAM a, b;
	DAT_HANDLE_TYPE type;

	(void)plain_ep(&w.a); /* so that no two numbers are equal by chance */
	(void)ask();
	must(dat_get_handle_type(w.b.ep, &type));
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_EP);
	must(dat_ep_query(w.a.ep, DAT_EP_FIELD_ALL, &a));
	must(dat_ep_query(w.b.ep, DAT_EP_FIELD_ALL, &b));
	ck_assert_int_eq(b.ep_state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	ck_assert_ptr_eq(b.ia_handle, w.b.ia);
	ck_assert_ptr_null(b.pz_handle);
	ck_assert_ptr_null(b.recv_evd_handle);
	ck_assert_ptr_null(b.request_evd_handle);
	ck_assert_ptr_null(b.connect_evd_handle);
	ck_assert_ptr_null(b.srq_handle);
	ck_assert_uint_eq(b.remote_port_qual, a.local_port_qual);
	ck_assert_mem_eq(b.remote_ia_address_ptr, address(&w.a), sizeof(DAT_SOCK_ADDR));
}
END_TEST

START_TEST(page_with_PZ_and_EVDs_it_is_accepted_by_NULL_or_by_its_handle)
{
	DAT_CR_HANDLE cr = ask();

	configure(&w.b, w.b.ep);
	post_recv(&w.b, w.b.ep, 5);
	must(dat_cr_accept(cr, _i ? w.b.ep : NO_HANDLE, 0, NULL));
	expect_state(w.b.ep, DAT_EP_STATE_COMPLETION_PENDING);
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 5, DAT_DTO_SUCCESS);
}
END_TEST

/* After the accept it is an EP like any other. */
START_TEST(page_it_stays_the_Consumers_and_lives_on)
{
	DAT_CR_HANDLE cr = ask();

	configure(&w.b, w.b.ep);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	disconnect_pair();
	must(dat_psp_free(psp));
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.b, w.b.ep, &w.a, w.a.ep);
	must(dat_ep_free(w.b.ep));
	must(dat_evd_free(w.b.connect));
}
END_TEST

/* ---- incomplete Endpoints ---- */

static const struct {
	DAT_EP_PARAM_MASK bit;
	DAT_UINT32 subtype;
} missing[] = {
	{ DAT_EP_FIELD_PZ_HANDLE, DAT_INVALID_STATE_EP_PZ },
	{ DAT_EP_FIELD_RECV_EVD_HANDLE, DAT_INVALID_STATE_EP_EVD_RECV },
	{ DAT_EP_FIELD_REQUEST_EVD_HANDLE, DAT_INVALID_STATE_EP_EVD_REQUEST },
	{ DAT_EP_FIELD_CONNECT_EVD_HANDLE, DAT_INVALID_STATE_EP_EVD_CONNECT },
};

START_TEST(E7_accept_names_what_is_missing_and_touches_nothing)
{
	DAT_CR_HANDLE cr = ask();
	DAT_EP_PARAM param = {
		.pz_handle = w.b.pz,
		.recv_evd_handle = w.b.recv,
		.request_evd_handle = w.b.request,
		.connect_evd_handle = w.b.connect,
	};
	DAT_CR_PARAM request;
	size_t i;

	for (i = 0; i < COUNT(missing); i++) {
		must_fail(dat_cr_accept(cr, NO_HANDLE, 0, NULL), DAT_INVALID_STATE,
			  missing[i].subtype);
		must_fail(dat_cr_accept(cr, w.b.ep, 0, NULL), DAT_INVALID_STATE,
			  missing[i].subtype);
		expect_state(w.b.ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
		must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request));
		must(dat_ep_modify(w.b.ep, missing[i].bit, &param));
	}
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(E7_another_endpoint_is_not_accepted)
{
	DAT_EP_HANDLE other = plain_ep(&w.b);
	DAT_CR_HANDLE cr = ask();

	must_fail(dat_cr_accept(cr, other, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_state(other, DAT_EP_STATE_UNCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}
END_TEST

START_TEST(E7_the_endpoint_of_one_request_does_not_answer_another)
{
	DAT_CR_HANDLE first = ask(), second = ask_with(plain_ep(&w.a));
	DAT_EP_HANDLE theirs = ep_of_request(second);

	ck_assert_ptr_ne(theirs, w.b.ep);
	configure(&w.b, w.b.ep);
	configure(&w.b, theirs);
	must_fail(dat_cr_accept(second, w.b.ep, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must(dat_cr_accept(second, theirs, 0, NULL));
	must(dat_cr_accept(first, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_state(theirs, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(M2_without_a_PZ_no_memory_is_its_own)
{
	DAT_LMR_TRIPLET iov;

	(void)ask();
	iov = segment(&w.b, 0, SHORT);
	must_fail(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_PROTECTION_VIOLATION, ANY_SUBTYPE);
	must(dat_ep_post_recv(w.b.ep, 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	expect_recv_counts(w.b.ep, 1, 1);
}
END_TEST

/* ---- the Endpoint's end ---- */

static void expect_gone(DAT_EP_HANDLE ep)
{
	must_fail(dat_ep_get_status(ep, NULL, NULL, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	must_fail(dat_ep_free(ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_EP), 1);
}

START_TEST(page_rejected_it_is_the_providers_again_and_its_handle_none)
{
	DAT_CR_HANDLE cr = ask();

	if (_i) {
		configure(&w.b, w.b.ep);
		post_recv(&w.b, w.b.ep, 1);
	}
	must(dat_cr_reject(cr));
	expect_gone(w.b.ep);
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	expect_no_event(w.b.recv);
	must(dat_evd_free(w.b.connect));
	must(dat_lmr_free(w.b.lmr));
	must(dat_pz_free(w.b.pz));
}
END_TEST

START_TEST(page_it_is_not_the_Consumers_to_free_before_the_accept)
{
	(void)ask();
	must_fail(dat_ep_free(w.b.ep), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_TENTCONNPENDING);
	configure(&w.b, w.b.ep);
	must_fail(dat_ep_free(w.b.ep), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_TENTCONNPENDING);
	must_fail(dat_pz_free(w.b.pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
}
END_TEST

START_TEST(page_it_goes_with_a_request_that_nobody_can_see_any_more)
{
	psp = listen_for_eps(&w.b, QUAL);
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_EP), 2);
	must(dat_psp_free(psp));
	must(dat_evd_free(w.b.cr));
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_EP), 1);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
}
END_TEST

START_TEST(page_an_abrupt_close_takes_it_too)
{
	int i;

	(void)ask();
	for (i = 0; i < 5; i++)
		(void)ask_with(plain_ep(&w.a));
	configure(&w.b, w.b.ep);
	side_close(&w.b);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_EP), 6);
	run_quiet();
	for (i = 0; i < 6; i++)
		expect_event(w.a.connect, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

START_TEST(E5_accepting_on_it_after_the_active_side_has_gone)
{
	DAT_CR_HANDLE cr = ask();

	configure(&w.b, w.b.ep);
	must(dat_ep_free(w.a.ep));
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	must(dat_ep_free(w.b.ep));
}
END_TEST

/* ---- the listener ---- */

START_TEST(page_the_listener_says_that_it_asks_for_endpoints)
{
	DAT_PROVIDER_ATTR attr;
	DAT_PSP_PARAM param;

	psp = listen_for_eps(&w.b, QUAL);
	must(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	ck_assert_int_eq(param.psp_flags, DAT_PSP_PROVIDER_FLAG);
	must(dat_ia_query(w.b.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	ck_assert_int_eq(attr.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
}
END_TEST

START_TEST(G9_where_no_endpoint_can_be_made_the_request_finds_no_listener)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE last = NO_HANDLE, ep;

	attr.max_recv_dtos = attr.max_request_dtos = 1;
	psp = listen_for_eps(&w.b, QUAL);
	w.a.ep = plain_ep(&w.a);
	while (dat_ep_create(w.b.ia, w.b.pz, w.b.recv, w.b.request, w.b.connect, &attr, &ep) ==
	       DAT_SUCCESS)
		last = ep;
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_no_event(w.b.cr);
	must(dat_ep_free(last));
	must(dat_ep_reset(w.a.ep));
	(void)ask_with(w.a.ep);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_the_endpoint_is_TENTATIVE_without_PZ_and_EVDs);
	unit_test_loop(suite, page_with_PZ_and_EVDs_it_is_accepted_by_NULL_or_by_its_handle, 2);
	unit_test_all(suite, page_it_stays_the_Consumers_and_lives_on);
	unit_test_all(suite, E7_accept_names_what_is_missing_and_touches_nothing);
	unit_test_all(suite, E7_another_endpoint_is_not_accepted);
	unit_test_all(suite, E7_the_endpoint_of_one_request_does_not_answer_another);
	unit_test_all(suite, M2_without_a_PZ_no_memory_is_its_own);
	unit_test_loop(suite, page_rejected_it_is_the_providers_again_and_its_handle_none, 2);
	unit_test_all(suite, page_it_is_not_the_Consumers_to_free_before_the_accept);
	unit_test_all(suite, page_it_goes_with_a_request_that_nobody_can_see_any_more);
	unit_test_all(suite, page_an_abrupt_close_takes_it_too);
	unit_test_all(suite, E5_accepting_on_it_after_the_active_side_has_gone);
	unit_test_all(suite, page_the_listener_says_that_it_asks_for_endpoints);
	unit_test(suite, G9_where_no_endpoint_can_be_made_the_request_finds_no_listener);
}

UNIT_SUITE("made_ep")
