/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of one thread may wait for something in a loop of queries: virtual time goes on
 * meanwhile, by a quantum after many calls that changed nothing.
 */
#include "tests/support/model.h"

enum {
	CALLS = 5000, /* more than IDLE_CALLS_MAX in host/backend.c */
};

static DAT_CNO_HANDLE cno;

static void query_ep(void)
{
	DAT_EP_PARAM param;

	must(dat_ep_query(w.b.ep, DAT_EP_FIELD_ALL, &param));
}

static void query_status(void)
{
	DAT_EP_STATE state;
	DAT_BOOLEAN recv_idle, request_idle;

	must(dat_ep_get_status(w.b.ep, &state, &recv_idle, &request_idle));
}

static void query_recv(void)
{
	DAT_COUNT allocated, span;

	must(dat_ep_recv_query(w.b.ep, &allocated, &span));
}

static void query_srq(void)
{
	DAT_SRQ_PARAM param;

	must(dat_srq_query(w.b.srq, DAT_SRQ_FIELD_ALL, &param));
}

static void query_evd(void)
{
	DAT_EVD_PARAM param;

	must(dat_evd_query(w.b.recv, DAT_EVD_FIELD_ALL, &param));
}

static void query_cno(void)
{
	DAT_CNO_PARAM param;

	must(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
}

static void (*const queries[])(void) = { query_ep,  query_status, query_recv,
					 query_srq, query_evd,    query_cno };

START_TEST(time_goes_on_in_a_loop_of_queries)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_UINT64 before;

	config.poll_quantum_ns = 2000;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	srq_pair(8);
	cno = quiet_cno(&w.b);
	before = now_ns();
	for (int i = 0; i < CALLS; i++)
		queries[_i]();
	ck_assert_uint_gt(now_ns(), before);
	must(dat_cno_free(cno));
}
END_TEST

static DAT_EVD_HANDLE software;
static DAT_EP_HANDLE own_queue; /* an Endpoint of w.b without the SRQ */

static void post_to_srq(int n)
{
	post_srq(&w.b, n);
}

static void post_to_ep(int n)
{
	post_recv(&w.b, own_queue, n);
}

static void send_one(int n)
{
	post_send(&w.b, w.b.ep, n, SHORT);
}

static void write_remote(int n)
{
	post_write(&w.b, w.b.ep, n, remote(&w.a, n, SHORT));
}

static void post_event(int n)
{
	post_se(software, n);
}

static void take_event(int n)
{
	DAT_EVENT event;

	(void)n;
	must(dat_evd_dequeue(software, &event));
}

static void (*const changes[])(int n) = { post_to_srq,  post_to_ep, send_one,
					  write_remote, post_event, take_event };

/* Less often than the quantum: a loop that also does something is no loop that waits. */
START_TEST(no_time_passes_in_a_loop_of_queries_that_does_something)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_UINT64 before;

	config.poll_quantum_ns = 2000;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	srq_pair(8);
	own_queue = plain_ep(&w.b);
	software = make_evd(&w.b, 8, DAT_EVD_SOFTWARE_FLAG);
	(void)stuff(software);
	if (changes[_i] == post_event)
		(void)drain(software);
	before = now_ns();
	for (int n = 0; n < 6; n++) {
		for (int i = 0; i < 600; i++)
			query_ep();
		changes[_i](n);
	}
	ck_assert_uint_eq(now_ns(), before);
}
END_TEST

/* By the short dequeue of a traced fabric, and of one without a trace. */
START_TEST(a_completion_begins_the_count_of_calls_that_change_nothing_anew)
{
	DAT_EVENT event;
	struct nic *nic;

	plain_pair();
	must(dat_sim_trace(w.sim, _i ? DAT_TRUE : DAT_FALSE));
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	nic = nic_qp_of(w.b.ep)->nic;
	nic->idle = 1;
	must(dat_evd_dequeue(w.b.recv, &event));
	ck_assert_uint_eq(nic->idle, 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, no_time_passes_in_a_loop_of_queries_that_does_something,
		 (int)COUNT(changes), NULL);
	unit_test_loop(suite, a_completion_begins_the_count_of_calls_that_change_nothing_anew, 2);
	unit_add(suite, time_goes_on_in_a_loop_of_queries, (int)COUNT(queries), NULL);
}

UNIT_SUITE("polling")
