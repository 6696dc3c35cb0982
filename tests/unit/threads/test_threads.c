/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ruling G7: in a program of several threads, calls on different objects run at the same time, and
 * one thread can wake another. Virtual time then follows the monotonic clock, so nothing here
 * depends on how long anything takes.
 */
#include <pthread.h>
#include <string.h>

#include "tests/support/support.h"

#define MESSAGES 500
#define BYTES    64

/* A thread's own connection, between adapters that all threads share */
struct echo {
	int number;
	DAT_IA_HANDLE ia[2];
	DAT_EVD_HANDLE async[2], dto[2], connect[2], cr;
	DAT_PZ_HANDLE pz[2];
	DAT_LMR_HANDLE lmr[2];
	DAT_LMR_CONTEXT context[2];
	DAT_EP_HANDLE ep[2];
	DAT_PSP_HANDLE psp;
	char memory[2][2 * BYTES];
};

static void open_side(struct echo *e, int i)
{
	DAT_REGION_DESCRIPTION region = { .for_va = e->memory[i] };
	char name[] = "emu0";

	name[3] = (char)('0' + i);
	must(dat_ia_open(name, 8, &e->async[i], &e->ia[i]));
	must(dat_pz_create(e->ia[i], &e->pz[i]));
	must(dat_evd_create(e->ia[i], 32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &e->dto[i]));
	must(dat_evd_create(e->ia[i], 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &e->connect[i]));
	must(dat_lmr_create(e->ia[i], DAT_MEM_TYPE_VIRTUAL, region, sizeof(e->memory[i]), e->pz[i],
			    DAT_MEM_PRIV_ALL_FLAG, &e->lmr[i], &e->context[i], NULL, NULL, NULL));
	must(dat_ep_create(e->ia[i], e->pz[i], e->dto[i], e->dto[i], e->connect[i], NULL,
			   &e->ep[i]));
}

static void wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT nmore;

	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, event, &nmore));
	ck_assert_uint_eq(event->event_number, number);
}

static void connect_echo(struct echo *e)
{
	DAT_CONN_QUAL qual = 100 + (DAT_CONN_QUAL)e->number;
	DAT_IA_ATTR attr;
	DAT_EVENT event;
	DAT_EVD_HANDLE async;

	open_side(e, 0);
	open_side(e, 1);
	must(dat_evd_create(e->ia[1], 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &e->cr));
	must(dat_psp_create(e->ia[1], qual, e->cr, DAT_PSP_CONSUMER_FLAG, &e->psp));
	must(dat_ia_query(e->ia[1], &async, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	must(dat_ep_connect(e->ep[0], attr.ia_address_ptr, qual, DAT_TIMEOUT_INFINITE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	wait_for(e->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, e->ep[1], 0, NULL));
	wait_for(e->connect[0], DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	wait_for(e->connect[1], DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static void post(struct echo *e, int i, bool send, int n)
{
	DAT_LMR_TRIPLET iov = { .lmr_context = e->context[i],
				.virtual_address = (uintptr_t)e->memory[i] + (send ? 0 : BYTES),
				.segment_length = BYTES };
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)n };

	if (send)
		must(dat_ep_post_send(e->ep[i], 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	else
		must(dat_ep_post_recv(e->ep[i], 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void close_echo(struct echo *e)
{
	must(dat_ia_close(e->ia[0], DAT_CLOSE_ABRUPT_FLAG));
	must(dat_ia_close(e->ia[1], DAT_CLOSE_ABRUPT_FLAG));
}

/* The whole life of a connection, in one thread of several */
static void *live(void *arg)
{
	struct echo *e = arg;
	DAT_EVENT event;

	connect_echo(e);
	for (int n = 0; n < MESSAGES; n++) {
		post(e, 1, false, n);
		memset(e->memory[0], n + e->number, BYTES);
		post(e, 0, true, n);
		wait_for(e->dto[1], DAT_DTO_COMPLETION_EVENT, &event);
		ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64,
				  (DAT_UINT64)n);
		ck_assert_int_eq(memcmp(e->memory[0], e->memory[1] + BYTES, BYTES), 0);
		wait_for(e->dto[0], DAT_DTO_COMPLETION_EVENT, &event);
	}
	close_echo(e);
	return NULL;
}

START_TEST(G7_threads_with_objects_of_their_own_do_not_disturb_each_other)
{
	struct echo echo[4] = { 0 };
	pthread_t thread[4];
	DAT_COUNT left;

	for (int i = 0; i < 4; i++) {
		echo[i].number = i;
		ck_assert_int_eq(pthread_create(&thread[i], NULL, live, &echo[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	must(dat_sim_count_objects(DAT_SIM_ALL_HANDLE_TYPES, &left));
	ck_assert_int_eq(left, 0);
}
END_TEST

static void *answer(void *arg)
{
	struct echo *e = arg;
	DAT_EVENT event;

	for (int n = 0; n < MESSAGES; n++) {
		wait_for(e->dto[1], DAT_DTO_COMPLETION_EVENT, &event);
		if (n + 1 < MESSAGES)
			post(e, 1, false, n + 1);
	}
	return NULL;
}

START_TEST(G7_a_waiting_thread_is_woken_by_what_another_sends)
{
	struct echo e = { 0 };
	pthread_t thread;
	DAT_EVENT event;

	connect_echo(&e);
	post(&e, 1, false, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, answer, &e), 0);
	for (int n = 0; n < MESSAGES; n++) {
		post(&e, 0, true, n);
		wait_for(e.dto[0], DAT_DTO_COMPLETION_EVENT, &event);
	}
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	close_echo(&e);
}
END_TEST

static void *wait_for_four(void *arg)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	must(dat_evd_wait(arg, DAT_TIMEOUT_INFINITE, 4, &event, &nmore));
	ck_assert_int_eq(nmore, 3);
	return NULL;
}

/* The EVD refuses a second thread as soon as the first one waits. */
static void await_waiter(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN busy;

	do
		busy = dat_evd_dequeue(evd, &event);
	while (busy == DAT_QUEUE_EMPTY);
	must_fail(busy, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
}

START_TEST(E1_an_EVD_is_not_resized_below_the_threshold_of_its_waiter)
{
	DAT_EVD_HANDLE async = NO_HANDLE, evd;
	char name[] = "emu0";
	DAT_EVD_PARAM param;
	pthread_t thread;
	DAT_IA_HANDLE ia;

	must(dat_ia_open(name, 8, &async, &ia));
	must(dat_evd_create(ia, 8, NO_HANDLE, DAT_EVD_SOFTWARE_FLAG, &evd));
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_four, evd), 0);
	await_waiter(evd);
	must_fail(dat_evd_resize(evd, 3), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	must(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	ck_assert_int_eq(param.evd_qlen, 8);
	must(dat_evd_resize(evd, 4));
	for (int i = 0; i < 4; i++)
		post_se(evd, i);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	must(dat_evd_resize(evd, 3));
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

static void *wait_for_ever(void *arg)
{
	struct echo *e = arg;
	DAT_EVENT event;
	DAT_COUNT nmore;

	must_fail(dat_evd_wait(e->dto[1], DAT_TIMEOUT_INFINITE, 1, &event, &nmore), DAT_ABORT,
		  DAT_NO_SUBTYPE);
	return NULL;
}

START_TEST(page_an_abrupt_close_releases_a_waiting_thread)
{
	struct echo e = { 0 };
	pthread_t thread;

	connect_echo(&e);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_ever, &e), 0);
	await_waiter(e.dto[1]);
	close_echo(&e);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static void *wait_for_the_close(void *async)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	must_fail(dat_evd_wait(async, DAT_TIMEOUT_INFINITE, 1, &event, &nmore), DAT_ABORT,
		  DAT_NO_SUBTYPE);
	return NULL;
}

START_TEST(page_a_graceful_close_leaves_a_thread_that_waits_on_the_async_EVD)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	pthread_t thread;
	DAT_IA_HANDLE ia;

	must(dat_ia_open(name, 8, &async, &ia));
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_the_close, async), 0);
	await_waiter(async);
	must_fail(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_IA_IN_USE);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, G7_threads_with_objects_of_their_own_do_not_disturb_each_other);
	unit_test_bare(suite, G7_a_waiting_thread_is_woken_by_what_another_sends);
	unit_test_bare(suite, E1_an_EVD_is_not_resized_below_the_threshold_of_its_waiter);
	unit_test_bare(suite, page_an_abrupt_close_releases_a_waiting_thread);
	unit_test_bare(suite, page_a_graceful_close_leaves_a_thread_that_waits_on_the_async_EVD);
}

UNIT_SUITE("threads")
