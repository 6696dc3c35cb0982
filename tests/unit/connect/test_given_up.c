/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that one side abandons during the handshake: rulings E4, E5. */
#include "tests/support/support.h"

/* ---- E5: the active side is gone ---- */

static void expect_accept_fails(DAT_CR_HANDLE cr)
{
	w.b.ep = plain_ep(&w.b);
	post_recv(&w.b, w.b.ep, 3);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	expect_dto(w.b.recv, w.b.ep, 3, DAT_DTO_ERR_FLUSHED);
}

START_TEST(E5_accepting_after_the_active_side_disconnected)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_accept_fails(cr);
}
END_TEST

START_TEST(E5_accepting_after_the_active_side_timed_out)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);

	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, 100));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_accept_fails(expect_request(w.b.cr, psp));
}
END_TEST

START_TEST(E5_accepting_after_the_active_side_was_freed)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_ep_free(w.a.ep));
	run_quiet();
	expect_accept_fails(cr);
}
END_TEST

START_TEST(E5_accepting_after_the_active_side_closed_its_adapter)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	side_close(&w.a);
	run_quiet();
	expect_accept_fails(cr);
}
END_TEST

/* Where packets may overtake, the end of a connection can overtake its beginning. */
START_TEST(E5_the_active_side_disconnected_before_the_passive_one_knew_of_a_connection)
{
	static const DAT_SIM_FAULT late = { .from = "emu0",
					    .packets = DAT_SIM_PACKET_CM,
					    .after = 1, /* the request */
					    .verdict = DAT_SIM_REORDER,
					    .delay_ns = 100 * LATENCY_NS };
	DAT_CR_HANDLE cr;
	DAT_COUNT id;

	must(dat_sim_fault_add(w.sim, &late, &id));
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	advance_us(5);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_COMPLETION_PENDING);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	must(dat_sim_fault_clear(w.sim));
}
END_TEST

START_TEST(E5_rejecting_after_the_active_side_has_gone_succeeds)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_ep_free(w.a.ep));
	must(dat_cr_reject(cr));
	run_quiet();
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
}
END_TEST

/* ---- packets of one attempt do not reach the next ---- */

static void give_up(struct side *side, DAT_EP_HANDLE ep)
{
	must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_connection(side->connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_reset(ep));
}

START_TEST(E5_the_answer_to_an_attempt_given_up_comes_to_nothing)
{
	DAT_EP_HANDLE first = plain_ep(&w.b), second = plain_ep(&w.b);
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	hold_link("emu1", "emu0");
	must(dat_cr_accept(cr, first, 0, NULL));
	give_up(&w.a, w.a.ep);
	cr = request(w.a.ep, &w.b, QUAL);
	release_link("emu1", "emu0");
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	expect_no_event(w.a.connect);
	expect_connection(w.b.connect, first, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	must(dat_cr_accept(cr, second, 0, NULL));
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	expect_state(second, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(E5_the_rejection_of_an_attempt_given_up_comes_to_nothing)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	hold_link("emu1", "emu0");
	must(dat_cr_reject(cr));
	give_up(&w.a, w.a.ep);
	(void)request(w.a.ep, &w.b, QUAL);
	release_link("emu1", "emu0");
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	expect_no_event(w.a.connect);
}
END_TEST

/* The end of the first handshake arrives during the second, which uses another link. */
START_TEST(E5_the_end_of_a_handshake_given_up_comes_to_nothing)
{
	DAT_CR_HANDLE cr, next;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	next = request(plain_ep(&w.b), &w.b, QUAL);
	hold_link("emu0", "emu1");
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	run_quiet();
	give_up(&w.b, w.b.ep);
	hold_link("emu1", "emu1");
	must(dat_cr_accept(next, w.b.ep, 0, NULL));
	release_link("emu0", "emu1");
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_COMPLETION_PENDING);
	release_link("emu1", "emu1");
	run_quiet();
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(E4_the_time_of_one_attempt_does_not_end_the_next)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);

	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, 250));
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_reset(w.a.ep));
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	advance_us(300);
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	expect_no_event(w.a.connect);
	must(dat_psp_free(psp));
}
END_TEST

START_TEST(E4_the_time_of_an_attempt_does_not_end_the_connection)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);

	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, 250));
	advance_us(2);
	must(dat_cr_accept(expect_request(w.b.cr, psp), plain_ep(&w.b), 0, NULL));
	advance_us(300);
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_no_event(w.a.connect);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, E5_accepting_after_the_active_side_disconnected);
	unit_test_all(suite, E5_accepting_after_the_active_side_timed_out);
	unit_test_all(suite, E5_accepting_after_the_active_side_was_freed);
	unit_test_all(suite, E5_accepting_after_the_active_side_closed_its_adapter);
	unit_test_all(suite,
		      E5_the_active_side_disconnected_before_the_passive_one_knew_of_a_connection);
	unit_test_all(suite, E5_rejecting_after_the_active_side_has_gone_succeeds);
	unit_test_all(suite, E5_the_answer_to_an_attempt_given_up_comes_to_nothing);
	unit_test_all(suite, E5_the_rejection_of_an_attempt_given_up_comes_to_nothing);
	unit_test_all(suite, E5_the_end_of_a_handshake_given_up_comes_to_nothing);
	unit_test_all(suite, E4_the_time_of_one_attempt_does_not_end_the_next);
	unit_test_all(suite, E4_the_time_of_an_attempt_does_not_end_the_connection);
}

UNIT_SUITE("given_up")
