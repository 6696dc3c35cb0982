/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the connection manager, each of which may be lost, and what devices say in them.
 * On the devices of tests/stubverbs.
 */
#include <errno.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

/* ---- lost messages ---- */

enum way {
	FREE,
	RESET,
	DISCONNECT,
	DISCONNECT_AND_FREE,
	WAYS
};

static void leave(enum way way)
{
	if (way == DISCONNECT || way == DISCONNECT_AND_FREE) {
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	if (way == FREE || way == DISCONNECT_AND_FREE)
		must(dat_ep_free(w.a.ep));
	if (way == RESET) {
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_reset(w.a.ep));
	}
}

/* Also if it only receives, so that no Send of its own could tell. */
START_TEST(a_peer_hears_of_the_end_though_the_first_message_of_it_is_lost)
{
	int before;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
	stub_config.lose = STUB_DREQ;
	stub_config.resends = false;
	leave(_i);
	stub_config.lose = STUB_NONE;
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	before = stub_objects();
	stub_resend();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	ck_assert_int_eq(drain(w.b.recv), 2);
	/* The id that waited for the answer is gone, and so is the peer's. */
	stub_await_objects(before - 2);
}
END_TEST

/* ---- rejections ---- */

static const struct stub_config kinds[] = {
	{ .iwarp = false },
	{ .iwarp = true },                       /* as siw */
	{ .iwarp = true, .reset = -ECONNRESET }, /* as irdma and cxgb4 */
};

static void setup_kind(int kind)
{
	stub_config = kinds[kind];
	setup_sides();
}

START_TEST(a_program_that_rejects_is_told_from_nobody_there)
{
	DAT_CR_HANDLE cr;

	setup_kind(_i);
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	must(dat_ep_reset(w.a.ep));
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_reject(cr));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
}
END_TEST

static void setup_on_infiniband(void)
{
	stub_config.iwarp = false;
	setup_sides();
}

static void fill(Suite *suite)
{
	unit_add(suite, a_program_that_rejects_is_told_from_nobody_there, COUNT(kinds),
		 setup_fabric);
	unit_add(suite, a_peer_hears_of_the_end_though_the_first_message_of_it_is_lost, WAYS,
		 setup_on_infiniband);
}

int main(void)
{
	return unit_run_on_stub("cm", fill);
}
