/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attempts to connect, on the side that asks: which addresses it takes, what a call that fails and
 * a cause that comes late mean, and how often it asks. On the device of tests/stubverbs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

/* ---- addresses ---- */

static DAT_RETURN connect_to(const char *text, DAT_TIMEOUT timeout)
{
	struct sockaddr_in6 addr = { .sin6_family = strchr(text, ':') ? AF_INET6 : AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	void *bytes = strchr(text, ':') ? (void *)&addr.sin6_addr : (void *)&in->sin_addr;

	ck_assert_int_eq(inet_pton(addr.sin6_family, text, bytes), 1);
	return dat_ep_connect(w.a.ep, (DAT_IA_ADDRESS_PTR)&addr, QUAL, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static const struct {
	const char *own, *remote;
	DAT_RETURN_SUBTYPE subtype;
} wrong[] = {
	{ "192.0.2.1", "0.0.0.0", DAT_INVALID_ADDRESS_MALFORMED },
	{ "192.0.2.1", "255.255.255.255", DAT_INVALID_ADDRESS_MALFORMED },
	{ "192.0.2.1", "224.0.0.1", DAT_INVALID_ADDRESS_MALFORMED },
	{ "192.0.2.1", "2001:db8::1", DAT_INVALID_ADDRESS_UNSUPPORTED },
	{ "2001:db8::1", "::", DAT_INVALID_ADDRESS_MALFORMED },
	{ "2001:db8::1", "ff02::1", DAT_INVALID_ADDRESS_MALFORMED },
	{ "2001:db8::1", "192.0.2.1", DAT_INVALID_ADDRESS_UNSUPPORTED },
};

START_TEST(page_an_address_that_no_peer_can_have_is_refused)
{
	stub_config.addresses = true;
	side_open(&w.a, wrong[_i].own);
	w.a.ep = plain_ep(&w.a);
	must_fail(connect_to(wrong[_i].remote, DAT_TIMEOUT_INFINITE), DAT_INVALID_ADDRESS,
		  wrong[_i].subtype);
	expect_state(w.a.ep, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

/* The deadline is far: it is not asked for again. */
START_TEST(an_address_without_a_way_to_it_is_unreachable_at_once)
{
	w.a.ep = plain_ep(&w.a);
	must(connect_to("198.51.100.1", 600000000));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}
END_TEST

/* The port of who asks; a listener of the stub has a low one, as programs do. */
START_TEST(page_a_request_has_the_port_of_who_asks)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_uint_ge(param.remote_port_qual, 40000);
	must(dat_cr_reject(cr));
}
END_TEST

/* Ports of the network have 16 bits. */
START_TEST(page_a_qualifier_that_is_no_port_cannot_be_listened_at)
{
	DAT_PSP_HANDLE psp;

	must_fail(dat_psp_create(w.b.ia, 65536 + QUAL, w.b.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_UNAVAILABLE, ANY_SUBTYPE);
	w.a.ep = plain_ep(&w.a);
	(void)listen_at(&w.b, QUAL);
	must(try_connect(w.a.ep, &w.b, 65536 + QUAL, DAT_TIMEOUT_INFINITE));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_no_event(w.b.cr);
}
END_TEST

static const int forbidden[] = { EACCES, EPERM };

START_TEST(a_port_that_this_user_may_not_have_is_unavailable)
{
	DAT_PSP_HANDLE psp;

	stub_fail("rdma_bind_addr", 1, forbidden[_i], false);
	must_fail(dat_psp_create(w.b.ia, QUAL, w.b.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_UNAVAILABLE, ANY_SUBTYPE);
}
END_TEST

/* ---- calls that fail ---- */

static const struct {
	int error;
	DAT_EVENT_NUMBER number;
} failures[] = {
	{ ECONNREFUSED, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
	{ ECONNRESET, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
	{ ETIMEDOUT, DAT_CONNECTION_EVENT_TIMED_OUT },
	{ EINVAL, DAT_CONNECTION_EVENT_UNREACHABLE },
};

/* The drivers of iWARP may connect within the call, and return the peer's answer. */
START_TEST(an_attempt_that_fails_in_the_call_has_the_cause_of_its_error)
{
	w.a.ep = plain_ep(&w.a);
	stub_fail("rdma_connect", 1, failures[_i].error, false);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	expect_connection(w.a.connect, w.a.ep, failures[_i].number);
}
END_TEST

/* ---- what comes late ---- */

/* The end is in progress, since the device does not flush, when the route is known at last. */
START_TEST(an_attempt_that_was_ended_before_its_route_is_known_asks_nobody)
{
	w.a.ep = plain_ep(&w.a);
	post_recv(&w.a, w.a.ep, 0);
	(void)listen_at(&w.b, QUAL);
	stub_config.lose = STUB_REQ;
	stub_config.resends = false;
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	stub_settle();
	stub_lock();
	stub_config.lose = STUB_NONE;
	stub_config.flush_polls = 1 << 30;
	stub_unlock();
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	stub_cm_event(RDMA_CM_EVENT_ROUTE_RESOLVED, 0, true);
	stub_settle();
	expect_no_event(w.b.cr);
	stub_lock();
	stub_config.flush_polls = 0;
	stub_unlock();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

/* ---- old connections ---- */

enum {
	STALE_MOST = 8
};

/* As often in each attempt, also of an Endpoint that asked before. */
START_TEST(a_request_is_taken_for_an_old_connection_eight_times_at_most)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	for (int i = 0; i < 2; i++) {
		stub_config.stale = STALE_MOST;
		connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
		disconnect_pair();
		must(dat_ep_reset(w.a.ep));
		must(dat_ep_reset(w.b.ep));
	}
	stub_config.stale = STALE_MOST + 1;
	(void)listen_at(&w.b, QUAL);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ck_assert_int_eq(stub_config.stale, 0);
}
END_TEST

static void setup_on_infiniband(void)
{
	stub_config.iwarp = false;
	setup_sides();
}

static void fill(Suite *suite)
{
	unit_add(suite, page_an_address_that_no_peer_can_have_is_refused, COUNT(wrong),
		 setup_fabric);
	unit_test(suite, an_address_without_a_way_to_it_is_unreachable_at_once);
	unit_test(suite, page_a_request_has_the_port_of_who_asks);
	unit_test(suite, page_a_qualifier_that_is_no_port_cannot_be_listened_at);
	unit_test_loop(suite, a_port_that_this_user_may_not_have_is_unavailable, COUNT(forbidden));
	unit_test_loop(suite, an_attempt_that_fails_in_the_call_has_the_cause_of_its_error,
		       COUNT(failures));
	unit_add(suite, an_attempt_that_was_ended_before_its_route_is_known_asks_nobody, 1,
		 setup_on_infiniband);
	unit_add(suite, a_request_is_taken_for_an_old_connection_eight_times_at_most, 1,
		 setup_on_infiniband);
}

int main(void)
{
	return unit_run_on_stub("attempts", fill);
}
