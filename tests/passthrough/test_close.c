/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of an iWARP stream, whose Sends have completed before they arrive. On a device of
 * tests/stubverbs whose peer is far away.
 */
#include <unistd.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

static void far_pair(void)
{
	stub_config = (struct stub_config){ .iwarp = true, .far = true };
	setup_sides();
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}

/* Not before the peer has closed the stream, too. */
static void expect_end_in_order(void)
{
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	usleep(50000);
	expect_no_event(w.a.connect);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	stub_resend();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* The Send has completed. A QP in the error state would reset the stream and lose it. */
START_TEST(what_was_sent_before_a_graceful_disconnect_arrives)
{
	far_pair();
	if (_i)
		post_recv(&w.a, w.a.ep, 2);
	expect_end_in_order();
	if (_i)
		expect_dto(w.a.recv, w.a.ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

/* An abrupt one waits for nothing, nor for a graceful one before it. */
START_TEST(an_abrupt_disconnect_does_not_wait_for_the_peer)
{
	far_pair();
	if (_i)
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	stub_resend();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

/* Its host is down: the wait for it has an end. */
START_TEST(a_graceful_disconnect_from_a_silent_peer_ends)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	far_pair();
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_evd_wait(w.a.connect, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	/* The next connection waits as long for its peer. */
	must(dat_ep_reset(w.a.ep));
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	post_recv(&w.b, w.b.ep, 3);
	post_send(&w.a, w.a.ep, 4, SHORT);
	expect_dto(w.a.request, w.a.ep, 4, DAT_DTO_SUCCESS);
	expect_end_in_order();
	expect_dto(w.b.recv, w.b.ep, 3, DAT_DTO_SUCCESS);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, what_was_sent_before_a_graceful_disconnect_arrives, 2, setup_nothing);
	unit_add(suite, an_abrupt_disconnect_does_not_wait_for_the_peer, 2, setup_nothing);
	unit_add(suite, a_graceful_disconnect_from_a_silent_peer_ends, 1, setup_nothing);
}

int main(void)
{
	return unit_run_on_stub("close", fill);
}
