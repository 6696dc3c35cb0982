/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote memory regions and their binds. */
#include "tests/sweep/sweep.h"

static DAT_RMR_HANDLE rmr;

/* Valid arguments of a bind; a row changes one of them. */
static struct {
	DAT_LMR_TRIPLET range, *triplet;
	int privileges, flags;
} given;

static DAT_RETURN bind_it(void)
{
	return dat_rmr_bind(rmr, given.triplet, (DAT_MEM_PRIV_FLAGS)given.privileges, w.a.ep,
			    cookie(0), (DAT_COMPLETION_FLAGS)given.flags, &out.more.rmr);
}

static void sound_on(DAT_EP_HANDLE ep)
{
	w.a.ep = ep;
	must(dat_rmr_create(w.a.pz, &rmr));
	given.range = segment(&w.a, 0, SHORT);
	given.triplet = &given.range;
	given.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG;
	given.flags = DAT_COMPLETION_DEFAULT_FLAG;
}

static void sound(void)
{
	plain_pair();
	sound_on(w.a.ep);
}

#define PROVOKE_RMR(how, call)      \
	static DAT_RETURN how(void) \
	{                           \
		sound();            \
		return TRY(call);   \
	}

PROVOKE(create_no_output, dat_rmr_create(w.a.pz, NULL))
PROVOKE_RMR(query_unknown_bit, dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)0x20, &out.rmr))
PROVOKE_RMR(query_no_structure, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL))

static DAT_RETURN create_one_too_many(void)
{
	DAT_RETURN ret;

	UNTIL_REFUSED(ret, dat_rmr_create(w.a.pz, &made));
	return TRY(dat_rmr_create(w.a.pz, &out.handle));
}

/* Everything is valid except one argument. */
#define PROVOKE_BIND(how, change)      \
	static DAT_RETURN how(void)    \
	{                              \
		sound();               \
		change;                \
		return TRY(bind_it()); \
	}

PROVOKE_BIND(bind_nothing, given.triplet = NULL)
PROVOKE_BIND(bind_outside_the_region, given.range.virtual_address += SLOTS * SLOT_SIZE)
PROVOKE_BIND(bind_unknown_privilege, given.privileges = 0x40)
PROVOKE_BIND(bind_unknown_flag, given.flags = 0x40)
PROVOKE_BIND(bind_unsignalled, given.flags = DAT_COMPLETION_UNSIGNALLED_FLAG)
PROVOKE_BIND(bind_no_region, given.range.lmr_context = 0x7fffffff)

static void other_region(DAT_PZ_HANDLE pz, int privileges, DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };

	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, SLOT_SIZE, pz,
			    (DAT_MEM_PRIV_FLAGS)privileges, lmr, &given.range.lmr_context, NULL,
			    NULL, NULL));
}

static DAT_RETURN bind_for_reading_what_is_not_read_locally(void)
{
	DAT_LMR_HANDLE lmr;

	sound();
	other_region(w.a.pz, DAT_MEM_PRIV_NONE_FLAG, &lmr);
	return TRY(bind_it());
}

static DAT_RETURN bind_for_writing_what_is_not_written_locally(void)
{
	DAT_LMR_HANDLE lmr;

	sound();
	other_region(w.a.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr);
	given.privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	return TRY(bind_it());
}

static DAT_RETURN bind_a_region_of_another_zone(void)
{
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	sound();
	must(dat_pz_create(w.a.ia, &pz));
	other_region(pz, DAT_MEM_PRIV_ALL_FLAG, &lmr);
	return TRY(bind_it());
}

static DAT_RETURN bind_on_an_endpoint_of_another_zone(void)
{
	DAT_PZ_HANDLE pz;

	sound();
	must(dat_pz_create(w.a.ia, &pz));
	must(dat_rmr_create(pz, &rmr));
	given.privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	return TRY(bind_it());
}

static DAT_RETURN bind_one_too_many(void)
{
	sound();
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, 1, SHORT); /* binds wait behind this Send */
	while (bind_it() == DAT_SUCCESS)
		;
	return TRY(bind_it());
}

#define BIND_IN(what, state)                                 \
	static DAT_RETURN bind_##what(void)                  \
	{                                                    \
		sound_on(ep_in_state(DAT_EP_STATE_##state)); \
		return TRY(bind_it());                       \
	}

BIND_IN(unconnected, UNCONNECTED)
BIND_IN(connecting, ACTIVE_CONNECTION_PENDING)
BIND_IN(disconnecting, DISCONNECT_PENDING)

/* ---- bound objects cannot be freed ---- */

static DAT_RETURN free_a_bound_region(void)
{
	sound();
	must(bind_it());
	run_quiet();
	return TRY(dat_lmr_free(w.a.lmr));
}

static DAT_RETURN free_a_zone_with_an_RMR(void)
{
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.a.ia, &pz));
	must(dat_rmr_create(pz, &rmr));
	return TRY(dat_pz_free(pz));
}

/* clang-format off */
static const struct sweep_row rows[] = {
	ROW_ARG(dat_rmr_create, 2, create_no_output),
	ROW(dat_rmr_create, INSUFFICIENT_RESOURCES, RESOURCE_MEMORY_REGION, create_one_too_many),
	ROW_ARG(dat_rmr_query, 2, query_unknown_bit),
	ROW_ARG(dat_rmr_query, 3, query_no_structure),
	ROW_ARG(dat_rmr_bind, 2, bind_nothing),
	ROW_ARG(dat_rmr_bind, 2, bind_outside_the_region),
	ROW_ARG(dat_rmr_bind, 3, bind_unknown_privilege),
	ROW_ARG(dat_rmr_bind, 6, bind_unknown_flag),
	ROW_ARG(dat_rmr_bind, 6, bind_unsignalled),
	ROW(dat_rmr_bind, PRIVILEGES_VIOLATION, NO_SUBTYPE, bind_no_region),
	ROW(dat_rmr_bind, PRIVILEGES_VIOLATION, PRIVILEGES_RDMA_READ,
	    bind_for_reading_what_is_not_read_locally),
	ROW(dat_rmr_bind, PRIVILEGES_VIOLATION, PRIVILEGES_RDMA_WRITE,
	    bind_for_writing_what_is_not_written_locally),
	ROW(dat_rmr_bind, PROTECTION_VIOLATION, PROTECTION_RDMA_READ,
	    bind_a_region_of_another_zone),
	ROW(dat_rmr_bind, PROTECTION_VIOLATION, PROTECTION_RDMA_WRITE,
	    bind_on_an_endpoint_of_another_zone),
	ROW(dat_rmr_bind, INSUFFICIENT_RESOURCES, RESOURCE_TEP, bind_one_too_many),
	ROW(dat_rmr_bind, INVALID_STATE, INVALID_STATE_EP_UNCONNECTED, bind_unconnected),
	ROW(dat_rmr_bind, INVALID_STATE, INVALID_STATE_EP_ACTCONNPENDING, bind_connecting),
	ROW(dat_rmr_bind, INVALID_STATE, INVALID_STATE_EP_DISCPENDING, bind_disconnecting),
	ROW(dat_lmr_free, INVALID_STATE, INVALID_STATE_LMR_IN_USE, free_a_bound_region),
	ROW(dat_pz_free, INVALID_STATE, INVALID_STATE_PZ_IN_USE, free_a_zone_with_an_RMR),
};
/* clang-format on */

SWEEP_TABLE(sweep_rmr);
