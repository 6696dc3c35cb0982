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
	expect_dto(evd, ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_pair_broken();
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
	snprintf(line, sizeof(line), " emu1 fault rule=%d does=fatal at=adapter\n", id);
	ck_assert_ptr_nonnull(strstr(text, line));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, fault_what_completes_behind_an_error_is_flushed, COUNT(queues));
	unit_test(suite, fault_a_delayed_completion_is_told_though_another_EVD_is_freed);
	unit_test(suite, fault_the_trace_has_the_number_of_the_rule_that_failed_an_adapter);
}

UNIT_SUITE("call_effects")
