/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric that other processes may join: the first agent of a CNO changes which function a call
 * leads to, and so does the end of the last one, while another thread calls (ruling G7).
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/support/runtime.h"
#include "tests/support/support.h"

#define ROUNDS 200

static atomic_int polled;
static atomic_bool stop;

/* The library reads the environment when the first adapter is opened. */
static void setup_shared(void)
{
	runtime_begin("table");
	setenv("DATSIM_FABRIC", "table", 1);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	unsetenv("DATSIM_FABRIC");
}

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
}

static void *poll(void *arg)
{
	DAT_EVENT event;

	(void)arg;
	while (!atomic_load(&stop)) {
		ck_assert_uint_eq(dat_evd_dequeue(w.b.recv, &event), DAT_QUEUE_EMPTY);
		atomic_fetch_add(&polled, 1);
	}
	return NULL;
}

START_TEST(G7_calls_go_on_while_the_first_agent_comes_and_the_last_one_goes)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = { .instance_data = NULL, .proxy_agent_func = agent };
	DAT_CNO_HANDLE cno;
	pthread_t thread;

	atomic_store(&polled, 0);
	atomic_store(&stop, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, poll, NULL), 0);
	for (int i = 0; i < ROUNDS; i++) {
		int before = atomic_load(&polled);

		must(dat_cno_create(w.a.ia, proxy, &cno));
		must(dat_cno_free(cno));
		while (atomic_load(&polled) == before)
			sched_yield();
	}
	atomic_store(&stop, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	side_close(&w.a);
	side_close(&w.b);
	runtime_end_any();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, G7_calls_go_on_while_the_first_agent_comes_and_the_last_one_goes, 1,
		 setup_shared);
}

UNIT_SUITE_OF_PROCESSES("threads_table")
