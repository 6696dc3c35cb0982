/* SPDX-License-Identifier: BSD-3-Clause */
/* Service points. */
#include "tests/sweep/sweep.h"

static DAT_RETURN listen_with(DAT_CONN_QUAL qual, int flags)
{
	return dat_psp_create(w.a.ia, qual, w.a.cr, (DAT_PSP_FLAGS)flags, &out.handle);
}

#define CONSUMER DAT_PSP_CONSUMER_FLAG

PROVOKE(psp_no_qualifier, listen_with(0, CONSUMER))
PROVOKE(psp_unknown_flag, listen_with(QUAL, 2))
PROVOKE(psp_no_output, dat_psp_create(w.a.ia, QUAL, w.a.cr, CONSUMER, NULL))

static DAT_RETURN psp_where_another_listens(void)
{
	listen_at(&w.a, QUAL);
	return TRY(listen_with(QUAL, CONSUMER));
}

static DAT_RETURN psp_one_too_many(void)
{
	DAT_CONN_QUAL qual = 1;

	while (listen_with(qual, CONSUMER) == DAT_SUCCESS)
		qual++;
	return TRY(listen_with(qual, CONSUMER));
}

static DAT_RETURN psp_query_unknown_bit(void)
{
	DAT_PSP_HANDLE psp = listen_at(&w.a, QUAL);

	return TRY(dat_psp_query(psp, (DAT_PSP_PARAM_MASK)0x10, &out.psp));
}

static DAT_RETURN psp_query_no_structure(void)
{
	DAT_PSP_HANDLE psp = listen_at(&w.a, QUAL);

	return TRY(dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL));
}

/* ---- at a qualifier that the provider chooses ---- */

static DAT_RETURN listen_anywhere(int flags)
{
	return dat_psp_create_any(w.a.ia, &out.qual, w.a.cr, (DAT_PSP_FLAGS)flags, &out.handle);
}

PROVOKE(any_no_qualifier, dat_psp_create_any(w.a.ia, NULL, w.a.cr, CONSUMER, &out.handle))
PROVOKE(any_unknown_flag, listen_anywhere(2))
PROVOKE(any_no_output, dat_psp_create_any(w.a.ia, &out.qual, w.a.cr, CONSUMER, NULL))

static DAT_RETURN any_one_too_many(void)
{
	while (listen_anywhere(CONSUMER) == DAT_SUCCESS)
		;
	return TRY(listen_anywhere(CONSUMER));
}

/* ---- reserved ---- */

static DAT_RETURN reserve_with(DAT_CONN_QUAL qual)
{
	return dat_rsp_create(w.a.ia, qual, w.a.ep, w.a.cr, &out.handle);
}

#define PROVOKE_RSP(how, call)           \
	static DAT_RETURN how(void)      \
	{                                \
		w.a.ep = plain_ep(&w.a); \
		return TRY(call);        \
	}

PROVOKE_RSP(rsp_no_qualifier, reserve_with(0))
PROVOKE_RSP(rsp_no_output, dat_rsp_create(w.a.ia, QUAL, w.a.ep, w.a.cr, NULL))

static DAT_RETURN rsp_where_another_listens(void)
{
	w.a.ep = plain_ep(&w.a);
	listen_at(&w.a, QUAL);
	return TRY(reserve_with(QUAL));
}

static DAT_RETURN rsp_one_too_many(void)
{
	while (listen_anywhere(CONSUMER) == DAT_SUCCESS)
		;
	w.a.ep = plain_ep(&w.a);
	return TRY(reserve_with(QUAL));
}

static DAT_RETURN rsp_for_a_connected_endpoint(void)
{
	w.a.ep = ep_in_state(DAT_EP_STATE_CONNECTED);
	return TRY(reserve_with(QUAL + 1));
}

static DAT_RETURN rsp_for_a_reserved_endpoint(void)
{
	w.a.ep = ep_in_state(DAT_EP_STATE_RESERVED);
	return TRY(reserve_with(QUAL + 1));
}

static DAT_RETURN rsp_query_unknown_bit(void)
{
	DAT_RSP_HANDLE rsp = reserve(&w.a, QUAL, plain_ep(&w.a));

	return TRY(dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)0x10, &out.rsp));
}

static DAT_RETURN rsp_query_no_structure(void)
{
	DAT_RSP_HANDLE rsp = reserve(&w.a, QUAL, plain_ep(&w.a));

	return TRY(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL));
}

/* clang-format off */
static const struct sweep_row rows[] = {
	ROW_ARG(dat_psp_create, 2, psp_no_qualifier),
	ROW_ARG(dat_psp_create, 4, psp_unknown_flag),
	ROW_ARG(dat_psp_create, 5, psp_no_output),
	ROW(dat_psp_create, CONN_QUAL_IN_USE, NO_SUBTYPE, psp_where_another_listens),
	ROW(dat_psp_create, INSUFFICIENT_RESOURCES, RESOURCE_DEVICE, psp_one_too_many),
	ROW_ARG(dat_psp_query, 2, psp_query_unknown_bit),
	ROW_ARG(dat_psp_query, 3, psp_query_no_structure),
	ROW_ARG(dat_psp_create_any, 2, any_no_qualifier),
	ROW_ARG(dat_psp_create_any, 4, any_unknown_flag),
	ROW_ARG(dat_psp_create_any, 5, any_no_output),
	ROW(dat_psp_create_any, INSUFFICIENT_RESOURCES, RESOURCE_DEVICE, any_one_too_many),
	ROW_ARG(dat_rsp_create, 2, rsp_no_qualifier),
	ROW_ARG(dat_rsp_create, 5, rsp_no_output),
	ROW(dat_rsp_create, CONN_QUAL_IN_USE, NO_SUBTYPE, rsp_where_another_listens),
	ROW(dat_rsp_create, INSUFFICIENT_RESOURCES, RESOURCE_DEVICE, rsp_one_too_many),
	ROW(dat_rsp_create, INVALID_STATE, INVALID_STATE_EP_CONNECTED,
	    rsp_for_a_connected_endpoint),
	ROW(dat_rsp_create, INVALID_STATE, INVALID_STATE_EP_RESERVED, rsp_for_a_reserved_endpoint),
	ROW_ARG(dat_rsp_query, 2, rsp_query_unknown_bit),
	ROW_ARG(dat_rsp_query, 3, rsp_query_no_structure),
};
/* clang-format on */

SWEEP_TABLE(sweep_sp);
