/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection requests. */
#include "tests/sweep/sweep.h"

static DAT_CR_HANDLE cr;
static char data[1024];

/* An unanswered request of w.b's Endpoint at w.a */
static void a_request(void)
{
	w.b.ep = plain_ep(&w.b);
	cr = request(w.b.ep, &w.a, QUAL);
}

#define PROVOKE_CR(how, call)       \
	static DAT_RETURN how(void) \
	{                           \
		a_request();        \
		return TRY(call);   \
	}

PROVOKE_CR(query_unknown_bit, dat_cr_query(cr, (DAT_CR_PARAM_MASK)0x20, &out.cr))
PROVOKE_CR(query_no_structure, dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL))

static DAT_RETURN accept_with(DAT_COUNT size, void *bytes)
{
	a_request();
	w.a.ep = plain_ep(&w.a);
	return TRY(dat_cr_accept(cr, w.a.ep, size, bytes));
}

static DAT_RETURN accept_negative_private_data(void)
{
	return accept_with(-1, NULL);
}

static DAT_RETURN accept_too_much_private_data(void)
{
	return accept_with(257, data);
}

static DAT_RETURN accept_no_private_data(void)
{
	return accept_with(8, NULL);
}

PROVOKE_CR(accept_with_no_endpoint, dat_cr_accept(cr, NO_HANDLE, 0, NULL))

static DAT_RETURN accept_in(DAT_EP_STATE state)
{
	w.a.ep = ep_in_state(state);
	cr = request(plain_ep(&w.b), &w.a, QUAL + 1);
	return TRY(dat_cr_accept(cr, w.a.ep, 0, NULL));
}

static DAT_RETURN accept_on_a_connected_endpoint(void)
{
	return accept_in(DAT_EP_STATE_CONNECTED);
}

static DAT_RETURN accept_on_a_disconnected_endpoint(void)
{
	return accept_in(DAT_EP_STATE_DISCONNECTED);
}

/* An Endpoint that was made for a request is incomplete until the Consumer configures it. */
static DAT_RETURN accept_with_an_endpoint_without(DAT_EP_PARAM_MASK missing)
{
	DAT_EP_PARAM nothing = { 0 };
	DAT_PSP_HANDLE psp = listen_for_eps(&w.a, QUAL);

	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.b.ep, &w.a, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(w.a.cr, psp);
	w.a.ep = ep_of_request(cr);
	if (missing != DAT_EP_FIELD_PZ_HANDLE) {
		configure(&w.a, w.a.ep);
		must(dat_ep_modify(w.a.ep, missing, &nothing));
	}
	return TRY(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
}

static DAT_RETURN accept_without_a_zone(void)
{
	return accept_with_an_endpoint_without(DAT_EP_FIELD_PZ_HANDLE);
}

static DAT_RETURN accept_without_a_receive_EVD(void)
{
	return accept_with_an_endpoint_without(DAT_EP_FIELD_RECV_EVD_HANDLE);
}

static DAT_RETURN accept_without_a_request_EVD(void)
{
	return accept_with_an_endpoint_without(DAT_EP_FIELD_REQUEST_EVD_HANDLE);
}

static DAT_RETURN accept_without_a_connect_EVD(void)
{
	return accept_with_an_endpoint_without(DAT_EP_FIELD_CONNECT_EVD_HANDLE);
}

/* A request that came with an Endpoint cannot be accepted with another one. */
static DAT_RETURN accept_with_another_endpoint(void)
{
	DAT_EP_HANDLE other = plain_ep(&w.a);
	DAT_RSP_HANDLE rsp;

	w.a.ep = plain_ep(&w.a);
	rsp = reserve(&w.a, QUAL, w.a.ep);
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.b.ep, &w.a, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(w.a.cr, rsp);
	return TRY(dat_cr_accept(cr, other, 0, NULL));
}

static DAT_RETURN accept_on_a_reserved_endpoint(void)
{
	return accept_in(DAT_EP_STATE_RESERVED);
}

/* The active side wants to send more Reads than the Endpoint serves. */
static DAT_RETURN accept_where_Reads_do_not_agree(void)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_rdma_read_out = 4;
	w.b.ep = plain_ep_with(&w.b, &attr);
	w.a.ep = plain_ep(&w.a);
	cr = request(w.b.ep, &w.a, QUAL);
	return TRY(dat_cr_accept(cr, w.a.ep, 0, NULL));
}

PROVOKE_CR(handoff_to_nobody, dat_cr_handoff(cr, QUAL + 5))

static const struct sweep_row rows[] = {
	ROW_ARG(dat_cr_query, 2, query_unknown_bit),
	ROW_ARG(dat_cr_query, 3, query_no_structure),
	ROW_ARG(dat_cr_accept, 3, accept_negative_private_data),
	ROW_ARG(dat_cr_accept, 3, accept_too_much_private_data),
	ROW_ARG(dat_cr_accept, 4, accept_no_private_data),
	ROW(dat_cr_accept, INVALID_HANDLE, INVALID_HANDLE_EP, accept_with_no_endpoint),
	ROW(dat_cr_accept, INVALID_STATE, INVALID_STATE_EP_CONNECTED,
	    accept_on_a_connected_endpoint),
	ROW(dat_cr_accept, INVALID_STATE, INVALID_STATE_EP_DISCONNECTED,
	    accept_on_a_disconnected_endpoint),
	ROW(dat_cr_accept, INVALID_STATE, INVALID_STATE_EP_RESERVED, accept_on_a_reserved_endpoint),
	ROW(dat_cr_accept, INVALID_STATE, INVALID_STATE_EP_PZ, accept_without_a_zone),
	ROW(dat_cr_accept, INVALID_STATE, INVALID_STATE_EP_EVD_RECV, accept_without_a_receive_EVD),
	ROW(dat_cr_accept, INVALID_STATE, INVALID_STATE_EP_EVD_REQUEST,
	    accept_without_a_request_EVD),
	ROW(dat_cr_accept, INVALID_STATE, INVALID_STATE_EP_EVD_CONNECT,
	    accept_without_a_connect_EVD),
	ROW_ARG(dat_cr_accept, 2, accept_with_another_endpoint),
	ROW_ARG(dat_cr_accept, 2, accept_where_Reads_do_not_agree),
	ROW_ARG(dat_cr_handoff, 2, handoff_to_nobody),
};

SWEEP_TABLE(sweep_cr);
