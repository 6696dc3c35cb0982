/* SPDX-License-Identifier: BSD-3-Clause */
/* test_model.c - the model itself: the pages' examples, and that it refuses what cannot be. */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "tests/support/asserts.h"

static struct model m;
static struct model_seen seen[MODEL_CONNS];

static void setup(void)
{
	memset(&m, 0, sizeof(m));
	memset(seen, 0, sizeof(seen));
	m.in_order = true;
	m.async_room = 8;
	m.srq.limit = 100;
	ck_assert_int_eq(model_srq_create(&m, 10, 0), ORACLE_OK);
	model_recv_create(&m, 0, false, 0, ORACLE_INFINITE);
	model_send_create(&m, 0);
	model_connected(&m, 0);
}

static void post(int count)
{
	while (count-- > 0)
		ck_assert_int_eq(model_srq_post(&m), ORACLE_OK);
}

static void send(int count, int held)
{
	while (count-- > 0)
		ck_assert_int_eq(model_send(&m, 0, 100, 1, held, false), ORACLE_OK);
}

static void sends_done(int from, int to)
{
	for (int n = from; n <= to; n++)
		ck_assert(model_send_done(&m, 0, false, n, MODEL_SUCCESS));
}

static void look(int nbufs, int span, int queued)
{
	seen[0].nbufs = nbufs;
	seen[0].span = span;
	seen[0].queued = queued;
	ck_assert_msg(model_look(&m, seen, MODEL_SETTLED), "%s", m.error);
}

static void refuses(int nbufs, int span, int queued)
{
	seen[0].nbufs = nbufs;
	seen[0].span = span;
	seen[0].queued = queued;
	ck_assert(!model_look(&m, seen, MODEL_SETTLED));
}

static void counts(int max, int available, int outstanding)
{
	ck_assert_int_eq(m.srq.max, max);
	ck_assert_int_eq(m.srq.available, available);
	ck_assert_int_eq(m.srq.outstanding, outstanding);
}

/* The example of dat_srq_query's page */
START_TEST(test_query_page)
{
	post(3);
	counts(10, 3, 3);
	send(1, MODEL_NOT_HELD);
	sends_done(1, 1);
	look(0, 0, 1);
	counts(10, 2, 3);
	ck_assert(model_reap(&m, 0, MODEL_SUCCESS, true, 1));
	counts(10, 2, 2);
}
END_TEST

/* The example of dat_ep_recv_query's page: 19, 22 and 23 arrived, 19 not whole */
START_TEST(test_span_page)
{
	m.in_order = false;
	m.srq.max = 100;
	post(30);
	send(18, MODEL_NOT_HELD);
	send(1, 1);
	send(2, 0);
	send(2, MODEL_NOT_HELD);
	sends_done(1, 18);
	look(3, 5, 18);
	counts(100, 9, 30);
}
END_TEST

START_TEST(test_low_watermark)
{
	int soft[MODEL_CONNS] = { 0 };

	ck_assert_int_eq(model_set_lw(&m, -1), ORACLE_BAD_VALUE);
	ck_assert_int_eq(model_set_lw(&m, 11), ORACLE_BAD_VALUE);
	post(3);
	ck_assert_int_eq(model_set_lw(&m, 3), ORACLE_OK);
	ck_assert(model_async_emptied(&m, 0, soft));
	send(2, MODEL_NOT_HELD);
	sends_done(1, 2);
	look(0, 0, 2);
	ck_assert_int_eq(m.lw_due.least, 1);
	ck_assert(model_async_emptied(&m, 1, soft));
	ck_assert_int_eq(model_resize(&m, 2), ORACLE_BAD_STATE);
	ck_assert_int_eq(model_resize(&m, 3), ORACLE_OK);
	ck_assert_int_eq(model_srq_post(&m), ORACLE_FULL);
}
END_TEST

START_TEST(test_pending_events)
{
	int soft[MODEL_CONNS] = { 0 };

	m.async_room = 1;
	for (int n = 0; n < 3; n++)
		ck_assert_int_eq(model_set_lw(&m, 1), ORACLE_OK);
	/* the first is queued, the second was dropped by the third, which is pending */
	ck_assert_int_eq(m.lw_due.least, 2);
	ck_assert_int_eq(m.lw_due.most, 2);
	ck_assert(!model_async_emptied(&m, 3, soft));
}
END_TEST

START_TEST(test_hard_mark)
{
	post(5);
	ck_assert_int_eq(model_set_watermark(&m, 0, 0, 2), ORACLE_OK);
	send(4, MODEL_NOT_HELD);
	sends_done(1, 2);
	ck_assert(model_send_done(&m, 0, false, 3, MODEL_RESPONDER));
	ck_assert(model_send_done(&m, 0, false, 4, MODEL_FLUSHED));
	seen[0].recv_ended = seen[0].recv_broken = seen[0].send_ended = seen[0].send_broken = true;
	look(0, 0, 3);
	counts(10, 2, 5);
	ck_assert_int_eq(m.conn[0].soft_due.least, 1);
	ck_assert(model_reap(&m, 0, MODEL_SUCCESS, true, 1));
	ck_assert(model_reap(&m, 0, MODEL_SUCCESS, true, 2));
	ck_assert(!model_reap(&m, 0, MODEL_SUCCESS, true, 3));
}
END_TEST

START_TEST(test_hard_mark_ignored)
{
	post(5);
	ck_assert_int_eq(model_set_watermark(&m, 0, ORACLE_INFINITE, 2), ORACLE_OK);
	send(3, MODEL_NOT_HELD);
	sends_done(1, 3);
	refuses(0, 0, 3);
}
END_TEST

START_TEST(test_message_missing)
{
	post(5);
	send(3, MODEL_NOT_HELD);
	sends_done(1, 2);
	refuses(0, 0, 2);
}
END_TEST

START_TEST(test_end_without_reason)
{
	seen[0].recv_ended = true;
	refuses(0, 0, 0);
}
END_TEST

START_TEST(test_taken_from_nowhere)
{
	m.in_order = false;
	post(1);
	send(2, MODEL_NOT_HELD);
	refuses(0, 0, 2);
}
END_TEST

START_TEST(test_plain)
{
	model_recv_create(&m, 0, true, 4, ORACLE_INFINITE);
	model_connected(&m, 0);
	for (int n = 0; n < 4; n++)
		ck_assert_int_eq(model_ep_post(&m, 0), ORACLE_OK);
	ck_assert_int_eq(model_ep_post(&m, 0), ORACLE_FULL);
	send(1, MODEL_NOT_HELD);
	send(1, 2);
	sends_done(1, 1);
	look(3, 3, 1);
	ck_assert_int_eq(oracle_recv_unreaped(&m.conn[0].buf), 2);
	counts(10, 0, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { test_query_page,         test_span_page,
				       test_low_watermark,      test_pending_events,
				       test_hard_mark,          test_hard_mark_ignored,
				       test_message_missing,    test_end_without_reason,
				       test_taken_from_nowhere, test_plain };
	Suite *suite = suite_create("the walks' model");
	SRunner *runner = srunner_create(suite);
	int failed;

	for (size_t n = 0; n < sizeof(tests) / sizeof(tests[0]); n++) {
		TCase *tcase = tcase_create("model");

		tcase_add_checked_fixture(tcase, setup, NULL);
		tcase_add_test(tcase, tests[n]);
		suite_add_tcase(suite, tcase);
	}
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
