/* SPDX-License-Identifier: BSD-3-Clause */
/* Local memory regions. */
#include <sys/mman.h>

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

/* ---- shared memory ---- */

static char cookie_of_a_lmr[DAT_LMR_COOKIE_SIZE];

static void *shared_memory(void)
{
	void *at = mmap(NULL, SLOT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

static DAT_RETURN share(void *at, bool with_cookie, DAT_VLEN length)
{
	DAT_REGION_DESCRIPTION region = { 0 };

	region.for_shared_memory.virtual_address = at;
	region.for_shared_memory.shared_memory_id = with_cookie ? &cookie_of_a_lmr : NULL;
	return dat_lmr_create(w.a.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, length, w.a.pz, ALL,
			      &out.more.handle, &out.more.lmr, &out.more.rmr, &out.more.length,
			      &out.more.address);
}

PROVOKE(shared_without_a_cookie, share(slot(&w.a, 0), false, 64))
PROVOKE(shared_without_memory, share(NULL, true, 64))
PROVOKE(shared_memory_that_is_not, share(slot(&w.a, 0), true, 64))

static DAT_RETURN shared_memory_of_another_cookie(void)
{
	void *one = shared_memory(), *other = shared_memory();
	DAT_RETURN ret;

	must(share(one, true, SLOT_SIZE));
	ret = TRY(share(other, true, SLOT_SIZE));
	munmap(one, SLOT_SIZE);
	munmap(other, SLOT_SIZE);
	return ret;
}

/* ---- a region of a region ---- */

static DAT_RETURN of_region(DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = lmr };

	return dat_lmr_create(w.a.ia, DAT_MEM_TYPE_LMR, region, 0, w.a.pz, ALL, &out.more.handle,
			      &out.more.lmr, &out.more.rmr, &out.more.length, &out.more.address);
}

PROVOKE(of_a_zone, of_region(w.a.pz))
PROVOKE(of_no_region, of_region(NO_HANDLE))
PROVOKE(of_another_instances_region, of_region(w.b.lmr))

/* ---- sync ---- */

typedef DAT_RETURN (*syncer)(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n);

static DAT_RETURN outside(syncer sync)
{
	DAT_LMR_TRIPLET both[2] = { segment(&w.a, 0, 8), segment(&w.a, SLOTS, 8) };

	return TRY(sync(w.a.ia, both, 2));
}

static DAT_RETURN foreign(syncer sync)
{
	DAT_LMR_TRIPLET one = segment(&w.a, 0, 8);

	one.lmr_context = 0x7fffffff;
	return TRY(sync(w.a.ia, &one, 1));
}

#define SYNC(direction)                                        \
	static DAT_RETURN sync_##direction##_outside(void)     \
	{                                                      \
		return outside(dat_lmr_sync_rdma_##direction); \
	}                                                      \
	static DAT_RETURN sync_##direction##_foreign(void)     \
	{                                                      \
		return foreign(dat_lmr_sync_rdma_##direction); \
	}                                                      \
	PROVOKE(sync_##direction##_nothing, dat_lmr_sync_rdma_##direction(w.a.ia, NULL, 1))

SYNC(read)
SYNC(write)

/* clang-format off */
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
	ROW_ARG(dat_lmr_create, 3, shared_without_a_cookie),
	ROW_ARG(dat_lmr_create, 3, shared_without_memory),
	ROW(dat_lmr_create, INVALID_STATE, NO_SUBTYPE, shared_memory_that_is_not),
	ROW(dat_lmr_create, INVALID_STATE, NO_SUBTYPE, shared_memory_of_another_cookie),
	ROW(dat_lmr_create, INVALID_HANDLE, INVALID_HANDLE_LMR, of_a_zone),
	ROW(dat_lmr_create, INVALID_HANDLE, INVALID_HANDLE_LMR, of_no_region),
	ROW(dat_lmr_create, INVALID_HANDLE, INVALID_HANDLE_LMR, of_another_instances_region),
	ROW_ARG(dat_lmr_sync_rdma_read, 2, sync_read_outside),
	ROW_ARG(dat_lmr_sync_rdma_read, 2, sync_read_foreign),
	ROW_ARG(dat_lmr_sync_rdma_read, 2, sync_read_nothing),
	ROW_ARG(dat_lmr_sync_rdma_write, 2, sync_write_outside),
	ROW_ARG(dat_lmr_sync_rdma_write, 2, sync_write_foreign),
	ROW_ARG(dat_lmr_sync_rdma_write, 2, sync_write_nothing),
};
/* clang-format on */

SWEEP_TABLE(sweep_lmr);
