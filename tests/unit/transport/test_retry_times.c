/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the copies of a lost message are sent, how many there are, and that an answer that comes
 * late, or a packet that a connection's end lost, changes nothing else.
 */
#include "emu/fabric/fabric.h"
#include "lib/object.h"

#include "tests/support/support.h"

#define SEND     (DAT_SIM_PACKET_SEND)
#define ACK      (DAT_SIM_PACKET_ACK)
#define RETRY_US (RETRY_NS / 1000)

enum {
	COPIES = RETRIES + 1, /* of a message that is never answered */
};

static DAT_COUNT late(int packets, DAT_UINT64 nth, DAT_UINT64 us)
{
	return fault((DAT_SIM_FAULT){ .packets = (DAT_UINT32)packets,
				      .nth = nth,
				      .verdict = DAT_SIM_REORDER,
				      .delay_ns = us * 1000 });
}

/* The reasons for which the fabric looks at single packets; each rule is one. */
static uint32_t reasons(void)
{
	struct nic *nic = ((struct handle_slot *)w.a.ia)->object->nic;

	return emu_world_of(nic)->fab->observed;
}

/* ---- how many ---- */

START_TEST(a_NAK_that_tells_of_no_progress_counts_as_a_retry)
{
	DAT_COUNT naks;

	uneven_pair();
	naks = fault((DAT_SIM_FAULT){ .packets = SEND,
				      .verdict = DAT_SIM_NAK,
				      .nak = DAT_SIM_NAK_SEQUENCE });
	post_recvs(&w.b, w.b.ep, 10, 1);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(100);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	ck_assert_uint_eq(fired(naks), COPIES);
	run_quiet();
	expect_pair_broken();
}
END_TEST

/* The answer is to a message that is complete since its second copy was answered. */
static void lose_beside_a_late_answer(int packets)
{
	DAT_COUNT lates = late(packets, 1, 3 * RETRY_US), drops;

	post_recvs(&w.b, w.b.ep, 10, 2);
	if (packets == ACK)
		post_send(&w.a, w.a.ep, 0, SHORT);
	else
		post_read(&w.a, w.a.ep, 0, remote(&w.b, 0, SHORT));
	advance_us(RETRY_US + 10);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(fired(lates), 1);
	drops = drop(SEND, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_TRANSPORT);
	ck_assert_uint_eq(fired(drops), COPIES);
	expect_pair_broken();
}

START_TEST(a_late_ACK_for_an_earlier_message_is_no_progress)
{
	uneven_pair();
	lose_beside_a_late_answer(ACK);
}
END_TEST

START_TEST(a_late_response_to_an_earlier_Read_is_no_progress)
{
	rdma_pair(2, 2);
	exchange_unevenly();
	lose_beside_a_late_answer(DAT_SIM_PACKET_READ_RESPONSE);
}
END_TEST

/* ---- when ---- */

/* The copy that a NAK asks for is lost as well: the time without an answer begins with it. */
START_TEST(the_timeout_begins_again_when_a_NAK_asks_for_a_copy)
{
	uneven_pair();
	fault((DAT_SIM_FAULT){ .packets = SEND, .nth = 1, .verdict = DAT_SIM_DROP });
	fault((DAT_SIM_FAULT){ .packets = SEND, .after = 1, .nth = 1, .verdict = DAT_SIM_DROP });
	post_recvs(&w.b, w.b.ep, 10, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(RETRY_US / 2);
	post_send(&w.a, w.a.ep, 1, SHORT);
	advance_us(RETRY_US);
	ck_assert_int_eq(drain(w.b.recv), 0);
	advance_us(10);
	ck_assert_int_eq(drain(w.b.recv), 2);
	ck_assert_int_eq(drain(w.a.request), 2);
}
END_TEST

/* At the end of the timeout another message arrives, of which the sender cannot know yet. */
START_TEST(a_timeout_that_ends_as_a_message_arrives_is_not_prolonged)
{
	uneven_pair();
	drop(SEND, 1);
	post_recvs(&w.b, w.b.ep, 10, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(RETRY_US);
	post_send(&w.a, w.a.ep, 1, SHORT);
	advance_us(3 * LATENCY_NS / 1000);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert_int_eq(drain(w.b.recv), 2);
}
END_TEST

/* The Read before the Send that found no Receive is answered during the wait. */
START_TEST(the_answer_to_an_earlier_Read_does_not_shorten_the_wait_after_a_NAK)
{
	rdma_pair(2, 2);
	late(DAT_SIM_PACKET_READ_RESPONSE, 1, 20);
	post_read(&w.a, w.a.ep, 0, remote(&w.b, 0, SHORT));
	post_send(&w.a, w.a.ep, 1, SHORT);
	advance_us(10);
	expect_no_event(w.a.request);
	post_recvs(&w.b, w.b.ep, 10, 1);
	advance_us(80);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(w.b.recv);
	advance_us(20);
	expect_dto(w.b.recv, w.b.ep, 10, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

/*
 * The first copy of a Send finds no Receive, and the NAK that says so comes after the second copy
 * was sent. That one's ACK is lost; the response to the Read behind it stands for it.
 */
START_TEST(a_response_ends_the_wait_after_a_NAK_for_an_earlier_Send)
{
	DAT_COUNT naks;

	rdma_pair(2, 2);
	fault((DAT_SIM_FAULT){ .packets = SEND,
			       .nth = 1,
			       .verdict = DAT_SIM_DELAY,
			       .delay_ns = 100 });
	naks = late(DAT_SIM_PACKET_RNR_NAK, 1, RETRY_US);
	drop(ACK, 1);
	fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_READ_RESPONSE,
			       .nth = 1,
			       .verdict = DAT_SIM_DELAY,
			       .delay_ns = 20000 });
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, SHORT));
	advance_us(RETRY_US / 2);
	ck_assert_uint_eq(fired(naks), 1);
	post_recvs(&w.b, w.b.ep, 10, 2);
	advance_us(RETRY_US / 2 + 10);
	post_send(&w.a, w.a.ep, 2, SHORT);
	expect_no_event(w.a.request);
	advance_us(30);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	ck_assert_int_eq(drain(w.b.recv), 2);
}
END_TEST

/* The response to the first Read is lost; the second one is complete when the first is repeated. */
START_TEST(a_Read_that_is_complete_is_not_repeated_and_stops_no_one)
{
	DAT_COUNT reads, sends;

	rdma_pair(4, 4);
	reads = fault(
		(DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_READ_REQUEST, .verdict = DAT_SIM_PASS });
	sends = fault((DAT_SIM_FAULT){ .packets = SEND, .verdict = DAT_SIM_PASS });
	drop(DAT_SIM_PACKET_READ_RESPONSE, 1);
	post_recvs(&w.b, w.b.ep, 10, 2);
	post_read(&w.a, w.a.ep, 0, remote(&w.b, 0, SHORT));
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, SHORT));
	post_send(&w.a, w.a.ep, 2, SHORT);
	run_quiet();
	for (int n = 0; n < 3; n++)
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	ck_assert_uint_ge(fired(reads), 3);
	ck_assert_uint_ge(fired(sends), 1);
	post_send(&w.a, w.a.ep, 3, SHORT);
	advance_us(10);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
	ck_assert_int_eq(drain(w.b.recv), 2);
}
END_TEST

/* The copy of a held message takes the place of the one that was held. */
START_TEST(a_message_that_is_held_during_a_retransmission_arrives_once)
{
	DAT_COUNT sends;

	plain_pair();
	must(dat_sim_hold_message(w.a.ep, 2, 0));
	drop(SEND, 1);
	sends = fault((DAT_SIM_FAULT){ .packets = SEND, .verdict = DAT_SIM_PASS });
	post_recvs(&w.b, w.b.ep, 10, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	advance_us(2 * RETRY_US);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(fired(sends), 1);
	release_message(w.a.ep, 2);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(fired(sends), 2);
	ck_assert_int_eq(drain(w.b.recv), 2);
}
END_TEST

/* ---- ends ---- */

/* A timer left over from the first connection would run on the next one. */
START_TEST(a_connection_after_one_that_ran_out_of_retries_begins_anew)
{
	uneven_pair();
	drop(SEND, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	expect_pair_broken();
	must(dat_sim_fault_clear(w.sim));
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_PASS });
	post_recvs(&w.b, w.b.ep, 10, 3);
	for (int n = 0; n < 3; n++) {
		post_send(&w.a, w.a.ep, n, SHORT);
		must(dat_sim_advance(w.sim, LATENCY_NS / 2));
	}
	for (int i = 0; i < 10; i++) {
		ck_assert_uint_eq(reasons(), 1);
		must(dat_sim_advance(w.sim, LATENCY_NS / 2));
	}
	ck_assert_int_eq(drain(w.a.request) + drain(w.b.recv), 6);
}
END_TEST

/* RTU and DREQ are in flight at the same time. */
START_TEST(who_accepts_hears_of_the_end_though_its_packets_are_lost)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	fault((DAT_SIM_FAULT){ .from = "emu0",
			       .packets = DAT_SIM_PACKET_CM,
			       .verdict = DAT_SIM_REORDER,
			       .delay_ns = 100 * RETRY_NS });
	drop(DAT_SIM_PACKET_DISCONNECT, 0);
	advance_us(2);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	advance_us(20 * RETRY_US);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	run_quiet();
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* The side that asked waits for its deadline; the fabric has no other reason to wait with it. */
START_TEST(who_asked_is_not_half_open_when_the_answer_is_lost)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.a.ep, &w.b, QUAL, 20 * (DAT_TIMEOUT)RETRY_US));
	advance_us(2);
	fault((DAT_SIM_FAULT){ .from = "emu1",
			       .packets = DAT_SIM_PACKET_CM,
			       .verdict = DAT_SIM_DROP });
	must(dat_cr_accept(expect_request(w.b.cr, psp), w.b.ep, 0, NULL));
	advance_us(10 * RETRY_US);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_no_event(w.a.connect);
	ck_assert_uint_eq(reasons(), 1);
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	must(dat_psp_free(psp));
}
END_TEST

/* The answers to a first message are lost for good; a second one has completed both meanwhile. */
START_TEST(answers_that_are_given_up_do_not_end_a_stream_that_needs_them_no_more)
{
	DAT_UINT64 begin;

	uneven_pair();
	begin = now_ns();
	fault((DAT_SIM_FAULT){ .packets = ACK, .until_ns = begin + 5000, .verdict = DAT_SIM_DROP });
	fault((DAT_SIM_FAULT){ .packets = ACK,
			       .since_ns = begin + 100000,
			       .verdict = DAT_SIM_DROP });
	post_recvs(&w.b, w.b.ep, 10, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(10);
	ck_assert_int_eq(drain(w.a.request), 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), 2);
	ck_assert_int_eq(drain(w.b.recv), 2);
	must(dat_sim_fault_clear(w.sim));
	disconnect_pair();
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, a_NAK_that_tells_of_no_progress_counts_as_a_retry);
	unit_test(suite, a_late_ACK_for_an_earlier_message_is_no_progress);
	unit_test(suite, a_late_response_to_an_earlier_Read_is_no_progress);
	unit_test(suite, the_timeout_begins_again_when_a_NAK_asks_for_a_copy);
	unit_test(suite, a_timeout_that_ends_as_a_message_arrives_is_not_prolonged);
	unit_test(suite, the_answer_to_an_earlier_Read_does_not_shorten_the_wait_after_a_NAK);
	unit_test(suite, a_response_ends_the_wait_after_a_NAK_for_an_earlier_Send);
	unit_test(suite, a_Read_that_is_complete_is_not_repeated_and_stops_no_one);
	unit_test(suite, a_message_that_is_held_during_a_retransmission_arrives_once);
	unit_test(suite, a_connection_after_one_that_ran_out_of_retries_begins_anew);
	unit_test(suite, who_accepts_hears_of_the_end_though_its_packets_are_lost);
	unit_test(suite, who_asked_is_not_half_open_when_the_answer_is_lost);
	unit_test_iwarp(suite,
			answers_that_are_given_up_do_not_end_a_stream_that_needs_them_no_more);
}

UNIT_SUITE("retry_times")
