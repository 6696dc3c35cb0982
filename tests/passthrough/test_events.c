/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events that a device raises by itself, on the device of tests/stubverbs: its asynchronous events
 * become events of DAT, and completions are noticed while no thread polls.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

#define FLAGS(flags) ((DAT_COMPLETION_FLAGS)(flags))

/* The verbs QP whose Receives complete on w.b.recv */
static struct stub_qp *qp_of_b(void)
{
	struct stub_qp *qp = NULL;

	/* the QP that was created last */
	for (uint32_t i = 0; i < STUB_QP; i++)
		qp = stub_qp_by_number(i) ? stub_qp_by_number(i) : qp;
	ck_assert_ptr_nonnull(qp);
	return qp;
}

/* ---- asynchronous events ---- */

static void expect_broken(void)
{
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}

START_TEST(E9_a_CQ_that_the_device_lost_is_an_overflow_at_once)
{
	DAT_EVENT event;

	plain_pair();
	stub_async(IBV_EVENT_CQ_ERR, qp_of_b()->v.recv_cq);
	event = expect_event(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, w.b.recv);
	expect_broken();
}
END_TEST

START_TEST(an_SRQ_that_the_device_lost_breaks_its_Endpoints)
{
	srq_pair(4);
	stub_async(IBV_EVENT_SRQ_ERR, qp_of_b()->v.srq);
	expect_broken();
}
END_TEST

static const enum ibv_event_type fatal[] = { IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,
					     IBV_EVENT_QP_ACCESS_ERR };

START_TEST(a_QP_that_the_device_gave_up_is_a_broken_connection)
{
	plain_pair();
	stub_async(fatal[_i], qp_of_b());
	expect_broken();
}
END_TEST

START_TEST(a_port_that_goes_down_is_left_to_the_retransmissions)
{
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	stub_async(IBV_EVENT_PORT_ERR, (void *)(uintptr_t)1);
	expect_no_event(w.a.connect);
	stub_async(IBV_EVENT_PORT_ACTIVE, (void *)(uintptr_t)1);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(w.b.connect);
}
END_TEST

static void setup_to_break(void)
{
	setenv("DAT_HW_PORT_DOWN", "break", 1);
	setup_sides();
}

START_TEST(a_port_that_goes_down_breaks_connections_and_no_adapter_if_asked)
{
	plain_pair();
	stub_async(IBV_EVENT_PORT_ERR, (void *)(uintptr_t)1);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_no_event(w.a.async);
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}
END_TEST

START_TEST(events_that_concern_nobody_change_nothing)
{
	plain_pair();
	stub_async(IBV_EVENT_PORT_ERR, (void *)(uintptr_t)2);
	stub_async(IBV_EVENT_PORT_ACTIVE, (void *)(uintptr_t)1);
	stub_async(IBV_EVENT_GID_CHANGE, (void *)(uintptr_t)1);
	stub_async(IBV_EVENT_COMM_EST, qp_of_b());
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(w.b.async);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* What the program has made on the device that librdmacm shares with it. */
static struct {
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
} own;

static void make_own(void)
{
	struct ibv_pd *pd = qp_of_b()->v.pd;
	void *another = (void *)(uintptr_t)1;
	struct ibv_srq_init_attr queue = { another, { .max_wr = 1, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_context = another,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 1, 1, 1, 1, 0 } };

	own.cq = ibv_create_cq(pd->context, 1, another, NULL, 0);
	own.srq = ibv_create_srq(pd, &queue);
	init.send_cq = init.recv_cq = own.cq;
	init.srq = own.srq;
	own.qp = ibv_create_qp(pd, &init);
	ck_assert_ptr_nonnull(own.qp);
}

static const enum ibv_event_type of_qps[] = { IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,
					      IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_COMM_EST,
					      IBV_EVENT_QP_LAST_WQE_REACHED };

START_TEST(events_of_the_programs_own_objects_change_nothing)
{
	srq_pair(4);
	make_own();
	for (size_t i = 0; i < sizeof(of_qps) / sizeof(of_qps[0]); i++)
		stub_async(of_qps[i], own.qp);
	stub_async(IBV_EVENT_CQ_ERR, own.cq);
	stub_async(IBV_EVENT_SRQ_ERR, own.srq);
	stub_async(IBV_EVENT_SRQ_LIMIT_REACHED, own.srq);
	post_srq(&w.b, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(w.b.async);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	ck_assert_int_eq(ibv_destroy_qp(own.qp), 0);
	ck_assert_int_eq(ibv_destroy_srq(own.srq), 0);
	ck_assert_int_eq(ibv_destroy_cq(own.cq), 0);
}
END_TEST

static void reach_limit(struct stub_srq *srq)
{
	if (srq->limit)
		stub_async(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	srq->limit = 0;
}

/* The device still has the previous watermark when the call for the next one has begun. */
START_TEST(a_watermark_is_not_reached_for_the_one_before)
{
	srq_pair(4);
	post_srqs(&w.b, 0, 4);
	ck_assert_int_eq(dat_srq_set_lw(w.b.srq, 4), DAT_SUCCESS);
	stub_before_limit = reach_limit;
	ck_assert_int_eq(dat_srq_set_lw(w.b.srq, 2), DAT_SUCCESS);
	stub_before_limit = NULL;
	expect_no_event(w.b.async);
	for (int i = 0; i < 3; i++) {
		expect_no_event(w.b.async);
		post_send(&w.a, w.a.ep, i, SHORT);
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
	}
	expect_event(w.b.async, DAT_ASYNC_SRQ_LOW_WATERMARK);
}
END_TEST

/* ---- completions that no thread polls for ---- */

/* w.b's Receives complete on an EVD of this length. */
static void narrow_pair(DAT_COUNT length)
{
	w.b.recv = make_evd(&w.b, length, DAT_EVD_DTO_FLAG);
	plain_pair();
}

START_TEST(E9_one_completion_too_many_overflows_though_nobody_looks)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	narrow_pair(2);
	post_recvs(&w.b, w.b.ep, 0, 4);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	must(dat_evd_wait(w.b.async, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, w.b.recv);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_int_eq(drain(w.b.recv), 2);
}
END_TEST

/* Also after a wait, which used the completion channel alone. */
START_TEST(H6_a_mark_is_seen_though_nobody_looks_any_more)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 8);
	must(dat_ep_set_watermark(w.b.ep, 4, DAT_WATERMARK_INFINITE));
	for (int i = 0; i < 2; i++) {
		post_send(&w.a, w.a.ep, i, SHORT);
		must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	}
	for (int i = 0; i < 5; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	must(dat_evd_wait(w.b.async, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(event.event_number, DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
}
END_TEST

/* ---- completion channels of a device that is removed ---- */

static void wait_a_while(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	must_fail(dat_evd_wait(evd, 20000, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
}

START_TEST(a_thread_that_waits_sleeps_though_its_channel_has_an_error)
{
	int reads;

	plain_pair();
	stub_break_channels();
	wait_a_while(w.b.recv);
	reads = stub_reads_of_broken();
	ck_assert_int_gt(reads, 0);
	wait_a_while(w.b.recv);
	ck_assert_int_eq(stub_reads_of_broken(), reads);
}
END_TEST

/* The event thread watches the channel of an EVD for the mark. */
START_TEST(the_event_thread_sleeps_though_a_channel_has_an_error)
{
	plain_pair();
	must(dat_ep_set_watermark(w.b.ep, 4, DAT_WATERMARK_INFINITE));
	stub_break_channels();
	stub_await_read_of_broken();
	wait_a_while(w.b.async);
	ck_assert_int_eq(stub_reads_of_broken(), 1);
	post_recv(&w.b, w.b.ep, 0);
	stub_remove_device();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_int_eq(drain(w.b.recv), 1);
	ck_assert_int_eq(stub_reads_of_broken(), 1);
}
END_TEST

/* The device raises one event for each arming, so a second one before it is a call too many. */
START_TEST(a_CQ_that_is_armed_is_not_armed_again)
{
	struct stub_cq *cq;
	DAT_EVENT event;
	DAT_COUNT nmore;
	int armings;

	plain_pair();
	cq = (struct stub_cq *)qp_of_b()->v.recv_cq;
	armings = cq->armings;
	for (int i = 0; i < 3; i++)
		must_fail(dat_evd_wait(w.b.recv, 1, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED,
			  DAT_NO_SUBTYPE);
	ck_assert_int_eq(cq->armings, armings + 1);
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
}
END_TEST

/* ---- solicited completions ---- */

static void solicited_pair(bool srq)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (srq) {
		srq_pair_with(8, &attr);
		post_srqs(&w.b, 0, 8);
	} else {
		w.a.ep = plain_ep(&w.a);
		w.b.ep = plain_ep_with(&w.b, &attr);
		connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
		post_recvs(&w.b, w.b.ep, 0, 8);
	}
}

static void send_as(int n, int flags)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, n, SHORT);

	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(n), FLAGS(flags)));
}

static void *wait_for_one(void *nmore)
{
	static DAT_EVENT event;

	must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, nmore));
	return &event;
}

/*
 * Returns once the thread sleeps: an earlier completion would be returned at once, whether or not
 * it is a notification (A2a).
 */
static void start_waiter(pthread_t *thread, DAT_COUNT *nmore)
{
	DAT_EVENT event;

	ck_assert_int_eq(pthread_create(thread, NULL, wait_for_one, nmore), 0);
	while (DAT_GET_TYPE(dat_evd_dequeue(w.b.recv, &event)) == DAT_QUEUE_EMPTY)
		sched_yield();
}

static DAT_UINT64 cookie_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

/*
 * The device raises no event for the other completions: neither the waiter nor a thread of the
 * library wakes.
 */
START_TEST(A2a_where_solicited_completions_alone_are_news_the_device_picks_them)
{
	struct stub_cq *cq;
	DAT_COUNT nmore = -1;
	pthread_t thread;
	void *event;
	int told;

	solicited_pair(_i);
	cq = (struct stub_cq *)qp_of_b()->v.recv_cq;
	for (int round = 0; round < 2; round++) {
		start_waiter(&thread, &nmore);
		stub_await_armed(&cq->v, true);
		told = cq->told;
		for (int i = 0; i < 3; i++)
			send_as(i, DAT_COMPLETION_DEFAULT_FLAG);
		ck_assert_int_eq(cq->told, told);
		send_as(3, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
		ck_assert_int_eq(cq->told, told + 1);
		pthread_join(thread, &event);
		ck_assert_uint_eq(cookie_of(event), 4 * (unsigned)round);
		ck_assert_int_eq(nmore, 3);
		ck_assert_int_eq(drain(w.b.recv), 3);
		ck_assert_int_eq(drain(w.a.request), 4);
	}
}
END_TEST

/*
 * How many times the loop's thread has slept, according to the kernel; the thread is found by name.
 */
static long sleeps_of_loop(void)
{
	char path[300], line[128];
	struct dirent *task;
	DIR *tasks = opendir("/proc/self/task");
	long sleeps = -1;
	FILE *file;
	bool loop;

	ck_assert_ptr_nonnull(tasks);
	while (sleeps < 0 && (task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		file = fopen(path, "r");
		loop = false;
		while (file && fgets(line, sizeof(line), file)) {
			loop = loop || !strcmp(line, "Name:\tlibdat-hw\n");
			if (loop)
				sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
		}
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return sleeps;
}

/*
 * The device wakes the waiter directly: through the loop, the loop's thread would sleep each round.
 */
START_TEST(no_thread_stands_between_a_completion_and_who_waits_for_it)
{
	enum {
		ROUNDS = 40
	};
	DAT_COUNT nmore = -1;
	pthread_t thread;
	long before;

	plain_pair();
	before = sleeps_of_loop();
	ck_assert_int_ge(before, 0);
	for (int round = 0; round < ROUNDS; round++) {
		post_recv(&w.b, w.b.ep, 0);
		start_waiter(&thread, &nmore);
		post_send(&w.a, w.a.ep, (unsigned int)round, SHORT);
		pthread_join(thread, NULL);
		expect_dto(w.a.request, w.a.ep, (unsigned int)round, DAT_DTO_SUCCESS);
	}
	ck_assert_int_lt(sleeps_of_loop() - before, ROUNDS / 2);
}
END_TEST

/* The loop notifies a CNO of an EVD: only for solicited completions. */
START_TEST(C1_a_CNO_is_told_of_what_the_device_picks)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.b);
	DAT_EVD_HANDLE evd = NO_HANDLE;

	solicited_pair(false);
	must(dat_evd_modify_cno(w.b.recv, cno));
	stub_await_armed(qp_of_b()->v.recv_cq, true);
	for (int i = 0; i < 3; i++)
		send_as(i, DAT_COMPLETION_DEFAULT_FLAG);
	expect_silence(cno);
	send_as(3, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	must(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &evd));
	ck_assert_ptr_eq(evd, w.b.recv);
	ck_assert_int_eq(drain(w.b.recv), 4);
	must(dat_evd_modify_cno(w.b.recv, NO_HANDLE));
}
END_TEST

/* The completions of the second one are news to the CNO, and the device picks none any more. */
START_TEST(C1_a_CNO_is_told_of_a_stream_that_joins_one_of_solicited_completions)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.b);

	solicited_pair(false);
	must(dat_evd_modify_cno(w.b.recv, cno));
	stub_await_armed(qp_of_b()->v.recv_cq, true);
	(void)plain_ep(&w.b);
	stub_await_armed(qp_of_b()->v.recv_cq, false);
	must(dat_evd_modify_cno(w.b.recv, NO_HANDLE));
}
END_TEST

/* A solicited completion comes when lib has looked and the device is not armed yet: no event. */
static void complete_before_arming(struct ibv_cq *cq)
{
	struct stub_qp *qp = qp_of_b();
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV, .byte_len = SHORT };

	if (cq != qp->v.recv_cq)
		return;
	stub_before_arming = NULL;
	wc.wr_id = qp->own.at[qp->own.get++ & qp->own.mask].wr_id;
	wc.qp_num = qp->v.qp_num;
	stub_complete((struct stub_cq *)cq, &wc, true);
}

START_TEST(A2a_a_completion_before_the_device_is_armed_ends_the_wait)
{
	DAT_COUNT nmore = -1;
	struct stub_cq *cq;
	DAT_EVENT event;
	int told;

	solicited_pair(false);
	cq = (struct stub_cq *)qp_of_b()->v.recv_cq;
	told = cq->told;
	stub_before_arming = complete_before_arming;
	must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_ptr_null(stub_before_arming);
	ck_assert_uint_eq(cookie_of(&event), 0);
	ck_assert_int_eq(nmore, 0);
	ck_assert_int_eq(cq->told, told);
}
END_TEST

/* The passthrough completes it; the device never has it. */
START_TEST(A2a_a_request_that_is_flushed_at_once_wakes_who_waits)
{
	DAT_COUNT nmore = -1;
	DAT_EVENT *flushed;
	pthread_t thread;
	void *event;

	plain_pair();
	disconnect_pair();
	start_waiter(&thread, &nmore);
	post_recv(&w.b, w.b.ep, 3);
	pthread_join(thread, &event);
	flushed = event;
	ck_assert_uint_eq(cookie_of(flushed), 3);
	ck_assert_int_eq(flushed->event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* An error wakes the waiter, solicited or not. */
START_TEST(A2a_an_error_wakes_who_waits_for_solicited_completions)
{
	DAT_COUNT nmore = -1;
	DAT_EVENT *failed;
	pthread_t thread;
	void *event;

	solicited_pair(false);
	start_waiter(&thread, &nmore);
	stub_await_armed(qp_of_b()->v.recv_cq, true);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	pthread_join(thread, &event);
	failed = event;
	ck_assert_int_eq(failed->event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/*
 * When an EVD gets another stream, all its completions become notifications, for a thread that
 * already waits, too.
 */
START_TEST(A2a_a_stream_that_joins_wakes_with_every_completion)
{
	DAT_COUNT nmore = -1;
	DAT_EP_HANDLE a, b;
	pthread_t thread;
	struct ibv_cq *cq;
	void *event;

	solicited_pair(false);
	cq = qp_of_b()->v.recv_cq;
	a = plain_ep(&w.a);
	start_waiter(&thread, &nmore);
	stub_await_armed(cq, true);
	b = plain_ep(&w.b);
	stub_await_armed(cq, false);
	connect_eps(&w.a, a, &w.b, b);
	post_recv(&w.b, b, 9);
	post_send(&w.a, a, 0, SHORT);
	pthread_join(thread, &event);
	ck_assert_uint_eq(cookie_of(event), 9);
}
END_TEST

/* None has been looked at before, and one poll does not take all. */
START_TEST(E1_a_resize_counts_more_completions_than_one_poll_takes)
{
	enum {
		MANY = 20
	};

	plain_pair();
	for (int i = 0; i < MANY; i++) {
		post_recv(&w.b, w.b.ep, i % 8);
		post_send(&w.a, w.a.ep, i % 8, SHORT);
	}
	must_fail(dat_evd_resize(w.b.recv, MANY - 1), DAT_INVALID_STATE, ANY_SUBTYPE);
	must(dat_evd_resize(w.b.recv, MANY));
	ck_assert_int_eq(drain(w.b.recv), MANY);
}
END_TEST

/* iWARP devices have no solicited events: every completion is checked. */
START_TEST(on_iWARP_every_completion_is_told)
{
	DAT_COUNT nmore = -1;
	pthread_t thread;
	struct ibv_cq *cq;

	solicited_pair(false);
	cq = qp_of_b()->v.recv_cq;
	start_waiter(&thread, &nmore);
	stub_await_armed(cq, false);
	send_as(0, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	pthread_join(thread, NULL);
}
END_TEST

static void setup_on_infiniband(void)
{
	stub_config.iwarp = false;
	setup_sides();
}

static void setup_on_iwarp(void)
{
	stub_config.iwarp = true;
	setup_sides();
}

static void fill(Suite *suite)
{
	unit_test(suite, E9_a_CQ_that_the_device_lost_is_an_overflow_at_once);
	unit_test(suite, an_SRQ_that_the_device_lost_breaks_its_Endpoints);
	unit_test_loop(suite, a_QP_that_the_device_gave_up_is_a_broken_connection, COUNT(fatal));
	unit_test(suite, a_port_that_goes_down_is_left_to_the_retransmissions);
	unit_add(suite, a_port_that_goes_down_breaks_connections_and_no_adapter_if_asked, 1,
		 setup_to_break);
	unit_test(suite, events_that_concern_nobody_change_nothing);
	unit_test(suite, events_of_the_programs_own_objects_change_nothing);
	unit_test(suite, a_watermark_is_not_reached_for_the_one_before);
	unit_test(suite, E9_one_completion_too_many_overflows_though_nobody_looks);
	unit_test(suite, H6_a_mark_is_seen_though_nobody_looks_any_more);
	unit_test(suite, a_thread_that_waits_sleeps_though_its_channel_has_an_error);
	unit_test(suite, the_event_thread_sleeps_though_a_channel_has_an_error);
	unit_test(suite, a_CQ_that_is_armed_is_not_armed_again);
	unit_add(suite, A2a_where_solicited_completions_alone_are_news_the_device_picks_them, 2,
		 setup_on_infiniband);
	unit_test(suite, no_thread_stands_between_a_completion_and_who_waits_for_it);
	unit_add(suite, C1_a_CNO_is_told_of_what_the_device_picks, 1, setup_on_infiniband);
	unit_add(suite, C1_a_CNO_is_told_of_a_stream_that_joins_one_of_solicited_completions, 1,
		 setup_on_infiniband);
	unit_add(suite, A2a_a_completion_before_the_device_is_armed_ends_the_wait, 1,
		 setup_on_infiniband);
	unit_test(suite, A2a_a_request_that_is_flushed_at_once_wakes_who_waits);
	unit_add(suite, A2a_an_error_wakes_who_waits_for_solicited_completions, 1,
		 setup_on_infiniband);
	unit_add(suite, A2a_a_stream_that_joins_wakes_with_every_completion, 1,
		 setup_on_infiniband);
	unit_test(suite, E1_a_resize_counts_more_completions_than_one_poll_takes);
	unit_add(suite, on_iWARP_every_completion_is_told, 1, setup_on_iwarp);
}

int main(void)
{
	return unit_run_on_stub("events", fill);
}
