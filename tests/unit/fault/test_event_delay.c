/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DAT_SIM_EVENT_DELAY for each kind of event: it does not come when its cause is there, and comes
 * whole when the delay is over. What made it pointless meanwhile drops it.
 */
#include "tests/support/support.h"

#define DELAY_US UINT64_C(1000)

static void delay(DAT_EVENT_NUMBER event)
{
	DAT_SIM_CALL_FAULT rule = { .verdict = DAT_SIM_EVENT_DELAY,
				    .event = event,
				    .delay_ns = DELAY_US * 1000,
				    .times = 1 };
	DAT_COUNT id;

	must(dat_sim_call_fault_add(w.sim, &rule, &id));
}

START_TEST(fault_a_delayed_notification_comes_later_than_its_event)
{
	DAT_CNO_HANDLE cno;

	plain_pair();
	cno = quiet_cno(&w.b);
	must(dat_evd_modify_cno(w.b.recv, cno));
	delay((DAT_EVENT_NUMBER)DAT_SIM_NOTIFICATION);
	post_recv(&w.b, w.b.ep, 20);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(DELAY_US / 2);
	expect_silence(cno);
	run_quiet();
	expect_notified(cno, w.b.recv);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	must(dat_evd_modify_cno(w.b.recv, NO_HANDLE));
	must(dat_cno_free(cno));
}
END_TEST

START_TEST(fault_a_delayed_low_watermark_comes_later)
{
	srq_pair(8);
	post_srqs(&w.b, 20, 4);
	must(dat_srq_set_lw(w.b.srq, 4));
	delay(DAT_ASYNC_SRQ_LOW_WATERMARK);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(DELAY_US / 2);
	expect_no_event(w.b.async);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	run_quiet();
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

START_TEST(fault_a_delayed_soft_watermark_comes_later)
{
	srq_pair(8);
	post_srqs(&w.b, 20, 4);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	delay(DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(DELAY_US / 2);
	expect_no_event(w.b.async);
	run_quiet();
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

/* Of all that is delayed, only the word that the connection is there is about the one that ends. */
START_TEST(fault_a_connection_that_ends_takes_no_other_delayed_event_with_it)
{
	DAT_EP_HANDLE other[2];

	srq_pair(8);
	post_srqs(&w.b, 20, 4);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	other[0] = plain_ep(&w.a);
	other[1] = plain_ep(&w.b);
	connect_eps(&w.a, other[0], &w.b, other[1]);
	delay(DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(DELAY_US / 2);
	must(dat_ep_disconnect(other[0], DAT_CLOSE_ABRUPT_FLAG));
	advance_us(DELAY_US / 4);
	expect_connection(w.b.connect, other[1], DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.b.async);
	run_quiet();
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

/* A wait that ends at that time gets the event. */
START_TEST(fault_a_delay_ends_at_its_very_nanosecond)
{
	DAT_EVENT event;

	srq_pair(8);
	post_srqs(&w.b, 20, 4);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	delay(DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
	post_send(&w.a, w.a.ep, 0, SHORT);
	if (_i == 1) {
		DAT_COUNT more;

		must(dat_evd_wait(w.b.async, LATENCY_NS / 1000 + DELAY_US, 1, &event, &more));
		ck_assert_int_eq(event.event_number, DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
		return;
	}
	must(dat_sim_advance(w.sim, LATENCY_NS + DELAY_US * 1000 - 1));
	expect_no_event(w.b.async);
	must(dat_sim_advance(w.sim, 1));
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

static const char hello[] = "hello";

/* w.b accepts, with private data for w.a, while the event is delayed at one of the two. */
static void connect_late(const char *adapter)
{
	DAT_SIM_CALL_FAULT rule = { .verdict = DAT_SIM_EVENT_DELAY,
				    .event = DAT_CONNECTION_EVENT_ESTABLISHED,
				    .adapter = adapter,
				    .delay_ns = DELAY_US * 1000 };
	DAT_CR_HANDLE cr;
	DAT_COUNT id;

	must(dat_sim_call_fault_add(w.sim, &rule, &id));
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, w.b.ep, sizeof(hello), (DAT_PVOID)(uintptr_t)hello));
	advance_us(DELAY_US / 2);
}

START_TEST(fault_a_delayed_answer_keeps_its_private_data)
{
	const DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	connect_late("emu0");
	expect_no_event(w.a.connect);
	run_quiet();
	event = expect_event(w.a.connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	data = &event.event_data.connect_event_data;
	ck_assert_ptr_eq(data->ep_handle, w.a.ep);
	ck_assert_int_eq(data->private_data_size, sizeof(hello));
	ck_assert_mem_eq(data->private_data, hello, sizeof(hello));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}
END_TEST

START_TEST(fault_who_accepts_may_hear_of_the_connection_later)
{
	connect_late("emu1");
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_no_event(w.b.connect);
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}
END_TEST

/* It never was, as far as this side knows. */
START_TEST(fault_a_connection_that_ends_during_the_delay_is_not_established_any_more)
{
	DAT_EVENT event;

	connect_late("emu1");
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	must(dat_evd_dequeue(w.b.connect, &event));
	ck_assert_int_ne(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, fault_a_delayed_notification_comes_later_than_its_event);
	unit_test_all(suite, fault_a_delayed_low_watermark_comes_later);
	unit_test_all(suite, fault_a_delayed_soft_watermark_comes_later);
	unit_test_all(suite, fault_a_delayed_answer_keeps_its_private_data);
	unit_test_all(suite, fault_who_accepts_may_hear_of_the_connection_later);
	unit_test(suite, fault_a_connection_that_ends_takes_no_other_delayed_event_with_it);
	unit_test_loop(suite, fault_a_delay_ends_at_its_very_nanosecond, 2);
	unit_test(suite, fault_a_connection_that_ends_during_the_delay_is_not_established_any_more);
}

UNIT_SUITE("event_delay")
