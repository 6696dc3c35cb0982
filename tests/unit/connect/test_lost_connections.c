/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that set up or end a connection are retransmitted a few times. If they stay lost, each
 * end that can be told gets an event (rulings E4, E5). A dead host does not answer at all.
 */
#include "tests/support/support.h"

#define CM         (DAT_SIM_PACKET_CM)
#define DISCONNECT (DAT_SIM_PACKET_DISCONNECT)
#define WAIT_US    60000 /* longer than all retries together */

static DAT_COUNT drop_cm(const char *from, DAT_UINT64 nth)
{
	return fault((
		DAT_SIM_FAULT){ .from = from, .packets = CM, .nth = nth, .verdict = DAT_SIM_DROP });
}

/* w.a's EP connects; w.b's accepts if the request arrives. */
static void connect_over_losses(DAT_TIMEOUT timeout)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	DAT_EVENT event;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.a.ep, &w.b, QUAL, timeout));
	run_quiet();
	if (dat_evd_dequeue(w.b.cr, &event) == DAT_SUCCESS) {
		must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, w.b.ep, 0,
				   NULL));
		run_quiet();
	}
	must(dat_psp_free(psp));
}

static void expect_established(void)
{
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_no_event(w.a.connect);
	expect_no_event(w.b.connect);
}

static void expect_it_works(void)
{
	post_recv(&w.b, w.b.ep, 20);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
}

/* ---- set-up ---- */

/* The first request, the first reply and the first ready packet are lost: each is retransmitted. */
START_TEST(a_lost_packet_of_the_set_up_is_sent_again)
{
	static const char *const from[] = { "emu0", "emu1", "emu0" };
	static const DAT_UINT64 nth[] = { 1, 1, 2 };
	DAT_COUNT id = drop_cm(from[_i], nth[_i]);

	connect_over_losses(DAT_TIMEOUT_INFINITE);
	ck_assert_uint_eq(fired(id), 1);
	ck_assert_uint_ge(now_ns(), RETRY_NS);
	expect_established();
	expect_it_works();
}
END_TEST

START_TEST(every_packet_of_the_set_up_doubled)
{
	DAT_COUNT id = fault((DAT_SIM_FAULT){ .packets = CM, .verdict = DAT_SIM_DUPLICATE });

	connect_over_losses(DAT_TIMEOUT_INFINITE);
	ck_assert_uint_eq(fired(id), 3);
	expect_established();
	expect_it_works();
	expect_no_event(w.b.cr);
}
END_TEST

START_TEST(E4_no_answer_in_time_is_TIMED_OUT)
{
	DAT_UINT64 start = now_ns();

	drop_cm("emu0", 0);
	connect_over_losses(WAIT_US);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_no_event(w.b.cr);
	ck_assert_uint_eq(now_ns() - start, WAIT_US * UINT64_C(1000));
}
END_TEST

/* Without a timeout of its own, a connect lasts as long as the transport's retries. */
START_TEST(E4_no_answer_to_the_last_try_is_TIMED_OUT)
{
	DAT_UINT64 start = now_ns();
	DAT_COUNT id = drop_cm("emu0", 0);

	connect_over_losses(DAT_TIMEOUT_INFINITE);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	ck_assert_uint_eq(fired(id), RETRIES + 1);
	ck_assert_uint_eq(now_ns() - start, RETRIES * RETRY_NS + LATENCY_NS);
}
END_TEST

START_TEST(E4_a_reply_that_never_comes_ends_both_sides)
{
	drop_cm("emu1", 0);
	connect_over_losses(_i ? DAT_TIMEOUT_INFINITE : WAIT_US);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_no_event(w.a.connect);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(E4_a_rejection_that_never_comes_is_TIMED_OUT)
{
	w.a.ep = plain_ep(&w.a);
	drop_cm("emu1", 0);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE)); /* there is no listener */
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
}
END_TEST

/* The active side is connected, but the passive side gave the connection up. */
START_TEST(the_word_that_it_came_is_lost_for_good)
{
	fault((DAT_SIM_FAULT){
		.from = "emu0",
		.packets = CM,
		.after = 1,
		.verdict = DAT_SIM_DROP,
	});
	connect_over_losses(DAT_TIMEOUT_INFINITE);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	expect_end(&w.a, DAT_CONNECTION_EVENT_BROKEN);
}
END_TEST

/* A message also tells the passive side that the active side is ready. */
START_TEST(the_first_message_stands_for_the_word_that_it_came)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	post_recv(&w.b, w.b.ep, 20);
	drop_cm("emu0", 2);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	advance_us(3);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_no_event(w.b.connect);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(3);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_SUCCESS);
	run_quiet(); /* the ready packet itself arrives late and changes nothing */
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(w.b.connect);
	must(dat_psp_free(psp));
}
END_TEST

/* ---- the end ---- */

START_TEST(a_lost_disconnect_is_sent_again)
{
	DAT_COUNT id;

	plain_pair();
	id = drop(DISCONNECT, 1);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	advance_us(10);
	expect_end(&w.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	run_quiet();
	expect_end(&w.b, DAT_CONNECTION_EVENT_DISCONNECTED);
	ck_assert_uint_eq(fired(id), 1);
}
END_TEST

/* The peer notices when it posts a request. */
START_TEST(a_disconnect_that_never_arrives_leaves_the_peer_connected)
{
	plain_pair();
	drop(DISCONNECT, 0);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_end(&w.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	must(dat_sim_fault_clear(w.sim));
	post_recv(&w.b, w.b.ep, 20);
	post_send(&w.b, w.b.ep, 21, SHORT);
	run_quiet();
	expect_dto(w.b.request, w.b.ep, 21, DAT_DTO_ERR_TRANSPORT);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_ERR_FLUSHED);
	expect_end(&w.b, DAT_CONNECTION_EVENT_BROKEN);
}
END_TEST

START_TEST(a_peer_left_connected_can_disconnect)
{
	plain_pair();
	drop(DISCONNECT, 0);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	must(dat_ep_disconnect(w.b.ep, _i ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG));
	run_quiet();
	expect_end(&w.b, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_reset(w.b.ep));
	must(dat_ep_reset(w.a.ep));
	must(dat_sim_fault_clear(w.sim));
	drain(w.a.connect);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	expect_it_works();
}
END_TEST

/* ---- the end, before both sides know of the connection ---- */

static void overtake_cm(const char *from, DAT_UINT64 nth)
{
	fault((DAT_SIM_FAULT){ .from = from,
			       .packets = CM,
			       .nth = nth,
			       .verdict = DAT_SIM_REORDER,
			       .delay_ns = 20 * RETRY_NS });
}

/* w.a's EP connects, and w.b's has accepted: both wait. */
static void accept_late(void)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	advance_us(3);
	must(dat_cr_accept(expect_request(w.b.cr, psp), w.b.ep, 0, NULL));
	must(dat_psp_free(psp));
}

START_TEST(E5_a_lost_disconnect_fails_an_accept_that_waits_for_the_word)
{
	overtake_cm("emu0", 2);
	drop(DISCONNECT, 0);
	accept_late();
	advance_us(3);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_end(&w.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	run_quiet(); /* the word comes after the last try of the disconnect */
	expect_end(&w.b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_no_event(w.b.connect);
}
END_TEST

START_TEST(E5_a_lost_disconnect_ends_a_connect_that_waits_for_the_reply)
{
	overtake_cm("emu1", 1);
	drop(DISCONNECT, 0);
	accept_late();
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_end(&w.b, DAT_CONNECTION_EVENT_DISCONNECTED);
	run_quiet(); /* the reply comes after the last try of the disconnect */
	expect_end(&w.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.a.connect);
}
END_TEST

/* ---- a dead host ---- */

static void kill_b(void)
{
	fault((DAT_SIM_FAULT){ .to = "emu1", .nth = 1, .verdict = DAT_SIM_HOST_DEAD });
}

START_TEST(a_dead_host_breaks_who_sends_to_it)
{
	plain_pair();
	post_recv(&w.b, w.b.ep, 20);
	kill_b();
	post_send(&w.a, w.a.ep, 0, LONG);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	expect_end(&w.a, DAT_CONNECTION_EVENT_BROKEN);
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	/* The host is alive, but its peers do not know: its own Sends fail like all others. */
	post_send(&w.b, w.b.ep, 21, SHORT);
	run_quiet();
	expect_dto(w.b.request, w.b.ep, 21, DAT_DTO_ERR_TRANSPORT);
	expect_dto(w.b.recv, w.b.ep, 20, DAT_DTO_ERR_FLUSHED);
	expect_end(&w.b, DAT_CONNECTION_EVENT_BROKEN);
}
END_TEST

START_TEST(E4_a_dead_host_does_not_answer)
{
	kill_b();
	connect_over_losses(WAIT_US);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_no_event(w.b.cr);
	/* The host comes back. */
	must(dat_ep_reset(w.a.ep));
	must(dat_sim_fault_clear(w.sim));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	expect_it_works();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_lost_packet_of_the_set_up_is_sent_again, 3, setup_sides);
	unit_add(suite, a_lost_packet_of_the_set_up_is_sent_again, 3, setup_sides_iwarp);
	unit_test(suite, every_packet_of_the_set_up_doubled);
	unit_test_all(suite, E4_no_answer_in_time_is_TIMED_OUT);
	unit_test_all(suite, E4_no_answer_to_the_last_try_is_TIMED_OUT);
	unit_add(suite, E4_a_reply_that_never_comes_ends_both_sides, 2, setup_sides);
	unit_test_all(suite, E4_a_rejection_that_never_comes_is_TIMED_OUT);
	unit_test_all(suite, the_word_that_it_came_is_lost_for_good);
	unit_test_all(suite, the_first_message_stands_for_the_word_that_it_came);
	unit_test_all(suite, a_lost_disconnect_is_sent_again);
	unit_test_all(suite, a_disconnect_that_never_arrives_leaves_the_peer_connected);
	unit_add(suite, a_peer_left_connected_can_disconnect, 2, setup_sides);
	unit_test(suite, E5_a_lost_disconnect_fails_an_accept_that_waits_for_the_word);
	unit_test(suite, E5_a_lost_disconnect_ends_a_connect_that_waits_for_the_reply);
	unit_test_all(suite, a_dead_host_breaks_who_sends_to_it);
	unit_test_all(suite, E4_a_dead_host_does_not_answer);
}

UNIT_SUITE("lost_connections")
