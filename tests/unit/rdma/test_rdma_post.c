/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting RDMA: refusals at the post, which change nothing. Rulings A1, A2, A3, G2, G3. */
#include "tests/support/support.h"

typedef DAT_RETURN post_fn(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
			   const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);

static post_fn *const posts[] = { dat_ep_post_rdma_read, dat_ep_post_rdma_write };
enum {
	READ,
	WRITE,
	BOTH
};

/* _i: Read or Write */
#define post_with(n, iov, to) \
	(posts[_i](w.a.ep, (n), (iov), cookie(0), (to), DAT_COMPLETION_DEFAULT_FLAG))

static void nothing_happened(void)
{
	run_quiet();
	expect_no_event(w.a.request);
	expect_no_event(w.a.connect);
	ck_assert_int_eq(slot(&w.b, 0)[0], 0);
}

/* A region over slot 3 of w.a, and a segment in it. */
static DAT_LMR_TRIPLET region(int privileges, DAT_PZ_HANDLE pz)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.a, 3) };
	DAT_LMR_TRIPLET iov = segment(&w.a, 3, SHORT);
	DAT_LMR_HANDLE lmr;

	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, pz,
			    (DAT_MEM_PRIV_FLAGS)privileges, &lmr, &iov.lmr_context, NULL, NULL,
			    NULL));
	return iov;
}

START_TEST(G3_a_bad_handle_is_refused)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);
	DAT_RMR_TRIPLET to = remote(&w.b, 0, SHORT);
	DAT_HANDLE bad[] = { NO_HANDLE, (DAT_HANDLE)8, w.a.ia, w.a.pz, w.a.request, &iov };
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		must_fail(posts[_i](bad[i], 1, &iov, cookie(0), &to, DAT_COMPLETION_DEFAULT_FLAG),
			  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}
END_TEST

START_TEST(G2_arguments_are_looked_at_in_their_order)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);
	DAT_RMR_TRIPLET to = remote(&w.b, 0, SHORT);

	w.a.ep = plain_ep(&w.a); /* in the wrong state, which is checked last */
	must_fail(posts[_i](w.a.ep, -1, NULL, cookie(0), NULL, (DAT_COMPLETION_FLAGS)0x8000),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(posts[_i](w.a.ep, 1, NULL, cookie(0), NULL, (DAT_COMPLETION_FLAGS)0x8000),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(posts[_i](w.a.ep, 1, &iov, cookie(0), NULL, (DAT_COMPLETION_FLAGS)0x8000),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must_fail(posts[_i](w.a.ep, 1, &iov, cookie(0), &to, (DAT_COMPLETION_FLAGS)0x8000),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	must_fail(posts[_i](w.a.ep, 1, &iov, cookie(0), &to, DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
}
END_TEST

START_TEST(A1_each_kind_has_its_own_most_segments)
{
	DAT_LMR_TRIPLET iov[17];
	DAT_RMR_TRIPLET to = remote(&w.b, 0, SHORT);
	DAT_EP_ATTR attr = ep_attr();
	DAT_COUNT most;
	int i;

	for (i = 0; i < 17; i++)
		iov[i] = segment(&w.a, i, _i == READ ? SHORT : 1);
	attr.max_rdma_read_iov = 2;
	attr.max_rdma_write_iov = 3;
	attr.max_rdma_read_out = attr.max_rdma_read_in = 4;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	most = _i == READ ? 2 : 3;
	must(post_with(most, iov, &to));
	must_fail(post_with(most + 1, iov, &to), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(post_with(INT_MAX, iov, &to), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(post_with(INT_MIN, iov, &to), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}
END_TEST

START_TEST(A3_local_segments_are_checked_at_the_post)
{
	DAT_RMR_TRIPLET to = remote(&w.b, 0, SHORT);
	DAT_LMR_TRIPLET iov;
	DAT_PZ_HANDLE pz;

	rdma_pair(4, 4);
	must(dat_pz_create(w.a.ia, &pz));
	iov = region(DAT_MEM_PRIV_ALL_FLAG, pz);
	must_fail(post_with(1, &iov, &to), DAT_PROTECTION_VIOLATION,
		  _i == READ ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
	iov = region(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, w.a.pz);
	must_fail(post_with(1, &iov, &to), DAT_PRIVILEGES_VIOLATION,
		  _i == READ ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	iov.lmr_context = 0xffffffff;
	must_fail(post_with(1, &iov, &to), DAT_PRIVILEGES_VIOLATION, ANY_SUBTYPE);
	iov = segment(&w.a, 0, SHORT);
	iov.virtual_address += SLOTS * SLOT_SIZE;
	must_fail(post_with(1, &iov, &to), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	nothing_happened();
}
END_TEST

START_TEST(A3_a_Read_needs_local_write_and_a_Write_either)
{
	DAT_RMR_TRIPLET to = remote(&w.b, 0, SHORT);
	DAT_LMR_TRIPLET reads, writes;
	DAT_EVENT event;
	int done = 0;

	rdma_pair(4, 4);
	reads = region(DAT_MEM_PRIV_LOCAL_READ_FLAG, w.a.pz);
	writes = region(DAT_MEM_PRIV_LOCAL_WRITE_FLAG, w.a.pz);
	if (_i == READ)
		must_fail(post_with(1, &reads, &to), DAT_PRIVILEGES_VIOLATION,
			  DAT_PRIVILEGES_WRITE);
	else
		must(post_with(1, &reads, &to));
	must(post_with(1, &writes, &to));
	run_quiet();
	while (dat_evd_dequeue(w.a.request, &event) == DAT_SUCCESS) {
		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
		done++;
	}
	ck_assert_int_eq(done, _i == READ ? 1 : 2);
}
END_TEST

START_TEST(page_what_does_not_fit_is_a_length_error)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);
	DAT_RMR_TRIPLET shorter = remote(&w.b, 0, SHORT - 1), longer = remote(&w.b, 0, SHORT + 1);

	rdma_pair(4, 4);
	must_fail(post_with(1, &iov, _i == READ ? &longer : &shorter), DAT_LENGTH_ERROR,
		  ANY_SUBTYPE);
	longer.segment_length = UINT64_MAX;
	if (_i == READ)
		must_fail(post_with(1, &iov, &longer), DAT_LENGTH_ERROR, ANY_SUBTYPE);
	nothing_happened();
	must(post_with(1, &iov, _i == READ ? &shorter : &longer));
}
END_TEST

START_TEST(A1_more_than_max_rdma_size_is_an_invalid_parameter)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, 101);
	DAT_RMR_TRIPLET to = remote(&w.b, 0, 101);
	DAT_EP_ATTR attr = ep_attr();

	attr.max_rdma_size = 100;
	attr.max_rdma_read_out = attr.max_rdma_read_in = 4;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	must_fail(post_with(1, &iov, &to), DAT_INVALID_PARAMETER,
		  _i == READ ? DAT_INVALID_ARG5 : DAT_INVALID_ARG3);
	iov.segment_length = to.segment_length = 100;
	must(post_with(1, &iov, &to));
}
END_TEST

START_TEST(A2_flags_that_are_unknown_or_not_for_this_are_refused)
{
	static const int bad[] = { 0x20, 0x10, INT_MIN, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				   DAT_COMPLETION_UNSIGNALLED_FLAG };
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);
	DAT_RMR_TRIPLET to = remote(&w.b, 0, SHORT);
	size_t i;

	rdma_pair(4, 4);
	for (i = 0; i < COUNT(bad); i++)
		must_fail(posts[_i](w.a.ep, 1, &iov, cookie(0), &to, (DAT_COMPLETION_FLAGS)bad[i]),
			  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	nothing_happened();
	must(posts[_i](w.a.ep, 1, &iov, cookie(0), &to,
		       (DAT_COMPLETION_FLAGS)(DAT_COMPLETION_SUPPRESS_FLAG |
					      DAT_COMPLETION_BARRIER_FENCE_FLAG)));
}
END_TEST

/* _i: the post and the state */
START_TEST(digest_posted_in_CONNECTED_and_DISCONNECTED_only)
{
	DAT_EP_STATE state = reachable_states[_i / BOTH];
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);
	DAT_RMR_TRIPLET to = remote(&w.b, 0, SHORT);
	int kind = _i % BOTH;
	DAT_RETURN ret;

	ep_in_state(state);
	ret = posts[kind](w.a.ep, 1, &iov, cookie(7), &to, DAT_COMPLETION_DEFAULT_FLAG);
	if (kind == READ &&
	    (state == DAT_EP_STATE_CONNECTED || state == DAT_EP_STATE_DISCONNECTED)) {
		/* These EPs may have no outstanding Read. */
		must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	} else if (state == DAT_EP_STATE_CONNECTED) {
		must(ret);
	} else if (state == DAT_EP_STATE_DISCONNECTED) {
		must(ret);
		expect_dto(w.a.request, w.a.ep, 7, DAT_DTO_ERR_FLUSHED);
	} else {
		must_fail(ret, DAT_INVALID_STATE, state_subtype(state));
	}
}
END_TEST

START_TEST(digest_a_Read_on_a_disconnected_Endpoint_is_flushed)
{
	rdma_pair(1, 1);
	disconnect_pair();
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, SHORT));
	post_write(&w.a, w.a.ep, 2, remote(&w.b, 1, SHORT));
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(digest_one_request_more_than_the_queue_holds)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);
	DAT_RMR_TRIPLET to = remote(&w.b, 0, SHORT);
	int i;

	rdma_pair(4, 4);
	for (i = 0; i < ep_attr().max_request_dtos; i++)
		must(post_with(1, &iov, &to));
	must_fail(post_with(1, &iov, &to), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), ep_attr().max_request_dtos);
	must(post_with(1, &iov, &to));
}
END_TEST

enum {
	SEGMENTS = 3,
	FEW = 2,
	MORE = 8, /* requests */
};

static void write_segments(DAT_EP_HANDLE ep, int from, int to)
{
	DAT_RMR_TRIPLET target = remote(&w.b, to, SEGMENTS * SHORT);
	DAT_LMR_TRIPLET iov[SEGMENTS];

	for (int i = 0; i < SEGMENTS; i++)
		iov[i] = segment(&w.a, from + i, SHORT);
	must(dat_ep_post_rdma_write(ep, SEGMENTS, iov, cookie(0), &target,
				    DAT_COMPLETION_DEFAULT_FLAG));
}

static void expect_segments(int from, int to)
{
	for (int i = 0; i < SEGMENTS; i++)
		ck_assert_mem_eq(slot(&w.b, to) + i * SHORT, slot(&w.a, from + i), SHORT);
}

/* Writes of more segments than a Send may have keep them in a table beside the queue. */
START_TEST(A1_a_longer_queue_has_room_for_the_segments_of_each_request)
{
	DAT_EP_HANDLE ep[2], peer[2];
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_PARAM param;

	attr.max_request_dtos = FEW;
	attr.max_request_iov = 1;
	attr.max_rdma_write_iov = SEGMENTS;
	for (int i = 0; i < 2; i++) {
		ep[i] = plain_ep_with(&w.a, &attr);
		peer[i] = plain_ep_with(&w.b, &attr);
		connect_eps(&w.a, ep[i], &w.b, peer[i]);
		write_segments(ep[i], 0, 0);
	}
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), 2);
	must(dat_ep_disconnect(ep[0], DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	drain(w.a.connect);
	drain(w.b.connect);
	must(dat_ep_reset(ep[0]));
	must(dat_ep_reset(peer[0]));
	param.ep_attr.max_request_dtos = MORE;
	must(dat_ep_modify(ep[0], DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
	connect_eps(&w.a, ep[0], &w.b, peer[0]);
	for (int i = 0; i < MORE + 2 * SEGMENTS; i++)
		fill_slot(&w.a, i, 3 * i + 1);
	for (int i = 0; i < FEW; i++)
		write_segments(ep[1], MORE + i * SEGMENTS, MORE + i);
	for (int i = 0; i < MORE; i++)
		write_segments(ep[0], i, i);
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), MORE + FEW);
	for (int i = 0; i < MORE; i++)
		expect_segments(i, i);
	for (int i = 0; i < FEW; i++)
		expect_segments(MORE + i * SEGMENTS, MORE + i);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, G3_a_bad_handle_is_refused, BOTH);
	unit_test_loop(suite, G2_arguments_are_looked_at_in_their_order, BOTH);
	unit_test_loop(suite, A1_each_kind_has_its_own_most_segments, BOTH);
	unit_test_loop(suite, A3_local_segments_are_checked_at_the_post, BOTH);
	unit_test_loop(suite, A3_a_Read_needs_local_write_and_a_Write_either, BOTH);
	unit_test_loop(suite, page_what_does_not_fit_is_a_length_error, BOTH);
	unit_test_loop(suite, A1_more_than_max_rdma_size_is_an_invalid_parameter, BOTH);
	unit_test_loop(suite, A2_flags_that_are_unknown_or_not_for_this_are_refused, BOTH);
	unit_test_loop(suite, digest_posted_in_CONNECTED_and_DISCONNECTED_only,
		       BOTH * REACHABLE_STATES);
	unit_test_all(suite, digest_a_Read_on_a_disconnected_Endpoint_is_flushed);
	unit_test_loop(suite, digest_one_request_more_than_the_queue_holds, BOTH);
	unit_test_all(suite, A1_a_longer_queue_has_room_for_the_segments_of_each_request);
}

UNIT_SUITE("rdma_post")
