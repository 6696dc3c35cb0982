/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_sim_step and dat_sim_run_until_quiet on a fabric that processes share: its time passes by
 * itself, and no process can move it on.
 */
#include <stdlib.h>

#include "tests/support/runtime.h"
#include "tests/support/support.h"

#define NS_PER_S 1000000000ul

static void setup_folder(void)
{
	runtime_begin("time");
	setenv("DATSIM_FABRIC", "time", 1);
}

static void setup_quick_fabric(void)
{
	setup_folder();
	setenv("DATSIM_LATENCY_NS", "100000000", 1);
}

static void setup_slow_fabric(void)
{
	setup_folder();
	setenv("DATSIM_LATENCY_NS", "3600000000000", 1);
}

struct asker {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, connect, dto, requests;
	DAT_PSP_HANDLE psp;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_SIM_HANDLE sim;
};

/* A request that is on its way to this process itself. */
static void ask(struct asker *a)
{
	char name[] = "emu0";
	DAT_IA_ATTR attr;

	*a = (struct asker){ .async = NO_HANDLE };
	must(dat_ia_open(name, 8, &a->async, &a->ia));
	must(dat_sim_of(a->ia, &a->sim));
	must(dat_pz_create(a->ia, &a->pz));
	must(dat_evd_create(a->ia, 8, NO_HANDLE, DAT_EVD_CONNECTION_FLAG, &a->connect));
	must(dat_evd_create(a->ia, 8, NO_HANDLE, DAT_EVD_DTO_FLAG, &a->dto));
	must(dat_ep_create(a->ia, a->pz, a->dto, a->dto, a->connect, NULL, &a->ep));
	must(dat_evd_create(a->ia, 8, NO_HANDLE, DAT_EVD_CR_FLAG, &a->requests));
	must(dat_psp_create(a->ia, 4711, a->requests, DAT_PSP_CONSUMER_FLAG, &a->psp));
	must(dat_ia_query(a->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	must(dat_ep_connect(a->ep, attr.ia_address_ptr, 4711, DAT_TIMEOUT_INFINITE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void expect_arrival(const struct asker *a)
{
	DAT_EVENT event;

	must(dat_evd_dequeue(a->requests, &event));
	ck_assert_uint_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
}

static void end(struct asker *a)
{
	must(dat_ia_close(a->ia, DAT_CLOSE_ABRUPT_FLAG));
	runtime_remove();
}

START_TEST(a_shared_fabric_runs_until_it_is_quiet)
{
	struct asker a;
	DAT_COUNT left;

	ask(&a);
	must(dat_sim_run_until_quiet(a.sim, 3600 * NS_PER_S));
	must(dat_sim_pending(a.sim, &left, NULL));
	ck_assert_int_eq(left, 0);
	expect_arrival(&a);
	end(&a);
}
END_TEST

START_TEST(a_shared_fabric_that_is_not_quiet_runs_until_the_limit)
{
	DAT_UINT64 before, after;
	struct asker a;

	ask(&a);
	must(dat_sim_now(a.sim, &before));
	must_fail(dat_sim_run_until_quiet(a.sim, 1000), DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	must(dat_sim_now(a.sim, &after));
	ck_assert_uint_ge(after - before, 1000);
	end(&a);
}
END_TEST

START_TEST(a_step_of_a_shared_fabric_waits_for_the_next_event)
{
	struct asker a;
	DAT_RETURN ret;

	ask(&a);
	do
		ret = dat_sim_step(a.sim);
	while (ret == DAT_SUCCESS);
	ck_assert_uint_eq(ret, DAT_QUEUE_EMPTY);
	expect_arrival(&a);
	end(&a);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_shared_fabric_runs_until_it_is_quiet, 1, setup_quick_fabric);
	unit_add(suite, a_shared_fabric_that_is_not_quiet_runs_until_the_limit, 1,
		 setup_slow_fabric);
	unit_add(suite, a_step_of_a_shared_fabric_waits_for_the_next_event, 1, setup_quick_fabric);
}

UNIT_SUITE_OF_PROCESSES("shared time")
