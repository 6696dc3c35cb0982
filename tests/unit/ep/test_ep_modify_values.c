/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_ep_modify: legal values, and all or nothing. Rulings M5, M6, G3a, G4, A1, A2. */
#include "tests/support/ep_fields.h"

#define FLAGS_RECV    DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS
#define FLAGS_REQUEST DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS

static void must_refuse(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK bit, DAT_UINT64 value)
{
	const struct ep_field *field = field_of(bit);
	DAT_UINT64 before = field_query(field, ep);
	DAT_RETURN ret = field_modify(field, ep, value);

	ck_assert_msg(is_failure(ret, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		      "%s = %#llx: expected DAT_INVALID_PARAMETER, argument 3, got %s", field->name,
		      (unsigned long long)value, ret_text(ret));
	ck_assert_uint_eq(field_query(field, ep), before);
}

static void must_take(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK bit, DAT_UINT64 value,
		      DAT_UINT64 in_force)
{
	const struct ep_field *field = field_of(bit);
	DAT_RETURN ret = field_modify(field, ep, value);

	ck_assert_msg(ret == DAT_SUCCESS, "%s = %#llx: expected success, got %s", field->name,
		      (unsigned long long)value, ret_text(ret));
	ck_assert_msg(field_query(field, ep) == in_force, "%s: expected %#llx in force, got %#llx",
		      field->name, (unsigned long long)in_force,
		      (unsigned long long)field_query(field, ep));
}

/* ---- M5: flags ---- */

START_TEST(M5_legal_receive_flags)
{
	static const int good[] = { DAT_COMPLETION_UNSIGNALLED_FLAG,
				    DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				    DAT_COMPLETION_EVD_THRESHOLD_FLAG,
				    DAT_COMPLETION_DEFAULT_FLAG };
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_take(ep, FLAGS_RECV, (DAT_UINT64)good[_i], (DAT_UINT64)good[_i]);
}
END_TEST

START_TEST(M5_illegal_receive_flags)
{
	static const int bad[] = { DAT_COMPLETION_SUPPRESS_FLAG, DAT_COMPLETION_BARRIER_FENCE_FLAG,
				   0x20, INT_MIN };
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_refuse(ep, FLAGS_RECV, (DAT_UINT32)bad[_i]);
}
END_TEST

START_TEST(M5_A2_legal_request_flags)
{
	static const int good[] = {
		DAT_COMPLETION_UNSIGNALLED_FLAG,   DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG,      DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_BARRIER_FENCE_FLAG, DAT_COMPLETION_DEFAULT_FLAG
	};
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_RETURN ret = field_modify(field_of(FLAGS_REQUEST), ep, (DAT_UINT64)good[_i]);

	ck_assert_msg(ret == DAT_SUCCESS, "flag %#x: %s", (unsigned int)good[_i], ret_text(ret));
}
END_TEST

START_TEST(M5_illegal_request_flags)
{
	static const int bad[] = { 0x20, 0x100, INT_MIN };
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_refuse(ep, FLAGS_REQUEST, (DAT_UINT32)bad[_i]);
}
END_TEST

/* ---- M5: service, QoS ---- */

START_TEST(M5_an_unknown_service_type_or_quality_is_refused)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_refuse(ep, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, 1);
	must_refuse(ep, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, 0xffffffff);
	must_refuse(ep, DAT_EP_FIELD_EP_ATTR_QOS, 0x10);
	must_refuse(ep, DAT_EP_FIELD_EP_ATTR_QOS, 0xffffffff);
}
END_TEST

START_TEST(M5_transport_and_provider_attributes_there_are_none)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_refuse(ep, DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, 1);
	must_refuse(ep, DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, 0xffffffff);
	must_refuse(ep, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, 1);
	must_refuse(ep, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, 0xffffffff);
}
END_TEST

/* ---- M5: numbers against the adapter's limits ---- */

struct bound {
	DAT_EP_PARAM_MASK bit;
	DAT_UINT64 limit;
};

enum {
	BOUNDS = 10
};

static void get_bounds(struct bound *bounds)
{
	DAT_IA_ATTR attr = ia_attr(&w.a);
	const struct bound all[BOUNDS] = {
		{ DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, attr.max_message_size },
		{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, attr.max_rdma_size },
		{ DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, attr.max_dto_per_ep },
		{ DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, attr.max_dto_per_ep },
		{ DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, attr.max_iov_segments_per_dto },
		{ DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, attr.max_iov_segments_per_dto },
		{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, attr.max_rdma_read_per_ep_in },
		{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, attr.max_rdma_read_per_ep_out },
		{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, attr.max_iov_segments_per_rdma_read },
		{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, attr.max_iov_segments_per_rdma_write },
	};

	memcpy(bounds, all, sizeof(all));
}

START_TEST(M5_the_adapters_limit_is_legal_and_one_more_is_not)
{
	struct bound bounds[BOUNDS];
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	get_bounds(bounds);
	ck_assert_uint_gt(bounds[_i].limit, 0);
	must_take(ep, bounds[_i].bit, bounds[_i].limit, bounds[_i].limit);
	must_refuse(ep, bounds[_i].bit, bounds[_i].limit + 1);
}
END_TEST

START_TEST(M5_no_count_is_negative)
{
	struct bound bounds[BOUNDS];
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	size_t i;

	get_bounds(bounds);
	for (i = 2; i < BOUNDS; i++) {
		must_refuse(ep, bounds[i].bit, (DAT_UINT32)-1);
		must_refuse(ep, bounds[i].bit, (DAT_UINT32)INT_MIN);
		must_refuse(ep, bounds[i].bit, (DAT_UINT32)INT_MAX);
	}
}
END_TEST

START_TEST(M5_A1_zero_in_a_size_or_an_RDMA_IOV_field_is_the_maximum)
{
	DAT_IA_ATTR attr = ia_attr(&w.a);
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_take(ep, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, 0, attr.max_message_size);
	must_take(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, 0, attr.max_rdma_size);
	must_take(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, 0,
		  (DAT_UINT64)attr.max_iov_segments_per_rdma_read);
	must_take(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, 0,
		  (DAT_UINT64)attr.max_iov_segments_per_rdma_write);
}
END_TEST

START_TEST(M5_A1_zero_RDMA_reads_stay_zero)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_take(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, 2, 2);
	must_take(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, 0, 0);
	must_take(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, 0, 0);
}
END_TEST

START_TEST(M5_max_recv_dtos_below_what_is_posted_is_an_invalid_state)
{
	const struct ep_field *field = field_of(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS);
	DAT_EP_HANDLE ep = plain_ep(&w.b);

	post_recvs(&w.b, ep, 0, 5);
	must_fail(field_modify(field, ep, 4), DAT_INVALID_STATE, ANY_SUBTYPE);
	ck_assert_uint_eq(field_query(field, ep), 32);
	must(field_modify(field, ep, 5));
	ck_assert_uint_eq(field_query(field, ep), 5);
}
END_TEST

/* ---- G3a: handles in the structure ---- */

START_TEST(G3a_a_bad_handle_in_the_structure_is_an_invalid_parameter)
{
	static const DAT_EP_PARAM_MASK bits[] = {
		DAT_EP_FIELD_PZ_HANDLE,
		DAT_EP_FIELD_RECV_EVD_HANDLE,
		DAT_EP_FIELD_REQUEST_EVD_HANDLE,
		DAT_EP_FIELD_CONNECT_EVD_HANDLE,
	};
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_EVD_HANDLE stale = make_evd(&w.a, 8, DAT_EVD_DEFAULT_FLAG);

	must(dat_evd_free(stale));
	must_refuse(ep, bits[_i], 0x1);
	must_refuse(ep, bits[_i], 0xdeadbeef);
	must_refuse(ep, bits[_i], (DAT_UINT64)(uintptr_t)&w);
	must_refuse(ep, bits[_i], (DAT_UINT64)(uintptr_t)w.a.ia);
	must_refuse(ep, bits[_i], (DAT_UINT64)(uintptr_t)w.a.lmr);
	must_refuse(ep, bits[_i], (DAT_UINT64)(uintptr_t)stale);
}
END_TEST

START_TEST(G3a_an_EVD_without_the_streams_flag_is_an_invalid_parameter)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_refuse(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, (DAT_UINT64)(uintptr_t)w.a.connect);
	must_refuse(ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, (DAT_UINT64)(uintptr_t)w.a.cr);
	must_refuse(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, (DAT_UINT64)(uintptr_t)w.a.recv);
}
END_TEST

/* ---- M6, G4 ---- */

/* One good and one bad field, with either one at the lower bit. */
START_TEST(M6_one_bad_field_and_none_is_changed)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_EP_PARAM param, before, after;
	DAT_EP_PARAM_MASK good = DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				 DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
				 DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	must(dat_ep_query(ep, good, &before));
	memset(&param, 0, sizeof(param));
	param.ep_attr.max_recv_dtos = 7;
	param.ep_attr.max_message_size = 4096;
	param.ep_attr.max_rdma_read_out = 2;
	param.ep_attr.max_recv_iov = -1;
	must_fail(dat_ep_modify(ep, good | DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(dat_ep_modify(ep, good | DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must(dat_ep_query(ep, good, &after));
	ck_assert_int_eq(after.ep_attr.max_recv_dtos, before.ep_attr.max_recv_dtos);
	ck_assert_uint_eq(after.ep_attr.max_message_size, before.ep_attr.max_message_size);
	ck_assert_int_eq(after.ep_attr.max_rdma_read_out, before.ep_attr.max_rdma_read_out);
	must(dat_ep_modify(ep, good, &param));
	must(dat_ep_query(ep, good, &after));
	ck_assert_int_eq(after.ep_attr.max_recv_dtos, 7);
	ck_assert_uint_eq(after.ep_attr.max_message_size, 4096);
	ck_assert_int_eq(after.ep_attr.max_rdma_read_out, 2);
}
END_TEST

START_TEST(M6_a_field_in_a_wrong_state_stops_the_others)
{
	DAT_EP_HANDLE ep = plain_ep(&w.b);
	DAT_EP_PARAM param;

	post_recvs(&w.b, ep, 0, 5);
	memset(&param, 0, sizeof(param));
	param.ep_attr.max_request_dtos = 9;
	param.ep_attr.max_recv_dtos = 4; /* fewer than are posted */
	must_fail(dat_ep_modify(ep,
				DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
					DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				&param),
		  DAT_INVALID_STATE, ANY_SUBTYPE);
	ck_assert_uint_eq(field_query(field_of(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS), ep), 32);
}
END_TEST

START_TEST(M6_checks_come_in_the_order_handle_mask_values_state)
{
	DAT_EP_HANDLE ep = ep_in_state(DAT_EP_STATE_CONNECTED);
	const struct ep_field *recv_dtos = field_of(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS);
	DAT_EP_PARAM_MASK unknown = UINT64_C(1) << 40;
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	param.ep_attr.max_recv_dtos = -1;
	must_fail(dat_ep_modify(NO_HANDLE, unknown, &param), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	must_fail(dat_ep_modify(ep, unknown | recv_dtos->bit, &param), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_ep_modify(ep, DAT_EP_FIELD_EP_STATE | recv_dtos->bit, &param),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_ep_modify(ep, recv_dtos->bit, &param), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	param.ep_attr.max_recv_dtos = 7;
	must_fail(dat_ep_modify(ep, recv_dtos->bit, &param), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_EP_CONNECTED);
}
END_TEST

START_TEST(G4_every_unknown_bit_of_the_mask_is_refused)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_EP_PARAM param;
	int bit;

	memset(&param, 0, sizeof(param));
	for (bit = 0; bit < 64; bit++) {
		DAT_EP_PARAM_MASK mask = UINT64_C(1) << bit;

		if (!(DAT_EP_FIELD_ALL & mask))
			must_fail(dat_ep_modify(ep, mask, &param), DAT_INVALID_PARAMETER,
				  DAT_INVALID_ARG2);
	}
}
END_TEST

START_TEST(G4_a_zero_mask_is_a_no_op_in_every_state)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep = ep_in_state(state);

	must(dat_ep_modify(ep, 0, NULL));
	expect_state(ep, state);
}
END_TEST

START_TEST(G3_a_NULL_structure_under_a_mask_is_refused)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	must_fail(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, M5_legal_receive_flags, 4);
	unit_test_loop(suite, M5_illegal_receive_flags, 4);
	unit_test_loop(suite, M5_A2_legal_request_flags, 6);
	unit_test_loop(suite, M5_illegal_request_flags, 3);
	unit_test(suite, M5_an_unknown_service_type_or_quality_is_refused);
	unit_test(suite, M5_transport_and_provider_attributes_there_are_none);
	unit_test_loop(suite, M5_the_adapters_limit_is_legal_and_one_more_is_not, BOUNDS);
	unit_test(suite, M5_no_count_is_negative);
	unit_test(suite, M5_A1_zero_in_a_size_or_an_RDMA_IOV_field_is_the_maximum);
	unit_test(suite, M5_A1_zero_RDMA_reads_stay_zero);
	unit_test(suite, M5_max_recv_dtos_below_what_is_posted_is_an_invalid_state);
	unit_test_loop(suite, G3a_a_bad_handle_in_the_structure_is_an_invalid_parameter, 4);
	unit_test(suite, G3a_an_EVD_without_the_streams_flag_is_an_invalid_parameter);
	unit_test(suite, M6_one_bad_field_and_none_is_changed);
	unit_test(suite, M6_a_field_in_a_wrong_state_stops_the_others);
	unit_test(suite, M6_checks_come_in_the_order_handle_mask_values_state);
	unit_test(suite, G4_every_unknown_bit_of_the_mask_is_refused);
	unit_test_loop(suite, G4_a_zero_mask_is_a_no_op_in_every_state, REACHABLE_STATES);
	unit_test(suite, G3_a_NULL_structure_under_a_mask_is_refused);
}

UNIT_SUITE("ep_modify_values")
