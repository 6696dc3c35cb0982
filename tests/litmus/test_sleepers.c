/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread sleeps in the library until the next event, and another one makes a call after which it
 * would sleep for too long: an earlier event is pending now, or the fabric ends. The call has to
 * wake it. Without the wake-up these tests hang, for no other call of the program would help.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/litmus/litmus.h"
#include "tests/support/asleep.h"

#define HOUR_NS UINT64_C(3600000000000)

static struct {
	pid_t tid;
	DAT_RETURN ret;
} sleeper;

static pthread_t start_sleeper(void *(*run)(void *))
{
	pthread_t thread;

	memset(&sleeper, 0, sizeof(sleeper));
	thread = litmus_start(run, NULL);
	until_thread_asleep(&sleeper.tid);
	return thread;
}

static void *wait_for_a_message(void *unused)
{
	static DAT_EVENT event;
	DAT_COUNT nmore;

	__atomic_store_n(&sleeper.tid, gettid(), __ATOMIC_RELEASE);
	sleeper.ret = dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
	return unused;
}

/* No event is pending while the packet is held, and only the release makes one. */
START_TEST(a_packet_that_is_released_wakes_who_waits_for_it)
{
	pthread_t thread;

	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	thread = start_sleeper(wait_for_a_message);
	release_link("emu0", "emu1");
	litmus_join(thread);
	must(sleeper.ret);
}
END_TEST

static void *let_time_pass(void *unused)
{
	__atomic_store_n(&sleeper.tid, gettid(), __ATOMIC_RELEASE);
	sleeper.ret = dat_sim_advance(w.sim, HOUR_NS);
	return unused;
}

START_TEST(the_end_of_a_fabric_wakes_who_lets_time_pass)
{
	pthread_t thread = start_sleeper(let_time_pass);

	side_close(&w.a);
	side_close(&w.b);
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	litmus_join(thread);
	must_fail(sleeper.ret, DAT_ABORT, DAT_NO_SUBTYPE);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, a_packet_that_is_released_wakes_who_waits_for_it);
	unit_test(suite, the_end_of_a_fabric_wakes_who_lets_time_pass);
}

UNIT_SUITE("threads that sleep in the library")
