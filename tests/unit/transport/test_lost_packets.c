/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Effects of a message's packet that is lost, late, duplicated or refused: a table of packets and
 * outcomes.
 */
#include "tests/support/support.h"

#define SEND (DAT_SIM_PACKET_SEND)
#define ACK  (DAT_SIM_PACKET_ACK)
#define US   UINT64_C(1000)

/* ---- one packet is lost, and the program does not notice ---- */

/*
 * Three messages of four packets each; `buffers` Receives are posted at first, the others after 50
 * us. The deadline is that of profile ib: on iwarp a lost packet is retransmitted after RETRY_NS at
 * the earliest.
 */
static const struct loss {
	const char *what;
	DAT_SIM_FAULT fault;
	int buffers;
	DAT_UINT64 at_least_ns, at_most_ns;
} losses[] = {
	{ "nothing", { .verdict = DAT_SIM_PASS }, 3, 2 * US, 2 * US },
	{ "the first packet",
	  { .packets = SEND, .nth = 1, .verdict = DAT_SIM_DROP },
	  3,
	  4 * US,
	  4 * US },
	{ "one in the middle",
	  { .packets = SEND, .nth = 6, .verdict = DAT_SIM_DROP },
	  3,
	  4 * US,
	  4 * US },
	{ "the last of a message",
	  { .packets = SEND, .part = DAT_SIM_PART_LAST, .nth = 2, .verdict = DAT_SIM_CORRUPT },
	  3,
	  4 * US,
	  4 * US },
	{ "the last of all: only a timer can miss it",
	  { .packets = SEND, .nth = 12, .verdict = DAT_SIM_DROP },
	  3,
	  RETRY_NS,
	  RETRY_NS + 4 * US },
	{ "the acknowledgement",
	  { .packets = ACK, .nth = 1, .verdict = DAT_SIM_DROP },
	  3,
	  RETRY_NS,
	  RETRY_NS + 4 * US },
	{ "four packets in a row",
	  { .packets = SEND, .after = 3, .times = 4, .verdict = DAT_SIM_DROP },
	  3,
	  4 * US,
	  4 * US },
	{ "a packet twice",
	  { .packets = SEND, .every = 5, .times = 2, .verdict = DAT_SIM_DROP },
	  3,
	  4 * US,
	  8 * US },
	{ "every packet once doubled", { .verdict = DAT_SIM_DUPLICATE }, 3, 2 * US, 4 * US },
	{ "the first packet is overtaken",
	  { .packets = SEND, .nth = 1, .verdict = DAT_SIM_REORDER },
	  3,
	  4 * US,
	  8 * US },
	{ "everything is late",
	  { .delay_ns = 20 * US, .jitter_ns = 5 * US, .verdict = DAT_SIM_DELAY },
	  3,
	  30 * US,
	  64 * US },
	{ "later than the timer",
	  { .delay_ns = 1500 * US, .nth = 2, .packets = SEND, .verdict = DAT_SIM_DELAY },
	  3,
	  1500 * US,
	  1510 * US },
	{ "a NAK that asks for what came",
	  { .packets = SEND, .nth = 7, .verdict = DAT_SIM_NAK, .nak = DAT_SIM_NAK_SEQUENCE },
	  3,
	  4 * US,
	  4 * US },
};

/* These rows are only for profile ib. */
static const struct loss rnr_losses[] = {
	{ "the RNR NAK",
	  { .packets = DAT_SIM_PACKET_RNR_NAK, .nth = 1, .verdict = DAT_SIM_DROP },
	  1,
	  RETRY_NS,
	  RETRY_NS + 200 * US },
	{ "what is sent again after it",
	  { .packets = SEND, .after = 12, .nth = 1, .verdict = DAT_SIM_DROP },
	  1,
	  RETRY_NS + 100 * US,
	  RETRY_NS + 110 * US },
	{ "an RNR NAK though there is a buffer",
	  { .verdict = DAT_SIM_RNR, .nth = 2 },
	  3,
	  100 * US,
	  110 * US },
	{ "thrice (the messages behind it count)",
	  { .verdict = DAT_SIM_RNR, .times = 7 },
	  3,
	  300 * US,
	  320 * US },
	{ "the NAK that asks for a packet",
	  { .packets = DAT_SIM_PACKET_NAK, .nth = 1, .verdict = DAT_SIM_DROP },
	  0,
	  RETRY_NS,
	  RETRY_NS + 10 * US },
};

static void send_three(const struct loss *loss)
{
	int n;

	post_srqs(&w.b, 20, loss->buffers);
	for (n = 0; n < 3; n++) {
		fill_slot(&w.a, n, n + 1);
		post_send(&w.a, w.a.ep, n, LONG);
	}
	if (loss->buffers < 3)
		advance_us(50);
	post_srqs(&w.b, 20 + loss->buffers, 3 - loss->buffers);
	run_quiet();
}

static void expect_three(const struct loss *loss, bool in_order)
{
	int n;

	for (n = 0; n < 3; n++) {
		DAT_EVENT event = expect_event(w.b.recv, DAT_DTO_COMPLETION_EVENT);
		int slot = (int)event.event_data.dto_completion_event_data.user_cookie.as_64;

		/* On iwarp a message may take its buffer before an earlier one does. */
		ck_assert(slot == 20 + n || !in_order);
		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
		ck_assert_msg(slot_holds(&w.b, slot, n + 1, LONG), "%s: message %d", loss->what, n);
	}
	expect_no_event(w.b.recv);
	expect_no_event(w.a.request);
	expect_no_event(w.a.connect);
	expect_no_event(w.b.connect);
	srq_counts(w.b.srq, 10, 0, 0);
}

static void lose(const struct loss *loss, bool timed)
{
	DAT_UINT64 start;
	DAT_COUNT id;

	srq_pair(10);
	id = fault(loss->fault);
	start = now_ns();
	send_three(loss);
	ck_assert_msg(fired(id) > 0, "%s: never happened", loss->what);
	expect_three(loss, timed);
	if (timed)
		ck_assert_msg(now_ns() - start >= loss->at_least_ns &&
				      now_ns() - start <= loss->at_most_ns,
			      "%s: took %lu ns", loss->what, (unsigned long)(now_ns() - start));
}

START_TEST(a_lost_packet_costs_time_and_nothing_else)
{
	lose(&losses[_i], true);
}
END_TEST

START_TEST(a_lost_packet_on_iwarp_costs_time_and_nothing_else)
{
	if (losses[_i].fault.verdict != DAT_SIM_NAK)
		lose(&losses[_i], false);
}
END_TEST

START_TEST(a_message_without_a_buffer_survives_losses)
{
	if (rnr_losses[_i].buffers == 0) /* causes retransmissions */
		drop(SEND, 2);
	if (rnr_losses[_i].buffers == 0) {
		struct loss loss = rnr_losses[_i];

		loss.buffers = 3;
		lose(&loss, true);
	} else {
		lose(&rnr_losses[_i], true);
	}
}
END_TEST

/* ---- the program does notice ---- */

START_TEST(an_answer_that_never_comes_ends_the_request_and_both_ends)
{
	DAT_UINT64 start;
	DAT_COUNT id;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 2);
	id = drop(SEND, 0);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
	expect_end(&w.a, DAT_CONNECTION_EVENT_BROKEN);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.b.recv, w.b.ep, 21, DAT_DTO_ERR_FLUSHED);
	expect_end(&w.b, DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_uint_ge(fired(id), RETRIES + 1);
	ck_assert_uint_ge(now_ns() - start,
			  RETRIES * RETRY_NS); /* iwarp; ib waits for the last try */
	ck_assert_uint_le(now_ns() - start, (RETRIES + 1) * RETRY_NS + 10 * US);
}
END_TEST

/* The responder executed the request; the requester cannot know. */
START_TEST(acknowledgements_that_never_come_end_a_message_that_arrived)
{
	plain_pair();
	post_recv(&w.b, w.b.ep, 20);
	drop(ACK, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	expect_no_event(w.b.recv);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	expect_end(&w.a, DAT_CONNECTION_EVENT_BROKEN);
	expect_end(&w.b, DAT_CONNECTION_EVENT_BROKEN);
}
END_TEST

START_TEST(the_knobs_say_how_often_and_how_long)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_UINT64 start;

	must(dat_sim_destroy(w.sim));
	config.retry = (DAT_UINT32)_i;
	config.retry_timer_ns = 70 * US;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	post_recv(&w.b, w.b.ep, 20);
	drop(SEND, 0);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	ck_assert_uint_ge(now_ns() - start, ((DAT_UINT64)_i + 1) * 70 * US);
	ck_assert_uint_le(now_ns() - start, ((DAT_UINT64)_i + 1) * 75 * US);
}
END_TEST

/* The retry count limits tries without progress, not losses. */
START_TEST(progress_starts_the_count_anew)
{
	int n;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 20);
	fault((DAT_SIM_FAULT){ .packets = SEND, .probability = 300000, .verdict = DAT_SIM_DROP });
	for (n = 0; n < 20; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	run_quiet();
	for (n = 0; n < 20; n++) {
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	}
	ck_assert_int_eq(drain(w.b.recv), 20);
}
END_TEST

/* A silence shorter than all retries does not end a connection. */
START_TEST(a_link_that_comes_back_in_time)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 2);
	fault((DAT_SIM_FAULT){ .from = "emu0",
			       .to = "emu1",
			       .packets = SEND,
			       .nth = 1,
			       .verdict = DAT_SIM_LINK_DOWN });
	fault((DAT_SIM_FAULT){ .from = "emu0",
			       .to = "emu1",
			       .since_ns = now_ns() + 3500 * US,
			       .verdict = DAT_SIM_LINK_UP });
	post_send(&w.a, w.a.ep, 0, LONG);
	post_send(&w.a, w.a.ep, 1, LONG);
	advance_us(3400);
	expect_no_event(w.b.recv);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 21, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* A graceful disconnect waits for retransmissions. */
START_TEST(a_graceful_disconnect_finishes_what_was_lost)
{
	plain_pair();
	post_recv(&w.b, w.b.ep, 20);
	drop(SEND, 1);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_end(&w.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_end(&w.b, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_lost_packet_costs_time_and_nothing_else, COUNT(losses), setup_sides);
	unit_add(suite, a_lost_packet_on_iwarp_costs_time_and_nothing_else, COUNT(losses),
		 setup_sides_iwarp);
	unit_add(suite, a_message_without_a_buffer_survives_losses, COUNT(rnr_losses), setup_sides);
	unit_test_all(suite, an_answer_that_never_comes_ends_the_request_and_both_ends);
	unit_test_all(suite, acknowledgements_that_never_come_end_a_message_that_arrived);
	unit_add(suite, the_knobs_say_how_often_and_how_long, 3, setup_fabric);
	unit_test_all(suite, progress_starts_the_count_anew);
	unit_test(suite, a_link_that_comes_back_in_time);
	unit_test_all(suite, a_graceful_disconnect_finishes_what_was_lost);
}

UNIT_SUITE("lost_packets")
