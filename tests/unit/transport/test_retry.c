/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The corners of retransmission: what a NAK for a lost packet says of the messages before it, which
 * request fails when all retries are used up, and that nothing is left of a loss that is over.
 */
#include "emu/fabric/fabric.h"
#include "lib/object.h"

#include "tests/support/support.h"

#define SEND (DAT_SIM_PACKET_SEND)
#define ACK  (DAT_SIM_PACKET_ACK)

enum {
	MESSAGES = 30, /* with every seventh packet lost, that makes ten NAKs: more than RETRIES */
	LONG_SLOTS = 16,
	LONG_MESSAGE = LONG_SLOTS * SLOT_SIZE, /* 64 packets */
};

START_TEST(the_request_that_fails_is_the_oldest_one)
{
	const char *text;
	size_t length;

	must(dat_sim_trace(w.sim, DAT_TRUE));
	uneven_pair();
	drop(SEND, 0);
	for (int n = 0; n < 3; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_pair_broken();
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_ptr_nonnull(strstr(text, " fail cause=RETRY message=6\n"));
}
END_TEST

/* On profile ib a NAK acknowledges what came before: here nothing else does. */
START_TEST(a_NAK_for_a_lost_packet_completes_the_messages_before_it)
{
	uneven_pair();
	drop(ACK, 0);
	drop(SEND, 3);
	post_recvs(&w.b, w.b.ep, 10, 4);
	for (int n = 0; n < 4; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	advance_us(20);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_no_event(w.a.request);
	must(dat_sim_fault_clear(w.sim));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 3, DAT_DTO_SUCCESS);
	ck_assert_int_eq(drain(w.b.recv), 4);
}
END_TEST

/* Each NAK is for a later message than the one before. */
START_TEST(NAKs_that_tell_of_progress_are_not_counted_as_retries)
{
	uneven_pair();
	drop(ACK, 0);
	fault((DAT_SIM_FAULT){ .packets = SEND, .every = 7, .verdict = DAT_SIM_DROP });
	post_recvs(&w.b, w.b.ep, 10, MESSAGES);
	for (int n = 0; n < MESSAGES; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	advance_us(200);
	must(dat_sim_fault_clear(w.sim));
	run_quiet();
	for (int n = 0; n < MESSAGES; n++)
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	ck_assert_int_eq(drain(w.b.recv), MESSAGES);
}
END_TEST

/* Each NAK is for a later packet than the one before. */
START_TEST(NAKs_that_tell_of_progress_inside_a_message_are_not_counted_either)
{
	DAT_LMR_TRIPLET to = segment(&w.b, 0, LONG_MESSAGE);
	DAT_COUNT naks;

	uneven_pair();
	naks = fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_NAK, .verdict = DAT_SIM_PASS });
	fault((DAT_SIM_FAULT){ .packets = SEND, .every = 5, .verdict = DAT_SIM_DROP });
	for (int i = 0; i < LONG_SLOTS; i++)
		fill_slot(&w.a, i, 50 + i);
	must(dat_ep_post_recv(w.b.ep, 1, &to, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	must(try_send(&w.a, w.a.ep, 0, LONG_MESSAGE));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_int_eq(drain(w.b.recv), 1);
	ck_assert_mem_eq(slot(&w.a, 0), slot(&w.b, 0), LONG_MESSAGE);
	ck_assert_uint_gt(fired(naks), RETRIES + 1);
}
END_TEST

/* A rule answers the last packet of each copy with a NAK that asks for it. */
START_TEST(a_NAK_for_the_same_packet_again_is_no_progress)
{
	DAT_COUNT naks;

	uneven_pair();
	naks = fault((DAT_SIM_FAULT){ .packets = SEND,
				      .part = DAT_SIM_PART_LAST,
				      .verdict = DAT_SIM_NAK,
				      .nak = DAT_SIM_NAK_SEQUENCE });
	post_recvs(&w.b, w.b.ep, 10, 1);
	post_send(&w.a, w.a.ep, 0, LONG);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	ck_assert_uint_eq(fired(naks), 1 + RETRIES);
	expect_pair_broken();
}
END_TEST

/* Both connections lose the third packet of their first message; the second one does so late. */
START_TEST(what_a_NAK_asked_for_is_forgotten_with_the_connection)
{
	DAT_COUNT late;

	plain_pair();
	drop(SEND, 3);
	post_recv(&w.b, w.b.ep, 20);
	post_send(&w.a, w.a.ep, 0, LONG);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	must(dat_sim_fault_clear(w.sim));
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	run_quiet();
	drain(w.a.connect);
	drain(w.b.connect);
	drain(w.b.recv);
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	fault((DAT_SIM_FAULT){ .packets = SEND,
			       .times = LONG / MTU * RETRIES,
			       .verdict = DAT_SIM_DROP });
	late = drop(SEND, 3); /* of those that the other rule lets pass */
	post_recv(&w.b, w.b.ep, 21);
	post_send(&w.a, w.a.ep, 1, LONG);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 21, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(fired(late), 1);
}
END_TEST

/* The answer to the Read is lost, so the oldest request stays the same. */
START_TEST(NAKs_that_tell_of_progress_behind_a_read_are_not_counted_either)
{
	DAT_COUNT naks;

	rdma_pair(1, 1);
	drop(DAT_SIM_PACKET_READ_RESPONSE, 1);
	naks = fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_NAK, .verdict = DAT_SIM_PASS });
	fault((DAT_SIM_FAULT){ .packets = SEND, .every = 7, .verdict = DAT_SIM_DROP });
	post_recvs(&w.b, w.b.ep, 10, MESSAGES);
	post_read(&w.a, w.a.ep, 0, remote(&w.b, 8, SHORT));
	for (int n = 1; n <= MESSAGES; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	run_quiet();
	ck_assert_uint_gt(fired(naks), RETRIES + 1);
	for (int n = 0; n <= MESSAGES; n++)
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	ck_assert_int_eq(drain(w.b.recv), MESSAGES);
}
END_TEST

/* The reasons for which the fabric looks at single packets */
static uint32_t reasons(void)
{
	struct nic *nic = ((struct handle_slot *)w.a.ia)->object->nic;

	return emu_world_of(nic)->fab->observed;
}

static uint32_t pool_used(void)
{
	struct nic *nic = ((struct handle_slot *)w.a.ia)->object->nic;

	return emu_world_of(nic)->fab->pool_next;
}

static void hold_and_release(void)
{
	post_recvs(&w.b, w.b.ep, 10, 8);
	hold_link("emu0", "emu1");
	for (int n = 0; n < 8; n++)
		post_send(&w.a, w.a.ep, n, LONG);
	run_quiet();
	release_link("emu0", "emu1");
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), 8);
	ck_assert_int_eq(drain(w.b.recv), 8);
}

START_TEST(a_packet_that_was_held_leaves_no_memory_in_use)
{
	uint32_t used;

	plain_pair();
	hold_and_release();
	used = pool_used();
	hold_and_release();
	ck_assert_uint_eq(pool_used(), used);
}
END_TEST

/* A late packet is a reason to observe others, and a hold keeps it until its connection ends. */
START_TEST(a_late_packet_that_is_held_is_forgotten_with_its_connection)
{
	plain_pair();
	fault((DAT_SIM_FAULT){ .packets = SEND,
			       .nth = 1,
			       .verdict = DAT_SIM_DELAY,
			       .delay_ns = 20000 });
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(5);
	must(dat_sim_hold_message(w.a.ep, 1, 0));
	advance_us(100);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	must(dat_ep_reset(w.a.ep));
	must(dat_sim_fault_clear(w.sim));
	ck_assert_uint_eq(reasons(), 0);
}
END_TEST

/*
 * The first copy of a message finds no Receive; the NAK that says so is late. The second copy finds
 * one; its ACK comes after the NAK. The messages behind it are posted during the wait, or after it.
 */
START_TEST(an_ACK_ends_the_wait_after_a_NAK_for_an_earlier_copy)
{
	bool behind = _i;
	DAT_COUNT naks;

	uneven_pair();
	fault((DAT_SIM_FAULT){ .packets = SEND,
			       .nth = 1,
			       .verdict = DAT_SIM_DELAY,
			       .delay_ns = 100 });
	naks = fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_RNR_NAK,
				      .nth = 1,
				      .verdict = DAT_SIM_REORDER,
				      .delay_ns = RETRY_NS });
	fault((DAT_SIM_FAULT){ .packets = ACK,
			       .nth = 1,
			       .verdict = DAT_SIM_DELAY,
			       .delay_ns = 20000 });
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(RETRY_NS / 2000);
	ck_assert_uint_eq(fired(naks), 1);
	post_recvs(&w.b, w.b.ep, 10, 3);
	advance_us(RETRY_NS / 2000 + 10);
	if (behind) {
		post_send(&w.a, w.a.ep, 1, SHORT);
		post_send(&w.a, w.a.ep, 2, SHORT);
	}
	expect_no_event(w.a.request);
	advance_us(20);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	if (!behind) {
		post_send(&w.a, w.a.ep, 1, SHORT);
		post_send(&w.a, w.a.ep, 2, SHORT);
	}
	advance_us(10);
	ck_assert_int_eq(drain(w.b.recv), 3);
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), 2);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

/* What was sent to an Endpoint that is gone is not answered, and the word of its end is lost. */
START_TEST(who_is_left_with_requests_in_flight_finds_out)
{
	uneven_pair();
	drop(DAT_SIM_PACKET_DISCONNECT, 0);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	post_send(&w.b, w.b.ep, 1, SHORT);
	run_quiet();
	expect_end(&w.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_dto(w.b.request, w.b.ep, 1, DAT_DTO_ERR_TRANSPORT);
	expect_end(&w.b, DAT_CONNECTION_EVENT_BROKEN);
	must(dat_sim_fault_clear(w.sim));
	ck_assert_uint_eq(reasons(), 0);
}
END_TEST

/* ---- what is left of a loss ---- */

static const struct trouble {
	DAT_SIM_FAULT fault;
	int buffers; /* of three messages; the rest comes later */
	bool ends;   /* the connection */
} troubles[] = {
	{ { .packets = SEND, .nth = 1, .verdict = DAT_SIM_DROP }, 3, false },
	{ { .packets = SEND, .nth = 3, .verdict = DAT_SIM_DROP }, 3, false },
	{ { .packets = SEND, .every = 2, .times = 4, .verdict = DAT_SIM_DROP }, 3, false },
	{ { .packets = ACK, .times = 3, .verdict = DAT_SIM_DROP }, 3, false },
	{ { .packets = ACK, .verdict = DAT_SIM_DROP }, 3, true },
	{ { .packets = SEND, .verdict = DAT_SIM_DROP }, 3, true },
	{ { .packets = SEND, .nth = 2, .verdict = DAT_SIM_DROP }, 0, false },
	{ { .packets = SEND, .nth = 2, .verdict = DAT_SIM_DELAY, .delay_ns = 3 * RETRY_NS },
	  3,
	  false },
	{ { .packets = SEND | ACK, .nth = 2, .verdict = DAT_SIM_DUPLICATE }, 3, false },
};

START_TEST(nothing_is_left_of_a_loss_that_is_over)
{
	const struct trouble *t = &troubles[_i];

	uneven_pair();
	ck_assert_uint_eq(reasons(), 0);
	fault(t->fault);
	post_recvs(&w.b, w.b.ep, 10, t->buffers);
	for (int n = 0; n < 3; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	advance_us(50);
	post_recvs(&w.b, w.b.ep, 10, 3 - t->buffers);
	run_quiet();
	if (t->ends)
		expect_pair_broken();
	else
		ck_assert_int_eq(drain(w.b.recv), 3);
	ck_assert_int_eq(drain(w.a.request), 3);
	must(dat_sim_fault_clear(w.sim));
	ck_assert_uint_eq(reasons(), 0);
}
END_TEST

/* A message that found no Receive ends the gap that it made: a later one is asked for at once. */
START_TEST(a_loss_after_a_late_Receive_is_told_by_a_NAK)
{
	uneven_pair();
	fault((DAT_SIM_FAULT){ .packets = SEND, .nth = 3, .verdict = DAT_SIM_DROP });
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(LATENCY_NS / 1000);
	post_recvs(&w.b, w.b.ep, 10, 3);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	post_send(&w.a, w.a.ep, 1, SHORT);
	post_send(&w.a, w.a.ep, 2, SHORT);
	advance_us(RETRY_NS / 1000 - 1);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, the_request_that_fails_is_the_oldest_one);
	unit_test(suite, a_NAK_for_a_lost_packet_completes_the_messages_before_it);
	unit_test(suite, NAKs_that_tell_of_progress_are_not_counted_as_retries);
	unit_test(suite, NAKs_that_tell_of_progress_inside_a_message_are_not_counted_either);
	unit_test(suite, a_NAK_for_the_same_packet_again_is_no_progress);
	unit_test(suite, what_a_NAK_asked_for_is_forgotten_with_the_connection);
	unit_test(suite, NAKs_that_tell_of_progress_behind_a_read_are_not_counted_either);
	unit_test_loop(suite, an_ACK_ends_the_wait_after_a_NAK_for_an_earlier_copy, 2);
	unit_test(suite, a_packet_that_was_held_leaves_no_memory_in_use);
	unit_test(suite, a_late_packet_that_is_held_is_forgotten_with_its_connection);
	unit_test(suite, who_is_left_with_requests_in_flight_finds_out);
	unit_test(suite, a_loss_after_a_late_Receive_is_told_by_a_NAK);
	unit_test_loop(suite, nothing_is_left_of_a_loss_that_is_over, COUNT(troubles));
}

UNIT_SUITE("retry")
