/* SPDX-License-Identifier: BSD-3-Clause */
/* Local memory regions. */
#include "tests/sweep/sweep.h"

static DAT_RETURN register_at(DAT_MEM_TYPE type, void *at, DAT_VLEN length, int privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = at };

	return dat_lmr_create(w.a.ia, type, region, length, w.a.pz, (DAT_MEM_PRIV_FLAGS)privileges,
			      &out.more.handle, &out.more.lmr, &out.more.rmr, &out.more.length,
			      &out.more.address);
}

#define VA  DAT_MEM_TYPE_VIRTUAL
#define ALL DAT_MEM_PRIV_ALL_FLAG

PROVOKE(of_no_type, register_at((DAT_MEM_TYPE)17, slot(&w.a, 0), 64, ALL))
PROVOKE(of_no_memory, register_at(VA, NULL, 64, ALL))
PROVOKE(of_no_bytes, register_at(VA, slot(&w.a, 0), 0, ALL))
PROVOKE(over_the_end_of_memory, register_at(VA, slot(&w.a, 0), UINT64_MAX, ALL))
PROVOKE(above_the_limit, register_at(VA, slot(&w.a, 0), ia_attr(&w.a).max_lmr_block_size + 1, ALL))
PROVOKE(unknown_privilege, register_at(VA, slot(&w.a, 0), 64, 0x40))

static DAT_RETURN no_output(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };

	return TRY(dat_lmr_create(w.a.ia, VA, region, 64, w.a.pz, ALL, NULL, &out.more.lmr,
				  &out.more.rmr, &out.more.length, &out.more.address));
}

static DAT_RETURN one_too_many(void)
{
	while (register_at(VA, slot(&w.a, 0), 8, ALL) == DAT_SUCCESS)
		;
	return TRY(register_at(VA, slot(&w.a, 0), 8, ALL));
}

PROVOKE(query_unknown_bit, dat_lmr_query(w.a.lmr, (DAT_LMR_PARAM_MASK)0x400, &out.lmr))
PROVOKE(query_no_structure, dat_lmr_query(w.a.lmr, DAT_LMR_FIELD_ALL, NULL))

static const struct sweep_row rows[] = {
	ROW_ARG(dat_lmr_create, 2, of_no_type),
	ROW_ARG(dat_lmr_create, 3, of_no_memory),
	ROW(dat_lmr_create, LENGTH_ERROR, NO_SUBTYPE, of_no_bytes),
	ROW_ARG(dat_lmr_create, 4, over_the_end_of_memory),
	ROW_ARG(dat_lmr_create, 4, above_the_limit),
	ROW_ARG(dat_lmr_create, 6, unknown_privilege),
	ROW_ARG(dat_lmr_create, 7, no_output),
	ROW(dat_lmr_create, INSUFFICIENT_RESOURCES, RESOURCE_MEMORY_REGION, one_too_many),
	ROW_ARG(dat_lmr_query, 2, query_unknown_bit),
	ROW_ARG(dat_lmr_query, 3, query_no_structure),
};

SWEEP_TABLE(sweep_lmr);
