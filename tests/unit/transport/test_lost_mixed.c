/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Losses among requests of several kinds: binds, which never travel, READs whose answers get lost
 * behind a refusal, and faults of retransmitted packets. No request may wait forever.
 */
#include "tests/support/support.h"

static void bind_rmr(int n)
{
	DAT_RMR_HANDLE rmr = NO_HANDLE;
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET range = segment(&w.a, 0, SLOT_SIZE);
	DAT_RMR_COOKIE number = { .as_64 = (DAT_UINT64)n };

	must(dat_rmr_create(w.a.pz, &rmr));
	must(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_REMOTE_READ_FLAG, w.a.ep, number,
			  DAT_COMPLETION_DEFAULT_FLAG, &context));
	run_quiet();
	expect_event(w.a.request, DAT_RMR_BIND_COMPLETION_EVENT);
}

static void expect_message(int n)
{
	post_recv(&w.b, w.b.ep, n);
	post_send(&w.a, w.a.ep, n, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
}

START_TEST(a_message_behind_a_bind_goes_while_packets_are_looked_at)
{
	plain_pair();
	(void)fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_PASS });
	bind_rmr(1);
	expect_message(2);
	bind_rmr(3);
	expect_message(4);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

START_TEST(a_message_behind_a_bind_goes_when_packets_begin_to_be_looked_at)
{
	plain_pair();
	bind_rmr(1);
	(void)fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_PASS });
	expect_message(2);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

/* Packet `n` of a READ's response is lost; the Send behind the READ finds no receive buffer. */
static void lose_answer_behind_a_refusal(int n)
{
	DAT_RMR_TRIPLET from = { .target_address = (DAT_VADDR)(uintptr_t)slot(&w.b, 5),
				 .segment_length = LONG };
	DAT_LMR_TRIPLET to = segment(&w.a, 6, LONG);
	DAT_EP_ATTR attr = ep_attr();
	DAT_LMR_PARAM param;

	attr.max_rdma_read_in = attr.max_rdma_read_out = 4;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	must(dat_lmr_query(w.b.lmr, DAT_LMR_FIELD_ALL, &param));
	from.rmr_context = param.rmr_context;
	fill_slot(&w.b, 5, 77);
	(void)fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_READ_RESPONSE,
				     .nth = (DAT_UINT64)n,
				     .verdict = DAT_SIM_DROP });
	must(dat_ep_post_rdma_read(w.a.ep, 1, &to, cookie(6), &from, DAT_COMPLETION_DEFAULT_FLAG));
	post_send(&w.a, w.a.ep, 7, SHORT);
}

/* Only the RNR timer runs meanwhile. The Send is not retried once its retries are used up. */
START_TEST(a_read_whose_answer_is_lost_behind_a_refusal_is_asked_again)
{
	DAT_COUNT sent =
		fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_SEND, .verdict = DAT_SIM_PASS });

	lose_answer_behind_a_refusal(_i + 1);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 6, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 6, 77, LONG));
	expect_dto(w.a.request, w.a.ep, 7, DAT_DTO_ERR_RECEIVER_NOT_READY);
	ck_assert_uint_eq(fired(sent), 1u + fabric_config(DAT_SIM_PROFILE_IB).rnr_retry);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

/* The Send goes while the READ is still unanswered. */
START_TEST(a_read_whose_answer_is_lost_is_asked_again_when_a_buffer_comes)
{
	DAT_COUNT sent =
		fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_SEND, .verdict = DAT_SIM_PASS });

	lose_answer_behind_a_refusal(_i + 1);
	while (fired(sent) == 0)
		must(dat_sim_advance(w.sim, 100));
	must(dat_sim_advance(w.sim, 2000)); /* the refusal has arrived */
	post_recv(&w.b, w.b.ep, 8);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 6, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 6, 77, LONG));
	expect_dto(w.a.request, w.a.ep, 7, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 8, DAT_DTO_SUCCESS);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

/* A rule matches a packet by its contents, not by its number of transmissions. */
/* A later refusal is no reason to look for an answer that has come since. */
START_TEST(a_read_that_was_asked_again_is_in_no_doubt_at_the_next_refusal)
{
	DAT_COUNT sent =
		fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_SEND, .verdict = DAT_SIM_PASS });
	DAT_UINT64 before;

	lose_answer_behind_a_refusal(1);
	while (fired(sent) == 0)
		must(dat_sim_advance(w.sim, 100));
	must(dat_sim_advance(w.sim, 2000)); /* the refusal has arrived */
	post_recv(&w.b, w.b.ep, 8);
	run_quiet();
	before = fired(sent);
	post_send(&w.a, w.a.ep, 0, SHORT);
	while (fired(sent) == before)
		must(dat_sim_advance(w.sim, 100));
	must(dat_sim_advance(w.sim, 2000)); /* this refusal, too */
	post_recv(&w.b, w.b.ep, 9);
	hold_link("emu1", "emu0");
	must(dat_sim_advance(w.sim, 10 * RETRY_NS));
	release_link("emu1", "emu0");
	run_quiet();
	ck_assert_uint_eq(fired(sent), before + 2); /* the refused one, and its copy */
	expect_dto(w.b.recv, w.b.ep, 8, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 9, DAT_DTO_SUCCESS);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

START_TEST(a_packet_that_was_brought_again_can_be_refused)
{
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	(void)fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_SEND,
				     .nth = 2,
				     .verdict = DAT_SIM_DROP });
	(void)fault((
		DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_SEND, .nth = 2, .verdict = DAT_SIM_NAK });
	post_send(&w.a, w.a.ep, 1, LONG);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_TRANSPORT);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_FLUSHED);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

/* ---- what counts as an answer ---- */

#define READ_SLOTS 4 /* of four packets each */

static void expect_read(void)
{
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(slot(&w.a, 0), slot(&w.b, 8), READ_SLOTS * SLOT_SIZE);
}

/* Each part of the answer begins the count of retries anew, so a long Read may need many. */
START_TEST(a_read_whose_answer_gets_on_is_asked_again_without_end)
{
	DAT_COUNT asked;

	rdma_pair(1, 1);
	asked = fault(
		(DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_READ_REQUEST, .verdict = DAT_SIM_PASS });
	fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_READ_RESPONSE,
			       .every = 2,
			       .verdict = DAT_SIM_DROP });
	for (int i = 0; i < READ_SLOTS; i++)
		fill_slot(&w.b, 8 + i, 50 + i);
	post_read(&w.a, w.a.ep, 0, remote(&w.b, 8, READ_SLOTS * SLOT_SIZE));
	run_quiet();
	expect_read();
	ck_assert_uint_gt(fired(asked), RETRIES + 1);
}
END_TEST

/* Packets that come 800 us apart: less than the timer, which each of them starts anew. */
START_TEST(a_read_whose_answer_is_slow_is_asked_once)
{
	DAT_COUNT asked;

	rdma_pair(1, 1);
	asked = fault(
		(DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_READ_REQUEST, .verdict = DAT_SIM_PASS });
	fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_READ_RESPONSE,
			       .delay_ns = RETRY_NS * 4 / 5,
			       .verdict = DAT_SIM_DELAY });
	fill_slot(&w.b, 8, 50);
	post_read(&w.a, w.a.ep, 0, remote(&w.b, 8, SLOT_SIZE));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.a, 0, 50, SLOT_SIZE));
	ck_assert_uint_eq(fired(asked), 1);
}
END_TEST

/* The timer knows how long the way back is. */
START_TEST(a_message_is_not_repeated_while_its_acknowledgement_travels)
{
	DAT_COUNT sent;

	plain_pair();
	must(dat_sim_set_link(w.sim, "emu1", "emu0", 5 * RETRY_NS, 0));
	sent = fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_SEND, .verdict = DAT_SIM_PASS });
	fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_SEND,
			       .delay_ns = 100,
			       .verdict = DAT_SIM_DELAY });
	post_recv(&w.b, w.b.ep, 20);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(fired(sent), 1);
}
END_TEST

/* One transmission, and as many more as DATSIM_RETRY says. */
START_TEST(a_request_to_connect_is_repeated_as_often_as_the_knob_says)
{
	DAT_COUNT sent;

	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	sent = drop(DAT_SIM_PACKET_CM, 0);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	ck_assert_uint_eq(fired(sent), 1 + RETRIES);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, a_message_behind_a_bind_goes_while_packets_are_looked_at);
	unit_test_all(suite, a_message_behind_a_bind_goes_when_packets_begin_to_be_looked_at);
	unit_test_loop(suite, a_read_whose_answer_is_lost_behind_a_refusal_is_asked_again, 4);
	unit_test_loop(suite, a_read_whose_answer_is_lost_is_asked_again_when_a_buffer_comes, 4);
	unit_test(suite, a_read_that_was_asked_again_is_in_no_doubt_at_the_next_refusal);
	unit_test_iwarp(suite, a_packet_that_was_brought_again_can_be_refused);
	unit_test(suite, a_read_whose_answer_gets_on_is_asked_again_without_end);
	unit_test(suite, a_read_whose_answer_is_slow_is_asked_once);
	unit_test(suite, a_message_is_not_repeated_while_its_acknowledgement_travels);
	unit_test_all(suite, a_request_to_connect_is_repeated_as_often_as_the_knob_says);
}

UNIT_SUITE("lost_mixed")
