/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device refuses to free a region while a window is bound to it. libdat learns of the binding
 * from the bind's completion, which may come late. On the device of tests/stubverbs. "page_":
 * dat_lmr_free.
 */
#include <errno.h>
#include <malloc.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/mapped.h"
#include "tests/support/support.h"

static DAT_RMR_HANDLE rmr;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_TRIPLET range;
static int before;

/* w.b has an RMR and a region of its own. */
static void prepare(void)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(&w.b, 7) };

	rdma_pair(4, 4);
	rmr = make_rmr(&w.b);
	before = stub_objects();
	range = segment(&w.b, 7, SHORT);
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, description, SLOT_SIZE, w.b.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &range.lmr_context, NULL, NULL, NULL));
	ck_assert_int_eq(stub_objects(), before + 1);
}

static void bind_it(void)
{
	must(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, w.b.ep, cookie(7),
			  DAT_COMPLETION_DEFAULT_FLAG, NULL));
}

START_TEST(page_a_region_is_in_use_from_the_bind_on_though_nobody_has_looked)
{
	prepare();
	bind_it();
	must_fail(dat_lmr_free(lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	expect_bind(w.b.request, rmr, 7, DAT_DTO_SUCCESS);
	must_fail(dat_lmr_free(lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	must(dat_rmr_free(rmr));
	must(dat_lmr_free(lmr));
}
END_TEST

/*
 * The window is bound, but the completion is not seen yet: the region is freed, and the device
 * keeps it as long as the window is bound.
 */
START_TEST(a_region_that_the_device_keeps_goes_with_its_window)
{
	DAT_RMR_PARAM param;

	prepare();
	stub_config.late = true;
	bind_it();
	must(dat_lmr_free(lmr));
	ck_assert_int_eq(stub_objects(), before + 1);
	stub_config.late = false;
	post_recv(&w.a, w.a.ep, 0);
	post_send(&w.b, w.b.ep, 1, SHORT);
	expect_bind(w.b.request, rmr, 7, DAT_DTO_SUCCESS);
	expect_dto(w.b.request, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_SUCCESS);
	must(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_uint_eq(param.lmr_triplet.lmr_context, 0);
	if (_i == 0) {
		post_bind(rmr, &w.b, w.b.ep, 5, 0, DAT_MEM_PRIV_NONE_FLAG);
		expect_bind(w.b.request, rmr, 5, DAT_DTO_SUCCESS);
		ck_assert_int_eq(stub_objects(), before);
	} else if (_i == 1) {
		post_bind(rmr, &w.b, w.b.ep, 5, SHORT, DAT_MEM_PRIV_REMOTE_READ_FLAG);
		expect_bind(w.b.request, rmr, 5, DAT_DTO_SUCCESS);
		ck_assert_int_eq(stub_objects(), before);
	}
	must(dat_rmr_free(rmr));
	ck_assert_int_lt(stub_objects(), before); /* the window is destroyed, too */
}
END_TEST

/* In each case nothing is left once the zone is freed. */
START_TEST(a_region_that_the_device_keeps_goes_with_its_adapter_at_the_latest)
{
	int closed;

	side_close(&w.a);
	side_close(&w.b);
	closed = stub_objects();
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	prepare();
	stub_config.late = true;
	bind_it();
	must(dat_lmr_free(lmr));
	stub_config.late = false;
	side_close(&w.a);
	side_close(&w.b);
	ck_assert_int_eq(stub_objects(), closed);
}
END_TEST

static void set_states(enum ibv_qp_state state)
{
	stub_lock();
	for (uint32_t i = 0; i < STUB_QP; i++)
		if (stub_qp_by_number(i))
			stub_qp_by_number(i)->v.state = state;
	stub_unlock();
}

/*
 * The device flushes the bind, for the QP is in the error state, which libdat does not know yet.
 * The connection ends, and the ids of its two sides go.
 */
START_TEST(a_bind_that_the_device_flushes_leaves_nothing)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	prepare();
	stub_config.late = true;
	set_states(IBV_QPS_ERR);
	bind_it();
	set_states(IBV_QPS_RTS);
	must(dat_lmr_free(lmr));
	stub_config.late = false;
	must(dat_evd_wait(w.b.request, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(event.event_data.rmr_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	stub_await_objects(before - 2);
	ck_assert_int_eq(stub_objects(), before - 2);
	must(dat_rmr_free(rmr));
}
END_TEST

/* The device keeps the region as long as the window exists, and libdat as long as the bind. */
START_TEST(a_region_that_was_to_be_bound_goes_with_a_bind_of_no_window)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	prepare();
	stub_config.late = true;
	bind_it();
	must(dat_lmr_free(lmr));
	ck_assert_int_eq(stub_objects(), before + 1);
	must(dat_rmr_free(rmr));
	stub_config.late = false;
	must(dat_evd_wait(w.b.request, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(stub_objects(), before - 1);
}
END_TEST

/* The device removes the completions of a QP with it, and that of the bind is not polled yet. */
START_TEST(page_a_window_stays_bound_when_the_Endpoint_that_bound_it_goes)
{
	DAT_RMR_PARAM param;

	stub_config.cleans = true;
	prepare();
	bind_it();
	must(dat_ep_free(w.b.ep));
	must(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_uint_eq(param.lmr_triplet.lmr_context, range.lmr_context);
	must_fail(dat_lmr_free(lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	must(dat_rmr_free(rmr));
	must(dat_lmr_free(lmr));
}
END_TEST

/* A request of several segments is posted in the general way. */
START_TEST(page_a_Write_of_two_segments_is_one)
{
	DAT_LMR_TRIPLET from[] = { segment(&w.a, 1, SHORT), segment(&w.a, 3, SHORT) };
	DAT_RMR_TRIPLET to = remote(&w.b, 7, (DAT_VLEN)2 * SHORT);

	rdma_pair(4, 4);
	fill_slot(&w.a, 1, 1);
	fill_slot(&w.a, 3, 3);
	fill_slot(&w.b, 7, 7);
	must(dat_ep_post_rdma_write(w.a.ep, 2, from, cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(slot(&w.b, 7), slot(&w.a, 1), SHORT);
	ck_assert_mem_eq(slot(&w.b, 7) + SHORT, slot(&w.a, 3), SHORT);
	ck_assert(slot_holds(&w.a, 1, 1, SHORT) && slot_holds(&w.a, 3, 3, SHORT));
}
END_TEST

/* Memory that the heap gives out is not always zero. */
START_TEST(page_a_bind_that_is_posted_after_the_end_is_flushed)
{
	mallopt(M_PERTURB, 0x5a);
	prepare();
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	bind_it();
	expect_bind(w.b.request, rmr, 7, DAT_DTO_ERR_FLUSHED);
	must(dat_lmr_free(lmr));
	must(dat_rmr_free(rmr));
}
END_TEST

/* A device takes the right to bind a window for the right to write. */
START_TEST(page_memory_that_is_read_only_can_be_registered_for_reading)
{
	static const char text[] = "read-only";
	DAT_REGION_DESCRIPTION region = { .for_va = (DAT_PVOID)(uintptr_t)text };
	DAT_LMR_TRIPLET iov = { .virtual_address = (DAT_VADDR)(uintptr_t)text,
				.segment_length = sizeof(text) };

	plain_pair();
	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(text), w.a.pz,
			    (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_READ_FLAG |
						 DAT_MEM_PRIV_REMOTE_READ_FLAG),
			    &lmr, &iov.lmr_context, NULL, NULL, NULL));
	post_recv(&w.b, w.b.ep, 0);
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert_str_eq((const char *)slot(&w.b, 0), text);
	must(dat_lmr_free(lmr));
	must_fail(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(text), w.a.pz,
				 DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
		  DAT_INVALID_PARAMETER, ANY_SUBTYPE);
}
END_TEST

START_TEST(page_a_window_that_memory_cannot_have_is_refused_and_the_connection_stays)
{
	static const char text[] = "read-only";
	DAT_REGION_DESCRIPTION region = { .for_va = (DAT_PVOID)(uintptr_t)text };

	plain_pair();
	rmr = make_rmr(&w.b);
	range = (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)text,
				   .segment_length = sizeof(text) };
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(text), w.b.pz,
			    (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_READ_FLAG |
						 DAT_MEM_PRIV_REMOTE_READ_FLAG),
			    &lmr, &range.lmr_context, NULL, NULL, NULL));
	must_fail(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_REMOTE_READ_FLAG, w.b.ep, cookie(7),
			       DAT_COMPLETION_DEFAULT_FLAG, NULL),
		  DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(dat_lmr_free(lmr));
	must(dat_rmr_free(rmr));
	post_recv(&w.a, w.a.ep, 0);
	post_send(&w.b, w.b.ep, 1, SHORT);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

static const int refusals[] = { EOPNOTSUPP, EINVAL };

/* mlx5 has no window of more than 2 GiB. */
START_TEST(page_a_window_that_the_device_cannot_have_is_refused_and_the_connection_stays)
{
	prepare();
	stub_fail("ibv_bind_mw", 1, refusals[_i], false);
	must_fail(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, w.b.ep, cookie(7),
			       DAT_COMPLETION_DEFAULT_FLAG, NULL),
		  DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ck_assert_int_eq(stub_failed("ibv_bind_mw"), 1);
	bind_it();
	expect_bind(w.b.request, rmr, 7, DAT_DTO_SUCCESS);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	must(dat_rmr_free(rmr));
	must(dat_lmr_free(lmr));
}
END_TEST

/* A region's pages may be missing in a child: what libdat registers shares none with anything. */
START_TEST(what_is_registered_for_windows_has_a_page_of_its_own)
{
	const uintptr_t page = 4096;
	int found = 0;

	plain_pair();
	rmr = make_rmr(&w.b);
	for (uint32_t key = 1; key < STUB_MR; key++) {
		const struct stub_mr *mr = stub_mr_by_key(key);

		if (!mr || mr->v.length != sizeof(uint64_t))
			continue;
		found++;
		ck_assert_uint_eq((uintptr_t)mr->v.addr % page, 0);
	}
	ck_assert_int_gt(found, 0);
	must(dat_rmr_free(rmr));
}
END_TEST

/* A window needs a region of the device, and its page. Memory that was freed may stay mapped. */
START_TEST(a_window_that_cannot_be_made_leaves_no_page)
{
	enum {
		TRIES = 512,
	};
	long pages;

	mallopt(M_ARENA_MAX, 1); /* a thread's first malloc would map one */
	stub_fail("ibv_reg_mr", 1, ENOMEM, true);
	must_fail(dat_rmr_create(w.a.pz, &rmr), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	pages = pages_mapped();
	for (int i = 0; i < TRIES; i++)
		must_fail(dat_rmr_create(w.a.pz, &rmr), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	ck_assert_int_lt(pages_mapped() - pages, TRIES / 2);
	stub_fail("ibv_reg_mr", 1, 0, false);
	must(dat_rmr_create(w.a.pz, &rmr));
	must(dat_rmr_free(rmr));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, page_memory_that_is_read_only_can_be_registered_for_reading);
	unit_test(suite, page_a_window_that_memory_cannot_have_is_refused_and_the_connection_stays);
	unit_test_loop(
		suite,
		page_a_window_that_the_device_cannot_have_is_refused_and_the_connection_stays,
		COUNT(refusals));
	unit_test(suite, what_is_registered_for_windows_has_a_page_of_its_own);
	unit_test(suite, a_window_that_cannot_be_made_leaves_no_page);
	unit_test(suite, page_a_region_is_in_use_from_the_bind_on_though_nobody_has_looked);
	unit_test_loop(suite, a_region_that_the_device_keeps_goes_with_its_window, 3);
	unit_test(suite, a_region_that_the_device_keeps_goes_with_its_adapter_at_the_latest);
	unit_test(suite, a_bind_that_the_device_flushes_leaves_nothing);
	unit_test(suite, a_region_that_was_to_be_bound_goes_with_a_bind_of_no_window);
	unit_test(suite, page_a_window_stays_bound_when_the_Endpoint_that_bound_it_goes);
	unit_test(suite, page_a_Write_of_two_segments_is_one);
	unit_test(suite, page_a_bind_that_is_posted_after_the_end_is_flushed);
}

int main(void)
{
	return unit_run_on_stub("windows", fill);
}
