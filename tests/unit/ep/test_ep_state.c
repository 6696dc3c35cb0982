/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of an Endpoint: every transition that public calls can cause, with its events.
 * "page_": behaviour from the pages, without a ruling. Refusals are in test_ep_sweep.c.
 */
#include "tests/support/support.h"

/* ---- towards a connection ---- */

START_TEST(page_a_new_endpoint_is_UNCONNECTED)
{
	DAT_EP_STATE state = DAT_EP_STATE_CONNECTED;
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;

	w.a.ep = plain_ep(&w.a);
	must(dat_ep_get_status(w.a.ep, &state, &recv_idle, &request_idle));
	ck_assert_int_eq(state, DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(recv_idle, DAT_TRUE);
	ck_assert_int_eq(request_idle, DAT_TRUE);
}
END_TEST

START_TEST(page_connect_moves_to_ACTIVE_CONNECTION_PENDING_at_once)
{
	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	expect_no_event(w.a.connect);
}
END_TEST

START_TEST(page_accept_moves_to_COMPLETION_PENDING_then_both_are_CONNECTED)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_state(w.b.ep, DAT_EP_STATE_COMPLETION_PENDING);
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}
END_TEST

START_TEST(page_reject_moves_to_DISCONNECTED_and_flushes_receives)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	post_recvs(&w.a, w.a.ep, 0, 2);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_reject(cr));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.recv, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* ---- abandoning a connection during its set-up ---- */

static const DAT_CLOSE_FLAGS both_flags[] = { DAT_CLOSE_ABRUPT_FLAG, DAT_CLOSE_GRACEFUL_FLAG };

START_TEST(E5_disconnect_in_ACTIVE_CONNECTION_PENDING_aborts_the_setup)
{
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);

	post_recv(&w.a, ep, 0);
	must(dat_ep_disconnect(ep, both_flags[_i]));
	run_quiet();
	expect_state(ep, DAT_EP_STATE_DISCONNECTED);
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.a.connect);
	expect_dto(w.a.recv, ep, 0, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(E5_disconnect_in_COMPLETION_PENDING_aborts_the_setup)
{
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_COMPLETION_PENDING);

	post_recv(&w.a, ep, 0);
	must(dat_ep_disconnect(ep, both_flags[_i]));
	run_quiet();
	expect_state(ep, DAT_EP_STATE_DISCONNECTED);
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.a.connect);
	expect_dto(w.a.recv, ep, 0, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* ---- ending a connection ---- */

START_TEST(page_abrupt_disconnect_flushes_and_moves_both_to_DISCONNECTED)
{
	plain_pair();
	post_recv(&w.a, w.a.ep, 1);
	post_recv(&w.b, w.b.ep, 2);
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, 3, SHORT);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	release_link("emu0", "emu1");
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.recv, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.a.connect);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(page_graceful_disconnect_waits_for_requests)
{
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, 3, SHORT);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	expect_no_event(w.a.connect);
	release_link("emu0", "emu1");
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(page_graceful_disconnect_with_nothing_to_do_ends_too)
{
	plain_pair();
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

START_TEST(page_a_second_graceful_disconnect_has_no_effect)
{
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_DISCONNECT_PENDING);

	must(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	run_quiet();
	expect_state(ep, DAT_EP_STATE_DISCONNECT_PENDING);
	expect_no_event(w.a.connect);
	expect_no_event(w.a.request);
}
END_TEST

START_TEST(page_abrupt_disconnect_ends_DISCONNECT_PENDING)
{
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_DISCONNECT_PENDING);

	must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_state(ep, DAT_EP_STATE_DISCONNECTED);
	expect_dto(w.a.request, ep, SLOTS - 1, DAT_DTO_ERR_FLUSHED);
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.a.connect);
}
END_TEST

START_TEST(page_the_peers_disconnect_ends_DISCONNECT_PENDING)
{
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_DISCONNECT_PENDING);

	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_state(ep, DAT_EP_STATE_DISCONNECTED);
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

START_TEST(page_disconnect_of_a_DISCONNECTED_endpoint_does_nothing)
{
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_DISCONNECTED);

	must(dat_ep_disconnect(ep, both_flags[_i]));
	run_quiet();
	expect_state(ep, DAT_EP_STATE_DISCONNECTED);
	expect_no_event(w.a.connect);
}
END_TEST

START_TEST(page_both_sides_may_disconnect_at_the_same_time)
{
	plain_pair();
	must(dat_ep_disconnect(w.a.ep, both_flags[_i]));
	must(dat_ep_disconnect(w.b.ep, both_flags[_i]));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.a.connect);
	expect_no_event(w.b.connect);
}
END_TEST

/* ---- back to the start ---- */

START_TEST(page_reset_of_an_UNCONNECTED_endpoint_keeps_its_receives)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	post_recv(&w.b, w.b.ep, 7);
	must(dat_ep_reset(w.b.ep));
	expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
	expect_recv_counts(w.b.ep, 1, 1);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 7, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(page_a_reset_endpoint_can_connect_again)
{
	int round;

	plain_pair();
	for (round = 0; round < 3; round++) {
		post_recv(&w.b, w.b.ep, round);
		deliver(&w.a, w.a.ep, 1);
		expect_dto(w.b.recv, w.b.ep, round, DAT_DTO_SUCCESS);
		disconnect_pair();
		must(dat_ep_reset(w.a.ep));
		must(dat_ep_reset(w.b.ep));
		expect_state(w.a.ep, DAT_EP_STATE_UNCONNECTED);
		connect_eps(&w.b, w.b.ep, &w.a, w.a.ep);
	}
}
END_TEST

START_TEST(page_an_srq_endpoint_keeps_its_srq_over_reset)
{
	srq_pair(10);
	disconnect_pair();
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_srq(&w.b, 4);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 4, DAT_DTO_SUCCESS);
}
END_TEST

static bool is_claimed(DAT_EP_STATE state)
{
	return state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
	       state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
}

START_TEST(page_free_ends_an_endpoint_that_nobody_else_has_a_claim_on)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep = ep_in_state(state);
	DAT_COUNT left = objects(DAT_HANDLE_TYPE_EP);

	(void)drain(w.b.connect);
	if (is_claimed(state)) {
		must_fail(dat_ep_free(ep), DAT_INVALID_STATE, state_subtype(state));
		expect_state(ep, state);
		return;
	}
	must(dat_ep_free(ep));
	must_fail(dat_ep_get_status(ep, NULL, NULL, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_EP), left - 1);
	if (state == DAT_EP_STATE_DISCONNECT_PENDING || state == DAT_EP_STATE_COMPLETION_PENDING)
		release_link("emu0", "emu1");
	run_quiet();
	if (state == DAT_EP_STATE_CONNECTED || state == DAT_EP_STATE_DISCONNECT_PENDING)
		expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

/* ---- the peer ---- */

/* A program may read the whole of a DAT_SOCK_ADDR6; behind an IPv4 address it is zero. */
static void expect_address(const DAT_IA_ADDRESS_PTR remote_ia_address_ptr,
			   const DAT_SOCK_ADDR *wanted)
{
	size_t size = wanted->sa_family == AF_INET ? sizeof(*wanted) : sizeof(DAT_SOCK_ADDR6);
	DAT_SOCK_ADDR6 whole = { 0 };

	memcpy(&whole, wanted, size);
	ck_assert_mem_eq(remote_ia_address_ptr, &whole, sizeof(whole));
}

START_TEST(page_the_peer_is_told_in_every_state_that_has_one)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep = ep_in_state(state);
	DAT_EP_PARAM mine, theirs;

	must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &mine));
	ck_assert_mem_eq(mine.local_ia_address_ptr, address(&w.a), sizeof(DAT_SOCK_ADDR));
	if (state == DAT_EP_STATE_UNCONNECTED || state == DAT_EP_STATE_RESERVED ||
	    state == DAT_EP_STATE_DISCONNECTED) {
		ck_assert_ptr_null(mine.remote_ia_address_ptr);
		ck_assert_uint_eq(mine.remote_port_qual, 0);
		return;
	}
	expect_address(mine.remote_ia_address_ptr, address(&w.b));
	if (state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		return; /* the request is not answered */
	must(dat_ep_query(w.b.ep, DAT_EP_FIELD_ALL, &theirs));
	expect_address(theirs.remote_ia_address_ptr, address(&w.a));
	/* The connecting side reports the remote qualifier, the passive side a port. */
	if (theirs.remote_port_qual == QUAL)
		ck_assert_uint_eq(mine.remote_port_qual, theirs.local_port_qual);
	else
		ck_assert_uint_eq(mine.remote_port_qual, QUAL);
}
END_TEST

/* ---- posting ---- */

START_TEST(page_a_receive_is_taken_in_every_state)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep = ep_in_state(state);

	post_recv(&w.a, ep, 3);
	if (state == DAT_EP_STATE_DISCONNECTED)
		expect_dto(w.a.recv, ep, 3, DAT_DTO_ERR_FLUSHED);
	else
		expect_no_event(w.a.recv);
}
END_TEST

START_TEST(page_a_send_on_a_DISCONNECTED_endpoint_is_flushed_at_once)
{
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_DISCONNECTED);
	DAT_UINT64 before = now_ns();

	post_send(&w.a, ep, 3, SHORT);
	expect_dto(w.a.request, ep, 3, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(now_ns(), before);
}
END_TEST

/* It has no place for a request in any state. */
START_TEST(page_an_endpoint_without_requests_refuses_a_send_when_DISCONNECTED_too)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_RMR_CONTEXT context = 5;
	DAT_RMR_HANDLE rmr = make_rmr(&w.a);

	attr.max_request_dtos = 0;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	must_fail(try_send(&w.a, w.a.ep, 0, SHORT), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	must_fail(try_send(&w.a, w.a.ep, 0, SHORT), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must_fail(try_write(&w.a, w.a.ep, 0, remote(&w.b, 0, SHORT), 0), DAT_INSUFFICIENT_RESOURCES,
		  ANY_SUBTYPE);
	must_fail(try_bind(rmr, &w.a, w.a.ep, 1, SHORT, DAT_MEM_PRIV_ALL_FLAG, &context),
		  DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	ck_assert_uint_eq(context, 5);
	expect_no_event(w.a.request);
}
END_TEST

START_TEST(page_get_status_tells_what_is_under_way)
{
	DAT_BOOLEAN recv_idle = DAT_TRUE, request_idle = DAT_TRUE;

	plain_pair();
	post_recv(&w.a, w.a.ep, 0);
	post_recv(&w.b, w.b.ep, 0);
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, 1, SHORT);
	must(dat_ep_get_status(w.a.ep, NULL, &recv_idle, &request_idle));
	ck_assert_int_eq(recv_idle, DAT_FALSE);
	ck_assert_int_eq(request_idle, DAT_FALSE);
	release_link("emu0", "emu1");
	run_quiet();
	must(dat_ep_get_status(w.a.ep, NULL, &recv_idle, &request_idle));
	ck_assert_int_eq(recv_idle, DAT_FALSE);
	ck_assert_int_eq(request_idle, DAT_TRUE);
	must(dat_ep_get_status(w.b.ep, NULL, &recv_idle, &request_idle));
	ck_assert_int_eq(recv_idle, DAT_TRUE);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_a_new_endpoint_is_UNCONNECTED);
	unit_test_all(suite, page_connect_moves_to_ACTIVE_CONNECTION_PENDING_at_once);
	unit_test_all(suite, page_accept_moves_to_COMPLETION_PENDING_then_both_are_CONNECTED);
	unit_test_all(suite, page_reject_moves_to_DISCONNECTED_and_flushes_receives);
	unit_test_loop(suite, E5_disconnect_in_ACTIVE_CONNECTION_PENDING_aborts_the_setup, 2);
	unit_test_loop(suite, E5_disconnect_in_COMPLETION_PENDING_aborts_the_setup, 2);
	unit_test_all(suite, page_abrupt_disconnect_flushes_and_moves_both_to_DISCONNECTED);
	unit_test_all(suite, page_graceful_disconnect_waits_for_requests);
	unit_test_all(suite, page_graceful_disconnect_with_nothing_to_do_ends_too);
	unit_test_all(suite, page_a_second_graceful_disconnect_has_no_effect);
	unit_test_all(suite, page_abrupt_disconnect_ends_DISCONNECT_PENDING);
	unit_test_all(suite, page_the_peers_disconnect_ends_DISCONNECT_PENDING);
	unit_test_loop(suite, page_disconnect_of_a_DISCONNECTED_endpoint_does_nothing, 2);
	unit_test_loop(suite, page_both_sides_may_disconnect_at_the_same_time, 2);
	unit_test_all(suite, page_reset_of_an_UNCONNECTED_endpoint_keeps_its_receives);
	unit_test_all(suite, page_a_reset_endpoint_can_connect_again);
	unit_test_all(suite, page_an_srq_endpoint_keeps_its_srq_over_reset);
	unit_test_loop(suite, page_free_ends_an_endpoint_that_nobody_else_has_a_claim_on,
		       REACHABLE_STATES);
	unit_test_loop(suite, page_the_peer_is_told_in_every_state_that_has_one, REACHABLE_STATES);
	unit_test_loop(suite, page_a_receive_is_taken_in_every_state, REACHABLE_STATES);
	unit_test_all(suite, page_a_send_on_a_DISCONNECTED_endpoint_is_flushed_at_once);
	unit_test(suite, page_an_endpoint_without_requests_refuses_a_send_when_DISCONNECTED_too);
	unit_test_all(suite, page_get_status_tells_what_is_under_way);
}

UNIT_SUITE("ep_state")
