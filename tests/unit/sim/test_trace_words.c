/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the trace, by doc/trace.md: posts, answers to requests, buffers that Sends take. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/fabric/record.h"
#include "lib/front.h"
#include "lib/object.h"
#include "tests/support/conf.h"
#include "tests/support/support.h"

static void expect_line(const char *part)
{
	const char *text;
	size_t length;

	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_msg(strstr(text, part) != NULL, "the trace has no \"%s\"", part);
}

static int lines_with(const char *part)
{
	const char *text;
	size_t length;
	int n = 0;

	must(dat_sim_trace_read(w.sim, &text, &length));
	while ((text = strstr(text, part)) != NULL) {
		text++;
		n++;
	}
	return n;
}

static void traced(void)
{
	must(dat_sim_trace(w.sim, DAT_TRUE));
}

START_TEST(each_post_has_its_word_and_its_bytes)
{
	DAT_RMR_HANDLE rmr;

	traced();
	rdma_pair(2, 2);
	rmr = make_rmr(&w.a);
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 1, 11);
	post_write(&w.a, w.a.ep, 2, remote(&w.b, 2, 12));
	post_read(&w.a, w.a.ep, 3, remote(&w.b, 3, 13));
	post_bind(rmr, &w.a, w.a.ep, 4, 14, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	expect_line(" emu0.ep1 post_send bytes=11 segments=1 message=1\n");
	expect_line(" emu0.ep1 post_rdma_write bytes=12 segments=1 message=2\n");
	expect_line(" emu0.ep1 post_rdma_read bytes=13 segments=1 message=3\n");
	expect_line(" emu0.ep1 post_bind bytes=14 message=4\n");
	run_quiet();
	must(dat_rmr_free(rmr));
}
END_TEST

/* The last sequence number of a message, from the line of its ACK. */
static uint32_t acked_psn(int message)
{
	const char *text, *line;
	char part[64];
	size_t length;

	must(dat_sim_trace_read(w.sim, &text, &length));
	snprintf(part, sizeof(part), " op=ACK message=%d psn=", message);
	line = strstr(text, part);
	ck_assert_msg(line != NULL, "the trace has no \"%s\"", part);
	return (uint32_t)strtoul(line + strlen(part), NULL, 10);
}

START_TEST(a_message_of_one_byte_more_than_a_packet_takes_two_sequence_numbers)
{
	static const struct {
		uint32_t bytes, packets;
	} messages[] = { { MTU, 1 }, { MTU + 1, 2 }, { 2 * MTU, 2 }, { 2 * MTU + 1, 3 }, { 0, 1 } };
	uint32_t psn = 0;

	traced();
	plain_pair();
	for (int i = 0; i < (int)COUNT(messages); i++) {
		post_recv(&w.b, w.b.ep, i);
		post_send(&w.a, w.a.ep, i, messages[i].bytes);
		run_quiet();
		if (i > 0)
			ck_assert_uint_eq((acked_psn(i + 1) - psn) & 0xffffff, messages[i].packets);
		psn = acked_psn(i + 1);
	}
}
END_TEST

START_TEST(an_event_that_is_dequeued_names_its_object)
{
	DAT_CR_HANDLE cr;

	traced();
	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	expect_line(" dequeue number=CONNECTION_REQUEST object=emu1.cr1\n");
	must(dat_cr_reject(cr));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
}
END_TEST

/* ---- calls that change nothing ---- */

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

static const struct setting {
	const char *variable, *value, *line;
} settings[] = {
	{ "DATSIM_LATENCY_NS", "77", "# latency_ns=77\n" },
	{ "DATSIM_BANDWIDTH_BPS", "8000000000", "# bandwidth_bps=8000000000\n" },
	{ "DATSIM_MTU", "512", "# mtu=512\n" },
	{ "DATSIM_RNR_RETRY", "3", "# rnr_retry=3\n" },
	{ "DATSIM_RNR_TIMER_NS", "5555", "# rnr_timer_ns=5555\n" },
	{ "DATSIM_RETRY_TIMER_NS", "4444", "# retry_timer_ns=4444\n" },
};

/* Of all settings, the trace has those that are not the default. */
START_TEST(a_trace_begins_with_the_settings_of_its_fabric)
{
	const struct setting *s = &settings[_i];
	const char *text;
	size_t length;

	setenv(s->variable, s->value, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv(s->variable);
	traced();
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_ptr_nonnull(strstr(text, s->line));
	for (size_t i = 0; i < COUNT(settings); i++)
		if (i != (size_t)_i)
			ck_assert_ptr_null(strstr(text, settings[i].line));
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
}
END_TEST

/* The lowest free descriptor is the same again. */
START_TEST(a_trace_that_has_ended_keeps_no_descriptor)
{
	int free_before = dup(STDIN_FILENO), free_after;
	char file[64];

	ck_assert_int_ge(free_before, 0);
	close(free_before);
	snprintf(file, sizeof(file), "trace_words.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv("DATSIM_TRACE");
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	ck_assert_int_eq(unlink(file), 0);
	free_after = dup(STDIN_FILENO);
	close(free_after);
	ck_assert_int_eq(free_after, free_before);
}
END_TEST

/* The short ways of posts and dequeues, which write no lines, are not taken from the beginning. */
START_TEST(a_fabric_that_begins_traced_has_a_line_for_each_post_and_each_completion)
{
	char file[64];

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	snprintf(file, sizeof(file), "trace_words.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv("DATSIM_TRACE");
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, 8);
	run_quiet();
	for (int i = 0; i < 3; i++)
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
	ck_assert_int_eq(lines_with(" emu1.ep1 post_recv "), 3);
	ck_assert_int_eq(lines_with(" emu0.ep1 post_send "), 3);
	ck_assert_int_eq(lines_with(" emu1.ep1 reap op=RECV "), 3);
	unlink(file);
}
END_TEST

static void expect_message(int n)
{
	static const char *const lines[] = {
		" emu0.ep1 post_send bytes=8 segments=1 message=%d\n",
		" emu0.ep1 packet to=emu1.ep1 op=SEND_ONLY message=%d packet=0 bytes=8 psn=",
		" emu1.ep1 take from=rq message=%d available=0 taken=1\n",
		" emu1.ep1 complete op=RECV status=SUCCESS bytes=8 message=%d\n",
		" emu1.ep1 packet to=emu0.ep1 op=ACK message=%d psn=",
		" emu0.ep1 complete op=SEND status=SUCCESS bytes=8 message=%d\n",
	};
	char line[128];

	for (size_t i = 0; i < COUNT(lines); i++) {
		snprintf(line, sizeof(line), lines[i], n);
		ck_assert_int_eq(lines_with(line), 1);
	}
}

/* By a run of the fabric, and by polls, which run the events of a message themselves. */
START_TEST(an_ordinary_message_has_its_number_in_each_line)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_EVENT event;

	config.poll_quantum_ns = 100;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	traced();
	for (int n = 1; n <= 4; n++) {
		post_recv(&w.b, w.b.ep, n);
		post_send(&w.a, w.a.ep, n, 8);
		if (n % 2)
			run_quiet();
		while (dat_evd_dequeue(w.b.recv, &event) != DAT_SUCCESS)
			;
		while (dat_evd_dequeue(w.a.request, &event) != DAT_SUCCESS)
			;
		expect_message(n);
	}
}
END_TEST

static void expect_decimal(uint64_t number)
{
	char text[32], expected[32];

	*emu_put_number(text, number) = '\0';
	snprintf(expected, sizeof(expected), "%lu", number);
	ck_assert_str_eq(text, expected);
}

/* Each length, at both of its ends. */
START_TEST(numbers_are_decimal)
{
	for (uint64_t bit = 1; bit; bit <<= 1) {
		expect_decimal(bit - 1);
		expect_decimal(bit);
	}
	for (uint64_t ten = 1; ten; ten = ten < UINT64_MAX / 10 ? 10 * ten : 0) {
		expect_decimal(ten - 1);
		expect_decimal(ten);
		expect_decimal(ten + 1);
	}
	expect_decimal(UINT64_MAX);
}
END_TEST

/* The short posts have the region of the post before; the others take another way. */
START_TEST(each_post_has_its_line_whatever_region_it_is_of)
{
	static char bytes[1024];
	DAT_REGION_DESCRIPTION region = { .for_va = bytes };
	DAT_VLEN size, at;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT key;
	DAT_RMR_CONTEXT rmr;
	char line[128];

	plain_pair();
	traced();
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(bytes), w.b.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &key, &rmr, &size, &at));
	for (int i = 0; i < 6; i++) {
		DAT_LMR_TRIPLET iov = segment(&w.b, i, 64 + (DAT_VLEN)i);
		DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i };

		if (i / 2 % 2)
			iov = (DAT_LMR_TRIPLET){ .lmr_context = key,
						 .virtual_address = (DAT_VADDR)(uintptr_t)bytes,
						 .segment_length = 64 + (DAT_VLEN)i };
		must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		snprintf(line, sizeof(line),
			 " emu1.ep1 post_recv bytes=%d segments=1 outstanding=%d\n", 64 + i, i + 1);
		expect_line(line);
	}
	ck_assert_int_eq(lines_with(" emu1.ep1 post_recv "), 6);
	for (int i = 0; i < 6; i++)
		post_send(&w.a, w.a.ep, i, 8);
	run_quiet();
	ck_assert_int_eq(lines_with(" emu0.ep1 post_send "), 6);
	must(dat_lmr_free(lmr));
}
END_TEST

START_TEST(a_call_that_is_refused_has_its_type_and_subtype)
{
	traced();
	w.a.ep = plain_ep(&w.a);
	must_fail(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE, ANY_SUBTYPE);
	expect_line(" emu0.ep1 refuse call=dat_ep_disconnect type=DAT_INVALID_STATE "
		    "subtype=DAT_INVALID_STATE_EP_UNCONNECTED\n");
}
END_TEST

START_TEST(a_Send_takes_a_buffer_of_the_queue_that_it_names)
{
	traced();
	srq_pair(8);
	post_srqs(&w.b, 0, 3);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_line(" emu1.ep1 take from=emu1.srq1 message=1 available=2 taken=");
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_line(" srq=emu1.srq1 available=2 outstanding=2\n");
}
END_TEST

/* Receives that a message has taken are outstanding and not available, until they are reaped. */
START_TEST(Q1_lines_of_an_SRQ_have_both_of_its_counts)
{
	DAT_LMR_TRIPLET iov[2];

	traced();
	srq_pair(8);
	post_srqs(&w.b, 0, 3);
	expect_line(" emu1.srq1 post_recv bytes=1024 segments=1 available=3 outstanding=3\n");
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	post_srq(&w.b, 3);
	expect_line(" emu1.srq1 post_recv bytes=1024 segments=1 available=2 outstanding=4\n");
	iov[0] = segment(&w.b, 4, 100);
	iov[1] = segment(&w.b, 5, 30);
	must(dat_srq_post_recv(w.b.srq, 2, iov, cookie(4)));
	expect_line(" emu1.srq1 post_recv bytes=130 segments=2 available=3 outstanding=5\n");
	must(dat_srq_post_recv(w.b.srq, 0, NULL, cookie(5)));
	expect_line(" emu1.srq1 post_recv bytes=0 segments=0 available=4 outstanding=6\n");
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_line(" emu1.ep1 reap op=RECV status=SUCCESS evd=emu1.evd2 srq=emu1.srq1 "
		    "available=4 outstanding=5\n");
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_SUCCESS);
	expect_line(" evd=emu1.evd2 srq=emu1.srq1 available=4 outstanding=4\n");
}
END_TEST

/* Two numbers share a value of the record only if 16 bits hold each. */
START_TEST(Q1_a_line_of_an_SRQ_has_large_numbers_too)
{
	struct dat_adapter *adapter = ((struct handle_slot *)w.b.ia)->object->ia->adapter;

	traced();
	adapter->last_id[DAT_HANDLE_TYPE_SRQ] = 65534 + (uint32_t)_i;
	srq_pair(8);
	post_srqs(&w.b, 0, 2);
	expect_line(_i == 0 ? " emu1.srq65535 post_recv bytes=1024 segments=1 available=2 "
			    : " emu1.srq65536 post_recv bytes=1024 segments=1 available=2 ");
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_line(_i == 0 ? " evd=emu1.evd2 srq=emu1.srq65535 available=1 outstanding=1\n"
			    : " evd=emu1.evd2 srq=emu1.srq65536 available=1 outstanding=1\n");
}
END_TEST

START_TEST(a_Send_takes_a_buffer_of_its_Endpoint)
{
	traced();
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_line(" emu1.ep1 take from=rq message=1 available=2 taken=");
}
END_TEST

START_TEST(the_answer_to_a_request_says_what_it_is)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	traced();
	plain_pair();
	expect_line("op=CM_REP psn=");
	ep = plain_ep(&w.a);
	cr = request(ep, &w.b, QUAL);
	must(dat_cr_reject(cr));
	run_quiet();
	expect_line("op=CM_REJ reason=REJECTED");
	must(try_connect(w.a.ep = plain_ep(&w.a), &w.b, QUAL + 1, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_line("op=CM_REJ reason=NO_LISTENER");
	must(dat_ep_free(w.a.ep));
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	side_close(&w.b);
	run_quiet();
	expect_line("op=CM_REJ reason=UNREACHABLE");
}
END_TEST

/* A rule about an Endpoint fits the answer to its request, too. */
START_TEST(an_answer_is_for_the_Endpoint_that_asked)
{
	DAT_COUNT to_asker, to_other;
	DAT_EP_HANDLE other = plain_ep(&w.a);

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	to_asker = fault((DAT_SIM_FAULT){ .to_ep = w.a.ep,
					  .packets = DAT_SIM_PACKET_CM,
					  .verdict = DAT_SIM_PASS });
	to_other = fault((DAT_SIM_FAULT){ .to_ep = other,
					  .packets = DAT_SIM_PACKET_CM,
					  .verdict = DAT_SIM_PASS });
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	ck_assert_uint_eq(fired(to_asker), 1);
	ck_assert_uint_eq(fired(to_other), 0);
}
END_TEST

/* ---- its end ---- */

/* Puts a descriptor that cannot be written in the place of the one of this file. */
static void spoil_descriptor(const char *path)
{
	DIR *folder = opendir("/proc/self/fd");
	char name[300], target[4096];
	struct dirent *entry;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_ptr_nonnull(folder);
	while ((entry = readdir(folder)) != NULL) {
		ssize_t n;

		snprintf(name, sizeof(name), "/proc/self/fd/%s", entry->d_name);
		n = readlink(name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, path) == 0)
			ck_assert_int_ge(dup2(null, atoi(entry->d_name)), 0);
	}
	closedir(folder);
	close(null);
}

START_TEST(a_trace_that_cannot_be_ended_is_told)
{
	char path[] = "/tmp/libdat-trace-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	setenv("DATSIM_TRACE", path, 1);
	side_open(&w.a, "emu0");
	unsetenv("DATSIM_TRACE");
	spoil_descriptor(path);
	said_start();
	side_close(&w.a);
	ck_assert_said(said_stop(), "cannot end the trace");
	unlink(path);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, each_post_has_its_word_and_its_bytes);
	unit_add(suite, a_trace_begins_with_the_settings_of_its_fabric, (int)COUNT(settings), NULL);
	unit_add(suite, a_trace_that_has_ended_keeps_no_descriptor, 1, NULL);
	unit_test(suite, a_message_of_one_byte_more_than_a_packet_takes_two_sequence_numbers);
	unit_test(suite, an_event_that_is_dequeued_names_its_object);
	unit_add(suite, an_ordinary_message_has_its_number_in_each_line, 1, NULL);
	unit_add(suite, numbers_are_decimal, 1, NULL);
	unit_test(suite, each_post_has_its_line_whatever_region_it_is_of);
	unit_test(suite, a_call_that_is_refused_has_its_type_and_subtype);
	unit_test(suite, each_call_that_asks_an_object_has_a_line);
	unit_test(suite, so_has_one_that_asks_an_SRQ_or_a_service_point);
	unit_test(suite, a_question_of_a_checker_has_no_line);
	unit_test_bare(suite, the_next_fabric_records_questions_again);
	unit_test(suite, a_wait_for_a_CNO_names_the_EVD_that_it_returns);
	unit_test(suite, a_Send_takes_a_buffer_of_the_queue_that_it_names);
	unit_test(suite, Q1_lines_of_an_SRQ_have_both_of_its_counts);
	unit_test_loop(suite, Q1_a_line_of_an_SRQ_has_large_numbers_too, 2);
	unit_test(suite, a_Send_takes_a_buffer_of_its_Endpoint);
	unit_test(suite, the_answer_to_a_request_says_what_it_is);
	unit_test(suite, an_answer_is_for_the_Endpoint_that_asked);
	unit_test_bare(suite,
		       a_fabric_that_begins_traced_has_a_line_for_each_post_and_each_completion);
	unit_test_bare(suite, a_trace_that_cannot_be_ended_is_told);
}

UNIT_SUITE("trace_words")
