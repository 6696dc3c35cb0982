/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The passthrough on a device that refuses: each verbs call that can fail is made to fail. This
 * program is linked with tests/stubverbs in place of libibverbs and librdmacm.
 */
#include <errno.h>
#include <malloc.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/conf.h"

/* ---- each verbs object that cannot be created ---- */

static DAT_RETURN create_evd(void)
{
	DAT_EVD_HANDLE evd;

	return dat_evd_create(w.a.ia, 8, NO_HANDLE, DAT_EVD_DTO_FLAG, &evd);
}

static DAT_RETURN create_pz(void)
{
	DAT_PZ_HANDLE pz;

	return dat_pz_create(w.a.ia, &pz);
}

static DAT_RETURN create_lmr(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_HANDLE lmr;

	return dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, SLOT_SIZE, w.a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL);
}

static DAT_RETURN create_rmr(void)
{
	DAT_RMR_HANDLE rmr;

	return dat_rmr_create(w.a.pz, &rmr);
}

static DAT_RETURN create_srq(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 2 };
	DAT_SRQ_HANDLE srq;

	return dat_srq_create(w.a.ia, w.a.pz, &attr, &srq);
}

static DAT_RETURN create_ep(void)
{
	const DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;

	return dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, &attr, &ep);
}

/* Each time by more than the CQ has room for. */
static DAT_RETURN lengthen_evd(void)
{
	static DAT_COUNT length = 2048;
	DAT_RETURN ret = dat_evd_resize(w.a.recv, length);

	if (ret == DAT_SUCCESS)
		length *= 2;
	return ret;
}

static DAT_RETURN listen_somewhere(void)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	return dat_psp_create_any(w.a.ia, &qual, w.a.cr, DAT_PSP_CONSUMER_FLAG, &psp);
}

static const struct {
	const char *verb;
	int error;
	DAT_RETURN (*call)(void);
} made_of[] = {
	{ "ibv_create_comp_channel", EMFILE, create_evd },
	{ "ibv_create_cq", ENOMEM, create_evd },
	{ "ibv_create_cq", EINVAL, create_evd },
	{ "ibv_resize_cq", ENOMEM, lengthen_evd },
	{ "ibv_alloc_pd", ENOMEM, create_pz },
	{ "ibv_reg_mr", ENOMEM, create_lmr },
	{ "ibv_reg_mr", EFAULT, create_lmr },
	{ "ibv_alloc_mw", ENOMEM, create_rmr },
	{ "ibv_create_srq", ENOMEM, create_srq },
	{ "ibv_create_qp", ENOMEM, create_ep },
	{ "rdma_init_qp_attr", EIO, create_ep },
	{ "ibv_modify_qp", EIO, create_ep },
	{ "rdma_create_id", ENOMEM, listen_somewhere },
	{ "rdma_create_id", EMFILE, listen_somewhere },
	{ "rdma_bind_addr", ENOMEM, listen_somewhere },
	{ "rdma_listen", ENOMEM, listen_somewhere },
};

/* G2: a failed creation leaves nothing behind, and succeeds once there is room again. */
START_TEST(G2_what_cannot_be_made_is_an_error_and_leaves_nothing)
{
	DAT_COUNT handles;
	DAT_RETURN ret;
	int before;

	/* The first creation may also create objects that all later ones share. */
	must(made_of[_i].call());
	before = stub_objects();
	handles = objects(DAT_SIM_ALL_HANDLE_TYPES);
	stub_fail(made_of[_i].verb, 1, made_of[_i].error, true);
	ret = made_of[_i].call();
	ck_assert_msg(ret != DAT_SUCCESS && (ret & DAT_CLASS_ERROR), "%s: %s", made_of[_i].verb,
		      ret_text(ret));
	ck_assert_int_gt(stub_failed(made_of[_i].verb), 0);
	ck_assert_int_eq(stub_objects(), before);
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), handles);
	stub_fail(made_of[_i].verb, 0, 0, false);
	must(made_of[_i].call());
}
END_TEST

/* The heap in use; blocks that a thread keeps after a free count, up to a few of each size. */
static size_t heap_in_use(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/*
 * Nor memory: a leak of each failure would be seen after many, each time. Other threads of the
 * device and of the library may get memory once in a while.
 */
START_TEST(G2_what_cannot_be_made_leaves_no_memory)
{
	enum {
		ROUNDS = 5,
		TRIES = 64,
		SMALLEST = 32, /* of what malloc gives out */
	};
	size_t before, after, least = SIZE_MAX;

	must(made_of[_i].call());
	stub_fail(made_of[_i].verb, 1, made_of[_i].error, true);
	for (int round = 0; round < ROUNDS; round++) {
		before = heap_in_use();
		for (int i = 0; i < TRIES; i++)
			ck_assert_uint_ne(made_of[_i].call(), DAT_SUCCESS);
		after = heap_in_use();
		if (after < before)
			after = before;
		if (after - before < least)
			least = after - before;
	}
	ck_assert_uint_lt(least, (size_t)TRIES * SMALLEST);
}
END_TEST

/* It is said once, and not of errors of another kind. */
START_TEST(no_memory_to_lock_is_said_with_the_limit)
{
	static const int errors[] = { EINVAL, ENOMEM, ENOMEM };
	const char *said;
	DAT_RETURN ret;

	for (size_t i = 0; i < COUNT(errors); i++) {
		stub_fail("ibv_reg_mr", 1, errors[i], false);
		said_start();
		ret = create_lmr();
		said = said_stop();
		ck_assert_uint_ne(ret, DAT_SUCCESS);
		if (errors[i] == ENOMEM)
			must_fail(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
		if (i == 1)
			ck_assert_said(said, "memlock");
		else
			ck_assert_str_eq(said, "");
	}
}
END_TEST

START_TEST(a_QP_that_cannot_be_made_fails_the_connect_and_nothing_changes)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);

	(void)psp;
	stub_fail("ibv_create_qp", 1, ENOMEM, false);
	if (try_connect(ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE) != DAT_SUCCESS)
		expect_state(ep, DAT_EP_STATE_UNCONNECTED);
	else
		ck_assert_int_eq(stub_failed("ibv_create_qp"), 0); /* the QP was created before */
}
END_TEST

/* ---- posts ---- */

static const struct {
	const char *verb;
	int error;
	bool negative;
} posts[] = {
	{ "ibv_post_send", ENOMEM, false },
	{ "ibv_post_send", ENOMEM, true },
	{ "ibv_post_recv", ENOMEM, false },
	{ "ibv_post_recv", ENOMEM, true },
};

/* Some drivers return the error number negated. */
START_TEST(a_post_that_is_refused_is_an_error_and_can_be_made_again)
{
	bool send = strcmp(posts[_i].verb, "ibv_post_send") == 0;
	DAT_LMR_TRIPLET iov;
	DAT_RETURN ret;

	stub_config.negative = posts[_i].negative;
	plain_pair();
	iov = segment(&w.b, 0, SLOT_SIZE);
	if (send)
		post_recv(&w.b, w.b.ep, 0);
	stub_fail(posts[_i].verb, 1, posts[_i].error, true);
	ret = send ? try_send(&w.a, w.a.ep, 1, SHORT)
		   : dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG);
	ck_assert_msg(ret & DAT_CLASS_ERROR, "%s", ret_text(ret));
	ck_assert_int_gt(stub_failed(posts[_i].verb), 0);
	stub_fail(posts[_i].verb, 0, 0, false);
	if (!send)
		post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

/*
 * It is accepted and flushed, as on a connection that has ended. The peer's answer to that end
 * looks like an end of its own, so the event may be either.
 */
START_TEST(a_post_that_fails_for_any_other_reason_ends_the_connection)
{
	DAT_EVENT event;
	DAT_COUNT more;

	plain_pair();
	stub_fail(_i ? "ibv_post_recv" : "ibv_post_send", 1, EIO, false);
	if (_i)
		post_recv(&w.a, w.a.ep, 1);
	else
		post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(_i ? w.a.recv : w.a.request, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
	must(dat_evd_wait(w.a.connect, device_patience_us(), 1, &event, &more));
	ck_assert(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		  event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

START_TEST(a_post_to_an_SRQ_that_is_refused_takes_no_place)
{
	srq_pair(4);
	stub_fail("ibv_post_srq_recv", 1, ENOMEM, true);
	ck_assert(try_post_srq(&w.b, 0) & DAT_CLASS_ERROR);
	stub_fail("ibv_post_srq_recv", 0, 0, false);
	srq_counts(w.b.srq, 4, 0, 0);
	post_srqs(&w.b, 0, 4);
	srq_counts(w.b.srq, 4, 4, 4);
}
END_TEST

/* ---- resizing ---- */

/* Z3: a resize gives a larger queue inside, or is refused; the query reports the size in force. */
START_TEST(Z3_an_SRQ_that_the_device_cannot_resize)
{
	DAT_RETURN grown;

	srq_pair(8);
	post_srqs(&w.b, 0, 4);
	stub_fail("ibv_modify_srq max_wr", 1, EOPNOTSUPP, true);
	must(dat_srq_resize(w.b.srq, 4));
	srq_counts(w.b.srq, 4, 4, 4);
	must_fail(try_post_srq(&w.b, 4), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	must(dat_srq_resize(w.b.srq, 8));
	srq_counts(w.b.srq, 8, 4, 4);
	grown = dat_srq_resize(w.b.srq, 4000);
	if (grown != DAT_SUCCESS) {
		ck_assert(is_failure(grown, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE));
		srq_counts(w.b.srq, 8, 4, 4);
	} else {
		srq_counts(w.b.srq, 4000, 4, 4);
	}
	deliver(&w.a, w.a.ep, 4);
	ck_assert_int_eq(drain(w.b.recv), 4);
}
END_TEST

START_TEST(an_EVD_whose_CQ_cannot_be_resized_keeps_its_events)
{
	DAT_RETURN ret;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 4);
	deliver(&w.a, w.a.ep, 4);
	stub_fail("ibv_resize_cq", 1, EOPNOTSUPP, true);
	ret = dat_evd_resize(w.b.recv, 2 * EVD_LENGTH);
	ck_assert_msg(ret == DAT_SUCCESS ||
			      is_failure(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE) ||
			      is_failure(ret, DAT_MODEL_NOT_SUPPORTED, ANY_SUBTYPE),
		      "%s", ret_text(ret));
	ck_assert_int_eq(drain(w.b.recv), 4);
}
END_TEST

/* The first completion that is lost breaks the connections that there are then. */
START_TEST(E9_a_connection_made_after_an_overflow_loses_no_completion_in_silence)
{
	DAT_EVD_FLAGS flags = (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_EP_HANDLE late;
	DAT_COUNT nmore;
	DAT_EVENT event;

	must(dat_evd_create(w.a.ia, 1, NO_HANDLE, flags, &w.a.request));
	post_se(w.a.request, 0);
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 1);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_async(w.a.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.a.request, DAT_EVD_OVERFLOW_ERROR);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	must(dat_evd_wait(w.b.connect, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	late = plain_ep(&w.a);
	must(dat_ep_free(w.b.ep));
	w.b.ep = plain_ep(&w.b);
	post_recvs(&w.b, w.b.ep, 0, 1);
	connect_eps(&w.a, late, &w.b, w.b.ep);
	post_send(&w.a, late, 2, SHORT);
	expect_connection(w.a.connect, late, DAT_CONNECTION_EVENT_BROKEN);
	expect_no_event(w.a.async);
}
END_TEST

/* ---- waiting ---- */

/*
 * A completion between the last poll and the arming of the CQ: the device raises no event for it.
 */
START_TEST(what_completes_before_its_CQ_is_armed_ends_a_wait)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	plain_pair();
	for (int i = 0; i < 3; i++) {
		post_recv(&w.b, w.b.ep, i);
		stub_config.late = true;
		post_send(&w.a, w.a.ep, i, SHORT);
		must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
		must(dat_evd_wait(w.a.request, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
		stub_config.late = false;
	}
}
END_TEST

/* ---- the device is removed ---- */

START_TEST(a_device_that_is_removed_is_a_catastrophe_and_breaks_connections)
{
	DAT_EVENT event;

	plain_pair();
	post_recvs(&w.a, w.a.ep, 0, 3);
	stub_remove_device();
	event = expect_event(w.a.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, w.a.ia);
	(void)expect_event(w.b.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_int_eq(drain(w.a.recv), 3);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* A kernel that has removed the device answers so, whether or not it raised an event of that. */
START_TEST(a_device_without_events_is_a_catastrophe)
{
	plain_pair();
	stub_fail("ibv_get_async_event", 1, EIO, true);
	stub_async(IBV_EVENT_GID_CHANGE, (void *)(uintptr_t)1);
	(void)expect_event(w.a.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	(void)expect_event(w.b.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
}
END_TEST

START_TEST(nothing_of_verbs_is_left_when_an_adapter_is_closed)
{
	int before;

	side_close(&w.a);
	side_close(&w.b);
	before = stub_objects();
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	srq_pair(8);
	post_srqs(&w.b, 0, 4);
	deliver(&w.a, w.a.ep, 2);
	side_close(&w.a);
	side_close(&w.b);
	ck_assert_int_eq(stub_objects(), before);
}
END_TEST

/* The lab runs the same checks as scripts: tests/scripts/fault. */
START_TEST(faults_of_calls_are_added_before_a_device_and_no_other)
{
	DAT_SIM_CALL_FAULT rule = { .call = "dat_ep_post_send",
				    .nth = 2,
				    .verdict = DAT_SIM_CALL_FAIL,
				    .error = DAT_INSUFFICIENT_RESOURCES };
	DAT_SIM_FAULT of_packets = { .verdict = DAT_SIM_DROP };
	DAT_SIM_HANDLE sim = NO_HANDLE;
	DAT_UINT64 count = 0;
	DAT_COUNT id = 0;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
	ck_assert_int_eq(dat_sim_of(w.a.ia, &sim), DAT_SUCCESS);
	ck_assert(is_failure(dat_sim_fault_add(sim, &of_packets, &id), DAT_MODEL_NOT_SUPPORTED,
			     ANY_SUBTYPE));
	ck_assert(is_failure(dat_sim_now(sim, &count), DAT_MODEL_NOT_SUPPORTED, ANY_SUBTYPE));
	ck_assert(is_failure(dat_sim_destroy(sim), DAT_MODEL_NOT_SUPPORTED, ANY_SUBTYPE));
	ck_assert_int_eq(dat_sim_call_fault_add(sim, &rule, &id), DAT_SUCCESS);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must_fail(try_send(&w.a, w.a.ep, 1, SHORT), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	post_send(&w.a, w.a.ep, 2, SHORT);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	ck_assert_int_eq(dat_sim_fault_fired(sim, id, &count), DAT_SUCCESS);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(dat_sim_fault_clear(sim), DAT_SUCCESS);
	side_close(&w.a);
	side_close(&w.b);
	ck_assert(is_failure(dat_sim_fault_clear(sim), DAT_INVALID_HANDLE, ANY_SUBTYPE));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, a_post_that_fails_for_any_other_reason_ends_the_connection, 2);
	unit_test_loop(suite, G2_what_cannot_be_made_is_an_error_and_leaves_nothing,
		       COUNT(made_of));
	unit_test_loop(suite, G2_what_cannot_be_made_leaves_no_memory, COUNT(made_of));
	unit_test(suite, no_memory_to_lock_is_said_with_the_limit);
	unit_test(suite, a_QP_that_cannot_be_made_fails_the_connect_and_nothing_changes);
	unit_test_loop(suite, a_post_that_is_refused_is_an_error_and_can_be_made_again,
		       COUNT(posts));
	unit_test(suite, a_post_to_an_SRQ_that_is_refused_takes_no_place);
	unit_test(suite, Z3_an_SRQ_that_the_device_cannot_resize);
	unit_test(suite, an_EVD_whose_CQ_cannot_be_resized_keeps_its_events);
	unit_test(suite, E9_a_connection_made_after_an_overflow_loses_no_completion_in_silence);
	unit_test(suite, what_completes_before_its_CQ_is_armed_ends_a_wait);
	unit_test(suite, a_device_that_is_removed_is_a_catastrophe_and_breaks_connections);
	unit_test(suite, a_device_without_events_is_a_catastrophe);
	unit_test(suite, faults_of_calls_are_added_before_a_device_and_no_other);
	unit_test(suite, nothing_of_verbs_is_left_when_an_adapter_is_closed);
}

int main(void)
{
	return unit_run_on_stub("refusals", fill);
}
