/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the trace, by doc/trace.md: posts, answers to requests, buffers that Sends take. */
#include <stdlib.h>
#include <string.h>

#include "emu/fabric/record.h"
#include "lib/front.h"
#include "lib/object.h"
#include "trace_lines.h"

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

/* The last sequence number of a message, from the line of its ACK: of the latest connection. */
static uint32_t acked_psn(int message)
{
	const char *text, *line = NULL, *next;
	char part[64];
	size_t length;

	must(dat_sim_trace_read(w.sim, &text, &length));
	snprintf(part, sizeof(part), " op=ACK message=%d psn=", message);
	for (next = text; (next = strstr(next, part)) != NULL; next += strlen(part))
		line = next;
	ck_assert_msg(line != NULL, "the trace has no \"%s\"", part);
	return (uint32_t)strtoul(line + strlen(part), NULL, 10);
}

static void expect_sequence_numbers(void)
{
	static const struct {
		uint32_t bytes, packets;
	} messages[] = { { MTU, 1 }, { MTU + 1, 2 }, { 2 * MTU, 2 }, { 2 * MTU + 1, 3 }, { 0, 1 } };
	uint32_t psn = 0;

	for (int i = 0; i < (int)COUNT(messages); i++) {
		post_recv(&w.b, w.b.ep, i);
		post_send(&w.a, w.a.ep, i, messages[i].bytes);
		run_quiet();
		if (i > 0)
			ck_assert_uint_eq((acked_psn(i + 1) - psn) & 0xffffff, messages[i].packets);
		psn = acked_psn(i + 1);
	}
}

START_TEST(a_message_of_one_byte_more_than_a_packet_takes_two_sequence_numbers)
{
	traced();
	plain_pair();
	expect_sequence_numbers();
}
END_TEST

START_TEST(a_connection_after_a_reset_counts_its_sequence_numbers_anew)
{
	plain_pair();
	for (int n = 0; n < 3; n++) {
		post_recv(&w.b, w.b.ep, 10 + n);
		post_send(&w.a, w.a.ep, 10 + n, 3 * MTU);
	}
	run_quiet();
	disconnect_pair();
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	traced();
	expect_sequence_numbers();
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

static void fill(Suite *suite)
{
	unit_test(suite, each_post_has_its_word_and_its_bytes);
	unit_test(suite, a_message_of_one_byte_more_than_a_packet_takes_two_sequence_numbers);
	unit_test(suite, a_connection_after_a_reset_counts_its_sequence_numbers_anew);
	unit_test(suite, an_event_that_is_dequeued_names_its_object);
	unit_add(suite, an_ordinary_message_has_its_number_in_each_line, 1, NULL);
	unit_add(suite, numbers_are_decimal, 1, NULL);
	unit_test(suite, each_post_has_its_line_whatever_region_it_is_of);
	unit_test(suite, a_call_that_is_refused_has_its_type_and_subtype);
	unit_test(suite, a_Send_takes_a_buffer_of_the_queue_that_it_names);
	unit_test(suite, Q1_lines_of_an_SRQ_have_both_of_its_counts);
	unit_test_loop(suite, Q1_a_line_of_an_SRQ_has_large_numbers_too, 2);
	unit_test(suite, a_Send_takes_a_buffer_of_its_Endpoint);
	unit_test(suite, the_answer_to_a_request_says_what_it_is);
	unit_test(suite, an_answer_is_for_the_Endpoint_that_asked);
}

UNIT_SUITE("trace_words")
