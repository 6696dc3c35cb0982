/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_cr_handoff: ruling E4, and the page. w.b listens, w.a connects. */
#include "tests/support/support.h"

static DAT_PSP_HANDLE first;

static DAT_CR_HANDLE ask(void)
{
	static const char data[] = "a greeting from one EP";

	first = listen_at(&w.b, QUAL);
	w.a.ep = plain_ep(&w.a);
	must(dat_ep_connect(w.a.ep, address(&w.b), QUAL, DAT_TIMEOUT_INFINITE, sizeof(data),
			    (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	run_quiet();
	return expect_request(w.b.cr, first);
}

static void expect_dead(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	must_fail(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CR);
	must_fail(dat_cr_handoff(cr, QUAL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
}

static void expect_untouched(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, 23);
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	expect_no_event(w.b.cr);
}

/* ---- to a listener ---- */

START_TEST(page_the_other_listener_gets_the_request_as_it_came)
{
	DAT_PSP_HANDLE second = listen_at(&w.b, QUAL + 1);
	DAT_CR_HANDLE cr = ask(), next;
	DAT_CR_ARRIVAL_EVENT_DATA data;
	DAT_CR_PARAM before, after;
	DAT_UINT64 then = now_ns();

	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &before));
	must(dat_cr_handoff(cr, QUAL + 1));
	expect_dead(cr);
	data = expect_event(w.b.cr, DAT_CONNECTION_REQUEST_EVENT).event_data.cr_arrival_event_data;
	ck_assert_ptr_eq(data.sp_handle.psp_handle, second);
	ck_assert_uint_eq(data.conn_qual, QUAL + 1);
	next = data.cr_handle;
	ck_assert_ptr_ne(next, cr);
	must(dat_cr_query(next, DAT_CR_FIELD_ALL, &after));
	ck_assert_uint_eq(after.remote_port_qual, before.remote_port_qual);
	ck_assert_int_eq(after.private_data_size, 23);
	ck_assert_str_eq(after.private_data, "a greeting from one EP");
	ck_assert_uint_eq(now_ns(), then); /* the call is synchronous */
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 1);
	must(dat_cr_accept(next, plain_ep(&w.b), 0, NULL));
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(page_it_may_go_on_and_come_back)
{
	DAT_PSP_HANDLE second = listen_at(&w.b, QUAL + 1);
	DAT_CR_HANDLE cr = ask();
	int i;

	for (i = 0; i < 10; i++) {
		must(dat_cr_handoff(cr, QUAL + 1));
		cr = expect_request(w.b.cr, second);
		must(dat_cr_handoff(cr, QUAL));
		cr = expect_request(w.b.cr, first);
		must(dat_cr_handoff(cr, QUAL)); /* to its own listener */
		cr = expect_request(w.b.cr, first);
	}
	must(dat_cr_reject(cr));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	expect_no_event(w.a.connect);
}
END_TEST

START_TEST(page_a_reserved_service_point_takes_one_too)
{
	DAT_CR_HANDLE cr = ask();
	DAT_RSP_HANDLE rsp;

	w.b.ep = plain_ep(&w.b);
	rsp = reserve(&w.b, QUAL + 1, w.b.ep);
	must(dat_cr_handoff(cr, QUAL + 1));
	expect_dead(cr);
	cr = expect_request(w.b.cr, rsp);
	expect_state(w.b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(page_a_listener_of_another_opening_of_the_adapter_takes_one_too)
{
	DAT_EVD_HANDLE async = NO_HANDLE, evd;
	DAT_IA_HANDLE ia = NO_HANDLE;
	DAT_CR_HANDLE cr = ask();
	DAT_PSP_HANDLE psp;
	char name[] = "emu1";

	must(dat_ia_open(name, EVD_LENGTH, &async, &ia));
	must(dat_evd_create(ia, EVD_LENGTH, NO_HANDLE, DAT_EVD_CR_FLAG, &evd));
	must(dat_psp_create(ia, QUAL + 1, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	must(dat_cr_handoff(cr, QUAL + 1));
	must(dat_cr_reject(expect_request(evd, psp)));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

START_TEST(E5_a_request_whose_sender_has_gone_can_be_handed_off)
{
	DAT_PSP_HANDLE second = listen_at(&w.b, QUAL + 1);
	DAT_CR_HANDLE cr = ask();

	must(dat_ep_free(w.a.ep));
	run_quiet();
	must(dat_cr_handoff(cr, QUAL + 1));
	cr = expect_request(w.b.cr, second);
	w.b.ep = plain_ep(&w.b);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}
END_TEST

/* ---- the EP that came with the request ---- */

START_TEST(page_a_reserved_endpoint_goes_back_to_the_Consumer)
{
	DAT_PSP_HANDLE second = listen_at(&w.b, QUAL + 1);
	DAT_RSP_HANDLE rsp;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	rsp = reserve(&w.b, QUAL, w.b.ep);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	must(dat_cr_handoff(expect_request(w.b.cr, rsp), QUAL + 1));
	expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
	must(dat_cr_accept(expect_request(w.b.cr, second), w.b.ep, 0, NULL));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(page_an_endpoint_made_for_the_request_goes_and_another_may_come)
{
	DAT_PSP_HANDLE psp = listen_for_eps(&w.b, QUAL), second = listen_for_eps(&w.b, QUAL + 1);
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	w.b.ep = ep_of_request(cr);
	configure(&w.b, w.b.ep);
	must(dat_cr_handoff(cr, QUAL + 1));
	must_fail(dat_ep_get_status(w.b.ep, NULL, NULL, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	cr = expect_request(w.b.cr, second);
	w.b.ep = ep_of_request(cr);
	configure(&w.b, w.b.ep);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* ---- a target without a listener ---- */

START_TEST(E4_nobody_listens_there)
{
	DAT_CR_HANDLE cr = ask();

	listen_at(&w.a, QUAL + 1); /* listens on the other adapter */
	must_fail(dat_cr_handoff(cr, QUAL + 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_cr_handoff(cr, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_cr_handoff(cr, UINT64_MAX), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must(dat_psp_free(first));
	must_fail(dat_cr_handoff(cr, QUAL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_untouched(cr);
}
END_TEST

START_TEST(E4_nobody_listens_there_so_a_reserved_endpoint_stays_with_the_request)
{
	DAT_CR_HANDLE cr;
	DAT_RSP_HANDLE rsp;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	rsp = reserve(&w.b, QUAL, w.b.ep);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(w.b.cr, rsp);
	must_fail(dat_cr_handoff(cr, QUAL + 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_state(w.b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	ck_assert_ptr_eq(ep_of_request(cr), w.b.ep);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(E4_nobody_listens_there_so_an_endpoint_made_for_the_request_stays_with_it)
{
	DAT_PSP_HANDLE psp = listen_for_eps(&w.b, QUAL);
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	w.b.ep = ep_of_request(cr);
	configure(&w.b, w.b.ep);
	must_fail(dat_cr_handoff(cr, QUAL + 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ck_assert_ptr_eq(ep_of_request(cr), w.b.ep);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(E4_a_spent_reserved_service_point_is_nobody)
{
	DAT_CR_HANDLE cr = ask();
	DAT_RSP_HANDLE rsp;

	w.b.ep = plain_ep(&w.b);
	rsp = reserve(&w.b, QUAL + 1, w.b.ep);
	must(try_connect(plain_ep(&w.a), &w.b, QUAL + 1, DAT_TIMEOUT_INFINITE));
	run_quiet();
	(void)expect_request(w.b.cr, rsp);
	must_fail(dat_cr_handoff(cr, QUAL + 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_untouched(cr);
}
END_TEST

START_TEST(E4_a_listener_with_a_full_CR_EVD_is_nobody)
{
	DAT_EVD_HANDLE evd = make_evd(&w.b, 2, DAT_EVD_CR_FLAG);
	DAT_CR_HANDLE cr = ask();
	DAT_PSP_HANDLE psp;

	must(dat_psp_create(w.b.ia, QUAL + 1, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	(void)stuff(evd);
	must_fail(dat_cr_handoff(cr, QUAL + 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_untouched(cr);
	(void)drain(evd);
	must(dat_cr_handoff(cr, QUAL + 1));
	(void)expect_request(evd, psp);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_the_other_listener_gets_the_request_as_it_came);
	unit_test_all(suite, page_it_may_go_on_and_come_back);
	unit_test_all(suite, page_a_reserved_service_point_takes_one_too);
	unit_test_all(suite, page_a_listener_of_another_opening_of_the_adapter_takes_one_too);
	unit_test_all(suite, E5_a_request_whose_sender_has_gone_can_be_handed_off);
	unit_test_all(suite, page_a_reserved_endpoint_goes_back_to_the_Consumer);
	unit_test_all(suite, page_an_endpoint_made_for_the_request_goes_and_another_may_come);
	unit_test_all(suite, E4_nobody_listens_there);
	unit_test_all(suite, E4_nobody_listens_there_so_a_reserved_endpoint_stays_with_the_request);
	unit_test_all(suite,
		      E4_nobody_listens_there_so_an_endpoint_made_for_the_request_stays_with_it);
	unit_test_all(suite, E4_a_spent_reserved_service_point_is_nobody);
	unit_test_all(suite, E4_a_listener_with_a_full_CR_EVD_is_nobody);
}

UNIT_SUITE("handoff")
