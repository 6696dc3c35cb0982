/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Consumer Notification Objects: rulings C1, G1, G2, G9, A2a; "page_": the pages of dat_cno_*.
 * Agents are in test_cno_agent.c, waiting threads in test_threads_cno.c, EVDs that are disabled or
 * move to another CNO in test_evd_state.c.
 */
#include "tests/support/support.h"

static const DAT_OS_WAIT_PROXY_AGENT no_agent;

static DAT_EVD_HANDLE evd_on(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = NO_HANDLE;

	must(dat_evd_create(w.a.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	return evd;
}

/* w.a.ep and w.b.ep, connected, with these flags; w.b's receive EVD notifies the CNO. */
static DAT_CNO_HANDLE watched_pair(int recv_flags)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_CNO_HANDLE cno = quiet_cno(&w.b);

	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv_flags;
	must(dat_evd_modify_cno(w.b.recv, cno));
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	return cno;
}

static void send_flagged(int n, int flags)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, n, SHORT);

	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(n), (DAT_COMPLETION_FLAGS)flags));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
}

/* ---- create, query, free ---- */

START_TEST(page_a_CNO_comes_and_goes)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_HANDLE_TYPE type;
	DAT_CNO_PARAM param;

	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CNO), 1);
	must(dat_get_handle_type(cno, &type));
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_CNO);
	memset(&param, 0xee, sizeof(param));
	must(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.a.ia);
	ck_assert_ptr_null(param.agent.instance_data);
	ck_assert(!param.agent.proxy_agent_func);
	expect_silence(cno);
	must(dat_cno_free(cno));
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CNO), 0);
	must_fail(dat_cno_free(cno), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
}
END_TEST

START_TEST(G2_arguments_are_checked_in_their_order)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&w;
	DAT_CNO_PARAM param;

	must_fail(dat_cno_create(w.a.pz, no_agent, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_IA);
	must_fail(dat_cno_create(w.a.ia, no_agent, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(dat_cno_query(w.a.recv, DAT_CNO_FIELD_ALL, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CNO);
	must_fail(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)4, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_cno_query(cno, DAT_CNO_FIELD_AGENT, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)0, NULL));
	must_fail(dat_cno_query(NO_HANDLE, DAT_CNO_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CNO);
	must_fail(dat_cno_wait(w.a.ia, 0, NULL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	must_fail(dat_cno_wait(cno, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(dat_cno_wait(w.a.ia, 0, &evd), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	must_fail(dat_cno_modify_agent(w.a.recv, no_agent), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CNO);
	must_fail(dat_cno_free(w.a.ia), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	ck_assert_ptr_eq(evd, &w);
}
END_TEST

START_TEST(page_a_CNO_is_not_freed_under_an_EVD)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = evd_on(cno);

	must_fail(dat_cno_free(cno), DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	post_se(evd, 1);
	expect_notified(cno, evd);
	must(dat_evd_modify_cno(evd, NO_HANDLE));
	must(dat_cno_free(cno));
	expect_event(evd, DAT_SOFTWARE_EVENT);
}
END_TEST

START_TEST(G9_CNOs_end)
{
	DAT_CNO_HANDLE cno = NO_HANDLE, last = NO_HANDLE;
	DAT_RETURN ret;
	int n = 0;

	while ((ret = dat_cno_create(w.a.ia, no_agent, &cno)) == DAT_SUCCESS && n < 100000) {
		last = cno;
		n++;
	}
	ck_assert_msg(is_failure(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE), "%s",
		      ret_text(ret));
	ck_assert_ptr_eq(cno, last);
	ck_assert_int_gt(n, 100);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CNO), n);
	quiet_cno(&w.b); /* the limit belongs to one adapter */
	must(dat_cno_free(last));
	quiet_cno(&w.a);
}
END_TEST

START_TEST(page_a_CNO_and_its_EVDs_belong_to_one_IA)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.b);
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&w;
	DAT_EVD_PARAM param;

	must_fail(dat_evd_create(w.a.ia, 0, cno, (DAT_EVD_FLAGS)0, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CNO);
	must_fail(dat_evd_create(w.a.ia, 8, w.a.recv, DAT_EVD_DTO_FLAG, &evd), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_CNO);
	ck_assert_ptr_eq(evd, &w);
	must_fail(dat_evd_modify_cno(w.a.recv, cno), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	must_fail(dat_evd_modify_cno(cno, cno), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	must(dat_evd_query(w.a.recv, DAT_EVD_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.cno_handle, NO_HANDLE);
	must(dat_cno_free(cno));
}
END_TEST

/* ---- C1: the latch ---- */

START_TEST(C1_latched_EVDs_come_in_the_order_in_which_they_triggered)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE x = evd_on(cno), y = evd_on(cno), z = evd_on(cno);

	post_se(y, 1);
	post_se(x, 2);
	post_se(z, 3);
	post_se(y, 4);
	expect_notified(cno, y);
	expect_notified(cno, x);
	expect_notified(cno, z);
	expect_silence(cno);
}
END_TEST

START_TEST(C1_each_EVD_latches_at_most_one_trigger)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = evd_on(cno);

	for (int n = 0; n < 5; n++)
		post_se(evd, n);
	expect_notified(cno, evd);
	expect_silence(cno);
	/* Five events are still queued; one more event triggers again. */
	post_se(evd, 5);
	expect_notified(cno, evd);
	expect_silence(cno);
	ck_assert_int_eq(drain(evd), 6);
}
END_TEST

START_TEST(C1_emptying_an_EVD_takes_its_latch_off)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE x = evd_on(cno), y = evd_on(cno);

	post_se(x, 1);
	post_se(x, 2);
	post_se(y, 3);
	expect_event(x, DAT_SOFTWARE_EVENT); /* one is left: the latch stays */
	expect_notified(cno, x);
	expect_event(x, DAT_SOFTWARE_EVENT);
	expect_event(y, DAT_SOFTWARE_EVENT);
	expect_silence(cno);
	/* A new trigger queues behind the triggers that came in the meantime. */
	post_se(x, 4);
	post_se(y, 5);
	ck_assert_int_eq(drain(x), 1);
	post_se(x, 6);
	expect_notified(cno, y);
	expect_notified(cno, x);
}
END_TEST

START_TEST(C1_waiting_on_the_EVD_empties_it_too)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = evd_on(cno);
	DAT_EVENT event;
	DAT_COUNT nmore;

	post_se(evd, 1);
	must(dat_evd_wait(evd, 0, 1, &event, &nmore));
	expect_silence(cno);
}
END_TEST

START_TEST(C1_completions_thrown_away_take_the_latch_off)
{
	DAT_CNO_HANDLE cno = watched_pair(DAT_COMPLETION_DEFAULT_FLAG);

	post_recv(&w.b, w.b.ep, 0);
	deliver(&w.a, w.a.ep, 1);
	must(dat_ep_free(w.b.ep));
	expect_silence(cno);
}
END_TEST

START_TEST(C1_completions_trigger_and_a_dequeue_empties)
{
	DAT_CNO_HANDLE cno = watched_pair(DAT_COMPLETION_DEFAULT_FLAG);

	post_recvs(&w.b, w.b.ep, 0, 4);
	expect_silence(cno);
	for (int n = 0; n < 3; n++) {
		send_flagged(n, DAT_COMPLETION_DEFAULT_FLAG);
		if (n == 0) {
			expect_notified(cno, w.b.recv);
			expect_silence(cno);
		}
	}
	expect_notified(cno, w.b.recv);
	for (int n = 0; n < 3; n++)
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
	send_flagged(3, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(w.b.recv, w.b.ep, 3, DAT_DTO_SUCCESS);
	expect_silence(cno);
}
END_TEST

START_TEST(C1_while_completions_are_left_the_latch_stays)
{
	DAT_CNO_HANDLE cno = watched_pair(DAT_COMPLETION_DEFAULT_FLAG);

	post_recvs(&w.b, w.b.ep, 0, 2);
	for (int n = 0; n < 2; n++)
		send_flagged(n, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_notified(cno, w.b.recv);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_silence(cno);
}
END_TEST

START_TEST(C1_an_unsignalled_completion_never_latches)
{
	DAT_CNO_HANDLE cno = watched_pair(DAT_COMPLETION_UNSIGNALLED_FLAG);
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SLOT_SIZE);

	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0), DAT_COMPLETION_UNSIGNALLED_FLAG));
	iov = segment(&w.b, 1, SLOT_SIZE);
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	send_flagged(0, DAT_COMPLETION_DEFAULT_FLAG);
	expect_silence(cno);
	send_flagged(1, DAT_COMPLETION_DEFAULT_FLAG);
	expect_notified(cno, w.b.recv);
	expect_silence(cno);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(C1_an_unsolicited_receive_never_latches_and_an_error_always_does)
{
	DAT_CNO_HANDLE cno = watched_pair(DAT_COMPLETION_SOLICITED_WAIT_FLAG);

	post_recvs(&w.b, w.b.ep, 0, 4);
	send_flagged(0, DAT_COMPLETION_DEFAULT_FLAG);
	expect_silence(cno);
	send_flagged(1, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	expect_notified(cno, w.b.recv);
	send_flagged(2, DAT_COMPLETION_DEFAULT_FLAG);
	expect_silence(cno);
	ck_assert_int_eq(drain(w.b.recv), 3);
	disconnect_pair(); /* flushes the fourth Receive */
	expect_notified(cno, w.b.recv);
	expect_dto(w.b.recv, w.b.ep, 3, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(C1_all_streams_of_an_EVD_trigger)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.b);
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must(dat_evd_modify_cno(w.b.async, cno));
	must(dat_evd_modify_cno(w.b.cr, cno));
	must(dat_evd_modify_cno(w.b.connect, cno));
	w.b.ep = plain_ep(&w.b);
	must(dat_cr_accept(request(ep, &w.b, QUAL), w.b.ep, 0, NULL));
	expect_silence(cno); /* the request was already dequeued */
	run_quiet();
	expect_notified(cno, w.b.connect);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	post_recv(&w.b, w.b.ep, 0);
	deliver(&w.a, ep, 1);
	expect_notified(cno, w.b.async);
	expect_silence(cno);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

/* ---- waiting ---- */

START_TEST(page_a_wait_ends_at_the_very_notification)
{
	DAT_CNO_HANDLE cno = watched_pair(DAT_COMPLETION_DEFAULT_FLAG);
	DAT_EVD_HANDLE evd = NO_HANDLE;
	DAT_UINT64 start = now_ns();

	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &evd));
	ck_assert_ptr_eq(evd, w.b.recv);
	ck_assert_uint_eq(now_ns() - start, LATENCY_NS);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(G2_a_wait_in_vain_lasts_its_timeout_and_writes_a_NULL_handle)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&w;
	DAT_UINT64 start = now_ns();

	evd_on(cno);
	ck_assert_uint_eq(dat_cno_wait(cno, 70, &evd), DAT_QUEUE_EMPTY);
	ck_assert_ptr_eq(evd, NO_HANDLE);
	ck_assert_uint_eq(now_ns() - start, 70000);
	evd = (DAT_EVD_HANDLE)&w;
	ck_assert_uint_eq(dat_cno_wait(cno, 1800000000u, &evd), DAT_QUEUE_EMPTY);
	ck_assert_ptr_eq(evd, NO_HANDLE);
}
END_TEST

START_TEST(C1_a_thread_in_dat_evd_wait_takes_the_notification_instead)
{
	DAT_CNO_HANDLE cno = watched_pair(DAT_COMPLETION_DEFAULT_FLAG);
	DAT_EVENT event;
	DAT_COUNT nmore;

	post_recvs(&w.b, w.b.ep, 0, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 2, &event, &nmore));
	ck_assert_int_eq(nmore, 1);
	expect_silence(cno);
	/* The next event notifies the CNO again. */
	post_recv(&w.b, w.b.ep, 2);
	run_quiet();
	drain(w.a.request);
	send_flagged(2, DAT_COMPLETION_DEFAULT_FLAG);
	expect_notified(cno, w.b.recv);
}
END_TEST

START_TEST(A2a_completions_during_a_wait_in_vain_are_the_waiters)
{
	DAT_CNO_HANDLE cno = watched_pair(DAT_COMPLETION_DEFAULT_FLAG);
	DAT_EVENT event;
	DAT_COUNT nmore = -1;

	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must_fail(dat_evd_wait(w.b.recv, 100, 2, &event, &nmore), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_int_eq(nmore, 1);
	expect_silence(cno);
}
END_TEST

/* ---- the end ---- */

START_TEST(page_a_freed_EVD_takes_its_latch_with_it)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);
	DAT_EVD_HANDLE evd = evd_on(cno);

	post_se(evd, 1);
	must(dat_evd_free(evd));
	expect_silence(cno);
	must(dat_cno_free(cno));
}
END_TEST

START_TEST(page_an_abrupt_close_takes_CNOs_along)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);

	post_se(evd_on(cno), 1);
	side_close(&w.a);
	must_fail(dat_cno_free(cno), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CNO), 0);
}
END_TEST

START_TEST(page_a_graceful_close_is_refused_while_a_CNO_is_left)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_CNO_HANDLE cno;
	DAT_IA_HANDLE ia;
	char name[] = "emu0";

	must(dat_ia_open(name, 8, &async, &ia));
	must(dat_cno_create(ia, no_agent, &cno));
	must_fail(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_IA_IN_USE);
	must(dat_evd_modify_cno(async, cno));
	must_fail(dat_cno_free(cno), DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	must(dat_evd_modify_cno(async, NO_HANDLE));
	must(dat_cno_free(cno));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, page_a_CNO_comes_and_goes);
	unit_test(suite, G2_arguments_are_checked_in_their_order);
	unit_test(suite, page_a_CNO_is_not_freed_under_an_EVD);
	unit_test(suite, G9_CNOs_end);
	unit_test(suite, page_a_CNO_and_its_EVDs_belong_to_one_IA);
	unit_test(suite, C1_latched_EVDs_come_in_the_order_in_which_they_triggered);
	unit_test(suite, C1_each_EVD_latches_at_most_one_trigger);
	unit_test(suite, C1_emptying_an_EVD_takes_its_latch_off);
	unit_test(suite, C1_waiting_on_the_EVD_empties_it_too);
	unit_test_all(suite, C1_completions_thrown_away_take_the_latch_off);
	unit_test_all(suite, C1_completions_trigger_and_a_dequeue_empties);
	unit_test_all(suite, C1_while_completions_are_left_the_latch_stays);
	unit_test_all(suite, C1_an_unsignalled_completion_never_latches);
	unit_test_all(suite, C1_an_unsolicited_receive_never_latches_and_an_error_always_does);
	unit_test_all(suite, C1_all_streams_of_an_EVD_trigger);
	unit_test_all(suite, page_a_wait_ends_at_the_very_notification);
	unit_test(suite, G2_a_wait_in_vain_lasts_its_timeout_and_writes_a_NULL_handle);
	unit_test_all(suite, C1_a_thread_in_dat_evd_wait_takes_the_notification_instead);
	unit_test_all(suite, A2a_completions_during_a_wait_in_vain_are_the_waiters);
	unit_test(suite, page_a_freed_EVD_takes_its_latch_with_it);
	unit_test(suite, page_an_abrupt_close_takes_CNOs_along);
	unit_test(suite, page_a_graceful_close_is_refused_while_a_CNO_is_left);
}

UNIT_SUITE("cno")
