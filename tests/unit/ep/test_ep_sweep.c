/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call on an Endpoint in every state that public calls can reach: it is allowed, or it
 * returns DAT_INVALID_STATE with the subtype of that state and changes nothing (rulings G1, G2, M5,
 * E7).
 */
#include "tests/support/support.h"

#define S(state) (1u << DAT_EP_STATE_##state)
#define ANYWHERE UINT_MAX
#define QUIET                                                           \
	(S(UNCONNECTED) | S(RESERVED) | S(PASSIVE_CONNECTION_PENDING) | \
	 S(TENTATIVE_CONNECTION_PENDING))
#define CLAIMED (QUIET & ~S(UNCONNECTED))

/* A request from another EP of w.b that w.a could accept */
static DAT_CR_HANDLE offered;
/* An EP of w.a in a connection */
static DAT_EP_HANDLE connected;

static DAT_RETURN call_connect(DAT_EP_HANDLE ep)
{
	return try_connect(ep, &w.b, QUAL + 2, DAT_TIMEOUT_INFINITE);
}

static DAT_RETURN call_dup_connect(DAT_EP_HANDLE ep)
{
	return dat_ep_dup_connect(ep, connected, DAT_TIMEOUT_INFINITE, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN call_reserve(DAT_EP_HANDLE ep)
{
	DAT_RSP_HANDLE rsp;

	return dat_rsp_create(w.a.ia, QUAL + 3, ep, w.a.cr, &rsp);
}

static DAT_RETURN call_accept(DAT_EP_HANDLE ep)
{
	return dat_cr_accept(offered, ep, 0, NULL);
}

static DAT_RETURN call_abrupt(DAT_EP_HANDLE ep)
{
	return dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN call_graceful(DAT_EP_HANDLE ep)
{
	return dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN call_send(DAT_EP_HANDLE ep)
{
	return try_send(&w.a, ep, 0, SHORT);
}

static DAT_RETURN call_empty_send(DAT_EP_HANDLE ep)
{
	return dat_ep_post_send(ep, 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN call_recv(DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SLOT_SIZE);

	return dat_ep_post_recv(ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN call_modify(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = { .ep_attr.max_recv_dtos = 9 };

	return dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param);
}

static DAT_RETURN call_modify_pz(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = { .pz_handle = w.a.pz };

	return dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param);
}

static DAT_RETURN call_modify_evd(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = { .request_evd_handle = w.a.request };

	return dat_ep_modify(ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param);
}

static DAT_RETURN call_query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	return dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN call_get_status(DAT_EP_HANDLE ep)
{
	return dat_ep_get_status(ep, NULL, NULL, NULL);
}

static DAT_RETURN call_recv_query(DAT_EP_HANDLE ep)
{
	DAT_COUNT nbufs;

	return dat_ep_recv_query(ep, &nbufs, NULL);
}

static DAT_RETURN call_set_watermark(DAT_EP_HANDLE ep)
{
	return dat_ep_set_watermark(ep, 5, 5);
}

/* clang-format off */
static const struct row {
	const char *name;
	DAT_RETURN (*call)(DAT_EP_HANDLE ep);
	unsigned int allowed;
} rows[] = {
	{ "connect",	  call_connect,	      S(UNCONNECTED) },
	{ "dup_connect",  call_dup_connect,   S(UNCONNECTED) },
	{ "reserve",	  call_reserve,	      S(UNCONNECTED) },
	{ "accept",	  call_accept,	      S(UNCONNECTED) },
	{ "modify",	  call_modify,	      QUIET },
	{ "modify pz",	  call_modify_pz,     S(UNCONNECTED) | S(TENTATIVE_CONNECTION_PENDING) },
	{ "modify evd",	  call_modify_evd,    QUIET },
	{ "reset",	  dat_ep_reset,	      S(UNCONNECTED) | S(DISCONNECTED) },
	{ "send",	  call_send,	      S(CONNECTED) | S(DISCONNECTED) },
	{ "empty send",	  call_empty_send,    S(CONNECTED) | S(DISCONNECTED) },
	{ "abrupt",	  call_abrupt,	      ANYWHERE & ~QUIET },
	{ "graceful",	  call_graceful,      ANYWHERE & ~QUIET },
	{ "recv",	  call_recv,	      ANYWHERE },
	{ "query",	  call_query,	      ANYWHERE },
	{ "get_status",	  call_get_status,    ANYWHERE },
	{ "recv_query",	  call_recv_query,    ANYWHERE },
	{ "set_watermark", call_set_watermark, ANYWHERE },
	{ "free",	  dat_ep_free,	      ANYWHERE & ~CLAIMED },
};
/* clang-format on */

/* All that queries show of an EP and its EVDs: equal before and after a refusal. */
struct picture {
	DAT_EP_PARAM param;
	DAT_COUNT nbufs, span;
	DAT_BOOLEAN recv_idle, request_idle;
};

static void take_picture(DAT_EP_HANDLE ep, struct picture *picture)
{
	memset(picture, 0, sizeof(*picture));
	must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &picture->param));
	must(dat_ep_recv_query(ep, &picture->nbufs, &picture->span));
	must(dat_ep_get_status(ep, NULL, &picture->recv_idle, &picture->request_idle));
}

START_TEST(G2_every_call_in_every_state_does_what_the_table_says)
{
	const struct row *row = &rows[_i / REACHABLE_STATES];
	DAT_EP_STATE state = reachable_states[_i % REACHABLE_STATES];
	bool allowed = row->allowed & (1u << state);
	struct picture before, after;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	connected = plain_ep(&w.a);
	connect_eps(&w.a, connected, &w.b, plain_ep(&w.b));
	offered = request(plain_ep(&w.b), &w.a, QUAL + 1);
	ep = ep_in_state(state);
	take_picture(ep, &before);
	ret = row->call(ep);
	if (allowed) {
		ck_assert_msg(ret == DAT_SUCCESS, "%s in state %d: expected success, got %s",
			      row->name, (int)state, ret_text(ret));
		return;
	}
	ck_assert_msg(is_failure(ret, DAT_INVALID_STATE, state_subtype(state)),
		      "%s in state %d: expected DAT_INVALID_STATE and that state, got %s",
		      row->name, (int)state, ret_text(ret));
	take_picture(ep, &after);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	run_quiet();
	expect_state(ep, state);
	expect_no_event(w.a.connect);
	expect_no_event(w.a.request);
	expect_no_event(w.a.recv);
}
END_TEST

/* The state is checked after the parameters. */
START_TEST(G2_parameters_are_checked_before_the_state)
{
	DAT_EP_HANDLE ep = ep_in_state(reachable_states[_i]);
	DAT_LMR_TRIPLET iov[6];
	int i;

	for (i = 0; i < 6; i++)
		iov[i] = segment(&w.a, i, SHORT);
	must_fail(dat_ep_connect(ep, address(&w.b), QUAL, 0, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	must_fail(dat_ep_disconnect(ep, (DAT_CLOSE_FLAGS)2), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must_fail(dat_ep_post_send(ep, 5, iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_ep_post_send(ep, 1, iov, cookie(0), (DAT_COMPLETION_FLAGS)0x40),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must_fail(dat_ep_post_recv(ep, -1, iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}
END_TEST

START_TEST(E7_a_refused_accept_leaves_request_endpoint_and_peer_untouched)
{
	DAT_EP_STATE state = reachable_states[_i];
	DAT_EP_HANDLE ep, asker, free_ep;
	DAT_CR_PARAM param;

	if (state == DAT_EP_STATE_UNCONNECTED || state == DAT_EP_STATE_COMPLETION_PENDING ||
	    state == DAT_EP_STATE_DISCONNECT_PENDING)
		return; /* nothing is refused here; in the other two states w.a cannot answer */
	asker = plain_ep(&w.b);
	offered = request(asker, &w.a, QUAL + 1);
	ep = ep_in_state(state);
	must_fail(dat_cr_accept(offered, ep, 0, NULL), DAT_INVALID_STATE, state_subtype(state));
	expect_state(ep, state);
	expect_state(asker, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	must(dat_cr_query(offered, DAT_CR_FIELD_ALL, &param));
	free_ep = plain_ep(&w.a);
	must(dat_cr_accept(offered, free_ep, 0, NULL));
	run_quiet();
	expect_state(asker, DAT_EP_STATE_CONNECTED);
	expect_state(free_ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(E7_an_accept_with_the_wrong_kind_of_thing_leaves_the_request)
{
	DAT_EP_HANDLE asker = plain_ep(&w.b);

	offered = request(asker, &w.a, QUAL);
	must_fail(dat_cr_accept(offered, w.a.recv, 0, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	must_fail(dat_cr_accept(offered, NO_HANDLE, 0, NULL), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EP);
	expect_state(asker, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	must(dat_cr_accept(offered, plain_ep(&w.a), 0, NULL));
	run_quiet();
	expect_state(asker, DAT_EP_STATE_CONNECTED);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, G2_every_call_in_every_state_does_what_the_table_says,
		       COUNT(rows) * REACHABLE_STATES);
	unit_test_loop(suite, G2_parameters_are_checked_before_the_state, REACHABLE_STATES);
	unit_test_loop(suite, E7_a_refused_accept_leaves_request_endpoint_and_peer_untouched,
		       REACHABLE_STATES);
	unit_test(suite, E7_an_accept_with_the_wrong_kind_of_thing_leaves_the_request);
}

UNIT_SUITE("ep_sweep")
