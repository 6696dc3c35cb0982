/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Receives of an SRQ come back from a QP that is destroyed, on devices of tests/stubverbs that
 * take their time, and that remove the completions of a destroyed QP from its CQs.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

enum {
	SIZE = 8,
	CONNECTIONS = 500,
};

static const char *const devices[] = { "mlx5", "mlx5-silent" };

/* The only QP with an SRQ. */
static struct stub_qp *srq_qp(void)
{
	struct stub_qp *qp = NULL;

	for (uint32_t i = 0; i < STUB_QP && !qp; i++)
		if (stub_qp_by_number(i) && stub_qp_by_number(i)->v.srq)
			qp = stub_qp_by_number(i);
	ck_assert_ptr_nonnull(qp);
	return qp;
}

/* The SRQ has been filled, and a message is in the middle of one of its buffers. */
static void half_arrived(void)
{
	srq_pair(SIZE);
	post_srqs(&w.b, 0, SIZE);
	srq_counts(w.b.srq, SIZE, SIZE, SIZE);
	stub_half_message(&srq_qp()->v);
}

static void again(void)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = srq_ep(&w.b, w.b.srq);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

static void free_both(void)
{
	must(dat_ep_free(w.b.ep));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_free(w.a.ep));
}

/* Each time a buffer is in use as the Endpoint is freed; the SRQ stays as good as new. */
START_TEST(Q4_a_freed_Endpoint_gives_back_what_it_took_from_its_SRQ)
{
	stub_config = *stub_profile(devices[_i]);
	half_arrived();
	for (int i = 0; i < 3 * SIZE; i++) {
		free_both();
		srq_counts(w.b.srq, SIZE, SIZE - 1, SIZE - 1);
		post_srqs(&w.b, i, 1);
		again();
		stub_half_message(&srq_qp()->v);
	}
}
END_TEST

START_TEST(Q4_a_reset_Endpoint_gives_back_what_it_took_from_its_SRQ)
{
	stub_config = *stub_profile(devices[_i]);
	half_arrived();
	for (int i = 1; i < SIZE; i++) {
		must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
		expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_reset(w.b.ep));
		must(dat_ep_reset(w.a.ep));
		srq_counts(w.b.srq, SIZE, SIZE - i, SIZE - i);
		connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
		stub_half_message(&srq_qp()->v);
	}
}
END_TEST

/* Of the side that asks as well; or of the one that accepts, before it has heard from the peer. */
START_TEST(Q4_either_side_gives_back_what_it_took_from_its_SRQ)
{
	DAT_CR_HANDLE cr;

	stub_config = *stub_profile(devices[0]);
	w.a.ep = plain_ep(&w.a);
	w.b.srq = make_srq(&w.b, SIZE, DAT_SRQ_LW_DEFAULT);
	w.b.ep = srq_ep(&w.b, w.b.srq);
	post_srqs(&w.b, 0, SIZE);
	if (_i) {
		cr = request(w.a.ep, &w.b, QUAL);
		stub_config.quiet_accept = true;
		must(dat_cr_accept(cr, w.b.ep, 0, NULL));
		expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	} else {
		connect_eps(&w.b, w.b.ep, &w.a, w.a.ep);
	}
	stub_half_message(&srq_qp()->v);
	must(dat_ep_free(w.b.ep));
	w.b.ep = NO_HANDLE;
	srq_counts(w.b.srq, SIZE, SIZE - 1, SIZE - 1);
}
END_TEST

/* What it took is flushed, and the device has said that this was the last. */
START_TEST(an_Endpoint_has_given_back_what_it_took_when_its_end_is_told)
{
	stub_config.flush_polls = 1;
	stub_config.last_wqe_polls = 2;
	half_arrived();
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	stub_lock();
	ck_assert(!srq_qp()->flushing);
	stub_unlock();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* The messages before were dequeued, and are in neither count. */
START_TEST(H6_a_watermark_counts_what_an_SRQ_brings_from_its_setting_on)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	srq_pair(SIZE);
	post_srqs(&w.b, 0, SIZE);
	for (int i = 0; i < 4; i++) {
		post_send(&w.a, w.a.ep, i, SHORT);
		must(dat_evd_dequeue(w.b.recv, &event));
	}
	must(dat_ep_set_watermark(w.b.ep, 1, DAT_WATERMARK_INFINITE));
	post_send(&w.a, w.a.ep, 4, SHORT);
	post_send(&w.a, w.a.ep, 5, SHORT);
	must(dat_evd_wait(w.b.async, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(event.event_number, DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
}
END_TEST

START_TEST(an_answer_says_that_the_Endpoint_has_an_SRQ)
{
	srq_pair(SIZE);
	ck_assert(srq_qp()->srq_told);
	ck_assert(!srq_qp()->peer->srq_told);
}
END_TEST

/* The Sends are flushed by the library, which gives up waiting for the device. */
START_TEST(a_flush_that_never_comes_is_counted_once)
{
	DAT_EP_STATE state;
	DAT_BOOLEAN recv_idle, request_idle;

	stub_config.early = false;
	stub_config.flush_polls = INT_MAX / 2;
	stub_config.last_wqe_polls = -1;
	srq_pair(SIZE);
	for (int i = 0; i < 3; i++)
		post_send(&w.b, w.b.ep, i, SHORT);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (int i = 0; i < 3; i++)
		expect_dto(w.b.request, w.b.ep, i, DAT_DTO_ERR_FLUSHED);
	stub_config.flush_polls = 0;
	expect_no_event(w.b.request);
	must(dat_ep_get_status(w.b.ep, &state, &recv_idle, &request_idle));
	ck_assert_int_eq(request_idle, DAT_TRUE);
}
END_TEST

static void end_pair(void)
{
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	ck_assert_int_eq(drain(w.b.recv), 2);
	must(dat_ep_reset(w.b.ep));
	must(dat_ep_reset(w.a.ep));
}

/* After a flush that never came, the library waits as long for the next one. */
START_TEST(each_end_of_an_Endpoint_leaves_the_device_time_to_flush)
{
	int before = stub_unflushed();

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
	stub_config.flush_polls = INT_MAX / 2;
	end_pair();
	ck_assert_int_eq(stub_unflushed(), before + 1);
	stub_config.flush_polls = 50;
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 0, 2);
	end_pair();
	ck_assert_int_eq(stub_unflushed(), before + 1);
}
END_TEST

/* The next event, as soon as it comes: what the support waits for settles for some ms each time. */
static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(event.event_number, number);
	return event;
}

static void connect_again(void)
{
	DAT_EVENT event;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = srq_ep(&w.b, w.b.srq);
	must(try_connect(w.a.ep, &w.b, QUAL + 1, DAT_TIMEOUT_INFINITE));
	event = next(w.b.cr, DAT_CONNECTION_REQUEST_EVENT);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, w.b.ep, 0, NULL));
	next(w.a.connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	next(w.b.connect, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void expect_success(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = next(evd, DAT_DTO_COMPLETION_EVENT);

	ck_assert_int_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static void end_by(struct side *one, struct side *other)
{
	must(dat_ep_free(one->ep));
	next(other->connect, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_free(other->ep));
}

/*
 * One after the other on one SRQ, each with a message, and ended by either side in turn. A tenth as
 * many on devices that lose messages, because each loss takes some ms.
 */
START_TEST(five_hundred_connections_leave_no_object_and_no_Receive_behind)
{
	int objects, count = getenv("STUB_PROFILE") ? CONNECTIONS / 10 : CONNECTIONS;

	w.b.srq = make_srq(&w.b, SIZE, 0);
	post_srqs(&w.b, 0, SIZE);
	listen_at(&w.b, QUAL + 1);
	objects = stub_objects();
	for (int i = 0; i < count; i++) {
		connect_again();
		post_send(&w.a, w.a.ep, i % SIZE, SHORT);
		expect_success(w.a.request);
		expect_success(w.b.recv);
		post_srqs(&w.b, i % SIZE, 1);
		if (i % 2)
			end_by(&w.a, &w.b);
		else
			end_by(&w.b, &w.a);
	}
	srq_counts(w.b.srq, SIZE, SIZE, SIZE);
	/* An id may wait for its peer's answer. */
	stub_await_objects(objects);
}
END_TEST

START_TEST(the_device_gets_no_empty_segment)
{
	DAT_LMR_TRIPLET iov[] = { segment(&w.b, 0, 0), segment(&w.b, 0, SHORT),
				  segment(&w.b, 1, 0) };
	struct stub_ring *ring;
	struct stub_recv *recv;

	srq_pair(SIZE);
	ring = &((struct stub_srq *)srq_qp()->v.srq)->ring;
	must(dat_srq_post_recv(w.b.srq, 3, iov, cookie(0)));
	must(dat_srq_post_recv(w.b.srq, 1, iov, cookie(1)));
	recv = &ring->at[ring->get & ring->mask];
	ck_assert_int_eq(recv->num_sge, 1);
	ck_assert_uint_eq(recv->sge[0].addr, iov[1].virtual_address);
	ck_assert_uint_eq(recv->length, SHORT);
	recv = &ring->at[(ring->get + 1) & ring->mask];
	ck_assert_int_eq(recv->num_sge, 0);
	post_send(&w.a, w.a.ep, 2, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

/*
 * Z3: the device has made the queue smaller, as asked. That it was larger before does not mean that
 * there is room.
 */
START_TEST(Z3_growth_that_the_device_refuses_is_refused_after_a_shrink_too)
{
	stub_config.srq_resizes = true;
	setup_sides();
	srq_pair(4 * SIZE);
	must(dat_srq_resize(w.b.srq, SIZE));
	stub_fail("ibv_modify_srq max_wr", 1, ENOMEM, false);
	must_fail(dat_srq_resize(w.b.srq, 2 * SIZE), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	srq_counts(w.b.srq, SIZE, 0, 0);
	must(dat_srq_resize(w.b.srq, 2 * SIZE));
	post_srqs(&w.b, 0, 2 * SIZE);
	srq_counts(w.b.srq, 2 * SIZE, 2 * SIZE, 2 * SIZE);
}
END_TEST

/* Room for a resize is not worth a refusal: this process may lock no more memory. */
START_TEST(an_SRQ_that_fits_is_made_though_there_is_no_memory_for_it_to_grow)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SIZE + 1, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq;
	int objects;

	stub_config.srq_memory = SIZE;
	srq_pair(SIZE);
	post_srqs(&w.b, 0, SIZE);
	must_fail(dat_srq_resize(w.b.srq, SIZE + 1), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	srq_counts(w.b.srq, SIZE, SIZE, SIZE);
	deliver(&w.a, w.a.ep, SIZE);
	ck_assert_int_eq(drain(w.b.recv), SIZE);
	objects = stub_objects();
	must_fail(dat_srq_create(w.b.ia, w.b.pz, &attr, &srq), DAT_INSUFFICIENT_RESOURCES,
		  ANY_SUBTYPE);
	ck_assert_int_eq(stub_objects(), objects);
}
END_TEST

/* The device refuses to disarm the former mark, or to arm the next one. */
START_TEST(a_mark_that_the_device_refuses_leaves_the_former_one_armed)
{
	DAT_SRQ_PARAM param;

	srq_pair(SIZE);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 3));
	stub_fail("ibv_modify_srq", 1 + _i, ENOMEM, false);
	must_fail(dat_srq_set_lw(w.b.srq, 2), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	must(dat_srq_query(w.b.srq, DAT_SRQ_FIELD_LOW_WATERMARK, &param));
	ck_assert_int_eq(param.low_watermark, 3);
	ck_assert_uint_eq(((struct stub_srq *)srq_qp()->v.srq)->limit, 3);
	deliver(&w.a, w.a.ep, 2);
	expect_low_watermark(w.b.async, w.b.srq);
	expect_no_event(w.b.async);
}
END_TEST

static void setup_nothing(void)
{
}

static void setup_on_infiniband(void)
{
	stub_config.iwarp = false;
	setup_sides();
}

static void fill(Suite *suite)
{
	unit_test_loop(suite, Q4_a_freed_Endpoint_gives_back_what_it_took_from_its_SRQ,
		       COUNT(devices));
	unit_test_loop(suite, Q4_a_reset_Endpoint_gives_back_what_it_took_from_its_SRQ,
		       COUNT(devices));
	unit_test_loop(suite, Q4_either_side_gives_back_what_it_took_from_its_SRQ, 2);
	unit_add(suite, an_Endpoint_has_given_back_what_it_took_when_its_end_is_told, 1,
		 setup_on_infiniband);
	unit_test(suite, H6_a_watermark_counts_what_an_SRQ_brings_from_its_setting_on);
	unit_add(suite, an_answer_says_that_the_Endpoint_has_an_SRQ, 1, setup_on_infiniband);
	unit_test(suite, five_hundred_connections_leave_no_object_and_no_Receive_behind);
	unit_test(suite, the_device_gets_no_empty_segment);
	unit_add(suite, Z3_growth_that_the_device_refuses_is_refused_after_a_shrink_too, 1,
		 setup_nothing);
	unit_test(suite, an_SRQ_that_fits_is_made_though_there_is_no_memory_for_it_to_grow);
	unit_test(suite, a_flush_that_never_comes_is_counted_once);
	unit_test_loop(suite, a_mark_that_the_device_refuses_leaves_the_former_one_armed, 2);
	unit_test(suite, each_end_of_an_Endpoint_leaves_the_device_time_to_flush);
}

int main(void)
{
	return unit_run_on_stub("srq", fill);
}
