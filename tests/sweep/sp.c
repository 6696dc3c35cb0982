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

static const struct sweep_row rows[] = {
	ROW_ARG(dat_psp_create, 2, psp_no_qualifier),
	ROW_ARG(dat_psp_create, 4, psp_unknown_flag),
	ROW_ARG(dat_psp_create, 5, psp_no_output),
	ROW(dat_psp_create, CONN_QUAL_IN_USE, NO_SUBTYPE, psp_where_another_listens),
	ROW(dat_psp_create, INSUFFICIENT_RESOURCES, RESOURCE_DEVICE, psp_one_too_many),
	ROW_ARG(dat_psp_query, 2, psp_query_unknown_bit),
	ROW_ARG(dat_psp_query, 3, psp_query_no_structure),
};

SWEEP_TABLE(sweep_sp);
