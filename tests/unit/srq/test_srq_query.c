/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_srq_create, dat_srq_query, dat_srq_post_recv, dat_srq_free: rulings Q1, Q2, Q2a, Q3, Q5. */
#include "tests/support/support.h"

/* ---- Q1: the counts ---- */

/* The example of the page, word by word */
START_TEST(Q1_the_example_of_the_page)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	srq_counts(w.b.srq, 10, 3, 3);
	deliver(&w.a, w.a.ep, 1);
	srq_counts(w.b.srq, 10, 2, 3);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	srq_counts(w.b.srq, 10, 2, 2);
}
END_TEST

START_TEST(Q1_available_falls_at_the_taking)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	send_half(&w.a, w.a.ep, 1, 0);
	srq_counts(w.b.srq, 10, 2, 3);
	expect_no_event(w.b.recv);
	release_message(w.a.ep, 1);
	srq_counts(w.b.srq, 10, 2, 3);
}
END_TEST

START_TEST(Q1_outstanding_includes_available_taken_and_unreaped_buffers)
{
	srq_pair(10);
	post_srqs(&w.b, 0, 5);
	deliver(&w.a, w.a.ep, 2);
	send_half(&w.a, w.a.ep, 3, 2);
	srq_counts(w.b.srq, 10, 2, 5);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	srq_counts(w.b.srq, 10, 2, 4);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_SUCCESS);
	srq_counts(w.b.srq, 10, 2, 3);
}
END_TEST

START_TEST(Q1_a_new_srq_counts_nothing)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

START_TEST(Q1_waiting_reaps_as_dequeueing_does)
{
	DAT_EVENT event;
	DAT_COUNT nmore = -1;

	srq_pair(10);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 2);
	must(dat_evd_wait(w.b.recv, 0, 1, &event, &nmore));
	ck_assert_int_eq(nmore, 1);
	srq_counts(w.b.srq, 10, 1, 2);
}
END_TEST

START_TEST(Q1_the_counts_are_over_all_endpoints)
{
	DAT_EP_HANDLE a2, b2;

	srq_pair(10);
	second_srq_pair(&a2, &b2);
	post_srqs(&w.b, 0, 6);
	deliver(&w.a, w.a.ep, 2);
	deliver(&w.a, a2, 1);
	srq_counts(w.b.srq, 10, 3, 6);
	ck_assert_int_eq(drain(w.b.recv), 3);
	srq_counts(w.b.srq, 10, 3, 3);
}
END_TEST

START_TEST(Q1_query_tells_what_the_srq_was_made_with)
{
	DAT_SRQ_PARAM param;
	DAT_SRQ_ATTR attr = { 12, 3, 5 };

	must(dat_srq_create(w.b.ia, w.b.pz, &attr, &w.b.srq));
	memset(&param, 0xee, sizeof(param));
	must(dat_srq_query(w.b.srq, DAT_SRQ_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.b.ia);
	ck_assert_ptr_eq(param.pz_handle, w.b.pz);
	ck_assert_int_eq(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	ck_assert_int_eq(param.max_recv_dtos, 12);
	ck_assert_int_eq(param.max_recv_iov, 3);
	ck_assert_int_eq(param.low_watermark, 5);
}
END_TEST

/* ---- Q2: a full queue ---- */

START_TEST(Q2_posting_when_outstanding_is_the_size_is_refused)
{
	w.b.srq = make_srq(&w.b, 4, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 4);
	must_fail(try_post_srq(&w.b, 4), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	srq_counts(w.b.srq, 4, 4, 4);
}
END_TEST

START_TEST(Q2_an_unreaped_completion_still_occupies_its_slot)
{
	srq_pair(4);
	post_srqs(&w.b, 0, 4);
	deliver(&w.a, w.a.ep, 4);
	srq_counts(w.b.srq, 4, 0, 4);
	must_fail(try_post_srq(&w.b, 4), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	post_srq(&w.b, 4);
	must_fail(try_post_srq(&w.b, 5), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	srq_counts(w.b.srq, 4, 1, 4);
}
END_TEST

START_TEST(Q2_a_taken_buffer_still_occupies_its_slot)
{
	srq_pair(1);
	post_srq(&w.b, 0);
	send_half(&w.a, w.a.ep, 1, 0);
	must_fail(try_post_srq(&w.b, 1), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	srq_counts(w.b.srq, 1, 0, 1);
}
END_TEST

/* ---- Q2a: sizes ---- */

START_TEST(Q2a_the_size_is_exactly_the_one_asked_for)
{
	static const DAT_COUNT sizes[] = { 1, 2, 3, 7, 31, 33 };
	DAT_COUNT size = sizes[_i], n;

	w.b.srq = make_srq(&w.b, size, DAT_SRQ_LW_DEFAULT);
	srq_counts(w.b.srq, size, 0, 0);
	for (n = 0; n < size; n++)
		post_srq(&w.b, n);
	must_fail(try_post_srq(&w.b, n), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
}
END_TEST

START_TEST(Q2a_zero_and_negative_sizes_are_refused)
{
	static const DAT_COUNT bad[] = { 0, -1, -2, INT_MIN };
	DAT_SRQ_HANDLE srq = (DAT_SRQ_HANDLE)&w;
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		DAT_SRQ_ATTR dtos = { bad[i], 4, 0 }, iov = { 10, bad[i], 0 };

		must_fail(dat_srq_create(w.b.ia, w.b.pz, &dtos, &srq), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG3);
		must_fail(dat_srq_create(w.b.ia, w.b.pz, &iov, &srq), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG3);
	}
	ck_assert_ptr_eq(srq, &w);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_SRQ), 0);
}
END_TEST

START_TEST(Q2a_G3a_sizes_above_the_adapters_limits_are_refused)
{
	DAT_IA_ATTR limits = ia_attr(&w.b);
	DAT_SRQ_ATTR attr[] = {
		{ limits.max_recv_per_srq + 1, 4, 0 },
		{ INT_MAX, 4, 0 },
		{ 10, limits.max_iov_segments_per_dto + 1, 0 },
		{ 10, INT_MAX, 0 },
	};
	DAT_SRQ_HANDLE srq = (DAT_SRQ_HANDLE)&w;
	size_t i;

	for (i = 0; i < COUNT(attr); i++)
		must_fail(dat_srq_create(w.b.ia, w.b.pz, &attr[i], &srq), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG3);
	ck_assert_ptr_eq(srq, &w);
}
END_TEST

START_TEST(Q2a_the_adapters_limits_themselves_are_legal)
{
	DAT_IA_ATTR limits = ia_attr(&w.b);
	DAT_SRQ_ATTR attr = { limits.max_recv_per_srq, limits.max_iov_segments_per_dto, 0 };
	DAT_SRQ_HANDLE srq;

	must(dat_srq_create(w.b.ia, w.b.pz, &attr, &srq));
	srq_counts(srq, limits.max_recv_per_srq, 0, 0);
}
END_TEST

/* ---- Q3 ---- */

START_TEST(Q3_no_count_is_ever_unknown)
{
	DAT_SRQ_PARAM param;
	DAT_COUNT nbufs, span;

	srq_pair(10);
	post_srqs(&w.b, 0, 2);
	send_half(&w.a, w.a.ep, 1, 0);
	must(dat_srq_query(w.b.srq, DAT_SRQ_FIELD_ALL, &param));
	ck_assert_int_ge(param.available_dto_count, 0);
	ck_assert_int_ge(param.outstanding_dto_count, 0);
	must(dat_ep_recv_query(w.b.ep, &nbufs, &span));
	ck_assert_int_ge(nbufs, 0);
	ck_assert_int_ge(span, 0);
}
END_TEST

/* ---- Q5: refusals ---- */

START_TEST(Q5_an_srq_in_use_cannot_be_freed)
{
	DAT_EP_HANDLE ep;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	ep = srq_ep(&w.b, w.b.srq);
	post_srqs(&w.b, 0, 3);
	must_fail(dat_srq_free(w.b.srq), DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	srq_counts(w.b.srq, 10, 3, 3);
	must(dat_ep_free(ep));
	must(dat_srq_free(w.b.srq));
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_SRQ), 0);
}
END_TEST

START_TEST(Q5_an_srq_of_a_disconnected_ep_is_in_use)
{
	srq_pair(10);
	disconnect_pair();
	must_fail(dat_srq_free(w.b.srq), DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	must(dat_ep_reset(w.b.ep));
	must_fail(dat_srq_free(w.b.srq), DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
}
END_TEST

START_TEST(Q5_an_srq_with_buffers_on_it_can_be_freed)
{
	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	post_srqs(&w.b, 0, 3);
	must(dat_srq_free(w.b.srq));
	expect_no_event(w.b.recv);
}
END_TEST

START_TEST(Q5_a_receive_on_an_srq_endpoint_is_an_invalid_state)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SLOT_SIZE);

	srq_pair(10);
	must_fail(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_STATE, ANY_SUBTYPE);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

START_TEST(Q5_more_segments_than_max_recv_iov_are_refused)
{
	DAT_LMR_TRIPLET iov[5];
	int i;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT); /* with 4 segments */
	for (i = 0; i < 5; i++)
		iov[i] = segment(&w.b, i, SLOT_SIZE);
	must_fail(dat_srq_post_recv(w.b.srq, 5, iov, cookie(0)), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_srq_post_recv(w.b.srq, -1, iov, cookie(0)), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_srq_post_recv(w.b.srq, INT_MAX, iov, cookie(0)), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	srq_counts(w.b.srq, 10, 0, 0);
	must(dat_srq_post_recv(w.b.srq, 4, iov, cookie(0)));
	srq_counts(w.b.srq, 10, 1, 1);
}
END_TEST

START_TEST(Q5_a_receive_buffer_needs_local_write)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.b, 0) };
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SLOT_SIZE);
	DAT_LMR_HANDLE lmr;

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, region, SLOT_SIZE, w.b.pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, &iov.lmr_context, NULL, NULL,
			    NULL));
	must_fail(dat_srq_post_recv(w.b.srq, 1, &iov, cookie(0)), DAT_PRIVILEGES_VIOLATION,
		  DAT_PRIVILEGES_WRITE);
	srq_counts(w.b.srq, 10, 0, 0);
}
END_TEST

START_TEST(Q5_a_message_scatters_over_the_segments_of_its_buffer)
{
	DAT_LMR_TRIPLET iov[3];

	srq_pair(10);
	iov[0] = segment(&w.b, 0, 100);
	iov[1] = segment(&w.b, 1, 0);
	iov[2] = segment(&w.b, 2, SLOT_SIZE);
	must(dat_srq_post_recv(w.b.srq, 3, iov, cookie(9)));
	fill_slot(&w.a, 0, 5);
	post_send(&w.a, w.a.ep, 0, 700);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 9, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(slot(&w.b, 0), slot(&w.a, 0), 100);
	ck_assert_int_eq(slot(&w.b, 0)[100], 0);
	ck_assert_mem_eq(slot(&w.b, 2), slot(&w.a, 0) + 100, 600);
	ck_assert_int_eq(slot(&w.b, 2)[600], 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, Q1_the_example_of_the_page);
	unit_test_all(suite, Q1_available_falls_at_the_taking);
	unit_test_all(suite, Q1_outstanding_includes_available_taken_and_unreaped_buffers);
	unit_test_all(suite, Q1_a_new_srq_counts_nothing);
	unit_test_all(suite, Q1_waiting_reaps_as_dequeueing_does);
	unit_test_all(suite, Q1_the_counts_are_over_all_endpoints);
	unit_test_all(suite, Q1_query_tells_what_the_srq_was_made_with);
	unit_test_all(suite, Q2_posting_when_outstanding_is_the_size_is_refused);
	unit_test_all(suite, Q2_an_unreaped_completion_still_occupies_its_slot);
	unit_test_all(suite, Q2_a_taken_buffer_still_occupies_its_slot);
	unit_test_loop(suite, Q2a_the_size_is_exactly_the_one_asked_for, 6);
	unit_test_all(suite, Q2a_zero_and_negative_sizes_are_refused);
	unit_test_all(suite, Q2a_G3a_sizes_above_the_adapters_limits_are_refused);
	unit_test_all(suite, Q2a_the_adapters_limits_themselves_are_legal);
	unit_test_all(suite, Q3_no_count_is_ever_unknown);
	unit_test_all(suite, Q5_an_srq_in_use_cannot_be_freed);
	unit_test_all(suite, Q5_an_srq_of_a_disconnected_ep_is_in_use);
	unit_test_all(suite, Q5_an_srq_with_buffers_on_it_can_be_freed);
	unit_test_all(suite, Q5_a_receive_on_an_srq_endpoint_is_an_invalid_state);
	unit_test_all(suite, Q5_more_segments_than_max_recv_iov_are_refused);
	unit_test_all(suite, Q5_a_receive_buffer_needs_local_write);
	unit_test_all(suite, Q5_a_message_scatters_over_the_segments_of_its_buffer);
}

UNIT_SUITE("srq_query")
