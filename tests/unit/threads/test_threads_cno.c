/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that wait on EVDs and on CNOs, and the events and calls that end their wait: rulings C1,
 * E2, G7; "page_": the pages. Nothing here depends on how long anything takes: a test waits until
 * it sees the state that it needs.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/support/support.h"

#define WORKERS 8
#define ROUNDS  500

static DAT_CNO_HANDLE cno;
static DAT_EVD_HANDLE evd[WORKERS];
static atomic_int done, calls;

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, run, arg), 0);
	return thread;
}

static void join(pthread_t thread)
{
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void make_cno(int evds)
{
	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	for (int i = 0; i < evds; i++)
		must(dat_evd_create(w.a.ia, 64, cno, DAT_EVD_SOFTWARE_FLAG, &evd[i]));
	atomic_store(&done, 0);
	atomic_store(&calls, 0);
}

/* Returns once a thread waits on the EVD, which then belongs to that thread. */
static void until_waited_on(DAT_EVD_HANDLE handle)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(handle, &event)) == DAT_QUEUE_EMPTY)
		sched_yield();
	must_fail(ret, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
}

/*
 * The API does not show the waiters of a CNO. To include threads that come late, this frees the
 * last EVD of the CNO again and again until this many threads have returned.
 */
static void bereave_until(int threads)
{
	DAT_EVD_HANDLE last;

	while (atomic_load(&done) < threads) {
		must(dat_evd_create(w.a.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &last));
		must(dat_evd_free(last));
		sched_yield();
	}
}

/* ---- waiting on a CNO ---- */

static void *notify_me(void *arg)
{
	DAT_EVD_HANDLE *notified = arg;

	must(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, notified));
	atomic_fetch_add(&done, 1);
	return NULL;
}

START_TEST(page_a_thread_waits_for_several_EVDs_at_once)
{
	DAT_EVD_HANDLE notified = (DAT_EVD_HANDLE)&w;
	pthread_t thread;

	make_cno(WORKERS);
	thread = start(notify_me, &notified);
	post_se(evd[5], 1);
	join(thread);
	ck_assert_ptr_eq(notified, evd[5]);
}
END_TEST

static void *take_some(void *arg)
{
	DAT_EVD_HANDLE notified = NO_HANDLE;
	DAT_EVENT event;
	int *taken = arg;

	for (;;) {
		must(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &notified));
		if (notified == NO_HANDLE)
			break;
		while (dat_evd_dequeue(notified, &event) == DAT_SUCCESS)
			++*taken;
	}
	atomic_fetch_add(&done, 1);
	return NULL;
}

/* Each notification goes to one thread, and none is lost: eight threads take all posted events. */
START_TEST(C1_threads_share_the_work_of_one_CNO)
{
	pthread_t thread[WORKERS];
	int taken[WORKERS] = { 0 }, sum = 0;

	make_cno(WORKERS);
	for (int i = 0; i < WORKERS; i++)
		thread[i] = start(take_some, &taken[i]);
	for (int n = 0; n < ROUNDS; n++) {
		DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

		while (dat_evd_post_se(evd[n % WORKERS], &event) != DAT_SUCCESS)
			sched_yield();
	}
	for (int i = 0; i < WORKERS; i++) {
		sum += drain(evd[i]);
		must(dat_evd_free(evd[i]));
	}
	bereave_until(WORKERS);
	for (int i = 0; i < WORKERS; i++) {
		join(thread[i]);
		sum += taken[i];
	}
	ck_assert_int_eq(sum, ROUNDS);
	must(dat_cno_free(cno));
}
END_TEST

START_TEST(page_CNO_waiters_leave_with_no_EVD_when_the_last_is_freed)
{
	DAT_EVD_HANDLE notified[2] = { (DAT_EVD_HANDLE)&w, (DAT_EVD_HANDLE)&w };
	pthread_t thread[2];

	make_cno(2);
	for (int i = 0; i < 2; i++)
		thread[i] = start(notify_me, &notified[i]);
	must(dat_evd_free(evd[0]));
	must(dat_evd_modify_cno(evd[1], NO_HANDLE)); /* no free: they keep waiting */
	bereave_until(2);
	for (int i = 0; i < 2; i++) {
		join(thread[i]);
		ck_assert_ptr_eq(notified[i], NO_HANDLE);
	}
	must(dat_cno_free(cno));
}
END_TEST

static void *wait_on_evd(void *arg)
{
	DAT_RETURN *ret = arg;
	DAT_COUNT nmore;
	DAT_EVENT event;

	*ret = dat_evd_wait(evd[0], DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
	return NULL;
}

START_TEST(C1_a_waiter_on_the_EVD_preempts_the_CNO)
{
	DAT_EVD_HANDLE notified = (DAT_EVD_HANDLE)&w;
	DAT_RETURN ret = DAT_ABORT;
	pthread_t thread;

	make_cno(1);
	thread = start(wait_on_evd, &ret);
	until_waited_on(evd[0]);
	post_se(evd[0], 1);
	join(thread);
	must(ret);
	ck_assert_uint_eq(dat_cno_wait(cno, 0, &notified), DAT_QUEUE_EMPTY);
}
END_TEST

START_TEST(page_a_waiter_is_sent_away_by_set_unwaitable)
{
	DAT_EVD_HANDLE notified = (DAT_EVD_HANDLE)&w;
	DAT_RETURN ret = DAT_SUCCESS;
	pthread_t thread;

	make_cno(1);
	thread = start(wait_on_evd, &ret);
	until_waited_on(evd[0]);
	must(dat_evd_set_unwaitable(evd[0]));
	post_se(evd[0], 1); /* this event notifies the CNO */
	join(thread);
	must_fail(ret, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	must(dat_cno_wait(cno, 0, &notified));
	ck_assert_ptr_eq(notified, evd[0]);
	expect_event(evd[0], DAT_SOFTWARE_EVENT);
}
END_TEST

/* ---- the end of an IA ---- */

/* A thread that comes after the close finds no CNO. */
static void *wait_for_the_end(void *arg)
{
	DAT_EVD_HANDLE notified = (DAT_EVD_HANDLE)&w;
	DAT_RETURN ret = dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &notified);

	(void)arg;
	if (ret == DAT_SUCCESS)
		ck_assert_ptr_eq(notified, NO_HANDLE);
	else
		must_fail(ret, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	return NULL;
}

START_TEST(page_an_abrupt_close_releases_all_waiters)
{
	DAT_RETURN ret = DAT_SUCCESS;
	pthread_t thread[WORKERS], on_evd;

	make_cno(1);
	must(dat_evd_modify_cno(evd[0], NO_HANDLE));
	for (int i = 0; i < WORKERS; i++)
		thread[i] = start(wait_for_the_end, NULL);
	on_evd = start(wait_on_evd, &ret);
	until_waited_on(evd[0]);
	side_close(&w.a);
	join(on_evd);
	must_fail(ret, DAT_ABORT, DAT_NO_SUBTYPE);
	for (int i = 0; i < WORKERS; i++)
		join(thread[i]);
}
END_TEST

static void count_call(DAT_PVOID data, DAT_EVD_HANDLE notified)
{
	ck_assert_ptr_eq(data, &calls);
	(void)notified;
	atomic_fetch_add(&calls, 1);
}

static const DAT_OS_WAIT_PROXY_AGENT counter = { &calls, count_call };

static void *post_and_rearm(void *arg)
{
	int i = *(int *)arg;

	for (int n = 0; n < ROUNDS; n++) {
		DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

		must(dat_cno_modify_agent(cno, counter));
		must(dat_evd_post_se(evd[i], &event));
		while (dat_evd_dequeue(evd[i], &event) == DAT_SUCCESS)
			;
	}
	return NULL;
}

/* Each association causes at most one call of the agent, and the last one does cause one. */
START_TEST(E2_agents_are_called_once_an_association_whoever_triggers)
{
	static int number[WORKERS] = { 0, 1, 2, 3 };
	pthread_t thread[4];

	make_cno(4);
	for (int i = 0; i < 4; i++)
		thread[i] = start(post_and_rearm, &number[i]);
	for (int i = 0; i < 4; i++)
		join(thread[i]);
	ck_assert_int_ge(atomic_load(&calls), 1);
	ck_assert_int_le(atomic_load(&calls), 4 * ROUNDS);
	must(dat_cno_modify_agent(cno, counter));
	atomic_store(&calls, 0);
	post_se(evd[0], 1);
	ck_assert_int_eq(atomic_load(&calls), 1);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, page_a_thread_waits_for_several_EVDs_at_once);
	unit_test(suite, C1_threads_share_the_work_of_one_CNO);
	unit_test(suite, page_CNO_waiters_leave_with_no_EVD_when_the_last_is_freed);
	unit_test(suite, C1_a_waiter_on_the_EVD_preempts_the_CNO);
	unit_test(suite, page_a_waiter_is_sent_away_by_set_unwaitable);
	unit_test(suite, page_an_abrupt_close_releases_all_waiters);
	unit_test(suite, E2_agents_are_called_once_an_association_whoever_triggers);
}

UNIT_SUITE("threads_cno")
