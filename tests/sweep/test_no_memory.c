/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that runs out: in each call the first allocation fails, then the second, and so on until
 * the call needs no more. Ruling G2: DAT_INSUFFICIENT_RESOURCES, nothing has changed, nothing is
 * leaked; then the call succeeds. The linker puts the allocator of this file in front of the
 * library's.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>

#include <dat/dat_registry.h>
#include <dat/udat_redirection.h>

#include "tests/sweep/calls.h"

/* ---- the allocator ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static int fail_at, asked; /* fail_at counts from 1; 0: all succeed */

static bool fails(void)
{
	if (fail_at == 0 || ++asked != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

/* ---- calls; a function that fails allocations cannot use Check, which allocates, too ---- */

enum {
	MANY = 50,
	LISTED = 64
};

/* Makes the first allocation fail, then the second, and so on; returns how many the call makes. */
static int until_it_succeeds(const char *name, DAT_RETURN (*make)(const DAT_HANDLE *h),
			     const DAT_HANDLE *h)
{
	int n;

	for (n = 1; n < MANY; n++) {
		DAT_RETURN ret;

		sweep_before();
		asked = 0;
		fail_at = n;
		ret = make(h);
		fail_at = 0;
		if (ret == DAT_SUCCESS)
			return n - 1;
		sweep_after(name, ret);
		ck_assert_msg(is_failure(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE),
			      "%s, allocation %d: %s", name, n, ret_text(ret));
	}
	ck_abort_msg("%s wants memory without end", name);
	return n;
}

/* The calls of calls.h that allocate; the others need no memory. */
static const char *const allocating[] = {
	"dat_cno_create",         "dat_cr_accept",      "dat_ep_connect", "dat_ep_create",
	"dat_ep_create_with_srq", "dat_ep_dup_connect", "dat_evd_create", "dat_evd_resize",
	"dat_lmr_create",         "dat_psp_create",     "dat_pz_create",  "dat_psp_create_any",
	"dat_rmr_create",         "dat_rsp_create",     "dat_srq_create",
};

static bool allocates(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(allocating); i++)
		if (strcmp(allocating[i], name) == 0)
			return true;
	return false;
}

START_TEST(changes_nothing_without_memory)
{
	const struct call *call = &calls[_i];
	DAT_HANDLE h[MAX_HANDLES];
	int wanted;

	kit_make(&kit, "emu0");
	run_quiet();
	kit_handles(call, h);
	wanted = until_it_succeeds(call->name, call->make, h);
	ck_assert_int_eq(wanted > 0, allocates(call->name));
	if (h[0] != kit.empty_ia)
		must(dat_ia_close(kit.empty_ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

/* ---- calls without a handle, and other ways to create one ---- */

static DAT_RETURN open_adapter(const DAT_HANDLE *h)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu5";
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	(void)h;
	ret = dat_ia_open(name, 8, &async, &ia);
	return ret == DAT_SUCCESS ? dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) : ret;
}

static DAT_RETURN add_provider(const DAT_HANDLE *h)
{
	static DAT_PROVIDER provider;
	static const DAT_PROVIDER_INFO info = { .ia_name = "other0" };
	DAT_RETURN ret = dat_registry_add_provider(&provider, &info);

	(void)h;
	return ret == DAT_SUCCESS ? dat_registry_remove_provider(&provider, &info) : ret;
}

static DAT_RETURN share_memory(const DAT_HANDLE *h)
{
	static char name[DAT_LMR_COOKIE_SIZE];
	DAT_REGION_DESCRIPTION region;

	region.for_shared_memory.virtual_address = h[0];
	region.for_shared_memory.shared_memory_id = &name;
	return dat_lmr_create(w.a.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 64, w.a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &out.handle, NULL, NULL, NULL, NULL);
}

/* It does without none of them. */
START_TEST(adapters_open_later)
{
	int wanted = until_it_succeeds("dat_ia_open", open_adapter, NULL);

	ck_assert_int_gt(wanted, 0);
	ck_assert_int_eq(asked, wanted);
}
END_TEST

/* Not a shorter list, but an error: the call has no other one for it. */
START_TEST(names_are_listed_later)
{
	DAT_PROVIDER_INFO infos[LISTED], *list[LISTED];
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_COUNT n;

	for (int i = 0; i < LISTED; i++)
		list[i] = &infos[i];
	for (int nth = 1; nth < MANY; nth++) {
		asked = 0;
		fail_at = nth;
		ret = dat_registry_list_providers(LISTED, &n, list);
		fail_at = 0;
		if (asked < nth)
			break;
		ck_assert(is_failure(ret, DAT_INTERNAL_ERROR, ANY_SUBTYPE));
	}
	must(ret);
	ck_assert_int_ge(n, 2);
}
END_TEST

START_TEST(providers_are_added_later)
{
	ck_assert_int_gt(until_it_succeeds("dat_registry_add_provider", add_provider, NULL), 0);
}
END_TEST

START_TEST(memory_is_shared_later)
{
	DAT_HANDLE at = mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	ck_assert_int_gt(until_it_succeeds("dat_lmr_create", share_memory, &at), 1);
	side_close(&w.a);
	munmap(at, 64);
}
END_TEST

/* A request for which there is no memory is rejected, as it is without a listener. */
START_TEST(requests_are_turned_away)
{
	ck_assert(__libc_single_threaded); /* else the request arrives before the next line */
	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	asked = 0;
	fail_at = 1;
	(void)dat_sim_run_until_quiet(w.sim, UINT64_C(10000000000));
	fail_at = 0;
	ck_assert_int_ge(asked, 1);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_no_event(w.b.cr);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
}
END_TEST

/* ---- faults by rule ---- */

#define LONG_NS UINT64_C(1000000000)

static const DAT_SIM_CALL_FAULT spoils[] = {
	{ .verdict = DAT_SIM_COMPLETE_AS,
	  .completions = DAT_SIM_COMPLETION_RECV,
	  .status = DAT_DTO_ERR_LOCAL_PROTECTION },
	{ .verdict = DAT_SIM_OVERFLOW, .completions = DAT_SIM_COMPLETION_RECV },
	{ .verdict = DAT_SIM_EVENT_DELAY,
	  .completions = DAT_SIM_COMPLETION_RECV,
	  .delay_ns = LONG_NS },
};

#define ALLOCATIONS 6

/* Is this what the rule asks for: a completion with its status, or none yet? */
static bool is_spoilt(const DAT_SIM_CALL_FAULT *rule, DAT_RETURN ret, const DAT_EVENT *event)
{
	if (rule->verdict != DAT_SIM_COMPLETE_AS)
		return ret != DAT_SUCCESS;
	return ret == DAT_SUCCESS &&
	       event->event_data.dto_completion_event_data.status == rule->status;
}

/* The first allocation fails, then the second, and so on, while one rule acts once. */
START_TEST(a_fault_that_finds_no_memory_is_not_left_out_in_silence)
{
	DAT_SIM_CALL_FAULT rule = spoils[_i / ALLOCATIONS];
	DAT_EVENT received;
	DAT_RETURN ret;
	DAT_COUNT id;

	rule.times = 1;
	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 1);
	must(dat_sim_call_fault_add(w.sim, &rule, &id));
	asked = 0;
	fail_at = 1 + _i % ALLOCATIONS;
	(void)try_send(&w.a, w.a.ep, 0, SHORT);
	(void)dat_sim_run_until_quiet(w.sim, LONG_NS / 10);
	ret = dat_evd_dequeue(w.b.recv, &received);
	fail_at = 0;
	if (ret != DAT_SUCCESS)
		ret = dat_evd_dequeue(w.b.recv, &received);
	if (fired(id) == 1) {
		ck_assert(is_spoilt(&rule, ret, &received));
		if (rule.verdict == DAT_SIM_OVERFLOW)
			expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv,
				     DAT_EVD_OVERFLOW_ERROR);
	} else
		expect_async(w.b.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, w.b.ia,
			     DAT_IA_CATASTROPHIC_ERROR);
}
END_TEST

/* The event cannot be kept: it comes at once, and the adapter fails. */
START_TEST(an_event_for_which_there_is_no_memory_is_not_delayed)
{
	DAT_SIM_CALL_FAULT rule = { .verdict = DAT_SIM_EVENT_DELAY,
				    .event = DAT_ASYNC_EP_SOFT_HIGH_WATERMARK,
				    .delay_ns = LONG_NS };
	DAT_COUNT id;

	srq_pair(4);
	post_srqs(&w.b, 20, 2);
	must(dat_sim_call_fault_add(w.sim, &rule, &id));
	deliver(&w.a, w.a.ep, 1);
	ck_assert_int_eq(drain(w.b.recv), 1);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	asked = 0;
	fail_at = 1;
	(void)try_send(&w.a, w.a.ep, 0, SHORT);
	(void)dat_sim_run_until_quiet(w.sim, LONG_NS / 10);
	fail_at = 0;
	ck_assert_uint_eq(fired(id), 0);
	expect_async(w.b.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, w.b.ia, DAT_IA_CATASTROPHIC_ERROR);
	expect_soft_watermark(w.b.async, w.b.ep);
}
END_TEST

/* Nothing is left of it: the adapter fails once, by the rule that found memory. */
START_TEST(a_rule_for_which_there_is_no_memory_is_refused)
{
	DAT_SIM_CALL_FAULT rule = { .verdict = DAT_SIM_ADAPTER_FATAL,
				    .adapter = "emu1",
				    .since_ns = LONG_NS };
	DAT_SIM_CALL_FAULT other = { .verdict = DAT_SIM_CALL_PASS,
				     .completions = DAT_SIM_COMPLETION_RECV };
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_COUNT id = 7;

	if (_i == 1)
		must(dat_sim_call_fault_add(w.sim, &other, &id));
	for (fail_at = 1; fail_at < MANY; fail_at++) {
		asked = 0;
		ret = dat_sim_call_fault_add(w.sim, &rule, &id);
		if (ret == DAT_SUCCESS)
			break;
	}
	fail_at = 0;
	must(ret);
	ck_assert_int_gt(id, 1000);
	must(dat_sim_advance(w.sim, LONG_NS));
	ck_assert_uint_eq(fired(id), 1);
	expect_async(w.b.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, w.b.ia, DAT_IA_CATASTROPHIC_ERROR);
	expect_no_event(w.b.async);
}
END_TEST

/* They need memory there, too; and what failed as often as there are EVDs leaves them all. */
START_TEST(EVDs_behind_a_rule_are_made_later)
{
	DAT_SIM_CALL_FAULT rule = { .verdict = DAT_SIM_CALL_PASS,
				    .completions = DAT_SIM_COMPLETION_RECV };
	DAT_COUNT most = ia_attr(&w.a).max_evds, id;
	DAT_EVD_HANDLE evd = NO_HANDLE;
	DAT_RETURN ret = DAT_SUCCESS;

	must(dat_sim_call_fault_add(w.sim, &rule, &id));
	for (int n = 1; n < MANY; n++) {
		for (DAT_COUNT i = 0; i <= most; i++) {
			asked = 0;
			fail_at = n;
			ret = dat_evd_create(w.a.ia, 4, NO_HANDLE, DAT_EVD_DTO_FLAG, &evd);
			fail_at = 0;
			if (ret == DAT_SUCCESS)
				break;
		}
		if (ret == DAT_SUCCESS)
			break;
	}
	must(ret);
	must(dat_evd_free(evd));
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

/* ---- suite ---- */

static void setup_nothing(void)
{
}

static void setup_shared(void)
{
	setenv("DATSIM_FABRIC", "test_no_memory", 1);
}

static void fill(Suite *suite)
{
	static char names[128][64];
	size_t c;

	for (c = 0; c < call_count; c++) {
		assert(c < COUNT(names));
		snprintf(names[c], sizeof(names[c]), "%s%s", calls[c].name,
			 allocates(calls[c].name) ? "/DAT_INSUFFICIENT_RESOURCES/no_memory" : "");
		unit_add_case(suite, names[c], changes_nothing_without_memory, (int)c, (int)c + 1,
			      setup_sides);
	}
	unit_add_case(suite, "dat_ia_open/DAT_INSUFFICIENT_RESOURCES/no_memory",
		      adapters_open_later, 0, 1, setup_fabric);
	unit_add_case(suite, "dat_ia_open/DAT_INSUFFICIENT_RESOURCES/no_memory_and_no_fabric",
		      adapters_open_later, 0, 1, setup_nothing);
	unit_add_case(suite, "dat_registry_add_provider/DAT_INSUFFICIENT_RESOURCES/no_memory",
		      providers_are_added_later, 0, 1, setup_sides);
	unit_test(suite, names_are_listed_later);
	unit_add_case(suite, "dat_lmr_create/DAT_INSUFFICIENT_RESOURCES/no_memory_to_share",
		      memory_is_shared_later, 0, 1, setup_sides);
	unit_test(suite, requests_are_turned_away);
	unit_add_case(suite, "a_fault_that_finds_no_memory_is_not_left_out_in_silence",
		      a_fault_that_finds_no_memory_is_not_left_out_in_silence, 0,
		      (int)COUNT(spoils) * ALLOCATIONS, setup_sides);
	unit_test(suite, an_event_for_which_there_is_no_memory_is_not_delayed);
	unit_test_loop(suite, a_rule_for_which_there_is_no_memory_is_refused, 2);
	unit_test(suite, EVDs_behind_a_rule_are_made_later);
	/*
	 * Last: to join starts threads, and where all tests share one process (CK_FORK=no) the
	 * clock of a process of several threads goes on by itself.
	 */
	unit_add_case(suite, "dat_ia_open/DAT_INSUFFICIENT_RESOURCES/no_memory_to_join_a_fabric",
		      adapters_open_later, 0, 1, setup_shared);
}

UNIT_SUITE("no_memory")
