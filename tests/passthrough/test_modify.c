/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints that are modified before they are connected, on the device of tests/stubverbs: the
 * verbs QP, its CQs and what libdat counts about them are those of the new attributes.
 */
#include <errno.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

enum {
	FEW = 2,
	MANY = 24,
};

/* The verbs QP that was created last */
static struct stub_qp *newest_qp(void)
{
	struct stub_qp *qp = NULL;

	for (uint32_t i = 0; i < STUB_QP; i++)
		qp = stub_qp_by_number(i) ? stub_qp_by_number(i) : qp;
	ck_assert_ptr_nonnull(qp);
	return qp;
}

static DAT_EP_HANDLE ep_with(struct side *side, DAT_COUNT dtos)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = attr.max_request_dtos = dtos;
	return plain_ep_with(side, &attr);
}

static void modify(DAT_EP_HANDLE ep, DAT_COUNT dtos)
{
	DAT_EP_PARAM param = { .ep_attr = { .max_recv_dtos = dtos, .max_request_dtos = dtos } };

	must(dat_ep_modify(
		ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
		&param));
}

START_TEST(M3_the_queues_of_the_device_have_the_new_size)
{
	static const DAT_COUNT sizes[][2] = { { FEW, MANY }, { MANY, FEW } };
	DAT_COUNT size = sizes[_i][1];

	w.a.ep = ep_with(&w.a, MANY);
	w.b.ep = ep_with(&w.b, sizes[_i][0]);
	modify(w.b.ep, size);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	ck_assert_uint_eq(newest_qp()->max_recv, (uint32_t)size);
	ck_assert_uint_eq(newest_qp()->max_send, (uint32_t)size);
	post_recvs(&w.b, w.b.ep, 0, size);
	for (int i = 0; i < size; i++) {
		post_send(&w.a, w.a.ep, i, SHORT);
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
	}
}
END_TEST

START_TEST(M3_Receives_that_are_posted_survive_the_change)
{
	w.a.ep = ep_with(&w.a, MANY);
	w.b.ep = ep_with(&w.b, FEW);
	post_recvs(&w.b, w.b.ep, 0, FEW);
	modify(w.b.ep, MANY);
	post_recvs(&w.b, w.b.ep, FEW, MANY - FEW);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	for (int i = 0; i < MANY; i++) {
		fill_slot(&w.a, i, i);
		post_send(&w.a, w.a.ep, i, SHORT);
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
		ck_assert(slot_holds(&w.b, i, i, SHORT));
		expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
	}
}
END_TEST

START_TEST(M3_a_Receive_of_several_segments_survives_the_change)
{
	DAT_LMR_TRIPLET parts[2] = { segment(&w.b, 0, 4), segment(&w.b, 1, SHORT) };

	w.a.ep = ep_with(&w.a, FEW);
	w.b.ep = ep_with(&w.b, FEW);
	must(dat_ep_post_recv(w.b.ep, 2, parts, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	modify(w.b.ep, MANY);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_send(&w.a, w.a.ep, 0, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

/* The change flushes the Receives in silence, and posts them again. */
START_TEST(M3_what_is_flushed_after_the_change_is_told)
{
	w.a.ep = ep_with(&w.a, FEW);
	w.b.ep = ep_with(&w.b, FEW);
	post_recvs(&w.b, w.b.ep, 0, 2);
	modify(w.b.ep, MANY);
	expect_no_event(w.b.recv);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	disconnect_pair();
	for (int i = 0; i < 2; i++)
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* The QP cannot be made: the Endpoint is as before, its EVD included. */
START_TEST(M3_a_change_that_fails_changes_nothing)
{
	DAT_EP_PARAM param;

	w.a.ep = ep_with(&w.a, FEW);
	w.b.ep = ep_with(&w.b, FEW);
	post_recv(&w.b, w.b.ep, 0);
	param.recv_evd_handle = make_evd(&w.b, MANY, DAT_EVD_DTO_FLAG);
	stub_fail("ibv_create_qp", 1, ENOMEM, true);
	ck_assert_int_ne(dat_ep_modify(w.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), DAT_SUCCESS);
	stub_fail("ibv_create_qp", 0, 0, false);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(param.recv_evd_handle);
}
END_TEST

/* A watermark makes the library count at the CQ. The CQ may be another one afterwards. */
START_TEST(H6_a_watermark_survives_the_change)
{
	DAT_EP_PARAM param = { .recv_evd_handle = w.b.recv };
	DAT_EVENT event;
	DAT_COUNT nmore;

	w.a.ep = ep_with(&w.a, MANY);
	w.b.ep = ep_with(&w.b, MANY);
	must(dat_ep_set_watermark(w.b.ep, 2, DAT_WATERMARK_INFINITE));
	if (_i > 0)
		param.recv_evd_handle = make_evd(&w.b, MANY, DAT_EVD_DTO_FLAG);
	must(dat_ep_modify(w.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, 4);
	for (int i = 0; i < 2; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	expect_no_event(w.b.async);
	/* No thread dequeues: the event thread counts. */
	post_send(&w.a, w.a.ep, 2, SHORT);
	must(dat_evd_wait(w.b.async, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(event.event_number, DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
	ck_assert_int_eq(drain(param.recv_evd_handle), 3);
}
END_TEST

/* Two Endpoints with watermarks share a CQ, and one of them leaves it. */
START_TEST(H6_a_watermark_stays_when_another_leaves_its_EVD)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE other;
	DAT_EVENT event;
	DAT_COUNT nmore;

	w.a.ep = ep_with(&w.a, MANY);
	w.b.ep = ep_with(&w.b, MANY);
	other = ep_with(&w.b, MANY);
	must(dat_ep_set_watermark(w.b.ep, 2, DAT_WATERMARK_INFINITE));
	must(dat_ep_set_watermark(other, 2, DAT_WATERMARK_INFINITE));
	param.recv_evd_handle = make_evd(&w.b, MANY, DAT_EVD_DTO_FLAG);
	must(dat_ep_modify(other, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	if (_i > 0)
		must(dat_ep_free(other));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, 4);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	must(dat_evd_wait(w.b.async, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, w.b.ep);
}
END_TEST

/* How a watermark of `ep`, whose Receives complete on w.b.recv, ceases to matter there */
static void forget_watermark(int way, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	switch (way) {
	case 0:
		must(dat_ep_free(ep));
		break;
	case 1:
		must(dat_ep_set_watermark(ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
		break;
	default:
		param.recv_evd_handle = make_evd(&w.b, MANY, DAT_EVD_DTO_FLAG);
		must(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
		break;
	}
}

/* While the event thread counts there for a watermark, it arms the CQ again after each event. */
START_TEST(H6_an_EVD_is_not_watched_any_more_when_no_watermark_is_left)
{
	DAT_EP_HANDLE marked = ep_with(&w.b, FEW);
	struct stub_cq *cq;
	int armings;

	w.a.ep = ep_with(&w.a, MANY);
	w.b.ep = ep_with(&w.b, MANY);
	cq = (struct stub_cq *)newest_qp()->v.recv_cq;
	must(dat_ep_set_watermark(marked, 1, 2));
	stub_await_armed(&cq->v, false);
	armings = cq->armings;
	forget_watermark(_i, marked);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, FEW);
	for (int i = 0; i < FEW; i++) {
		post_send(&w.a, w.a.ep, i, SHORT);
		stub_await_events_taken(&cq->v);
		/* The event thread lets go of the lock when it has done with the event. */
		expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
	}
	ck_assert_int_eq(cq->armings, armings);
}
END_TEST

/* The accepting side moves its QP to its states itself, with the Reads that both agreed on. */
START_TEST(the_device_is_told_of_the_Reads_that_were_agreed_on)
{
	int in = 0;

	rdma_pair(3, 3);
	for (uint32_t i = 0; i < STUB_QP; i++)
		if (stub_qp_by_number(i))
			in += stub_qp_by_number(i)->reads_in;
	ck_assert_int_eq(in, 3);
}
END_TEST

/* The number of Reads in each direction, as the device and the program are told of them. */
START_TEST(each_side_has_the_Reads_of_its_own_direction)
{
	DAT_EP_ATTR attr = ep_attr();
	struct stub_qp *qp;

	attr.max_rdma_read_in = 3;
	attr.max_rdma_read_out = 2;
	w.a.ep = plain_ep_with(&w.a, &attr);
	attr.max_rdma_read_in = 2;
	attr.max_rdma_read_out = 1;
	w.b.ep = plain_ep_with(&w.b, &attr);
	qp = newest_qp();
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	ck_assert_int_eq(qp->reads_in, 2);
	ck_assert_int_eq(qp->reads_out, 1);
}
END_TEST

/* A side with the default limits takes those of the other. */
START_TEST(default_limits_fit_the_Reads_of_the_side_that_accepts)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_PARAM param;

	must(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, NULL, &w.a.ep));
	attr.max_rdma_read_in = 1;
	attr.max_rdma_read_out = 3;
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	must(dat_ep_query(w.a.ep, DAT_EP_FIELD_EP_ATTR_ALL, &param));
	ck_assert_int_ge(param.ep_attr.max_rdma_read_in, 3);
	ck_assert_int_le(param.ep_attr.max_rdma_read_out, 1);
}
END_TEST

/* What the kernel allows comes of the request, which asked for none. */
START_TEST(the_accepting_side_can_be_read_from_if_its_answer_says_so)
{
	DAT_EP_ATTR attr = ep_attr();
	struct stub_qp *qp;

	must(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, NULL, &w.a.ep));
	attr.max_rdma_read_in = _i;
	w.b.ep = plain_ep_with(&w.b, &attr);
	qp = newest_qp();
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	ck_assert_int_eq((qp->access & IBV_ACCESS_REMOTE_READ) != 0, _i > 0);
}
END_TEST

static void setup_on_infiniband(void)
{
	stub_config.iwarp = false;
	setup_sides();
}

static void fill(Suite *suite)
{
	unit_test_loop(suite, M3_the_queues_of_the_device_have_the_new_size, 2);
	unit_test(suite, the_device_is_told_of_the_Reads_that_were_agreed_on);
	unit_add(suite, each_side_has_the_Reads_of_its_own_direction, 1, setup_on_infiniband);
	unit_test(suite, default_limits_fit_the_Reads_of_the_side_that_accepts);
	unit_add(suite, the_accepting_side_can_be_read_from_if_its_answer_says_so, 2,
		 setup_on_infiniband);
	unit_test(suite, M3_Receives_that_are_posted_survive_the_change);
	unit_test(suite, M3_a_Receive_of_several_segments_survives_the_change);
	unit_test(suite, M3_what_is_flushed_after_the_change_is_told);
	unit_test(suite, M3_a_change_that_fails_changes_nothing);
	unit_test_loop(suite, H6_a_watermark_survives_the_change, 2);
	unit_test_loop(suite, H6_a_watermark_stays_when_another_leaves_its_EVD, 2);
	unit_test_loop(suite, H6_an_EVD_is_not_watched_any_more_when_no_watermark_is_left, 3);
}

int main(void)
{
	return unit_run_on_stub("modify", fill);
}
