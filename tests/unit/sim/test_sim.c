/* SPDX-License-Identifier: BSD-3-Clause */
/* <dat/sim.h>: the clock, the wire, the trace. "sim_": its header is the contract. */
#include <stdlib.h>

#include "tests/support/conf.h"
#include "tests/support/support.h"

static DAT_COUNT pending(void)
{
	DAT_COUNT events = -1;

	must(dat_sim_pending(w.sim, &events, NULL));
	return events;
}

static void clear_environment(void)
{
	static const char *const names[] = {
		"DATSIM_PROFILE",
		"DATSIM_SEED",
		"DATSIM_LATENCY_NS",
		"DATSIM_BANDWIDTH_BPS",
		"DATSIM_MTU",
		"DATSIM_RNR_RETRY",
		"DATSIM_RNR_TIMER_NS",
		"DATSIM_POLL_QUANTUM_NS",
		"DATSIM_STUCK",
		"DATSIM_TRACE_BYTES",
		"DATSIM_TRACE_LAST",
		"DATSIM_ADDRESSES",
		"DATSIM_RETRY_TIMER_NS",
	};
	size_t i;

	for (i = 0; i < COUNT(names); i++)
		unsetenv(names[i]);
}

/* ---- fabrics ---- */

START_TEST(sim_there_is_one_fabric_at_a_time)
{
	DAT_SIM_HANDLE other = (DAT_SIM_HANDLE)&w;
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);

	must_fail(dat_sim_create(&config, &other), DAT_INVALID_STATE, ANY_SUBTYPE);
	ck_assert_ptr_eq(other, &w);
}
END_TEST

START_TEST(sim_a_fabric_with_an_open_adapter_cannot_end)
{
	must_fail(dat_sim_destroy(w.sim), DAT_INVALID_STATE, ANY_SUBTYPE);
	side_close(&w.a);
	must_fail(dat_sim_destroy(w.sim), DAT_INVALID_STATE, ANY_SUBTYPE);
	run_quiet();
}
END_TEST

START_TEST(sim_the_fabric_of_an_adapter_and_its_backend)
{
	DAT_SIM_HANDLE sim = NO_HANDLE;
	const char *name = NULL;

	must(dat_sim_of(w.a.ia, &sim));
	ck_assert_ptr_eq(sim, w.sim);
	must(dat_sim_backend(w.b.ia, &name));
	ck_assert_str_eq(name, "emu");
}
END_TEST

START_TEST(sim_a_configuration_out_of_range_is_an_invalid_parameter)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_SIM_HANDLE sim = (DAT_SIM_HANDLE)&w;

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	switch (_i) {
	case 0:
		config.mtu = 255;
		break;
	case 1:
		config.mtu = 65537;
		break;
	case 2:
		config.rnr_retry = 8;
		break;
	case 3:
		config.profile = (DAT_SIM_PROFILE)2;
		break;
	case 4:
		config.bandwidth_bps = 1;
		break;
	case 5:
		config.latency_ns = UINT64_MAX;
		break;
	default:
		must_fail(dat_sim_create(&config, NULL), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
		return;
	}
	must_fail(dat_sim_create(&config, &sim), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	ck_assert_ptr_eq(sim, &w);
}
END_TEST

START_TEST(sim_the_defaults)
{
	DAT_SIM_CONFIG config;

	clear_environment();
	memset(&config, 0xee, sizeof(config));
	must(dat_sim_config_init(&config));
	ck_assert_int_eq(config.profile, DAT_SIM_PROFILE_IB);
	ck_assert_uint_eq(config.seed, 1);
	ck_assert_uint_eq(config.latency_ns, 1000);
	ck_assert_uint_eq(config.bandwidth_bps, UINT64_C(100000000000));
	ck_assert_uint_eq(config.mtu, 4096);
	ck_assert_uint_eq(config.rnr_retry, 6);
	ck_assert_uint_eq(config.rnr_timer_ns, 100000);
	ck_assert_uint_eq(config.poll_quantum_ns, 2000);
	must_fail(dat_sim_config_init(NULL), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
}
END_TEST

START_TEST(E11_the_environment_sets_the_defaults)
{
	DAT_SIM_CONFIG config;

	setenv("DATSIM_PROFILE", "iwarp", 1);
	setenv("DATSIM_SEED", "77", 1);
	setenv("DATSIM_LATENCY_NS", "5", 1);
	setenv("DATSIM_BANDWIDTH_BPS", "0", 1);
	setenv("DATSIM_MTU", "65536", 1);
	setenv("DATSIM_RNR_RETRY", "0", 1);
	setenv("DATSIM_RNR_TIMER_NS", "6", 1);
	setenv("DATSIM_POLL_QUANTUM_NS", "0", 1);
	must(dat_sim_config_init(&config));
	clear_environment();
	ck_assert_int_eq(config.profile, DAT_SIM_PROFILE_IWARP);
	ck_assert_uint_eq(config.seed, 77);
	ck_assert_uint_eq(config.latency_ns, 5);
	ck_assert_uint_eq(config.bandwidth_bps, 0);
	ck_assert_uint_eq(config.mtu, 65536);
	ck_assert_uint_eq(config.rnr_retry, 0);
	ck_assert_uint_eq(config.rnr_timer_ns, 6);
	ck_assert_uint_eq(config.poll_quantum_ns, 0);
}
END_TEST

/* A name, a value, and what is said of it */
static const char *const nonsense[][3] = {
	{ "DATSIM_PROFILE", "token-ring", "" },
	{ "DATSIM_PROFILE", "", "" },
	{ "DATSIM_SEED", "-1", "from 0 to 18446744073709551615" },
	{ "DATSIM_SEED", "1x", "" },
	{ "DATSIM_SEED", "18446744073709551616", "" },
	{ "DATSIM_LATENCY_NS", "fast", "expected a whole number from 0 to " },
	{ "DATSIM_BANDWIDTH_BPS", "-5", "" },
	{ "DATSIM_BANDWIDTH_BPS", "1", "" },
	{ "DATSIM_MTU", "255", "expected a whole number from 256 to 65536" },
	{ "DATSIM_MTU", "65537", "" },
	{ "DATSIM_MTU", "4096 bytes", "" },
	{ "DATSIM_RNR_RETRY", "8", "expected a whole number from 0 to 7" },
	{ "DATSIM_RNR_TIMER_NS", " ", "" },
	{ "DATSIM_RETRY_TIMER_NS", "0", "expected a whole number from 1 to " },
	{ "DATSIM_POLL_QUANTUM_NS", "0x", "" },
	{ "DATSIM_STUCK", "never", "" },
	{ "DATSIM_TRACE_BYTES", "65535", "from 65536 to 268435456" },
	{ "DATSIM_TRACE_BYTES", "268435457", "" },
	{ "DATSIM_TRACE_LAST", "65535", "from 65536 to 16777216" },
	{ "DATSIM_TRACE_LAST", "16777217", "" },
	{ "DATSIM_TRACE_LAST", "64K", "" },
};

START_TEST(E11_a_bad_value_in_the_environment_is_an_error_not_a_default)
{
	DAT_SIM_CONFIG config, poison;
	DAT_SIM_HANDLE sim = (DAT_SIM_HANDLE)&w;
	const char *said;

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	memset(&config, 0xee, sizeof(config));
	memset(&poison, 0xee, sizeof(poison));
	setenv(nonsense[_i][0], nonsense[_i][1], 1);
	said_start();
	must_fail(dat_sim_config_init(&config), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	said = said_stop();
	ck_assert_said(said, nonsense[_i][0]);
	ck_assert_said(said, nonsense[_i][2]);
	must_fail(dat_sim_create(NULL, &sim), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	clear_environment();
	ck_assert_mem_eq(&config, &poison, sizeof(config));
	ck_assert_ptr_eq(sim, &w);
}
END_TEST

static const char *const bad_networks[][2] = {
	{ "10.1.0.0", "with a prefix of 8 to 28" },
	{ "10.0.0.0/7", "with a prefix of 8 to 28" },
	{ "10.1.2.0/29", "with a prefix of 8 to 28" },
	{ "10.1.2.1/24", "no bit is set behind its prefix" },
	{ "0.0.0.0/8", "1.0.0.0 to 223.255.255.255" },
	{ "224.0.0.0/8", "1.0.0.0 to 223.255.255.255" },
	{ "127.0.0.0/8", "another network than 127.0.0.0/8" },
};

START_TEST(E11_a_network_whose_addresses_no_adapter_can_have_is_an_error)
{
	DAT_SIM_HANDLE sim = (DAT_SIM_HANDLE)&w;
	const char *said;

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	setenv("DATSIM_ADDRESSES", bad_networks[_i][0], 1);
	said_start();
	must_fail(dat_sim_create(NULL, &sim), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	said = said_stop();
	clear_environment();
	ck_assert_said(said, "DATSIM_ADDRESSES");
	ck_assert_said(said, bad_networks[_i][1]);
	ck_assert_ptr_eq(sim, &w);
}
END_TEST

/* Settings that are read for a fabric of several processes alone */
static const char *const bad_shared[][3] = {
	{ "DATSIM_COPY", "both", "expected direct or bounce" },
	{ "DATSIM_LOCKSTEP", "0", "expected a number of milliseconds from 1 to " },
	{ "DATSIM_LOCKSTEP", "-1", "" },
	{ "DATSIM_LOCKSTEP", "5 ms", "" },
	{ "DATSIM_LOCKSTEP", "18446744073709551616", "" },
	{ "DATSIM_FAULTS", "packets=SEND verdict=drop", "in real time, where faults cannot" },
};

START_TEST(E11_a_bad_value_for_a_shared_fabric_is_an_error)
{
	DAT_SIM_HANDLE sim = (DAT_SIM_HANDLE)&w;
	const char *said;

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	setenv("DATSIM_FABRIC", "test_sim", 1);
	setenv(bad_shared[_i][0], bad_shared[_i][1], 1);
	said_start();
	must_fail(dat_sim_create(NULL, &sim), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	said = said_stop();
	unsetenv(bad_shared[_i][0]);
	unsetenv("DATSIM_FABRIC");
	ck_assert_said(said, bad_shared[_i][0]);
	ck_assert_said(said, bad_shared[_i][2]);
	ck_assert_ptr_eq(sim, &w);
}
END_TEST

/* ---- the clock ---- */

/* One that no call of its own has made lives as long as its adapters. */
START_TEST(sim_the_handle_of_a_fabric_ends_with_it)
{
	DAT_SIM_HANDLE first = NO_HANDLE, second = NO_HANDLE;
	DAT_UINT64 now;

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	side_open(&w.a, "emu0");
	must(dat_sim_of(w.a.ia, &first));
	must(dat_sim_now(first, &now));
	side_close(&w.a);
	side_open(&w.a, "emu0");
	must_fail(dat_sim_now(first, &now), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	must(dat_sim_of(w.a.ia, &second));
	ck_assert_ptr_ne(second, first);
	must(dat_sim_now(second, &now));
	must_fail(dat_sim_now(first, &now), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	side_close(&w.a);
}
END_TEST

START_TEST(sim_an_argument_that_is_missing_or_out_of_range_is_named)
{
	const DAT_UINT64 most = UINT64_MAX;

	must_fail(dat_sim_set_link(w.sim, NULL, "emu1", 1, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_sim_set_link(w.sim, "emu0", NULL, 1, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_fail(dat_sim_set_link(w.sim, "emu0", "emu1", most, 0), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG4);
	must_fail(dat_sim_hold_link(w.sim, NULL, "emu1", 1), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_sim_hold_link(w.sim, "emu0", NULL, 1), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_fail(dat_sim_hold_link(w.sim, "emu0", "emu1", -1), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG4);
	must_fail(dat_sim_release_link(w.sim, NULL, "emu1"), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_sim_release_link(w.sim, "emu0", NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_fail(dat_sim_backend(w.a.ia, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_now(w.sim, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_of(w.a.ia, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	w.a.ep = plain_ep(&w.a);
	must_fail(dat_sim_hold_message(w.a.ep, 0, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_hold_message(w.a.ep, 1, -1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}
END_TEST

START_TEST(sim_advance_moves_the_clock_exactly)
{
	must(dat_sim_advance(w.sim, 12345));
	ck_assert_uint_eq(now_ns(), 12345);
	must(dat_sim_advance(w.sim, 0));
	ck_assert_uint_eq(now_ns(), 12345);
}
END_TEST

START_TEST(sim_posting_and_looking_move_no_time)
{
	DAT_UINT64 start;

	plain_pair();
	start = now_ns();
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	expect_no_event(w.b.recv);
	expect_no_event(w.a.request);
	ck_assert_uint_eq(now_ns(), start);
}
END_TEST

START_TEST(sim_step_runs_one_event_and_an_empty_queue_is_bare)
{
	DAT_UINT64 next = 0, start;
	DAT_COUNT events;

	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	start = now_ns();
	ck_assert_uint_eq(dat_sim_step(w.sim), DAT_QUEUE_EMPTY);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_sim_pending(w.sim, &events, &next));
	ck_assert_int_ge(events, 1);
	ck_assert_uint_gt(next, start);
	must(dat_sim_step(w.sim));
	ck_assert_uint_eq(now_ns(), next);
	while (dat_sim_step(w.sim) == DAT_SUCCESS)
		;
	ck_assert_int_eq(pending(), 0);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(sim_quiet_within_a_limit)
{
	DAT_UINT64 start = now_ns();

	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	must(try_connect(w.a.ep, &w.b, QUAL, 1000));
	must_fail(dat_sim_run_until_quiet(w.sim, 500000), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_uint_eq(now_ns() - start, 500000);
	must(dat_sim_run_until_quiet(w.sim, 500000));
}
END_TEST

/* ---- the wire ---- */

START_TEST(sim_latency_and_bandwidth_of_one_direction)
{
	DAT_UINT64 start;
	DAT_EVENT event;

	must(dat_sim_set_link(w.sim, "emu0", "emu1", 7000, UINT64_C(8000000000)));
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, MTU);
	must(dat_evd_wait(w.b.recv, 1000, 1, &event, NULL));
	ck_assert_uint_ge(now_ns() - start, 7000 + MTU); /* a nanosecond per byte */
	ck_assert_uint_lt(now_ns() - start, 7000 + 2 * MTU);
}
END_TEST

START_TEST(sim_a_held_link_lets_so_many_packets_through)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	must(dat_sim_hold_link(w.sim, "emu0", "emu1", 2));
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	post_send(&w.a, w.a.ep, 2, SHORT);
	run_quiet();
	ck_assert_int_eq(drain(w.b.recv), 2);
	release_link("emu0", "emu1");
	run_quiet();
	ck_assert_int_eq(drain(w.b.recv), 1);
	release_link("emu0", "emu1"); /* no effect on a link that is not held */
}
END_TEST

START_TEST(sim_links_of_unknown_adapters_are_an_invalid_parameter)
{
	must_fail(dat_sim_hold_link(w.sim, "emu0", "emu7", 0), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_sim_hold_link(w.sim, "emu7", "emu0", 0), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_sim_hold_link(w.sim, NULL, "emu1", 0), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_sim_hold_link(w.sim, "emu0", NULL, 0), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_sim_hold_link(w.sim, "emu0", "emu1", -1), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_sim_set_link(w.sim, "emu0", "emu7", 1, 1), DAT_INVALID_PARAMETER,
		  ANY_SUBTYPE);
	must_fail(dat_sim_release_link(w.sim, "emu7", "emu1"), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
}
END_TEST

START_TEST(sim_sixteen_messages_of_an_endpoint_can_be_held)
{
	int n;

	plain_pair();
	for (n = 1; n <= 16; n++)
		must(dat_sim_hold_message(w.a.ep, n, 0));
	must_fail(dat_sim_hold_message(w.a.ep, 17, 0), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(dat_sim_release_message(w.a.ep, 5));
	must(dat_sim_hold_message(w.a.ep, 17, 0));
	must(dat_sim_release_message(w.a.ep, 99));
	must_fail(dat_sim_hold_message(w.a.ep, 0, 0), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_sim_hold_message(w.a.ep, -1, 0), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_sim_hold_message(w.a.ep, 1, -1), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
}
END_TEST

/* ---- objects and the trace ---- */

START_TEST(sim_names_are_cut_to_fit)
{
	char name[64], small[4] = "xxx";

	w.b.srq = make_srq(&w.b, 4, 0);
	must(dat_sim_name(w.b.srq, name, sizeof(name)));
	ck_assert_str_eq(name, "emu1.srq1");
	must(dat_sim_name(w.b.srq, small, sizeof(small)));
	ck_assert_str_eq(small, "emu");
	must_fail(dat_sim_name(w.b.srq, NULL, 4), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	must_fail(dat_sim_name(w.b.srq, name, 0), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
}
END_TEST

START_TEST(sim_counting_unknown_types_is_an_invalid_parameter)
{
	DAT_COUNT count = -77;

	must_fail(dat_sim_count_objects((DAT_HANDLE_TYPE)11, &count), DAT_INVALID_PARAMETER,
		  ANY_SUBTYPE);
	must_fail(dat_sim_count_objects((DAT_HANDLE_TYPE)-1, &count), DAT_INVALID_PARAMETER,
		  ANY_SUBTYPE);
	must_fail(dat_sim_count_objects(DAT_HANDLE_TYPE_EP, NULL), DAT_INVALID_PARAMETER,
		  ANY_SUBTYPE);
	ck_assert_int_eq(count, -77);
}
END_TEST

START_TEST(sim_a_note_gets_into_the_trace_while_it_is_recorded)
{
	const char *text = NULL;
	size_t length = 0;

	must(dat_sim_trace(w.sim, DAT_TRUE));
	must(dat_sim_trace_note(w.sim, "here\nand there"));
	must(dat_sim_trace(w.sim, DAT_FALSE));
	must(dat_sim_trace_note(w.sim, "nowhere"));
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_uint_eq(strlen(text), length);
	ck_assert_ptr_nonnull(strstr(text, "here and there"));
	ck_assert_ptr_null(strstr(text, "nowhere"));
}
END_TEST

static void life(void)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IWARP);

	config.trace = DAT_TRUE;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	srq_pair(10);
	post_srqs(&w.b, 0, 8);
	must(dat_srq_set_lw(w.b.srq, 6));
	send_half(&w.a, w.a.ep, 1, 0);
	post_send(&w.a, w.a.ep, 1, LONG);
	run_quiet();
	release_message(w.a.ep, 1);
	(void)drain(w.b.recv);
	disconnect_pair();
}

START_TEST(sim_the_same_life_leaves_the_same_trace_byte_for_byte)
{
	static char first[1 << 16];
	const char *text = NULL;
	size_t length = 0;
	int round;

	must(dat_sim_destroy(w.sim));
	for (round = 0; round < 3; round++) {
		life();
		must(dat_sim_trace_read(w.sim, &text, &length));
		ck_assert_uint_gt(length, 500);
		ck_assert_uint_lt(length, sizeof(first));
		if (round == 0)
			memcpy(first, text, length + 1);
		ck_assert_str_eq(first, text);
		teardown();
	}
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, sim_there_is_one_fabric_at_a_time);
	unit_test(suite, sim_a_fabric_with_an_open_adapter_cannot_end);
	unit_test(suite, sim_the_fabric_of_an_adapter_and_its_backend);
	unit_add(suite, sim_a_configuration_out_of_range_is_an_invalid_parameter, 7, setup_fabric);
	unit_test_bare(suite, sim_the_defaults);
	unit_test_bare(suite, E11_the_environment_sets_the_defaults);
	unit_add(suite, E11_a_bad_value_in_the_environment_is_an_error_not_a_default,
		 COUNT(nonsense), setup_fabric);
	unit_add(suite, E11_a_network_whose_addresses_no_adapter_can_have_is_an_error,
		 (int)COUNT(bad_networks), setup_fabric);
	unit_test_bare(suite, sim_the_handle_of_a_fabric_ends_with_it);
	unit_test(suite, sim_an_argument_that_is_missing_or_out_of_range_is_named);
	unit_test_bare(suite, sim_advance_moves_the_clock_exactly);
	unit_test_all(suite, sim_posting_and_looking_move_no_time);
	unit_test_all(suite, sim_step_runs_one_event_and_an_empty_queue_is_bare);
	unit_test(suite, sim_quiet_within_a_limit);
	unit_test_all(suite, sim_latency_and_bandwidth_of_one_direction);
	unit_test_all(suite, sim_a_held_link_lets_so_many_packets_through);
	unit_test(suite, sim_links_of_unknown_adapters_are_an_invalid_parameter);
	unit_test_all(suite, sim_sixteen_messages_of_an_endpoint_can_be_held);
	unit_test(suite, sim_names_are_cut_to_fit);
	unit_test_bare(suite, sim_counting_unknown_types_is_an_invalid_parameter);
	unit_test(suite, sim_a_note_gets_into_the_trace_while_it_is_recorded);
	unit_test_bare(suite, sim_the_same_life_leaves_the_same_trace_byte_for_byte);
	/*
	 * Last: the helper of a shared fabric has run then, and in a process that had a second
	 * thread time goes on in later fabrics, too, where tests are not forked.
	 */
	unit_add(suite, E11_a_bad_value_for_a_shared_fabric_is_an_error, (int)COUNT(bad_shared),
		 setup_fabric);
}

UNIT_SUITE("sim")
