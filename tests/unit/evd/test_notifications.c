/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which completions generate an event, and which events wake a blocked thread: rulings A2, A2a, E1,
 * E9. dat_evd_wait itself is tested in test_evd_wait.c, CNOs in test_cno.c.
 */
#include "tests/support/support.h"

static DAT_EVENT event;
static DAT_COUNT nmore;

static void pair_with(int request_flags, int recv_flags)
{
	DAT_EP_ATTR a = ep_attr(), b = ep_attr();

	a.request_completion_flags = (DAT_COMPLETION_FLAGS)request_flags;
	b.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv_flags;
	w.a.ep = plain_ep_with(&w.a, &a);
	w.b.ep = plain_ep_with(&w.b, &b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

static void send_flagged(int n, DAT_VLEN length, int flags)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, n, length);

	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(n), (DAT_COMPLETION_FLAGS)flags));
}

/* A wait of 100 us on evd is woken this long after it began. */
static void expect_woken_after(DAT_EVD_HANDLE evd, DAT_UINT64 ns, int n)
{
	DAT_UINT64 start = now_ns();

	must(dat_evd_wait(evd, 100, 1, &event, &nmore));
	ck_assert_uint_eq(now_ns() - start, ns);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, n);
}

static void expect_not_woken(DAT_EVD_HANDLE evd)
{
	DAT_UINT64 start = now_ns();
	DAT_RETURN ret = dat_evd_wait(evd, 100, 1, &event, &nmore);

	/* An event that came in the meantime may be returned at the deadline, not before. */
	ck_assert_uint_eq(now_ns() - start, 100000);
	ck_assert_msg(ret == DAT_SUCCESS || is_failure(ret, DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE), "%s",
		      ret_text(ret));
}

START_TEST(A2a_SOLICITED_WAIT_matters_to_no_other_receiver)
{
	pair_with(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 2);
	send_flagged(0, SHORT, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	expect_woken_after(w.b.recv, LATENCY_NS, 0);
	send_flagged(1, SHORT, DAT_COMPLETION_DEFAULT_FLAG);
	expect_woken_after(w.b.recv, LATENCY_NS, 1);
}
END_TEST

START_TEST(A2a_a_solicited_message_of_several_packets_wakes_with_its_last)
{
	pair_with(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 2);
	send_flagged(0, LONG, DAT_COMPLETION_DEFAULT_FLAG);
	expect_not_woken(w.b.recv);
	drain(w.b.recv);
	send_flagged(1, LONG, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	expect_woken_after(w.b.recv, LATENCY_NS, 1);
}
END_TEST

START_TEST(A2a_a_failed_completion_wakes_whatever_the_flags)
{
	static const int flags[] = { DAT_COMPLETION_SUPPRESS_FLAG,
				     DAT_COMPLETION_UNSIGNALLED_FLAG };

	pair_with(DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	hold_link("emu0", "emu1");
	send_flagged(0, SHORT, flags[_i]);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_woken_after(w.a.request, LATENCY_NS, 0);
	ck_assert_int_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	release_link("emu0", "emu1");
}
END_TEST

START_TEST(A2a_a_failed_receive_wakes_whatever_the_flags)
{
	static const int flags[] = { DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				     DAT_COMPLETION_UNSIGNALLED_FLAG };
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SHORT);

	pair_with(DAT_COMPLETION_DEFAULT_FLAG, flags[_i]);
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0),
			      _i == 0 ? DAT_COMPLETION_DEFAULT_FLAG
				      : DAT_COMPLETION_UNSIGNALLED_FLAG));
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_woken_after(w.b.recv, LATENCY_NS, 0);
	ck_assert_int_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(A2a_a_receive_from_an_srq_is_never_unsignalled)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	srq_pair_with(10, &attr);
	post_srqs(&w.b, 0, 1);
	post_send(&w.a, w.a.ep, 0, SHORT);
	expect_woken_after(w.b.recv, LATENCY_NS, 0);
}
END_TEST

START_TEST(A2_suppressed_sends_count_for_nothing)
{
	pair_with(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 4);
	for (int n = 0; n < 3; n++)
		send_flagged(n, SHORT, DAT_COMPLETION_SUPPRESS_FLAG);
	must_fail(dat_evd_wait(w.a.request, 100, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED,
		  ANY_SUBTYPE);
	ck_assert_int_eq(nmore, 0);
	send_flagged(3, SHORT, DAT_COMPLETION_DEFAULT_FLAG);
	must(dat_evd_wait(w.a.request, 100, 1, &event, &nmore));
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
	ck_assert_int_eq(drain(w.b.recv), 4);
}
END_TEST

/* An EVD of one event does not overflow when three successes on it are suppressed. */
START_TEST(E9_suppressed_completions_need_no_room)
{
	w.a.request = make_evd(&w.a, 1, DAT_EVD_DTO_FLAG);
	pair_with(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 4);
	send_flagged(0, SHORT, DAT_COMPLETION_DEFAULT_FLAG);
	for (int n = 1; n < 4; n++)
		send_flagged(n, SHORT, DAT_COMPLETION_SUPPRESS_FLAG);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(w.a.async);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* Unsignalled completions do overflow it: they are events. */
START_TEST(E9_unsignalled_completions_overflow)
{
	w.a.request = make_evd(&w.a, 1, DAT_EVD_DTO_FLAG);
	pair_with(DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 2);
	send_flagged(0, SHORT, DAT_COMPLETION_UNSIGNALLED_FLAG);
	send_flagged(1, SHORT, DAT_COMPLETION_UNSIGNALLED_FLAG);
	run_quiet();
	expect_async(w.a.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.a.request, DAT_EVD_OVERFLOW_ERROR);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(E1_a_threshold_is_counted_in_events_of_any_stream)
{
	w.b.recv = make_evd(&w.b, 8, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	pair_with(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	post_recvs(&w.b, w.b.ep, 0, 2);
	post_se(w.b.recv, 1);
	send_flagged(0, SHORT, DAT_COMPLETION_DEFAULT_FLAG);
	must(dat_evd_wait(w.b.recv, 100, 2, &event, &nmore));
	ck_assert_int_eq(event.event_number, DAT_SOFTWARE_EVENT);
	ck_assert_int_eq(nmore, 1);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, A2a_SOLICITED_WAIT_matters_to_no_other_receiver);
	unit_test_all(suite, A2a_a_solicited_message_of_several_packets_wakes_with_its_last);
	unit_test_loop(suite, A2a_a_failed_completion_wakes_whatever_the_flags, 2);
	unit_test_loop(suite, A2a_a_failed_receive_wakes_whatever_the_flags, 2);
	unit_test_all(suite, A2a_a_receive_from_an_srq_is_never_unsignalled);
	unit_test_all(suite, A2_suppressed_sends_count_for_nothing);
	unit_test(suite, E9_suppressed_completions_need_no_room);
	unit_test(suite, E9_unsignalled_completions_overflow);
	unit_test_all(suite, E1_a_threshold_is_counted_in_events_of_any_stream);
}

UNIT_SUITE("notifications")
