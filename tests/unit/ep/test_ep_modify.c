/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_ep_modify: which field may change in which state. Rulings M1 to M4 and the states of M5:
 * every field in every state that public calls can reach. The values are in
 * test_ep_modify_values.c.
 */
#include "tests/support/ep_fields.h"

/* Loop tests iterate over the fields; a failure message names the field. */
#define must_be(call, type, subtype, field)                                                       \
	do {                                                                                      \
		DAT_RETURN must_ret = (call);                                                     \
		ck_assert_msg(is_failure(must_ret, (type), (subtype)), "%s: expected %s, got %s", \
			      (field)->name, #type, ret_text(must_ret));                          \
	} while (0)

static void expect_value(const struct ep_field *field, DAT_EP_HANDLE ep, DAT_UINT64 expected)
{
	DAT_UINT64 actual = field_query(field, ep);

	ck_assert_msg(actual == expected, "%s: expected %#llx, got %#llx", field->name,
		      (unsigned long long)expected, (unsigned long long)actual);
}

/* ---- each field ---- */

START_TEST(M1_a_field_that_never_changes_is_refused_in_every_state)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep = ep_in_state(state);
	size_t i, rows = 0;

	for (i = 0; i < ep_field_count; i++) {
		const struct ep_field *field = &ep_fields[i];
		DAT_UINT64 before;

		if (field->when != NEVER)
			continue;
		rows++;
		before = field_query(field, ep);
		must_be(field_modify(field, ep, field->good), DAT_INVALID_PARAMETER,
			DAT_INVALID_ARG2, field);
		must_be(field_modify(field, ep, before), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
			field);
		expect_value(field, ep, before);
	}
	ck_assert_uint_eq(rows, 8);
	expect_state(ep, state);
}
END_TEST

START_TEST(M2_M3_M4_every_other_field_changes_in_UNCONNECTED)
{
	const struct ep_field *field = &ep_fields[_i];
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_UNCONNECTED);
	DAT_RETURN ret;

	if (field->when == NEVER)
		return;
	other_objects();
	ret = field_modify(field, ep, good_value(field));
	ck_assert_msg(ret == DAT_SUCCESS, "%s: %s", field->name, ret_text(ret));
	expect_value(field, ep, good_value(field));
	expect_state(ep, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

static bool may_change(enum when when, DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return true;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return when != UNCONNECTED_ONLY;
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return when == BEFORE_CONNECTION;
	default:
		return false;
	}
}

START_TEST(M2_M3_M4_M5_a_field_changes_in_its_states_elsewhere_the_subtype_names_the_state)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep = ep_in_state(state);
	size_t i;

	other_objects();
	for (i = 0; i < ep_field_count; i++) {
		const struct ep_field *field = &ep_fields[i];
		DAT_UINT64 before;

		if (field->when == NEVER)
			continue;
		if (may_change(field->when, state)) {
			must(field_modify(field, ep, good_value(field)));
			expect_value(field, ep, good_value(field));
			continue;
		}
		before = field_query(field, ep);
		must_be(field_modify(field, ep, good_value(field)), DAT_INVALID_STATE,
			state_subtype(state), field);
		expect_value(field, ep, before);
	}
	expect_state(ep, state);
}
END_TEST

START_TEST(M3_fields_change_again_after_a_reset)
{
	const struct ep_field *field = field_of(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS);
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_DISCONNECTED);

	must_fail(field_modify(field, ep, 7), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_DISCONNECTED);
	must(dat_ep_reset(ep));
	must(field_modify(field, ep, 7));
	ck_assert_uint_eq(field_query(field, ep), 7);
}
END_TEST

/* ---- effect of a change ---- */

START_TEST(M2_receives_of_another_zone_fail_when_they_are_used)
{
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.b.ia, &pz));
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	post_recv(&w.b, w.b.ep, 0);
	must(field_modify(field_of(DAT_EP_FIELD_PZ_HANDLE), w.b.ep, (DAT_UINT64)(uintptr_t)pz));
	expect_recv_counts(w.b.ep, 1, 1);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	expect_no_event(w.b.recv);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_LOCAL_PROTECTION);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
}
END_TEST

START_TEST(M2_posts_are_checked_against_the_new_zone)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SLOT_SIZE);
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.b.ia, &pz));
	w.b.ep = plain_ep(&w.b);
	must(field_modify(field_of(DAT_EP_FIELD_PZ_HANDLE), w.b.ep, (DAT_UINT64)(uintptr_t)pz));
	must_fail(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_PROTECTION_VIOLATION, ANY_SUBTYPE);
}
END_TEST

START_TEST(M2_the_old_zone_is_no_longer_in_use_and_the_new_one_is)
{
	DAT_PZ_HANDLE first, second;
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr = ep_attr();

	must(dat_pz_create(w.b.ia, &first));
	must(dat_pz_create(w.b.ia, &second));
	must(dat_ep_create(w.b.ia, first, w.b.recv, w.b.request, w.b.connect, &attr, &ep));
	must(field_modify(field_of(DAT_EP_FIELD_PZ_HANDLE), ep, (DAT_UINT64)(uintptr_t)second));
	must_fail(dat_pz_free(second), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	must(dat_pz_free(first));
}
END_TEST

START_TEST(M3_completions_and_events_go_to_the_new_EVDs)
{
	DAT_EVD_HANDLE recv = make_evd(&w.b, 8, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE out = make_evd(&w.b, 8, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE connect = make_evd(&w.b, 8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	param.recv_evd_handle = recv;
	param.request_evd_handle = out;
	param.connect_evd_handle = connect;
	must(dat_ep_modify(w.b.ep,
			   DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				   DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			   &param));
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	run_quiet();
	expect_connection(connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	post_recv(&w.b, w.b.ep, 0);
	post_recv(&w.a, w.a.ep, 0);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	post_send(&w.b, w.b.ep, 1, SHORT);
	run_quiet();
	expect_dto(out, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_no_event(w.b.recv);
	expect_no_event(w.b.request);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(M3_max_recv_dtos_is_enforced_as_changed)
{
	const struct ep_field *field = field_of(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS);
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SLOT_SIZE);

	w.b.ep = plain_ep(&w.b);
	must(field_modify(field, w.b.ep, 2));
	post_recvs(&w.b, w.b.ep, 0, 2);
	must_fail(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(field_modify(field, w.b.ep, 40));
	post_recvs(&w.b, w.b.ep, 2, 38);
}
END_TEST

/* A Receive that is posted keeps its segments, however few the next ones may have. */
START_TEST(M3_a_Receive_keeps_its_segments_when_max_recv_iov_shrinks)
{
	DAT_LMR_TRIPLET parts[3], whole[3] = { segment(&w.b, 4, 16), segment(&w.b, 5, 16),
					       segment(&w.b, 6, SHORT - 32) };
	DAT_EP_PARAM param = { .ep_attr = { .max_recv_iov = 1 } };

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	for (int i = 0; i < 2; i++) {
		memcpy(parts, whole, sizeof(parts));
		for (int j = 0; j < 3; j++)
			parts[j].virtual_address += (DAT_VADDR)(3 * i * SLOT_SIZE);
		must(dat_ep_post_recv(w.b.ep, 3, parts, cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
	}
	must(dat_ep_modify(w.b.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param));
	must_fail(dat_ep_post_recv(w.b.ep, 3, parts, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	for (int i = 0; i < 2; i++) {
		const unsigned char *sent = slot(&w.a, i);

		fill_slot(&w.a, i, 40 + i);
		post_send(&w.a, w.a.ep, i, SHORT);
		run_quiet();
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
		ck_assert_mem_eq(slot(&w.b, 4 + 3 * i), sent, 16);
		ck_assert_mem_eq(slot(&w.b, 5 + 3 * i), sent + 16, 16);
		ck_assert_mem_eq(slot(&w.b, 6 + 3 * i), sent + 32, SHORT - 32);
		expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
	}
	disconnect_pair();
}
END_TEST

START_TEST(M3_max_request_dtos_is_enforced_as_changed)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(field_modify(field_of(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS), w.a.ep, 2));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	must_fail(try_send(&w.a, w.a.ep, 2, SHORT), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
}
END_TEST

START_TEST(M3_receive_flags_need_that_no_receive_was_posted)
{
	const struct ep_field *field = field_of(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS);

	w.b.ep = plain_ep(&w.b);
	post_recv(&w.b, w.b.ep, 0);
	must_fail(field_modify(field, w.b.ep, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_INVALID_STATE,
		  ANY_SUBTYPE);
	ck_assert_uint_eq(field_query(field, w.b.ep), DAT_COMPLETION_DEFAULT_FLAG);
}
END_TEST

START_TEST(M4_a_count_of_zero_with_no_list_succeeds)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	must(dat_ep_modify(ep,
			   DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |
				   DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR |
				   DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				   DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR,
			   &param));
}
END_TEST

START_TEST(M1_the_srq_of_an_srq_endpoint_stays)
{
	const struct ep_field *field = field_of(DAT_EP_FIELD_SRQ_HANDLE);
	DAT_SRQ_HANDLE other = make_srq(&w.b, 4, DAT_SRQ_LW_DEFAULT);

	w.b.srq = make_srq(&w.b, 10, DAT_SRQ_LW_DEFAULT);
	w.b.ep = srq_ep(&w.b, w.b.srq);
	must_fail(field_modify(field, w.b.ep, (DAT_UINT64)(uintptr_t)other), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	ck_assert_uint_eq(field_query(field, w.b.ep), (DAT_UINT64)(uintptr_t)w.b.srq);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, M1_a_field_that_never_changes_is_refused_in_every_state,
		       REACHABLE_STATES);
	unit_test_loop(suite, M2_M3_M4_every_other_field_changes_in_UNCONNECTED, ep_field_count);
	unit_test_loop(
		suite,
		M2_M3_M4_M5_a_field_changes_in_its_states_elsewhere_the_subtype_names_the_state,
		REACHABLE_STATES);
	unit_test_all(suite, M3_fields_change_again_after_a_reset);
	unit_test_all(suite, M2_receives_of_another_zone_fail_when_they_are_used);
	unit_test_all(suite, M2_posts_are_checked_against_the_new_zone);
	unit_test_all(suite, M2_the_old_zone_is_no_longer_in_use_and_the_new_one_is);
	unit_test_all(suite, M3_completions_and_events_go_to_the_new_EVDs);
	unit_test_all(suite, M3_max_recv_dtos_is_enforced_as_changed);
	unit_test_all(suite, M3_a_Receive_keeps_its_segments_when_max_recv_iov_shrinks);
	unit_test_all(suite, M3_max_request_dtos_is_enforced_as_changed);
	unit_test_all(suite, M3_receive_flags_need_that_no_receive_was_posted);
	unit_test_all(suite, M4_a_count_of_zero_with_no_list_succeeds);
	unit_test_all(suite, M1_the_srq_of_an_srq_endpoint_stays);
}

UNIT_SUITE("ep_modify")
