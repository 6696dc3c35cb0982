/* SPDX-License-Identifier: BSD-3-Clause */
/* Reserved service points: ruling E3. "page_": the pages. w.b reserves, w.a connects. */
#include "tests/support/support.h"

static DAT_RSP_HANDLE rsp;

static void reserve_for_b(void)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	rsp = reserve(&w.b, QUAL, w.b.ep);
}

static DAT_CR_HANDLE ask(void)
{
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	return expect_request(w.b.cr, rsp);
}

static DAT_EP_HANDLE reserved_ep(void)
{
	DAT_RSP_PARAM param;

	must(dat_rsp_query(rsp, DAT_RSP_FIELD_EP_HANDLE, &param));
	return param.ep_handle;
}

/* ---- states of the EP ---- */

START_TEST(page_from_RESERVED_over_PASSIVE_CONNECTION_PENDING_to_CONNECTED)
{
	DAT_CR_HANDLE cr;

	reserve_for_b();
	expect_state(w.b.ep, DAT_EP_STATE_RESERVED);
	cr = ask();
	expect_state(w.b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	expect_state(w.b.ep, DAT_EP_STATE_COMPLETION_PENDING);
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	post_recv(&w.b, w.b.ep, 3);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 3, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(page_the_request_tells_its_endpoint_and_the_endpoint_its_peer)
{
	DAT_CR_PARAM param;
	DAT_EP_PARAM a, b;
	DAT_CR_HANDLE cr;

	(void)plain_ep(&w.a); /* so that no two numbers are equal by chance */
	reserve_for_b();
	cr = ask();
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	must(dat_ep_query(w.a.ep, DAT_EP_FIELD_ALL, &a));
	must(dat_ep_query(w.b.ep, DAT_EP_FIELD_ALL, &b));
	ck_assert_ptr_eq(param.local_ep_handle, w.b.ep);
	ck_assert_uint_eq(param.remote_port_qual, a.local_port_qual);
	ck_assert_uint_eq(b.remote_port_qual, a.local_port_qual);
	ck_assert_mem_eq(param.remote_ia_address_ptr, address(&w.a), sizeof(DAT_SOCK_ADDR));
	ck_assert_mem_eq(b.remote_ia_address_ptr, address(&w.a), sizeof(DAT_SOCK_ADDR));
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	must(dat_ep_query(w.b.ep, DAT_EP_FIELD_ALL, &b));
	ck_assert_uint_eq(b.remote_port_qual, a.local_port_qual);
}
END_TEST

START_TEST(page_the_endpoint_may_be_named_and_no_other_will_do)
{
	DAT_EP_HANDLE other = plain_ep(&w.b);
	DAT_CR_HANDLE cr;

	reserve_for_b();
	cr = ask();
	must_fail(dat_cr_accept(cr, other, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_cr_accept(cr, w.a.ep, 0, NULL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	expect_state(other, DAT_EP_STATE_UNCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(page_rejecting_gives_the_endpoint_back_with_its_receives)
{
	DAT_EP_PARAM param;

	reserve_for_b();
	post_recv(&w.b, w.b.ep, 7);
	must(dat_cr_reject(ask()));
	expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
	must(dat_ep_query(w.b.ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_ptr_null(param.remote_ia_address_ptr);
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	expect_no_event(w.b.recv);
	must(dat_ep_reset(w.a.ep));
	must(dat_rsp_free(rsp));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 7, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(E5_accepting_a_request_whose_sender_has_gone)
{
	DAT_CR_HANDLE cr;

	reserve_for_b();
	post_recv(&w.b, w.b.ep, 2);
	cr = ask();
	must(dat_ep_free(w.a.ep));
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_dto(w.b.recv, w.b.ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* ---- one shot ---- */

START_TEST(E3_a_second_request_finds_no_listener)
{
	DAT_EP_HANDLE second = plain_ep(&w.a);
	DAT_CR_HANDLE cr;

	reserve_for_b();
	cr = ask();
	must(try_connect(second, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_connection(w.a.connect, second, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_no_event(w.b.cr);
	must(dat_cr_reject(cr));
	must(dat_ep_reset(second));
	must(try_connect(second, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	expect_connection(w.a.connect, second, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

START_TEST(E3_it_stays_until_freed_and_so_does_its_qualifier)
{
	DAT_PSP_HANDLE psp = (DAT_PSP_HANDLE)&w;
	DAT_RSP_PARAM param;

	reserve_for_b();
	must(dat_cr_accept(ask(), NO_HANDLE, 0, NULL));
	run_quiet();
	must(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ep_handle, w.b.ep);
	must_fail(dat_psp_create(w.b.ia, QUAL, w.b.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	must(dat_rsp_free(rsp));
	must_fail(dat_rsp_free(rsp), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	listen_at(&w.b, QUAL);
}
END_TEST

START_TEST(E3_freeing_it_leaves_a_pending_request_and_its_endpoint)
{
	DAT_CR_HANDLE cr;

	reserve_for_b();
	cr = ask();
	must(dat_rsp_free(rsp));
	expect_state(w.b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(E3_freeing_it_before_a_request_gives_the_endpoint_back)
{
	reserve_for_b();
	must(dat_rsp_free(rsp));
	expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_RSP), 0);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	connect_eps(&w.a, plain_ep(&w.a), &w.b, w.b.ep);
}
END_TEST

/* The request is in flight when the RSP is freed. */
START_TEST(E3_a_request_that_comes_too_late_finds_no_listener)
{
	reserve_for_b();
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	must(dat_rsp_free(rsp));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
	expect_no_event(w.b.cr);
}
END_TEST

START_TEST(E4_a_full_CR_EVD_turns_away_and_the_shot_is_not_spent)
{
	reserve_for_b();
	(void)stuff(w.b.cr);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_state(w.b.ep, DAT_EP_STATE_RESERVED);
	(void)drain(w.b.cr);
	must(dat_ep_reset(w.a.ep));
	must(dat_cr_accept(ask(), NO_HANDLE, 0, NULL));
}
END_TEST

/* ---- the RSP outlives its EP ---- */

START_TEST(G3_the_endpoint_may_be_freed_or_reserved_again_before_the_RSP_goes)
{
	DAT_RSP_HANDLE first, second;

	reserve_for_b();
	first = rsp;
	must(dat_cr_reject(ask()));
	second = reserve(&w.b, QUAL + 1, w.b.ep);
	must(dat_rsp_free(first));
	expect_state(w.b.ep, DAT_EP_STATE_RESERVED);
	must(dat_rsp_free(second));
	rsp = reserve(&w.b, QUAL, w.b.ep);
	w.a.ep = plain_ep(&w.a);
	must(dat_cr_reject(ask()));
	must(dat_ep_free(w.b.ep));
	ck_assert_ptr_null(reserved_ep());
	must(dat_rsp_free(rsp));
}
END_TEST

/* ---- arguments ---- */

START_TEST(page_it_tells_what_it_was_made_with)
{
	DAT_RSP_PARAM param;

	reserve_for_b();
	memset(&param, 0xee, sizeof(param));
	must(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.b.ia);
	ck_assert_uint_eq(param.conn_qual, QUAL);
	ck_assert_ptr_eq(param.evd_handle, w.b.cr);
	ck_assert_ptr_eq(param.ep_handle, w.b.ep);
	must(dat_rsp_query(rsp, 0, NULL));
	must_fail(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_fail(dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)0x10, &param), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_rsp_query((DAT_RSP_HANDLE)w.b.ep, DAT_RSP_FIELD_ALL, &param),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
}
END_TEST

START_TEST(G2_bad_arguments_change_nothing)
{
	DAT_RSP_HANDLE out = (DAT_RSP_HANDLE)&w;

	listen_at(&w.b, QUAL + 1);
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must_fail(dat_rsp_create((DAT_IA_HANDLE)w.b.ep, QUAL, w.b.ep, w.b.cr, &out),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	must_fail(dat_rsp_create(w.b.ia, QUAL, w.a.ep, w.b.cr, &out), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	must_fail(dat_rsp_create(w.b.ia, QUAL, (DAT_EP_HANDLE)w.b.cr, w.b.cr, &out),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(dat_rsp_create(w.b.ia, QUAL, w.b.ep, w.b.recv, &out), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EVD_CR);
	must_fail(dat_rsp_create(w.b.ia, QUAL, w.b.ep, NO_HANDLE, &out), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EVD_CR);
	must_fail(dat_rsp_create(w.b.ia, 0, w.b.ep, w.b.cr, &out), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_rsp_create(w.b.ia, QUAL, w.b.ep, w.b.cr, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG5);
	must_fail(dat_rsp_create(w.b.ia, QUAL + 1, w.b.ep, w.b.cr, &out), DAT_CONN_QUAL_IN_USE,
		  DAT_NO_SUBTYPE);
	ck_assert_ptr_eq(out, &w);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_RSP), 0);
	expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

START_TEST(page_it_holds_its_EVD)
{
	reserve_for_b();
	must_fail(dat_evd_free(w.b.cr), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	must(dat_rsp_free(rsp));
	must(dat_evd_free(w.b.cr));
}
END_TEST

/* Freeing the EVD drops the request on it: no answer will come. */
START_TEST(page_a_request_that_nobody_can_see_any_more_is_turned_away)
{
	reserve_for_b();
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_rsp_free(rsp));
	must(dat_evd_free(w.b.cr));
	expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

/* ---- without an EP of the Consumer ---- */

START_TEST(page_a_NULL_endpoint_asks_the_provider_for_one)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	rsp = reserve(&w.b, QUAL, NO_HANDLE);
	ck_assert_ptr_null(reserved_ep());
	cr = ask();
	w.b.ep = ep_of_request(cr);
	ck_assert_ptr_eq(reserved_ep(), w.b.ep);
	expect_state(w.b.ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	configure(&w.b, w.b.ep);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	must(dat_rsp_free(rsp));
	must(dat_ep_free(w.b.ep));
}
END_TEST

START_TEST(page_the_providers_endpoint_goes_when_its_request_is_rejected)
{
	w.a.ep = plain_ep(&w.a);
	rsp = reserve(&w.b, QUAL, NO_HANDLE);
	must(dat_cr_reject(ask()));
	ck_assert_ptr_null(reserved_ep());
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_EP), 1);
	must(dat_rsp_free(rsp));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_from_RESERVED_over_PASSIVE_CONNECTION_PENDING_to_CONNECTED);
	unit_test_all(suite, page_the_request_tells_its_endpoint_and_the_endpoint_its_peer);
	unit_test_all(suite, page_the_endpoint_may_be_named_and_no_other_will_do);
	unit_test_all(suite, page_rejecting_gives_the_endpoint_back_with_its_receives);
	unit_test_all(suite, E5_accepting_a_request_whose_sender_has_gone);
	unit_test_all(suite, E3_a_second_request_finds_no_listener);
	unit_test_all(suite, E3_it_stays_until_freed_and_so_does_its_qualifier);
	unit_test_all(suite, E3_freeing_it_leaves_a_pending_request_and_its_endpoint);
	unit_test_all(suite, E3_freeing_it_before_a_request_gives_the_endpoint_back);
	unit_test_all(suite, E3_a_request_that_comes_too_late_finds_no_listener);
	unit_test_all(suite, E4_a_full_CR_EVD_turns_away_and_the_shot_is_not_spent);
	unit_test_all(suite, G3_the_endpoint_may_be_freed_or_reserved_again_before_the_RSP_goes);
	unit_test_all(suite, page_it_tells_what_it_was_made_with);
	unit_test_all(suite, G2_bad_arguments_change_nothing);
	unit_test_all(suite, page_it_holds_its_EVD);
	unit_test_all(suite, page_a_request_that_nobody_can_see_any_more_is_turned_away);
	unit_test_all(suite, page_a_NULL_endpoint_asks_the_provider_for_one);
	unit_test_all(suite, page_the_providers_endpoint_goes_when_its_request_is_rejected);
}

UNIT_SUITE("rsp")
