/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancelled threads: no call of libdat is a cancellation point, so that none leaves a lock behind.
 * A thread whose cancellation is pending makes the calls, each of which has to return; another one
 * goes on afterwards.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/support/conf.h"
#include "tests/support/runtime.h"

static void setup_folder(void)
{
	runtime_begin("cancel");
}

static void setup_world(int i)
{
	runtime_choose(i);
	conf_text("emu0 u1.2 threadsafe default \"\" libdat.1.2 emu0 \"\"\n");
}

/* Most calls of a small program; the number of the one that failed. */
static int use_everything(void)
{
	DAT_EVD_FLAGS all = DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG;
	DAT_EVD_HANDLE async = NO_HANDLE, evd;
	DAT_REGION_DESCRIPTION region;
	DAT_EVENT event, posted = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	static char memory[8192];
	char name[] = "emu0", bad[] = "no-such-adapter";
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;
	DAT_IA_HANDLE ia, none;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;
	DAT_VLEN length;
	DAT_COUNT more;

	region.for_va = memory;
	posted.event_data.software_event_data.pointer = NULL;
	if (dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS)
		return 1;
	if (dat_ia_open(bad, 8, &async, &none) == DAT_SUCCESS)
		return 2;
	if (dat_pz_create(ia, &pz) != DAT_SUCCESS ||
	    dat_evd_create(ia, 8, NO_HANDLE, all, &evd) != DAT_SUCCESS)
		return 3;
	if (dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
			   DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context, &length,
			   &address) != DAT_SUCCESS)
		return 4;
	if (dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep) != DAT_SUCCESS)
		return 5;
	if (dat_evd_post_se(evd, &posted) != DAT_SUCCESS ||
	    dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more) != DAT_SUCCESS)
		return 6;
	if (DAT_GET_TYPE(dat_evd_wait(evd, 1, 1, &event, &more)) != DAT_TIMEOUT_EXPIRED)
		return 7;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS ? 0 : 8;
}

struct result {
	int failed;
	bool returned;
};

/* Cancelled from the beginning on; its first cancellation point is the last line. */
static void *run_cancelled(void *arg)
{
	struct result *result = arg;

	pthread_cancel(pthread_self());
	result->failed = use_everything();
	result->returned = true;
	pthread_testcancel();
	return NULL;
}

START_TEST(no_call_is_a_cancellation_point)
{
	struct result result = { .failed = -1 };
	pthread_t thread;
	void *end;

	setup_world(_i);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_cancelled, &result), 0);
	ck_assert_int_eq(pthread_join(thread, &end), 0);
	ck_assert_msg(result.returned, "%s: a call ended its thread", runtime_name(_i));
	ck_assert_int_eq(result.failed, 0);
	ck_assert_ptr_eq(end, PTHREAD_CANCELED);
	ck_assert_int_eq(use_everything(), 0);
	conf_clear();
	runtime_remove();
}
END_TEST

/* ---- a thread that is cancelled while it waits ---- */

static struct {
	DAT_EVD_HANDLE evd;
	bool waits, returned;
} waiter;

static void *wait_for_event(void *arg)
{
	DAT_EVENT event;
	DAT_COUNT more;

	(void)arg;
	__atomic_store_n(&waiter.waits, true, __ATOMIC_RELEASE);
	waiter.returned = dat_evd_wait(waiter.evd, DAT_TIMEOUT_INFINITE, 1, &event, &more) ==
			  DAT_SUCCESS;
	pthread_testcancel();
	return NULL;
}

START_TEST(a_cancelled_wait_ends_with_its_event)
{
	DAT_EVENT posted = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	pthread_t thread;
	DAT_IA_HANDLE ia;
	void *end;

	setup_world(_i);
	must(dat_ia_open(name, 8, &async, &ia));
	must(dat_evd_create(ia, 8, NO_HANDLE, DAT_EVD_SOFTWARE_FLAG, &waiter.evd));
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_event, NULL), 0);
	while (!__atomic_load_n(&waiter.waits, __ATOMIC_ACQUIRE))
		sched_yield();
	ck_assert_int_eq(pthread_cancel(thread), 0);
	must(dat_evd_post_se(waiter.evd, &posted));
	ck_assert_int_eq(pthread_join(thread, &end), 0);
	ck_assert(waiter.returned);
	ck_assert_ptr_eq(end, PTHREAD_CANCELED);
	must(dat_evd_free(waiter.evd));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	conf_clear();
	runtime_remove();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, no_call_is_a_cancellation_point, RUNTIME_KINDS, setup_folder);
	unit_add(suite, a_cancelled_wait_ends_with_its_event, 3, setup_folder);
}

UNIT_SUITE_OF_PROCESSES("cancel")
