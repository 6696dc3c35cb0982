/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection requests. */
#include "tests/sweep/sweep.h"

static DAT_CR_HANDLE cr;
static char data[1024];

/* A request of w.b's Endpoint that w.a has not answered. */
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
};

SWEEP_TABLE(sweep_cr);
