/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_evd_wait in exact virtual time, and the completions that are notifications: rulings E1, A2,
 * A2a, G2; "page_": the pages.
 */
#include "tests/support/support.h"

static DAT_EVENT event;
static DAT_COUNT nmore;

static DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_COUNT threshold)
{
	memset(&event, 0xee, sizeof(event));
	nmore = -77;
	return dat_evd_wait(evd, us, threshold, &event, &nmore);
}

static bool event_untouched(void)
{
	DAT_EVENT poison;

	memset(&poison, 0xee, sizeof(poison));
	return memcmp(&event, &poison, sizeof(event)) == 0;
}

/* w.b's EP has these receive flags, w.a's EP these request flags. */
static void pair_with_flags(int request_flags, int recv_flags)
{
	DAT_EP_ATTR a = ep_attr(), b = ep_attr();

	a.request_completion_flags = (DAT_COMPLETION_FLAGS)request_flags;
	b.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv_flags;
	w.a.ep = plain_ep_with(&w.a, &a);
	w.b.ep = plain_ep_with(&w.b, &b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

static DAT_RETURN send_flagged(int n, int flags)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, n, SHORT);

	return dat_ep_post_send(w.a.ep, 1, &iov, cookie(n), (DAT_COMPLETION_FLAGS)flags);
}

/*
 * Waits for 100 us, during which event n comes without waking the waiter. No ruling says whether
 * the wait at its deadline returns the event or reports it with nmore 1; the event must not be
 * lost, nor be returned earlier.
 */
static void expect_not_woken(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, int n)
{
	DAT_UINT64 start = now_ns();
	DAT_RETURN ret = wait_for(evd, 100, 1);

	ck_assert_uint_eq(now_ns() - start, 100000);
	if (ret == DAT_SUCCESS) {
		ck_assert_int_eq(nmore, 0);
		ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, n);
		expect_no_event(evd);
		return;
	}
	ck_assert_msg(is_failure(ret, DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE), "%s", ret_text(ret));
	ck_assert_int_eq(nmore, 1);
	expect_dto(evd, ep, n, DAT_DTO_SUCCESS);
}

/* ---- time ---- */

START_TEST(page_a_wait_in_vain_lasts_exactly_its_timeout)
{
	DAT_UINT64 start = now_ns();

	must_fail(wait_for(w.a.recv, 50, 1), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_uint_eq(now_ns() - start, 50000);
	ck_assert_int_eq(nmore, 0);
	ck_assert(event_untouched());
}
END_TEST

START_TEST(page_half_an_hour_costs_nothing)
{
	DAT_UINT64 start = now_ns();

	must_fail(wait_for(w.a.recv, 1800000000u, 1), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_uint_eq(now_ns() - start, UINT64_C(1800000000000));
}
END_TEST

START_TEST(page_a_timeout_of_0_looks_once)
{
	DAT_UINT64 start = now_ns();

	must_fail(wait_for(w.a.recv, 0, 1), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	post_se(w.a.recv, 1);
	must(wait_for(w.a.recv, 0, 1));
	ck_assert_uint_eq(now_ns(), start);
}
END_TEST

START_TEST(page_a_wait_ends_at_the_very_event)
{
	DAT_UINT64 start;

	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(wait_for(w.b.recv, DAT_TIMEOUT_INFINITE, 1));
	ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_ptr_eq(event.evd_handle, w.b.recv);
	ck_assert_uint_eq(now_ns() - start, LATENCY_NS);
	ck_assert_int_eq(nmore, 0);
}
END_TEST

START_TEST(page_an_event_at_the_deadline_is_in_time)
{
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(wait_for(w.b.recv, LATENCY_NS / 1000, 1));
}
END_TEST

START_TEST(page_waiting_sees_connection_events_too)
{
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	must(wait_for(w.a.connect, DAT_TIMEOUT_INFINITE, 1));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

/* ---- threshold and nmore ---- */

START_TEST(page_nmore_is_what_is_left)
{
	int n;

	for (n = 0; n < 3; n++)
		post_se(w.a.recv, n);
	for (n = 2; n >= 0; n--) {
		must(wait_for(w.a.recv, 0, 1));
		ck_assert_int_eq(nmore, n);
	}
}
END_TEST

START_TEST(page_a_threshold_waits_for_that_many_events)
{
	DAT_UINT64 start;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_sim_advance(w.sim, 400));
	post_send(&w.a, w.a.ep, 1, SHORT);
	must(wait_for(w.b.recv, DAT_TIMEOUT_INFINITE, 2));
	ck_assert_uint_eq(now_ns() - start, 400 + LATENCY_NS);
	ck_assert_int_eq(nmore, 1);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(G2_nmore_is_written_on_a_timeout_and_no_event_is_taken)
{
	DAT_UINT64 start = now_ns();

	post_se(w.a.recv, 7);
	must_fail(wait_for(w.a.recv, 30, 2), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_uint_eq(now_ns() - start, 30000);
	ck_assert_int_eq(nmore, 1);
	ck_assert(event_untouched());
	expect_event(w.a.recv, DAT_SOFTWARE_EVENT);
}
END_TEST

START_TEST(G3_nmore_may_be_NULL_and_event_may_not)
{
	post_se(w.a.recv, 1);
	must(dat_evd_wait(w.a.recv, 0, 1, &event, NULL));
	must_fail(dat_evd_wait(w.a.recv, 0, 1, &event, NULL), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	must_fail(dat_evd_wait(w.a.recv, 0, 1, NULL, &nmore), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG4);
}
END_TEST

START_TEST(E1_a_threshold_below_1_or_above_the_length_is_an_invalid_parameter)
{
	DAT_EVD_PARAM param;

	must(dat_evd_query(w.a.recv, DAT_EVD_FIELD_EVD_QLEN, &param));
	post_se(w.a.recv, 1);
	must_fail(wait_for(w.a.recv, 10, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(wait_for(w.a.recv, 10, -1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(wait_for(w.a.recv, 10, param.evd_qlen + 1), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_fail(wait_for(w.a.recv, 10, INT_MAX), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ck_assert_int_eq(nmore, -77);
	must_fail(wait_for(w.a.recv, 10, param.evd_qlen), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
}
END_TEST

START_TEST(E1_a_threshold_above_1_where_streams_are_not_plain_is_an_invalid_state)
{
	static const int flags[] = { DAT_COMPLETION_UNSIGNALLED_FLAG,
				     DAT_COMPLETION_SOLICITED_WAIT_FLAG };
	DAT_EP_ATTR attr = ep_attr();

	must_fail(wait_for(w.a.recv, 0, 2), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)flags[_i];
	plain_ep_with(&w.a, &attr);
	must_fail(wait_for(w.a.recv, 0, 2), DAT_INVALID_STATE, ANY_SUBTYPE);
	must_fail(wait_for(w.a.recv, 0, 1), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	must_fail(wait_for(w.a.request, 0, 2), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
}
END_TEST

START_TEST(E1_the_threshold_is_free_again_when_the_stream_has_gone)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;

	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ep = plain_ep_with(&w.a, &attr);
	must_fail(wait_for(w.a.recv, 0, 2), DAT_INVALID_STATE, ANY_SUBTYPE);
	must(dat_ep_free(ep));
	must_fail(wait_for(w.a.recv, 0, 2), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
}
END_TEST

START_TEST(E1_EVD_THRESHOLD_streams_may_be_waited_for_in_numbers)
{
	pair_with_flags(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 3);
	deliver(&w.a, w.a.ep, 3);
	must(wait_for(w.b.recv, 0, 3));
	ck_assert_int_eq(nmore, 2);
}
END_TEST

/* ---- A2a: notifications ---- */

START_TEST(A2a_an_event_already_queued_is_handed_out_at_once)
{
	DAT_UINT64 start;

	pair_with_flags(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	post_recv(&w.b, w.b.ep, 0);
	deliver(&w.a, w.a.ep, 1); /* not solicited */
	start = now_ns();
	must(wait_for(w.b.recv, 100, 1));
	ck_assert_uint_eq(now_ns(), start);
}
END_TEST

START_TEST(A2a_an_unsignalled_completion_does_not_wake_a_waiter)
{
	pair_with_flags(DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	post_recv(&w.b, w.b.ep, 0);
	must(send_flagged(0, DAT_COMPLETION_UNSIGNALLED_FLAG));
	expect_not_woken(w.a.request, w.a.ep, 0);
}
END_TEST

START_TEST(A2a_a_signalled_completion_on_the_same_endpoint_does)
{
	DAT_UINT64 start;

	pair_with_flags(DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 2);
	start = now_ns();
	must(send_flagged(0, DAT_COMPLETION_UNSIGNALLED_FLAG));
	must(dat_sim_advance(w.sim, 500));
	must(send_flagged(1, DAT_COMPLETION_DEFAULT_FLAG));
	must(wait_for(w.a.request, 100, 1));
	ck_assert_uint_lt(now_ns() - start, 100000);
	ck_assert_int_eq(nmore, 1);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
}
END_TEST

START_TEST(A2a_an_unsignalled_receive_does_not_wake_a_waiter)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SLOT_SIZE);

	pair_with_flags(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0), DAT_COMPLETION_UNSIGNALLED_FLAG));
	must(send_flagged(0, DAT_COMPLETION_DEFAULT_FLAG));
	expect_not_woken(w.b.recv, w.b.ep, 0);
}
END_TEST

START_TEST(A2a_a_solicited_receive_wakes_only_when_solicited)
{
	DAT_UINT64 start;

	pair_with_flags(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 2);
	must(send_flagged(0, DAT_COMPLETION_DEFAULT_FLAG));
	expect_not_woken(w.b.recv, w.b.ep, 0);
	start = now_ns();
	must(send_flagged(1, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	must(wait_for(w.b.recv, 100, 1));
	ck_assert_uint_eq(now_ns() - start, LATENCY_NS);
}
END_TEST

START_TEST(A2a_the_attribute_of_the_taking_endpoint_decides_for_an_srq)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	srq_pair_with(10, &attr);
	post_srqs(&w.b, 0, 2);
	must(send_flagged(0, DAT_COMPLETION_DEFAULT_FLAG));
	expect_not_woken(w.b.recv, w.b.ep, 0);
	must(send_flagged(1, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	must(wait_for(w.b.recv, 100, 1));
}
END_TEST

START_TEST(A2a_a_failed_unsignalled_request_is_an_event_too)
{
	pair_with_flags(DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	disconnect_pair();
	must(send_flagged(0, DAT_COMPLETION_UNSIGNALLED_FLAG));
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* ---- A2: flags of a post ---- */

START_TEST(A2_a_suppressed_send_that_succeeds_gives_no_event)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
	must(send_flagged(0, DAT_COMPLETION_SUPPRESS_FLAG));
	run_quiet();
	expect_no_event(w.a.request);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	must(send_flagged(1, DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(A2_a_suppressed_send_that_fails_gives_its_event)
{
	plain_pair();
	disconnect_pair();
	must(send_flagged(0, DAT_COMPLETION_SUPPRESS_FLAG));
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(A2_UNSIGNALLED_needs_the_endpoints_flag)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);

	plain_pair();
	must_fail(send_flagged(0, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG5);
	must_fail(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_UNSIGNALLED_FLAG),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
}
END_TEST

START_TEST(A2_SUPPRESS_SOLICITED_and_FENCE_at_creation_mean_nothing)
{
	pair_with_flags(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
				DAT_COMPLETION_BARRIER_FENCE_FLAG,
			DAT_COMPLETION_DEFAULT_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 2);
	must(send_flagged(0, DAT_COMPLETION_DEFAULT_FLAG));
	must(wait_for(w.a.request, 100, 1));
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	must(send_flagged(1, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(A2_endpoints_with_different_flags_may_share_an_EVD)
{
	DAT_EP_ATTR attr = ep_attr();

	plain_ep(&w.a);
	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	plain_ep_with(&w.a, &attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	plain_ep_with(&w.a, &attr);
	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	plain_ep_with(&w.a, &attr);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, page_a_wait_in_vain_lasts_exactly_its_timeout);
	unit_test_all(suite, page_half_an_hour_costs_nothing);
	unit_test_all(suite, page_a_timeout_of_0_looks_once);
	unit_test_all(suite, page_a_wait_ends_at_the_very_event);
	unit_test_all(suite, page_an_event_at_the_deadline_is_in_time);
	unit_test_all(suite, page_waiting_sees_connection_events_too);
	unit_test_all(suite, page_nmore_is_what_is_left);
	unit_test_all(suite, page_a_threshold_waits_for_that_many_events);
	unit_test_all(suite, G2_nmore_is_written_on_a_timeout_and_no_event_is_taken);
	unit_test_all(suite, G3_nmore_may_be_NULL_and_event_may_not);
	unit_test_all(suite, E1_a_threshold_below_1_or_above_the_length_is_an_invalid_parameter);
	unit_test_loop(suite,
		       E1_a_threshold_above_1_where_streams_are_not_plain_is_an_invalid_state, 2);
	unit_test_all(suite, E1_the_threshold_is_free_again_when_the_stream_has_gone);
	unit_test_all(suite, E1_EVD_THRESHOLD_streams_may_be_waited_for_in_numbers);
	unit_test_all(suite, A2a_an_event_already_queued_is_handed_out_at_once);
	unit_test_all(suite, A2a_an_unsignalled_completion_does_not_wake_a_waiter);
	unit_test_all(suite, A2a_a_signalled_completion_on_the_same_endpoint_does);
	unit_test_all(suite, A2a_an_unsignalled_receive_does_not_wake_a_waiter);
	unit_test_all(suite, A2a_a_solicited_receive_wakes_only_when_solicited);
	unit_test_all(suite, A2a_the_attribute_of_the_taking_endpoint_decides_for_an_srq);
	unit_test_all(suite, A2a_a_failed_unsignalled_request_is_an_event_too);
	unit_test_all(suite, A2_a_suppressed_send_that_succeeds_gives_no_event);
	unit_test_all(suite, A2_a_suppressed_send_that_fails_gives_its_event);
	unit_test_all(suite, A2_UNSIGNALLED_needs_the_endpoints_flag);
	unit_test_all(suite, A2_SUPPRESS_SOLICITED_and_FENCE_at_creation_mean_nothing);
	unit_test_all(suite, A2_endpoints_with_different_flags_may_share_an_EVD);
}

UNIT_SUITE("evd_wait")
