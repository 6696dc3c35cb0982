/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of an EVD and the calls that each of them refuses: rulings E1, E8, A2, A2a; "page_":
 * the pages of dat_evd_query, dat_evd_set_unwaitable, dat_evd_clear_unwaitable, dat_evd_enable,
 * dat_evd_disable, dat_evd_modify_cno. Waiters that such a change ends are in test_cno_agent.c and
 * test_threads_cno.c.
 */
#include "tests/support/support.h"

static unsigned int state_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	must(dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &param));
	return (unsigned int)param.evd_state;
}

static DAT_EP_HANDLE ep_with(int request_flags, int recv_flags)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.request_completion_flags = (DAT_COMPLETION_FLAGS)request_flags;
	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv_flags;
	return plain_ep_with(&w.a, &attr);
}

static DAT_RETURN wait_at(DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	return dat_evd_wait(evd, 0, threshold, &event, &nmore);
}

START_TEST(page_enabled_and_waitable_are_told_apart)
{
	unsigned int notify = DAT_EVD_STATE_CONFIG_NOTIFY;

	ck_assert_uint_eq(state_of(w.a.recv),
			  DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE | notify);
	must(dat_evd_disable(w.a.recv));
	ck_assert_uint_eq(state_of(w.a.recv),
			  DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE | notify);
	must(dat_evd_set_unwaitable(w.a.recv));
	ck_assert_uint_eq(state_of(w.a.recv),
			  DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE | notify);
	must(dat_evd_enable(w.a.recv));
	ck_assert_uint_eq(state_of(w.a.recv),
			  DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE | notify);
	must(dat_evd_clear_unwaitable(w.a.recv));
	ck_assert_uint_eq(state_of(w.a.recv),
			  DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE | notify);
}
END_TEST

START_TEST(page_an_unwaitable_EVD_refuses_waiters_and_nothing_else)
{
	must(dat_evd_set_unwaitable(w.a.recv));
	must(dat_evd_set_unwaitable(w.a.recv));
	post_se(w.a.recv, 1);
	must_fail(wait_at(w.a.recv, 1), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	must_fail(wait_at(w.a.recv, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	expect_event(w.a.recv, DAT_SOFTWARE_EVENT);
	must(dat_evd_resize(w.a.recv, 5));
	ck_assert_int_eq(stuff(w.a.recv), 5);
	must(dat_evd_clear_unwaitable(w.a.recv));
	must(dat_evd_clear_unwaitable(w.a.recv));
	must(wait_at(w.a.recv, 1));
}
END_TEST

START_TEST(page_an_unwaitable_EVD_still_triggers_its_CNO)
{
	DAT_EVD_HANDLE notified = NO_HANDLE;
	DAT_CNO_HANDLE cno;

	must(dat_cno_create(w.b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	must(dat_evd_modify_cno(w.b.recv, cno));
	must(dat_evd_set_unwaitable(w.b.recv));
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	deliver(&w.a, w.a.ep, 1);
	must(dat_cno_wait(cno, 0, &notified));
	ck_assert_ptr_eq(notified, w.b.recv);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(page_the_query_tells_what_the_streams_are)
{
	static const struct {
		int request, recv;
		unsigned int request_state, recv_state;
	} row[] = {
		{ 0, 0, DAT_EVD_STATE_CONFIG_NOTIFY, DAT_EVD_STATE_CONFIG_NOTIFY },
		{ DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG,
		  DAT_EVD_STATE_CONFIG_NOTIFY, DAT_EVD_STATE_CONFIG_NOTIFY },
		{ 0, DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_EVD_STATE_CONFIG_NOTIFY,
		  DAT_EVD_STATE_CONFIG_SOLICITED },
		{ DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		  DAT_EVD_STATE_CONFIG_THRESHOLD, DAT_EVD_STATE_CONFIG_THRESHOLD },
		{ DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			  DAT_COMPLETION_BARRIER_FENCE_FLAG,
		  0, DAT_EVD_STATE_CONFIG_NOTIFY, DAT_EVD_STATE_CONFIG_NOTIFY },
	};
	DAT_EP_HANDLE ep = ep_with(row[_i].request, row[_i].recv);

	ck_assert_uint_eq(state_of(w.a.request) & 0x30u, row[_i].request_state);
	ck_assert_uint_eq(state_of(w.a.recv) & 0x30u, row[_i].recv_state);
	must(dat_ep_free(ep));
	ck_assert_uint_eq(state_of(w.a.request) & 0x30u, DAT_EVD_STATE_CONFIG_NOTIFY);
	ck_assert_uint_eq(state_of(w.a.recv) & 0x30u, DAT_EVD_STATE_CONFIG_NOTIFY);
}
END_TEST

START_TEST(E1_the_subtype_says_which_streams_forbid_the_threshold)
{
	ep_with(DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	must_fail(wait_at(w.a.request, 2), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
	must_fail(wait_at(w.a.recv, 2), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_SOLICITED);
}
END_TEST

START_TEST(E1_one_selective_stream_among_others_forbids_the_threshold)
{
	DAT_EP_HANDLE selective;

	ep_with(0, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	must_fail(wait_at(w.a.recv, 2), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	selective = ep_with(0, DAT_COMPLETION_UNSIGNALLED_FLAG);
	must_fail(wait_at(w.a.recv, 2), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
	ep_with(0, 0);
	must_fail(wait_at(w.a.recv, 2), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
	must(dat_ep_free(selective));
	must_fail(wait_at(w.a.recv, 2), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
}
END_TEST

START_TEST(page_the_query_tells_of_a_stream_while_one_of_its_kind_is_left)
{
	DAT_EP_HANDLE first = ep_with(0, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	DAT_EP_HANDLE second = ep_with(0, DAT_COMPLETION_EVD_THRESHOLD_FLAG);

	must(dat_ep_free(first));
	ck_assert_uint_eq(state_of(w.a.recv) & 0x30u, DAT_EVD_STATE_CONFIG_THRESHOLD);
	must(dat_ep_free(second));
	ck_assert_uint_eq(state_of(w.a.recv) & 0x30u, DAT_EVD_STATE_CONFIG_NOTIFY);
}
END_TEST

START_TEST(E1_dat_ep_modify_changes_what_the_EVD_is_fed)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	ck_assert_uint_eq(state_of(w.a.recv) & 0x30u, DAT_EVD_STATE_CONFIG_SOLICITED);
	must_fail(wait_at(w.a.recv, 2), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_SOLICITED);
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	ck_assert_uint_eq(state_of(w.a.recv) & 0x30u, DAT_EVD_STATE_CONFIG_THRESHOLD);
}
END_TEST

/* ---- enable, disable, modify_cno ---- */

static DAT_EVD_HANDLE evd_on(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = NO_HANDLE;

	must(dat_evd_create(w.a.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	return evd;
}

START_TEST(page_a_disabled_EVD_triggers_nothing)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = evd_on(cno);

	must(dat_evd_disable(evd));
	must(dat_evd_disable(evd));
	post_se(evd, 1);
	expect_silence(cno);
	must(dat_evd_enable(evd));
	must(dat_evd_enable(evd));
	expect_silence(cno); /* only the arrival of an event triggers */
	post_se(evd, 2);
	expect_notified(cno, evd);
	ck_assert_int_eq(drain(evd), 2);
}
END_TEST

START_TEST(page_completions_of_a_disabled_EVD_trigger_nothing)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.b);

	must(dat_evd_modify_cno(w.b.recv, cno));
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	must(dat_evd_disable(w.b.recv));
	deliver(&w.a, w.a.ep, 1);
	deliver(&w.a, w.a.ep, 1);
	expect_silence(cno);
	must(dat_evd_enable(w.b.recv));
	deliver(&w.a, w.a.ep, 1);
	expect_notified(cno, w.b.recv);
	ck_assert_int_eq(drain(w.b.recv), 3);
}
END_TEST

START_TEST(page_after_modify_cno_the_new_CNO_is_notified)
{
	DAT_CNO_HANDLE old = quiet_cno(&w.a), new = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = evd_on(old);
	DAT_EVD_PARAM param;

	must(dat_evd_modify_cno(evd, new));
	must(dat_evd_modify_cno(evd, new));
	must(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param));
	ck_assert_ptr_eq(param.cno_handle, new);
	must(dat_cno_free(old));
	post_se(evd, 1);
	expect_notified(new, evd);
	must(dat_evd_modify_cno(evd, NO_HANDLE));
	post_se(evd, 2);
	expect_silence(new);
	must(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param));
	ck_assert_ptr_eq(param.cno_handle, NO_HANDLE);
	must(dat_cno_free(new));
}
END_TEST

START_TEST(page_no_notification_is_lost_when_an_EVD_moves)
{
	DAT_CNO_HANDLE old = quiet_cno(&w.a), new = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = evd_on(old), other = evd_on(new);

	post_se(other, 1);
	post_se(evd, 2);
	must(dat_evd_modify_cno(evd, new));
	expect_silence(old);
	expect_notified(new, other);
	expect_notified(new, evd);
	expect_silence(new);
}
END_TEST

START_TEST(G2_enable_disable_and_modify_want_an_EVD)
{
	must_fail(dat_evd_enable(w.a.ia), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	must_fail(dat_evd_disable(w.a.pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	must_fail(dat_evd_set_unwaitable(w.a.lmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	must_fail(dat_evd_clear_unwaitable(NO_HANDLE), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	must_fail(dat_evd_modify_cno(NO_HANDLE, NO_HANDLE), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE1);
}
END_TEST

/* ---- E9: overflow ---- */

/* A completion more than the receive EVD has room for, on a connection that is made for it. */
static void lose_one(void)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, 3);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	drain(w.a.connect);
}

/* Only what makes room ends it: a larger queue does, one of the same length does not. */
START_TEST(E9_an_overflow_is_told_once_while_the_EVD_stays_full)
{
	w.b.recv = make_evd(&w.b, 2, DAT_EVD_DTO_FLAG);
	lose_one();
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv, DAT_EVD_OVERFLOW_ERROR);
	must(dat_evd_resize(w.b.recv, _i ? 3 : 2));
	lose_one();
	if (_i)
		expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv,
			     DAT_EVD_OVERFLOW_ERROR);
	expect_no_event(w.b.async);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, page_enabled_and_waitable_are_told_apart);
	unit_test(suite, page_an_unwaitable_EVD_refuses_waiters_and_nothing_else);
	unit_test_all(suite, page_an_unwaitable_EVD_still_triggers_its_CNO);
	unit_test_loop(suite, page_the_query_tells_what_the_streams_are, 5);
	unit_test(suite, E1_the_subtype_says_which_streams_forbid_the_threshold);
	unit_test(suite, E1_one_selective_stream_among_others_forbids_the_threshold);
	unit_test(suite, page_the_query_tells_of_a_stream_while_one_of_its_kind_is_left);
	unit_test(suite, E1_dat_ep_modify_changes_what_the_EVD_is_fed);
	unit_test(suite, page_a_disabled_EVD_triggers_nothing);
	unit_test_all(suite, page_completions_of_a_disabled_EVD_trigger_nothing);
	unit_test(suite, page_after_modify_cno_the_new_CNO_is_notified);
	unit_test(suite, page_no_notification_is_lost_when_an_EVD_moves);
	unit_test(suite, G2_enable_disable_and_modify_want_an_EVD);
	unit_test_loop(suite, E9_an_overflow_is_told_once_while_the_EVD_stays_full, 2);
}

UNIT_SUITE("evd_state")
