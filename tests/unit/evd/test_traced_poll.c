/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dequeue in a shared fabric that is traced. One process has both ends; its helper thread runs
 * events as well.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/support.h"

#define TRACE      "trace"
#define LATENCY_NS 200000
#define ROUNDS     30
#define LATENCY    "200000"

static char folder[] = "/tmp/libdat-traced-XXXXXX";

static DAT_EVENT wait_for(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	return event;
}

static void connect_both(void)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	DAT_EVENT event;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	event = wait_for(w.b.cr);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, w.b.ep, 0, NULL));
	wait_for(w.a.connect);
	wait_for(w.b.connect);
	must(dat_psp_free(psp));
}

static void setup_traced(void)
{
	setup_fabric();
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	setenv("DATSIM_FABRIC", "lab", 1);
	ck_assert_int_eq(chdir(folder), 0);
	setenv("DATSIM_TRACE", TRACE, 1);
	setenv("DATSIM_LATENCY_NS", LATENCY, 1);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	connect_both();
}

static void teardown_traced(void)
{
	teardown();
	ck_assert_int_eq(unlink(TRACE), 0);
	ck_assert_int_eq(rmdir("datsim"), 0);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	unsetenv("DATSIM_LATENCY_NS");
	unsetenv("DATSIM_TRACE");
	unsetenv("DATSIM_FABRIC");
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The time of a shared fabric is that of this clock. */
static void pass_latency(void)
{
	uint64_t begin = monotonic_ns();

	while (monotonic_ns() - begin <= LATENCY_NS)
		;
}

/*
 * The packet of a Send is due, and then its acknowledgement. The helper may have run them already,
 * but hardly each time.
 */
START_TEST(a_traced_dequeue_of_an_empty_EVD_runs_what_is_due)
{
	DAT_EVENT event;

	for (int i = 0; i < ROUNDS; i++) {
		post_recv(&w.b, w.b.ep, 0);
		post_send(&w.a, w.a.ep, 1, SHORT);
		pass_latency();
		must(dat_evd_dequeue(w.b.recv, &event));
		pass_latency();
		must(dat_evd_dequeue(w.a.request, &event));
		expect_no_event(w.b.recv);
	}
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("traced polls");

	tcase_add_checked_fixture(tcase, setup_traced, teardown_traced);
	tcase_add_test(tcase, a_traced_dequeue_of_an_empty_EVD_runs_what_is_due);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("traced polls")
