/* SPDX-License-Identifier: BSD-3-Clause */
/* Event dispatchers. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "tests/sweep/sweep.h"

static DAT_RETURN create(DAT_COUNT qlen, int flags)
{
	return dat_evd_create(w.a.ia, qlen, NO_HANDLE, (DAT_EVD_FLAGS)flags, &out.handle);
}

PROVOKE(create_no_length, create(0, DAT_EVD_DTO_FLAG))
PROVOKE(create_no_stream, create(4, 0))
PROVOKE(create_unknown_stream, create(4, 0x200))
PROVOKE(create_no_output, dat_evd_create(w.a.ia, 4, NO_HANDLE, DAT_EVD_DTO_FLAG, NULL))
PROVOKE(create_too_long, create(ia_attr(&w.a).max_evd_qlen + 1, DAT_EVD_DTO_FLAG))

static DAT_RETURN create_one_too_many(void)
{
	while (create(1, DAT_EVD_SOFTWARE_FLAG) == DAT_SUCCESS)
		;
	return TRY(create(1, DAT_EVD_SOFTWARE_FLAG));
}

PROVOKE(query_unknown_bit, dat_evd_query(w.a.recv, (DAT_EVD_PARAM_MASK)0x20, &out.evd))
PROVOKE(query_no_structure, dat_evd_query(w.a.recv, DAT_EVD_FIELD_ALL, NULL))

/* ---- resize ---- */

PROVOKE(resize_to_nothing, dat_evd_resize(w.a.recv, 0))
PROVOKE(resize_too_long, dat_evd_resize(w.a.recv, ia_attr(&w.a).max_evd_qlen + 1))

static DAT_RETURN resize_below_what_is_queued(void)
{
	post_se(w.a.connect, 1);
	post_se(w.a.connect, 2);
	return TRY(dat_evd_resize(w.a.connect, 1));
}

/* ---- post_se and dequeue ---- */

static const DAT_EVENT software = { .event_number = DAT_SOFTWARE_EVENT };
static const DAT_EVENT foreign = { .event_number = DAT_DTO_COMPLETION_EVENT };

PROVOKE(post_no_event, dat_evd_post_se(w.a.recv, NULL))
PROVOKE(post_another_event, dat_evd_post_se(w.a.recv, &foreign))

static DAT_RETURN post_to_a_full_queue(void)
{
	stuff(w.a.connect);
	return TRY(dat_evd_post_se(w.a.connect, &software));
}

PROVOKE(dequeue_no_output, dat_evd_dequeue(w.a.recv, NULL))
PROVOKE(dequeue_nothing, dat_evd_dequeue(w.a.recv, &out.event))

/* ---- a thread that waits ---- */

static void *wait_for_ever(void *evd)
{
	DAT_EVENT event;
	DAT_RETURN *ret = evd;

	*ret = dat_evd_wait(w.a.connect, DAT_TIMEOUT_INFINITE, 1, &event, NULL);
	return NULL;
}

static DAT_RETURN waited;

/* When dequeue is refused, the thread waits. */
static pthread_t start_waiter(void)
{
	pthread_t thread;
	DAT_EVENT event;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_ever, &waited), 0);
	while (dat_evd_dequeue(w.a.connect, &event) == DAT_QUEUE_EMPTY)
		;
	return thread;
}

static DAT_RETURN end_waiter(pthread_t thread, DAT_RETURN ret)
{
	post_se(w.a.connect, 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	must(waited);
	return ret;
}

static DAT_RETURN dequeue_while_another_waits(void)
{
	pthread_t thread = start_waiter();

	return end_waiter(thread, TRY(dat_evd_dequeue(w.a.connect, &out.event)));
}

static DAT_RETURN wait_while_another_waits(void)
{
	pthread_t thread = start_waiter();

	return end_waiter(thread, TRY(dat_evd_wait(w.a.connect, 0, 1, &out.event, NULL)));
}

static DAT_RETURN free_while_another_waits(void)
{
	pthread_t thread = start_waiter();

	return end_waiter(thread, TRY(dat_evd_free(w.a.connect)));
}

static DAT_RETURN wait_while_the_adapter_closes(void)
{
	pthread_t thread = start_waiter();

	side_close(&w.a);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	return waited;
}

/* ---- wait ---- */

static DAT_RETURN wait_on(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold)
{
	return dat_evd_wait(evd, timeout, threshold, &out.event, &out.more.count);
}

PROVOKE(wait_for_none, wait_on(w.a.recv, 10, 0))
PROVOKE(wait_for_more_than_fit, wait_on(w.a.recv, 10, EVD_LENGTH + 1))
PROVOKE(wait_no_output, dat_evd_wait(w.a.recv, 10, 1, NULL, NULL))

/* Ruling G2: a failed wait writes one output, the number of events. */
static DAT_RETURN wait_in_vain(void)
{
	DAT_COUNT nmore = -1;
	DAT_RETURN ret;

	post_se(w.a.connect, 1);
	ret = TRY(dat_evd_wait(w.a.connect, 10, 2, &out.event, &nmore));
	ck_assert_int_eq(nmore, 1);
	return ret;
}

/* With these flags not every completion wakes the waiter, so a threshold above one is refused. */
static DAT_RETURN wait_for_several_of(int flags)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)flags;
	w.a.ep = plain_ep_with(&w.a, &attr);
	return TRY(wait_on(w.a.recv, 10, 2));
}

static DAT_RETURN wait_for_several_unsignalled(void)
{
	return wait_for_several_of(DAT_COMPLETION_UNSIGNALLED_FLAG);
}

static DAT_RETURN wait_for_several_solicited(void)
{
	return wait_for_several_of(DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

static void do_nothing(int signo)
{
	(void)signo;
}

/* Only the signal can end the wait; it comes again in case the first one came too early. */
static DAT_RETURN wait_with_a_signal(void)
{
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } },
			       never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = do_nothing };
	DAT_COUNT nmore = -1;
	DAT_RETURN ret;

	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	sweep_before();
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	ret = dat_evd_wait(w.a.recv, DAT_TIMEOUT_INFINITE, 1, &out.event, &nmore);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	ck_assert_int_eq(nmore, 0);
	return sweep_after("dat_evd_wait", ret);
}

/* ---- free ---- */

static DAT_RETURN free_while_an_endpoint_feeds_it(void)
{
	w.a.ep = plain_ep(&w.a);
	return TRY(dat_evd_free(w.a.recv));
}

static DAT_RETURN free_while_a_listener_feeds_it(void)
{
	listen_at(&w.a, QUAL);
	return TRY(dat_evd_free(w.a.cr));
}

PROVOKE(free_the_async_EVD, dat_evd_free(w.a.async))

static const struct sweep_row rows[] = {
	ROW_ARG(dat_evd_create, 2, create_no_length),
	ROW_ARG(dat_evd_create, 4, create_no_stream),
	ROW_ARG(dat_evd_create, 4, create_unknown_stream),
	ROW_ARG(dat_evd_create, 5, create_no_output),
	ROW(dat_evd_create, INSUFFICIENT_RESOURCES, RESOURCE_TEVD, create_too_long),
	ROW(dat_evd_create, INSUFFICIENT_RESOURCES, RESOURCE_TEVD, create_one_too_many),
	ROW_ARG(dat_evd_query, 2, query_unknown_bit),
	ROW_ARG(dat_evd_query, 3, query_no_structure),
	ROW_ARG(dat_evd_resize, 2, resize_to_nothing),
	ROW(dat_evd_resize, INSUFFICIENT_RESOURCES, RESOURCE_TEVD, resize_too_long),
	ROW(dat_evd_resize, INVALID_STATE, INVALID_STATE_EVD_IN_USE, resize_below_what_is_queued),
	ROW_ARG(dat_evd_post_se, 2, post_no_event),
	ROW_ARG(dat_evd_post_se, 2, post_another_event),
	ROW(dat_evd_post_se, QUEUE_FULL, NO_SUBTYPE, post_to_a_full_queue),
	ROW_ARG(dat_evd_dequeue, 2, dequeue_no_output),
	ROW(dat_evd_dequeue, QUEUE_EMPTY, NO_SUBTYPE, dequeue_nothing),
	ROW(dat_evd_dequeue, INVALID_STATE, INVALID_STATE_EVD_WAITER, dequeue_while_another_waits),
	ROW_ARG(dat_evd_wait, 3, wait_for_none),
	ROW_ARG(dat_evd_wait, 3, wait_for_more_than_fit),
	ROW_ARG(dat_evd_wait, 4, wait_no_output),
	ROW(dat_evd_wait, INVALID_STATE, INVALID_STATE_EVD_WAITER, wait_while_another_waits),
	ROW(dat_evd_wait, INVALID_STATE, INVALID_STATE_EVD_CONFIG_NOTIFY,
	    wait_for_several_unsignalled),
	ROW(dat_evd_wait, INVALID_STATE, INVALID_STATE_EVD_CONFIG_SOLICITED,
	    wait_for_several_solicited),
	ROW(dat_evd_wait, TIMEOUT_EXPIRED, NO_SUBTYPE, wait_in_vain),
	ROW(dat_evd_wait, INTERRUPTED_CALL, SUB_INTERRUPTED, wait_with_a_signal),
	ROW(dat_evd_wait, ABORT, NO_SUBTYPE, wait_while_the_adapter_closes),
	ROW(dat_evd_free, INVALID_STATE, INVALID_STATE_EVD_IN_USE, free_while_an_endpoint_feeds_it),
	ROW(dat_evd_free, INVALID_STATE, INVALID_STATE_EVD_IN_USE, free_while_a_listener_feeds_it),
	ROW(dat_evd_free, INVALID_STATE, INVALID_STATE_EVD_IN_USE, free_the_async_EVD),
	ROW(dat_evd_free, INVALID_STATE, INVALID_STATE_EVD_WAITER, free_while_another_waits),
};

SWEEP_TABLE(sweep_evd);
