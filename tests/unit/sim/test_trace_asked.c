/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the trace for calls that change nothing, by doc/trace.md. */
#include "trace_lines.h"

/* A line for the call, and one only. */
#define ASKS(call, line)                                    \
	do {                                                \
		must(call);                                 \
		ck_assert_int_eq(lines_with(line "\n"), 1); \
	} while (0)

START_TEST(each_call_that_asks_an_object_has_a_line)
{
	union {
		DAT_EP_PARAM ep;
		DAT_EVD_PARAM evd;
		DAT_LMR_PARAM lmr;
		DAT_PZ_PARAM pz;
		DAT_RMR_PARAM rmr;
		DAT_CNO_PARAM cno;
	} out;
	DAT_LMR_TRIPLET part = segment(&w.a, 0, 8);
	DAT_COUNT allocated, span;
	DAT_HANDLE_TYPE type;
	DAT_EP_STATE state;
	DAT_CONTEXT context = { .as_64 = 1 };
	DAT_BOOLEAN idle;
	DAT_CNO_HANDLE cno;
	DAT_RMR_HANDLE rmr;

	traced();
	rdma_pair(2, 2);
	rmr = make_rmr(&w.a);
	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	post_recv(&w.a, w.a.ep, 0);
	post_send(&w.a, w.a.ep, 1, 8);
#define RETURN(object, call, values) " emu0." object " return call=dat_" call values
	ASKS(dat_ep_query(w.a.ep, DAT_EP_FIELD_ALL, &out.ep),
	     RETURN("ep1", "ep_query", " state=CONNECTED"));
	ASKS(dat_ep_get_status(w.a.ep, &state, &idle, &idle),
	     RETURN("ep1", "ep_get_status", " state=CONNECTED receives=1 requests=1"));
	ASKS(dat_ep_recv_query(w.a.ep, &allocated, &span),
	     RETURN("ep1", "ep_recv_query", " allocated=1 span=1"));
	ASKS(dat_evd_query(w.a.recv, DAT_EVD_FIELD_ALL, &out.evd), RETURN("evd2", "evd_query", ""));
	ASKS(dat_lmr_query(w.a.lmr, DAT_LMR_FIELD_ALL, &out.lmr), RETURN("lmr1", "lmr_query", ""));
	ASKS(dat_pz_query(w.a.pz, DAT_PZ_FIELD_ALL, &out.pz), RETURN("pz1", "pz_query", ""));
	ASKS(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &out.rmr), RETURN("rmr1", "rmr_query", ""));
	ASKS(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &out.cno), RETURN("cno1", "cno_query", ""));
	ASKS(dat_ia_query(w.a.ia, NULL, 0, NULL, 0, NULL), RETURN("ia1", "ia_query", ""));
	ASKS(dat_lmr_sync_rdma_read(w.a.ia, &part, 1), RETURN("ia1", "lmr_sync_rdma_read", ""));
	ASKS(dat_lmr_sync_rdma_write(w.a.ia, &part, 1), RETURN("ia1", "lmr_sync_rdma_write", ""));
	ASKS(dat_set_consumer_context(cno, context), RETURN("cno1", "set_consumer_context", ""));
	ASKS(dat_get_consumer_context(cno, &context), RETURN("cno1", "get_consumer_context", ""));
	ASKS(dat_get_handle_type(cno, &type), RETURN("cno1", "get_handle_type", ""));
	must(dat_rmr_free(rmr));
	must(dat_cno_free(cno));
	run_quiet();
}
END_TEST

START_TEST(so_has_one_that_asks_an_SRQ_or_a_service_point)
{
	DAT_PSP_HANDLE psp = listen_at(&w.a, QUAL + 1);
	DAT_RSP_HANDLE rsp = reserve(&w.a, QUAL + 2, plain_ep(&w.a));
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_SRQ_PARAM srq_param;
	DAT_CR_PARAM cr_param;
	DAT_CR_HANDLE cr;

	traced();
	ASKS(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &psp_param), RETURN("psp1", "psp_query", ""));
	ASKS(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_param), RETURN("rsp1", "rsp_query", ""));
	w.a.srq = make_srq(&w.a, 4, 0);
	post_srq(&w.a, 0);
	ASKS(dat_srq_query(w.a.srq, DAT_SRQ_FIELD_ALL, &srq_param),
	     RETURN("srq1", "srq_query", " available=1 outstanding=1"));
	cr = request(w.b.ep = plain_ep(&w.b), &w.a, QUAL + 3);
	ASKS(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param), RETURN("cr1", "cr_query", ""));
	must(dat_cr_reject(cr));
	run_quiet();
}
END_TEST

/* A failed call returns nothing, and a checker turns the lines of its own calls off. */
START_TEST(a_question_of_a_checker_has_no_line)
{
	DAT_EVD_PARAM param;

	traced();
	must_fail(dat_evd_query(w.a.recv, DAT_EVD_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	ck_assert_int_eq(lines_with(" return call="), 0);
	must(dat_sim_trace_queries(w.sim, DAT_FALSE));
	must(dat_evd_query(w.a.recv, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_eq(lines_with(" return call="), 0);
	must_fail(dat_sim_trace_queries(w.sim, (DAT_BOOLEAN)2), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must(dat_sim_trace_queries(w.sim, DAT_TRUE));
	must(dat_evd_query(w.a.recv, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_eq(lines_with(" return call="), 1);
}
END_TEST

/* They are off for one fabric only. */
START_TEST(the_next_fabric_records_questions_again)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_EVD_PARAM param;

	must(dat_sim_trace_queries(w.sim, DAT_FALSE));
	must(dat_sim_destroy(w.sim));
	config.trace = DAT_TRUE;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	must(dat_evd_query(w.a.recv, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_eq(lines_with(" return call=dat_evd_query"), 1);
	side_close(&w.a);
}
END_TEST

START_TEST(a_wait_for_a_CNO_names_the_EVD_that_it_returns)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE evd = make_evd(&w.a, 4, DAT_EVD_SOFTWARE_FLAG), which;
	DAT_CNO_HANDLE cno;

	traced();
	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	must(dat_evd_modify_cno(evd, cno));
	ASKS(dat_evd_post_se(evd, &event), RETURN("evd6", "evd_post_se", ""));
	ASKS(dat_cno_wait(cno, 0, &which), RETURN("cno1", "cno_wait", " evd=emu0.evd6"));
	must(dat_evd_free(evd));
	must(dat_cno_free(cno));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, each_call_that_asks_an_object_has_a_line);
	unit_test(suite, so_has_one_that_asks_an_SRQ_or_a_service_point);
	unit_test(suite, a_question_of_a_checker_has_no_line);
	unit_test_bare(suite, the_next_fabric_records_questions_again);
	unit_test(suite, a_wait_for_a_CNO_names_the_EVD_that_it_returns);
}

UNIT_SUITE("trace_asked")
