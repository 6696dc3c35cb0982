/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_ep_dup_connect and dat_psp_create_any: the pages. */
#include "tests/support/support.h"

static DAT_PSP_HANDLE psp;

/* w.a.ep, connected to a listener of w.b that keeps listening */
static void connect_first(void)
{
	psp = listen_at(&w.b, QUAL);
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	must(dat_cr_accept(expect_request(w.b.cr, psp), w.b.ep, 0, NULL));
	run_quiet();
	(void)drain(w.a.connect);
	(void)drain(w.b.connect);
}

static DAT_RETURN try_dup(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup)
{
	return dat_ep_dup_connect(ep, dup, DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT);
}

/* ---- dup_connect ---- */

START_TEST(page_the_remote_end_is_that_of_the_other_endpoint)
{
	static const char data[] = "again";
	DAT_EP_HANDLE ep = plain_ep(&w.a), theirs = plain_ep(&w.b);
	DAT_EP_PARAM mine, others;
	DAT_CR_PARAM request;
	DAT_CR_HANDLE cr;

	connect_first();
	must(dat_ep_dup_connect(ep, w.a.ep, DAT_TIMEOUT_INFINITE, sizeof(data),
				(DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT));
	expect_state(ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request));
	ck_assert_str_eq(request.private_data, data);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG)); /* dup_connect no longer needs it */
	must(dat_ep_free(w.a.ep));
	must(dat_cr_accept(cr, theirs, 0, NULL));
	run_quiet();
	expect_state(ep, DAT_EP_STATE_CONNECTED);
	expect_state(theirs, DAT_EP_STATE_CONNECTED);
	must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &mine));
	must(dat_ep_query(theirs, DAT_EP_FIELD_ALL, &others));
	ck_assert_uint_eq(mine.remote_port_qual, QUAL);
	ck_assert_mem_eq(mine.remote_ia_address_ptr, address(&w.b), sizeof(DAT_SOCK_ADDR));
	ck_assert_uint_eq(others.remote_port_qual, mine.local_port_qual);
}
END_TEST

START_TEST(page_it_fails_as_a_connect_does)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	connect_first();
	must(dat_ep_dup_connect(ep, w.a.ep, 250, 0, NULL, DAT_QOS_BEST_EFFORT));
	advance_us(250);
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	must(dat_ep_reset(ep));
	must(dat_psp_free(psp));
	must(try_dup(ep, w.a.ep));
	run_quiet();
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

/* The remote qualifier that a passive Endpoint reports is a port, and no listener is there. */
START_TEST(page_following_the_passive_side_finds_no_listener)
{
	DAT_EP_HANDLE ep = plain_ep(&w.b);

	connect_first();
	must(try_dup(ep, w.b.ep));
	run_quiet();
	expect_connection(w.b.connect, ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

START_TEST(page_only_a_CONNECTED_endpoint_can_be_followed)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep, dup;

	dup = ep_in_state(state);
	ep = plain_ep(&w.a);
	if (state == DAT_EP_STATE_CONNECTED) {
		must(try_dup(ep, dup));
		return;
	}
	must_fail(try_dup(ep, dup), DAT_INVALID_STATE, state_subtype(state));
	expect_state(ep, DAT_EP_STATE_UNCONNECTED);
	expect_state(dup, state);
}
END_TEST

START_TEST(G2_bad_arguments_change_nothing)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	char data[300] = "";

	connect_first();
	must_fail(try_dup((DAT_EP_HANDLE)w.a.pz, w.a.ep), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	must_fail(try_dup(ep, NO_HANDLE), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(try_dup(ep, (DAT_EP_HANDLE)w.a.pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(try_dup(ep, w.b.ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	must_fail(try_dup(ep, ep), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
	must_fail(dat_ep_dup_connect(ep, w.a.ep, 0, 0, NULL, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(dat_ep_dup_connect(ep, w.a.ep, 1, -1, data, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	must_fail(dat_ep_dup_connect(ep, w.a.ep, 1, 257, data, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	must_fail(dat_ep_dup_connect(ep, w.a.ep, 1, 1, NULL, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must_fail(dat_ep_dup_connect(ep, w.a.ep, 1, 0, NULL, (DAT_QOS)0x100), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG6);
	must_fail(dat_ep_dup_connect(ep, w.a.ep, 1, 0, NULL, DAT_QOS_PREMIUM),
		  DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	expect_state(ep, DAT_EP_STATE_UNCONNECTED);
	expect_no_event(w.b.cr);
}
END_TEST

/* ---- psp_create_any ---- */

START_TEST(page_a_free_qualifier_is_chosen_and_told)
{
	DAT_CONN_QUAL qual[100];
	DAT_PSP_HANDLE any[100];
	DAT_PSP_PARAM param;
	int i, j;

	for (i = 0; i < 100; i++) {
		must(dat_psp_create_any(w.b.ia, &qual[i], w.b.cr, DAT_PSP_CONSUMER_FLAG, &any[i]));
		ck_assert_uint_ne(qual[i], 0);
		for (j = 0; j < i; j++)
			ck_assert_uint_ne(qual[i], qual[j]);
	}
	must(dat_psp_query(any[99], DAT_PSP_FIELD_ALL, &param));
	ck_assert_uint_eq(param.conn_qual, qual[99]);
	ck_assert_ptr_eq(param.evd_handle, w.b.cr);
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, qual[42], DAT_TIMEOUT_INFINITE));
	run_quiet();
	must(dat_cr_accept(expect_request(w.b.cr, any[42]), plain_ep(&w.b), 0, NULL));
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	must_fail(dat_psp_create(w.b.ia, qual[7], w.b.cr, DAT_PSP_CONSUMER_FLAG, &any[0]),
		  DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	must(dat_psp_free(any[7]));
	must(dat_psp_create(w.b.ia, qual[7], w.b.cr, DAT_PSP_CONSUMER_FLAG, &any[0]));
}
END_TEST

START_TEST(page_it_may_ask_for_endpoints_too)
{
	DAT_CONN_QUAL qual = 0;
	DAT_CR_HANDLE cr;

	must(dat_psp_create_any(w.b.ia, &qual, w.b.cr, DAT_PSP_PROVIDER_FLAG, &psp));
	must(try_connect(plain_ep(&w.a), &w.b, qual, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	expect_state(ep_of_request(cr), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}
END_TEST

START_TEST(G2_bad_arguments_of_psp_create_any_write_nothing)
{
	DAT_PSP_HANDLE out = (DAT_PSP_HANDLE)&w;
	DAT_CONN_QUAL qual = 4711;

	must_fail(dat_psp_create_any((DAT_IA_HANDLE)w.b.cr, &qual, w.b.cr, DAT_PSP_CONSUMER_FLAG,
				     &out),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	must_fail(dat_psp_create_any(w.b.ia, &qual, w.b.recv, DAT_PSP_CONSUMER_FLAG, &out),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	must_fail(dat_psp_create_any(w.b.ia, &qual, w.a.cr, DAT_PSP_CONSUMER_FLAG, &out),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	must_fail(dat_psp_create_any(w.b.ia, NULL, w.b.cr, DAT_PSP_CONSUMER_FLAG, &out),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_psp_create_any(w.b.ia, &qual, w.b.cr, (DAT_PSP_FLAGS)2, &out),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	must_fail(dat_psp_create_any(w.b.ia, &qual, w.b.cr, DAT_PSP_CONSUMER_FLAG, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ck_assert_ptr_eq(out, &w);
	ck_assert_uint_eq(qual, 4711);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_PSP), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_the_remote_end_is_that_of_the_other_endpoint);
	unit_test_all(suite, page_it_fails_as_a_connect_does);
	unit_test_all(suite, page_following_the_passive_side_finds_no_listener);
	unit_test_loop(suite, page_only_a_CONNECTED_endpoint_can_be_followed, REACHABLE_STATES);
	unit_test_all(suite, G2_bad_arguments_change_nothing);
	unit_test_all(suite, page_a_free_qualifier_is_chosen_and_told);
	unit_test_all(suite, page_it_may_ask_for_endpoints_too);
	unit_test_all(suite, G2_bad_arguments_of_psp_create_any_write_nothing);
}

UNIT_SUITE("dup_connect")
