/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polls without result in a program of several threads. Virtual time follows the clock there, and a
 * poll must not sleep for a quantum of it: other threads may free the EVD meanwhile. Ruling G7;
 * "page_": the page of dat_evd_dequeue.
 */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "tests/support/support.h"

/* No call takes as long, unless it sleeps. */
#define QUANTUM_NS UINT64_C(5000000000)

static void setup_long_quantum(void)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);

	config.poll_quantum_ns = QUANTUM_NS;
	fabric_create(&config);
	side_open(&w.a, "emu0");
}

static DAT_UINT64 monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (DAT_UINT64)ts.tv_sec * 1000000000 + (DAT_UINT64)ts.tv_nsec;
}

static void poll_empty(DAT_EVD_HANDLE evd)
{
	DAT_UINT64 begin = monotonic_ns();
	DAT_EVENT event;

	ck_assert_uint_eq(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	must_fail(dat_evd_wait(evd, 0, 1, &event, NULL), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_uint_lt(monotonic_ns() - begin, QUANTUM_NS);
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void have_had_a_thread(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, do_nothing, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* An EVD for connection events has a queue of its own, whose poll is the general one. */
START_TEST(page_a_poll_without_result_does_not_block)
{
	have_had_a_thread();
	poll_empty(_i ? w.a.recv : w.a.connect);
	poll_empty(_i ? w.a.recv : w.a.connect);
}
END_TEST

START_TEST(page_a_poll_of_an_adapter_that_is_opened_later_does_not_block)
{
	have_had_a_thread();
	poll_empty(w.a.connect);
	side_open(&w.b, "emu1");
	poll_empty(_i ? w.b.recv : w.b.connect);
	side_close(&w.a);
	side_open(&w.a, "emu0");
	poll_empty(_i ? w.a.recv : w.a.connect);
}
END_TEST

static sem_t polling;

static void *poll_until_freed(void *evd)
{
	DAT_RETURN ret = DAT_QUEUE_EMPTY;
	DAT_EVENT event;

	ck_assert_int_eq(sem_post(&polling), 0);
	while (ret == DAT_QUEUE_EMPTY)
		ret = dat_evd_dequeue(evd, &event);
	must_fail(ret, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	return NULL;
}

START_TEST(G7_an_EVD_may_be_freed_under_a_thread_that_polls_it)
{
	struct timespec moment = { .tv_nsec = 20000000 };
	DAT_EVD_HANDLE evd = make_evd(&w.a, EVD_LENGTH, DAT_EVD_CONNECTION_FLAG);
	pthread_t thread;

	ck_assert_int_eq(sem_init(&polling, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, poll_until_freed, evd), 0);
	ck_assert_int_eq(sem_wait(&polling), 0);
	nanosleep(&moment, NULL);
	must(dat_evd_free(evd));
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, page_a_poll_without_result_does_not_block, 2, setup_long_quantum);
	unit_add(suite, page_a_poll_of_an_adapter_that_is_opened_later_does_not_block, 2,
		 setup_long_quantum);
	unit_add(suite, G7_an_EVD_may_be_freed_under_a_thread_that_polls_it, 1, setup_long_quantum);
}

UNIT_SUITE("threads_poll")
