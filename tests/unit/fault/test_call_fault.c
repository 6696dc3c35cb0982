/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of calls, completions, events and adapters by <dat/sim.h>; their effects in DAT. */
#include "tests/support/support.h"

static DAT_COUNT spoil(DAT_SIM_CALL_FAULT rule)
{
	DAT_COUNT id = 0;

	must(dat_sim_call_fault_add(w.sim, &rule, &id));
	ck_assert_int_gt(id, 1000);
	return id;
}

#define FAILS(name, ...)                                                  \
	{                                                                 \
		.verdict = DAT_SIM_CALL_FAIL, .call = (name), __VA_ARGS__ \
	}

static int sends_refused(int posts)
{
	int refused = 0;

	for (int i = 0; i < posts; i++)
		refused += try_send(&w.a, w.a.ep, i, SHORT) != DAT_SUCCESS;
	return refused;
}

START_TEST(fault_each_match_of_a_call)
{
	static const struct {
		DAT_SIM_CALL_FAULT rule;
		int refused; /* out of ten */
	} cases[] = {
		{ FAILS("dat_ep_post_send", .nth = 3), 1 },
		{ FAILS("dat_ep_post_send", .after = 3), 7 },
		{ FAILS("dat_ep_post_send", .every = 3), 3 },
		{ FAILS("dat_ep_post_send", .after = 1, .every = 3), 3 },
		{ FAILS("dat_ep_post_send", .times = 4), 4 },
		{ FAILS("dat_ep_post_send", .adapter = "emu0"), 10 },
		{ FAILS("dat_ep_post_send", .adapter = "emu1"), 0 },
		{ FAILS("dat_ep_post_send", .until_ns = 1), 0 },
		{ FAILS("dat_ep_post_send", .since_ns = UINT64_C(1) << 40), 0 },
		{ FAILS("dat_ep_post_send", .probability = 1000000), 10 },
		{ FAILS("post", .nth = 2), 1 },
		{ FAILS("dat_ep_post_recv"), 0 },
		{ FAILS("alloc"), 0 }, /* a post allocates no memory */
	};
	DAT_COUNT id;

	plain_pair();
	id = spoil(cases[_i].rule);
	ck_assert_int_eq(sends_refused(10), cases[_i].refused);
	ck_assert_uint_eq(fired(id), (DAT_UINT64)cases[_i].refused);
	must(dat_sim_fault_clear(w.sim));
	ck_assert_int_eq(sends_refused(1), 0);
	disconnect_pair();
}
END_TEST

START_TEST(fault_by_the_Endpoint_that_posts)
{
	DAT_SIM_CALL_FAULT rule = FAILS("dat_ep_post_recv");
	DAT_EP_HANDLE other;

	plain_pair();
	other = plain_ep(&w.b);
	rule.ep = w.b.ep;
	spoil(rule);
	post_recv(&w.b, other, 1);
	must_fail(dat_ep_post_recv(w.b.ep, 0, NULL, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(dat_ep_free(other));
	disconnect_pair();
}
END_TEST

static DAT_RETURN post_kind(int kind, DAT_RMR_HANDLE rmr)
{
	DAT_RMR_CONTEXT context;

	switch (kind) {
	case 0:
		return try_send(&w.a, w.a.ep, 0, SHORT);
	case 1:
		return try_write(&w.a, w.a.ep, 1, remote(&w.b, 1, SHORT),
				 DAT_COMPLETION_DEFAULT_FLAG);
	case 2:
		return try_read(&w.a, w.a.ep, 2, remote(&w.b, 2, SHORT),
				DAT_COMPLETION_DEFAULT_FLAG);
	default:
		return try_bind(rmr, &w.a, w.a.ep, 3, SHORT, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				&context);
	}
}

static const char *const requests[] = { "dat_ep_post_send", "dat_ep_post_rdma_write",
					"dat_ep_post_rdma_read", "dat_rmr_bind" };

START_TEST(fault_a_request_by_its_kind_and_no_other)
{
	DAT_RMR_HANDLE rmr;

	rdma_pair(2, 2);
	rmr = make_rmr(&w.a);
	post_recv(&w.b, w.b.ep, 0);
	spoil((DAT_SIM_CALL_FAULT)FAILS(requests[_i]));
	for (int kind = 0; kind < (int)COUNT(requests); kind++)
		if (kind == _i)
			must_fail(post_kind(kind, rmr), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
		else
			must(post_kind(kind, rmr));
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), (int)COUNT(requests) - 1);
	must(dat_rmr_free(rmr));
}
END_TEST

/* A rule has its own random generator: the fabric's random sequence does not change. */
START_TEST(fault_some_of_many_by_chance_and_the_same_each_time)
{
	DAT_SIM_CALL_FAULT rule = FAILS("dat_pz_create", .probability = 250000);
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_UINT64 times[2];
	DAT_PZ_HANDLE pz;

	for (int run = 0; run < 2; run++) {
		DAT_COUNT id;

		must(dat_sim_destroy(w.sim));
		fabric_create(&config);
		side_open(&w.a, "emu0");
		id = spoil(rule);
		for (int i = 0; i < 400; i++)
			if (dat_pz_create(w.a.ia, &pz) == DAT_SUCCESS)
				must(dat_pz_free(pz));
		times[run] = fired(id);
		side_close(&w.a);
	}
	ck_assert_uint_ge(times[0], 60);
	ck_assert_uint_le(times[0], 140);
	ck_assert_uint_eq(times[0], times[1]);
}
END_TEST

START_TEST(fault_the_first_rule_that_does_something_wins)
{
	DAT_COUNT counts, first, second;
	DAT_PZ_HANDLE pz;

	counts = spoil(
		(DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_PASS, .call = "dat_pz_create" });
	first = spoil((DAT_SIM_CALL_FAULT)FAILS("dat_pz_create", .times = 1,
						.error = DAT_INTERNAL_ERROR));
	second = spoil((DAT_SIM_CALL_FAULT)FAILS("dat_pz_create", .times = 1));
	must_fail(dat_pz_create(w.a.ia, &pz), DAT_INTERNAL_ERROR, ANY_SUBTYPE);
	must_fail(dat_pz_create(w.a.ia, &pz), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(dat_pz_create(w.a.ia, &pz));
	must(dat_pz_free(pz));
	ck_assert_uint_eq(fired(counts), 3);
	ck_assert_uint_eq(fired(first), 1);
	ck_assert_uint_eq(fired(second), 1);
}
END_TEST

START_TEST(fault_memory_fails_and_nothing_is_left)
{
	DAT_COUNT before = objects(DAT_SIM_ALL_HANDLE_TYPES);
	DAT_EP_HANDLE ep = NO_HANDLE;
	int tries = 0;
	DAT_RETURN ret;

	do {
		must(dat_sim_fault_clear(w.sim));
		spoil((DAT_SIM_CALL_FAULT)FAILS("alloc", .nth = (DAT_UINT64)++tries));
		ret = dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, NULL, &ep);
		if (ret != DAT_SUCCESS) {
			ck_assert(is_failure(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE));
			ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), before);
		}
	} while (ret != DAT_SUCCESS && tries < 20);
	ck_assert_int_eq(tries, 4); /* the EP, its handle, its QP */
	must(dat_ep_free(ep));
}
END_TEST

/* A request comes with an EP, and some of the memory fails: it is turned away, EP and all. */
START_TEST(fault_memory_fails_for_a_request_and_nothing_is_left)
{
	DAT_PSP_HANDLE psp = listen_for_eps(&w.b, QUAL);
	DAT_COUNT before;
	int tries = 0;

	w.a.ep = plain_ep(&w.a);
	before = objects(DAT_SIM_ALL_HANDLE_TYPES);
	do {
		must(dat_sim_fault_clear(w.sim));
		must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
		spoil((DAT_SIM_CALL_FAULT)FAILS("alloc", .adapter = "emu1",
						.nth = (DAT_UINT64)++tries));
		run_quiet();
		if (objects(DAT_SIM_ALL_HANDLE_TYPES) > before)
			break;
		expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		must(dat_ep_reset(w.a.ep));
	} while (tries < 20);
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), before + 2); /* the CR, its EP */
	must(dat_cr_reject(expect_request(w.b.cr, psp)));
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), before);
	ck_assert_int_eq(tries, 7); /* the CR, the address, the EP, its handle, its QP, a handle */
}
END_TEST

/* What a failed creation took from the adapter would be missing at its limit. */
START_TEST(fault_memory_fails_as_often_as_there_are_SRQs)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1, .max_recv_iov = 1 };
	DAT_COUNT most = ia_attr(&w.a).max_srqs;
	DAT_SRQ_HANDLE srq;

	spoil((DAT_SIM_CALL_FAULT)FAILS("alloc", .every = 2));
	for (DAT_COUNT i = 0; i <= most; i++)
		must_fail(dat_srq_create(w.a.ia, w.a.pz, &attr, &srq), DAT_INSUFFICIENT_RESOURCES,
			  ANY_SUBTYPE);
	must(dat_sim_fault_clear(w.sim));
	must(dat_srq_create(w.a.ia, w.a.pz, &attr, &srq));
	must(dat_srq_free(srq));
}
END_TEST

/* Every error status of a DTO, on either side: the completion has it, and both sides break. */
START_TEST(fault_a_completion_with_any_status_breaks_the_connection)
{
	DAT_DTO_COMPLETION_STATUS status = (DAT_DTO_COMPLETION_STATUS)(1 + _i / 2);
	bool receive = _i % 2;

	plain_pair();
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_COMPLETE_AS,
				    .completions = receive ? DAT_SIM_COMPLETION_RECV
							   : DAT_SIM_COMPLETION_SEND,
				    .status = status,
				    .times = 1 });
	post_recvs(&w.b, w.b.ep, 20, 2);
	post_recvs(&w.a, w.a.ep, 30, 1);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, receive ? DAT_DTO_SUCCESS : status);
	expect_dto(w.b.recv, w.b.ep, 20, receive ? status : DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 21, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.recv, w.a.ep, 30, DAT_DTO_ERR_FLUSHED);
	expect_pair_broken();
}
END_TEST

/* The window may be bound although the bind completed with an error; its free unbinds it. */
START_TEST(fault_a_bind_that_fails_breaks_the_connection)
{
	DAT_RMR_HANDLE rmr;

	rdma_pair(2, 2);
	rmr = make_rmr(&w.b);
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_COMPLETE_AS,
				    .completions = DAT_SIM_COMPLETION_BIND,
				    .status =
					    (DAT_DTO_COMPLETION_STATUS)DAT_RMR_OPERATION_FAILED });
	post_bind(rmr, &w.b, w.b.ep, 3, SHORT, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	run_quiet();
	expect_bind(w.b.request, rmr, 3, (DAT_DTO_COMPLETION_STATUS)DAT_RMR_OPERATION_FAILED);
	expect_pair_broken();
	must(dat_rmr_free(rmr));
}
END_TEST

/* With other event streams on the same EVD, the order is kept, and ruling E9 holds as usual. */
START_TEST(E9_an_overflow_that_is_asked_for)
{
	srq_pair(8);
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_OVERFLOW,
				    .completions = DAT_SIM_COMPLETION_RECV,
				    .ep = w.b.ep,
				    .nth = 2 });
	post_srqs(&w.b, 20, 4);
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv, DAT_EVD_OVERFLOW_ERROR);
	expect_pair_broken();
	srq_counts(w.b.srq, 8, 2, 2);
	drain(w.a.request);
}
END_TEST

START_TEST(fault_an_adapter_that_fails_gives_nothing_new_and_is_closed)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia = NO_HANDLE;
	DAT_PZ_HANDLE pz;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 1);
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_ADAPTER_FATAL,
				    .adapter = "emu1",
				    .since_ns = now_ns() + 5000 });
	advance_us(4);
	expect_no_event(w.b.async);
	advance_us(1);
	expect_async(w.b.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, w.b.ia, DAT_IA_CATASTROPHIC_ERROR);
	run_quiet();
	expect_pair_broken();
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_ERR_FLUSHED);
	must_fail(dat_pz_create(w.b.ia, &pz), DAT_INTERNAL_ERROR, ANY_SUBTYPE);
	/* Opened again, it is a new adapter. */
	side_close(&w.b);
	{
		char name[] = "emu1";

		must(dat_ia_open(name, 2, &async, &ia));
	}
	must(dat_pz_create(ia, &pz));
	must(dat_pz_free(pz));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	side_open(&w.b, "emu1");
}
END_TEST

START_TEST(fault_an_adapter_does_not_fail_when_its_rule_is_gone)
{
	DAT_SIM_CALL_FAULT fatal = { .verdict = DAT_SIM_ADAPTER_FATAL, .adapter = "emu1" };

	plain_pair();
	fatal.since_ns = now_ns() + 5000;
	spoil(fatal);
	must(dat_sim_fault_clear(w.sim));
	advance_us(10);
	run_quiet();
	expect_no_event(w.b.async);
	post_recv(&w.b, w.b.ep, 20);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
}
END_TEST

static const DAT_SIM_CALL_FAULT bad[] = {
	{ .verdict = (DAT_SIM_CALL_VERDICT)7 },
	{ .verdict = (DAT_SIM_CALL_VERDICT)-1 },
	{ .verdict = DAT_SIM_CALL_FAIL },
	FAILS("dat_ep_query"),
	FAILS("dat_ep_post_sendx"),
	FAILS(""),
	FAILS("dat_pz_create", .error = DAT_INVALID_STATE),
	FAILS("dat_pz_create", .error = DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_TEP),
	FAILS("alloc", .error = DAT_INTERNAL_ERROR),
	FAILS("dat_pz_create", .completions = DAT_SIM_COMPLETION_RECV),
	FAILS("dat_pz_create", .event = DAT_CONNECTION_REQUEST_EVENT),
	FAILS("dat_pz_create", .adapter = "a name that is longer than an adapter's can be"),
	FAILS("dat_pz_create", .probability = 1000001),
	{ .verdict = DAT_SIM_COMPLETE_AS },
	{ .verdict = DAT_SIM_COMPLETE_AS, .status = (DAT_DTO_COMPLETION_STATUS)99 },
	{ .verdict = DAT_SIM_COMPLETE_AS,
	  .status = (DAT_DTO_COMPLETION_STATUS)11, /* one more than the last */
	  .completions = DAT_SIM_COMPLETION_RECV },
	{ .verdict = DAT_SIM_COMPLETE_AS, .status = DAT_DTO_ERR_TRANSPORT, .completions = 0x20 },
	{ .verdict = DAT_SIM_COMPLETE_AS,
	  .status = DAT_DTO_ERR_TRANSPORT,
	  .completions = DAT_SIM_COMPLETION_BIND },
	{ .verdict = DAT_SIM_COMPLETE_AS, .status = DAT_DTO_ERR_TRANSPORT, .call = "alloc" },
	{ .verdict = DAT_SIM_OVERFLOW, .event = DAT_CONNECTION_REQUEST_EVENT },
	{ .verdict = DAT_SIM_EVENT_LOSE, .completions = DAT_SIM_COMPLETION_RECV },
	{ .verdict = DAT_SIM_EVENT_LOSE, .event = DAT_DTO_COMPLETION_EVENT },
	{ .verdict = DAT_SIM_EVENT_LOSE, .event = (DAT_EVENT_NUMBER)0x7777 },
	{ .verdict = DAT_SIM_EVENT_DELAY, .delay_ns = UINT64_C(1) << 60 },
	{ .verdict = DAT_SIM_ADAPTER_FATAL },
	{ .verdict = DAT_SIM_ADAPTER_FATAL, .adapter = "emu0", .since_ns = UINT64_C(1) << 60 },
	{ .verdict = DAT_SIM_ADAPTER_FATAL, .adapter = "emu0", .error = DAT_INTERNAL_ERROR },
	{ .verdict = DAT_SIM_ADAPTER_FATAL, .adapter = "emu0", .status = DAT_DTO_ERR_TRANSPORT },
	{ .verdict = DAT_SIM_ADAPTER_REMOVE },
	{ .verdict = DAT_SIM_ADAPTER_REMOVE, .adapter = "emu0", .call = "alloc" },
	{ .verdict = DAT_SIM_PORT_DOWN },
	{ .verdict = DAT_SIM_PORT_DOWN, .adapter = "emu0", .since_ns = 5, .until_ns = 5 },
	{ .verdict = DAT_SIM_PORT_DOWN, .adapter = "emu0", .until_ns = UINT64_C(1) << 60 },
	{ .verdict = DAT_SIM_PROCESS_KILL },
	{ .verdict = DAT_SIM_PROCESS_KILL, .adapter = "emu0", .call = "alloc" },
	{ .verdict = DAT_SIM_PROCESS_KILL, .adapter = "emu0", .since_ns = UINT64_C(1) << 60 },
	{ .verdict = (DAT_SIM_CALL_VERDICT)10, .adapter = "emu0" },
};

START_TEST(fault_a_rule_that_makes_no_sense_is_an_invalid_parameter)
{
	DAT_COUNT id = -1;
	DAT_UINT64 times;

	must_fail(dat_sim_call_fault_add(w.sim, &bad[_i], &id), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	ck_assert_int_eq(id, -1);
	must_fail(dat_sim_fault_fired(w.sim, 1001, &times), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
}
END_TEST

START_TEST(fault_bad_handles_and_outputs)
{
	DAT_SIM_CALL_FAULT rule = FAILS("dat_pz_create");
	DAT_COUNT id = -1;

	must_fail(dat_sim_call_fault_add(w.a.ia, &rule, &id), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	must_fail(dat_sim_call_fault_add(NO_HANDLE, &rule, &id), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	must_fail(dat_sim_call_fault_add(w.sim, NULL, &id), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_sim_call_fault_add(w.sim, &rule, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	rule.ep = w.a.pz;
	must_fail(dat_sim_call_fault_add(w.sim, &rule, &id), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	rule.ep = NO_HANDLE;
	for (int i = 0; i < 256; i++)
		must(dat_sim_call_fault_add(w.sim, &rule, &id));
	must_fail(dat_sim_call_fault_add(w.sim, &rule, &id), DAT_INSUFFICIENT_RESOURCES,
		  ANY_SUBTYPE);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

/* The decorator is installed while messages are in flight and completions are queued. */
START_TEST(fault_a_rule_comes_with_messages_under_way)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 4);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	post_send(&w.a, w.a.ep, 1, LONG);
	spoil((DAT_SIM_CALL_FAULT)FAILS("dat_pz_create", .nth = 7));
	post_send(&w.a, w.a.ep, 2, SHORT);
	run_quiet();
	must(dat_sim_fault_clear(w.sim));
	post_send(&w.a, w.a.ep, 3, SHORT);
	run_quiet();
	for (int i = 0; i < 4; i++) {
		expect_dto(w.b.recv, w.b.ep, 20 + i, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
	}
	disconnect_pair();
}
END_TEST

/* After a completion with an error, later ones are flushed: until the Endpoint is reset. */
START_TEST(fault_a_status_ends_with_the_reset_of_its_Endpoint)
{
	plain_pair();
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_COMPLETE_AS,
				    .completions = _i ? DAT_SIM_COMPLETION_RECV
						      : DAT_SIM_COMPLETION_SEND,
				    .status = DAT_DTO_ERR_TRANSPORT,
				    .times = 1 });
	post_recvs(&w.b, w.b.ep, 20, 1);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	ck_assert_int_eq(drain(w.a.request) + drain(w.b.recv), 2);
	expect_pair_broken();
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recvs(&w.b, w.b.ep, 30, 1);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 30, DAT_DTO_SUCCESS);
	disconnect_pair();
}
END_TEST

START_TEST(fault_a_rule_for_an_Endpoint_leaves_events_of_other_objects_alone)
{
	srq_pair(8);
	post_srqs(&w.b, 20, 4);
	must(dat_srq_set_lw(w.b.srq, 4));
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_EVENT_LOSE,
				    .event = DAT_SIM_ANY_EVENT,
				    .ep = w.b.ep });
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_low_watermark(w.b.async, w.b.srq);
	must(dat_sim_fault_clear(w.sim));
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	disconnect_pair();
}
END_TEST

START_TEST(fault_events_delayed_to_one_instant_keep_their_order)
{
	DAT_EP_HANDLE ep[3];
	DAT_PSP_HANDLE psp[3];
	DAT_CR_HANDLE cr[3];

	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_EVENT_DELAY,
				    .event = DAT_CONNECTION_REQUEST_EVENT,
				    .delay_ns = 5000 });
	for (int i = 0; i < 3; i++) {
		psp[i] = listen_at(&w.b, QUAL + (DAT_CONN_QUAL)i);
		ep[i] = plain_ep(&w.a);
	}
	for (int i = 0; i < 3; i++)
		must(try_connect(ep[i], &w.b, QUAL + (DAT_CONN_QUAL)i, DAT_TIMEOUT_INFINITE));
	run_quiet();
	for (int i = 0; i < 3; i++)
		cr[i] = expect_request(w.b.cr, psp[i]);
	for (int i = 0; i < 3; i++) {
		must(dat_cr_reject(cr[i]));
		must(dat_psp_free(psp[i]));
	}
	run_quiet();
	for (int i = 0; i < 3; i++) {
		expect_connection(w.a.connect, ep[i], DAT_CONNECTION_EVENT_PEER_REJECTED);
		must(dat_ep_free(ep[i]));
	}
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, fault_each_match_of_a_call, 13);
	unit_test(suite, fault_by_the_Endpoint_that_posts);
	unit_test_loop(suite, fault_a_request_by_its_kind_and_no_other, COUNT(requests));
	unit_test_bare(suite, fault_some_of_many_by_chance_and_the_same_each_time);
	unit_test(suite, fault_the_first_rule_that_does_something_wins);
	unit_test_all(suite, fault_memory_fails_and_nothing_is_left);
	unit_test_all(suite, fault_memory_fails_for_a_request_and_nothing_is_left);
	unit_test(suite, fault_memory_fails_as_often_as_there_are_SRQs);
	unit_add(suite, fault_a_completion_with_any_status_breaks_the_connection, 20, setup_sides);
	unit_add(suite, fault_a_completion_with_any_status_breaks_the_connection, 20,
		 setup_sides_iwarp);
	unit_test(suite, fault_a_bind_that_fails_breaks_the_connection);
	unit_test_all(suite, E9_an_overflow_that_is_asked_for);
	unit_test_all(suite, fault_an_adapter_that_fails_gives_nothing_new_and_is_closed);
	unit_test(suite, fault_an_adapter_does_not_fail_when_its_rule_is_gone);
	unit_test_loop(suite, fault_a_rule_that_makes_no_sense_is_an_invalid_parameter, COUNT(bad));
	unit_test(suite, fault_bad_handles_and_outputs);
	unit_test_all(suite, fault_a_rule_comes_with_messages_under_way);
	unit_test_loop(suite, fault_a_status_ends_with_the_reset_of_its_Endpoint, 2);
	unit_test(suite, fault_a_rule_for_an_Endpoint_leaves_events_of_other_objects_alone);
	unit_test(suite, fault_events_delayed_to_one_instant_keep_their_order);
}

UNIT_SUITE("call_fault")
