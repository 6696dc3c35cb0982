/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection zones. */
#include "tests/sweep/sweep.h"

PROVOKE(no_output, dat_pz_create(w.a.ia, NULL))
PROVOKE(query_unknown_bit, dat_pz_query(w.a.pz, (DAT_PZ_PARAM_MASK)2, &out.pz))
PROVOKE(query_no_structure, dat_pz_query(w.a.pz, DAT_PZ_FIELD_ALL, NULL))
PROVOKE(free_with_a_region, dat_pz_free(w.a.pz))

static DAT_RETURN one_too_many(void)
{
	DAT_RETURN ret;

	UNTIL_REFUSED(ret, dat_pz_create(w.a.ia, &made));
	return TRY(dat_pz_create(w.a.ia, &out.handle));
}

static DAT_RETURN free_with_an_endpoint(void)
{
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	must(dat_pz_create(w.a.ia, &pz));
	must(dat_ep_create(w.a.ia, pz, NO_HANDLE, NO_HANDLE, NO_HANDLE, NULL, &ep));
	return TRY(dat_pz_free(pz));
}

static DAT_RETURN free_with_an_srq(void)
{
	DAT_SRQ_ATTR attr = { 4, 4, 0 };
	DAT_PZ_HANDLE pz;
	DAT_SRQ_HANDLE srq;

	must(dat_pz_create(w.a.ia, &pz));
	must(dat_srq_create(w.a.ia, pz, &attr, &srq));
	return TRY(dat_pz_free(pz));
}

static const struct sweep_row rows[] = {
	ROW_ARG(dat_pz_create, 2, no_output),
	ROW(dat_pz_create, INSUFFICIENT_RESOURCES, RESOURCE_PROTECTION_DOMAIN, one_too_many),
	ROW_ARG(dat_pz_query, 2, query_unknown_bit),
	ROW_ARG(dat_pz_query, 3, query_no_structure),
	ROW(dat_pz_free, INVALID_STATE, INVALID_STATE_PZ_IN_USE, free_with_a_region),
	ROW(dat_pz_free, INVALID_STATE, INVALID_STATE_PZ_IN_USE, free_with_an_endpoint),
	ROW(dat_pz_free, INVALID_STATE, INVALID_STATE_PZ_IN_USE, free_with_an_srq),
};

SWEEP_TABLE(sweep_pz);
