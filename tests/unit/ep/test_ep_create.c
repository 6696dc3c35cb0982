/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_ep_create, dat_ep_create_with_srq, dat_ep_query: rulings A1, A2, G3a, H5; "page_": the pages.
 */
#include "tests/support/ep_fields.h"

static DAT_RETURN try_plain(const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, attr, ep);
}

static DAT_RETURN try_srq(const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create_with_srq(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, w.a.srq,
				      attr, ep);
}

static DAT_EP_ATTR queried(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xee, sizeof(param));
	must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	return param.ep_attr;
}

/* ---- A1 ---- */

START_TEST(A1_zero_sizes_mean_the_adapters_maximum)
{
	DAT_IA_ATTR limits = ia_attr(&w.a);
	DAT_EP_ATTR attr = ep_attr(), actual;

	attr.max_message_size = attr.max_rdma_size = 0;
	attr.max_rdma_read_iov = attr.max_rdma_write_iov = 0;
	actual = queried(plain_ep_with(&w.a, &attr));
	ck_assert_uint_eq(actual.max_message_size, limits.max_message_size);
	ck_assert_uint_eq(actual.max_rdma_size, limits.max_rdma_size);
	ck_assert_int_eq(actual.max_rdma_read_iov, limits.max_iov_segments_per_rdma_read);
	ck_assert_int_eq(actual.max_rdma_write_iov, limits.max_iov_segments_per_rdma_write);
	ck_assert_uint_gt(actual.max_message_size, 0);
	ck_assert_int_gt(actual.max_rdma_read_iov, 0);
}
END_TEST

START_TEST(A1_zero_RDMA_reads_stay_0)
{
	DAT_EP_ATTR attr = ep_attr(), actual;

	attr.max_rdma_read_in = attr.max_rdma_read_out = 0;
	actual = queried(plain_ep_with(&w.a, &attr));
	ck_assert_int_eq(actual.max_rdma_read_in, 0);
	ck_assert_int_eq(actual.max_rdma_read_out, 0);
}
END_TEST

START_TEST(A1_NULL_attributes_are_16_4_8_and_maximum_sizes)
{
	DAT_IA_ATTR limits = ia_attr(&w.a);
	DAT_EP_ATTR attr = queried(plain_ep_with(&w.a, NULL));

	ck_assert_int_eq(attr.max_recv_dtos, 16);
	ck_assert_int_eq(attr.max_request_dtos, 16);
	ck_assert_int_eq(attr.max_recv_iov, 4);
	ck_assert_int_eq(attr.max_request_iov, 4);
	ck_assert_int_eq(attr.max_rdma_read_in, 8);
	ck_assert_int_eq(attr.max_rdma_read_out, 8);
	ck_assert_uint_eq(attr.max_message_size, limits.max_message_size);
	ck_assert_uint_eq(attr.max_rdma_size, limits.max_rdma_size);
	ck_assert_int_eq(attr.recv_completion_flags, DAT_COMPLETION_DEFAULT_FLAG);
	ck_assert_int_eq(attr.request_completion_flags, DAT_COMPLETION_DEFAULT_FLAG);
	ck_assert_int_eq(attr.srq_soft_hw, DAT_HW_DEFAULT);
	ck_assert_int_eq(attr.service_type, DAT_SERVICE_TYPE_RC);
}
END_TEST

START_TEST(A1_an_endpoint_with_NULL_attributes_works)
{
	w.a.ep = plain_ep_with(&w.a, NULL);
	w.b.ep = plain_ep_with(&w.b, NULL);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, 16);
	deliver(&w.a, w.a.ep, 16);
	ck_assert_int_eq(drain(w.b.recv), 16);
}
END_TEST

START_TEST(A1_query_shows_what_was_asked_for)
{
	DAT_EP_ATTR attr = ep_attr(), actual;

	attr.max_message_size = 5000;
	attr.max_rdma_size = 6000;
	attr.max_recv_dtos = 5;
	attr.max_request_dtos = 6;
	attr.max_recv_iov = 2;
	attr.max_request_iov = 3;
	attr.max_rdma_read_in = 1;
	attr.max_rdma_read_out = 2;
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 2;
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	actual = queried(plain_ep_with(&w.a, &attr));
	ck_assert_uint_eq(actual.max_message_size, 5000);
	ck_assert_uint_eq(actual.max_rdma_size, 6000);
	ck_assert_int_eq(actual.max_recv_dtos, 5);
	ck_assert_int_eq(actual.max_request_dtos, 6);
	ck_assert_int_eq(actual.max_recv_iov, 2);
	ck_assert_int_eq(actual.max_request_iov, 3);
	ck_assert_int_eq(actual.max_rdma_read_in, 1);
	ck_assert_int_eq(actual.max_rdma_read_out, 2);
	ck_assert_int_eq(actual.max_rdma_read_iov, 1);
	ck_assert_int_eq(actual.max_rdma_write_iov, 2);
	ck_assert_int_eq(actual.request_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG);
	ck_assert_int_eq(actual.recv_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
}
END_TEST

START_TEST(page_the_attributes_are_read_during_the_call_only)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep = plain_ep_with(&w.a, &attr);

	memset(&attr, 0xee, sizeof(attr));
	ck_assert_int_eq(queried(ep).max_recv_dtos, 32);
}
END_TEST

/* Lists of no attributes: the Endpoint keeps no pointer to what is the program's. */
START_TEST(page_lists_without_entries_are_not_kept)
{
	DAT_NAMED_ATTR none = { .name = "none", .value = "" };
	DAT_EP_ATTR attr = ep_attr();

	attr.ep_transport_specific = &none;
	attr.ep_provider_specific = &none;
	attr = queried(plain_ep_with(&w.a, &attr));
	ck_assert_ptr_null(attr.ep_transport_specific);
	ck_assert_ptr_null(attr.ep_provider_specific);
}
END_TEST

/* ---- the objects ---- */

START_TEST(page_query_shows_the_objects)
{
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	w.a.srq = make_srq(&w.a, 10, DAT_SRQ_LW_DEFAULT);
	ep = srq_ep(&w.a, w.a.srq);
	must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.a.ia);
	ck_assert_int_eq(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	ck_assert_ptr_eq(param.pz_handle, w.a.pz);
	ck_assert_ptr_eq(param.recv_evd_handle, w.a.recv);
	ck_assert_ptr_eq(param.request_evd_handle, w.a.request);
	ck_assert_ptr_eq(param.connect_evd_handle, w.a.connect);
	ck_assert_ptr_eq(param.srq_handle, w.a.srq);
	must(dat_ep_query(plain_ep(&w.a), DAT_EP_FIELD_ALL, &param));
	ck_assert_ptr_null(param.srq_handle);
}
END_TEST

START_TEST(page_each_EVD_may_be_left_out)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	must(dat_ep_create(w.a.ia, w.a.pz, NO_HANDLE, NO_HANDLE, NO_HANDLE, &attr, &ep));
	must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_ptr_null(param.recv_evd_handle);
	ck_assert_ptr_null(param.request_evd_handle);
	ck_assert_ptr_null(param.connect_evd_handle);
}
END_TEST

START_TEST(page_an_EVD_without_the_streams_flag_is_an_invalid_handle)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep = (DAT_EP_HANDLE)&w;

	must_fail(dat_ep_create(w.a.ia, w.a.pz, w.a.cr, w.a.request, w.a.connect, &attr, &ep),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	must_fail(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.connect, w.a.connect, &attr, &ep),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	must_fail(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.recv, &attr, &ep),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	ck_assert_ptr_eq(ep, &w);
}
END_TEST

START_TEST(page_an_srq_endpoint_needs_attributes)
{
	DAT_EP_HANDLE ep = (DAT_EP_HANDLE)&w;

	w.a.srq = make_srq(&w.a, 10, DAT_SRQ_LW_DEFAULT);
	must_fail(try_srq(NULL, &ep), DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	ck_assert_ptr_eq(ep, &w);
	must(dat_srq_free(w.a.srq));
}
END_TEST

START_TEST(page_an_srq_endpoint_needs_an_srq)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep = (DAT_EP_HANDLE)&w;

	w.a.srq = NO_HANDLE;
	must_fail(try_srq(&attr, &ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	w.a.srq = w.a.pz;
	must_fail(try_srq(&attr, &ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	ck_assert_ptr_eq(ep, &w);
}
END_TEST

START_TEST(page_max_recv_iov_of_an_srq_endpoint_is_not_looked_at)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;

	attr.max_recv_iov = -5;
	w.a.srq = make_srq(&w.a, 10, DAT_SRQ_LW_DEFAULT);
	must(try_srq(&attr, &ep));
}
END_TEST

/* ---- values: G3a, A2, H5 ---- */

struct change {
	DAT_EP_PARAM_MASK bit;
	DAT_UINT64 value;
};

/* clang-format off */
static const struct change bad[] = {
	{ DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, 1 },
	{ DAT_EP_FIELD_EP_ATTR_QOS, 0x10 },
	{ DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, DAT_COMPLETION_SUPPRESS_FLAG },
	{ DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, DAT_COMPLETION_BARRIER_FENCE_FLAG },
	{ DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, 0x20 },
	{ DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, 0x20 },
	{ DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, UINT64_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, UINT64_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, INT_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, INT_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, INT_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, INT_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, INT_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, INT_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, INT_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, INT_MAX },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, (DAT_UINT32)-2 },
	{ DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, (DAT_UINT32)INT_MIN },
	{ DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, 1 },
	{ DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, (DAT_UINT32)-1 },
	{ DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, 1 },
	{ DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, (DAT_UINT32)-1 },
};
/* clang-format on */

/*
 * An SRQ endpoint ignores max_recv_iov. Other libraries expect DAT_HW_DEFAULT in max_recv_dtos, and
 * no ruling forbids it.
 */
static bool srq_sees_it(const struct change *change)
{
	if (change->bit == DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS)
		return change->value != (DAT_UINT32)DAT_HW_DEFAULT;
	return change->bit != DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV;
}

START_TEST(G3a_a_bad_attribute_is_an_invalid_parameter)
{
	const struct ep_field *field = field_of(bad[_i].bit);
	DAT_EP_PARAM param = { .ep_attr = ep_attr() };
	DAT_EP_HANDLE ep = (DAT_EP_HANDLE)&w;
	DAT_RETURN ret;

	field_put(field, &param, bad[_i].value);
	ret = try_plain(&param.ep_attr, &ep);
	ck_assert_msg(is_failure(ret, DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		      "%s = %#llx: expected DAT_INVALID_PARAMETER, argument 6, got %s", field->name,
		      (unsigned long long)bad[_i].value, ret_text(ret));
	if (!srq_sees_it(&bad[_i]))
		return;
	w.a.srq = make_srq(&w.a, 10, DAT_SRQ_LW_DEFAULT);
	ret = try_srq(&param.ep_attr, &ep);
	ck_assert_msg(is_failure(ret, DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		      "%s = %#llx: expected DAT_INVALID_PARAMETER, argument 7, got %s", field->name,
		      (unsigned long long)bad[_i].value, ret_text(ret));
	ck_assert_ptr_eq(ep, &w);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_EP), 0);
}
END_TEST

START_TEST(G3a_the_adapters_limits_are_legal)
{
	DAT_IA_ATTR limits = ia_attr(&w.a);
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;

	attr.max_message_size = limits.max_message_size;
	attr.max_rdma_size = limits.max_rdma_size;
	attr.max_recv_dtos = attr.max_request_dtos = limits.max_dto_per_ep;
	attr.max_recv_iov = attr.max_request_iov = limits.max_iov_segments_per_dto;
	attr.max_rdma_read_in = limits.max_rdma_read_per_ep_in;
	attr.max_rdma_read_out = limits.max_rdma_read_per_ep_out;
	attr.max_rdma_read_iov = limits.max_iov_segments_per_rdma_read;
	attr.max_rdma_write_iov = limits.max_iov_segments_per_rdma_write;
	must(try_plain(&attr, &ep));
	attr.max_recv_dtos = limits.max_dto_per_ep + 1;
	must_fail(try_plain(&attr, &ep), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
}
END_TEST

/* NetPIPE asks for as many. */
START_TEST(G9_an_EP_holds_20000_Receives_and_requests)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;

	attr.max_recv_dtos = attr.max_request_dtos = 20000;
	must(try_plain(&attr, &ep));
	for (int i = 0; i < 20000; i++)
		must(dat_ep_post_recv(ep, 0, NULL, (DAT_DTO_COOKIE){ .as_64 = (DAT_UINT64)i },
				      DAT_COMPLETION_DEFAULT_FLAG));
	must_fail(dat_ep_post_recv(ep, 0, NULL, (DAT_DTO_COOKIE){ .as_64 = 0 },
				   DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
}
END_TEST

START_TEST(A2_legal_completion_flags_at_creation)
{
	static const int recv[] = { 0, DAT_COMPLETION_UNSIGNALLED_FLAG,
				    DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				    DAT_COMPLETION_EVD_THRESHOLD_FLAG };
	static const int req[] = { 0,
				   DAT_COMPLETION_UNSIGNALLED_FLAG,
				   DAT_COMPLETION_EVD_THRESHOLD_FLAG,
				   DAT_COMPLETION_SUPPRESS_FLAG,
				   DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				   DAT_COMPLETION_BARRIER_FENCE_FLAG };
	DAT_EP_ATTR attr = ep_attr();

	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv[_i % 4];
	attr.request_completion_flags = (DAT_COMPLETION_FLAGS)req[_i / 4];
	plain_ep_with(&w.a, &attr);
}
END_TEST

START_TEST(H5_the_soft_mark_of_a_plain_endpoint_is_set_at_creation_too)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.srq_soft_hw = 1;
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep_with(&w.b, &attr);
	ck_assert_int_eq(queried(w.b.ep).srq_soft_hw, 1);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, 2);
	deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, A1_zero_sizes_mean_the_adapters_maximum);
	unit_test_all(suite, A1_zero_RDMA_reads_stay_0);
	unit_test_all(suite, A1_NULL_attributes_are_16_4_8_and_maximum_sizes);
	unit_test_all(suite, A1_an_endpoint_with_NULL_attributes_works);
	unit_test_all(suite, A1_query_shows_what_was_asked_for);
	unit_test_all(suite, page_the_attributes_are_read_during_the_call_only);
	unit_test_all(suite, page_lists_without_entries_are_not_kept);
	unit_test_all(suite, page_query_shows_the_objects);
	unit_test_all(suite, page_each_EVD_may_be_left_out);
	unit_test_all(suite, page_an_EVD_without_the_streams_flag_is_an_invalid_handle);
	unit_test_all(suite, page_an_srq_endpoint_needs_attributes);
	unit_test_all(suite, page_an_srq_endpoint_needs_an_srq);
	unit_test_all(suite, page_max_recv_iov_of_an_srq_endpoint_is_not_looked_at);
	unit_test_loop(suite, G3a_a_bad_attribute_is_an_invalid_parameter, COUNT(bad));
	unit_test_all(suite, G3a_the_adapters_limits_are_legal);
	unit_test_all(suite, G9_an_EP_holds_20000_Receives_and_requests);
	unit_test_loop(suite, A2_legal_completion_flags_at_creation, 24);
	unit_test_all(suite, H5_the_soft_mark_of_a_plain_endpoint_is_set_at_creation_too);
}

UNIT_SUITE("ep_create")
