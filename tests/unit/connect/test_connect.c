/* SPDX-License-Identifier: BSD-3-Clause */
/* Making connections: dat_ep_connect, dat_psp, dat_cr. Ruling E4; "page_": the pages. */
#include "tests/support/support.h"

static DAT_RETURN connect_with_data(DAT_COUNT size, const void *data)
{
	return dat_ep_connect(w.a.ep, address(&w.b), QUAL, DAT_TIMEOUT_INFINITE, size,
			      (const DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static void expect_failed_setup(int number)
{
	expect_connection(w.a.connect, w.a.ep, number);
	expect_no_event(w.a.connect);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
}

/* ---- the events ---- */

START_TEST(page_the_request_event_says_what_was_asked_for)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL + 7);
	DAT_CR_ARRIVAL_EVENT_DATA data;
	DAT_EVENT event;

	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL + 7, DAT_TIMEOUT_INFINITE));
	run_quiet();
	event = expect_event(w.b.cr, DAT_CONNECTION_REQUEST_EVENT);
	data = event.event_data.cr_arrival_event_data;
	ck_assert_ptr_eq(data.sp_handle.psp_handle, psp);
	ck_assert_uint_eq(data.conn_qual, QUAL + 7);
	ck_assert_ptr_nonnull(data.cr_handle);
	ck_assert_ptr_nonnull(data.local_ia_address_ptr);
	ck_assert_int_eq(data.local_ia_address_ptr->sa_family, address(&w.b)->sa_family);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 1);
}
END_TEST

START_TEST(page_a_request_is_queried_by_its_handle)
{
	static const char data[] = "who is there";
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	must(connect_with_data(sizeof(data), data));
	run_quiet();
	cr = expect_event(w.b.cr, DAT_CONNECTION_REQUEST_EVENT)
		     .event_data.cr_arrival_event_data.cr_handle;
	memset(&param, 0xee, sizeof(param));
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.remote_ia_address_ptr->sa_family, address(&w.a)->sa_family);
	ck_assert_int_eq(param.private_data_size, (int)sizeof(data));
	ck_assert_mem_eq(param.private_data, data, sizeof(data));
	ck_assert_ptr_null(param.local_ep_handle);
}
END_TEST

START_TEST(page_the_answer_ends_the_request)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, plain_ep(&w.b), 0, NULL));
	must_fail(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CR);
	must_fail(dat_cr_reject(cr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	must_fail(dat_cr_accept(cr, plain_ep(&w.b), 0, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CR);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
}
END_TEST

START_TEST(page_rejecting_ends_the_request_and_tells_the_peer)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_reject(cr));
	must_fail(dat_cr_reject(cr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	run_quiet();
	expect_failed_setup(DAT_CONNECTION_EVENT_PEER_REJECTED);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
}
END_TEST

START_TEST(page_a_query_shows_the_remote_side_of_a_connection)
{
	DAT_EP_PARAM a, b;

	plain_pair();
	must(dat_ep_query(w.a.ep, DAT_EP_FIELD_ALL, &a));
	must(dat_ep_query(w.b.ep, DAT_EP_FIELD_ALL, &b));
	ck_assert_int_eq(a.ep_state, DAT_EP_STATE_CONNECTED);
	ck_assert_ptr_nonnull(a.remote_ia_address_ptr);
	ck_assert_ptr_nonnull(b.remote_ia_address_ptr);
	ck_assert_uint_eq(a.remote_port_qual, QUAL);
	ck_assert_uint_eq(b.remote_port_qual, a.local_port_qual);
	ck_assert_mem_eq(a.remote_ia_address_ptr, address(&w.b), sizeof(DAT_SOCK_ADDR));
	ck_assert_mem_eq(b.remote_ia_address_ptr, address(&w.a), sizeof(DAT_SOCK_ADDR));
}
END_TEST

START_TEST(page_an_adapter_can_connect_to_itself)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.a);
	connect_eps(&w.a, w.a.ep, &w.a, w.b.ep);
	post_recv(&w.a, w.b.ep, 5);
	fill_slot(&w.a, 0, 9);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.a.recv, w.b.ep, 5, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 5, 9, SHORT));
}
END_TEST

START_TEST(page_an_endpoint_may_go_without_a_connect_EVD)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep = NO_HANDLE;
	DAT_CR_HANDLE cr;

	must(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, NO_HANDLE, &attr, &ep));
	cr = request(ep, &w.b, QUAL);
	must(dat_cr_accept(cr, plain_ep(&w.b), 0, NULL));
	run_quiet();
	expect_state(ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* ---- E4: failures ---- */

START_TEST(E4_nobody_listens)
{
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_failed_setup(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

START_TEST(E4_a_freed_listener_is_none)
{
	must(dat_psp_free(listen_at(&w.b, QUAL)));
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_failed_setup(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

START_TEST(E4_the_CR_EVD_is_full)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	int queued = stuff(w.b.cr);

	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_failed_setup(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	for (; queued > 0; queued--)
		expect_event(w.b.cr, DAT_SOFTWARE_EVENT);
	expect_no_event(w.b.cr);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
	must(dat_psp_free(psp));
}
END_TEST

START_TEST(E4_the_backlog_is_the_length_of_the_CR_EVD)
{
	DAT_EVD_PARAM param;
	DAT_COUNT i;

	must(dat_evd_query(w.b.cr, DAT_EVD_FIELD_EVD_QLEN, &param));
	listen_at(&w.b, QUAL);
	for (i = 0; i < param.evd_qlen; i++)
		must(try_connect(plain_ep(&w.a), &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_no_event(w.a.connect);
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_failed_setup(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ck_assert_int_eq(drain(w.b.cr), param.evd_qlen);
}
END_TEST

START_TEST(E4_a_remote_that_is_not_open_is_unreachable)
{
	struct sockaddr_storage remote;

	memset(&remote, 0, sizeof(remote));
	memcpy(&remote, address(&w.b),
	       address(&w.b)->sa_family == DAT_AF_INET6 ? sizeof(struct sockaddr_in6)
							: sizeof(struct sockaddr_in));
	side_close(&w.b);
	w.a.ep = plain_ep(&w.a);
	must(dat_ep_connect(w.a.ep, (DAT_IA_ADDRESS_PTR)&remote, QUAL, DAT_TIMEOUT_INFINITE, 0,
			    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	run_quiet();
	expect_failed_setup(DAT_CONNECTION_EVENT_UNREACHABLE);
}
END_TEST

START_TEST(E4_a_remote_that_does_not_exist_is_unreachable)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xcb00714d) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { 0x20, 1, 0xd } };
	bool is_v6 = address(&w.b)->sa_family == DAT_AF_INET6;

	w.a.ep = plain_ep(&w.a);
	must(dat_ep_connect(w.a.ep, is_v6 ? (DAT_IA_ADDRESS_PTR)&v6 : (DAT_IA_ADDRESS_PTR)&v4, QUAL,
			    DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	run_quiet();
	expect_failed_setup(DAT_CONNECTION_EVENT_UNREACHABLE);
}
END_TEST

START_TEST(E4_no_answer_in_time_in_exact_virtual_time)
{
	DAT_UINT64 start = now_ns();

	w.a.ep = plain_ep(&w.a);
	post_recv(&w.a, w.a.ep, 0);
	listen_at(&w.b, QUAL);
	must(try_connect(w.a.ep, &w.b, QUAL, 250));
	must(dat_sim_advance(w.sim, 249999));
	expect_no_event(w.a.connect);
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	must(dat_sim_advance(w.sim, 1));
	expect_failed_setup(DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(now_ns() - start, 250000);
}
END_TEST

/* Longer than a count of nanoseconds in 32 bits, up to the longest one. */
START_TEST(E4_a_long_timeout_is_as_long_as_it_says)
{
	static const DAT_TIMEOUT timeouts[] = { 5000000, DAT_TIMEOUT_INFINITE - 1 };

	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	must(try_connect(w.a.ep, &w.b, QUAL, timeouts[_i]));
	must(dat_sim_advance(w.sim, timeouts[_i] * 1000ul - 1));
	expect_no_event(w.a.connect);
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	must(dat_sim_advance(w.sim, 1));
	expect_failed_setup(DAT_CONNECTION_EVENT_TIMED_OUT);
}
END_TEST

START_TEST(E4_a_silent_host_times_out_too)
{
	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	hold_link("emu0", "emu1");
	must(try_connect(w.a.ep, &w.b, QUAL, 1000));
	run_quiet();
	expect_failed_setup(DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_no_event(w.b.cr);
}
END_TEST

START_TEST(E4_an_address_that_makes_no_sense_is_refused_at_once)
{
	static const unsigned short families[] = { AF_UNSPEC, AF_UNIX, 0xffff };
	struct sockaddr_storage remote;

	memset(&remote, 0, sizeof(remote));
	remote.ss_family = families[_i];
	w.a.ep = plain_ep(&w.a);
	must_fail(dat_ep_connect(w.a.ep, (DAT_IA_ADDRESS_PTR)&remote, QUAL, DAT_TIMEOUT_INFINITE, 0,
				 NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		  DAT_INVALID_ADDRESS, ANY_SUBTYPE);
	expect_state(w.a.ep, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

START_TEST(E4_the_port_in_the_address_is_not_looked_at)
{
	struct sockaddr_storage remote;
	bool is_v6 = address(&w.b)->sa_family == DAT_AF_INET6;

	memset(&remote, 0, sizeof(remote));
	memcpy(&remote, address(&w.b),
	       is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	((struct sockaddr_in *)&remote)->sin_port = htons(4711); /* same offset in IPv6 */
	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	must(dat_ep_connect(w.a.ep, (DAT_IA_ADDRESS_PTR)&remote, QUAL, DAT_TIMEOUT_INFINITE, 0,
			    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	memset(&remote, 0xee, sizeof(remote)); /* the address is copied in the call */
	run_quiet();
	expect_event(w.b.cr, DAT_CONNECTION_REQUEST_EVENT);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_the_request_event_says_what_was_asked_for);
	unit_test_all(suite, page_a_request_is_queried_by_its_handle);
	unit_test_all(suite, page_the_answer_ends_the_request);
	unit_test_all(suite, page_rejecting_ends_the_request_and_tells_the_peer);
	unit_test_all(suite, page_a_query_shows_the_remote_side_of_a_connection);
	unit_test_all(suite, page_an_adapter_can_connect_to_itself);
	unit_test_all(suite, page_an_endpoint_may_go_without_a_connect_EVD);
	unit_test_all(suite, E4_nobody_listens);
	unit_test_all(suite, E4_a_freed_listener_is_none);
	unit_test_all(suite, E4_the_CR_EVD_is_full);
	unit_test_all(suite, E4_the_backlog_is_the_length_of_the_CR_EVD);
	unit_test_all(suite, E4_a_remote_that_is_not_open_is_unreachable);
	unit_test_all(suite, E4_a_remote_that_does_not_exist_is_unreachable);
	unit_test_all(suite, E4_no_answer_in_time_in_exact_virtual_time);
	unit_test_loop(suite, E4_a_long_timeout_is_as_long_as_it_says, 2);
	unit_test_all(suite, E4_a_silent_host_times_out_too);
	unit_test_loop(suite, E4_an_address_that_makes_no_sense_is_refused_at_once, 3);
	unit_test_all(suite, E4_the_port_in_the_address_is_not_looked_at);
}

UNIT_SUITE("connect")
