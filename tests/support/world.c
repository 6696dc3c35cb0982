/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The world of a test: a fabric, two adapters with the objects that a connection needs, and the
 * clock. Also the main function of the test programs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/support.h"

#define GUARD_BYTE 0xa5

struct world w;

static bool untraced, mixed, on_stub;

/* ---- the fabric ---- */

/* A poll lets no time pass, and environment variables have no influence. */
DAT_SIM_CONFIG fabric_config(DAT_SIM_PROFILE profile)
{
	DAT_SIM_CONFIG config = {
		.profile = profile,
		.seed = 1,
		.latency_ns = LATENCY_NS,
		.bandwidth_bps = 0,
		.mtu = MTU,
		.rnr_retry = 6,
		.rnr_timer_ns = 100000,
		.retry = RETRIES,
		.retry_timer_ns = RETRY_NS,
		.poll_quantum_ns = 0,
		.trace = untraced ? DAT_FALSE : DAT_TRUE,
	};

	return config;
}

void fabric_create(const DAT_SIM_CONFIG *config)
{
	DAT_COUNT pending = -1;

	if (device) {
		ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
		return;
	}
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
	must(dat_sim_create(config, &w.sim));
	ck_assert_uint_eq(now_ns(), 0);
	must(dat_sim_pending(w.sim, &pending, NULL));
	ck_assert_int_eq(pending, 0);
}

static void setup_profile(DAT_SIM_PROFILE profile)
{
	DAT_SIM_CONFIG config = fabric_config(profile);

	mixed = false;
	fabric_create(&config);
}

static void open_both(void)
{
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
}

void setup_fabric(void)
{
	setup_profile(DAT_SIM_PROFILE_IB);
}

void setup_sides(void)
{
	setup_fabric();
	open_both();
}

void setup_sides_iwarp(void)
{
	setup_profile(DAT_SIM_PROFILE_IWARP);
	open_both();
}

void setup_sides_mixed(void)
{
	setup_fabric();
	mixed = true;
	open_both();
}

/* The EP has sent its request, and the request is not answered yet. */
static bool asks(const struct side *side)
{
	DAT_EP_STATE state;

	return dat_ep_get_status(side->ep, &state, NULL, NULL) == DAT_SUCCESS &&
	       state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
}

/*
 * On iWARP the EP that asked is freed only after an answer or a timeout of ten seconds, so close
 * the side that could answer first.
 */
void teardown(void)
{
	struct side *last = device && asks(&w.a) ? &w.a : &w.b;

	side_close(last == &w.a ? &w.b : &w.a);
	side_close(last);
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
	if (on_stub)
		device_await_destroyed();
	if (w.sim)
		must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
}

DAT_COUNT objects(DAT_HANDLE_TYPE type)
{
	DAT_COUNT count = -1;

	must(dat_sim_count_objects(type, &count));
	return count;
}

/* ---- time and the wire ---- */

DAT_UINT64 now_ns(void)
{
	DAT_UINT64 ns = UINT64_MAX;

	must(dat_sim_now(w.sim, &ns));
	return ns;
}

/* Ten seconds of virtual time count as forever. */
void run_quiet(void)
{
	if (device) {
		device_settle();
		return;
	}
	must(dat_sim_run_until_quiet(w.sim, UINT64_C(10000000000)));
}

void advance_us(DAT_UINT64 us)
{
	must(dat_sim_advance(w.sim, us * 1000));
}

void hold_link(const char *from, const char *to)
{
	must(dat_sim_hold_link(w.sim, from, to, 0));
}

void release_link(const char *from, const char *to)
{
	must(dat_sim_release_link(w.sim, from, to));
}

/* ---- a side ---- */

static void register_memory(struct side *side)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(side, 0) };

	memset(side->memory, 0, sizeof(side->memory));
	memset(side->memory, GUARD_BYTE, GUARD);
	memset(side->memory + sizeof(side->memory) - GUARD, GUARD_BYTE, GUARD);
	must(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, SLOTS * SLOT_SIZE, side->pz,
			    DAT_MEM_PRIV_ALL_FLAG, &side->lmr, &side->context, &side->rmr_context,
			    NULL, NULL));
}

DAT_EVD_HANDLE make_evd(struct side *side, DAT_COUNT length, int flags)
{
	DAT_EVD_HANDLE evd = NO_HANDLE;

	must(dat_evd_create(side->ia, length, NO_HANDLE, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

DAT_CNO_HANDLE quiet_cno(struct side *side)
{
	DAT_CNO_HANDLE cno = NO_HANDLE;

	must(dat_cno_create(side->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	return cno;
}

void side_open(struct side *side, const char *adapter)
{
	int beside = mixed ? DAT_EVD_SOFTWARE_FLAG : 0;
	char name[DAT_NAME_MAX_LENGTH];

	snprintf(name, sizeof(name), "%s", adapter);
	side->async = NO_HANDLE;
	if (on_stub)
		device_count_threads();
	must(dat_ia_open(name, EVD_LENGTH, &side->async, &side->ia));
	must(dat_pz_create(side->ia, &side->pz));
	side->recv = make_evd(side, EVD_LENGTH, DAT_EVD_DTO_FLAG | beside);
	side->request =
		make_evd(side, EVD_LENGTH, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | beside);
	side->connect = make_evd(side, EVD_LENGTH, DAT_EVD_CONNECTION_FLAG);
	side->cr = make_evd(side, EVD_LENGTH, DAT_EVD_CR_FLAG);
	register_memory(side);
}

static void check_guard(const unsigned char *guard)
{
	size_t i;

	/* One assertion for all bytes: Check writes each assertion to a file. */
	for (i = 0; i < GUARD && guard[i] == GUARD_BYTE; i++)
		;
	ck_assert_msg(i == GUARD, "guard byte %zu was written", i);
}

/*
 * Closes abruptly, because tests leave all kinds of objects behind. Does nothing to a closed side.
 */
void side_close(struct side *side)
{
	if (!side->ia)
		return;
	check_guard(side->memory);
	check_guard(side->memory + sizeof(side->memory) - GUARD);
	must(dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG));
	side->ia = NO_HANDLE;
}

DAT_IA_ATTR ia_attr(struct side *side)
{
	DAT_IA_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	must(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	return attr;
}

DAT_IA_ADDRESS_PTR address(struct side *side)
{
	return ia_attr(side).ia_address_ptr;
}

/* ---- suites ---- */

static void trace_on(void)
{
	untraced = false;
}

static void trace_off(void)
{
	untraced = true;
}

/* All rows of a table, or an evenly spread part of them. */
static void add_rows(TCase *tcase, const TTest *test, int first, int last)
{
	int rows = device_rows(last - first), i, row;

	if (rows == last - first) {
		tcase_add_loop_test(tcase, test, first, last);
		return;
	}
	for (i = 0; i < rows; i++) {
		row = first + (rows > 1 ? i * (last - first - 1) / (rows - 1) : 0);
		tcase_add_loop_test(tcase, test, row, row + 1);
	}
}

/*
 * Each test is a test case of its own, so that CK_RUN_CASE can select it. All tests run a second
 * time without a trace, because an unobserved fabric may take shorter paths through the library.
 * With UNIT_SHARE=N in the environment (valgrind is slow) only every Nth of all these cases runs;
 * if N is odd, the traced and the untraced case alternate.
 */
void unit_add_case(Suite *suite, const char *name, const TTest *test, int first, int last,
		   SFun setup)
{
	static const SFun traces[] = { trace_on, trace_off };
	static size_t added;
	const char *share = getenv("UNIT_SHARE");
	size_t nth = share ? strtoul(share, NULL, 10) : 1;
	static const TTest *last_test;
	static const char *last_name;
	size_t i;

	if (device_skips(test->name))
		return;
	/* A device has only one mode, and no trace. */
	if (device && last_test == test && strcmp(last_name, name) == 0)
		return;
	last_test = test;
	last_name = name;
	for (i = 0; i < (device ? 1 : COUNT(traces)); i++) {
		TCase *tcase;

		if (nth > 1 && added++ % nth != 0)
			continue;
		tcase = tcase_create(name);

		tcase_add_checked_fixture(tcase, traces[i], NULL);
		tcase_add_checked_fixture(tcase, setup, teardown);
		add_rows(tcase, test, first, last);
		suite_add_tcase(suite, tcase);
	}
}

void unit_add(Suite *suite, const TTest *test, int times, SFun setup)
{
	unit_add_case(suite, test->name, test, 0, times, setup);
}

int unit_run(const char *name, void (*fill)(Suite *suite), enum fork_status forks)
{
	Suite *suite = suite_create(name);
	SRunner *runner;
	int failed;

	/* Line buffering: else the stderr of a test would appear inside a line. */
	device_begin();
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	fill(suite);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, forks);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int unit_run_on_stub(const char *name, void (*fill)(Suite *suite))
{
	char module[4096];
	const char *build = getenv("top_builddir");

	snprintf(module, sizeof(module), "%s/passthrough/.libs/passthrough.so",
		 build ? build : ".");
	setenv("DAT_HW_MODULE", module, 0);
	setenv("UNIT_DEVICE", "stub0", 1);
	on_stub = true;
	return unit_run(name, fill, CK_FORK);
}
