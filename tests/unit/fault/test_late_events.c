/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events that a rule holds back when the object that they are about is reset or freed: they do not
 * come, those of other objects do, and counts that depend on one are right.
 */
#include "tests/support/support.h"

#define DELAY_US UINT64_C(1000)

static DAT_COUNT delay(DAT_EVENT_NUMBER event, DAT_UINT64 us)
{
	DAT_SIM_CALL_FAULT rule = { .verdict = DAT_SIM_EVENT_DELAY,
				    .event = event,
				    .delay_ns = us * 1000,
				    .times = 1 };
	DAT_COUNT id = 0;

	must(dat_sim_call_fault_add(w.sim, &rule, &id));
	return id;
}

/* w.b's Endpoint has passed its soft high watermark; the event is delayed. */
static void pass_soft_watermark(void)
{
	srq_pair(8);
	post_srqs(&w.b, 20, 4);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	delay(DAT_ASYNC_EP_SOFT_HIGH_WATERMARK, DELAY_US);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(DELAY_US / 2);
}

START_TEST(fault_a_delayed_watermark_goes_with_its_Endpoint)
{
	bool freed = _i;

	pass_soft_watermark();
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	must(freed ? dat_ep_free(w.b.ep) : dat_ep_reset(w.b.ep));
	run_quiet();
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(fault_a_delayed_watermark_comes_though_another_Endpoint_goes)
{
	DAT_EP_HANDLE other;

	pass_soft_watermark();
	other = plain_ep(&w.b);
	must(dat_ep_free(other));
	run_quiet();
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

START_TEST(fault_a_delayed_low_watermark_goes_with_its_SRQ)
{
	DAT_SRQ_HANDLE other = make_srq(&w.b, 8, DAT_SRQ_LW_DEFAULT);
	bool same = _i;

	srq_pair(8);
	post_srqs(&w.b, 20, 4);
	must(dat_srq_set_lw(w.b.srq, 4));
	delay(DAT_ASYNC_SRQ_LOW_WATERMARK, DELAY_US);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(DELAY_US / 2);
	must(dat_ep_free(w.b.ep));
	must(dat_srq_free(same ? w.b.srq : other));
	run_quiet();
	if (same)
		expect_no_event(w.b.async);
	else
		expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

/* The request is delayed when its listener is freed, and so is the request for another one. */
START_TEST(fault_a_delayed_request_is_turned_away_when_its_listener_is_freed)
{
	DAT_PSP_HANDLE psp[2];
	DAT_EP_HANDLE ep[2];
	DAT_CR_HANDLE cr;

	for (int n = 0; n < 2; n++) {
		psp[n] = listen_at(&w.b, QUAL + (DAT_CONN_QUAL)n);
		ep[n] = plain_ep(&w.a);
		delay(DAT_CONNECTION_REQUEST_EVENT, DELAY_US);
		must(try_connect(ep[n], &w.b, QUAL + (DAT_CONN_QUAL)n, DAT_TIMEOUT_INFINITE));
	}
	advance_us(DELAY_US / 2);
	must(dat_psp_free(psp[0]));
	advance_us(DELAY_US / 4);
	expect_connection(w.a.connect, ep[0], DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_no_event(w.b.cr);
	run_quiet();
	cr = expect_request(w.b.cr, psp[1]);
	expect_no_event(w.b.cr);
	must(dat_cr_reject(cr));
	run_quiet();
	expect_connection(w.a.connect, ep[1], DAT_CONNECTION_EVENT_PEER_REJECTED);
	must(dat_psp_free(psp[1]));
}
END_TEST

/* The one that is delayed first comes last. */
START_TEST(fault_delayed_events_come_in_the_order_of_their_times)
{
	DAT_PSP_HANDLE psp[3];
	DAT_EP_HANDLE ep[3];
	const DAT_UINT64 us[] = { 3 * DELAY_US, DELAY_US, 2 * DELAY_US };
	const int order[] = { 1, 2, 0 };

	for (int n = 0; n < 3; n++) {
		psp[n] = listen_at(&w.b, QUAL + (DAT_CONN_QUAL)n);
		ep[n] = plain_ep(&w.a);
		delay(DAT_CONNECTION_REQUEST_EVENT, us[n]);
		must(try_connect(ep[n], &w.b, QUAL + (DAT_CONN_QUAL)n, DAT_TIMEOUT_INFINITE));
	}
	for (int i = 0; i < 3; i++) {
		advance_us(DELAY_US / 2);
		expect_no_event(w.b.cr);
		advance_us(DELAY_US / 2 + 1);
		(void)expect_request(w.b.cr, psp[order[i]]);
	}
	for (int n = 0; n < 3; n++)
		must(dat_psp_free(psp[n]));
}
END_TEST

/* One step has lost the completion; that the EVD overflowed would be told in the next one. */
START_TEST(E9_an_overflow_is_told_though_its_Endpoint_is_reset_first)
{
	DAT_SIM_CALL_FAULT rule = { .verdict = DAT_SIM_OVERFLOW,
				    .completions = DAT_SIM_COMPLETION_RECV };
	DAT_COUNT id;

	srq_pair(8);
	post_srqs(&w.b, 20, 2);
	must(dat_sim_call_fault_add(w.sim, &rule, &id));
	post_send(&w.a, w.a.ep, 0, SHORT);
	while (fired(id) == 0)
		must(dat_sim_step(w.sim));
	srq_counts(w.b.srq, 8, 1, 2);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_ep_reset(w.b.ep));
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv, DAT_EVD_OVERFLOW_ERROR);
	srq_counts(w.b.srq, 8, 1, 1);
	run_quiet();
	expect_no_event(w.b.async);
	srq_counts(w.b.srq, 8, 1, 1);
}
END_TEST

/* It waits for room in the asynchronous EVD, and goes with the EVD that it is about. */
START_TEST(E9_an_overflow_of_an_EVD_that_is_freed_is_not_told_any_more)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	int queued = 0;

	w.b.recv = make_evd(&w.b, 2, DAT_EVD_DTO_FLAG);
	plain_pair();
	while (dat_evd_post_se(w.b.async, &event) == DAT_SUCCESS)
		queued++;
	post_recvs(&w.b, w.b.ep, 0, 3);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	must(dat_ep_free(w.b.ep));
	must(dat_evd_free(w.b.recv));
	for (int i = 0; i < queued; i++)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_no_event(w.b.async);
}
END_TEST

/* A step is one event, whether or not an event is held back for later. */
START_TEST(fault_a_step_runs_the_next_event_only)
{
	DAT_UINT64 next = 0, before;
	DAT_COUNT events;

	pass_soft_watermark();
	post_send(&w.a, w.a.ep, 1, SHORT);
	before = now_ns();
	must(dat_sim_pending(w.sim, &events, &next));
	ck_assert_int_eq(events, 2);
	ck_assert_uint_eq(next, before + LATENCY_NS);
	must(dat_sim_step(w.sim));
	ck_assert_uint_eq(now_ns(), before + LATENCY_NS);
	ck_assert_int_eq(drain(w.b.recv), 2);
	ck_assert_int_eq(drain(w.a.request), 1);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, fault_a_delayed_watermark_goes_with_its_Endpoint, 2);
	unit_test(suite, fault_a_delayed_watermark_comes_though_another_Endpoint_goes);
	unit_test_loop(suite, fault_a_delayed_low_watermark_goes_with_its_SRQ, 2);
	unit_test(suite, fault_a_delayed_request_is_turned_away_when_its_listener_is_freed);
	unit_test(suite, fault_delayed_events_come_in_the_order_of_their_times);
	unit_test(suite, E9_an_overflow_is_told_though_its_Endpoint_is_reset_first);
	unit_test(suite, E9_an_overflow_of_an_EVD_that_is_freed_is_not_told_any_more);
	unit_test(suite, fault_a_step_runs_the_next_event_only);
}

UNIT_SUITE("late_events")
