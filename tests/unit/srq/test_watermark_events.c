/* SPDX-License-Identifier: BSD-3-Clause */
/* Watermark events: their contents, their EVDs, and that none is lost: rulings W1, W2. */
#include "tests/support/support.h"

/* ---- W1 ---- */

START_TEST(W1_the_two_event_numbers_are_new_and_asynchronous)
{
	ck_assert_uint_eq(DAT_ASYNC_SRQ_LOW_WATERMARK, 0x08011);
	ck_assert_uint_eq(DAT_ASYNC_EP_SOFT_HIGH_WATERMARK, 0x08012);
}
END_TEST

START_TEST(W1_low_watermark_carries_the_srq_and_its_reason)
{
	DAT_EVENT event;
	DAT_ASYNCH_ERROR_EVENT_DATA *data = &event.event_data.asynch_error_event_data;

	w.b.srq = make_srq(&w.b, 10, 1);
	event = expect_event(w.b.async, DAT_ASYNC_SRQ_LOW_WATERMARK);
	ck_assert_ptr_eq(data->dat_handle, w.b.srq);
	ck_assert_int_eq(data->reason, DAT_SRQ_LOW_WATERMARK_EVENT);
	ck_assert_ptr_eq(event.evd_handle, w.b.async);
}
END_TEST

START_TEST(W1_soft_high_watermark_carries_the_ep_and_its_reason)
{
	DAT_EVENT event;
	DAT_ASYNCH_ERROR_EVENT_DATA *data = &event.event_data.asynch_error_event_data;

	srq_pair(10);
	post_srqs(&w.b, 0, 1);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	deliver(&w.a, w.a.ep, 1);
	event = expect_event(w.b.async, DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
	ck_assert_ptr_eq(data->dat_handle, w.b.ep);
	ck_assert_int_eq(data->reason, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	ck_assert_ptr_eq(event.evd_handle, w.b.async);
}
END_TEST

START_TEST(W1_watermark_events_go_to_the_async_EVD_and_nowhere_else)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	must(dat_srq_set_lw(w.b.srq, 2));
	deliver(&w.a, w.a.ep, 1);
	ck_assert_int_eq(drain(w.b.async), 2);
	ck_assert_int_eq(drain(w.b.recv), 1);
	expect_no_event(w.b.connect);
	expect_no_event(w.b.request);
	expect_no_event(w.b.cr);
	expect_no_event(w.a.async);
	expect_no_event(w.a.connect);
}
END_TEST

START_TEST(W1_the_objects_work_on_after_their_events)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	must(dat_srq_set_lw(w.b.srq, 2));
	deliver(&w.a, w.a.ep, 2);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

/* ---- W2: a full EVD ---- */

START_TEST(W2_an_event_waits_for_room_on_a_full_async_EVD)
{
	int queued = stuff(w.b.async);

	w.b.srq = make_srq(&w.b, 10, 1);
	must_fail(dat_evd_post_se(w.b.async, &(DAT_EVENT){ .event_number = DAT_SOFTWARE_EVENT }),
		  DAT_QUEUE_FULL, ANY_SUBTYPE);
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_no_event(w.b.async);
}
END_TEST

/*
 * The event comes as soon as there is room, not at the next look at the EVD: a software event
 * posted afterwards is behind it.
 */
START_TEST(W2_the_event_is_queued_as_soon_as_there_is_room)
{
	int queued = stuff(w.b.async);

	w.b.srq = make_srq(&w.b, 10, 1);
	expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	must_fail(dat_evd_post_se(w.b.async, &(DAT_EVENT){ .event_number = DAT_SOFTWARE_EVENT }),
		  DAT_QUEUE_FULL, ANY_SUBTYPE);
	for (; queued > 1; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_low_watermark(w.b.async, w.b.srq);
}
END_TEST

START_TEST(W2_a_resize_of_the_async_EVD_makes_room_too)
{
	int queued = stuff(w.b.async);

	w.b.srq = make_srq(&w.b, 10, 1);
	must(dat_evd_resize(w.b.async, queued + 8));
	post_se(w.b.async, 77);
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_event(w.b.async, DAT_SOFTWARE_EVENT);
}
END_TEST

START_TEST(W2_at_most_one_event_is_pending_per_arming)
{
	int queued;

	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	queued = stuff(w.b.async);
	must(dat_srq_set_lw(w.b.srq, 5));
	deliver(&w.a, w.a.ep, 4);
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(W2_a_new_setting_drops_the_pending_event)
{
	int queued;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 3);
	queued = stuff(w.b.async);
	must(dat_srq_set_lw(w.b.srq, 5));
	must(dat_srq_set_lw(w.b.srq, 2));
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(W2_disarming_drops_the_pending_event)
{
	int queued;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	queued = stuff(w.b.async);
	must(dat_srq_set_lw(w.b.srq, 5));
	must(dat_srq_set_lw(w.b.srq, 0));
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(W2_freeing_the_srq_drops_the_pending_event)
{
	int queued = stuff(w.b.async);

	w.b.srq = make_srq(&w.b, 10, 1);
	must(dat_srq_free(w.b.srq));
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(W2_a_soft_mark_event_waits_for_room_too)
{
	int queued;

	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	queued = stuff(w.b.async);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	deliver(&w.a, w.a.ep, 3);
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_soft_watermark(w.b.async, w.b.ep);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(W2_a_new_setting_drops_a_pending_soft_mark_event)
{
	int queued;

	srq_pair(10);
	post_srqs(&w.b, 0, 1);
	queued = stuff(w.b.async);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	deliver(&w.a, w.a.ep, 1);
	must(dat_ep_set_watermark(w.b.ep, 1, DAT_WATERMARK_INFINITE));
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(W2_freeing_the_ep_drops_its_pending_event)
{
	int queued;

	srq_pair(10);
	post_srqs(&w.b, 0, 1);
	queued = stuff(w.b.async);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	deliver(&w.a, w.a.ep, 1);
	must(dat_ep_free(w.b.ep));
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(W2_pending_events_of_two_objects_both_come)
{
	DAT_SRQ_HANDLE second;
	int queued = stuff(w.b.async);

	w.b.srq = make_srq(&w.b, 10, 1);
	second = make_srq(&w.b, 10, 1);
	for (; queued > 0; queued--)
		expect_event(w.b.async, DAT_SOFTWARE_EVENT);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_low_watermark(w.b.async, second);
}
END_TEST

/* ---- W2: whose EVD ---- */

static char emu1[] = "emu1";

START_TEST(W2_an_event_goes_to_the_instance_that_owns_the_object)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_ATTR attr = { 10, 4, 1 };

	must(dat_ia_open(emu1, 8, &async, &ia));
	must(dat_pz_create(ia, &pz));
	must(dat_srq_create(ia, pz, &attr, &srq));
	expect_low_watermark(async, srq);
	expect_no_event(w.b.async);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

START_TEST(W2_without_an_EVD_of_its_own_an_instance_uses_the_adapters)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_ATTR attr = { 10, 4, 1 };

	must(dat_ia_open(emu1, 8, &async, &ia));
	ck_assert_ptr_eq(async, DAT_EVD_OUT_OF_SCOPE);
	must(dat_pz_create(ia, &pz));
	must(dat_srq_create(ia, pz, &attr, &srq));
	expect_low_watermark(w.b.async, srq);
	expect_no_event(w.a.async);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

/* It goes from one full EVD, whose IA is closed, to that of another IA, and stays what it was. */
START_TEST(W2_an_event_that_waits_goes_on_to_the_next_async_EVD_of_the_adapter)
{
	DAT_EVD_HANDLE own = NO_HANDLE, async = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE with_own, without;
	DAT_PZ_HANDLE pz;
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_ATTR attr = { 10, 4, 1 };

	must(dat_ia_open(emu1, 8, &own, &with_own));
	must(dat_ia_open(emu1, 8, &async, &without));
	must(dat_pz_create(without, &pz));
	(void)stuff(w.b.async);
	must(dat_srq_create(without, pz, &attr, &srq));
	side_close(&w.b);
	expect_low_watermark(own, srq);
	expect_no_event(own);
	must(dat_ia_close(without, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_ia_close(with_own, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

/* Its handle is not valid any more, and the other IA's Consumer does not know it. */
START_TEST(W2_an_overflow_that_waits_ends_with_its_IA_and_goes_to_no_other)
{
	DAT_EVD_HANDLE async = NO_HANDLE, full, dto;
	char name[] = "emu1";
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	must(dat_ia_open(name, 2, &async, &ia));
	(void)stuff(async);
	must(dat_pz_create(ia, &pz));
	must(dat_evd_create(ia, 1, NO_HANDLE, DAT_EVD_DTO_FLAG, &dto));
	must(dat_evd_create(ia, 1, NO_HANDLE, DAT_EVD_CONNECTION_FLAG | DAT_EVD_SOFTWARE_FLAG,
			    &full));
	(void)stuff(full);
	must(dat_ep_create(ia, pz, dto, dto, full, NULL, &ep));
	must(try_connect(ep, &w.a, QUAL + 9, DAT_TIMEOUT_INFINITE));
	run_quiet();
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	expect_no_event(w.b.async);
	expect_no_event(w.a.async);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, W1_the_two_event_numbers_are_new_and_asynchronous);
	unit_test_all(suite, W1_low_watermark_carries_the_srq_and_its_reason);
	unit_test_all(suite, W1_soft_high_watermark_carries_the_ep_and_its_reason);
	unit_test_all(suite, W1_watermark_events_go_to_the_async_EVD_and_nowhere_else);
	unit_test_all(suite, W1_the_objects_work_on_after_their_events);
	unit_test_all(suite, W2_an_event_waits_for_room_on_a_full_async_EVD);
	unit_test_all(suite, W2_the_event_is_queued_as_soon_as_there_is_room);
	unit_test_all(suite, W2_a_resize_of_the_async_EVD_makes_room_too);
	unit_test_all(suite, W2_at_most_one_event_is_pending_per_arming);
	unit_test_all(suite, W2_a_new_setting_drops_the_pending_event);
	unit_test_all(suite, W2_disarming_drops_the_pending_event);
	unit_test_all(suite, W2_freeing_the_srq_drops_the_pending_event);
	unit_test_all(suite, W2_a_soft_mark_event_waits_for_room_too);
	unit_test_all(suite, W2_a_new_setting_drops_a_pending_soft_mark_event);
	unit_test_all(suite, W2_freeing_the_ep_drops_its_pending_event);
	unit_test_all(suite, W2_pending_events_of_two_objects_both_come);
	unit_test_all(suite, W2_an_event_goes_to_the_instance_that_owns_the_object);
	unit_test_all(suite, W2_without_an_EVD_of_its_own_an_instance_uses_the_adapters);
	unit_test_all(suite, W2_an_event_that_waits_goes_on_to_the_next_async_EVD_of_the_adapter);
	unit_test(suite, W2_an_overflow_that_waits_ends_with_its_IA_and_goes_to_no_other);
}

UNIT_SUITE("watermark_events")
