/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EVDs on which more may complete than they hold, on the device of tests/stubverbs: an overflow is
 * found also where no thread dequeues, and not at the cost of an event of the device for each
 * completion. And the completion vectors, by which a device spreads its events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/conf.h"

enum {
	LENGTH = 2,
	VECTORS = 4, /* of the stub */
	ROUNDS = 1000,
	LOOK_NS = 10000000, /* between two looks: passthrough/guard.c */
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

/* w.b's Receives complete on an EVD that holds fewer than the Endpoint has. */
static struct stub_cq *narrow_pair(void)
{
	w.b.recv = make_evd(&w.b, LENGTH, DAT_EVD_DTO_FLAG);
	plain_pair();
	return (struct stub_cq *)newest_qp()->v.recv_cq;
}

static void send_some(int n)
{
	for (int i = 0; i < n; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
}

/* No thread looks at the EVD; this one sleeps until it is told. */
static void expect_overflow_told(void)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	must(dat_evd_wait(w.b.async, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, w.b.recv);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void one_message(void)
{
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
}

struct cq_counts {
	int armings, told;
};

/* The thread that looks after EVDs counts, too. */
static struct cq_counts counts_of(const struct stub_cq *cq)
{
	struct cq_counts counts;

	stub_lock();
	counts = (struct cq_counts){ cq->armings, cq->told };
	stub_unlock();
	return counts;
}

/*
 * The device is asked for an event once at first, and again after each look that finds nothing new,
 * between which there is a fixed time: however slow this run is, that bounds their number. The
 * event thread gets the time to take each event, and so to ask for another one.
 */
START_TEST(an_EVD_that_may_overflow_costs_no_event_for_each_completion)
{
	struct stub_cq *cq = narrow_pair();
	struct cq_counts before = counts_of(cq), after;
	uint64_t from = clock_ns(), looks;

	for (int i = 0; i < ROUNDS; i++) {
		one_message();
		stub_await_events_taken(&cq->v);
	}
	after = counts_of(cq);
	looks = (clock_ns() - from) / LOOK_NS + 2;
	printf("# %d messages: %d ibv_req_notify_cq, %d events of the device\n", ROUNDS,
	       after.armings - before.armings, after.told - before.told);
	ck_assert_uint_le((uint64_t)(after.armings - before.armings), looks);
	ck_assert_uint_le((uint64_t)(after.told - before.told), looks);
}
END_TEST

START_TEST(E9_an_overflow_is_found_by_who_dequeues_next)
{
	narrow_pair();
	post_recvs(&w.b, w.b.ep, 0, LENGTH + 1);
	send_some(LENGTH + 1);
	ck_assert_int_eq(drain(w.b.recv), LENGTH);
	expect_overflow_told();
}
END_TEST

/* Also when the dequeues before it took one completion each, straight from the device. */
START_TEST(E9_an_overflow_is_found_by_who_has_dequeued_before)
{
	narrow_pair();
	for (int i = 0; i < 100; i++)
		one_message();
	post_recvs(&w.b, w.b.ep, 0, LENGTH + 1);
	send_some(LENGTH + 1);
	ck_assert_int_eq(drain(w.b.recv), LENGTH);
	expect_overflow_told();
}
END_TEST

START_TEST(E9_an_EVD_that_is_just_full_has_not_overflowed)
{
	narrow_pair();
	for (int i = 0; i < 100; i++) {
		post_recvs(&w.b, w.b.ep, 0, LENGTH);
		send_some(LENGTH);
		ck_assert_int_eq(drain(w.b.recv), LENGTH);
		ck_assert_int_eq(drain(w.a.request), LENGTH);
	}
	expect_no_event(w.b.async);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* The device is not armed, because the CQ was just busy. */
START_TEST(E9_an_overflow_behind_traffic_is_told_though_nobody_looks)
{
	narrow_pair();
	for (int i = 0; i < 100; i++)
		one_message();
	post_recvs(&w.b, w.b.ep, 0, LENGTH + 2);
	send_some(LENGTH + 1);
	expect_overflow_told();
}
END_TEST

START_TEST(E9_an_overflow_after_a_pause_is_told_though_nobody_looks)
{
	struct stub_cq *cq = narrow_pair();

	for (int i = 0; i < 3; i++) {
		one_message();
		stub_await_armed(&cq->v, false);
	}
	post_recvs(&w.b, w.b.ep, 0, LENGTH + 2);
	send_some(LENGTH + 1);
	expect_overflow_told();
}
END_TEST

/* A waiter reads the device's events itself, and leaves none of them for the guard. */
START_TEST(E9_an_overflow_after_a_wait_is_told_though_nobody_looks)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	narrow_pair();
	for (int i = 0; i < 3; i++) {
		post_recv(&w.b, w.b.ep, 0);
		post_send(&w.a, w.a.ep, 0, SHORT);
		must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
		ck_assert_int_eq(DAT_GET_TYPE(dat_evd_wait(w.b.recv, 1000, 1, &event, &nmore)),
				 DAT_TIMEOUT_EXPIRED);
	}
	post_recvs(&w.b, w.b.ep, 0, LENGTH + 2);
	send_some(LENGTH + 1);
	expect_overflow_told();
}
END_TEST

/* An EVD that is made long enough needs no guard any more, and gets one when it is made short. */
START_TEST(E9_a_resized_EVD_is_guarded_by_its_new_length)
{
	narrow_pair();
	must(dat_evd_resize(w.b.recv, EVD_LENGTH));
	post_recvs(&w.b, w.b.ep, 0, LENGTH + 1);
	send_some(LENGTH + 1);
	ck_assert_int_eq(drain(w.b.recv), LENGTH + 1);
	expect_no_event(w.b.async);
	must(dat_evd_resize(w.b.recv, LENGTH));
	post_recvs(&w.b, w.b.ep, 0, LENGTH + 2);
	send_some(LENGTH + 1);
	expect_overflow_told();
}
END_TEST

/* ---- completion vectors ---- */

static void make_evds(int n)
{
	for (int i = 0; i < n; i++)
		make_evd(&w.a, 8, DAT_EVD_DTO_FLAG);
}

START_TEST(the_CQs_of_a_process_take_turns_at_the_completion_vectors)
{
	int before[VECTORS];

	for (int i = 0; i < VECTORS; i++)
		before[i] = stub_cqs_of(i);
	make_evds(3 * VECTORS);
	for (int i = 0; i < VECTORS; i++)
		ck_assert_int_eq(stub_cqs_of(i) - before[i], 3);
}
END_TEST

static void setup_at_vector_2(void)
{
	setenv("DAT_HW_COMP_VECTOR", "2", 1);
	setup_sides();
}

START_TEST(all_CQs_are_at_the_completion_vector_that_the_user_named)
{
	make_evds(3);
	ck_assert_int_ge(stub_cqs_of(2), 3);
	for (int i = 0; i < VECTORS; i++)
		ck_assert(i == 2 || stub_cqs_of(i) == 0);
}
END_TEST

/* ---- the depth of a CQ ---- */

static uint32_t depth_of(struct ibv_cq *cq)
{
	return ((struct stub_cq *)cq)->depth;
}

START_TEST(a_CQ_does_not_grow_with_Endpoints_that_are_gone)
{
	uint32_t requests = 0, recvs = 0;
	DAT_EP_HANDLE ep;

	for (int i = 0; i < 200; i++) {
		ep = plain_ep(&w.b);
		if (i == 0) {
			requests = depth_of(newest_qp()->v.send_cq);
			recvs = depth_of(newest_qp()->v.recv_cq);
		}
		ck_assert_uint_eq(depth_of(newest_qp()->v.send_cq), requests);
		ck_assert_uint_eq(depth_of(newest_qp()->v.recv_cq), recvs);
		must(dat_ep_free(ep));
	}
}
END_TEST

/* Receives of an SRQ count once on each EVD, as long as an Endpoint of the SRQ completes there. */
START_TEST(a_CQ_does_not_grow_with_Endpoints_of_an_SRQ_that_are_gone)
{
	DAT_SRQ_HANDLE srq = make_srq(&w.b, 64, DAT_SRQ_LW_DEFAULT);
	DAT_EVD_HANDLE first = w.b.recv, second = make_evd(&w.b, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep[2];
	uint32_t recvs = 0;

	for (int i = 0; i < 100; i++) {
		w.b.recv = first;
		ep[0] = srq_ep(&w.b, srq);
		if (i == 0)
			recvs = depth_of(newest_qp()->v.recv_cq);
		ck_assert_uint_eq(depth_of(newest_qp()->v.recv_cq), recvs);
		w.b.recv = _i ? second : first;
		ep[1] = srq_ep(&w.b, srq);
		must(dat_ep_free(ep[0]));
		must(dat_ep_free(ep[1]));
	}
	w.b.recv = first;
}
END_TEST

/* Another Endpoint of the SRQ has an EVD that is long enough. */
START_TEST(E9_each_EVD_of_an_SRQ_is_guarded)
{
	w.b.srq = make_srq(&w.b, 4 * LENGTH, DAT_SRQ_LW_DEFAULT);
	(void)srq_ep(&w.b, w.b.srq);
	w.b.recv = make_evd(&w.b, LENGTH, DAT_EVD_DTO_FLAG);
	w.a.ep = plain_ep(&w.a);
	w.b.ep = srq_ep(&w.b, w.b.srq);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_srqs(&w.b, 0, LENGTH + 1);
	send_some(LENGTH + 1);
	expect_overflow_told();
}
END_TEST

static const char *const no_vectors[] = { "", "4", "-1", "2x", "spread", "99999999999999999999" };

START_TEST(a_completion_vector_that_the_device_does_not_have_is_said)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	const char *said;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	setenv("DAT_HW_COMP_VECTOR", no_vectors[_i], 1);
	said_start();
	ret = dat_ia_open((DAT_NAME_PTR) "stub0", 8, &async, &ia);
	said = said_stop();
	ck_assert_said(said, "DAT_HW_COMP_VECTOR=");
	ck_assert_int_ne(ret, DAT_SUCCESS);
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, an_EVD_that_may_overflow_costs_no_event_for_each_completion);
	unit_test(suite, E9_an_overflow_is_found_by_who_dequeues_next);
	unit_test(suite, E9_an_overflow_is_found_by_who_has_dequeued_before);
	unit_test(suite, E9_an_EVD_that_is_just_full_has_not_overflowed);
	unit_test(suite, E9_an_overflow_behind_traffic_is_told_though_nobody_looks);
	unit_test(suite, E9_an_overflow_after_a_pause_is_told_though_nobody_looks);
	unit_test(suite, E9_an_overflow_after_a_wait_is_told_though_nobody_looks);
	unit_test(suite, E9_a_resized_EVD_is_guarded_by_its_new_length);
	unit_test(suite, a_CQ_does_not_grow_with_Endpoints_that_are_gone);
	unit_test_loop(suite, a_CQ_does_not_grow_with_Endpoints_of_an_SRQ_that_are_gone, 2);
	unit_test(suite, E9_each_EVD_of_an_SRQ_is_guarded);
	unit_test(suite, the_CQs_of_a_process_take_turns_at_the_completion_vectors);
	unit_add(suite, all_CQs_are_at_the_completion_vector_that_the_user_named, 1,
		 setup_at_vector_2);
	unit_add(suite, a_completion_vector_that_the_device_does_not_have_is_said,
		 COUNT(no_vectors), setup_fabric);
}

int main(void)
{
	return unit_run_on_stub("guard", fill);
}
