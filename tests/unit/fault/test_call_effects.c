/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fault of a completion or an adapter does beside the fault itself. */
#include "tests/support/support.h"

static DAT_COUNT spoil(DAT_SIM_CALL_FAULT rule)
{
	DAT_COUNT id = 0;

	must(dat_sim_call_fault_add(w.sim, &rule, &id));
	return id;
}

static const DAT_COUNT queues[] = { DAT_SIM_COMPLETION_SEND, DAT_SIM_COMPLETION_RECV };

static DAT_UINT64 length_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.transfered_length;
}

/* Though the second message has arrived as well as the first one. */
START_TEST(fault_what_completes_behind_an_error_is_flushed)
{
	bool receive = queues[_i] == DAT_SIM_COMPLETION_RECV;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	plain_pair();
	ep = receive ? w.b.ep : w.a.ep;
	evd = receive ? w.b.recv : w.a.request;
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_COMPLETE_AS,
				    .completions = queues[_i],
				    .status = DAT_DTO_ERR_LOCAL_PROTECTION,
				    .nth = 2 });
	post_recvs(&w.b, w.b.ep, 0, 3);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	run_quiet();
	event = expect_dto(evd, ep, 0, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(length_of(&event), SHORT);
	event = expect_dto(evd, ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert_uint_eq(length_of(&event), 0);
	event = expect_dto(evd, ep, 2, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(length_of(&event), 0);
	expect_pair_broken();
}
END_TEST

/* The EVD has overflowed already; its event is still unread. */
START_TEST(E9_each_completion_that_finds_no_room_breaks_its_connection)
{
	plain_pair();
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_OVERFLOW,
				    .completions = DAT_SIM_COMPLETION_RECV });
	for (int n = 0; n < 2; n++) {
		if (n > 0) {
			w.a.ep = plain_ep(&w.a);
			w.b.ep = plain_ep(&w.b);
			connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
		}
		post_recvs(&w.b, w.b.ep, n, 1);
		post_send(&w.a, w.a.ep, n, SHORT);
		run_quiet();
		expect_pair_broken();
	}
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv, DAT_EVD_OVERFLOW_ERROR);
	expect_no_event(w.b.async);
}
END_TEST

START_TEST(fault_a_delayed_completion_is_told_though_another_EVD_is_freed)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE other, evd;

	plain_pair();
	cno = quiet_cno(&w.b);
	other = make_evd(&w.b, 8, DAT_EVD_DTO_FLAG);
	must(dat_evd_modify_cno(w.b.recv, cno));
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_EVENT_DELAY,
				    .completions = DAT_SIM_COMPLETION_RECV,
				    .delay_ns = 1000000 });
	post_recv(&w.b, w.b.ep, 20);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(500);
	(void)dat_cno_wait(cno, 0, &evd); /* the NIC may have told of it when it was there */
	expect_no_event(w.b.recv);
	expect_silence(cno);
	must(dat_evd_free(other));
	run_quiet();
	expect_notified(cno, w.b.recv);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	must(dat_evd_modify_cno(w.b.recv, NO_HANDLE));
	must(dat_cno_free(cno));
}
END_TEST

/* Of two that wait in one EVD, only the one of the Endpoint that is reset or freed goes. */
START_TEST(Q4_a_delayed_completion_goes_with_its_Endpoint)
{
	DAT_EP_HANDLE to[2], from[2];
	bool freed = _i & 1, second = _i & 2;
	DAT_COUNT left = second ? 0 : 1;

	w.b.srq = make_srq(&w.b, 8, DAT_SRQ_LW_DEFAULT);
	for (int n = 0; n < 2; n++) {
		from[n] = plain_ep(&w.a);
		to[n] = srq_ep(&w.b, w.b.srq);
		connect_eps(&w.a, from[n], &w.b, to[n]);
	}
	post_srqs(&w.b, 20, 3);
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_EVENT_DELAY,
				    .completions = DAT_SIM_COMPLETION_RECV,
				    .adapter = "emu1",
				    .delay_ns = 1000000 });
	for (int n = 0; n < 2; n++) {
		post_send(&w.a, from[n], n, SHORT);
		advance_us(10);
	}
	srq_counts(w.b.srq, 8, 1, 3);
	must(dat_ep_disconnect(to[second], DAT_CLOSE_ABRUPT_FLAG));
	must(freed ? dat_ep_free(to[second]) : dat_ep_reset(to[second]));
	srq_counts(w.b.srq, 8, 1, 2);
	expect_no_event(w.b.recv);
	run_quiet();
	expect_dto(w.b.recv, to[left], 20 + left, DAT_DTO_SUCCESS);
	expect_no_event(w.b.recv);
	srq_counts(w.b.srq, 8, 1, 1);
	/* Nothing is left of the delay. */
	must(dat_sim_fault_clear(w.sim));
	post_send(&w.a, from[left], 2, SHORT);
	advance_us(10);
	expect_dto(w.b.recv, to[left], 22, DAT_DTO_SUCCESS);
}
END_TEST

static const DAT_UINT32 kinds[] = { DAT_SIM_COMPLETION_SEND, DAT_SIM_COMPLETION_WRITE,
				    DAT_SIM_COMPLETION_READ, DAT_SIM_COMPLETION_BIND,
				    DAT_SIM_COMPLETION_RECV };

/* A pair of which both sides read from each other */
static void read_pair(void)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_rdma_read_out = attr.max_rdma_read_in = 2;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

/* One request of each kind that w.b makes */
static void one_of_each(DAT_RMR_HANDLE rmr)
{
	post_recv(&w.b, w.b.ep, 0);
	post_recv(&w.a, w.a.ep, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	post_send(&w.b, w.b.ep, 1, SHORT);
	post_write(&w.b, w.b.ep, 2, remote(&w.a, 2, SHORT));
	post_read(&w.b, w.b.ep, 3, remote(&w.a, 3, SHORT));
	post_bind(rmr, &w.b, w.b.ep, 4, SHORT, DAT_MEM_PRIV_REMOTE_READ_FLAG);
}

START_TEST(fault_the_trace_names_the_kind_of_a_completion)
{
	static const char *const words[] = { "wc_send", "wc_write", "wc_read", "wc_bind",
					     "wc_recv" };
	char line[80];
	const char *text;
	size_t length;
	DAT_RMR_HANDLE rmr;
	DAT_COUNT id;

	must(dat_sim_trace(w.sim, DAT_TRUE));
	read_pair();
	rmr = make_rmr(&w.b);
	id = spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_PASS,
					 .adapter = "emu1",
					 .completions = (DAT_SIM_COMPLETION)kinds[_i] });
	one_of_each(rmr);
	run_quiet();
	ck_assert_uint_eq(fired(id), 1);
	must(dat_sim_trace_read(w.sim, &text, &length));
	snprintf(line, sizeof(line), " fault rule=%d does=pass at=%s\n", id, words[_i]);
	ck_assert_ptr_nonnull(strstr(text, line));
	must(dat_rmr_free(rmr));
}
END_TEST

/* The window that a flushed bind names is the one that was to be bound. */
START_TEST(fault_a_bind_behind_an_error_is_flushed)
{
	DAT_RMR_HANDLE rmr;

	rdma_pair(2, 2);
	rmr = make_rmr(&w.a);
	post_recvs(&w.b, w.b.ep, 0, 1);
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_COMPLETE_AS,
				    .completions = DAT_SIM_COMPLETION_SEND,
				    .status = DAT_DTO_ERR_LOCAL_PROTECTION });
	post_send(&w.a, w.a.ep, 1, SHORT);
	post_bind(rmr, &w.a, w.a.ep, 4, SHORT, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	expect_bind(w.a.request, rmr, 4, DAT_DTO_ERR_FLUSHED);
	expect_pair_broken();
	must(dat_rmr_free(rmr));
}
END_TEST

/* A bind completes as it is posted, and a rule sees it then. */
START_TEST(fault_a_rule_acts_before_the_post_returns)
{
	DAT_RMR_HANDLE rmr;
	DAT_COUNT id;

	rdma_pair(2, 2);
	rmr = make_rmr(&w.a);
	id = spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_PASS,
					 .completions = DAT_SIM_COMPLETION_BIND });
	post_bind(rmr, &w.a, w.a.ep, 4, SHORT, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	ck_assert_uint_eq(fired(id), 1);
	expect_bind(w.a.request, rmr, 4, DAT_DTO_SUCCESS);
	must(dat_rmr_free(rmr));
}
END_TEST

/* Completions wait in the fault layer, and those count; half of them are read, and as many come. */
START_TEST(E9_an_EVD_has_the_room_that_it_has_without_rules)
{
	enum {
		ROOM = 20, /* more than the layer has at first */
	};
	int sent = 0;

	w.b.recv = make_evd(&w.b, ROOM, DAT_EVD_DTO_FLAG);
	plain_pair();
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_PASS,
				    .completions = DAT_SIM_COMPLETION_RECV });
	for (; sent < ROOM; sent++) {
		post_recv(&w.b, w.b.ep, sent);
		deliver(&w.a, w.a.ep, 1);
	}
	for (int i = 0; i < ROOM / 2; i++, sent++) {
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
		post_recv(&w.b, w.b.ep, sent);
		deliver(&w.a, w.a.ep, 1);
	}
	expect_no_event(w.b.async);
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, w.b.recv, DAT_EVD_OVERFLOW_ERROR);
	expect_pair_broken();
	for (int i = ROOM / 2; i < sent; i++)
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
}
END_TEST

/* Completions that wait in the fault layer are events of the EVD. */
START_TEST(page_resize_below_what_a_rule_has_seen_is_refused)
{
	w.b.recv = make_evd(&w.b, 8, DAT_EVD_DTO_FLAG);
	plain_pair();
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_PASS,
				    .completions = DAT_SIM_COMPLETION_RECV });
	post_recvs(&w.b, w.b.ep, 0, 3);
	deliver(&w.a, w.a.ep, 3);
	must_fail(dat_evd_resize(w.b.recv, 2), DAT_INVALID_STATE, ANY_SUBTYPE);
	must(dat_evd_resize(w.b.recv, 3));
	ck_assert_int_eq(drain(w.b.recv), 3);
}
END_TEST

/* Objects go back to the adapter under a rule as without one: each of these exceeds its limit. */
START_TEST(fault_objects_that_are_freed_under_a_rule_are_gone)
{
	DAT_IA_ATTR limits = ia_attr(&w.a);
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_PASS, .call = "dat_pz_create" });
	for (DAT_COUNT n = 0; n <= limits.max_eps; n++) {
		ep = plain_ep(&w.a);
		must(dat_ep_free(ep));
	}
	for (DAT_COUNT n = 0; n <= limits.max_srqs; n++) {
		srq = make_srq(&w.a, 1, DAT_SRQ_LW_DEFAULT);
		must(dat_srq_free(srq));
	}
	for (DAT_COUNT n = 0; n <= limits.max_evds; n++)
		must(dat_evd_free(make_evd(&w.a, 1, DAT_EVD_DTO_FLAG)));
	for (DAT_COUNT n = 0; n < 5000; n++)
		must(dat_psp_free(listen_at(&w.a, QUAL)));
}
END_TEST

START_TEST(fault_the_trace_has_the_number_of_the_rule_that_failed_an_adapter)
{
	char line[80];
	const char *text;
	size_t length;
	DAT_COUNT id;

	must(dat_sim_trace(w.sim, DAT_TRUE));
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_FAIL,
				    .call = "dat_pz_create",
				    .times = 1 });
	id = spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_ADAPTER_FATAL,
					 .adapter = "emu1",
					 .since_ns = now_ns() + 1000 });
	run_quiet();
	expect_async(w.b.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, w.b.ia, DAT_IA_CATASTROPHIC_ERROR);
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_uint_eq(fired(id), 1);
	snprintf(line, sizeof(line), " emu1 fault rule=%d does=fatal at=adapter\n", id);
	ck_assert_ptr_nonnull(strstr(text, line));
}
END_TEST

/* The decorator of faults passes notifications on: the waiter leaves with the message. */
START_TEST(fault_a_rule_about_other_things_delays_no_wait)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.b);
	DAT_EVENT event;
	DAT_UINT64 start;
	DAT_COUNT nmore;

	plain_pair();
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_FAIL, .call = "dat_rmr_create" });
	post_recvs(&w.b, w.b.ep, 20, 2);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_evd_wait(w.b.recv, 1000000, 1, &event, &nmore));
	ck_assert_uint_eq(now_ns() - start, LATENCY_NS);
	must(dat_evd_modify_cno(w.b.recv, cno));
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_notified(cno, w.b.recv);
	must(dat_evd_modify_cno(w.b.recv, NO_HANDLE));
}
END_TEST

/* The program learns why before it learns what has ended. */
START_TEST(fault_a_failed_adapter_is_told_before_its_connections_break)
{
	DAT_CNO_HANDLE cno = quiet_cno(&w.b);

	plain_pair();
	must(dat_evd_modify_cno(w.b.async, cno));
	must(dat_evd_modify_cno(w.b.connect, cno));
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_ADAPTER_FATAL,
				    .adapter = "emu1",
				    .since_ns = now_ns() + 5000 });
	advance_us(5);
	expect_notified(cno, w.b.async);
	expect_notified(cno, w.b.connect);
	expect_silence(cno);
	must(dat_evd_modify_cno(w.b.async, NO_HANDLE));
	must(dat_evd_modify_cno(w.b.connect, NO_HANDLE));
}
END_TEST

static DAT_COUNT low_watermark(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	must(dat_srq_query(srq, DAT_SRQ_FIELD_LOW_WATERMARK, &param));
	return param.low_watermark;
}

/* A higher mark than there are buffers would be reached at once, and 0 would disarm. */
START_TEST(fault_a_mark_that_is_refused_leaves_the_former_one_armed)
{
	static const DAT_COUNT marks[] = { 0, 1, 2, 4, 10 };

	srq_pair(10);
	post_srqs(&w.b, 0, 4);
	must(dat_srq_set_lw(w.b.srq, 2));
	spoil((DAT_SIM_CALL_FAULT){ .verdict = DAT_SIM_CALL_FAIL, .call = "dat_srq_set_lw" });
	for (size_t i = 0; i < COUNT(marks); i++)
		must_fail(dat_srq_set_lw(w.b.srq, marks[i]), DAT_INSUFFICIENT_RESOURCES,
			  DAT_RESOURCE_SRQ);
	ck_assert_int_eq(low_watermark(w.b.srq), 2);
	deliver(&w.a, w.a.ep, 2);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_low_watermark(w.b.async, w.b.srq);
	must_fail(dat_srq_set_lw(w.b.srq, 2), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	expect_no_event(w.b.async);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, fault_a_mark_that_is_refused_leaves_the_former_one_armed);
	unit_test(suite, fault_a_rule_about_other_things_delays_no_wait);
	unit_test(suite, fault_a_failed_adapter_is_told_before_its_connections_break);
	unit_test_loop(suite, fault_what_completes_behind_an_error_is_flushed, COUNT(queues));
	unit_test(suite, E9_each_completion_that_finds_no_room_breaks_its_connection);
	unit_test(suite, fault_a_delayed_completion_is_told_though_another_EVD_is_freed);
	unit_test_loop(suite, Q4_a_delayed_completion_goes_with_its_Endpoint, 4);
	unit_test_loop(suite, fault_the_trace_names_the_kind_of_a_completion, COUNT(kinds));
	unit_test(suite, fault_a_bind_behind_an_error_is_flushed);
	unit_test(suite, fault_a_rule_acts_before_the_post_returns);
	unit_test(suite, page_resize_below_what_a_rule_has_seen_is_refused);
	unit_test(suite, E9_an_EVD_has_the_room_that_it_has_without_rules);
	unit_test(suite, fault_objects_that_are_freed_under_a_rule_are_gone);
	unit_test(suite, fault_the_trace_has_the_number_of_the_rule_that_failed_an_adapter);
}

UNIT_SUITE("call_effects")
